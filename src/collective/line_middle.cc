#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/path.h"

namespace podsim {
namespace {

// Of the longest line.
int Middle(const Collective& collective, const Topology& topology) {
  return GroupSize(collective, topology) / 2;
}

WholeSchedule BuildLineMiddle(const Collective& collective,
                              const Topology& topology,
                              const LoweringSpec& spec) {
  return BuildPaths(collective, topology, /*root=*/{}, spec.chunks);
}

Seconds LineMiddleTime(const Collective& collective, const Slice& slice,
                       const LoweringSpec& spec) {
  return PipelineTime(collective, slice, Middle(collective, slice.topology),
                      /*trees=*/1, spec.chunks);
}

int LineMiddleChunks(const Collective& collective, const Slice& slice) {
  return BestChunks(collective, slice, Middle(collective, slice.topology),
                    /*trees=*/1);
}

}  // namespace

// Reduce from both ends of a line to the chip in the middle, position
// floor(n/2), and broadcast back. Every link carries S, which is the bound S/B
// in the limit of many chunks, where reduce-scatter and all-gather on a line
// need twice that.
Lowering LineMiddleLowering() {
  return {.name = "line-middle",
          .help =
              "reduce to the middle of an unwrapped axis and back, "
              "pipelined",
          .parameters = {"chunks"},
          .kinds = {CollectiveKind::kAllReduce},
          .preconditions = "one unwrapped axis",
          .time = "(2 floor(n/2) + k - 1)(a + S/(kB)), k chunks",
          .source = "pipelined trees; optimal on a line as k grows",
          .why_not = WhyNotPath,
          .build = BuildLineMiddle,
          .count = CountPaths,
          .at_least = LineMiddleTime,
          .one_hop = true,
          .attains = true,
          .best_chunks = LineMiddleChunks};
}

}  // namespace podsim
