// The pod engine against stock SimGrid, on every op's end date. A binary of its
// own: RunReference forks, and must do so before the pod engine has started
// SimGrid in the process; so the cores are drained directly here.
#include "engine/reference.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "engine/engine.h"
#include "test/support/changes.h"
#include "test/support/error_of.h"
#include "test/support/golden_case.h"
#include "test/support/issue.h"
#include "test/support/lowered.h"
#include "test/support/random_dag.h"
#include "topology/routing.h"

namespace podsim {
namespace {

// SimGrid's absolute tolerance is 1e-15 s at each event.
constexpr double kRelative = 1e-9;
constexpr double kAbsolute = 4e-15;  // seconds

void CompareEnds(const Schedule& schedule, const Network& network) {
  const Timeline pod = RunCore(schedule, network);
  const Timeline reference = RunReference(schedule, network);
  REQUIRE(pod.makespan < 1);  // where SimGrid's tolerances are right
  REQUIRE(reference.end.size() == schedule.size());
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (std::abs(pod.end[op] - reference.end[op]) <=
        kRelative * std::abs(reference.end[op]) + kAbsolute) {
      continue;
    }
    CAPTURE(op, pod.end[op], reference.end[op]);
    FAIL("an end date differs");
  }
}

TEST_CASE("stock SimGrid gives a lone transfer o + h alpha + bytes/B",
          "[engine][oracle]") {
  // 2 us + 3 x 1 us + 90000 B / 90 GB/s = 6 us.
  DagBuilder dag;
  dag.Send({0, 1, 2}, 90'000);
  const Network network{.links = 3,
                        .bandwidth = 90e9,
                        .hop_latency = 1e-6,
                        .message_overhead = 2e-6,
                        .link_bandwidth = {},
                        .link_latency = {}};
  CHECK(Near(RunReference(dag.schedule(), network).makespan, 6e-6));
}

// Messages between any chips of a slice of up to 256, on their routes, so that
// they share links; sizes over nine decades, or many equal ones, so that events
// coincide; computes between them.
Schedule MakeTraffic(Random& random, const Slice& slice) {
  const Topology& topology = slice.topology;
  const bool ties = random.OneIn(3);
  const int reach = random.OneIn(3) ? 1 : topology.chips();
  const int most_waits = random.Int(0, 3);
  const int ops = random.Int(20, 400);
  Schedule schedule;
  const PatternId none = schedule.AddPattern({});
  while (static_cast<int>(schedule.size()) < ops) {
    const std::uint32_t id = schedule.size();
    std::vector<OpId> after;
    for (int k = random.Int(0, most_waits); id > 0 && k > 0; --k) {
      after.emplace_back(static_cast<std::uint32_t>(
          id - random.Between(1, std::min<std::int64_t>(id, 40))));
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    const ChipId from(
        static_cast<std::uint32_t>(random.Int(0, topology.chips() - 1)));
    if (random.OneIn(10)) {
      schedule.AddCompute(
          from,
          Seconds(ties ? 1e-6 * random.Int(0, 2) : random.Decades(-9, -5)),
          after);
      continue;
    }
    const int apart = random.Int(1, std::max(1, reach - 1));
    const ChipId to((from.value() + apart) % topology.chips());
    const auto route = Route(topology, from, to, TieRule::kParity);
    if (!route || route->empty()) continue;
    const Bytes bytes(ties ? 4096 * random.Int(1, 3)
                           : static_cast<std::int64_t>(random.Decades(0, 9)));
    schedule.Add(
        {.src = from, .dst = to, .chunks = {none, from}, .bytes = bytes},
        *route, after);
  }
  return schedule;
}

TEST_CASE("the pod engine equals stock SimGrid on random traffic",
          "[engine][oracle]") {
  constexpr int kRuns = 240;
  int multi_hop = 0;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 256);
    Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape),
                   {.bandwidth = 90e9,
                    .alpha = random.OneIn(3) ? 0 : random.Decades(-8, -5),
                    .overhead = random.OneIn(2) ? 0 : random.Decades(-8, -5)});
    for (int slow = random.OneIn(3) ? random.Int(1, 8) : 0; slow > 0; --slow) {
      const LinkId link(static_cast<std::uint32_t>(
          random.Between(0, slice.topology.link_ids() - 1)));
      if (slice.topology.Exists(link)) {
        slice.topology.Degrade(link, 0.1 + 0.9 * random.Unit());
      }
    }
    CAPTURE(slice.spec);
    const Schedule schedule = MakeTraffic(random, slice);
    Network network = MakeNetwork(slice);
    // Faster until all is over within a second.
    while (RunCore(schedule, network).makespan >= 1) {
      network.bandwidth *= 10;
      for (double& rate : network.link_bandwidth) rate *= 10;
    }
    multi_hop += schedule.one_hop() ? 0 : 1;
    CompareEnds(schedule, network);
  }
  CHECK(multi_hop > kRuns / 4);
}

TEST_CASE("the pod engine equals stock SimGrid with issue cost and window",
          "[engine][oracle][issue]") {
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    CAPTURE(seed);
    Random random(14'000'000 + seed);
    RandomDag dag =
        MakeIssuingDag(random, random.OneIn(2) ? 1 : random.Int(2, 6));
    if (random.OneIn(3)) dag.network.issue = 0;
    dag.network.window = static_cast<std::uint32_t>(random.Int(0, 3));
    while (RunCore(dag.schedule, dag.network).makespan >= 1) {
      dag.network.bandwidth *= 10;
      for (double& rate : dag.network.link_bandwidth) rate *= 10;
    }
    CompareEnds(dag.schedule, dag.network);
  }
}

TEST_CASE("the pod engine equals stock SimGrid with dated faults",
          "[engine][oracle][fault]") {
  // Links that get slower, and dead ones.
  std::size_t lost = 0;
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    CAPTURE(seed);
    Random random(23'000'000 + seed);
    RandomDag dag = MakeRandomDag(random, seed % 2 == 0 ? 1 : random.Int(2, 6));
    while (RunCore(dag.schedule, dag.network).makespan >= 0.01) {
      dag.network.bandwidth *= 10;
      for (double& rate : dag.network.link_bandwidth) rate *= 10;
    }
    AddRandomChanges(random, RunCore(dag.schedule, dag.network).makespan,
                     /*only_slower=*/true, dag.network);
    const Timeline timeline = RunCore(dag.schedule, dag.network);
    if (timeline.makespan >= 1) continue;
    CompareEnds(dag.schedule, dag.network);
    lost += timeline.lost.size();
  }
  CHECK(lost > 240);
}

TEST_CASE("stock SimGrid is not asked to follow links that recover",
          "[engine]") {
  Network network{
      .links = 1, .bandwidth = 1e9, .link_bandwidth = {}, .link_latency = {}};
  AddChange(network, 1e-6, 0, 0.5);
  AddChange(network, 2e-6, 0, 0.75);
  DagBuilder dag;
  dag.Send({0}, 10'000);
  CHECK(ErrorOf([&] { RunReference(dag.schedule(), network); }) ==
        "here: stock SimGrid cannot follow a link that becomes faster again "
        "while something flows; use --engine pod");
}

TEST_CASE("the pod engine equals stock SimGrid on the golden collectives",
          "[engine][oracle]") {
  std::size_t compared = 0;
  ForEachGoldenCase([&](const nlohmann::json& test) {
    CAPTURE(test["id"].get<std::string>());
    if (test["transfers"].get<std::uint32_t>() > kMostReferenceTransfers)
      return;
    const Slice slice = MakeCaseSlice(test);
    CompareEnds(
        MakeWhole(slice, MakeCaseSpec(test), MakeCaseCollective(test, slice))
            .schedule,
        MakeNetwork(slice));
    ++compared;
  });
  CHECK(compared > 300);
}

}  // namespace
}  // namespace podsim
