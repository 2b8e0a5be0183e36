#include <algorithm>

#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/path.h"

namespace podsim {
namespace {

int Root(const Collective& collective, const Topology& topology) {
  return RootRank(collective, GroupsOf(collective, topology));
}

int DepthFromRoot(const Collective& collective, const Topology& topology) {
  const int root = Root(collective, topology);
  return std::max(root, GroupSize(collective, topology) - 1 - root);
}

WholeSchedule BuildChain(const Collective& collective, const Topology& topology,
                         const LoweringSpec& spec) {
  return BuildPaths(collective, topology, Root(collective, topology),
                    spec.chunks);
}

Seconds ChainTime(const Collective& collective, const Slice& slice,
                  const LoweringSpec& spec) {
  return PipelineTime(collective, slice,
                      DepthFromRoot(collective, slice.topology), /*trees=*/1,
                      spec.chunks);
}

int ChainChunks(const Collective& collective, const Slice& slice) {
  return BestChunks(collective, slice,
                    DepthFromRoot(collective, slice.topology), /*trees=*/1);
}

}  // namespace

// From the root to both ends of a line (broadcast), or from the ends to the
// root (reduce), or both (all-reduce, from rank 0).
Lowering ChainLowering() {
  return {.name = "chain",
          .help = "along an unwrapped axis from the root, pipelined",
          .parameters = {"chunks"},
          .kinds = {CollectiveKind::kBroadcast, CollectiveKind::kReduce,
                    CollectiveKind::kAllReduce},
          .preconditions = "one unwrapped axis",
          .time = "(e + k - 1)(a + S/(kB)), e = max(root, n-1-root), k chunks",
          .source = "pipelined trees; optimal on a line as k grows",
          .why_not = WhyNotPath,
          .build = BuildChain,
          .count = CountPaths,
          .at_least = ChainTime,
          .one_hop = true,
          .attains = true,
          .best_chunks = ChainChunks};
}

}  // namespace podsim
