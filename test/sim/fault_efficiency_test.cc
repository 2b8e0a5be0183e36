// One dead cable anywhere: what auto chooses stays near the recomputed bound.
#include <catch2/catch.hpp>

#include "sim/simulate.h"
#include "test/support/lowered.h"
#include "test/support/random_slices.h"
#include "topology/fault.h"

namespace podsim {
namespace {

TEST_CASE("with one dead cable anywhere auto stays near the bound",
          "[sim][fault]") {
  struct Case {
    Shape shape;
    bool wrap;
    int cables;  // how many to try
  };
  const std::vector<Case> cases = {{{8}, true, 2},       {{4, 4}, true, 4},
                                   {{4, 4}, false, 4},   {{3, 5}, true, 3},
                                   {{2, 4}, false, 4},   {{4, 8}, true, 1},
                                   {{8, 8}, false, 1},   {{2, 4, 4}, true, 1},
                                   {{4, 4, 4}, true, 1}, {{2, 2, 2}, false, 3}};
  Random random(6);
  for (const Case& test : cases) {
    const Slice healthy =
        MakeGridOf(test.shape, std::vector<bool>(test.shape.size(), test.wrap),
                   Rates{.bandwidth = 100e9, .alpha = 0, .overhead = 0});
    const std::vector<std::string> cables =
        *FaultsOfEach("each-cable", healthy.topology);
    for (int k = 0; k < test.cables; ++k) {
      Slice slice = healthy;
      const std::string fault = random.Pick(cables);
      CAPTURE(slice.spec, fault);
      ApplyFault(fault, "test", slice.topology);
      for (const auto& [kind, floor] :
           {std::pair{CollectiveKind::kAllGather, 0.95},
            std::pair{CollectiveKind::kReduceScatter, 0.95},
            std::pair{CollectiveKind::kAllReduce, 0.98}}) {
        PhaseTimes times;
        const Point point =
            SimulateCollective(OnAllChips(kind, 1 << 28, slice), slice,
                               std::nullopt, "test", {}, times, nullptr);
        CAPTURE(ToText(kind), point.lowering);
        CHECK(*point.lower_bound_s / *point.time_s >= floor);
        CHECK(*point.lower_bound_s / *point.time_s <= 1 + 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace podsim
