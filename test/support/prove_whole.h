#ifndef PODSIM_TEST_SUPPORT_PROVE_WHOLE_H_
#define PODSIM_TEST_SUPPORT_PROVE_WHOLE_H_

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "collective/lowering.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {

inline std::string ReasonOf(const std::string& spec,
                            const Collective& collective,
                            const Topology& topology) {
  return WhyNot(Spec(spec), collective, topology).value_or("applies");
}

// Proves the schedule and what the row says of it: one hop per transfer, no
// more transfers than `count`, no less time than `at_least`. Returns the time
// in seconds; nullopt where the lowering does not apply.
inline std::optional<double> ProveWhole(const Slice& slice,
                                        const LoweringSpec& spec,
                                        const Collective& collective) {
  if (WhyNot(spec, collective, slice.topology)) return std::nullopt;
  const LoweringSpec resolved = Resolve(spec, collective, slice);
  CAPTURE(slice.spec, ToText(resolved, collective, slice.topology),
          ToText(collective.kind), collective.axes, collective.payload.value(),
          collective.root ? static_cast<int>(collective.root->value()) : -1);
  const auto [schedule, meaning] = Build(resolved, collective, slice.topology);
  const Violations violations = VerifyFull(schedule, meaning, slice.topology);
  CAPTURE(violations.empty() ? "" : violations.texts().front());
  REQUIRE(violations.empty());
  REQUIRE(schedule.one_hop());
  REQUIRE(schedule.transfers() <=
          CountSteps(resolved, collective, slice.topology));
  const double time = RunPod(schedule, MakeNetwork(slice)).makespan;
  const double least =
      FindLowering(spec.name)->at_least(collective, slice, resolved).value();
  CAPTURE(time, least);
  REQUIRE(time >= least * (1 - 1e-9));
  return time;
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_PROVE_WHOLE_H_
