#include "collective/axis_stage.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotBucket(const Collective&, const Topology&,
                                        const LoweringSpec&) {
  return std::nullopt;  // any grid
}

// Axis after axis, in index order: all lines of the first axis all-gather what
// each chip has, then all lines of the second gather what each chip holds by
// then, and so on. Reduce-scatter runs the stages backwards. Only one axis is
// busy at any time, 1/d of the bound.
Program LowerBucket(const Collective& collective, const Topology& topology,
                    const LoweringSpec& spec) {
  return EmitAxesInOrder(collective, topology, spec.axis_primitive,
                         spec.batches);
}

}  // namespace

Lowering BucketLowering() {
  return {.name = "bucket",
          .help = "axis after axis, a ring or line on each",
          .parameters = {"axis_primitive", "batches"},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                    CollectiveKind::kAllReduce},
          .preconditions = "any axes, wrapped or not",
          .time = "sum of the axes' times; short: sum h_j a + (P-1)/(2P) S/B",
          .source = "Sack & Gropp 2012; Jain & Sabharwal 2010",
          .why_not = WhyNotBucket,
          .lower = LowerBucket,
          .one_hop = true};
}

}  // namespace podsim
