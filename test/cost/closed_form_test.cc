#include "cost/closed_form.h"

#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "test/support/lowered.h"
#include "topology/fault.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
constexpr double kStartUp = kRates.alpha + kRates.overhead;

std::optional<double> Time(const std::string& spec,
                           const Collective& collective, const Slice& slice) {
  const auto time = ClosedForm(Spec(spec), collective, slice);
  if (!time) return std::nullopt;
  return time->value();
}

TEST_CASE("the closed forms are those of the lowerings", "[cost]") {
  const int n = GENERATE(range(2, 20));
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  CAPTURE(n, ToText(kind));
  const double phases = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const std::int64_t payload = std::int64_t{2 * n} * 1000;
  const double whole = static_cast<double>(payload) / kRates.bandwidth;
  const Slice ring = MakeTorus({n}, kRates);
  const Slice line = MakeMesh({n}, kRates);
  const Collective collective = OnAllChips(kind, payload, ring);
  const double one_way = phases * (n - 1) * (kStartUp + whole / n);
  const double both_ways = phases * (n - 1) * (kStartUp + whole / (2 * n));
  const double short_way =
      phases * (n / 2 * kStartUp + (n - 1) / (2.0 * n) * whole);
  CHECK(Near(Time("ring", collective, ring).value(), one_way));
  CHECK(Near(Time("ring-split", collective, ring).value(), both_ways));
  CHECK(Near(Time("ring-short", collective, ring).value(), short_way));
  CHECK(Near(Time("line", collective, line).value(), one_way));
  // A bucket of one axis is that axis.
  CHECK(Near(Time("bucket:axis_primitive=ring", collective, ring).value(),
             one_way));
  CHECK(Near(Time("bucket:axis_primitive=split", collective, ring).value(),
             both_ways));
  CHECK(Near(Time("bucket-rotated", collective, ring).value(), short_way));
  CHECK(Near(Time("bucket", collective, line).value(), one_way));
}

TEST_CASE("a pod has a closed form as well", "[cost]") {
  const Slice pod = MakeTorus({16, 16, 16}, kRates);
  const std::int64_t payload = std::int64_t{4096} * 6 * 1000;
  const Collective collective =
      OnAllChips(CollectiveKind::kAllGather, payload, pod);
  const double sent =
      4095.0 / 4096 * static_cast<double>(payload) / kRates.bandwidth;
  CHECK(Near(Time("bucket-rotated", collective, pod).value(),
             24 * kStartUp + sent / 6));
  CHECK(
      Near(Time("bucket", collective, pod).value(), 24 * kStartUp + sent / 2));
}

TEST_CASE("no closed form is stated where none is exact", "[cost]") {
  const Slice torus = MakeTorus({4, 4}, kRates);
  const std::int64_t payload = 16 * 2 * 2 * 1000;
  const auto time = [&](const std::string& spec, const Slice& slice,
                        std::int64_t bytes) {
    return Time(spec, OnAllChips(CollectiveKind::kAllGather, bytes, slice),
                slice);
  };
  CHECK(time("bucket-rotated", torus, payload));
  CHECK_FALSE(time("bucket-rotated:batches=2", torus, payload));
  CHECK_FALSE(time("bucket:batches=2", torus, payload));
  CHECK_FALSE(time("bucket-rotated:fractions=0.4/0.6", torus, payload));
  // Balanced shares of equal wrapped axes are equal.
  CHECK(time("bucket-rotated:fractions=balanced", torus, payload));
  CHECK_FALSE(time("bucket-rotated", MakeTorus({4, 8}), 32 * 4000));
  CHECK_FALSE(
      time("bucket-rotated", MakeGridOf({4, 4}, {true, false}), payload));
  // Shards, parts or halves that differ by a byte.
  CHECK_FALSE(time("bucket", torus, 16 * 1000 + 1));
  CHECK_FALSE(time("bucket", torus, 16 * 1001));  // halves of an odd shard
  CHECK(time("bucket:axis_primitive=ring", torus, 16 * 1001));
  CHECK_FALSE(time("bucket-rotated", torus, 16 * 2 * 1001));
  Slice faulty = torus;
  ApplyFault("link:0,0:x+=50%", "", faulty.topology);
  CHECK_FALSE(time("bucket", faulty, payload));
}

TEST_CASE("nothing to do takes no time, launch or not", "[cost]") {
  Slice slice = MakeTorus({4, 1}, kRates);
  slice.parameters.collective_launch = Seconds(15e-6);
  CHECK(Time("bucket", OnAllChips(CollectiveKind::kAllReduce, 0, slice),
             slice) == 0);
  CHECK(Time("bucket",
             {.kind = CollectiveKind::kAllReduce,
              .payload = Bytes(100),
              .axes = {1}},
             slice) == 0);
}

TEST_CASE("a launch is paid once per collective", "[cost]") {
  Slice slice = MakeTorus({4}, kRates);
  const Collective collective =
      OnAllChips(CollectiveKind::kAllReduce, 8000, slice);
  const double bare = Time("ring", collective, slice).value();
  slice.parameters.collective_launch = Seconds(15e-6);
  CHECK(Near(Time("ring", collective, slice).value(), bare + 15e-6));
}

TEST_CASE("where a closed form is stated the simulation has that time",
          "[cost][oracle]") {
  int stated = 0;
  for (std::uint64_t seed = 0; stated < 400; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 1, 40);
    const Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape),
                   {.bandwidth = random.Decades(8, 11),
                    .alpha = random.OneIn(2) ? 0 : random.Decades(-9, -5),
                    .overhead = random.OneIn(2) ? 0 : random.Decades(-9, -5)});
    Collective collective{.kind = random.Pick(kLoweredKinds),
                          .payload = Bytes(0),
                          .axes = random.Pick(AllAxisSubsets(shape.size()))};
    const std::int64_t n = GroupSize(collective, slice.topology);
    collective.payload =
        Bytes(random.OneIn(4)
                  ? random.Between(0, 100'000)
                  : n * 12 * static_cast<std::int64_t>(random.Decades(0, 6)));
    for (const LoweringSpec& spec : WithProgram(SpecsForAuto())) {
      if (WhyNot(spec, collective, slice.topology)) continue;
      const auto time = ClosedForm(spec, collective, slice);
      if (!time) continue;
      CAPTURE(seed, slice.spec, ToText(spec, collective, slice.topology),
              ToText(collective.kind), collective.axes,
              collective.payload.value());
      const double makespan =
          RunPod(LowerOn(slice, spec, collective).schedule, MakeNetwork(slice))
              .makespan;
      CHECK(Near(time->value(), makespan));
      ++stated;
    }
  }
}

TEST_CASE("a closed form of direct messages is the simulated time",
          "[cost][oracle]") {
  int stated = 0;
  for (const Shape& shape : AllShapes(24)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      for (const auto& axes : AllAxisSubsets(shape.size())) {
        Collective collective{.kind = CollectiveKind::kAllToAll,
                              .payload = Bytes(0),
                              .axes = axes};
        collective.payload =
            Bytes(2000 * GroupSize(collective, slice.topology));
        const LoweringSpec spec = Spec("direct");
        const auto time = ClosedForm(spec, collective, slice);
        if (!time) continue;
        CAPTURE(slice.spec, axes);
        CHECK(Near(time->value(),
                   RunPod(MakeWhole(slice, spec, collective).schedule,
                          MakeNetwork(slice))
                       .makespan));
        ++stated;
      }
    }
  }
  CHECK(stated > 500);
}

TEST_CASE("a closed form along a line is the simulated time",
          "[cost][oracle]") {
  for (int n = 1; n <= 9; ++n) {
    const Slice slice =
        MakeMesh({n}, {.bandwidth = 1e9, .alpha = 1e-6, .overhead = 3e-7});
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kBroadcast,
          CollectiveKind::kReduce}) {
      for (const char* text : {"chain:chunks=6", "line-middle:chunks=6"}) {
        Collective collective = OnAllChips(kind, 6000, slice);
        if (IsRooted(kind)) {
          collective.root = ChipId(static_cast<std::uint32_t>(n / 3));
        }
        const LoweringSpec spec = Spec(text);
        if (WhyNot(spec, collective, slice.topology)) continue;
        CAPTURE(n, text, ToText(kind));
        const auto time = ClosedForm(spec, collective, slice);
        REQUIRE(time.has_value());
        CHECK(Near(time->value(),
                   RunPod(MakeWhole(slice, spec, collective).schedule,
                          MakeNetwork(slice))
                       .makespan));
      }
    }
  }
}

}  // namespace
}  // namespace podsim
