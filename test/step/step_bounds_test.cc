#include "step/step_bounds.h"

#include <catch2/catch.hpp>
#include <limits>
#include <map>

#include "step/memory.h"
#include "step/one_machine.h"
#include "test/step/random_step.h"
#include "test/support/error_of.h"

namespace podsim {
namespace {

std::map<std::string, double> BoundsOf(const AbstractStep& step) {
  std::map<std::string, double> bounds;
  for (const BoundComponent& b : ComputeStepBounds(step).components) {
    bounds[b.name] = b.time.value();
  }
  return bounds;
}

TEST_CASE(
    "The one-machine bound is the worst set: smallest head, all lengths, "
    "smallest tail",
    "[step]") {
  CHECK(OneMachineBound({}) == 0);
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<MachineJob> jobs;
    for (int k = random.Int(1, 8); k > 0; --k) {
      jobs.push_back({.head = static_cast<double>(random.Int(0, 20)),
                      .length = static_cast<double>(random.Int(0, 9)),
                      .tail = static_cast<double>(random.Int(0, 20))});
    }
    double worst = 0;
    for (unsigned set = 1; set < 1u << jobs.size(); ++set) {
      double head = std::numeric_limits<double>::infinity();
      double tail = head;
      double length = 0;
      for (std::size_t k = 0; k < jobs.size(); ++k) {
        if ((set >> k & 1) == 0 || jobs[k].length <= 0) continue;
        head = std::min(head, jobs[k].head);
        tail = std::min(tail, jobs[k].tail);
        length += jobs[k].length;
      }
      if (length > 0) worst = std::max(worst, head + length + tail);
    }
    CHECK(OneMachineBound(jobs) == worst);
  }
}

TEST_CASE("Bounds of a layer are its formulas", "[step]") {
  const double m = 5;
  const double gather = 7;
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t idle = b.Fifo("ici_y");
  const std::uint32_t hbm = b.Share("hbm", 2);
  const std::uint32_t first =
      b.Start(1, gather - 1, {{axis, 1}, {hbm, 0.5}}, {}, 10);
  const std::uint32_t second = b.Start(0, gather, {{axis, 1}}, {}, 20);
  b.Compute(m, {b.Done(first)}, 0, {{hbm, 1}});
  b.Compute(m, {b.Done(second)});
  b.step.memory_limit = Bytes(40);
  const std::map<std::string, double> bounds = BoundsOf(b.step);
  CHECK(b.step.resources[idle].name == "ici_y");
  CHECK(bounds == std::map<std::string, double>{
                      {"critical_path", gather + m},
                      {"tensorcore", gather + 2 * m},
                      {"fifo:ici_x", 2 * gather + m},
                      {"fifo:ici_y", 0},
                      {"share:tc", 2 * m},
                      {"share:hbm", (0.5 * (gather - 1) + m) / 2},
                      {"memory_area", (10 + 20) * (gather + m) / 40}});
  CHECK(ComputeStepBounds(b.step).binding().name == "fifo:ici_x");
}

TEST_CASE("A sync holds the core until it ends", "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  b.Sync(1, 4, {{axis, 1}}, {}, 0.5);
  b.Compute(3);
  CHECK(BoundsOf(b.step).at("tensorcore") == 0.5 + 1 + 4 + 3);
  CHECK(BoundsOf(b.step).at("fifo:ici_x") == 0.5 + 1 + 4);
  CHECK(BoundsOf(b.step).at("share:tc") == 0.5 + 3);
}

TEST_CASE("A transfer is followed by its done and what needs that", "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const double issue = 0.25;
  const double done = 0.5;
  const std::uint32_t start = b.Start(1, 4, {{axis, 1}}, {}, 0, issue);
  b.Compute(3, {b.Done(start, done)});
  const double all = issue + (1 + 4) + done + 3;
  CHECK(BoundsOf(b.step).at("fifo:ici_x") == all);
  CHECK(BoundsOf(b.step).at("critical_path") == all);
}

TEST_CASE("A buffer that nobody can take over is named", "[step]") {
  StepBuilder b;
  const std::uint32_t donor = b.Compute(1, {}, 1);
  const std::uint32_t taker = b.Compute(1, {donor});
  b.Compute(1, {donor, taker});
  b.step.ops[taker].alias = donor;
  b.step.ops[taker].name = "update";
  CHECK(ErrorOf([&] { ComputeStepBounds(b.step); }) ==
        "step: op 1 (update) can stand nowhere: it waits for itself, through "
        "operands, control edges or a buffer that is taken over while others "
        "read it; insert a copy of that buffer");
}

TEST_CASE("A reader of the donor ends before the op that takes it over",
          "[step]") {
  // The gather of the old weights must end before they are updated.
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t weights = b.Compute(1, {}, 1);
  b.Done(b.Start(0, 10, {{axis, 1}}, {weights}));
  const std::uint32_t update = b.Compute(2, {weights});
  CHECK(BoundsOf(b.step).at("critical_path") == 1 + 10);
  b.step.ops[update].alias = weights;
  CHECK(BoundsOf(b.step).at("critical_path") == 1 + 10 + 2);
}

TEST_CASE("Lives seen through a window are no longer than whole ones",
          "[step]") {
  // A chain of 6,000 ops whose first result the last one reads: 6,000 s, of
  // which a window sees too little to give more than its two ends.
  StepBuilder b;
  constexpr std::uint32_t kOps = 6000;
  for (std::uint32_t k = 0; k < kOps; ++k) {
    b.Compute(1, k == 0 ? Ops{} : Ops{k - 1});
  }
  b.step.ops[0].out = Bytes(100);
  b.step.ops[kOps - 1].deps.push_back(0);
  b.step.memory_limit = Bytes(100);
  const double area = BoundsOf(b.step).at("memory_area");
  CHECK(area <= kOps);
  CHECK(area >= 2);
}

}  // namespace
}  // namespace podsim
