#include <algorithm>

#include "collective/lowerings.h"
#include "collective/stages.h"

namespace podsim {
namespace {

int PartsOf(const Collective& collective, const Topology& topology) {
  return std::max<int>(
      1, static_cast<int>(ActiveAxes(collective, topology).size()));
}

WholeSchedule BuildRotated(const Collective& collective,
                           const Topology& topology, const LoweringSpec&) {
  return BuildStages(collective, topology, PartsOf(collective, topology));
}

bool IsSymmetric(const Collective& collective, const Topology& topology,
                 const LoweringSpec&) {
  return StagesAreSymmetric(collective, topology,
                            PartsOf(collective, topology));
}

Program LowerRotated(const Collective& collective, const Topology& topology,
                     const LoweringSpec&) {
  return EmitStages(collective, topology, PartsOf(collective, topology));
}

std::uint64_t CountRotated(const Collective& collective,
                           const Topology& topology, const LoweringSpec&) {
  return CountStages(collective, topology, PartsOf(collective, topology));
}

Seconds RotatedTime(const Collective& collective, const Slice& slice,
                    const LoweringSpec&) {
  return StagesTime(collective, slice, PartsOf(collective, slice.topology));
}

}  // namespace

// Each part of the blocks starts on another axis, so that all axes are busy:
// optimal in bandwidth on equal axes.
Lowering StagedRotatedLowering() {
  return {
      .name = "staged-rotated",
      .help =
          "staged, one part of every block per axis, each starting on "
          "another axis",
      .parameters = {},
      .kinds = {CollectiveKind::kAllToAll},
      .preconditions = "any axes, wrapped or not",
      .time = "equal wrapped axes: about d o + D alpha + floor(n^2/4)/(2n) S/B",
      .source = "dimension-wise exchange of merged blocks, rotated",
      .why_not = WhyNotStages,
      .lower = LowerRotated,
      .is_symmetric = IsSymmetric,
      .build = BuildRotated,
      .count = CountRotated,
      .at_least = RotatedTime};
}

}  // namespace podsim
