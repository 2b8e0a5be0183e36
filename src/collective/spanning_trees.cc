#include <algorithm>

#include "base/check.h"
#include "collective/cable_trees.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/memo.h"

namespace podsim {
namespace {

constexpr std::size_t kMostMembers = 64;
// Copies of a cable that are tried: 4x4 needs 5 for its optimum, 8 trees.
constexpr int kMostCopies = 6;
constexpr int kMostTrees = 64;
// Few enough transfers for `auto` to simulate what it chooses among.
constexpr std::uint64_t kMostTransfers = 200'000;

// One group: who can pass what to whom.
struct Graph {
  int ranks = 0;
  std::vector<Arc> arcs;
  std::vector<CableArcs> cables;
};

// Of groups of more than one chip; the others need no trees.
std::vector<Graph> GraphsOf(const std::vector<std::vector<ChipId>>& groups,
                            const Topology& topology) {
  std::vector<Graph> graphs;
  for (const auto& group : groups) {
    std::vector<Arc> arcs = ArcsOf(group, CollectiveKind::kAllReduce, topology);
    std::vector<CableArcs> cables = CablesOf(arcs, topology);
    graphs.push_back(
        {static_cast<int>(group.size()), std::move(arcs), std::move(cables)});
  }
  return graphs;
}

// Of every group; the deepest first, as the first part of the payload is never
// smaller than another.
struct Packing {
  Trees trees;
  int depth = 0;
};

std::optional<Packing> Pack(const std::vector<Graph>& graphs, int count,
                            int copies, const Topology& topology) {
  Packing packing;
  for (const Graph& graph : graphs) {
    const auto packed =
        PackCableTrees(graph.arcs, graph.cables, graph.ranks, count, copies);
    if (!packed) return std::nullopt;
    std::vector<Tree> trees;
    for (const ArcTree& tree : *packed) {
      trees.push_back(MakeTree(tree, graph.arcs, topology));
    }
    SortByDepth(trees);
    packing.depth = std::max(packing.depth, Depth(trees[0].parent));
    packing.trees.push_back(std::move(trees));
  }
  return packing;
}

// nullopt in it: so many do not fit.
std::shared_ptr<const std::optional<Packing>> PackingOf(
    const std::vector<Graph>& graphs, int count, int copies,
    const Topology& topology) {
  thread_local Memo<std::optional<Packing>> memo(/*most=*/16);
  std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(count),
                                    static_cast<std::uint32_t>(copies)};
  for (const Graph& graph : graphs) {
    key.push_back(static_cast<std::uint32_t>(graph.ranks));
    AppendKey(graph.arcs, key);
  }
  return memo.At(key, [&] { return Pack(graphs, count, copies, topology); });
}

// No more trees can fit: each needs all ranks joined, and a cable of each.
int TreesBound(const std::vector<Graph>& graphs, int copies) {
  int most = kMostTrees;
  for (const Graph& graph : graphs) {
    if (graph.ranks == 1) continue;
    const int cables = static_cast<int>(graph.cables.size());
    most = std::min(most, copies * cables / (graph.ranks - 1));
    std::vector<int> degree(graph.ranks);
    for (const Arc& arc : graph.arcs) ++degree[arc.from];
    most = std::min(most,
                    copies * *std::min_element(degree.begin(), degree.end()));
  }
  return most;
}

struct Choice {
  int trees = 0;
  int copies = 1;
};

// The most trees with so many copies, if more than `above`.
int MostTrees(const std::vector<Graph>& graphs, int copies, int above,
              const Topology& topology) {
  for (int t = TreesBound(graphs, copies); t > above; --t) {
    if (PackingOf(graphs, t, copies, topology)->has_value()) return t;
  }
  return above;
}

bool AllAlone(const std::vector<Graph>& graphs) {
  return std::all_of(graphs.begin(), graphs.end(),
                     [](const Graph& graph) { return graph.ranks == 1; });
}

// The most trees per copy of a cable, and with the fewest copies.
Choice Choose(const std::vector<Graph>& graphs, const LoweringSpec& spec,
              const Topology& topology) {
  if (AllAlone(graphs)) {
    return {std::max(1, spec.trees), std::max(1, spec.edge_copies)};
  }
  if (spec.trees > 0 && spec.edge_copies > 0) {
    return {spec.trees, spec.edge_copies};
  }
  if (spec.edge_copies > 0) {
    return {MostTrees(graphs, spec.edge_copies, 0, topology), spec.edge_copies};
  }
  Choice best;
  if (spec.trees > 0) {
    // As many copies as trees are always enough.
    for (int copies = 1; copies <= spec.trees; ++copies) {
      if (TreesBound(graphs, copies) < spec.trees) continue;
      if (PackingOf(graphs, spec.trees, copies, topology)->has_value()) {
        return {spec.trees, copies};
      }
    }
    return {spec.trees, spec.trees};
  }
  for (int copies = 1; copies <= kMostCopies; ++copies) {
    const int above = best.trees * copies / best.copies;
    const int trees = MostTrees(graphs, copies, above, topology);
    if (trees > above) best = {trees, copies};
  }
  return best;
}

std::optional<std::string> WhyNotSpanning(const Collective& collective,
                                          const Topology& topology,
                                          const LoweringSpec& spec) {
  if (CountMembers(collective, topology) > kMostMembers) {
    return "its trees are searched for up to " + std::to_string(kMostMembers) +
           " chips only; use bfs-tree or greedy";
  }
  const std::vector<Graph> graphs =
      GraphsOf(GroupsOf(collective, topology), topology);
  for (const Graph& graph : graphs) {
    if (FirstUnreached(graph.arcs, graph.ranks, 0, /*backwards=*/false)) {
      return "a group is not connected through cables between its chips; use "
             "binomial, whose messages pass through others";
    }
  }
  if (spec.trees == 0 || spec.edge_copies == 0 || AllAlone(graphs)) {
    return std::nullopt;
  }
  if (TreesBound(graphs, spec.edge_copies) >= spec.trees &&
      PackingOf(graphs, spec.trees, spec.edge_copies, topology)->has_value()) {
    return std::nullopt;
  }
  return std::to_string(spec.trees) + " trees do not fit with edge_copies=" +
         std::to_string(spec.edge_copies) +
         "; leave out trees for as many as fit, or edge_copies for as many as "
         "they need";
}

WholeSchedule BuildSpanning(const Collective& collective,
                            const Topology& topology,
                            const LoweringSpec& spec) {
  std::vector<std::vector<ChipId>> groups = GroupsOf(collective, topology);
  const auto packing = PackingOf(GraphsOf(groups, topology), spec.trees,
                                 spec.edge_copies, topology);
  CHECK(packing->has_value()) << "trees that do not fit";
  return BuildPipeline(collective, std::move(groups), (*packing)->trees,
                       spec.chunks);
}

std::uint64_t CountSpanning(const Collective& collective,
                            const Topology& topology,
                            const LoweringSpec& spec) {
  return CountPipeline(collective, topology, spec.trees, spec.chunks);
}

double StartUp(const Slice& slice) {
  return slice.parameters.ici_message_overhead.value() +
         slice.topology.base_latency().value();
}

// One tree alone; or all bytes, spread evenly over the links of a group.
Seconds SpanningTime(const Collective& collective, const Slice& slice,
                     const LoweringSpec& spec) {
  const std::vector<Graph> graphs =
      GraphsOf(GroupsOf(collective, slice.topology), slice.topology);
  if (AllAlone(graphs) || collective.payload.value() == 0) return Seconds(0);
  const auto packing =
      PackingOf(graphs, spec.trees, spec.edge_copies, slice.topology);
  CHECK(packing->has_value()) << "trees that do not fit";
  double time = PipelineTime(collective, slice, (*packing)->depth, spec.trees,
                             spec.chunks)
                    .value();
  for (const Graph& graph : graphs) {
    if (graph.ranks == 1) continue;
    const double bytes = static_cast<double>(graph.ranks - 1) *
                         static_cast<double>(collective.payload.value()) /
                         static_cast<double>(graph.cables.size());
    time = std::max(
        time, StartUp(slice) + bytes / slice.topology.base_bandwidth().value());
  }
  return Seconds(time);
}

// The k that makes (2e + k - 1)(a + mS/(tkB)) smallest: the time if all trees
// of a link send at once.
int SpanningChunks(const Collective& collective, const Slice& slice, int depth,
                   const Choice& choice) {
  const double shared = static_cast<double>(collective.payload.value()) *
                        choice.copies / choice.trees /
                        slice.topology.base_bandwidth().value();
  const auto time = [&](int chunks) {
    return (2 * depth + chunks - 1) * (StartUp(slice) + shared / chunks);
  };
  int best = 1;
  for (int chunks = 2; chunks <= kMostChunks; ++chunks) {
    if (CountPipeline(collective, slice.topology, choice.trees, chunks) >
        kMostTransfers) {
      break;
    }
    if (time(chunks) < time(best)) best = chunks;
  }
  return best;
}

LoweringSpec ResolveSpanning(const LoweringSpec& spec,
                             const Collective& collective, const Slice& slice) {
  const std::vector<Graph> graphs =
      GraphsOf(GroupsOf(collective, slice.topology), slice.topology);
  const Choice choice = Choose(graphs, spec, slice.topology);
  LoweringSpec resolved = spec;
  resolved.trees = choice.trees;
  resolved.edge_copies = choice.copies;
  if (spec.chunks == 0) {
    const auto packing =
        PackingOf(graphs, choice.trees, choice.copies, slice.topology);
    CHECK(packing->has_value()) << "trees that do not fit";
    resolved.chunks =
        SpanningChunks(collective, slice, (*packing)->depth, choice);
  }
  return resolved;
}

}  // namespace

// Reduce up and broadcast down trees that together use all cables alike. A
// tree uses both directions of its cables, so that t trees on m copies of every
// cable take m/t S/B in the limit; on a mesh, where no set of disjoint trees
// uses all cables, copies come close to the bound 2(P-1)S/(links B).
Lowering SpanningTreesLowering() {
  return {
      .name = "spanning-trees",
      .help =
          "trees that share out all cables, pipelined; any slice, also with "
          "dead cables and chips",
      .parameters = {"chunks", "trees", "edge_copies"},
      .kinds = {CollectiveKind::kAllReduce},
      .preconditions =
          "groups connected by their own cables, at most 64 chips in all",
      .time =
          "(2e + k - 1)(a + S/(tkB)), e = depth, t trees, k chunks; "
          "m/t S/B at least, m copies of a cable",
      .source = "Tutte, Nash-Williams 1961, Edmonds 1965",
      .why_not = WhyNotSpanning,
      .build = BuildSpanning,
      .count = CountSpanning,
      .at_least = SpanningTime,
      .one_hop = true,
      .resolve = ResolveSpanning};
}

}  // namespace podsim
