// Laws that hold for every schedule, on random ones.
#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "test/support/random_dag.h"

namespace podsim {
namespace {

template <class Check>
void OnRandomDags(std::uint64_t first_seed, int count, Check check) {
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    check(MakeRandomDag(random, random.OneIn(2) ? 1 : random.Int(2, 6)));
  }
}

TEST_CASE("every op ends, after it started, which is when its waits ended",
          "[engine][property]") {
  OnRandomDags(5000, 1500, [](const RandomDag& dag) {
    const Timeline timeline = RunPod(dag.schedule, dag.network);
    REQUIRE(timeline.end.size() == dag.schedule.size());
    double last = 0;
    for (std::uint32_t op = 0; op < dag.schedule.size(); ++op) {
      double ready = 0;
      for (const OpId wait : dag.schedule.after(OpId(op))) {
        ready = std::max(ready, timeline.end[wait.value()]);
      }
      CAPTURE(op);
      REQUIRE(timeline.end[op] >= 0);
      REQUIRE(timeline.start[op] >= 0);
      REQUIRE(timeline.end[op] >= timeline.start[op]);
      REQUIRE(Near(timeline.start[op], ready, 1e-11));
      last = std::max(last, timeline.end[op]);
    }
    REQUIRE(timeline.makespan == last);
  });
}

TEST_CASE("two runs give bit-equal dates, whatever ran between them",
          "[engine][property]") {
  std::vector<RandomDag> dags;
  std::vector<Timeline> first;
  OnRandomDags(20'000, 100, [&](const RandomDag& dag) {
    dags.push_back(dag);
    first.push_back(RunPod(dag.schedule, dag.network));
  });
  for (std::size_t k = dags.size(); k-- > 0;) {
    const Timeline again = RunPod(dags[k].schedule, dags[k].network);
    REQUIRE(again.start == first[k].start);
    REQUIRE(again.end == first[k].end);
    REQUIRE(again.makespan == first[k].makespan);
  }
}

// The same DAG with other bytes, rates and durations.
RandomDag Scaled(const RandomDag& dag, std::int64_t bytes, double rate,
                 double seconds) {
  DagBuilder builder;
  for (std::uint32_t id = 0; id < dag.schedule.size(); ++id) {
    const OpId op(id);
    const auto waits = dag.schedule.after(op);
    const std::vector<OpId> after(waits.begin(), waits.end());
    if (dag.schedule.kind(op) != OpKind::kTransfer) {
      builder.Compute(dag.schedule.duration(op).value() * seconds, after);
      continue;
    }
    std::vector<std::uint32_t> links;
    for (const LinkId link : dag.schedule.route(op)) {
      links.push_back(link.value());
    }
    builder.Send(links, dag.schedule.bytes(op).value() * bytes, after);
  }
  RandomDag scaled{builder.schedule(), dag.network};
  scaled.network.bandwidth *= rate;
  scaled.network.hop_latency *= seconds;
  scaled.network.message_overhead *= seconds;
  for (double& value : scaled.network.link_bandwidth) value *= rate;
  for (double& value : scaled.network.link_latency) value *= seconds;
  return scaled;
}

TEST_CASE("k times the bytes, latencies and durations take k times as long",
          "[engine][property]") {
  OnRandomDags(30'000, 300, [](const RandomDag& dag) {
    const Timeline once = RunPod(dag.schedule, dag.network);
    const RandomDag larger = Scaled(dag, 7, 1, 7);
    const Timeline more = RunPod(larger.schedule, larger.network);
    const RandomDag faster = Scaled(dag, 1, 7, 1.0 / 7);
    const Timeline less = RunPod(faster.schedule, faster.network);
    for (std::size_t op = 0; op < once.end.size(); ++op) {
      REQUIRE(Near(more.end[op], 7 * once.end[op]));
      REQUIRE(Near(7 * less.end[op], once.end[op]));
    }
  });
}

TEST_CASE("no schedule beats its busiest link, nor its longest chain",
          "[engine][property]") {
  OnRandomDags(40'000, 500, [](const RandomDag& dag) {
    const Timeline timeline = RunPod(dag.schedule, dag.network);
    std::vector<double> busy(dag.network.links);
    std::vector<double> chain(dag.schedule.size());
    for (std::uint32_t id = 0; id < dag.schedule.size(); ++id) {
      const OpId op(id);
      for (const OpId wait : dag.schedule.after(op)) {
        chain[id] = std::max(chain[id], chain[wait.value()]);
      }
      if (dag.schedule.kind(op) != OpKind::kTransfer) {
        chain[id] += dag.schedule.duration(op).value();
        continue;
      }
      const double bytes = static_cast<double>(dag.schedule.bytes(op).value());
      double slowest = 0;
      chain[id] += dag.network.message_overhead;
      for (const LinkId link : dag.schedule.route(op)) {
        const double time = bytes / dag.network.BandwidthOf(link);
        busy[link.value()] += time;
        slowest = std::max(slowest, time);
        chain[id] += dag.network.LatencyOf(link);
      }
      chain[id] += slowest;
      REQUIRE(timeline.end[id] >= chain[id] * (1 - 1e-9));
    }
    for (const double time : busy) {
      REQUIRE(timeline.makespan >= time * (1 - 1e-9));
    }
  });
}

TEST_CASE("a busy link is never idle, nor over its rate",
          "[engine][property]") {
  // One link, everything ready at once: the last byte leaves at sum bytes / B.
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    DagBuilder dag;
    double sum = 0;
    for (int k = random.Int(1, 40); k > 0; --k) {
      const auto bytes = static_cast<std::int64_t>(random.Decades(0, 9));
      dag.Send({0}, bytes);
      sum += static_cast<double>(bytes);
    }
    const Network network{.links = 1,
                          .bandwidth = 45e9,
                          .link_bandwidth = {},
                          .link_latency = {}};
    REQUIRE(Near(RunPod(dag.schedule(), network).makespan, sum / 45e9));
  }
}

TEST_CASE("more bytes on one link are never faster", "[engine][property]") {
  // (Over several links or with dependences they may be: fair sharing has
  // scheduling anomalies.)
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    DagBuilder dag, more;
    const int ops = random.Int(1, 20);
    for (int k = 0; k < ops; ++k) {
      const std::int64_t bytes = random.Between(1, 100'000);
      dag.Send({0}, bytes);
      more.Send({0}, bytes + (random.OneIn(2) ? random.Between(0, 9999) : 0));
    }
    const Network network{.links = 1,
                          .bandwidth = 1e9,
                          .hop_latency = 1e-6,
                          .link_bandwidth = {},
                          .link_latency = {}};
    const Timeline a = RunPod(dag.schedule(), network);
    const Timeline b = RunPod(more.schedule(), network);
    for (std::size_t op = 0; op < a.end.size(); ++op) {
      REQUIRE(b.end[op] >= a.end[op] * (1 - 1e-9));
    }
  }
}

}  // namespace
}  // namespace podsim
