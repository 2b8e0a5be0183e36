#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
constexpr double kStartUp = kRates.alpha + kRates.overhead;  // a = o + alpha

// All-reduce is reduce-scatter, then all-gather.
double Phases(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce ? 2 : 1;
}

TEST_CASE("ring: n-1 steps of S/n bytes, (n-1)(a + S/(nB))", "[collective]") {
  const int n = GENERATE(range(2, 18));
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  const std::int64_t payload = std::int64_t{n} * 100003;
  CAPTURE(n, ToText(kind));
  const Slice slice = MakeTorus({n}, kRates);
  const Schedule schedule =
      LowerOn(slice, Spec("ring"), OnAllChips(kind, payload, slice)).schedule;
  const int phases = static_cast<int>(Phases(kind));

  CHECK(StepsOf(schedule) == phases * (n - 1));
  CHECK(schedule.transfers() == static_cast<unsigned>(phases * n * (n - 1)));
  const auto bytes = LinkBytes(schedule, slice.topology);
  for (std::uint32_t link = 0; link < bytes.size(); ++link) {
    const bool plus = slice.topology.SignOf(LinkId(link)) == Sign::kPlus;
    CHECK(bytes[link] == (plus ? phases * (n - 1) * (payload / n) : 0));
  }
  const double shard = static_cast<double>(payload) / n;
  CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
             phases * (n - 1) * (kStartUp + shard / kRates.bandwidth)));
}

TEST_CASE("ring: a link carries all shards but one, whatever the payload",
          "[collective][property]") {
  const int n = GENERATE(2, 3, 5, 8);
  const std::int64_t payload = GENERATE(1, 7, 9, 1000, 65537);
  CAPTURE(n, payload);
  const Slice slice = MakeTorus({n});
  const std::vector<Bytes> shards = SplitEvenly(Bytes(payload), n);
  const auto sent = [&](CollectiveKind kind) {
    return LinkBytes(
        LowerOn(slice, Spec("ring"), OnAllChips(kind, payload, slice)).schedule,
        slice.topology);
  };
  const auto gathered = sent(CollectiveKind::kAllGather);
  const auto reduced = sent(CollectiveKind::kReduceScatter);
  const auto both = sent(CollectiveKind::kAllReduce);
  for (int chip = 0; chip < n; ++chip) {
    const std::uint32_t link =
        slice.topology
            .LinkAt(ChipId(static_cast<unsigned>(chip)), 0, Sign::kPlus)
            .value();
    // A gather does not bring the next chip its own shard; a reduce-scatter
    // does not take away the sender's.
    const auto next = static_cast<std::size_t>((chip + 1) % n);
    const auto self = static_cast<std::size_t>(chip);
    CHECK(gathered[link] == payload - shards[next].value());
    CHECK(reduced[link] == payload - shards[self].value());
    CHECK(both[link] == gathered[link] + reduced[link]);
  }
}

TEST_CASE("ring: all lines of an axis at once take the time of one",
          "[collective]") {
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  const std::int64_t payload = 5 * 7000;
  const Slice slice = MakeGridOf({3, 5, 2}, {false, true, false}, kRates);
  const Schedule schedule =
      LowerOn(slice, Spec("ring"),
              {.kind = kind, .payload = Bytes(payload), .axes = {1}})
          .schedule;
  CHECK(schedule.transfers() ==
        static_cast<unsigned>(Phases(kind)) * 6 * 5 * 4);
  CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
             Phases(kind) * 4 * (kStartUp + 7000 / kRates.bandwidth)));
}

TEST_CASE("ring: a group of one chip and an empty payload take no time",
          "[collective]") {
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  const Slice one = MakeTorus({1}, kRates);
  const Slice ring = MakeTorus({8}, kRates);
  for (const LoweringSpec& spec : WithProgram(SpecsToCompare())) {
    CAPTURE(spec.name, ToText(kind));
    CHECK_FALSE(WhyNot(spec, OnAllChips(kind, 1000, one), one.topology));
    const Schedule single =
        LowerOn(one, spec, OnAllChips(kind, 1000, one)).schedule;
    CHECK(single.size() == 0);
    CHECK(RunPod(single, MakeNetwork(one)).makespan == 0);
    if (spec.name == "line") continue;
    const Schedule empty =
        LowerOn(ring, spec, OnAllChips(kind, 0, ring)).schedule;
    CHECK(empty.size() == 0);
    CHECK(RunPod(empty, MakeNetwork(ring)).makespan == 0);
  }
}

}  // namespace
}  // namespace podsim
