#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr auto kAllReduce = CollectiveKind::kAllReduce;

TEST_CASE("recursive-doubling: every grid of up to 12 chips, every group",
          "[collective][property]") {
  CHECK(ProveOnGrids("recursive-doubling", 12) > 1000);
}

TEST_CASE("recursive-doubling: lists of chips of unequal sizes, faults",
          "[collective][property]") {
  CHECK(ProveOnLists("recursive-doubling", kAllReduce, /*unequal=*/true, 300) ==
        300);
  CHECK(ProveOnRandomSlices("recursive-doubling", 400) > 300);
}

TEST_CASE("recursive-doubling: p' log2 p' messages, and two per folded rank",
          "[collective]") {
  const int n = GENERATE(range(1, 34));
  int power = 1, rounds = 0;
  for (; 2 * power <= n; power *= 2) ++rounds;
  CAPTURE(n);
  const Slice slice = MakeTorus({n}, kTestRates);
  const Collective collective = OnAllChips(kAllReduce, 1000, slice);
  const Schedule schedule =
      MakeWhole(slice, Spec("recursive-doubling"), collective).schedule;
  CHECK(int(schedule.transfers()) == power * rounds + 2 * (n - power));
  // Adds are local ops: a round is two ops deep.
  CHECK(StepsOf(schedule) == 2 * rounds + (n == power ? 0 : 2));
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (schedule.kind(OpId(op)) != OpKind::kTransfer) continue;
    CHECK(schedule.bytes(OpId(op)) == collective.payload);
  }
}

TEST_CASE("recursive-doubling: sum of o + k (alpha + S/B) on a line of 2^m",
          "[collective]") {
  // In the round of distance k, the k messages of a block of 2k chips share its
  // middle link each way: k S there. The sum of k = 1, 2, .., n/2 is n - 1.
  const int rounds = GENERATE(range(1, 6));
  const int n = 1 << rounds;
  const std::int64_t payload = 1'000'000;
  const Slice slice = MakeMesh({n}, kTestRates);
  const double expected =
      rounds * kTestRates.overhead +
      (n - 1) * (kTestRates.alpha + double(payload) / kTestRates.bandwidth);
  CAPTURE(n);
  CHECK(Near(Measure(slice, "recursive-doubling", kAllReduce, payload).time,
             expected));
}

TEST_CASE("recursive-doubling: three chips in a line take 3 (a + S/B)",
          "[collective]") {
  // Rank 0 folds into 1, 1 and 2 swap, 0 gets the sum: one hop each.
  const std::int64_t payload = 1'000'000;
  const double step = kTestRates.overhead + kTestRates.alpha +
                      double(payload) / kTestRates.bandwidth;
  CHECK(Near(Measure(MakeMesh({3}, kTestRates), "recursive-doubling",
                     kAllReduce, payload)
                 .time,
             3 * step));
}

TEST_CASE("rank exchanges need no axes", "[collective]") {
  // A star of five chips.
  std::vector<Cable> cables;
  for (unsigned leaf = 1; leaf < 5; ++leaf) {
    cables.push_back({.a = ChipId(0),
                      .b = ChipId(leaf),
                      .bandwidth = BytesPerSecond(1e9),
                      .latency = Seconds(0)});
  }
  const Slice star{.spec = "star",
                   .generation = "ideal",
                   .shape = {},
                   .topology = Topology::MakeExplicit(5, cables),
                   .parameters = {},
                   .warnings = {}};
  for (const std::string name :
       {"recursive-doubling", "halving-doubling", "bruck"}) {
    const CollectiveKind kind = FindLowering(name)->kinds[0];
    const Collective collective{
        .kind = kind, .payload = Bytes(1001), .axes = {}};
    CAPTURE(name);
    REQUIRE(WhyNotText(name, collective, star) == "applies");
    const WholeSchedule whole = MakeWhole(star, Spec(name), collective);
    CHECK(VerifyFull(whole.schedule, whole.meaning, star.topology).empty());
  }
}

TEST_CASE("recursive-doubling: why it does not apply", "[collective]") {
  Slice line = MakeMesh({4});
  CHECK(WhyNotText("recursive-doubling",
                   OnAllChips(CollectiveKind::kAllGather, 100, line),
                   line) == "only for all-reduce");
  line.topology.Kill(line.topology.LinkAt(ChipId(1), 0, Sign::kPlus));
  CHECK(WhyNotText("recursive-doubling", OnAllChips(kAllReduce, 100, line),
                   line) == "chips 0 and 2 cannot reach each other over ICI");
}

}  // namespace
}  // namespace podsim
