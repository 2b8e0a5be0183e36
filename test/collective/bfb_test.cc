// Balanced breadth-first trees.
#include <catch2/catch.hpp>

#include "collective/balanced_trees.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"
#include "test/support/random_slices.h"
#include "topology/distance.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
constexpr double kStartUp = kRates.alpha + kRates.overhead;

struct Torus {
  Shape shape;
  bool twisted;
};

Slice Make(const Torus& torus) {
  return torus.twisted ? MakeTwisted(torus.shape, kRates)
                       : MakeTorus(torus.shape, kRates);
}

int Diameter(const Slice& slice) {
  return SummariseDistances(slice.topology).diameter;
}

// D steps, and every link carries (P-1)/(2d) shards: optimal in both.
TEST_CASE("bfb: D a + (P-1)/(2dP) S/B on plain and twisted tori",
          "[collective][formula]") {
  const std::vector<Torus> tori = {
      {{5}, false},       {{6}, false},      {{8}, false},
      {{3, 3}, false},    {{4, 4}, false},   {{3, 4}, false},
      {{3, 5}, false},    {{5, 6}, false},   {{4, 8}, false},
      {{8, 8}, false},    {{4, 16}, false},  {{4, 4, 4}, false},
      {{3, 4, 5}, false}, {{4, 8}, true},    {{4, 4, 8}, true},
      {{8, 16}, true},    {{4, 8, 8}, true}, {{4, 4, 8}, false}};
  for (const Torus& torus : tori) {
    const Slice slice = Make(torus);
    CAPTURE(slice.spec);
    const auto d = static_cast<std::int64_t>(slice.shape.size());
    const std::int64_t chips = slice.topology.chips();
    const std::int64_t payload = chips * 2 * d * 1000;
    const int steps = Diameter(slice);
    for (const CollectiveKind kind : kLoweredKinds) {
      const int phases = kind == CollectiveKind::kAllReduce ? 2 : 1;
      const Lowered lowered =
          LowerOn(slice, Spec("bfb"), OnAllChips(kind, payload, slice));
      CHECK(StepsOf(lowered.schedule) == phases * steps);
      for (const std::int64_t bytes :
           LinkBytes(lowered.schedule, slice.topology)) {
        CHECK(bytes == phases * (chips - 1) * 1000);
      }
      const double sent =
          static_cast<double>((chips - 1) * 1000) / kRates.bandwidth;
      CHECK(Near(RunPod(lowered.schedule, MakeNetwork(slice)).makespan,
                 phases * (steps * kStartUp + sent)));
    }
  }
}

// 2x4 with both axes wrapped: 7/16 of S over 4 links would be optimal; 0.875 of
// that, because both links of the axis of two lead to the same chip.
TEST_CASE("bfb: an axis of two that wraps does not balance", "[collective]") {
  const Slice slice = MakeTorus({2, 4});
  const std::int64_t payload = 8 * 4 * 1000;
  const Schedule schedule =
      LowerOn(slice, Spec("bfb"),
              OnAllChips(CollectiveKind::kAllGather, payload, slice))
          .schedule;
  const double optimum = 7.0 / (2 * 2 * 8) * payload / 1e9;
  CHECK(RunPod(schedule, MakeNetwork(slice)).makespan ==
        Approx(optimum / 0.875).epsilon(1e-9));
}

TEST_CASE(
    "bfb: trees reach every displacement once per sub-chunk, level by "
    "level",
    "[collective][property]") {
  for (const Torus& torus : std::vector<Torus>{
           {{7}, false}, {{2, 4}, false}, {{4, 6}, false}, {{4, 8}, true}}) {
    const Slice slice = Make(torus);
    for (const int sub_chunks : {1, 2, 3, 4}) {
      const Collective collective =
          OnAllChips(CollectiveKind::kAllGather, 0, slice);
      const BalancedTrees trees =
          MakeBalancedTrees(collective, slice.topology, sub_chunks);
      const std::vector<int> hops = HopsFrom(slice.topology, ChipId(0));
      std::vector<int> reached(slice.topology.chips());
      for (std::size_t level = 0; level < trees.levels.size(); ++level) {
        for (const TreeJob& job : trees.levels[level]) {
          ++reached[job.at.value()];
          CHECK(hops[job.at.value()] == static_cast<int>(level) + 1);
          CHECK((job.admissible >> job.generator & 1) == 1);
        }
      }
      CHECK(reached[0] == 0);
      for (int chip = 1; chip < slice.topology.chips(); ++chip) {
        CHECK(reached[chip] == sub_chunks);
      }
    }
  }
}

// Any payload, any sub-torus, any number of sub-chunks; by replay and by orbit.
TEST_CASE("bfb is proved on all tori of up to 36 chips",
          "[collective][property]") {
  int proofs = 0;
  const auto prove = [&](const Slice& slice, Collective collective) {
    const int n = GroupSize(collective, slice.topology);
    for (const std::int64_t payload : {0, 1, n - 1, n + 1, 4096 * n}) {
      for (const char* spec : {"bfb", "bfb:sub_chunks=1", "bfb:sub_chunks=5"}) {
        collective.payload = Bytes(payload);
        if (WhyNot(Spec(spec), collective, slice.topology)) continue;
        CAPTURE(slice.spec, collective.axes, payload, spec,
                ToText(collective.kind));
        const Lowered lowered = LowerOn(slice, Spec(spec), collective);
        const Violations violations =
            VerifyFull(lowered.schedule, lowered.meaning, slice.topology);
        CAPTURE(violations.empty() ? "" : violations.texts().front());
        REQUIRE(violations.empty());
        REQUIRE(VerifyOrbit(lowered.program, slice.topology).empty());
        ++proofs;
      }
    }
  };
  ForEachGridCollective(36, kLoweredKinds, prove);
  for (const Shape& shape : {Shape{4, 8}, Shape{3, 6}, Shape{2, 2, 4}}) {
    const Slice slice = MakeTwisted(shape);
    for (const CollectiveKind kind : kLoweredKinds) {
      prove(slice, OnAllChips(kind, 0, slice));
    }
  }
  CHECK(proofs > 2000);
}

TEST_CASE("bfb never beats what its row says it takes at least",
          "[collective][property]") {
  const std::vector<Torus> tori = {
      {{2}, false},    {{5}, false},     {{2, 4}, false},    {{3, 4}, false},
      {{5, 6}, false}, {{4, 4}, false},  {{2, 3, 4}, false}, {{4, 4, 4}, false},
      {{4, 8}, true},  {{4, 4, 8}, true}};
  Random random(7);
  for (const Torus& torus : tori) {
    const Slice slice = Make(torus);
    for (int round = 0; round < 20; ++round) {
      LoweringSpec spec = Spec("bfb");
      if (round % 3 == 0) spec.sub_chunks = random.Int(1, 7);
      const auto payload =
          static_cast<std::int64_t>(random.Decades(0, round % 2 == 0 ? 4 : 9));
      for (const CollectiveKind kind : kLoweredKinds) {
        const Collective collective = OnAllChips(kind, payload, slice);
        CAPTURE(slice.spec, ToText(kind), payload, spec.sub_chunks);
        const Schedule schedule = LowerOn(slice, spec, collective).schedule;
        const double time = RunPod(schedule, MakeNetwork(slice)).makespan;
        CHECK(time >=
              FindLowering("bfb")->at_least(collective, slice, spec).value() *
                  (1 - 1e-9));
      }
    }
  }
}

TEST_CASE("bfb needs axes that wrap", "[collective]") {
  const Slice slice = MakeGridOf({4, 3}, {true, false});
  const auto reason =
      WhyNot(Spec("bfb"), OnAllChips(CollectiveKind::kAllGather, 1, slice),
             slice.topology);
  REQUIRE(reason.has_value());
  CHECK(*reason ==
        "axis y (3 chips) does not wrap; use bucket-rotated:fractions=balanced "
        "or greedy");
}

}  // namespace
}  // namespace podsim
