// Whole sums to all others along an axis, axis after axis.
#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"
#include "topology/fold.h"

namespace podsim {
namespace {

const std::vector<Shape> kTori = {{3},    {4},       {5},    {8},      {3, 3},
                                  {4, 3}, {2, 3, 4}, {4, 4}, {3, 4, 5}};

Collective Sum(std::int64_t payload, const Slice& slice) {
  return OnAllChips(CollectiveKind::kAllReduce, payload, slice);
}

int Half(int size) { return size / 2; }

TEST_CASE("axis-exchange: without latency h(h+1)/2 S/B per axis, h = m/2",
          "[collective][formula]") {
  const Rates rates{.bandwidth = 1e9, .alpha = 0, .overhead = 0};
  for (const Shape& shape : kTori) {
    const Slice slice = MakeTorus(shape, rates);
    CAPTURE(slice.spec);
    const Lowered lowered =
        LowerOn(slice, Spec("axis-exchange"), Sum(1000, slice));
    double time = 0;
    for (const int size : shape) {
      time += Half(size) * (Half(size) + 1) / 2.0 * 1000 / 1e9;
    }
    CHECK(RunPod(lowered.schedule, MakeNetwork(slice)).makespan ==
          Approx(time).epsilon(1e-9));
  }
}

TEST_CASE("axis-exchange: of no size, the farthest of every axis decides",
          "[collective][formula]") {
  const Rates rates{.bandwidth = 1e30, .alpha = 1e-6, .overhead = 3e-7};
  for (const Shape& shape : kTori) {
    const Slice slice = MakeTorus(shape, rates);
    CAPTURE(slice.spec);
    const Lowered lowered =
        LowerOn(slice, Spec("axis-exchange"), Sum(4, slice));
    double time = 0;
    for (const int size : shape) {
      time += rates.overhead + Half(size) * rates.alpha;
    }
    CHECK(RunPod(lowered.schedule, MakeNetwork(slice)).makespan ==
          Approx(time).epsilon(1e-9));
  }
}

TEST_CASE("axis-exchange is proved and folds for payloads that do not divide",
          "[collective][property]") {
  for (const Shape& shape : kTori) {
    const Slice slice = MakeTorus(shape);
    for (const std::int64_t payload : {1, 4, 1000, 1001}) {
      CAPTURE(slice.spec, payload);
      const Collective collective = Sum(payload, slice);
      const Lowered lowered = LowerOn(slice, Spec("axis-exchange"), collective);
      CHECK(SendsWholeGroups(lowered.program, slice.topology));
      CHECK(VerifyOrbit(lowered.program, slice.topology).empty());
      CHECK(VerifyFull(lowered.schedule, lowered.meaning, slice.topology)
                .empty());
      const Fold fold{std::vector<int>(shape.size(), 1)};
      const FoldedGrid grid(slice.topology, fold);
      const Schedule folded =
          Instantiate(lowered.program, slice.topology, fold, Bytes(payload));
      const Timeline one = RunPod(folded, MakeNetwork(slice, grid));
      const Timeline all = RunPod(lowered.schedule, MakeNetwork(slice));
      REQUIRE(all.end.size() == one.end.size() * slice.topology.chips());
      for (std::size_t op = 0; op < all.end.size(); ++op) {
        CHECK(all.end[op] ==
              Approx(one.end[op / slice.topology.chips()]).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("axis-exchange needs rings", "[collective]") {
  const Slice slice = MakeGridOf({4, 4}, {true, false});
  CHECK(WhyNot(Spec("axis-exchange"), Sum(4, slice), slice.topology) ==
        "some axis of the group is a line, so that chips differ; use fx");
  Collective ring = Sum(4, slice);
  ring.axes = {0};
  CHECK_FALSE(WhyNot(Spec("axis-exchange"), ring, slice.topology));
}

}  // namespace
}  // namespace podsim
