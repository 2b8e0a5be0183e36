#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
constexpr double kStartUp = kRates.alpha + kRates.overhead;

TEST_CASE("ring-short: floor(n/2) steps, floor(n/2) a + (n-1)/(2n) S/B",
          "[collective]") {
  const int n = GENERATE(range(2, 18));
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  const std::int64_t payload = std::int64_t{2 * n} * 100003;
  CAPTURE(n, ToText(kind));
  const int phases = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const Slice slice = MakeTorus({n}, kRates);
  const Schedule schedule =
      LowerOn(slice, Spec("ring-short"), OnAllChips(kind, payload, slice))
          .schedule;

  CHECK(StepsOf(schedule) == phases * (n / 2));
  // Two transfers per chip and step, also where a block goes in halves.
  CHECK(schedule.transfers() ==
        static_cast<unsigned>(phases * n * (n % 2 == 1 ? n - 1 : n)));
  for (const std::int64_t bytes : LinkBytes(schedule, slice.topology)) {
    CHECK(bytes == phases * (n - 1) * (payload / (2 * n)));
  }
  const double sent =
      (n - 1) / (2.0 * n) * static_cast<double>(payload) / kRates.bandwidth;
  CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
             phases * (n / 2 * kStartUp + sent)));
}

TEST_CASE("ring-short: a link carries the shards of the n/2 chips behind it",
          "[collective][property]") {
  const int n = GENERATE(2, 3, 6, 7);
  const std::int64_t payload = GENERATE(1, 5, 13, 1000, 65537);
  CAPTURE(n, payload);
  const Slice slice = MakeTorus({n});
  const std::vector<Bytes> shards = SplitEvenly(Bytes(payload), n);
  const auto sent =
      LinkBytes(LowerOn(slice, Spec("ring-short"),
                        OnAllChips(CollectiveKind::kAllGather, payload, slice))
                    .schedule,
                slice.topology);
  for (int chip = 0; chip < n; ++chip) {
    for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
      const int behind = sign == Sign::kPlus ? -1 : 1;
      std::int64_t expected = 0;
      for (int step = 0; step < n / 2; ++step) {
        const int owner = (chip + behind * step + n) % n;
        const std::int64_t shard =
            shards[static_cast<std::size_t>(owner)].value();
        // The far chip of an even ring gets the larger half from the + side.
        const bool far = 2 * (step + 1) == n;
        const std::int64_t half =
            sign == Sign::kPlus ? (shard + 1) / 2 : shard / 2;
        expected += far ? half : shard;
      }
      const LinkId link =
          slice.topology.LinkAt(ChipId(static_cast<unsigned>(chip)), 0, sign);
      CHECK(sent[link.value()] == expected);
    }
  }
}

TEST_CASE("ring-short: two chips that wrap use both cables for one step",
          "[collective]") {
  const Slice slice = MakeTorus({2}, kRates);
  const Schedule schedule =
      LowerOn(slice, Spec("ring-short"),
              OnAllChips(CollectiveKind::kAllGather, 4000, slice))
          .schedule;
  REQUIRE(schedule.transfers() == 4);
  for (std::uint32_t op = 0; op < 4; ++op) {
    CHECK(schedule.bytes(OpId(op)) == Bytes(1000));
    CHECK(schedule.after(OpId(op)).empty());
  }
  CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
             kStartUp + 1000 / kRates.bandwidth));
}

}  // namespace
}  // namespace podsim
