#include "collective/lowerings.h"
#include "collective/stages.h"

namespace podsim {
namespace {

constexpr int kParts = 1;

WholeSchedule BuildStaged(const Collective& collective,
                          const Topology& topology, const LoweringSpec&) {
  return BuildStages(collective, topology, kParts);
}

bool IsSymmetric(const Collective& collective, const Topology& topology,
                 const LoweringSpec&) {
  return StagesAreSymmetric(collective, topology, kParts);
}

Program LowerStaged(const Collective& collective, const Topology& topology,
                    const LoweringSpec&) {
  return EmitStages(collective, topology, kParts);
}

std::uint64_t CountStaged(const Collective& collective,
                          const Topology& topology, const LoweringSpec&) {
  return CountStages(collective, topology, kParts);
}

Seconds StagedTime(const Collective& collective, const Slice& slice,
                   const LoweringSpec&) {
  return StagesTime(collective, slice, kParts);
}

}  // namespace

// Few messages where o dominates: the sum of n_a - 1 per chip. The links of one
// axis at a time are busy, a d-th of the optimum.
Lowering StagedLowering() {
  return {.name = "staged",
          .help =
              "axis after axis, blocks merged into one message per chip "
              "of a line",
          .parameters = {},
          .kinds = {CollectiveKind::kAllToAll},
          .preconditions = "any axes, wrapped or not",
          .time =
              "about d o + D alpha + sum of the axes' loads, "
              "floor(n^2/4)/(2n) S/B of a wrapped one",
          .source = "dimension-wise exchange of merged blocks",
          .why_not = WhyNotStages,
          .lower = LowerStaged,
          .is_symmetric = IsSymmetric,
          .build = BuildStaged,
          .count = CountStaged,
          .at_least = StagedTime};
}

}  // namespace podsim
