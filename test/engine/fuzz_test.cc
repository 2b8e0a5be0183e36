// The engine on many random schedules, and laws of time on random collectives.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "engine/engine.h"
#include "test/support/lowered.h"
#include "test/support/random_dag.h"

namespace podsim {
namespace {

// Empty, or what is wrong with the dates.
std::string WhatIsLost(const Schedule& schedule, const Timeline& timeline) {
  if (timeline.start.size() != schedule.size() ||
      timeline.end.size() != schedule.size()) {
    return "ops without dates";
  }
  double last = 0;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const double start = timeline.start[id], end = timeline.end[id];
    const std::string op = "op " + std::to_string(id);
    if (!(start >= 0) || !(end < std::numeric_limits<double>::infinity())) {
      return op + " does not end";
    }
    if (end < start) return op + " ends before it starts";
    for (const OpId wait : schedule.after(OpId(id))) {
      if (start < timeline.end[wait.value()] * (1 - 1e-11)) {
        return op + " starts before op " + std::to_string(wait.value()) +
               " ended";
      }
    }
    last = std::max(last, end);
  }
  return timeline.makespan == last ? "" : "not the makespan";
}

TEST_CASE("10000 random schedules lose no op, in SimGrid or without",
          "[engine][property]") {
  std::uint64_t transfers = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(1'000'000 + seed);
    const RandomDag dag =
        MakeRandomDag(random, random.OneIn(2) ? 1 : random.Int(2, 6));
    const Timeline pod = RunPod(dag.schedule, dag.network);
    const Timeline core = RunCore(dag.schedule, dag.network);
    transfers += dag.schedule.transfers();
    const std::string lost = WhatIsLost(dag.schedule, pod);
    if (lost.empty() && core.start == pod.start && core.end == pod.end &&
        core.makespan == pod.makespan) {
      continue;
    }
    CAPTURE(seed);
    CHECK(lost.empty());
    CHECK(WhatIsLost(dag.schedule, core).empty());
    CHECK(core.start == pod.start);
    CHECK(core.end == pod.end);
    CHECK(core.makespan == pod.makespan);
  }
  CHECK(transfers > 100'000);
}

// ---- random collectives -------------------------------------------------

struct Point {
  Shape shape;
  std::vector<bool> wrap;
  Rates rates;
  LoweringSpec spec;
  Collective collective;
};

Slice SliceOf(const Point& point) {
  return MakeGridOf(point.shape, point.wrap, point.rates);
}

std::optional<Point> MakePoint(Random& random) {
  Point point{
      .shape = RandomShape(random, 2, 24),
      .wrap = {},
      .rates = {.bandwidth = random.Decades(8, 11),
                .alpha = random.OneIn(3) ? 0 : random.Decades(-8, -5),
                .overhead = random.OneIn(2) ? 0 : random.Decades(-8, -5)},
      .spec = random.Pick(WithProgram(SpecsToCompare())),
      .collective = {}};
  point.wrap = RandomWrap(random, point.shape);
  if (point.spec.name.starts_with("bucket")) {
    point.spec.batches = random.Int(1, 3);
  }
  point.collective = {
      .kind = random.Pick(kLoweredKinds),
      .payload = Bytes(static_cast<std::int64_t>(random.Decades(1, 7))),
      .axes = random.Pick(AllAxisSubsets(point.shape.size()))};
  const Slice slice = SliceOf(point);
  if (ActiveAxes(point.collective, slice.topology).empty() ||
      WhyNot(point.spec, point.collective, slice.topology)) {
    return std::nullopt;
  }
  return point;
}

double TimeOf(const Point& point) {
  const Slice slice = SliceOf(point);
  const Lowered lowered = LowerOn(slice, point.spec, point.collective);
  return RunCore(lowered.schedule, MakeNetwork(slice)).makespan;
}

template <class Check>
void OnPoints(std::uint64_t first_seed, int count, Check check) {
  std::uint64_t seed = first_seed;
  for (int done = 0; done < count; ++seed) {
    Random random(seed);
    const std::optional<Point> point = MakePoint(random);
    if (!point) continue;
    CAPTURE(seed, ToText(point->shape), point->wrap, point->spec.name,
            point->spec.batches, ToText(point->collective.kind),
            point->collective.axes, point->collective.payload.value(),
            point->rates.bandwidth, point->rates.alpha, point->rates.overhead);
    done += check(random, *point) ? 1 : 0;
  }
}

TEST_CASE("a collective is never slower on faster links",
          "[engine][property]") {
  OnPoints(0, 500, [](Random& random, const Point& point) {
    Point faster = point;
    faster.rates.bandwidth *= random.OneIn(2) ? 2 : 1 + random.Unit();
    CHECK(TimeOf(faster) <= TimeOf(point) * (1 + 1e-9));
    return true;
  });
}

TEST_CASE("a collective is never faster with more latency",
          "[engine][property]") {
  OnPoints(10'000, 500, [](Random& random, const Point& point) {
    Point slower = point;
    slower.rates.alpha += random.Decades(-8, -5);
    CHECK(TimeOf(slower) >= TimeOf(point) * (1 - 1e-9));
    return true;
  });
}

TEST_CASE("a collective is never faster with more bytes",
          "[engine][property]") {
  OnPoints(20'000, 500, [](Random& random, const Point& point) {
    Point more = point;
    const std::int64_t payload = point.collective.payload.value();
    more.collective.payload =
        Bytes(payload + random.Between(1, random.OneIn(2) ? 9 : payload));
    CHECK(TimeOf(more) >= TimeOf(point) * (1 - 1e-9));
    return true;
  });
}

TEST_CASE("axes that are equal take the same time, whatever their names",
          "[engine][property]") {
  // The same axes of the group in the same order, among others or alone.
  int moved = 0;
  OnPoints(30'000, 500, [&](Random& random, const Point& point) {
    Point renamed = point;
    std::vector<std::pair<int, bool>> active, rest;
    for (std::size_t axis = 0; axis < point.shape.size(); ++axis) {
      const auto& axes = point.collective.axes;
      const bool of_group =
          std::find(axes.begin(), axes.end(), int(axis)) != axes.end();
      (of_group ? active : rest)
          .emplace_back(point.shape[axis], point.wrap[axis]);
    }
    if (random.OneIn(3)) rest.clear();  // fewer lines at once
    renamed.shape.clear();
    renamed.wrap.clear();
    renamed.collective.axes.clear();
    while (!active.empty() || !rest.empty()) {
      const bool take = rest.empty() || (!active.empty() && random.OneIn(2));
      auto& from = take ? active : rest;
      if (take) {
        renamed.collective.axes.push_back(int(renamed.shape.size()));
      }
      renamed.shape.push_back(from.front().first);
      renamed.wrap.push_back(from.front().second);
      from.erase(from.begin());
    }
    moved += renamed.collective.axes != point.collective.axes ||
                     renamed.shape != point.shape
                 ? 1
                 : 0;
    CHECK(Near(TimeOf(renamed), TimeOf(point)));
    return true;
  });
  CHECK(moved > 100);
}

TEST_CASE("on a torus of equal axes every order of them takes the same time",
          "[engine][property]") {
  // Also of the axes that the group walks: a transposed torus.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const int size = random.Int(2, 4);
    Point point{.shape = {size, size, 1},
                .wrap = {true, true, false},
                .rates = {.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7},
                .spec = random.Pick(
                    std::vector{Spec("bucket"), Spec("bucket-rotated"),
                                Spec("bucket-rotated:axis_primitive=split")}),
                .collective = {.kind = random.Pick(kLoweredKinds),
                               .payload = Bytes(random.Between(1, 1 << 20)),
                               .axes = {0, 1, 2}}};
    CAPTURE(seed, size, point.spec.name, point.collective.payload.value());
    const double time = TimeOf(point);
    for (int k = 0; k < 2; ++k) {
      std::rotate(point.shape.begin(), point.shape.begin() + 1,
                  point.shape.end());
      point.wrap = {point.shape[0] > 1, point.shape[1] > 1, point.shape[2] > 1};
      CHECK(Near(TimeOf(point), time));
    }
  }
}

}  // namespace
}  // namespace podsim
