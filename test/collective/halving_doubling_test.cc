#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr auto kAllReduce = CollectiveKind::kAllReduce;
constexpr auto kAllGather = CollectiveKind::kAllGather;
constexpr auto kReduceScatter = CollectiveKind::kReduceScatter;

std::string OrderOf(bool far_first) {
  return std::string("halving-doubling:far_first=") +
         (far_first ? "true" : "false");
}

TEST_CASE("halving-doubling: every grid of up to 12 chips, every group",
          "[collective][property]") {
  CHECK(ProveOnGrids(OrderOf(false), 12) > 1000);
  CHECK(ProveOnGrids(OrderOf(true), 12) > 1000);
}

TEST_CASE("halving-doubling: lists of chips, faults",
          "[collective][property]") {
  const std::string spec = OrderOf(GENERATE(false, true));
  CHECK(ProveOnLists(spec, kAllReduce, /*unequal=*/true, 200) == 200);
  CHECK(ProveOnLists(spec, kAllGather, /*unequal=*/false, 200) > 20);
  CHECK(ProveOnLists(spec, kReduceScatter, /*unequal=*/false, 200) > 20);
  CHECK(ProveOnRandomSlices(spec, 400) > 150);
}

TEST_CASE("halving-doubling: log2 p' messages per rank and phase",
          "[collective]") {
  const std::string spec = OrderOf(GENERATE(false, true));
  for (int n = 1; n <= 33; ++n) {
    CAPTURE(n);
    int power = 1, rounds = 0;
    for (; 2 * power <= n; power *= 2) ++rounds;
    const Slice slice = MakeTorus({n}, kTestRates);
    CHECK(int(Measure(slice, spec, kAllReduce, 1000).transfers) ==
          2 * power * rounds + 2 * (n - power));
    if (n != power) continue;
    CHECK(int(Measure(slice, spec, kAllGather, 1000).transfers) == n * rounds);
    CHECK(int(Measure(slice, spec, kReduceScatter, 1000).transfers) ==
          n * rounds);
  }
}

TEST_CASE("halving-doubling: its times on a line of 2^m chips",
          "[collective]") {
  // At distance k, k messages share the middle link of a block of 2k chips.
  // Nearest first they are S/(2k) long: S/2 per round. Farthest first k/n S:
  // k^2/n S, and the sum of 1, 4, 16, .., n^2/4 is (n^2 - 1)/3.
  const int rounds = GENERATE(range(1, 6));
  const int n = 1 << rounds;
  const std::int64_t payload = 1 << 20;
  const double full = double(payload) / kTestRates.bandwidth;
  const double start_ups =
      rounds * kTestRates.overhead + (n - 1) * kTestRates.alpha;
  const Slice slice = MakeMesh({n}, kTestRates);
  for (const CollectiveKind kind : FindLowering("halving-doubling")->kinds) {
    CAPTURE(n, ToText(kind));
    const int phases = kind == kAllReduce ? 2 : 1;
    CHECK(Near(Measure(slice, OrderOf(false), kind, payload).time,
               phases * (start_ups + rounds * full / 2)));
    CHECK(Near(Measure(slice, OrderOf(true), kind, payload).time,
               phases * (start_ups + (n * n - 1.0) / (3 * n) * full)));
  }
}

TEST_CASE("halving-doubling: why it does not apply", "[collective]") {
  const Slice ring = MakeTorus({6});
  CHECK(WhyNotText("halving-doubling", OnAllChips(kAllReduce, 100, ring),
                   ring) == "applies");
  CHECK(
      WhyNotText("halving-doubling", OnAllChips(kAllGather, 100, ring), ring) ==
      "all-gather needs groups of 2, 4, 8, .. chips, and one has 6; use "
      "direct or bruck");
  CHECK(WhyNotText("halving-doubling", OnAllChips(kReduceScatter, 100, ring),
                   ring) ==
        "reduce-scatter needs groups of 2, 4, 8, .. chips, and one has 6; use "
        "direct");
  Slice line = MakeMesh({4});
  line.topology.Kill(line.topology.LinkAt(ChipId(1), 0, Sign::kPlus));
  CHECK(WhyNotText("halving-doubling", OnAllChips(kAllGather, 100, line),
                   line) == "chips 0 and 2 cannot reach each other over ICI");
}

}  // namespace
}  // namespace podsim
