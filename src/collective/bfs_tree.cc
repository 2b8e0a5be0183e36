#include <algorithm>

#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/tree.h"

namespace podsim {
namespace {

// The links that the tree needs: away from the root, towards it, or both.
bool Usable(const Topology& topology, LinkId out, CollectiveKind kind) {
  if (!topology.Exists(out)) return false;
  const bool down = topology.Live(out);
  const bool up = topology.Live(topology.Reverse(out));
  return (down || kind == CollectiveKind::kReduce) &&
         (up || kind == CollectiveKind::kBroadcast);
}

std::vector<LinkId> OutLinks(const Topology& topology, ChipId chip) {
  std::vector<LinkId> links;
  if (topology.is_grid()) {
    for (int axis = 0; axis < topology.ici_axes(); ++axis) {
      for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
        links.push_back(topology.LinkAt(chip, axis, sign));
      }
    }
    return links;
  }
  topology.ForEachLiveLinkFrom(chip,
                               [&](LinkId link) { links.push_back(link); });
  return links;
}

// Breadth first through chips of the group only, out-links in (axis, + before
// -) order, the first discoverer becomes the parent. `lost`: the first chip
// that was not found.
struct Search {
  Tree tree;
  std::optional<ChipId> lost;
};

Search Grow(const std::vector<ChipId>& group, int root,
            const std::vector<int>& rank_of, CollectiveKind kind,
            const Topology& topology) {
  const std::size_t n = group.size();
  Search search{.tree = {.parent = std::vector<int>(n, -1),
                         .down = std::vector<std::vector<LinkId>>(n),
                         .up = std::vector<std::vector<LinkId>>(n)},
                .lost = {}};
  std::vector<bool> found(n);
  std::vector<int> queue = {root};
  found[root] = true;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const LinkId out : OutLinks(topology, group[queue[k]])) {
      if (!Usable(topology, out, kind)) continue;
      const int rank = rank_of[topology.Target(out).value()];
      if (rank < 0 || group[rank] != topology.Target(out) || found[rank]) {
        continue;
      }
      found[rank] = true;
      search.tree.parent[rank] = queue[k];
      search.tree.down[rank] = {out};
      search.tree.up[rank] = {topology.Reverse(out)};
      queue.push_back(rank);
    }
  }
  for (std::size_t rank = 0; rank < n; ++rank) {
    if (!found[rank] && !search.lost) search.lost = group[rank];
  }
  return search;
}

std::vector<Search> GrowAll(const Collective& collective,
                            const std::vector<std::vector<ChipId>>& groups,
                            const Topology& topology) {
  const int root = RootRank(collective, groups);
  std::vector<int> rank_of(topology.chips(), -1);
  std::vector<Search> searches;
  for (const auto& group : groups) {
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      rank_of[group[rank].value()] = static_cast<int>(rank);
    }
    searches.push_back(Grow(group, root, rank_of, collective.kind, topology));
    for (const ChipId chip : group) rank_of[chip.value()] = -1;
  }
  return searches;
}

// Whether every group is a whole, healthy sub-grid: connected, of known depth.
bool SpansGrid(const Collective& collective, const Topology& topology) {
  return collective.groups.empty() && topology.is_grid() &&
         topology.healthy() && !SpansSlices(collective, topology);
}

std::optional<std::string> WhyNotBfsTree(const Collective& collective,
                                         const Topology& topology,
                                         const LoweringSpec&) {
  if (SpansGrid(collective, topology)) return std::nullopt;
  const auto groups = GroupsOf(collective, topology);
  for (const Search& search : GrowAll(collective, groups, topology)) {
    if (!search.lost) continue;
    return "chip " + std::to_string(search.lost->value()) +
           " is not connected to the root of its group through chips of the "
           "group; use binomial, whose messages pass through others";
  }
  return std::nullopt;
}

WholeSchedule BuildBfsTree(const Collective& collective,
                           const Topology& topology, const LoweringSpec& spec) {
  std::vector<std::vector<ChipId>> groups = GroupsOf(collective, topology);
  Trees trees;
  for (Search& search : GrowAll(collective, groups, topology)) {
    trees.push_back({std::move(search.tree)});
  }
  return BuildPipeline(collective, std::move(groups), trees, spec.chunks);
}

// Hops from the root to the farthest chip of its sub-grid.
int FarthestOf(const Collective& collective, const Topology& topology) {
  const Coordinates root = collective.root
                               ? topology.CoordinatesOf(*collective.root)
                               : Coordinates{};
  int hops = 0;
  for (const int axis : ActiveAxes(collective, topology)) {
    const int size = topology.axes()[axis].size;
    hops += topology.axes()[axis].wrap
                ? size / 2
                : std::max(root[axis], size - 1 - root[axis]);
  }
  return hops;
}

int DeepestOf(const Collective& collective, const Topology& topology) {
  if (SpansGrid(collective, topology) && !topology.twisted()) {
    return FarthestOf(collective, topology);
  }
  const auto groups = GroupsOf(collective, topology);
  int deepest = 0;
  for (const Search& search : GrowAll(collective, groups, topology)) {
    deepest = std::max(deepest, Depth(search.tree.parent));
  }
  return deepest;
}

std::uint64_t CountBfsTree(const Collective& collective,
                           const Topology& topology, const LoweringSpec& spec) {
  return CountPipeline(collective, topology, /*trees=*/1, spec.chunks);
}

Seconds BfsTreeTime(const Collective& collective, const Slice& slice,
                    const LoweringSpec& spec) {
  return PipelineTime(collective, slice, DeepestOf(collective, slice.topology),
                      /*trees=*/1, spec.chunks);
}

int BfsTreeChunks(const Collective& collective, const Slice& slice) {
  return BestChunks(collective, slice, DeepestOf(collective, slice.topology),
                    /*trees=*/1);
}

}  // namespace

// One shortest-path tree per group, from the root (all-reduce: rank 0), over
// live cables between chips of the group; chunks are pipelined along it.
Lowering BfsTreeLowering() {
  return {.name = "bfs-tree",
          .help =
              "one breadth-first tree from the root, pipelined; any slice, "
              "also with dead cables and chips",
          .parameters = {"chunks"},
          .kinds = {CollectiveKind::kBroadcast, CollectiveKind::kReduce,
                    CollectiveKind::kAllReduce},
          .preconditions = "groups connected by their own chips",
          .time = "(e + k - 1)(a + S/(kB)), e = depth, k chunks",
          .source = "pipelined trees: Johnsson & Ho 1989",
          .why_not = WhyNotBfsTree,
          .build = BuildBfsTree,
          .count = CountBfsTree,
          .at_least = BfsTreeTime,
          .one_hop = true,
          .attains = true,
          .best_chunks = BfsTreeChunks};
}

}  // namespace podsim
