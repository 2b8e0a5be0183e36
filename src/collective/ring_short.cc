#include "collective/axis_stage.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotRingShort(const Collective& collective,
                                           const Topology& topology,
                                           const LoweringSpec&) {
  return WhyNotOneRing(collective, topology, AxisPrimitive::kShort);
}

// Each shard travels floor(n/2) hops in both directions; on an even ring the
// far chip gets one half from each side. The bandwidth of ring-split in half of
// its steps.
Program LowerRingShort(const Collective& collective, const Topology& topology,
                       const LoweringSpec&) {
  return EmitAxesInOrder(collective, topology, AxisPrimitive::kShort,
                         /*batches=*/1);
}

}  // namespace

Lowering RingShortLowering() {
  return {.name = "ring-short",
          .help = "every shard the shorter way around",
          .parameters = {},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                    CollectiveKind::kAllReduce},
          .preconditions = "one wrapped axis",
          .time = "floor(n/2) a + (n-1)/(2n) S/B",
          .source =
              "bidirectional ring, shortest-path form; optimal by the cut "
              "around one chip",
          .why_not = WhyNotRingShort,
          .lower = LowerRingShort,
          .one_hop = true};
}

}  // namespace podsim
