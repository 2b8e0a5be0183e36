// staged and staged-rotated where all chips do the same: the program of one
// chip is the schedule built chip by chip, and folds.
#include "collective/stages.h"

#include <catch2/catch.hpp>

#include "collective/groups.h"
#include "engine/engine.h"
#include "schedule/placement.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

double Time(const Schedule& schedule, const Network& network) {
  return RunPod(schedule, network).makespan;
}

TEST_CASE("staged: the program is what is built chip by chip, and folds",
          "[collective][fold]") {
  const double issue = GENERATE(0.0, 3e-7);
  int folded = 0;
  for (const Shape& shape : AllShapes(36)) {
    Slice slice = MakeTorus(
        shape, Rates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 2e-6});
    slice.parameters.ici_issue = Seconds(issue);
    for (const auto& axes : AllAxisSubsets(shape.size())) {
      Collective collective{
          .kind = CollectiveKind::kAllToAll, .payload = Bytes(0), .axes = axes};
      const int n = GroupSize(collective, slice.topology);
      const int parts =
          static_cast<int>(ActiveAxes(collective, slice.topology).size());
      if (n == 1) continue;
      // Blocks of 1001 bytes: no two pieces need be equal.
      collective.payload = Bytes(1001 * n);
      for (const auto& [name, cut] :
           {std::pair{"staged", 1}, std::pair{"staged-rotated", parts}}) {
        CAPTURE(slice.spec, axes, name, issue);
        REQUIRE(HasProgram(Spec(name), collective, slice.topology));
        const Lowered lowered = LowerOn(slice, Spec(name), collective);
        const Schedule built =
            BuildStages(collective, slice.topology, cut).schedule;
        CHECK(lowered.schedule.transfers() == built.transfers());
        CHECK(LinkBytes(lowered.schedule, slice.topology) ==
              LinkBytes(built, slice.topology));
        const double time = Time(built, MakeNetwork(slice));
        CHECK(Near(Time(lowered.schedule, MakeNetwork(slice)), time));
        CHECK(VerifyOrbit(lowered.program, slice.topology).empty());
        const Fold fold{std::vector<int>(shape.size(), 1)};
        const FoldedGrid grid(slice.topology, fold);
        CHECK(Near(Time(Instantiate(lowered.program, slice.topology, fold,
                                    collective.payload),
                        MakeNetwork(slice, grid)),
                   time));
        ++folded;
      }
    }
  }
  CHECK(folded > 150);
}

}  // namespace
}  // namespace podsim
