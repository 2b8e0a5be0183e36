#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
constexpr double kStartUp = kRates.alpha + kRates.overhead;

TEST_CASE("ring-split: half a shard each way, (n-1)(a + S/(2nB))",
          "[collective]") {
  const int n = GENERATE(range(2, 18));
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  const std::int64_t payload = std::int64_t{2 * n} * 100003;
  CAPTURE(n, ToText(kind));
  const int phases = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const Slice slice = MakeTorus({n}, kRates);
  const Schedule schedule =
      LowerOn(slice, Spec("ring-split"), OnAllChips(kind, payload, slice))
          .schedule;

  CHECK(StepsOf(schedule) == phases * (n - 1));
  CHECK(schedule.transfers() ==
        static_cast<unsigned>(phases * 2 * n * (n - 1)));
  for (const std::int64_t bytes : LinkBytes(schedule, slice.topology)) {
    CHECK(bytes == phases * (n - 1) * (payload / (2 * n)));
  }
  const double half = static_cast<double>(payload) / (2 * n);
  CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
             phases * (n - 1) * (kStartUp + half / kRates.bandwidth)));
}

TEST_CASE("ring-split: an odd byte of a shard travels in the + half",
          "[collective]") {
  const int n = 5;
  const std::int64_t payload = 5 * 3;  // halves of 2 and 1
  const Slice slice = MakeTorus({n});
  const Schedule schedule =
      LowerOn(slice, Spec("ring-split"),
              OnAllChips(CollectiveKind::kAllGather, payload, slice))
          .schedule;
  const auto bytes = LinkBytes(schedule, slice.topology);
  for (std::uint32_t link = 0; link < bytes.size(); ++link) {
    const bool plus = slice.topology.SignOf(LinkId(link)) == Sign::kPlus;
    CHECK(bytes[link] == (n - 1) * (plus ? 2 : 1));
  }
}

}  // namespace
}  // namespace podsim
