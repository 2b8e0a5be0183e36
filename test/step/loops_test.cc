#include "step/loops.h"

#include <catch2/catch.hpp>

#include "step/memory.h"
#include "step/simulate_abstract.h"
#include "step/verify_order.h"
#include "test/step/step_builder.h"
#include "test/support/error_of.h"

namespace podsim {
namespace {

constexpr double kLatency = 1;
constexpr double kWork = 4;

// A gathered weight and the matmul m that reads it and its own last result.
LoopStep GatherLoop(double matmul, std::int64_t trip) {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t start =
      b.Start(kLatency, kWork, {{axis, 1}}, {}, /*out=*/100);
  b.Compute(matmul, {b.Done(start)}, 1);
  return {.body = b.step,
          .trip = trip,
          .carries = {{.from = 2, .to = 2}},
          .results = {2}};
}

double MakespanOf(const LoopStep& loop, const StepOrder& order) {
  const AbstractStep flat = FlattenLoop(loop);
  CHECK(VerifyOrder(flat, order).empty());
  return Simulate(flat, order).makespan;
}

Bytes PeakOf(const LoopStep& loop, const StepOrder& order) {
  return MemoryModel(FlattenLoop(loop)).Peak(order).bytes;
}

TEST_CASE(
    "A prefetched gather costs max(m, lat + x) per iteration and one "
    "more buffer",
    "[step]") {
  for (const double m : {0.5, 3.0, 5.0, 12.0}) {
    for (std::int64_t trip = 1; trip <= 6; ++trip) {
      CAPTURE(m, trip);
      const LoopStep loop = GatherLoop(m, trip);
      const StepOrder body = ProgramOrder(loop.body);
      const StepOrder rolled = RolledOrder(loop, body);
      const StepOrder pipelined = PipelinedOrder(loop, {.prefetch = {0}}, body);
      const double c = kLatency + kWork;
      const auto t = static_cast<double>(trip);
      CHECK(MakespanOf(loop, rolled) == Same(t * (c + m)));
      CHECK(MakespanOf(loop, pipelined) ==
            Same(c + (t - 1) * std::max(m, c) + m));
      // A gathered weight more, up to the last but one matmul; each matmul
      // holds its result and the one before.
      CHECK(PeakOf(loop, rolled).value() ==
            100 + std::min<std::int64_t>(trip, 2));
      CHECK(PeakOf(loop, pipelined).value() ==
            (trip < 2 ? 101 : 200 + std::min<std::int64_t>(trip - 1, 2)));
    }
  }
}

TEST_CASE("Depth k keeps k gathers ahead", "[step]") {
  const LoopStep loop = GatherLoop(2, 6);
  const StepOrder body = ProgramOrder(loop.body);
  for (const std::int64_t depth : {1, 2, 3, 10}) {
    CAPTURE(depth);
    const StepOrder order =
        PipelinedOrder(loop, {.prefetch = {0}, .depth = depth}, body);
    CHECK(VerifyOrder(FlattenLoop(loop), order).empty());
    // Never more than depth + 1 of the 6 gathered at once, and the result.
    const std::int64_t gathers = std::min<std::int64_t>(depth + 1, 6);
    const std::int64_t peak = PeakOf(loop, order).value();
    CHECK(peak / 100 == gathers);
  }
  CHECK(
      PipelinedOrder(loop, {.prefetch = {0}, .depth = 2}, body) ==
      StepOrder{0, 3, 1, 6, 2, 4, 9, 5, 7, 12, 8, 10, 15, 11, 13, 14, 16, 17});
}

TEST_CASE("No iterations are nothing, one is the body", "[step]") {
  for (const bool pipelined : {false, true}) {
    for (const std::int64_t trip : {0, 1}) {
      CAPTURE(pipelined, trip);
      const LoopStep loop = GatherLoop(3, trip);
      const StepOrder body = ProgramOrder(loop.body);
      const StepOrder order =
          pipelined ? PipelinedOrder(loop, {.prefetch = {0}}, body)
                    : RolledOrder(loop, body);
      CHECK(order == (trip == 0 ? StepOrder{} : body));
      const AbstractStep flat = FlattenLoop(loop);
      CHECK(flat.ops.size() == order.size());
      CHECK(flat.outputs == (trip == 0 ? Ops{} : Ops{2}));
      CHECK(MakespanOf(loop, order) == (trip == 0 ? 0 : kLatency + kWork + 3));
    }
  }
}

TEST_CASE("A carry of distance k reaches k iterations back", "[step]") {
  LoopStep loop = GatherLoop(3, 5);
  loop.carries = {{.from = 2, .to = 1, .distance = 2}};
  loop.body.params = {{.bytes = Bytes(1), .users = {0}}};
  const AbstractStep flat = FlattenLoop(loop);
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK(flat.ops[3 * i + 1].deps == (i < 2 ? Ops{} : Ops{3 * (i - 2) + 2}));
    CHECK(flat.ops[3 * i + 1].of == 3 * i);
  }
  CHECK(flat.params[0].users == Ops{0, 3, 6, 9, 12});
}

TEST_CASE("An iteration takes at least its core work, its loads, its circles",
          "[step]") {
  // A backward layer: gather W, dgrad, wgrad, reduce-scatter.
  for (const bool two_axes : {false, true}) {
    StepBuilder b;
    const std::uint32_t x = b.Fifo("ici_x");
    const std::uint32_t y = two_axes ? b.Fifo("ici_y") : x;
    const double m = 3;
    const double gather = 5;
    const double scatter = 7;
    const std::uint32_t weights = b.Done(b.Start(0, gather, {{x, 1}}));
    const std::uint32_t dgrad = b.Compute(m, {weights});
    const std::uint32_t wgrad = b.Compute(m, {dgrad});
    const std::uint32_t start = b.Start(1, scatter - 1, {{y, 1}}, {wgrad});
    b.Done(start);
    // dgrad reads that of the layer before, wgrad that of two before.
    const LoopStep loop = {
        .body = b.step,
        .trip = 9,
        .carries = {{.from = dgrad, .to = dgrad},
                    {.from = wgrad, .to = dgrad, .distance = 4}}};
    const Bounds bounds = InitiationBounds(loop);
    CHECK(bounds.binding().time.value() ==
          std::max(2 * m,
                   two_axes ? std::max(gather, scatter) : gather + scatter));
    CHECK(bounds.components.back().name == "recurrence");
    CHECK(bounds.components.back().time.value() == std::max(m, (m + m) / 4));
  }
}

TEST_CASE("Of several circles the one with most seconds per iteration binds",
          "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t a = b.Compute(2);
  const std::uint32_t done = b.Done(b.Start(1, 8, {{axis, 1}}, {a}, 0, 0.5));
  const std::uint32_t c = b.Compute(4, {done});
  LoopStep loop = {.body = b.step, .trip = 3};
  const auto recurrence = [&] {
    return InitiationBounds(loop).components.back().time.value();
  };
  CHECK(recurrence() == 0);
  loop.carries = {{.from = c, .to = a, .distance = 3}};
  const double circle = 2 + 0.5 + (1 + 8) + 4;
  CHECK(recurrence() == Same(circle / 3));
  loop.carries.push_back({.from = c, .to = c, .distance = 1});
  CHECK(recurrence() == Same(std::max(circle / 3, 4.0)));
  loop.carries.push_back({.from = a, .to = a, .distance = 1});
  CHECK(recurrence() == Same(std::max(circle / 3, 4.0)));
  loop.carries.push_back({.from = c, .to = done, .distance = 1});
  CHECK(recurrence() == Same(circle / 3));
}

TEST_CASE("Loops that cannot be are refused", "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t a = b.Compute(1);
  const std::uint32_t start = b.Start(0, 1, {{axis, 1}}, {a});
  const std::uint32_t done = b.Done(start);
  b.step.ops[start].name = "gather-start";
  const LoopStep loop = {.body = b.step, .trip = 2};
  const StepOrder body = ProgramOrder(b.step);
  const auto error = [&](const LoopPipelining& moves) {
    return ErrorOf([&] { PipelinedOrder(loop, moves, body); });
  };
  CHECK(error({.prefetch = {start}}) ==
        "loop: op 1 (gather-start) cannot move: a prefetched start needs "
        "nothing of its iteration");
  CHECK(error({.prefetch = {a}}) ==
        "loop: op 0 cannot move: only a start with a done can be prefetched");
  CHECK(error({.sink = {{a}}}) ==
        "loop: op 0 cannot move: a group that sinks begins with a done");
  CHECK(error({.sink = {{done}, {done}}}) ==
        "loop: op 2 cannot move: it is in two groups");
  LoopStep huge = loop;
  huge.trip = std::int64_t{1} << 40;
  CHECK(ErrorOf([&] { FlattenLoop(huge); }) ==
        "loop: 1099511627776 iterations of 3 ops are too many to flatten "
        "(2^31 ops)");
  huge.trip = -1;
  CHECK(ErrorOf([&] { FlattenLoop(huge); }) ==
        "loop: trip count -1; expected at least 0");
  huge = loop;
  huge.carries = {{.from = a, .to = done, .distance = 0}};
  CHECK(ErrorOf([&] { FlattenLoop(huge); }) ==
        "loop: op 2 reads op 0 of 0 iterations ahead; expected at least one "
        "iteration before");
}

}  // namespace
}  // namespace podsim
