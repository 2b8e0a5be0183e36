#include <algorithm>

#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/memo.h"
#include "collective/out_trees.h"
#include "collective/torus_trees.h"

namespace podsim {
namespace {

// Chips among which trees are searched for; on tori they need no search.
constexpr std::size_t kMostSearched = 2048;
// `chunks` by default gives no more, unless 1 chunk does: 1.3 GB, 13 s.
constexpr std::uint64_t kMostTransfers = 16'000'000;

// What is searched, and what distinguishes it.
struct Search {
  std::vector<std::vector<ChipId>> groups;
  std::vector<std::vector<Arc>> arcs;  // by group
  int root = 0;                        // rank
  std::vector<std::uint32_t> key;
};

Search SearchOf(const Collective& collective, const Topology& topology) {
  Search search{
      .groups = GroupsOf(collective, topology), .arcs = {}, .key = {}};
  search.root = RootRank(collective, search.groups);
  search.key.push_back(static_cast<std::uint32_t>(search.root));
  for (const auto& group : search.groups) {
    search.arcs.push_back(ArcsOf(group, collective.kind, topology));
    search.key.push_back(static_cast<std::uint32_t>(group.size()));
    AppendKey(search.arcs.back(), search.key);
  }
  return search;
}

// Of every group; the deepest first, as the first part of the payload is never
// smaller than another.
struct Packing {
  Trees trees;
  int depth = 0;
};

std::optional<Packing> Pack(const Search& search, int count,
                            const Topology& topology) {
  Packing packing;
  for (std::size_t g = 0; g < search.groups.size(); ++g) {
    const int ranks = static_cast<int>(search.groups[g].size());
    const std::vector<Arc>& arcs = search.arcs[g];
    const auto packed = PackOutTrees(arcs, ranks, search.root, count);
    if (!packed) return std::nullopt;
    std::vector<Tree> trees;
    for (const ArcTree& tree : *packed) {
      trees.push_back(MakeTree(tree, arcs, topology));
    }
    SortByDepth(trees);
    if (count > 0) {
      packing.depth = std::max(packing.depth, Depth(trees[0].parent));
    }
    packing.trees.push_back(std::move(trees));
  }
  return packing;
}

// nullopt: so many do not fit.
std::shared_ptr<const std::optional<Packing>> PackingOf(
    const Collective& collective, const Topology& topology, int count) {
  thread_local Memo<std::optional<Packing>> memo(/*most=*/4);
  Search search = SearchOf(collective, topology);
  search.key.push_back(static_cast<std::uint32_t>(count));
  return memo.At(search.key, [&] { return Pack(search, count, topology); });
}

// The most trees that fit into every group. Packing them is a quicker test than
// counting paths.
int MostTrees(const Collective& collective, const Topology& topology) {
  if (AreTori(collective, topology)) {
    return 2 * static_cast<int>(ActiveAxes(collective, topology).size());
  }
  const Search search = SearchOf(collective, topology);
  const auto fewest = [&](auto trees_of) {
    std::optional<int> most;
    for (std::size_t g = 0; g < search.groups.size(); ++g) {
      const int ranks = static_cast<int>(search.groups[g].size());
      if (ranks == 1) continue;
      const int trees = trees_of(search.arcs[g], ranks, search.root);
      most = std::min(most.value_or(trees), trees);
    }
    return most.value_or(1);
  };
  const int expected = fewest(FewestArcsIn);
  if (*PackingOf(collective, topology, expected)) return expected;
  thread_local Memo<int> memo(/*most=*/4);
  return *memo.At(search.key, [&] { return fewest(MostOutTrees); });
}

int DepthOf(const Collective& collective, const Topology& topology, int count) {
  return AreTori(collective, topology)
             ? TorusDepth(collective, topology, count)
             : PackingOf(collective, topology, count)->value().depth;
}

Trees TreesOf(const Collective& collective, const Topology& topology,
              int count) {
  if (!AreTori(collective, topology)) {
    return PackingOf(collective, topology, count)->value().trees;
  }
  const auto groups = GroupsOf(collective, topology);
  const int root = RootRank(collective, groups);
  Trees trees;
  for (const auto& group : groups) {
    trees.push_back(TorusTrees(collective, topology, group, root, count));
    SortByDepth(trees.back());
  }
  return trees;
}

std::optional<std::string> WhyNotDisjoint(const Collective& collective,
                                          const Topology& topology,
                                          const LoweringSpec& spec) {
  if (!AreTori(collective, topology) &&
      CountMembers(collective, topology) > kMostSearched) {
    return "off healthy tori its trees are searched for up to " +
           std::to_string(kMostSearched) + " chips only; use bfs-tree";
  }
  const int most = MostTrees(collective, topology);
  if (most == 0) {
    return "some chip is not connected to the root of its group through chips "
           "of the group; use binomial, whose messages pass through others";
  }
  if (spec.trees > most) {
    return "only " + std::to_string(most) +
           (most == 1 ? " tree fits" : " trees fit") + " there, not " +
           std::to_string(spec.trees) + "; use trees=" + std::to_string(most) +
           " or fewer";
  }
  return std::nullopt;
}

WholeSchedule BuildDisjoint(const Collective& collective,
                            const Topology& topology,
                            const LoweringSpec& spec) {
  return BuildPipeline(collective, GroupsOf(collective, topology),
                       TreesOf(collective, topology, spec.trees), spec.chunks);
}

std::uint64_t CountDisjoint(const Collective& collective,
                            const Topology& topology,
                            const LoweringSpec& spec) {
  return CountPipeline(collective, topology, spec.trees, spec.chunks);
}

Seconds DisjointTime(const Collective& collective, const Slice& slice,
                     const LoweringSpec& spec) {
  return PipelineTime(collective, slice,
                      DepthOf(collective, slice.topology, spec.trees),
                      spec.trees, spec.chunks);
}

LoweringSpec ResolveDisjoint(const LoweringSpec& spec,
                             const Collective& collective, const Slice& slice) {
  LoweringSpec resolved = spec;
  if (spec.trees == 0) resolved.trees = MostTrees(collective, slice.topology);
  if (spec.chunks == 0) {
    const std::uint64_t per_chunk =
        CountPipeline(collective, slice.topology, resolved.trees, /*chunks=*/1);
    const std::uint64_t most =
        kMostTransfers / std::max<std::uint64_t>(1, per_chunk);
    resolved.chunks = BestChunks(
        collective, slice, DepthOf(collective, slice.topology, resolved.trees),
        resolved.trees,
        static_cast<int>(std::min<std::uint64_t>(kMostChunks, most)));
  }
  return resolved;
}

}  // namespace

// Trees from the root, an equal part of the payload down each of them, as many
// as the chip with fewest links has: all of those links are busy. Reduce: the
// same up, on the links the other way.
Lowering EdgeDisjointTreesLowering() {
  return {.name = "edge-disjoint-trees",
          .help =
              "as many trees from the root as share no link, pipelined; any "
              "slice, also with dead cables and chips",
          .parameters = {"chunks", "trees"},
          .kinds = {CollectiveKind::kBroadcast, CollectiveKind::kReduce},
          .preconditions =
              "groups connected by their own chips, off tori at most "
              "2048",
          .time = "(e + k - 1)(a + S/(tkB)), e = depth, t trees, k chunks",
          .source = "Edmonds 1973, Lovasz 1976; optimal as k grows",
          .why_not = WhyNotDisjoint,
          .build = BuildDisjoint,
          .count = CountDisjoint,
          .at_least = DisjointTime,
          .one_hop = true,
          .attains = true,
          .resolve = ResolveDisjoint};
}

}  // namespace podsim
