// Whole sums to all others along an axis, axis after axis.
#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "schedule/placement.h"
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

// Middle link of a line of m: floor(m^2/4) messages of S; without latency that
// is the time of the axis.
TEST_CASE("axis-exchange on lines: floor(m^2/4) S/B or m-1 hops per axis",
          "[collective][formula]") {
  struct Case {
    Shape shape;
    std::vector<bool> wrap;
    double load, hops;
  };
  for (const Case& c :
       {Case{{2}, {false}, 1, 1}, Case{{5}, {false}, 6, 4},
        Case{{8}, {false}, 16, 7}, Case{{4, 4}, {false, false}, 8, 6},
        Case{{3, 4}, {false, true}, 2 + 3, 2 + 2}}) {
    const Slice wide = MakeGridOf(c.shape, c.wrap, {1e9, 0, 0});
    CAPTURE(wide.spec);
    const Lowered loaded =
        LowerOn(wide, Spec("axis-exchange"), Sum(1000, wide));
    CHECK(RunPod(loaded.schedule, MakeNetwork(wide)).makespan ==
          Approx(c.load * 1000 / 1e9).epsilon(1e-9));
    const Slice far = MakeGridOf(c.shape, c.wrap, {1e30, 1e-6, 3e-7});
    const Lowered small = LowerOn(far, Spec("axis-exchange"), Sum(4, far));
    CHECK(RunPod(small.schedule, MakeNetwork(far)).makespan ==
          Approx(c.hops * 1e-6 + static_cast<double>(c.shape.size()) * 3e-7)
              .epsilon(1e-9));
  }
}

TEST_CASE("axis-exchange on lines and blocks is proved, by replay and by orbit",
          "[collective][property]") {
  const Slice mixed = MakeGridOf({3, 4}, {false, true});
  const Slice torus = MakeTorus({4, 8});
  // Halves of the torus: y is cut into two lines of four.
  std::vector<std::vector<ChipId>> halves(2);
  for (unsigned id = 0; id < 32; ++id) halves[id / 16].emplace_back(id);
  for (const std::int64_t payload : {1, 4, 1001}) {
    for (const auto& [slice, collective] :
         {std::pair(&mixed, Sum(payload, mixed)),
          std::pair(&torus,
                    OnLists(CollectiveKind::kAllReduce, payload, halves))}) {
      CAPTURE(slice->spec, payload);
      const Topology& topology = slice->topology;
      const Lowered lowered =
          LowerOn(*slice, Spec("axis-exchange"), collective);
      CHECK(SendsWholeGroups(lowered.program, topology));
      CHECK(VerifyOrbit(lowered.program, topology).empty());
      CHECK(VerifyFull(lowered.schedule, lowered.meaning, topology).empty());
      const Fold fold{PeriodsOf(lowered.program, topology)};
      CHECK(FoldsAnything(topology, fold));
      const FoldedGrid grid(topology, fold);
      const Schedule folded =
          Instantiate(lowered.program, topology, fold, Bytes(payload));
      CHECK(Near(RunPod(folded, MakeNetwork(*slice, grid)).makespan,
                 RunPod(lowered.schedule, MakeNetwork(*slice)).makespan));
    }
  }
}

TEST_CASE("axis-exchange needs a plain slice", "[collective]") {
  const Slice slice = MakeTwisted({4, 8});
  CHECK(
      WhyNot(Spec("axis-exchange"), Sum(4, slice), slice.topology).has_value());
  const Slice mesh = MakeMesh({4, 4});
  CHECK_FALSE(WhyNot(Spec("axis-exchange"), Sum(4, mesh), mesh.topology));
}

}  // namespace
}  // namespace podsim
