// Rings with a product per shard beside them.
#include <algorithm>
#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr double kStartUp = 2e-6;  // a = o + alpha
constexpr double kRate = 50e9;     // B

Slice Ring(int n) {
  Slice slice = MakeGridOf({n}, {true});
  slice.parameters.ici_message_overhead = Seconds(kStartUp / 2);
  slice.parameters.ici_hop_latency = Seconds(kStartUp / 2);
  slice.parameters.ici_bandwidth = BytesPerSecond(kRate);
  slice.topology =
      Topology::MakeGrid(slice.topology.axes(), /*twisted=*/false,
                         BytesPerSecond(kRate), Seconds(kStartUp / 2));
  return slice;
}

double TimeOf(const Slice& slice, CollectiveKind kind, std::int64_t payload,
              double compute, bool bidirectional) {
  LoweringSpec spec{.name = "windowed-matmul", .fractions = {}};
  spec.step_compute = Seconds(compute);
  spec.bidirectional = bidirectional;
  const Lowered lowered =
      LowerOn(slice, spec, OnAllChips(kind, payload, slice));
  CHECK(VerifyFull(lowered.schedule, lowered.meaning, slice.topology).empty());
  CHECK(VerifyOrbit(lowered.program, slice.topology).empty());
  return RunPod(lowered.schedule, MakeNetwork(slice)).makespan;
}

TEST_CASE("windowed-matmul hides the shorter of products and transfers",
          "[collective][formula]") {
  for (const int n : {2, 3, 4, 5, 8}) {
    const Slice slice = Ring(n);
    const std::int64_t payload = std::int64_t{n} * 100'000;
    const double x = kStartUp + 100'000 / kRate;  // one step: 4 us
    for (const double c : {0.5 * x, x, 3 * x}) {
      CAPTURE(n, c);
      // One direction: n products, or n-1 steps and the last product.
      CHECK(TimeOf(slice, CollectiveKind::kAllGather, payload, c, false) ==
            Approx(std::max(n * c, (n - 1) * x + c)).epsilon(1e-9));
      CHECK(TimeOf(slice, CollectiveKind::kReduceScatter, payload, c, false) ==
            Approx(c + (n - 1) * std::max(c, x)).epsilon(1e-9));
    }
  }
}

TEST_CASE("both ways round, products bind as soon as they take a step",
          "[collective][formula]") {
  for (const int n : {3, 4, 5, 8}) {
    const Slice slice = Ring(n);
    const std::int64_t payload = std::int64_t{n} * 100'000;
    const double x = kStartUp + 100'000 / kRate;
    CAPTURE(n);
    // Two shards arrive per step, so products of x or more never wait but for
    // the last transfer of a scatter, which follows the last foreign product.
    CHECK(TimeOf(slice, CollectiveKind::kAllGather, payload, x, true) ==
          Approx(n * x).epsilon(1e-9));
    CHECK(TimeOf(slice, CollectiveKind::kReduceScatter, payload, 3 * x, true) ==
          Approx(3 * n * x).epsilon(1e-9));
  }
}

TEST_CASE("windowed-matmul needs the time of a product", "[collective]") {
  const Slice slice = Ring(4);
  const auto reason = WhyNot(
      Spec("windowed-matmul"),
      OnAllChips(CollectiveKind::kAllGather, 1024, slice), slice.topology);
  REQUIRE(reason.has_value());
  CHECK(*reason ==
        "it needs the duration of one product; give "
        "windowed-matmul:step_compute=10us");
}

}  // namespace
}  // namespace podsim
