#include "collective/axis_stage.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotRingSplit(const Collective& collective,
                                           const Topology& topology,
                                           const LoweringSpec&) {
  return WhyNotOneRing(collective, topology, AxisPrimitive::kSplit);
}

// As ring, one half of every shard in each direction: all links of the axis
// busy in every step.
Program LowerRingSplit(const Collective& collective, const Topology& topology,
                       const LoweringSpec&) {
  return EmitAxesInOrder(collective, topology, AxisPrimitive::kSplit,
                         /*batches=*/1);
}

}  // namespace

Lowering RingSplitLowering() {
  return {.name = "ring-split",
          .help = "half of every shard around each way",
          .parameters = {},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                    CollectiveKind::kAllReduce},
          .preconditions = "one wrapped axis",
          .time = "(n-1)(a + S/(2nB))",
          .source = "Chan et al., Collective communication, CCPE 2007",
          .why_not = WhyNotRingSplit,
          .lower = LowerRingSplit,
          .one_hop = true};
}

}  // namespace podsim
