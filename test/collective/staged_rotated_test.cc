#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr auto kAllToAll = CollectiveKind::kAllToAll;

TEST_CASE("staged-rotated: every grid of up to 12 chips, every group",
          "[collective][property]") {
  CHECK(ProveOnGrids("staged-rotated", 12) > 1000);
}

TEST_CASE("staged-rotated: faults and twists", "[collective][property]") {
  CHECK(ProveOnRandomSlices("staged-rotated", 400) > 300);
  const Slice twisted = MakeTwisted({4, 8}, kTestRates);
  ProveWhole(twisted, Spec("staged-rotated"),
             OnAllChips(kAllToAll, 65537, twisted));
}

TEST_CASE("staged-rotated: d times the messages of staged", "[collective]") {
  for (const Shape& shape : AllShapes(24)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      CAPTURE(slice.spec);
      CHECK(Measure(slice, "staged-rotated", kAllToAll, 1 << 16).transfers ==
            shape.size() *
                Measure(slice, "staged", kAllToAll, 1 << 16).transfers);
    }
  }
}

TEST_CASE("staged-rotated: the load of one axis where wrapped axes are equal",
          "[collective]") {
  // The parts are on different axes in every stage, S/d bytes each: the sum of
  // d stages is floor(n^2/4)/(2n) S/B, the bound.
  const int n = GENERATE(range(2, 6));
  for (const std::size_t d : {1u, 2u, 3u}) {
    const Slice slice = MakeTorus(Shape(d, n));
    CAPTURE(slice.spec);
    const std::int64_t payload = 2 * std::int64_t(d) * slice.topology.chips();
    CHECK(Near(Measure(slice, "staged-rotated", kAllToAll, payload).time,
               (n * n / 4) / (2.0 * n) * double(payload) / 1e9));
  }
}

}  // namespace
}  // namespace podsim
