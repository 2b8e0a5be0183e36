// Collectives with an issue cost and a window.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "sim/simulate.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

Slice SliceOf(const Shape& shape, bool wrap, double issue, int window) {
  Slice slice =
      MakeGridOf(shape, std::vector<bool>(shape.size(), wrap),
                 Rates{.bandwidth = 90e9, .alpha = 1e-6, .overhead = 2e-7});
  slice.parameters.ici_issue = Seconds(issue);
  slice.parameters.ici_window = window;
  return slice;
}

Point Simulate(const Collective& collective, const Slice& slice,
               const std::optional<LoweringSpec>& lowering,
               FoldMode fold = FoldMode::kAuto) {
  SimOptions options;
  options.fold = fold;
  PhaseTimes times;
  return SimulateCollective(collective, slice, lowering, "test", options, times,
                            nullptr);
}

TEST_CASE("auto takes the fastest with issue cost and window, by no formula",
          "[sim][issue]") {
  const double issue = GENERATE(0.0, 2e-7, 5e-6);
  const int window = GENERATE(0, 1, 3);
  if (issue == 0 && window == 0) return;
  for (const Shape& shape : {Shape{8}, Shape{4, 4}}) {
    for (const bool wrap : {true, false}) {
      const Slice slice = SliceOf(shape, wrap, issue, window);
      for (const CollectiveKind kind :
           {CollectiveKind::kAllGather, CollectiveKind::kAllReduce,
            CollectiveKind::kAllToAll}) {
        const Collective collective = OnAllChips(kind, 1 << 16, slice);
        PhaseTimes times;
        const Comparison comparison =
            CompareLowerings(collective, slice, SimOptions{}, times);
        CAPTURE(issue, window, ToText(kind), wrap, shape.size());
        double best = std::numeric_limits<double>::infinity();
        for (const Point& point : comparison.points) {
          CHECK_FALSE(point.closed_form_s);
          // The first message is issued, starts up and flows.
          CHECK(*point.time_s > issue + 1.2e-6);
          CHECK(*point.lower_bound_s >= issue + 1.2e-6);
          best = std::min(best, *point.time_s);
        }
        CHECK(*Simulate(collective, slice, std::nullopt).time_s <=
              best * (1 + 1e-9));
      }
    }
  }
}

TEST_CASE("the fastest takes longer the more a message costs", "[sim][issue]") {
  const Collective collective = OnAllChips(CollectiveKind::kAllGather, 1 << 10,
                                           SliceOf({16}, true, 0, 0));
  double before = 0;
  for (const double issue : {0.0, 1e-7, 1e-6, 1e-5}) {
    const double time =
        *Simulate(collective, SliceOf({16}, true, issue, 0), std::nullopt)
             .time_s;
    CHECK(time > before);
    before = time;
  }
}

TEST_CASE("results with issue cost are the same folded and unfolded",
          "[sim][issue][fold]") {
  const Slice slice = SliceOf({4, 4, 4}, true, 3e-7, 2);
  for (const char* lowering : {"direct:ties=halves", "bfb", "bucket-rotated"}) {
    const Collective collective =
        OnAllChips(CollectiveKind::kAllGather, 1 << 18, slice);
    const Point folded = Simulate(collective, slice, Spec(lowering));
    REQUIRE(folded.fold);
    CHECK(Near(
        *folded.time_s,
        *Simulate(collective, slice, Spec(lowering), FoldMode::kOff).time_s));
  }
}

}  // namespace
}  // namespace podsim
