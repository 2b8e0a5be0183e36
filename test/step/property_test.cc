// What holds for every step and order, on random ones.
#include <catch2/catch.hpp>

#include "step/abstract_account.h"
#include "step/critical_path.h"
#include "step/memory.h"
#include "step/simulate_abstract.h"
#include "step/step_bounds.h"
#include "step/verify_order.h"
#include "step/what_if.h"
#include "test/step/naive_simulator.h"
#include "test/step/random_step.h"

namespace podsim {
namespace {

constexpr std::uint64_t kSteps = 3000;

struct Sample {
  AbstractStep step;
  OrderEdges edges;
  StepOrder order;
};

Sample MakeSample(std::uint64_t seed, RandomStepOptions options = {}) {
  Random random(seed);
  options.ties = random.OneIn(2);
  Sample sample;
  sample.step = RandomStep(random, options);
  sample.edges = MakeOrderEdges(sample.step);
  sample.order = RandomOrder(random, sample.edges);
  return sample;
}

void CheckDates(const std::vector<double>& ours,
                const std::vector<double>& theirs, double makespan) {
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t op = 0; op < ours.size(); ++op) {
    INFO("op " << op << ": " << ours[op] << ", naive " << theirs[op]);
    CHECK(std::abs(ours[op] - std::max(0.0, theirs[op])) <= 1e-9 * makespan);
  }
}

TEST_CASE("A naive simulator finds the same dates", "[step]") {
  for (std::uint64_t seed = 1; seed <= kSteps; ++seed) {
    CAPTURE(seed);
    const Sample s = MakeSample(seed);
    const AbstractTimeline ours = Simulate(s.step, s.order);
    const NaiveDates naive = NaiveSimulator(s.step, s.order).Run();
    CHECK(Near(ours.makespan, naive.makespan));
    CheckDates(ours.begin, naive.begin, ours.makespan);
    CheckDates(ours.end, naive.end, ours.makespan);
    CheckDates(ours.issued, naive.issued, ours.makespan);
    CheckDates(ours.transfer_begin, naive.transfer_begin, ours.makespan);
    CheckDates(ours.transfer_end, naive.transfer_end, ours.makespan);
  }
}

TEST_CASE("Without sharing the event loop and the walk are bit-equal",
          "[step]") {
  for (std::uint64_t seed = 1; seed <= kSteps; ++seed) {
    CAPTURE(seed);
    const Sample s = MakeSample(seed, {.shares = false});
    const StepSimulator simulator(s.step);
    const AbstractTimeline walk = simulator.Run(s.order);
    const AbstractTimeline loop = simulator.RunEvents(s.order);
    CHECK(walk.makespan == loop.makespan);
    CHECK(walk.begin == loop.begin);
    CHECK(walk.end == loop.end);
    CHECK(walk.issued == loop.issued);
    CHECK(walk.transfer_begin == loop.transfer_begin);
    CHECK(walk.transfer_end == loop.transfer_end);
    CHECK(walk.busy == loop.busy);
    CHECK(simulator.Makespan(s.order) == walk.makespan);
  }
}

TEST_CASE("The account and the path of every order add up to its makespan",
          "[step]") {
  for (std::uint64_t seed = 1; seed <= kSteps; ++seed) {
    CAPTURE(seed);
    const Sample s = MakeSample(seed);
    const AbstractTimeline timeline = Simulate(s.step, s.order);
    const AbstractAccount account = AccountAbstract(s.step, s.order, timeline);
    CHECK(Near(account.work + account.interference + account.exposed,
               timeline.makespan));
    for (const TransferAccount& transfer : account.transfers) {
      CHECK(transfer.exposed >= 0);
      CHECK(transfer.overlapped >= -1e-9 * timeline.makespan);
    }
    double total = 0;
    for (const auto& [kind, seconds] :
         PathTotals(s.step, CriticalPath(s.step, s.order, timeline))) {
      CHECK(seconds > 0);
      total += seconds;
    }
    CHECK(Near(total, timeline.makespan));
    // Lost time explains all that an activity took longer.
    std::vector<double> slowed(2 * s.step.ops.size());
    for (const LostTime& loss : timeline.losses) {
      slowed[2 * loss.op + loss.transfer] += loss.seconds;
    }
    for (std::uint32_t op = 0; op < s.step.ops.size(); ++op) {
      const AbstractOp& o = s.step.ops[op];
      const double core =
          (HasTransfer(o) ? timeline.issued : timeline.end)[op] -
          timeline.begin[op] - o.tc_time.value();
      const double transfer = HasTransfer(o) ? timeline.transfer_end[op] -
                                                   timeline.transfer_begin[op] -
                                                   TransferTime(o)
                                             : 0;
      CHECK(std::abs(core - slowed[2 * op]) <= 1e-9 * timeline.makespan);
      CHECK(std::abs(transfer - slowed[2 * op + 1]) <=
            1e-9 * timeline.makespan);
    }
  }
}

TEST_CASE("No order beats a bound, its own peak as the limit", "[step]") {
  for (std::uint64_t seed = 1; seed <= kSteps; ++seed) {
    CAPTURE(seed);
    Sample s = MakeSample(seed);
    s.step.memory_limit = MemoryModel(s.step).Peak(s.order).bytes;
    const double makespan = Simulate(s.step, s.order).makespan;
    for (const BoundComponent& bound : ComputeStepBounds(s.step).components) {
      INFO(bound.name << " " << bound.time.value());
      CHECK(bound.time.value() <= makespan * (1 + 1e-9));
    }
    CHECK(VerifyOrder(s.step, s.order).empty());
    if (*s.step.memory_limit == Bytes(0)) continue;
    s.step.memory_limit = *s.step.memory_limit - Bytes(1);
    const OrderViolations violations = VerifyOrder(s.step, s.order);
    REQUIRE_FALSE(violations.empty());
    CHECK(violations[0].rule == OrderRule::kMemory);
  }
}

TEST_CASE("Less to do is never later where nothing is shared", "[step]") {
  for (std::uint64_t seed = 1; seed <= kSteps; ++seed) {
    CAPTURE(seed);
    const Sample s = MakeSample(seed, {.shares = false});
    const AbstractTimeline timeline = Simulate(s.step, s.order);
    const double work = AccountAbstract(s.step, s.order, timeline).work;
    for (const WhatIf& rung : MakeWhatIfs(s.step)) {
      INFO(rung.name);
      const double makespan = Simulate(rung.step, s.order).makespan;
      CHECK(makespan <= timeline.makespan * (1 + 1e-12));
      if (rung.name == "no_communication") CHECK(Near(makespan, work, 1e-12));
      if (rung.name == "no_contention") CHECK(makespan == timeline.makespan);
    }
  }
}

// Usage while the op at `position` runs, from the words alone: what lives, seen
// from each value.
Bytes UsageByWords(const AbstractStep& step, StepOrderView order,
                   std::size_t position) {
  const std::size_t n = step.ops.size();
  std::vector<std::uint32_t> done(n, kNoOp);
  for (std::uint32_t op = 0; op < n; ++op) {
    if (step.ops[op].of) done[*step.ops[op].of] = op;
  }
  const auto ran = [&](std::uint32_t op) {  // and has let go of its operands
    if (done[op] != kNoOp) op = done[op];
    return std::find(order.begin(), order.begin() + position, op) !=
           order.begin() + position;
  };
  const auto begun = [&](std::uint32_t op) {
    return std::find(order.begin(), order.begin() + position + 1, op) !=
           order.begin() + position + 1;
  };
  // Whether `reader` uses the buffer that `op` allocated, in however many steps
  // of taking it over.
  std::vector<std::uint32_t> root(n);
  for (std::uint32_t op = 0; op < n; ++op) {
    const AbstractOp& o = step.ops[op];
    root[op] = o.of ? root[*o.of] : o.alias ? root[*o.alias] : op;
  }
  Bytes usage = step.ops[order[position]].tmp;
  for (std::uint32_t op = 0; op < n; ++op) {
    if (root[op] != op || !begun(op)) continue;
    bool alive = order[position] == op;
    for (const std::uint32_t output : step.outputs) alive |= root[output] == op;
    for (std::uint32_t reader = 0; reader < n; ++reader) {
      bool reads = reader != op && root[reader] == op;
      for (const std::uint32_t dep : step.ops[reader].deps) {
        reads |= root[dep] == op;
      }
      alive |= reads && !ran(reader);
    }
    if (alive) usage += step.ops[op].out;
  }
  for (const StepParam& param : step.params) {
    bool alive = param.live_out;
    for (const std::uint32_t user : param.users) alive |= !ran(user);
    if (alive) usage += param.bytes;
  }
  return usage;
}

TEST_CASE("Memory is what the words say", "[step]") {
  for (std::uint64_t seed = 1; seed <= kSteps; ++seed) {
    CAPTURE(seed);
    const Sample s = MakeSample(seed, {.most_ops = 15});
    const std::vector<Bytes> usage = MemoryModel(s.step).Usage(s.order);
    REQUIRE(usage.size() == s.order.size());
    for (std::size_t k = 0; k < usage.size(); ++k) {
      INFO("position " << k);
      CHECK(usage[k].value() == UsageByWords(s.step, s.order, k).value());
    }
  }
}

// The edges among the ops before a position of the order, and others last.
StepOrder ReorderedBefore(Random& random, const Sample& s,
                          std::size_t position) {
  std::vector<bool> inside(s.order.size());
  for (std::size_t k = 0; k < position; ++k) inside[s.order[k]] = true;
  StepOrder order;
  for (const std::uint32_t op : RandomOrder(random, s.edges)) {
    if (inside[op]) order.push_back(op);
  }
  order.insert(order.end(), s.order.begin() + position, s.order.end());
  return order;
}

TEST_CASE("Memory depends on the set of ops before, not on their order",
          "[step]") {
  for (std::uint64_t seed = 1; seed <= kSteps; ++seed) {
    CAPTURE(seed);
    const Sample s = MakeSample(seed);
    if (s.order.empty()) continue;
    Random random(seed + 1'000'000);
    const auto position = static_cast<std::size_t>(
        random.Int(0, static_cast<int>(s.order.size()) - 1));
    const StepOrder other = ReorderedBefore(random, s, position);
    const MemoryModel memory(s.step);
    const std::vector<Bytes> usage = memory.Usage(s.order);
    const std::vector<Bytes> again = memory.Usage(other);
    for (std::size_t k = position; k < usage.size(); ++k) {
      CHECK(usage[k].value() == again[k].value());
    }
  }
}

TEST_CASE("An order is legal if and only if every edge points forward",
          "[step]") {
  int illegal = 0;
  for (std::uint64_t seed = 1; seed <= kSteps; ++seed) {
    CAPTURE(seed);
    const Sample s = MakeSample(seed);
    if (s.order.size() < 2) continue;
    Random random(seed + 2'000'000);
    StepOrder order = s.order;
    const int swaps = random.Int(0, 2);
    for (int k = 0; k < swaps; ++k) {
      const int at = random.Int(0, static_cast<int>(order.size()) - 2);
      std::swap(order[static_cast<std::size_t>(at)],
                order[static_cast<std::size_t>(at) + 1]);
    }
    std::vector<std::size_t> position(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) position[order[k]] = k;
    bool legal = true;
    for (std::uint32_t op = 0; op < order.size(); ++op) {
      for (const std::uint32_t before : s.edges.before[op]) {
        legal &= position[before] < position[op];
      }
    }
    CHECK(VerifyOrder(s.step, order).empty() == legal);
    illegal += legal ? 0 : 1;
  }
  CHECK(illegal > 100);
}

TEST_CASE("Scaled durations scale every date", "[step]") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const Sample s = MakeSample(seed);
    AbstractStep scaled = s.step;
    for (AbstractOp& op : scaled.ops) {
      op.tc_time = 1024 * op.tc_time;
      op.latency = 1024 * op.latency;
      op.work = 1024 * op.work;
    }
    CHECK(Simulate(scaled, s.order).makespan ==
          1024 * Simulate(s.step, s.order).makespan);
  }
}

}  // namespace
}  // namespace podsim
