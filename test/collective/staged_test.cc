#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr auto kAllToAll = CollectiveKind::kAllToAll;

TEST_CASE("staged: every grid of up to 12 chips, every group",
          "[collective][property]") {
  CHECK(ProveOnGrids("staged", 12) > 1000);
}

TEST_CASE("staged: faults and twists", "[collective][property]") {
  CHECK(ProveOnRandomSlices("staged", 400) > 300);
  const Slice twisted = MakeTwisted({4, 8}, kTestRates);
  ProveWhole(twisted, Spec("staged"), OnAllChips(kAllToAll, 65537, twisted));
}

TEST_CASE("staged: one message per chip of a line, two at half a ring",
          "[collective]") {
  for (const Shape& shape : AllShapes(24)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      CAPTURE(slice.spec);
      int per_chip = 0;
      for (std::size_t a = 0; a < shape.size(); ++a) {
        per_chip += shape[a] - 1;
        if (wrap[a] && shape[a] % 2 == 0) ++per_chip;
      }
      CHECK(int(Measure(slice, "staged", kAllToAll, 1 << 16).transfers) ==
            per_chip * ChipsOf(shape));
    }
  }
}

TEST_CASE("staged: the sum of the loads of wrapped axes without start-ups",
          "[collective]") {
  // A stage is an all-to-all of S on each ring: floor(n^2/4)/(2n) S/B.
  for (const Shape& shape : AllShapes(36)) {
    const Slice slice = MakeTorus(shape);
    CAPTURE(slice.spec);
    const std::int64_t chips = ChipsOf(shape);
    const std::int64_t payload = 1000 * 2 * chips;
    double expected = 0;
    for (const int n : shape) {
      expected += (n * n / 4) / (2.0 * n) * double(payload) / 1e9;
    }
    CHECK(Near(Measure(slice, "staged", kAllToAll, payload).time, expected));
  }
}

TEST_CASE("staged: why it does not apply", "[collective]") {
  const Slice slice = MakeTorus({4, 4});
  const auto lists = OnLists(kAllToAll, 100, {{ChipId(0), ChipId(5)}});
  CHECK(WhyNotText("staged", lists, slice) ==
        "its groups must be all chips or the sub-grids of some axes, and these "
        "lists are neither; use direct or bruck");
  Slice faulty = slice;
  faulty.topology.Kill(ChipId(5));
  CHECK(WhyNotText("staged", OnAllChips(kAllToAll, 100, faulty), faulty) ==
        "chip 1,1 is dead, and the groups must be whole sub-grids; use direct "
        "or bruck");
  const Slice cables{
      .spec = "cables",
      .generation = "ideal",
      .shape = {},
      .topology = Topology::MakeExplicit(2, {{.a = ChipId(0),
                                              .b = ChipId(1),
                                              .bandwidth = BytesPerSecond(1e9),
                                              .latency = Seconds(0)}}),
      .parameters = {},
      .warnings = {}};
  CHECK(WhyNotText("staged", OnAllChips(kAllToAll, 100, cables), cables) ==
        "the slice is a list of links without axes; use direct or bruck");
}

}  // namespace
}  // namespace podsim
