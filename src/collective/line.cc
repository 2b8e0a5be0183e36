#include "collective/axis_stage.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotLine(const Collective& collective,
                                      const Topology& topology,
                                      const LoweringSpec&) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return std::nullopt;
  if (active.size() > 1) {
    return "the group spans " + std::to_string(active.size()) +
           " axes; use bucket or bucket-rotated, which run lines on unwrapped "
           "axes";
  }
  if (topology.axes()[active[0]].wrap) {
    return "axis " + AxisName(topology, active[0]) + " wraps; use ring-short";
  }
  return std::nullopt;
}

// All-gather on an unwrapped axis: every shard travels to both ends, in step s
// a chip passes on what came from s places away. Reduce-scatter: partial sums
// travel inwards from the ends, the farthest block first. The end chips' single
// link carries n-1 shards, which is also the bound.
Program LowerLine(const Collective& collective, const Topology& topology,
                  const LoweringSpec& spec) {
  return EmitAxesInOrder(collective, topology, spec.axis_primitive,
                         /*batches=*/1);
}

}  // namespace

Lowering LineLowering() {
  return {.name = "line",
          .help = "from both ends along an unwrapped axis",
          .parameters = {},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                    CollectiveKind::kAllReduce},
          .preconditions = "one unwrapped axis",
          .time = "(n-1)(a + S/(nB))",
          .source = "neighbour exchange on a path; equals the cut at the ends",
          .why_not = WhyNotLine,
          .lower = LowerLine,
          .one_hop = true};
}

}  // namespace podsim
