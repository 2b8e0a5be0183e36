#include <algorithm>

#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/schedule_builder.h"
#include "collective/tree.h"

namespace podsim {
namespace {

constexpr int kTrees = 2;

// Rank 0 is the root; rank r > 0 with lowest set bit `low` hangs below
// (r xor low) | 2 low, or below r xor low where that is no rank.
std::vector<int> FirstParents(int n) {
  std::vector<int> parent = {-1};
  for (int rank = 1; rank < n; ++rank) {
    const int low = rank & -rank;
    const int above = (rank ^ low) | 2 * low;
    parent.push_back(above < n ? above : rank ^ low);
  }
  return parent;
}

// The same tree on other ranks: shifted by one (n odd) or mirrored (n even), so
// that the inner ranks of one are leaves of the other.
std::vector<int> SecondParents(int n) {
  const auto relabel = [n](int rank) {
    return n % 2 == 1 ? (rank + 1) % n : n - 1 - rank;
  };
  const std::vector<int> first = FirstParents(n);
  std::vector<int> parent(n);
  for (int rank = 0; rank < n; ++rank) {
    parent[relabel(rank)] = first[rank] < 0 ? -1 : relabel(first[rank]);
  }
  return parent;
}

WholeSchedule BuildDouble(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec) {
  std::vector<std::vector<ChipId>> groups = GroupsOf(collective, topology);
  Trees trees;
  for (const auto& group : groups) {
    const int n = static_cast<int>(group.size());
    trees.push_back({MakeTree(FirstParents(n), group, topology),
                     MakeTree(SecondParents(n), group, topology)});
  }
  return BuildPipeline(collective, std::move(groups), trees, spec.chunks);
}

int DepthOf(const Collective& collective, const Topology& topology) {
  return Depth(FirstParents(GroupSize(collective, topology)));
}

std::uint64_t CountDouble(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec) {
  return CountPipeline(collective, topology, kTrees, spec.chunks);
}

Seconds DoubleTime(const Collective& collective, const Slice& slice,
                   const LoweringSpec& spec) {
  return PipelineTime(collective, slice, DepthOf(collective, slice.topology),
                      kTrees, spec.chunks);
}

int DoubleChunks(const Collective& collective, const Slice& slice) {
  return BestChunks(collective, slice, DepthOf(collective, slice.topology),
                    kTrees);
}

}  // namespace

// Two binary trees over the ranks, half of the payload on each, chunks
// pipelined up and down. Edges are routes of several hops that share links, so
// that the time below is only reached where they do not.
Lowering DoubleBinaryTreeLowering() {
  return {.name = "double-binary-tree",
          .help = "two binary trees over the ranks, half of the payload each",
          .parameters = {"chunks"},
          .kinds = {CollectiveKind::kAllReduce},
          .preconditions = "any groups",
          .time = "at least (2e + k - 1)(a + S/(2kB)), e = depth, k chunks",
          .source = "Sanders, Speck, Traeff 2009; NCCL",
          .why_not = WhyUnreachable,
          .build = BuildDouble,
          .count = CountDouble,
          .at_least = DoubleTime,
          .over_dcn = true,
          .best_chunks = DoubleChunks};
}

}  // namespace podsim
