// The rules of execution one by one, each with its formula.
#include <algorithm>
#include <catch2/catch.hpp>

#include "step/abstract_account.h"
#include "step/critical_path.h"
#include "step/memory.h"
#include "step/simulate_abstract.h"
#include "step/what_if.h"
#include "test/step/step_builder.h"

namespace podsim {
namespace {

struct Run {
  StepOrder order;
  AbstractTimeline timeline;
  AbstractAccount account;
  std::map<std::string, double> path;
};

Run RunInOrder(const AbstractStep& step, StepOrder order = {}) {
  if (order.empty()) order = ProgramOrder(step);
  Run run;
  run.order = order;
  run.timeline = Simulate(step, order);
  run.account = AccountAbstract(step, order, run.timeline);
  run.path = PathTotals(step, CriticalPath(step, order, run.timeline));
  return run;
}

TEST_CASE("Two equal transfers on one share axis end together at their sum",
          "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Share("ici_x");
  const std::uint32_t first = b.Start(0, 3, {{axis, 1}});
  const std::uint32_t second = b.Start(0, 3, {{axis, 1}});
  b.Done(first);
  b.Done(second);
  const Run run = RunInOrder(b.step);
  CHECK(run.timeline.transfer_end[first] == Same(3 + 3));
  CHECK(run.timeline.transfer_end[second] == Same(3 + 3));
  CHECK(run.timeline.lost[axis] == Same(3 + 3));  // each half the time
}

TEST_CASE(
    "A compute with all of HBM beside a gather with u of it runs at "
    "1/(1+u)",
    "[step]") {
  StepBuilder b;
  const std::uint32_t hbm = b.Share("hbm");
  const std::uint32_t axis = b.Fifo("ici_x");
  const double u = 0.25;
  const std::uint32_t gather = b.Start(0, 100, {{axis, 1}, {hbm, u}});
  const std::uint32_t compute = b.Compute(8, {}, 0, {{hbm, 1}});
  b.Done(gather);
  const Run run = RunInOrder(b.step);
  CHECK(run.timeline.end[compute] == Same(8 * (1 + u)));
  CHECK(run.account.interference_by_resource[hbm] == Same(8 * u));
}

TEST_CASE("A transfer that takes u of the core slows a compute to 1/(1+u)",
          "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const double u = 0.1;
  const std::uint32_t fused = b.Start(1, 100, {{axis, 1}, {kTensorCore, u}});
  const std::uint32_t compute = b.Compute(6);
  b.Done(fused);
  const Run run = RunInOrder(b.step);
  // Its latency of 1 s takes nothing.
  CHECK(run.timeline.end[compute] == Same(1 + (6 - 1) * (1 + u)));
  CHECK(run.path.at("contention:tc") == Same(5 * u));
}

TEST_CASE("Speeds are max-min: who is held back elsewhere leaves the rest",
          "[step]") {
  // a alone on x; b on x and y; c and d on y. y gives 1/3 each, x the rest.
  StepBuilder b;
  const std::uint32_t x = b.Share("x");
  const std::uint32_t y = b.Share("y");
  const std::uint32_t a = b.Start(0, 2, {{x, 1}});
  const std::uint32_t both = b.Start(0, 1, {{x, 1}, {y, 1}});
  const std::uint32_t c = b.Start(0, 1, {{y, 1}});
  const std::uint32_t d = b.Start(0, 1, {{y, 1}});
  for (const std::uint32_t start : {a, both, c, d}) b.Done(start);
  const Run run = RunInOrder(b.step);
  for (const std::uint32_t op : {a, both, c, d}) {
    CHECK(run.timeline.transfer_end[op] == Same(3));  // 2 / (2/3), 1 / (1/3)
  }
  CHECK(run.timeline.lost[y] == Same(3 * 2));  // three at 1/3
  CHECK(run.timeline.lost[x] == Same(1));      // one at 2/3
}

TEST_CASE("Capacity c of a share resource serves c at full speed", "[step]") {
  StepBuilder b;
  const std::uint32_t nic = b.Share("dcn", 2);
  std::vector<std::uint32_t> starts;
  for (int k = 0; k < 4; ++k) starts.push_back(b.Start(0, 3, {{nic, 1}}));
  for (const std::uint32_t start : starts) b.Done(start);
  CHECK(RunInOrder(b.step).timeline.makespan == Same(4 * 3 / 2.0));
}

TEST_CASE("A transfer that ends exactly when the compute ends is not exposed",
          "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t start = b.Start(2, 3, {{axis, 1}});
  b.Compute(2 + 3);
  b.Done(start);
  b.Compute(1);
  const Run run = RunInOrder(b.step);
  CHECK(run.account.exposed == 0);
  CHECK(run.account.transfers[0].overlapped == 2 + 3);
  CHECK(run.timeline.makespan == 2 + 3 + 1);
  CHECK(run.path == std::map<std::string, double>{{"compute", 6}});
}

TEST_CASE("A start and its done side by side take as long as a sync",
          "[step]") {
  StepBuilder pair;
  StepBuilder sync;
  for (StepBuilder* b : {&pair, &sync}) {
    const std::uint32_t axis = b->Fifo("ici_x");
    b->Compute(4);
    if (b == &pair) {
      b->Done(b->Start(1, 6, {{axis, 1}}, {}, 0, 0.5));
    } else {
      b->Sync(1, 6, {{axis, 1}}, {}, 0.5);
    }
    b->Compute(2);
  }
  for (StepBuilder* b : {&pair, &sync}) {
    const Run run = RunInOrder(b->step);
    CHECK(run.timeline.makespan == Same(4 + 0.5 + (1 + 6) + 2));
    CHECK(run.account.exposed == Same(1 + 6));
    CHECK(run.account.work == Same(4 + 0.5 + 2));
    CHECK(run.path ==
          std::map<std::string, double>{
              {"compute", 6}, {"issue", 0.5}, {"latency", 1}, {"transfer", 6}});
  }
}

TEST_CASE(
    "A transfer on two axes keeps the first idle until the second is "
    "free",
    "[step]") {
  StepBuilder b;
  const std::uint32_t x = b.Fifo("ici_x");
  const std::uint32_t y = b.Fifo("ici_y");
  const std::uint32_t busy = b.Start(0, 10, {{y, 1}});
  const std::uint32_t both = b.Start(0, 4, {{x, 1}, {y, 1}});
  const std::uint32_t behind = b.Start(0, 1, {{x, 1}});
  for (const std::uint32_t start : {busy, both, behind}) b.Done(start);
  const Run run = RunInOrder(b.step);
  CHECK(run.timeline.transfer_begin[both] == 10);
  CHECK(run.timeline.transfer_begin[behind] == 10 + 4);  // x idle until 10
  CHECK(run.timeline.busy[x] == 4 + 1);
  CHECK(run.timeline.makespan == 10 + 4 + 1);
}

TEST_CASE("The stall counts for the done that waits, the queue for the path",
          "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t slow = b.Start(0, 20, {{axis, 1}});
  const std::uint32_t urgent = b.Start(0, 2, {{axis, 1}});
  b.Done(urgent);
  b.Done(slow);
  const AbstractTimeline timeline = Simulate(b.step, ProgramOrder(b.step));
  const AbstractAccount account =
      AccountAbstract(b.step, ProgramOrder(b.step), timeline);
  CHECK(account.transfers[0].exposed == 0);
  CHECK(account.transfers[1].exposed == 20 + 2);
  const auto path = CriticalPath(b.step, ProgramOrder(b.step), timeline);
  REQUIRE(path.size() == 2);
  CHECK(path[0].op == slow);
  CHECK(path[1].op == urgent);
  CHECK(path[1].edge == PathEdge::kQueue);
  CHECK(path[1].scheduling());
}

TEST_CASE("Of several resources that stop a speed the first by name loses time",
          "[step]") {
  StepBuilder b;
  const std::uint32_t zeta = b.Share("zeta");
  const std::uint32_t alpha = b.Share("alpha");
  const std::uint32_t mid = b.Share("mid");
  const Uses all = {{zeta, 1}, {alpha, 1}, {mid, 1}};
  const std::uint32_t first = b.Start(0, 3, all);
  const std::uint32_t second = b.Start(0, 3, all);
  b.Done(first);
  b.Done(second);
  const Run run = RunInOrder(b.step);
  CHECK(run.timeline.lost[alpha] == Same(3 + 3));
  CHECK(run.timeline.lost[zeta] == 0);
  CHECK(run.timeline.lost[mid] == 0);
  CHECK(run.path.at("contention:alpha") == Same(3));
}

TEST_CASE("Of two queues released at once the path follows the later op",
          "[step]") {
  StepBuilder b;
  const std::uint32_t x = b.Fifo("ici_x");
  const std::uint32_t y = b.Fifo("ici_y");
  const std::uint32_t on_x = b.Start(5, 0, {{x, 1}});  // latency only
  const std::uint32_t on_y = b.Start(0, 5, {{y, 1}});  // work only
  const std::uint32_t both = b.Start(0, 1, {{x, 1}, {y, 1}});
  for (const std::uint32_t start : {on_x, on_y, both}) b.Done(start);
  // The dones of the first two would hide the queue: the last one first.
  const Run run = RunInOrder(b.step, {on_x, on_y, both, 5, 3, 4});
  CHECK(run.path == std::map<std::string, double>{{"transfer", 5 + 1}});
}

TEST_CASE("A path tells what the order costs from what operands cost",
          "[step]") {
  StepBuilder b;
  b.Compute(1);
  b.Compute(2);
  const std::uint32_t last = b.Compute(3, {1});
  const AbstractTimeline timeline = Simulate(b.step, ProgramOrder(b.step));
  const auto path = CriticalPath(b.step, ProgramOrder(b.step), timeline);
  REQUIRE(path.size() == 3);
  CHECK(path[0].edge == PathEdge::kBegin);
  CHECK(path[1].edge == PathEdge::kCoreOrder);  // op 1 needs nothing of op 0
  CHECK(path[2].edge == PathEdge::kDependence);
  CHECK(path[2].op == last);
  CHECK_FALSE(path[2].scheduling());
}

TEST_CASE("An HBM-bound copy behind an HBM-bound compute hides nothing",
          "[step]") {
  StepBuilder b;
  const std::uint32_t hbm = b.Share("hbm");
  const std::uint32_t dma = b.Fifo("dma");
  const std::uint32_t copy = b.Start(0, 5, {{dma, 1}, {hbm, 1}});
  b.Compute(7, {}, 0, {{hbm, 1}});
  b.Done(copy);
  CHECK(RunInOrder(b.step).timeline.makespan == Same(5 + 7));
  // Without R6 it would seem free.
  CHECK(RunInOrder(WithoutContention(b.step)).timeline.makespan == Same(7));
}

TEST_CASE("Costless ops take no time, whatever their number", "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  for (int k = 0; k < 5; ++k) b.Done(b.Start(0, 0, {{axis, 1}}));
  b.Sync(0, 0, {{axis, 1}});
  b.Compute(0);
  const StepSimulator simulator(b.step);
  CHECK(simulator.Run(ProgramOrder(b.step)).makespan == 0);
  CHECK(simulator.RunEvents(ProgramOrder(b.step)).makespan == 0);
}

TEST_CASE("Operands of a start live to its done, its result from its issue",
          "[step]") {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t shard = b.Compute(1, {}, 10);
  const std::uint32_t start = b.Start(0, 5, {{axis, 1}}, {shard}, 40);
  const std::uint32_t other = b.Compute(1, {}, 1);
  const std::uint32_t done = b.Done(start);
  b.Compute(1, {done, other}, 7);
  const std::vector<Bytes> usage =
      MemoryModel(b.step).Usage(ProgramOrder(b.step));
  CHECK(usage[1] == Bytes(10 + 40));
  CHECK(usage[2] == Bytes(10 + 40 + 1));
  CHECK(usage[3] == Bytes(10 + 40 + 1));  // until the done has run
  CHECK(usage[4] == Bytes(40 + 1 + 7));
}

TEST_CASE("Parameters live to their last user, state and outputs to the end",
          "[step]") {
  StepBuilder b;
  const std::uint32_t output = b.Compute(1, {}, 3);
  const std::uint32_t user = b.Compute(1, {}, 5);  // nobody reads it
  b.Compute(1, {}, 0);
  b.step.ops[1].tmp = Bytes(100);
  b.step.outputs = {output};
  b.step.params = {{.bytes = Bytes(1000), .users = {user}},
                   {.bytes = Bytes(10'000), .users = {0}, .live_out = true},
                   {.bytes = Bytes(77), .users = {}}};
  const std::vector<Bytes> usage =
      MemoryModel(b.step).Usage(ProgramOrder(b.step));
  CHECK(usage[0] == Bytes(10'000 + 1000 + 3));
  CHECK(usage[1] == Bytes(10'000 + 1000 + 3 + 5 + 100));
  CHECK(usage[2] == Bytes(10'000 + 3));
  const MemoryPeak peak = MemoryModel(b.step).Peak(ProgramOrder(b.step));
  CHECK(peak.bytes == usage[1]);
  CHECK(peak.position == 1);
  CHECK(LargestLiveText(b.step, peak.live) ==
        "param 1 9.766 KiB, param 0 1000 B, op 1 5 B, 1 more");
}

TEST_CASE("An op in place adds no bytes and hands its buffer on", "[step]") {
  StepBuilder b;
  const std::uint32_t gradient = b.Compute(1, {}, 64);
  const std::uint32_t update = b.Compute(1, {gradient}, 64);
  b.step.ops[update].alias = gradient;
  b.Compute(1, {update}, 1);
  b.Compute(1);
  const std::vector<Bytes> usage =
      MemoryModel(b.step).Usage(ProgramOrder(b.step));
  CHECK(usage ==
        std::vector<Bytes>{Bytes(64), Bytes(64), Bytes(64 + 1), Bytes(0)});
}

TEST_CASE("A buffer lives while it is taken over by one that reads nothing",
          "[step]") {
  StepBuilder b;
  const std::uint32_t scratch = b.Compute(1, {}, 64);
  b.Compute(1);
  b.step.ops[b.Compute(1)].alias = scratch;
  b.Compute(1);
  CHECK(MemoryModel(b.step).Usage(ProgramOrder(b.step)) ==
        std::vector<Bytes>{Bytes(64), Bytes(64), Bytes(64), Bytes(0)});
}

TEST_CASE("Rungs change what they name and nothing else", "[step]") {
  StepBuilder b;
  const std::uint32_t x = b.Fifo("ici_x");
  const std::uint32_t y = b.Fifo("ici_y");
  const double issue = 0.5;
  for (const std::uint32_t axis : {x, y}) {
    b.Done(b.Start(2, 8, {{axis, 1}}, {}, 0, issue));
  }
  b.Compute(3);
  const auto makespan = [&](const AbstractStep& step) {
    return RunInOrder(step).timeline.makespan;
  };
  const double all = 2 * (issue + 2 + 8) + 3;
  CHECK(makespan(b.step) == Same(all));
  CHECK(makespan(WithoutLatency(b.step)) == Same(all - 2 * 2));
  CHECK(makespan(WithInfiniteFifo(b.step, x)) == Same(all - 8));
  CHECK(makespan(WithInfiniteFifo(WithInfiniteFifo(b.step, x), y)) ==
        Same(all - 2 * 8));
  CHECK(makespan(WithoutContention(b.step)) == Same(all));
  CHECK(makespan(WithoutCommunication(b.step)) == Same(2 * issue + 3));
  CHECK(makespan(WithoutCompute(b.step)) == Same(all - 3));
}

}  // namespace
}  // namespace podsim
