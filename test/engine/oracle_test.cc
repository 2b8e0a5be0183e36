// The engine against a simulator written from the time semantics alone, and the
// two cores of the engine against each other, on random DAGs.
#include <catch2/catch.hpp>
#include <map>
#include <optional>

#include "engine/core.h"
#include "engine/engine.h"
#include "test/support/changes.h"
#include "test/support/lowered.h"
#include "test/support/random_dag.h"

namespace podsim {
namespace {

// ---- the naive simulator ------------------------------------------------

// Algorithms 1.2 to the letter, nothing remembered from one event to the next:
// every date looks at all ops again.
class NaiveSimulator {
 public:
  NaiveSimulator(const Schedule& schedule, const Network& network)
      : schedule_(schedule), network_(network), ops_(schedule.size()) {
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      ops_[op].left =
          schedule.kind(OpId(op)) == OpKind::kTransfer
              ? static_cast<double>(schedule.bytes(OpId(op)).value())
              : 0;
    }
  }

  Timeline Run() {
    while (Settle()) Advance();
    Timeline timeline;
    for (const Op& op : ops_) {
      timeline.start.push_back(static_cast<double>(op.start));
      timeline.end.push_back(static_cast<double>(op.end));
      timeline.makespan = std::max(timeline.makespan, timeline.end.back());
    }
    return timeline;
  }

 private:
  using Number = long double;
  enum class State { kWaiting, kStarting, kFlowing, kDone, kLost };
  struct Op {
    State state = State::kWaiting;
    Number start = -1, end = -1;
    Number due = 0;   // end of the start-up, or of the whole op if no transfer
    Number left = 0;  // bytes
    Number rate = 0;
  };

  bool Due(Number date) const { return date <= now_ * (1 + Number{1e-12}); }

  // Of a link now, by the dated faults so far.
  double FactorOf(LinkId link) const {
    double factor = 1;
    for (const LinkChange& change : network_.changes.links) {
      if (change.link == link && Due(change.date)) factor = change.factor;
    }
    return factor;
  }
  bool IsDead(std::uint32_t id) const {
    const auto route = schedule_.route(OpId(id));
    return std::any_of(route.begin(), route.end(),
                       [&](LinkId link) { return FactorOf(link) == 0; });
  }

  // Everything that happens at this date. False once all ops are done or lost.
  bool Settle() {
    bool again = true;
    while (again) {
      again = false;
      for (std::uint32_t id = 0; id < ops_.size(); ++id) {
        const State before = ops_[id].state;
        Update(id);
        again |= ops_[id].state != before;
      }
    }
    return std::any_of(ops_.begin(), ops_.end(), [](const Op& op) {
      return op.state == State::kStarting || op.state == State::kFlowing;
    });
  }

  void Update(std::uint32_t id) {
    Op& op = ops_[id];
    const bool moves = schedule_.kind(OpId(id)) == OpKind::kTransfer;
    if (op.state == State::kWaiting) {
      Number ready = 0;
      for (const OpId wait : schedule_.after(OpId(id))) {
        if (ops_[wait.value()].state != State::kDone) return;
        ready = std::max(ready, ops_[wait.value()].end);
      }
      op.state = State::kStarting;
      op.start = ready;
      op.due = ready;
      if (!moves) {
        op.due += schedule_.duration(OpId(id)).value();
        return;
      }
      op.due += network_.message_overhead;
      for (const LinkId link : schedule_.route(OpId(id))) {
        op.due += network_.LatencyOf(link);
      }
    } else if (op.state == State::kStarting && Due(op.due) && moves &&
               IsDead(id)) {
      op.state = State::kLost;
    } else if (op.state == State::kStarting && Due(op.due)) {
      op.state = moves && op.left > 0 ? State::kFlowing : State::kDone;
      op.end = op.due;
      op.rate = 0;
    } else if (op.state == State::kFlowing && op.rate > 0 &&
               Due(now_ + op.left / op.rate)) {
      op.state = State::kDone;
      op.end = now_;
    } else if (op.state == State::kFlowing && IsDead(id)) {
      op.state = State::kLost;
      op.end = -1;
    }
  }

  void Advance() {
    SetRates();
    std::optional<Number> next;
    for (const Op& op : ops_) {
      std::optional<Number> date;
      if (op.state == State::kStarting) date = op.due;
      if (op.state == State::kFlowing) date = now_ + op.left / op.rate;
      if (date && (!next || *date < *next)) next = date;
    }
    REQUIRE(next.has_value());
    for (const LinkChange& change : network_.changes.links) {
      if (!Due(change.date)) next = std::min<Number>(*next, change.date);
    }
    for (Op& op : ops_) {
      if (op.state == State::kFlowing) op.left -= op.rate * (*next - now_);
    }
    now_ = *next;
  }

  // The link with the least free capacity per unfrozen share freezes its flows,
  // again and again.
  void SetRates() {
    std::map<std::uint32_t, Number> free, shares;
    std::vector<std::uint32_t> unfrozen;
    for (std::uint32_t id = 0; id < ops_.size(); ++id) {
      if (ops_[id].state != State::kFlowing) continue;
      unfrozen.push_back(id);
      for (const LinkId link : schedule_.route(OpId(id))) {
        free[link.value()] = network_.BandwidthOf(link) * FactorOf(link);
        shares[link.value()] += 1;
      }
    }
    while (!unfrozen.empty()) {
      std::optional<std::uint32_t> tightest;
      for (const auto& [link, count] : shares) {
        if (count == 0) continue;
        if (!tightest ||
            free[link] / count < free[*tightest] / shares[*tightest]) {
          tightest = link;
        }
      }
      const Number rate = free[*tightest] / shares[*tightest];
      std::vector<std::uint32_t> others;
      for (const std::uint32_t id : unfrozen) {
        const auto route = schedule_.route(OpId(id));
        if (std::find(route.begin(), route.end(), LinkId(*tightest)) ==
            route.end()) {
          others.push_back(id);
          continue;
        }
        ops_[id].rate = rate;
        for (const LinkId link : route) {
          free[link.value()] -= rate;
          shares[link.value()] -= 1;
        }
      }
      unfrozen = others;
    }
  }

  const Schedule& schedule_;
  const Network& network_;
  std::vector<Op> ops_;
  Number now_ = 0;
};

void CompareDates(const Timeline& found, const Timeline& expected) {
  REQUIRE(found.start.size() == expected.start.size());
  for (std::size_t op = 0; op < found.start.size(); ++op) {
    CAPTURE(op, found.start[op], expected.start[op], found.end[op],
            expected.end[op]);
    REQUIRE(Near(found.start[op], expected.start[op]));
    REQUIRE(Near(found.end[op], expected.end[op]));
  }
  REQUIRE(Near(found.makespan, expected.makespan));
}

TEST_CASE("the naive simulator knows the hand-derived dates", "[engine]") {
  // As in engine_test: three links, four transfers; a link named twice.
  DagBuilder dag;
  dag.Send({0, 1}, 1000);
  dag.Send({1, 2}, 4800);
  dag.Send({0}, 500);
  dag.Send({2}, 2400);
  const Network network{.links = 3,
                        .bandwidth = 0,
                        .link_bandwidth = {1000, 2000, 2400},
                        .link_latency = {}};
  const Timeline timeline = NaiveSimulator(dag.schedule(), network).Run();
  CHECK(Near(timeline.end[0], 1.5));
  CHECK(Near(timeline.end[1], 1.5 + 5.0 / 12 + 1.3));
  CHECK(Near(timeline.end[2], 1.0));
  CHECK(Near(timeline.end[3], 1.5 + 5.0 / 12));
  DagBuilder twice;
  twice.Send({0, 0}, 1000);
  twice.Send({0}, 3000);
  const Network one{
      .links = 1, .bandwidth = 1000, .link_bandwidth = {}, .link_latency = {}};
  const Timeline shares = NaiveSimulator(twice.schedule(), one).Run();
  CHECK(Near(shares.end[0], 3));
  CHECK(Near(shares.end[1], 5));
}

TEST_CASE("the engine equals the naive simulator on random one-hop DAGs",
          "[engine][oracle]") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const RandomDag dag = MakeRandomDag(random, /*max_hops=*/1);
    CompareDates(RunPod(dag.schedule, dag.network),
                 NaiveSimulator(dag.schedule, dag.network).Run());
  }
}

TEST_CASE("the engine equals the naive simulator on random routes",
          "[engine][oracle]") {
  for (std::uint64_t seed = 10'000; seed < 11'500; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const RandomDag dag = MakeRandomDag(random, random.Int(2, 6));
    CompareDates(RunPod(dag.schedule, dag.network),
                 NaiveSimulator(dag.schedule, dag.network).Run());
  }
}

TEST_CASE("the engine equals the naive simulator with dated faults",
          "[engine][oracle][fault]") {
  std::size_t lost = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Random random(22'000'000 + seed);
    RandomDag dag = MakeRandomDag(random, seed % 2 == 0 ? 1 : random.Int(2, 6));
    AddRandomChanges(random, RunPod(dag.schedule, dag.network).makespan,
                     /*only_slower=*/false, dag.network);
    dag.network.changes.chips.clear();
    const Timeline timeline = RunPod(dag.schedule, dag.network);
    CompareDates(timeline, NaiveSimulator(dag.schedule, dag.network).Run());
    lost += timeline.lost.size();
  }
  CHECK(lost > 3000);
}

TEST_CASE("the engine equals the naive simulator on lowered collectives",
          "[engine][oracle]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 12);
    const Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape),
                   {.bandwidth = 1e9,
                    .alpha = random.OneIn(2) ? 0 : random.Decades(-8, -5),
                    .overhead = random.OneIn(2) ? 0 : random.Decades(-8, -5)});
    const LoweringSpec spec = random.Pick(WithProgram(SpecsForAuto()));
    const Collective collective = OnAllChips(
        random.Pick(kLoweredKinds), random.Between(0, 1'000'000), slice);
    if (WhyNot(spec, collective, slice.topology)) continue;
    CAPTURE(seed, slice.spec, spec.name);
    const Schedule schedule = LowerOn(slice, spec, collective).schedule;
    const Network network = MakeNetwork(slice);
    CompareDates(RunPod(schedule, network),
                 NaiveSimulator(schedule, network).Run());
  }
}

// ---- the cores ----------------------------------------------------------

Timeline RunCore(std::unique_ptr<Core> core) {
  core->Run(UINT64_MAX);
  REQUIRE(core->empty());
  return core->TakeTimeline();
}

TEST_CASE("both cores give one-hop DAGs the same dates", "[engine][oracle]") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const RandomDag dag = MakeRandomDag(random, /*max_hops=*/1);
    CompareDates(RunCore(MakeEqualShareCore(dag.schedule, dag.network)),
                 RunCore(MakeMaxMinCore(dag.schedule, dag.network)));
  }
}

TEST_CASE("both cores give lowered collectives the same dates",
          "[engine][oracle]") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 24);
    const Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape),
                   {.bandwidth = 1e9, .alpha = random.Decades(-8, -5)});
    const LoweringSpec spec = random.Pick(WithProgram(SpecsForAuto()));
    const Collective collective = OnAllChips(
        random.Pick(kLoweredKinds), random.Between(0, 1'000'000), slice);
    if (WhyNot(spec, collective, slice.topology)) continue;
    CAPTURE(seed, slice.spec, spec.name);
    const Schedule schedule = LowerOn(slice, spec, collective).schedule;
    const Network network = MakeNetwork(slice);
    CompareDates(RunCore(MakeEqualShareCore(schedule, network)),
                 RunCore(MakeMaxMinCore(schedule, network)));
  }
}

TEST_CASE("a core steps to the same dates as it drains, never back in time",
          "[engine]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const bool one_hop = random.OneIn(2);
    const RandomDag dag = MakeRandomDag(random, one_hop ? 1 : 4);
    const auto make = [&] {
      return one_hop ? MakeEqualShareCore(dag.schedule, dag.network)
                     : MakeMaxMinCore(dag.schedule, dag.network);
    };
    const std::unique_ptr<Core> core = make();
    double last = 0;
    while (!core->empty()) {
      const double next = core->next();
      REQUIRE(next >= last * (1 - 2 * kSimultaneous));
      last = std::max(last, next);
      core->Step();
    }
    const Timeline stepped = core->TakeTimeline();
    const Timeline drained = RunCore(make());
    REQUIRE(stepped.start == drained.start);
    REQUIRE(stepped.end == drained.end);
  }
}

}  // namespace
}  // namespace podsim
