// Links that get slower, faster again or die while a schedule runs: formulas,
// who exactly is lost, and laws on random schedules.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "engine/engine.h"
#include "test/support/changes.h"
#include "test/support/networks.h"

namespace podsim {
namespace {

void CheckEnds(const DagBuilder& dag, const Network& network,
               const std::vector<double>& expected) {
  const Timeline timeline = RunPod(dag.schedule(), network);
  REQUIRE(timeline.end.size() == expected.size());
  for (std::size_t op = 0; op < expected.size(); ++op) {
    CAPTURE(op, timeline.end[op], expected[op]);
    CHECK(Near(timeline.end[op], expected[op]));
  }
}

std::set<std::uint32_t> LostOf(const Timeline& timeline) {
  std::set<std::uint32_t> lost;
  for (const Timeline::Loss& loss : timeline.lost) {
    CHECK(lost.insert(loss.op).second);  // once
  }
  return lost;
}

using Ops = std::set<std::uint32_t>;

// ---- rates --------------------------------------------------------------

TEST_CASE("a link halved at t: t + (b - B t)/(B/2)", "[engine][fault]") {
  // Over one hop and over two, in one core and the other.
  const auto route =
      GENERATE(std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{0, 1});
  const double t = GENERATE(0.0, 0.25, 0.999);
  Network network = Bare(2);
  AddChange(network, t, 0, 0.5);
  DagBuilder dag;
  dag.Send(route, 1000);
  CheckEnds(dag, network, {t + (1000 - 1000 * t) / 500});
}

TEST_CASE("a change after the start-up has begun counts from its date",
          "[engine][fault]") {
  Network network = Bare(1);
  network.hop_latency = 0.5;
  AddChange(network, 0.25, 0, 0.5);
  DagBuilder dag;
  dag.Send({0}, 1000);
  CheckEnds(dag, network, {0.5 + 2});
}

TEST_CASE("two that share a link share what is left of it", "[engine][fault]") {
  // 500 B/s each for a second: 100 and 700 bytes are left, then 50 B/s each
  // for 2 s; the other one has 600 left at 100 B/s.
  Network network = Bare(2);
  AddChange(network, 1, 0, 0.1);
  DagBuilder dag;
  dag.Send({0}, 600);
  dag.Send({0}, 1200);
  CheckEnds(dag, network, {3, 9});
  // The same with a route of two hops beside.
  dag.Send({1, 1}, 1);
  CheckEnds(dag, network, {3, 9, 0.002});
}

TEST_CASE("a link that recovers", "[engine][fault]") {
  // 250 bytes until 0.25, 50 until 0.75, the rest at the full rate. The second
  // percentage replaces the first.
  const auto route =
      GENERATE(std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{0, 1});
  Network network = Bare(2);
  AddChange(network, 0.25, 0, 0.1);
  AddChange(network, 0.75, 0, 1);
  DagBuilder dag;
  dag.Send(route, 1000);
  CheckEnds(dag, network, {0.75 + 0.7});
}

TEST_CASE("rates are those of the link in the slice", "[engine][fault]") {
  Network network = Bare(2);
  network.link_bandwidth = {1000, 4000};
  AddChange(network, 0.5, 1, 0.25);
  DagBuilder dag;
  dag.Send({1}, 3000);
  CheckEnds(dag, network, {0.5 + 1});
}

TEST_CASE("max-min rates find the new bottleneck", "[engine][fault]") {
  // Until 1: 500 each on link 0. Then link 1 gives 100 to op 0, 900 to op 1.
  Network network = Bare(2);
  AddChange(network, 1, 1, 0.1);
  DagBuilder dag;
  dag.Send({0, 1}, 1000);
  dag.Send({0}, 1400);
  CheckEnds(dag, network, {1 + 5, 2});
}

TEST_CASE("fifo: what is served keeps its rate, the next one has the new",
          "[engine][fault]") {
  Network network = Bare(1, kFifo);
  AddChange(network, 0.5, 0, 0.5);
  DagBuilder dag;
  dag.Send({0}, 1000);
  dag.Send({0}, 1000);
  CheckEnds(dag, network, {1, 3});
}

TEST_CASE("a service that begins at the date has the new rate",
          "[engine][fault]") {
  Network network = Bare(1, kFifo);
  AddChange(network, 1, 0, 0.5);
  DagBuilder dag;
  dag.Send({0}, 1000);
  dag.Send({0}, 1000);
  CheckEnds(dag, network, {1, 3});
}

TEST_CASE("packet by packet a transfer takes the new rate", "[engine][fault]") {
  // Packets of 100 bytes: three in 0.3 s, begun before 0.25; seven at half.
  Network network = Bare(1, PacketsOf(100));
  AddChange(network, 0.25, 0, 0.5);
  DagBuilder dag;
  dag.Send({0}, 1000);
  CheckEnds(dag, network, {0.3 + 1.4});
}

TEST_CASE("a compute has the memory that a slower link leaves",
          "[engine][fault]") {
  // 1000 B/s of memory, a compute of 1 s that uses all of it, a transfer of
  // 1000 bytes out of the chip at 500 B/s, from 1 s on at 250. So 0.5 s of the
  // compute are done at 1 s, the others at 3/4 of the speed.
  const auto route =
      GENERATE(std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{0, 1});
  const auto model = GENERATE(NetworkModel{}, PacketsOf(500));
  Network network = Bare(2, model);
  network.bandwidth = 500;
  network.hbm_bandwidth = 1000;
  AddChange(network, 1, 0, 0.5);
  Schedule schedule;
  schedule.AddCompute(ChipId(0), Seconds(1), {}, Bytes(1000));
  std::vector<LinkId> links;
  for (const std::uint32_t link : route) links.emplace_back(link);
  schedule.Add({.src = ChipId(0),
                .dst = ChipId(1),
                .chunks = {PatternId(0), ChipId(0)},
                .bytes = Bytes(1000)},
               links, {});
  const Timeline timeline = RunPod(schedule, network);
  CHECK(Near(timeline.end[0], 1 + 0.5 / 0.75));
}

TEST_CASE("a slower link may make a run shorter", "[engine][fault]") {
  // Op 1 shares link 0 with op 2, which a compute waits for, from 0.1 on: 1.9.
  // It comes at 1, when op 2 is done, if link 1 is slow.
  Network network = Bare(2);
  DagBuilder dag;
  const OpId first = dag.Send({1}, 100);
  dag.Send({0}, 1000, {first});
  const OpId second = dag.Send({0}, 1000);
  dag.Compute(10, {second});
  CheckEnds(dag, network, {0.1, 2, 1.9, 11.9});
  AddChange(network, 0, 1, 0.1);
  CheckEnds(dag, network, {1, 2, 1, 11});
}

// ---- deaths -------------------------------------------------------------

TEST_CASE("a link that dies takes what flows and what comes later",
          "[engine][fault]") {
  const auto model = GENERATE(NetworkModel{}, kFifo, PacketsOf(100));
  Network network = Bare(2, model);
  AddChange(network, 1, 0, 0);
  DagBuilder dag;
  const OpId done = dag.Send({0}, 400);  // fluid: 500 B/s, 0.8; else 0.4, ..
  const OpId lost = dag.Send({0}, 2000);
  const OpId other = dag.Send({1}, 3000);
  const OpId after = dag.Send({1}, 10, {lost});     // never
  const OpId again = dag.Send({0}, 10, {other});    // too late
  const OpId far = dag.Compute(1, {after, other});  // never
  const OpId fine = dag.Compute(1, {done});
  const Timeline timeline = RunPod(dag.schedule(), network);
  CHECK(LostOf(timeline) == Ops{lost.value(), again.value()});
  for (const Timeline::Loss& loss : timeline.lost) CHECK(loss.fault == 0);
  for (const OpId op : {lost, after, again, far}) {
    CHECK(timeline.end[op.value()] < 0);
  }
  CHECK(timeline.start[after.value()] < 0);
  CHECK(timeline.start[far.value()] < 0);
  CHECK(Near(timeline.start[again.value()], 3));
  CHECK(Near(timeline.end[other.value()], 3));
  CHECK(timeline.end[fine.value()] > 0);
}

TEST_CASE("what ends at exactly the date is done", "[engine][fault]") {
  // 0.1 + 0.2 is not 0.3 in doubles.
  const auto model = GENERATE(NetworkModel{}, kFifo, PacketsOf(100));
  const auto route =
      GENERATE(std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{0, 0});
  if (model.kind == NetworkKind::kFifo && route.size() > 1) return;
  const double hops = static_cast<double>(route.size());
  const bool fluid = model.kind == NetworkKind::kFluid;
  CAPTURE(hops, fluid);
  Network network = Bare(1, model);
  network.message_overhead = 0.1;
  DagBuilder dag;
  dag.Send(route, 200);
  const double end = RunPod(dag.schedule(), network).makespan;
  for (const double ulps : {-1e-13, 0.0, 1e-13}) {
    Network dies = network;
    AddChange(dies, end * (1 + ulps), 0, 0);
    CHECK(Near(RunPod(dag.schedule(), dies).makespan, end));
  }
  Network sooner = network;
  AddChange(sooner, end * (1 - 1e-9), 0, 0);
  CHECK(LostOf(RunPod(dag.schedule(), sooner)) == Ops{0});
}

TEST_CASE("what is lost leaves its share of other links", "[engine][fault]") {
  // 500 B/s each until 1, then op 1 alone.
  Network network = Bare(2);
  AddChange(network, 1, 1, 0);
  DagBuilder dag;
  dag.Send({0, 1}, 2000);
  dag.Send({0}, 1500);
  const Timeline timeline = RunPod(dag.schedule(), network);
  CHECK(LostOf(timeline) == Ops{0});
  CHECK(Near(timeline.end[1], 2));
}

TEST_CASE("packets that have passed a link do not need it any more",
          "[engine][fault]") {
  // Store and forward: link 0 until 1, link 1 until 2.
  Network network = Bare(2, PacketsOf(1000, /*cut_through=*/false));
  DagBuilder dag;
  dag.Send({0, 1}, 1000);
  Network first = network;
  AddChange(first, 1.5, 0, 0);
  CHECK(Near(RunPod(dag.schedule(), first).makespan, 2));
  Network both = first;
  AddChange(both, 1.75, 1, 0);
  const Timeline timeline = RunPod(dag.schedule(), both);
  REQUIRE(LostOf(timeline) == Ops{0});
  CHECK(timeline.lost[0].fault == 1);  // not the one before
}

TEST_CASE("a chip that dies takes its computes", "[engine][fault]") {
  const auto model = GENERATE(NetworkModel{}, kFifo, PacketsOf(100));
  Network network = Bare(1, model);
  AddDeath(network, 1, ChipId(0));
  DagBuilder dag;
  const OpId done = dag.Compute(1);
  const OpId lost = dag.Compute(1.5);
  const OpId late = dag.Compute(1, {done});
  dag.Compute(1, {lost});
  const Timeline timeline = RunPod(dag.schedule(), network);
  CHECK(LostOf(timeline) == Ops{lost.value(), late.value()});
  CHECK(timeline.end[done.value()] == 1);
  CHECK(timeline.start[3] < 0);
}

TEST_CASE("over a NIC only the messages of a dead chip are lost",
          "[engine][fault]") {
  const auto model = GENERATE(NetworkModel{}, PacketsOf(100));
  Network network = Bare(2, model);
  network.first_port = 0;
  AddDeath(network, 1, ChipId(2));
  Schedule schedule;
  const std::vector<LinkId> ports = {LinkId(0), LinkId(1)};
  for (const std::uint32_t chip : {0U, 2U}) {
    schedule.Add({.src = ChipId(chip),
                  .dst = ChipId(5),
                  .chunks = {PatternId(0), ChipId(0)},
                  .bytes = Bytes(1000)},
                 ports, {});
  }
  const Timeline timeline = RunPod(schedule, network);
  CHECK(LostOf(timeline) == Ops{1});
  // 500 B/s each until 1, then alone.
  CHECK(timeline.end[0] == Approx(1.5).margin(0.11));
}

// ---- random schedules ---------------------------------------------------

// Bytes that a link can carry in [0, until].
double Capacity(const Network& network, std::uint32_t link, double until) {
  double bytes = 0, since = 0, factor = 1;
  const auto add = [&](double date) {
    date = std::clamp(date, since, until);
    bytes += (date - since) * factor * network.BandwidthOf(LinkId(link));
    since = date;
  };
  for (const LinkChange& change : network.changes.links) {
    if (change.link != LinkId(link)) continue;
    if (change.date > until) break;
    add(change.date);
    factor = change.factor;
  }
  add(until);
  return bytes;
}

// Whether fault `k` kills something that the op needs.
bool Kills(const Network& network, std::uint32_t k, const Schedule& schedule,
           OpId op) {
  if (schedule.kind(op) != OpKind::kTransfer) {
    return network.changes.faults[k].is_chip;
  }
  for (const LinkChange& change : network.changes.links) {
    if (change.fault != k || change.factor > 0) continue;
    for (const LinkId link : schedule.route(op)) {
      if (link == change.link) return true;
    }
  }
  return false;
}

// Empty, or what is wrong.
std::string WhatIsWrong(const Schedule& schedule, const Network& network,
                        const Timeline& timeline) {
  std::vector<bool> lost(schedule.size()), stuck(schedule.size());
  for (const Timeline::Loss& loss : timeline.lost) {
    if (lost[loss.op]) return "lost twice";
    lost[loss.op] = true;
    if (!Kills(network, loss.fault, schedule, OpId(loss.op))) {
      return "lost to a fault elsewhere";
    }
  }
  double last = 0;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const double start = timeline.start[id], end = timeline.end[id];
    const std::string op = "op " + std::to_string(id);
    double ready = 0;
    for (const OpId wait : schedule.after(OpId(id))) {
      if (lost[wait.value()] || stuck[wait.value()]) stuck[id] = true;
      ready = std::max(ready, timeline.end[wait.value()]);
    }
    if (stuck[id]) {
      if (start >= 0 || end >= 0 || lost[id]) return op + " ran all the same";
      continue;
    }
    if (!Near(start, ready)) return op + " is not on time";
    if (lost[id]) {
      if (end >= 0) return op + " is lost and ended";
      continue;
    }
    if (end < start) return op + " did not end";
    last = std::max(last, end);
    for (const LinkChange& change : network.changes.links) {
      const bool fluid = network.model.kind == NetworkKind::kFluid;
      if (schedule.kind(OpId(id)) != OpKind::kTransfer) break;
      if (!fluid && schedule.route(OpId(id)).size() > 1) break;
      if (change.factor > 0 || end <= change.date * (1 + 1e-11)) continue;
      for (const LinkId link : schedule.route(OpId(id))) {
        if (link == change.link) return op + " ended over a dead link";
      }
    }
  }
  return timeline.makespan == last ? "" : "not the makespan";
}

// In the fluid model nothing moves more than its rate. (A packet that is served
// keeps the rate that it began with.)
std::string WhatIsTooFast(const Schedule& schedule, const Network& network,
                          const Timeline& timeline) {
  std::vector<double> bytes(network.links);
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    if (schedule.kind(OpId(id)) != OpKind::kTransfer) continue;
    if (timeline.end[id] < 0) continue;
    for (const LinkId link : schedule.route(OpId(id))) {
      bytes[link.value()] +=
          static_cast<double>(schedule.bytes(OpId(id)).value());
    }
  }
  for (std::uint32_t link = 0; link < network.links; ++link) {
    if (bytes[link] <=
        Capacity(network, link, timeline.makespan) * (1 + 1e-9) + 1e-6) {
      continue;
    }
    return "link " + std::to_string(link) + " is too fast";
  }
  return "";
}

TEST_CASE("10000 random schedules with dated faults: ended, lost or waiting",
          "[engine][fault][property]") {
  std::uint64_t lost = 0, stuck = 0, ended = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(21'000'000 + seed);
    const int kind = random.Int(0, 2);
    const int hops = kind == 1 || random.OneIn(2) ? 1 : random.Int(2, 6);
    RandomDag dag = MakeRandomDag(random, hops);
    if (kind == 1) dag.network.model = kFifo;
    if (kind == 2) {
      // Not too many packets.
      std::int64_t most = 1;
      for (std::uint32_t op = 0; op < dag.schedule.size(); ++op) {
        if (dag.schedule.kind(OpId(op)) != OpKind::kTransfer) continue;
        most = std::max(most, dag.schedule.bytes(OpId(op)).value());
      }
      dag.network.model = PacketsOf(most / 20 + 1, random.OneIn(2));
    }
    const Timeline before = RunCore(dag.schedule, dag.network);
    Network late = dag.network;
    AddChange(late, before.makespan * 1.01 + 1e-9, 0, 0);
    const bool same = RunCore(dag.schedule, late).end == before.end;
    AddRandomChanges(random, before.makespan, /*only_slower=*/false,
                     dag.network);
    const Timeline timeline = RunPod(dag.schedule, dag.network);
    const Timeline core = RunCore(dag.schedule, dag.network);
    lost += timeline.lost.size();
    for (std::uint32_t op = 0; op < dag.schedule.size(); ++op) {
      stuck += timeline.start[op] < 0 ? 1 : 0;
      ended += timeline.end[op] >= 0 ? 1 : 0;
    }
    std::string wrong = WhatIsWrong(dag.schedule, dag.network, timeline);
    if (wrong.empty() && kind == 0) {
      wrong = WhatIsTooFast(dag.schedule, dag.network, timeline);
    }
    if (wrong.empty() && same && core.end == timeline.end) continue;
    CAPTURE(seed, kind, hops);
    CHECK(wrong == "");
    CHECK(same);
    CHECK(core.end == timeline.end);
  }
  CHECK(lost > 10'000);
  CHECK(stuck > 10'000);
  CHECK(ended > 100'000);
}

}  // namespace
}  // namespace podsim
