#include "collective/axis_stage.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotRing(const Collective& collective,
                                      const Topology& topology,
                                      const LoweringSpec&) {
  return WhyNotOneRing(collective, topology, AxisPrimitive::kRing);
}

// All-gather on a wrapped axis of n chips: in step s a chip passes on the shard
// of the chip s places behind; reduce-scatter is the same with time and arrows
// reversed, so that shard i ends at position i. Half of the links idle.
Program LowerRing(const Collective& collective, const Topology& topology,
                  const LoweringSpec&) {
  return EmitAxesInOrder(collective, topology, AxisPrimitive::kRing,
                         /*batches=*/1);
}

}  // namespace

Lowering RingLowering() {
  return {.name = "ring",
          .help = "around the ring in one direction",
          .parameters = {},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                    CollectiveKind::kAllReduce},
          .preconditions = "one wrapped axis",
          .time = "(n-1)(a + S/(nB))",
          .source = "Chan et al., Collective communication, CCPE 2007",
          .why_not = WhyNotRing,
          .lower = LowerRing,
          .one_hop = true};
}

}  // namespace podsim
