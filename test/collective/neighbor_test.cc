#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr auto kAllToAll = CollectiveKind::kAllToAll;

TEST_CASE("neighbor: every axis of every grid of up to 24 chips",
          "[collective][property]") {
  CHECK(ProveOnGrids("neighbor", 24) > 1000);
}

TEST_CASE("neighbor: larger slices, slow links, faults elsewhere",
          "[collective][property]") {
  CHECK(ProveOnRandomSlices("neighbor", 1000) > 300);
}

TEST_CASE("neighbor: the time that it claims, on rings and lines",
          "[collective]") {
  // In step s a message has the blocks that go farther than s hops; of the one
  // half a ring away only a half. Sums: floor(n^2/4)/2 and n (n-1)/2 blocks.
  const int n = GENERATE(range(2, 18));
  const std::int64_t payload = 1000 * 2 * n;
  const double full = double(payload) / kTestRates.bandwidth;
  const double start_up = kTestRates.overhead + kTestRates.alpha;
  for (const bool wrap : {false, true}) {
    const Slice slice = MakeGridOf({n}, {wrap}, kTestRates);
    CAPTURE(slice.spec);
    const Measured found = Measure(slice, "neighbor", kAllToAll, payload);
    const double expected =
        wrap ? n / 2 * start_up + (n * n / 4) / (2.0 * n) * full
             : (n - 1) * start_up + (n - 1) / 2.0 * full;
    CHECK(Near(found.time, expected));
    CHECK(Near(FindLowering("neighbor")
                   ->at_least(OnAllChips(kAllToAll, payload, slice), slice,
                              Spec("neighbor"))
                   .value(),
               expected));
    CHECK(int(found.transfers) == (wrap ? 2 * n * (n / 2) : n * (n - 1)));
  }
}

TEST_CASE("neighbor: every transfer is one hop along the axis",
          "[collective]") {
  const Slice slice = MakeGridOf({3, 4}, {true, false});
  const Schedule schedule =
      MakeWhole(slice, Spec("neighbor"),
                {.kind = kAllToAll, .payload = Bytes(999), .axes = {1}})
          .schedule;
  CHECK(schedule.one_hop());
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    CHECK(slice.topology.AxisOf(schedule.route(OpId(op))[0]) == 1);
  }
}

TEST_CASE("neighbor: why it does not apply", "[collective]") {
  Slice slice = MakeTorus({4, 8});
  const Collective along_y{
      .kind = kAllToAll, .payload = Bytes(100), .axes = {1}};
  CHECK(WhyNotText("neighbor", OnAllChips(kAllToAll, 100, slice), slice) ==
        "the group spans 2 axes; use direct or staged-rotated");
  CHECK(WhyNotText("neighbor",
                   OnLists(kAllToAll, 100, {{ChipId(0), ChipId(5)}}), slice) ==
        "its groups must be the rings or lines of an axis; use direct");
  const Slice twisted = MakeTwisted({4, 8});
  CHECK(WhyNotText("neighbor", along_y, twisted) ==
        "on a twisted slice an axis is no ring; use direct");
  slice.topology.Kill(slice.topology.LinkAt(ChipId(6), 0, Sign::kMinus));
  CHECK(WhyNotText("neighbor", along_y, slice) == "applies");
  slice.topology.Kill(slice.topology.LinkAt(ChipId(6), 1, Sign::kMinus));
  CHECK(WhyNotText("neighbor", along_y, slice) ==
        "it needs link 2,1:y-, which is dead; use direct");
}

}  // namespace
}  // namespace podsim
