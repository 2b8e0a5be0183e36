#include "collective/axis_stage.h"
#include "collective/lowerings.h"

namespace podsim {

std::optional<std::string> WhyNotRotated(const Collective& collective,
                                         const Topology& topology,
                                         const LoweringSpec& spec) {
  const std::size_t axes = ActiveAxes(collective, topology).size();
  const std::size_t given = spec.fractions.size();
  if (given > 0 && axes > 0 && given != axes) {
    return "fractions has " + std::to_string(given) +
           " entries, but the group spans " + std::to_string(axes) +
           " axes; give one per axis, or fractions=balanced";
  }
  if (!ResolveFractions(spec, collective, topology)) {
    return "balanced fractions would need a negative share on these axes; use "
           "equal fractions";
  }
  return std::nullopt;
}

Program EmitRotated(const Collective& collective, const Topology& topology,
                    const LoweringSpec& spec) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  std::vector<std::vector<AxisRun>> orders;
  for (std::size_t part = 0; part < active.size(); ++part) {
    orders.emplace_back();
    for (std::size_t stage = 0; stage < active.size(); ++stage) {
      const int axis = active[(part + stage) % active.size()];
      orders.back().push_back(
          MakeRun(topology, axis, spec.axis_primitive, static_cast<int>(part)));
    }
  }
  std::vector<double> fractions;
  if (spec.balanced || !spec.fractions.empty()) {
    fractions = *ResolveFractions(spec, collective, topology);
  }
  if (active.empty()) fractions.clear();
  return EmitBucket(collective, topology, orders, fractions, spec.batches);
}

// On d equal wrapped axes every axis serves exactly one part at any time, all
// 2d links of every chip are busy, and the time is the bound. On unequal axes
// balanced fractions and batches come close to it.
Lowering BucketRotatedLowering() {
  return {.name = "bucket-rotated",
          .help = "one part per axis, each starting on another axis",
          .parameters = {"axis_primitive", "batches", "fractions"},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                    CollectiveKind::kAllReduce},
          .preconditions = "any axes, wrapped or not",
          .time = "equal wrapped axes, short: sum h_j a + (P-1)/(2dP) S/B",
          .source = "Sack & Gropp 2012; Jain & Sabharwal 2010",
          .why_not = WhyNotRotated,
          .lower = EmitRotated,
          .one_hop = true};
}

}  // namespace podsim
