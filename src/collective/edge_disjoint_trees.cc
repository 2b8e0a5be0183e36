#include <algorithm>

#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/memo.h"
#include "collective/out_trees.h"

namespace podsim {
namespace {

constexpr std::size_t kMostMembers = 64;

// The most trees that fit into every group.
int MostTrees(const Collective& collective, const Topology& topology) {
  const auto groups = GroupsOf(collective, topology);
  const int root = RootRank(collective, groups);
  std::optional<int> most;
  for (const auto& group : groups) {
    if (group.size() == 1) continue;
    const int trees = MostOutTrees(ArcsOf(group, collective.kind, topology),
                                   static_cast<int>(group.size()), root);
    most = std::min(most.value_or(trees), trees);
  }
  return most.value_or(1);
}

// Of every group; the deepest first, as the first part of the payload is never
// smaller than another.
struct Packing {
  Trees trees;
  int depth = 0;
};

Packing Pack(const std::vector<std::vector<ChipId>>& groups,
             const std::vector<std::vector<Arc>>& arcs, int root, int count,
             const Topology& topology) {
  Packing packing;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const int ranks = static_cast<int>(groups[g].size());
    std::vector<Tree> trees;
    for (const ArcTree& tree : PackOutTrees(arcs[g], ranks, root, count)) {
      trees.push_back(MakeTree(tree, arcs[g], topology));
    }
    SortByDepth(trees);
    packing.depth = std::max(packing.depth, Depth(trees[0].parent));
    packing.trees.push_back(std::move(trees));
  }
  return packing;
}

std::shared_ptr<const Packing> PackingOf(const Collective& collective,
                                         const Topology& topology, int count) {
  thread_local Memo<Packing> memo(/*most=*/4);
  const auto groups = GroupsOf(collective, topology);
  const int root = RootRank(collective, groups);
  std::vector<std::vector<Arc>> arcs;
  std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(count),
                                    static_cast<std::uint32_t>(root)};
  for (const auto& group : groups) {
    arcs.push_back(ArcsOf(group, collective.kind, topology));
    key.push_back(static_cast<std::uint32_t>(group.size()));
    AppendKey(arcs.back(), key);
  }
  return memo.At(key,
                 [&] { return Pack(groups, arcs, root, count, topology); });
}

std::optional<std::string> WhyNotDisjoint(const Collective& collective,
                                          const Topology& topology,
                                          const LoweringSpec& spec) {
  if (CountMembers(collective, topology) > kMostMembers) {
    return "its trees are searched for up to " + std::to_string(kMostMembers) +
           " chips only; use bfs-tree";
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
                       PackingOf(collective, topology, spec.trees)->trees,
                       spec.chunks);
}

std::uint64_t CountDisjoint(const Collective& collective,
                            const Topology& topology,
                            const LoweringSpec& spec) {
  return CountPipeline(collective, topology, spec.trees, spec.chunks);
}

Seconds DisjointTime(const Collective& collective, const Slice& slice,
                     const LoweringSpec& spec) {
  return PipelineTime(collective, slice,
                      PackingOf(collective, slice.topology, spec.trees)->depth,
                      spec.trees, spec.chunks);
}

LoweringSpec ResolveDisjoint(const LoweringSpec& spec,
                             const Collective& collective, const Slice& slice) {
  LoweringSpec resolved = spec;
  if (spec.trees == 0) resolved.trees = MostTrees(collective, slice.topology);
  if (spec.chunks == 0) {
    resolved.chunks =
        BestChunks(collective, slice,
                   PackingOf(collective, slice.topology, resolved.trees)->depth,
                   resolved.trees);
  }
  return resolved;
}

}  // namespace

// Trees from the root, an equal part of the payload down each of them, as many
// as the chip with fewest links has: all of those links are busy. Reduce: the
// same up, on the links the other way.
Lowering EdgeDisjointTreesLowering() {
  return {
      .name = "edge-disjoint-trees",
      .help =
          "as many trees from the root as share no link, pipelined; any "
          "slice, also with dead cables and chips",
      .parameters = {"chunks", "trees"},
      .kinds = {CollectiveKind::kBroadcast, CollectiveKind::kReduce},
      .preconditions = "groups connected by their own chips, at most 64 in all",
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
