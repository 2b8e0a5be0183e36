#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
constexpr double kStartUp = kRates.alpha + kRates.overhead;

TEST_CASE("line: n-1 steps, (n-1)(a + S/(nB))", "[collective]") {
  const int n = GENERATE(range(2, 18));
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  const std::int64_t payload = std::int64_t{n} * 100003;
  CAPTURE(n, ToText(kind));
  const int phases = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const Slice slice = MakeMesh({n}, kRates);
  const Schedule schedule =
      LowerOn(slice, Spec("line"), OnAllChips(kind, payload, slice)).schedule;

  CHECK(StepsOf(schedule) == phases * (n - 1));
  CHECK(schedule.transfers() == static_cast<unsigned>(phases * n * (n - 1)));
  const double shard = static_cast<double>(payload) / n;
  CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
             phases * (n - 1) * (kStartUp + shard / kRates.bandwidth)));
}

TEST_CASE("line: a link carries the shards behind it, or the sums ahead of it",
          "[collective][property]") {
  const int n = GENERATE(2, 3, 6, 9);
  const std::int64_t payload = GENERATE(1, 5, 13, 1000, 65537);
  CAPTURE(n, payload);
  const Slice slice = MakeMesh({n});
  const std::vector<Bytes> shards = SplitEvenly(Bytes(payload), n);
  const auto sent = [&](CollectiveKind kind) {
    return LinkBytes(
        LowerOn(slice, Spec("line"), OnAllChips(kind, payload, slice)).schedule,
        slice.topology);
  };
  const auto gathered = sent(CollectiveKind::kAllGather);
  const auto reduced = sent(CollectiveKind::kReduceScatter);
  std::int64_t low = 0;  // bytes of the shards of chips 0 .. chip
  for (int chip = 0; chip + 1 < n; ++chip) {
    low += shards[static_cast<std::size_t>(chip)].value();
    const std::uint32_t right =
        slice.topology
            .LinkAt(ChipId(static_cast<unsigned>(chip)), 0, Sign::kPlus)
            .value();
    const std::uint32_t left =
        slice.topology
            .LinkAt(ChipId(static_cast<unsigned>(chip + 1)), 0, Sign::kMinus)
            .value();
    CHECK(gathered[right] == low);
    CHECK(gathered[left] == payload - low);
    CHECK(reduced[right] == payload - low);
    CHECK(reduced[left] == low);
  }
}

TEST_CASE("line: a reduce-scatter starts with the farthest block",
          "[collective]") {
  // 4.4: rightwards, in step s position i <= s sends block n-1-s+i.
  const int n = 5;
  const Slice slice = MakeMesh({n});
  const Lowered lowered =
      LowerOn(slice, Spec("line"),
              OnAllChips(CollectiveKind::kReduceScatter, n * 100, slice));
  std::vector<std::vector<std::uint32_t>> sent(n);  // rightwards, by chip
  for (std::uint32_t op = 0; op < lowered.schedule.size(); ++op) {
    const LinkId link = lowered.schedule.route(OpId(op))[0];
    if (slice.topology.SignOf(link) != Sign::kPlus) continue;
    const auto chunks =
        ChunkIdsOf(lowered.schedule, OpId(op), slice.topology, 1);
    REQUIRE(chunks.size() == 1);
    sent[lowered.schedule.src(OpId(op)).value()].push_back(chunks[0]);
  }
  for (int i = 0; i < n; ++i) {
    std::vector<std::uint32_t> expected;
    for (int s = i; s < n - 1; ++s) {
      expected.push_back(static_cast<unsigned>(n - 1 - s + i));
    }
    CHECK(sent[static_cast<std::size_t>(i)] == expected);
  }
}

}  // namespace
}  // namespace podsim
