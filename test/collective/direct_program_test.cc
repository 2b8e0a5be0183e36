// Direct messages that are the same at every chip.
#include <catch2/catch.hpp>

#include "collective/direct_program.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"
#include "topology/distance.h"

namespace podsim {
namespace {

constexpr std::array kKinds = {
    CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
    CollectiveKind::kAllReduce, CollectiveKind::kAllToAll};

TEST_CASE("symmetric direct messages are proved, by replay and by orbit",
          "[collective][property]") {
  int proofs = 0;
  ForEachGridCollective(24, kKinds, [&](const Slice& slice, Collective c) {
    const int n = GroupSize(c, slice.topology);
    for (const std::int64_t payload : {0, 1, n - 1, n, 7 * n, n + 1}) {
      c.payload = Bytes(payload);
      const LoweringSpec spec = Spec("direct:ties=halves");
      if (WhyNot(spec, c, slice.topology)) continue;
      if (!HasProgram(spec, c, slice.topology)) continue;
      CAPTURE(slice.spec, c.axes, payload, ToText(c.kind));
      const Lowered lowered = LowerOn(slice, spec, c);
      const Violations violations =
          VerifyFull(lowered.schedule, lowered.meaning, slice.topology);
      CAPTURE(violations.empty() ? "" : violations.texts().front());
      REQUIRE(violations.empty());
      if (payload >= n) {
        REQUIRE(VerifyOrbit(lowered.program, slice.topology).empty());
      }
      ++proofs;
    }
  });
  CHECK(proofs > 500);
}

// As a program or chip by chip: the same messages on the same routes.
TEST_CASE("the program of direct all-to-all sends what the schedule does",
          "[collective][property]") {
  for (const Shape& shape :
       {Shape{4}, Shape{5}, Shape{4, 4}, Shape{3, 4}, Shape{4, 2, 4}}) {
    const Slice slice = MakeTorus(shape, {1e9, 3e-6, 1e-6});
    const Collective collective = OnAllChips(
        CollectiveKind::kAllToAll, slice.topology.chips() * 1001, slice);
    const LoweringSpec spec = Spec("direct");
    REQUIRE(HasProgram(spec, collective, slice.topology));
    const Schedule program = LowerOn(slice, spec, collective).schedule;
    const Schedule built = Build(spec, collective, slice.topology).schedule;
    CAPTURE(slice.spec);
    CHECK(program.transfers() == built.transfers());
    CHECK(LinkBytes(program, slice.topology) ==
          LinkBytes(built, slice.topology));
    CHECK(Near(RunPod(program, MakeNetwork(slice)).makespan,
               RunPod(built, MakeNetwork(slice)).makespan));
  }
}

// Camara et al. and the TPU v4 paper; messages of one block per link, where
// every chip sends one to each other: sum of distances / (2d).
TEST_CASE("twisted all-to-all loads all links with the mean distance",
          "[collective][formula]") {
  const std::vector<std::pair<Shape, double>> loads = {
      {{4, 8}, 21},
      {{8, 16}, 170},
      {{4, 4, 8}, 73 + 1 / 3.0},
      {{4, 8, 8}, 184},
      {{8, 8, 16}, 1189 + 1 / 3.0},
      {{8, 16, 16}, 2976}};
  for (const auto& [shape, load] : loads) {
    const Slice slice = MakeTwisted(shape);
    CAPTURE(slice.spec);
    std::vector<double> messages(2 * shape.size());
    for (const Displacement& v : AllMinimalWays(slice.topology)) {
      for (const Coordinates& way : v.ways) {
        for (std::size_t a = 0; a < shape.size(); ++a) {
          const double share = 1.0 / static_cast<double>(v.ways.size());
          messages[2 * a + (way[a] < 0 ? 1 : 0)] += share * std::abs(way[a]);
        }
      }
    }
    for (const double of_link : messages) CHECK(of_link == Approx(load));
  }
}

TEST_CASE("direct-twisted is proved and takes the bound without latencies",
          "[collective][property]") {
  for (const Shape& shape : {Shape{2, 4}, Shape{4, 8}, Shape{4, 4, 8}}) {
    const Slice slice = MakeTwisted(shape);
    const std::int64_t n = slice.topology.chips();
    const Collective collective =
        OnAllChips(CollectiveKind::kAllToAll, n * 720, slice);
    const Lowered lowered = LowerOn(slice, Spec("direct-twisted"), collective);
    CAPTURE(slice.spec);
    CHECK(
        VerifyFull(lowered.schedule, lowered.meaning, slice.topology).empty());
    CHECK(VerifyOrbit(lowered.program, slice.topology).empty());
    double hops = 0;
    for (const int distance : HopsFrom(slice.topology, ChipId(0))) {
      hops += distance;
    }
    const double load =
        hops * 720 / (2.0 * static_cast<double>(shape.size())) / 1e9;
    CHECK(Near(RunPod(lowered.schedule, MakeNetwork(slice)).makespan, load));
  }
}

TEST_CASE("ties=halves is refused where chips differ", "[collective]") {
  const Slice slice = MakeGridOf({4, 3}, {true, false});
  const auto reason =
      WhyNot(Spec("direct:ties=halves"),
             OnAllChips(CollectiveKind::kAllGather, 1, slice), slice.topology);
  REQUIRE(reason.has_value());
  CHECK(*reason ==
        "ties=halves needs groups along wrapped axes of a healthy slice, or "
        "lists of chips equally far apart on them; use ties=parity");
}

}  // namespace
}  // namespace podsim
