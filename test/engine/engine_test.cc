// Dates derived by hand from the time semantics (algorithms 1.2): a transfer
// starts when its dependences end, spends o + h alpha without bandwidth, then
// drains at its max-min fair rate.
#include "engine/engine.h"

#include <catch2/catch.hpp>

#include "engine/core.h"
#include "test/support/random_dag.h"

namespace podsim {
namespace {

// 1000 bytes/s, no start-up.
Network Bare(std::uint32_t links) {
  return {.links = links,
          .bandwidth = 1000,
          .link_bandwidth = {},
          .link_latency = {}};
}

std::vector<double> EndsOf(const DagBuilder& dag, const Network& network) {
  return RunPod(dag.schedule(), network).end;
}

void CheckDates(const std::vector<double>& found,
                const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t op = 0; op < found.size(); ++op) {
    CAPTURE(op, found[op], expected[op]);
    CHECK(Near(found[op], expected[op]));
  }
}

// ---- one transfer -------------------------------------------------------

TEST_CASE("a lone transfer takes o + h alpha + bytes/B", "[engine]") {
  const int hops = GENERATE(1, 2, 3, 7);
  const std::int64_t bytes = GENERATE(0, 1, 1000, 1 << 30);
  const double alpha = GENERATE(0.0, 1e-6);
  const double overhead = GENERATE(0.0, 3e-6);
  CAPTURE(hops, bytes, alpha, overhead);
  Network network = Bare(7);
  network.bandwidth = 45e9;
  network.hop_latency = alpha;
  network.message_overhead = overhead;
  std::vector<std::uint32_t> route;
  for (int hop = 0; hop < hops; ++hop) {
    route.push_back(static_cast<unsigned>(hop));
  }
  DagBuilder dag;
  dag.Send(route, bytes);
  const Timeline timeline = RunPod(dag.schedule(), network);
  const double expected =
      overhead + hops * alpha + static_cast<double>(bytes) / 45e9;
  CHECK(timeline.start[0] == 0);
  CHECK(Near(timeline.end[0], expected));
  CHECK(timeline.makespan == timeline.end[0]);
}

TEST_CASE("an empty schedule takes no time", "[engine]") {
  const Timeline timeline = RunPod(Schedule(), Bare(1));
  CHECK(timeline.makespan == 0);
  CHECK(timeline.start.empty());
  CHECK(timeline.end.empty());
}

TEST_CASE("store and forward: n hops one by one take n (a + bytes/B)",
          "[engine]") {
  Network network = Bare(5);
  network.hop_latency = 0.25;
  network.message_overhead = 0.125;
  DagBuilder dag;
  std::vector<OpId> after;
  for (std::uint32_t hop = 0; hop < 5; ++hop) {
    after = {dag.Send({hop}, 500, after)};
  }
  const Timeline timeline = RunPod(dag.schedule(), network);
  for (std::size_t hop = 0; hop < 5; ++hop) {
    CHECK(Near(timeline.start[hop], static_cast<double>(hop) * (0.375 + 0.5)));
    CHECK(
        Near(timeline.end[hop], static_cast<double>(hop + 1) * (0.375 + 0.5)));
  }
}

// ---- sharing one link ---------------------------------------------------

TEST_CASE("k equal transfers on one link all end at a + k bytes/B",
          "[engine]") {
  const int k = GENERATE(1, 2, 3, 10, 100);
  Network network = Bare(1);
  network.hop_latency = 0.5;
  DagBuilder dag;
  for (int i = 0; i < k; ++i) dag.Send({0}, 300);
  for (const double end : EndsOf(dag, network)) {
    CHECK(Near(end, 0.5 + k * 0.3));
  }
}

TEST_CASE("the shorter of two leaves its share to the longer", "[engine]") {
  // 200 and 600 bytes at 500 each: the first ends at 0.4; 400 are left at 1000.
  DagBuilder dag;
  dag.Send({0}, 200);
  dag.Send({0}, 600);
  CheckDates(EndsOf(dag, Bare(1)), {0.4, 0.8});
}

TEST_CASE("transfers of 1, 2, .. k units end one after the other", "[engine]") {
  // The i-th ends when it and the longer ones have drained i units each:
  // sum over j <= i of (k - j + 1) units.
  constexpr int k = 8;
  DagBuilder dag;
  std::vector<double> expected;
  double units = 0;
  for (int i = 1; i <= k; ++i) {
    dag.Send({0}, 100 * i);
    units += k - i + 1;
    expected.push_back(units * 100 / 1000);
  }
  CheckDates(EndsOf(dag, Bare(1)), expected);
}

TEST_CASE("who joins later shares from then on", "[engine]") {
  // A: 3000 bytes from 0. B: 1000 bytes joins at 1 (after a compute of 1 s),
  // C: 500 bytes at 2. From 1: A has 2000 left, A and B drain at 500. At 2: A
  // 1500, B 500, C 500 left, at 333.3 each: B and C end at 2 + 1.5 = 3.5, A has
  // 1000 left then: 4.5.
  DagBuilder dag;
  dag.Send({0}, 3000);              // 0: A
  const OpId one = dag.Compute(1);  // 1
  const OpId two = dag.Compute(2);  // 2
  dag.Send({0}, 1000, {one});       // 3: B
  dag.Send({0}, 500, {two});        // 4: C
  CheckDates(EndsOf(dag, Bare(1)), {4.5, 1, 2, 3.5, 3.5});
}

TEST_CASE("start-up uses no bandwidth", "[engine]") {
  // o + alpha = 1: B depends on A and starts up while nobody flows; C starts
  // with A. A, C: 1000 bytes at 500 from 1: both end at 3. B flows 4 .. 5.
  Network network = Bare(1);
  network.hop_latency = 0.75;
  network.message_overhead = 0.25;
  DagBuilder dag;
  const OpId a = dag.Send({0}, 1000);
  dag.Send({0}, 1000, {a});
  dag.Send({0}, 1000);
  const Timeline timeline = RunPod(dag.schedule(), network);
  CheckDates(timeline.end, {3, 5, 3});
  CheckDates(timeline.start, {0, 3, 0});
}

TEST_CASE("links do not disturb each other", "[engine]") {
  DagBuilder dag;
  for (std::uint32_t link = 0; link < 10; ++link) dag.Send({link}, 700);
  for (const double end : EndsOf(dag, Bare(10))) CHECK(Near(end, 0.7));
}

TEST_CASE("an idle link starts afresh", "[engine]") {
  // Two bursts with a pause between them: 0 .. 1, then from 5 on.
  DagBuilder dag;
  dag.Send({0}, 1000);
  const OpId pause = dag.Compute(5);
  dag.Send({0}, 1000, {pause});
  dag.Send({0}, 500, {pause});
  CheckDates(EndsOf(dag, Bare(1)), {1, 5, 6.5, 6});
}

// ---- ops that are no transfers ------------------------------------------

TEST_CASE("local adds and computes take their duration, side by side",
          "[engine]") {
  DagBuilder dag;
  const OpId sent = dag.Send({0}, 1000);          // 0: ends at 1
  const OpId add = dag.Local(sent, 0.5, {sent});  // 1: ends at 1.5
  dag.Local(sent, 0, {sent});                     // 2: ends at 1
  dag.Compute(4);                                 // 3: ends at 4
  const OpId both = dag.Compute(2, {add, sent});  // 4: ends at 3.5
  dag.Send({0}, 1000, {both});                    // 5: ends at 4.5
  const Timeline timeline = RunPod(dag.schedule(), Bare(1));
  CheckDates(timeline.end, {1, 1.5, 1, 4, 3.5, 4.5});
  CheckDates(timeline.start, {0, 1, 1, 0, 1.5, 3.5});
  CHECK(timeline.makespan == timeline.end[5]);
}

TEST_CASE("chains of ops without duration end at once", "[engine]") {
  DagBuilder dag;
  std::vector<OpId> after;
  for (int k = 0; k < 1000; ++k) {
    after = {k % 2 == 0 ? dag.Compute(0, after) : dag.Send({0}, 0, after)};
  }
  dag.Send({0}, 1000, after);
  const auto ends = EndsOf(dag, Bare(1));
  for (std::size_t op = 0; op + 1 < ends.size(); ++op) CHECK(ends[op] == 0);
  CHECK(Near(ends.back(), 1));
}

TEST_CASE("an op starts at the last end of what it waits for", "[engine]") {
  DagBuilder dag;
  const OpId slow = dag.Send({0}, 3000);
  const OpId fast = dag.Send({1}, 1000);
  const OpId work = dag.Compute(2);
  dag.Send({2}, 1000, {slow, fast, work});
  dag.Send({3}, 1000, {fast, work});
  dag.Send({4}, 1000, {fast});
  const Timeline timeline = RunPod(dag.schedule(), Bare(5));
  CheckDates(timeline.start, {0, 0, 0, 3, 2, 1});
  CheckDates(timeline.end, {3, 1, 2, 4, 3, 2});
}

// ---- links that differ --------------------------------------------------

TEST_CASE("every link has its own rate and latency", "[engine]") {
  Network network = Bare(3);
  network.message_overhead = 1;
  network.link_bandwidth = {1000, 500, 250};
  network.link_latency = {0, 0.5, 2};
  DagBuilder dag;
  for (std::uint32_t link = 0; link < 3; ++link) dag.Send({link}, 1000);
  CheckDates(EndsOf(dag, network), {1 + 1.0, 1.5 + 2, 3 + 4});
  // Over all three: latencies add up, the slowest link gives the rate.
  DagBuilder far;
  far.Send({0, 1, 2}, 1000);
  CheckDates(EndsOf(far, network), {1 + 2.5 + 4});
}

TEST_CASE("the network is that of the slice", "[engine]") {
  Slice slice =
      MakeTorus({4, 3}, {.bandwidth = 2e9, .alpha = 3e-6, .overhead = 4e-6});
  const Network healthy = MakeNetwork(slice);
  CHECK(healthy.links == 4 * 3 * 2 * 2);
  CHECK(healthy.bandwidth == 2e9);
  CHECK(healthy.hop_latency == 3e-6);
  CHECK(healthy.message_overhead == 4e-6);
  CHECK(healthy.link_bandwidth.empty());
  CHECK(healthy.link_latency.empty());
  const LinkId slow = slice.topology.LinkAt(ChipId(5), 1, Sign::kMinus);
  slice.topology.Degrade(slow, 0.25);
  const Network degraded = MakeNetwork(slice);
  for (std::uint32_t link = 0; link < degraded.links; ++link) {
    CHECK(Near(degraded.BandwidthOf(LinkId(link)),
               LinkId(link) == slow ? 0.5e9 : 2e9));
    CHECK(degraded.LatencyOf(LinkId(link)) == 3e-6);
  }
  const Slice torus = MakeTorus({4, 3});
  const FoldedGrid grid(torus.topology, Fold{{2, 1}});
  CHECK(MakeNetwork(torus, grid).links == 2 * 1 * 2 * 2);
}

TEST_CASE("cables of an explicit topology have their own numbers", "[engine]") {
  Slice slice{
      .spec = "cables",
      .generation = "ideal",
      .shape = {},
      .topology = Topology::MakeExplicit(3, {{.a = ChipId(0),
                                              .b = ChipId(1),
                                              .bandwidth = BytesPerSecond(1e9),
                                              .latency = Seconds(1e-6)},
                                             {.a = ChipId(1),
                                              .b = ChipId(2),
                                              .bandwidth = BytesPerSecond(3e9),
                                              .latency = Seconds(2e-6)}}),
      .parameters = {},
      .warnings = {}};
  slice.parameters.ici_message_overhead = Seconds(5e-6);
  const Network network = MakeNetwork(slice);
  REQUIRE(network.links == 4);
  DagBuilder dag;
  dag.Send({0, 2}, 3'000'000);  // 0 -> 1 -> 2
  dag.Send({3}, 3'000'000);     // 2 -> 1
  CheckDates(EndsOf(dag, network), {5e-6 + 3e-6 + 3e-3, 5e-6 + 2e-6 + 1e-3});
}

// ---- max-min fair rates over several links ------------------------------

TEST_CASE("the fairest rates of four transfers on three links", "[engine]") {
  // A has 10, B 20, C 24 bytes/s (times 100). f1 crosses A and B, f2 B and C,
  // f3 A, f4 C. Shares: A 5, B 10, C 12. A freezes f1 = f3 = 5; B has 15 left
  // for f2, C 12 each: f2 = f4 = 12.
  // At 1 f3 (5) has ended; f1 had 10 and has 5 left, f2 48 - 12 = 36, f4
  // 24 - 12 = 12. Now A gives f1 10, B 10 each: f1 = f2 = 10, f4 = 24 - 10
  // = 14. At 1.5 f1 ends; f2 has 31, f4 5 left. C: 12 each. f4 ends at 1.5 +
  // 5/12, f2 has 26 left and B's 20 alone: 1.3 more.
  Network network = Bare(3);
  network.link_bandwidth = {1000, 2000, 2400};
  DagBuilder dag;
  dag.Send({0, 1}, 1000);  // f1
  dag.Send({1, 2}, 4800);  // f2
  dag.Send({0}, 500);      // f3
  dag.Send({2}, 2400);     // f4
  CheckDates(EndsOf(dag, network),
             {1.5, 1.5 + 5.0 / 12 + 1.3, 1.0, 1.5 + 5.0 / 12});
}

TEST_CASE("a long route gets the share of its tightest link", "[engine]") {
  // n links in a row, one transfer over all of them and one on each: 500 each.
  constexpr std::uint32_t n = 6;
  DagBuilder dag;
  dag.Send({0, 1, 2, 3, 4, 5}, 1000);
  for (std::uint32_t link = 0; link < n; ++link) dag.Send({link}, 1000);
  for (const double end : EndsOf(dag, Bare(n))) CHECK(Near(end, 2));
}

TEST_CASE("what one transfer cannot use goes to the others", "[engine]") {
  // Link 0 has three transfers, 333.3 each; one of them also crosses link 1
  // with nine more, 100 each. It gets 100, the other two 450.
  DagBuilder dag;
  dag.Send({0, 1}, 100);
  dag.Send({0}, 450);
  dag.Send({0}, 450);
  for (int k = 0; k < 9; ++k) dag.Send({1}, 100);
  for (const double end : EndsOf(dag, Bare(2))) CHECK(Near(end, 1));
}

TEST_CASE("a route that names a link twice takes two shares", "[engine]") {
  DagBuilder alone;
  alone.Send({0, 0}, 1000);  // 2 hops, 500 bytes/s
  Network network = Bare(1);
  network.hop_latency = 0.5;
  CheckDates(EndsOf(alone, network), {2 * 0.5 + 2});
  // Three shares of 333.3: both end their first 1000 bytes at 3; then the other
  // has the link alone.
  DagBuilder two;
  two.Send({0, 0}, 1000);
  two.Send({0}, 3000);
  CheckDates(EndsOf(two, Bare(1)), {3, 3 + 2});
}

TEST_CASE("rates change when a transfer begins to flow, not when it starts",
          "[engine]") {
  // Two hops: B flows from 2 x 0.5 = 1 on, A (one hop) from 0.5 on. A has 500
  // left at 1; then 500 each: A ends at 2, B (1500 - 500) at 2 + 1.
  Network network = Bare(2);
  network.hop_latency = 0.5;
  DagBuilder dag;
  dag.Send({0}, 1000);
  dag.Send({0, 1}, 1500);
  CheckDates(EndsOf(dag, network), {2, 3});
}

TEST_CASE("one-hop transfers may mix with longer ones in any order",
          "[engine]") {
  // The same three transfers; the pool of routes begins at the first long one.
  for (const int order : {0, 1, 2}) {
    CAPTURE(order);
    DagBuilder dag;
    if (order == 0) dag.Send({0, 1}, 1000);
    dag.Send({0}, 1000);
    if (order == 1) dag.Send({0, 1}, 1000);
    dag.Send({1}, 1000);
    if (order == 2) dag.Send({0, 1}, 1000);
    CHECK_FALSE(dag.schedule().one_hop());
    for (const double end : EndsOf(dag, Bare(2))) CHECK(Near(end, 2));
  }
}

TEST_CASE("transfers take memory bandwidth from computes at both their ends",
          "[engine]") {
  // 3 MB at 100 GB/s flow for 30 us; both computes of 80 us need all of 800
  // GB/s. A transfer reads at its source, an eighth; it writes at its
  // destination, an eighth, or reads and writes the sum, a quarter. What a
  // compute loses in 30 us it does later.
  for (const std::vector<std::uint32_t>& route :
       {std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{0, 1}}) {
    for (const Mode mode : {Mode::kCopy, Mode::kReduce}) {
      Schedule schedule;
      const PatternId none = schedule.AddPattern({});
      std::vector<LinkId> links;
      for (const std::uint32_t link : route) links.emplace_back(link);
      const OpId sender =
          schedule.AddCompute(ChipId(0), Seconds(80e-6), {}, Bytes(64'000'000));
      const OpId receiver =
          schedule.AddCompute(ChipId(1), Seconds(80e-6), {}, Bytes(64'000'000));
      const OpId other =
          schedule.AddCompute(ChipId(2), Seconds(80e-6), {}, Bytes(64'000'000));
      const OpId light =
          schedule.AddCompute(ChipId(1), Seconds(80e-6), {}, Bytes(32'000'000));
      schedule.Add({.src = ChipId(0),
                    .dst = ChipId(1),
                    .chunks = {none, ChipId(0)},
                    .bytes = Bytes(3'000'000),
                    .mode = mode},
                   links, {});
      Network network{.links = 2,
                      .bandwidth = 100e9,
                      .link_bandwidth = {},
                      .link_latency = {}};
      network.hbm_bandwidth = 800e9;
      const Timeline timeline = RunPod(schedule, network);
      CAPTURE(route.size(), mode == Mode::kReduce);
      const double written = mode == Mode::kReduce ? 7.5e-6 : 3.75e-6;
      CHECK(Near(timeline.end[sender.value()], 83.75e-6));
      CHECK(Near(timeline.end[receiver.value()], 80e-6 + written));
      CHECK(Near(timeline.end[other.value()], 80e-6));
      // Half of the bandwidth is free: nothing to lose.
      CHECK(Near(timeline.end[light.value()], 80e-6));
      network.hbm_bandwidth = 0;
      CHECK(Near(RunPod(schedule, network).end[sender.value()], 80e-6));
    }
  }
}

// More than the counter of an op holds.
TEST_CASE("an op waits for 200,000 others", "[engine]") {
  Schedule schedule;
  std::vector<OpId> before;
  for (int k = 0; k < 200'000; ++k) {
    before.push_back(schedule.AddCompute(ChipId(0), Seconds(k * 1e-6), {}));
  }
  const OpId last = schedule.AddCompute(ChipId(0), Seconds(1), before);
  const Slice slice = MakeTorus({4}, {});
  const Timeline timeline = RunPod(schedule, MakeNetwork(slice));
  CHECK(Near(timeline.end[last.value()], 199'999e-6 + 1));
}

}  // namespace
}  // namespace podsim
