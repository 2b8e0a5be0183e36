// The network models fifo and packet: formulas, laws, and a naive simulator.
#include "engine/network_model.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "engine/core.h"
#include "engine/engine.h"
#include "test/support/lowered.h"
#include "test/support/networks.h"
#include "test/support/random_dag.h"

namespace podsim {
namespace {

Network With(Network network, const NetworkModel& model) {
  network.model = model;
  return network;
}

Timeline RunWith(const RandomDag& dag, const NetworkModel& model) {
  return RunPod(dag.schedule, With(dag.network, model));
}

void CheckDates(const std::vector<double>& found,
                const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t op = 0; op < found.size(); ++op) {
    CAPTURE(op, found[op], expected[op]);
    CHECK(Near(found[op], expected[op]));
  }
}

// ---- formulas -----------------------------------------------------------

TEST_CASE("fifo: the i-th of k transfers on one link ends at a + i bytes/B",
          "[engine][network]") {
  const int k = GENERATE(1, 2, 3, 10, 100);
  Network network = Bare(1, kFifo);
  network.hop_latency = 0.5;
  network.message_overhead = 0.25;
  DagBuilder dag;
  std::vector<double> expected;
  for (int i = 1; i <= k; ++i) {
    dag.Send({0}, 300);
    expected.push_back(0.75 + i * 0.3);
  }
  const Timeline fifo = RunPod(dag.schedule(), network);
  CheckDates(fifo.end, expected);
  // The last one ends when all of them end in the fluid model.
  const Timeline fluid = RunPod(dag.schedule(), With(network, {}));
  CHECK(Near(fifo.makespan, fluid.makespan));
}

TEST_CASE("fifo: who has started up first goes first, whatever its id",
          "[engine][network]") {
  // Op 1 is ready at 0.5, op 2 at 0.1; both while op 3 holds the link.
  DagBuilder dag;
  const OpId late = dag.Compute(0.5), early = dag.Compute(0.1);
  dag.Send({0}, 100, {late});
  dag.Send({0}, 200, {early});
  dag.Send({0}, 1000);
  CheckDates(RunPod(dag.schedule(), Bare(1, kFifo)).end,
             {0.5, 0.1, 1.3, 1.2, 1.0});
}

TEST_CASE(
    "a lone transfer over h hops takes o + h alpha + bytes/B by cut-through",
    "[engine][network]") {
  const int hops = GENERATE(1, 2, 3, 7);
  const std::int64_t bytes = GENERATE(0, 1, 1000, 1 << 20);
  const std::int64_t packet = GENERATE(1000, 4096, 1 << 30);
  const double alpha = GENERATE(0.0, 1e-6);
  const double overhead = GENERATE(0.0, 3e-6);
  CAPTURE(hops, bytes, packet, alpha, overhead);
  Network network = Bare(7, PacketsOf(packet));
  network.bandwidth = 45e9;
  network.hop_latency = alpha;
  network.message_overhead = overhead;
  std::vector<std::uint32_t> route;
  for (int hop = 0; hop < hops; ++hop) {
    route.push_back(static_cast<unsigned>(hop));
  }
  DagBuilder dag;
  dag.Send(route, bytes);
  CHECK(Near(RunPod(dag.schedule(), network).makespan,
             overhead + hops * alpha + static_cast<double>(bytes) / 45e9));
}

TEST_CASE("without cut-through k packets over h hops fill a pipeline",
          "[engine][network]") {
  // h alpha, then k + h - 1 times a packet: h (alpha + bytes/B) for one packet.
  const int hops = GENERATE(1, 2, 5);
  const int packets = GENERATE(1, 2, 8);
  CAPTURE(hops, packets);
  Network network = Bare(5, PacketsOf(100, /*cut_through=*/false));
  network.hop_latency = 0.5;
  network.message_overhead = 0.25;
  std::vector<std::uint32_t> route;
  for (int hop = 0; hop < hops; ++hop) {
    route.push_back(static_cast<unsigned>(hop));
  }
  DagBuilder dag;
  dag.Send(route, 100 * packets);
  CHECK(Near(RunPod(dag.schedule(), network).makespan,
             0.25 + hops * 0.5 + (packets + hops - 1) * 0.1));
}

TEST_CASE("a fast link behind a slow one waits for the last byte",
          "[engine][network]") {
  // 1000 bytes/s, then 4000: the tail leaves the first at 1, comes 0.5 later.
  Network network = Bare(2, PacketsOf(1 << 20));
  network.link_bandwidth = {1000, 4000};
  network.link_latency = {0.25, 0.5};
  DagBuilder dag;
  dag.Send({0, 1}, 1000);
  CheckDates(RunPod(dag.schedule(), network).end, {0.25 + 1 + 0.5});
  // And a slow one behind a fast one is the slow one's time.
  DagBuilder back;
  back.Send({1, 0}, 1000);
  CheckDates(RunPod(back.schedule(), network).end, {0.5 + 0.25 + 1});
}

TEST_CASE("what fairness hides: a message in front of a queue delays others",
          "[engine][network]") {
  // Op 0 holds link 0 for 1 s; op 1 waits for it, link 1 idle meanwhile.
  DagBuilder dag;
  dag.Send({0}, 1000);
  dag.Send({0, 1}, 100);
  CheckDates(RunPod(dag.schedule(), Bare(2, PacketsOf(1 << 20))).end,
             {1.0, 1.1});
  CheckDates(RunPod(dag.schedule(), Bare(2, {})).end, {1.1, 0.2});
}

TEST_CASE("small packets come near the fluid dates on a shared link",
          "[engine][network]") {
  // k transfers take turns: each ends within a round of packets of its date.
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    DagBuilder dag;
    const int k = random.Int(1, 12);
    for (int i = 0; i < k; ++i) dag.Send({0}, random.Between(1, 100'000));
    const std::int64_t packet = random.Pick(std::vector<std::int64_t>{10, 100});
    const Timeline fluid = RunPod(dag.schedule(), Bare(1, {}));
    const Timeline small = RunPod(dag.schedule(), Bare(1, PacketsOf(packet)));
    const double round = static_cast<double>(k * packet) / 1000;
    for (int i = 0; i < k; ++i) {
      CAPTURE(i);
      CHECK(std::abs(small.end[i] - fluid.end[i]) <= round * (1 + 1e-9));
    }
    CHECK(Near(small.makespan, fluid.makespan));
  }
}

TEST_CASE("two flows that meet on a later link share it packet by packet",
          "[engine][network]") {
  // Links 0 and 1 lead into link 2: each flow gets half of it.
  const std::int64_t packet = GENERATE(1, 10, 100);
  DagBuilder dag;
  dag.Send({0, 2}, 10'000);
  dag.Send({1, 2}, 10'000);
  const Timeline timeline = RunPod(dag.schedule(), Bare(3, PacketsOf(packet)));
  const double size = static_cast<double>(packet) / 1000;
  CHECK(Near(timeline.end[1], 20.0));
  CHECK(Near(timeline.end[0], 20.0 - size));
}

TEST_CASE("a ring all-reduce takes its closed form in every network",
          "[engine][network]") {
  const int n = GENERATE(2, 3, 4, 7, 16);
  const NetworkModel model =
      GENERATE(kFifo, PacketsOf(1000), PacketsOf(4096, false), NetworkModel{});
  const Rates rates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
  const Slice slice = MakeGridOf({n}, {n > 2}, rates);
  const std::int64_t payload = std::int64_t{n} << 20;
  const char* name = n > 2 ? "ring" : "line";
  const Lowered lowered =
      LowerOn(slice, Spec(name),
              OnAllChips(CollectiveKind::kAllReduce, payload, slice));
  const double step = 1.3e-6 + double{1 << 20} / 45e9;
  CAPTURE(n, ToText(model));
  CHECK(Near(RunPod(lowered.schedule, With(MakeNetwork(slice), model)).makespan,
             2 * (n - 1) * step));
}

// ---- the naive simulator ------------------------------------------------

// Every packet is a record with the dates of its hops; every round looks at all
// of them. `free` says when a link has done what was given to it so far, so
// that a packet is served in full as soon as its turn comes.
class NaiveQueues {
 public:
  NaiveQueues(const Schedule& schedule, const Network& network)
      : schedule_(schedule), network_(network), free_(network.links) {
    start_.assign(schedule.size(), -1);
    end_.assign(schedule.size(), -1);
    waits_.resize(schedule.size());
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      for (const OpId wait : schedule.after(OpId(op))) {
        waits_[op].insert(wait.value());
      }
    }
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      if (waits_[op].empty()) Begin(op, 0);
    }
  }

  std::vector<double> Run() {
    while (!ends_.empty() || !heads_.empty()) Round();
    return end_;
  }

 private:
  struct Head {
    double date;
    std::uint32_t op;
    std::int64_t packet;
    std::size_t hop;
    double tail;
  };
  struct EndOf {
    double date;
    std::uint32_t op;
    std::int64_t packet;  // -1: the op itself
    std::size_t hop;
  };

  std::int64_t Size() const {
    return network_.model.kind == NetworkKind::kFifo ? INT64_MAX
                                                     : network_.model.packet;
  }
  std::int64_t Last(std::uint32_t op) const {
    return std::max<std::int64_t>(
        0, (schedule_.bytes(OpId(op)).value() - 1) / Size());
  }

  void Begin(std::uint32_t op, double now) {
    start_[op] = now;
    if (schedule_.kind(OpId(op)) != OpKind::kTransfer) {
      ends_.push_back({now + schedule_.duration(OpId(op)).value(), op, -1, 0});
      return;
    }
    heads_.push_back({now + (network_.message_overhead +
                             network_.LatencyOf(schedule_.route(OpId(op))[0])),
                      op, 0, 0, 0});
  }

  void Round() {
    double now = std::numeric_limits<double>::infinity();
    for (const EndOf& end : ends_) now = std::min(now, end.date);
    for (const Head& head : heads_) now = std::min(now, head.date);
    const double due = now * (1 + kSimultaneous);
    for (;;) {
      const auto first = std::min_element(
          ends_.begin(), ends_.end(),
          [](const EndOf& a, const EndOf& b) { return a.date < b.date; });
      if (first == ends_.end() || first->date > due) break;
      const EndOf end = *first;
      ends_.erase(first);
      TakeEnd(end);
    }
    std::vector<Head> arrived;
    std::erase_if(heads_, [&](const Head& head) {
      if (head.date > due) return false;
      arrived.push_back(head);
      return true;
    });
    std::sort(arrived.begin(), arrived.end(), [](const Head& a, const Head& b) {
      return a.op != b.op ? a.op < b.op : a.packet < b.packet;
    });
    for (const Head& head : arrived) Serve(head);
  }

  void Serve(const Head& head) {
    const auto route = schedule_.route(OpId(head.op));
    const LinkId link = route[head.hop];
    const std::int64_t bytes = schedule_.bytes(OpId(head.op)).value();
    const std::int64_t size =
        head.packet < Last(head.op) ? Size() : bytes - head.packet * Size();
    const double begin = std::max(free_[link.value()], head.date);
    const double end =
        std::max(begin + static_cast<double>(size) / network_.BandwidthOf(link),
                 head.tail);
    free_[link.value()] = end;
    ends_.push_back({end, head.op, head.packet, head.hop});
    if (head.hop + 1 == route.size()) return;
    const double latency = network_.LatencyOf(route[head.hop + 1]);
    const bool through = network_.model.cut_through;
    heads_.push_back({(through ? begin : end) + latency, head.op, head.packet,
                      head.hop + 1, end + latency});
  }

  void TakeEnd(const EndOf& end) {
    if (end.packet >= 0) {
      const bool last = end.packet == Last(end.op);
      if (end.hop == 0 && !last) {
        heads_.push_back({end.date, end.op, end.packet + 1, 0, 0});
      }
      if (!last || end.hop + 1 < schedule_.route(OpId(end.op)).size()) return;
    }
    end_[end.op] = end.date;
    for (std::uint32_t op = 0; op < waits_.size(); ++op) {
      if (waits_[op].erase(end.op) > 0 && waits_[op].empty()) {
        Begin(op, end.date);
      }
    }
  }

  const Schedule& schedule_;
  const Network& network_;
  std::vector<double> free_;
  std::vector<double> start_, end_;
  std::vector<std::set<std::uint32_t>> waits_;
  std::vector<Head> heads_;
  std::vector<EndOf> ends_;
};

// At most some hundred packets per transfer.
NetworkModel RandomPackets(Random& random, const Schedule& schedule) {
  std::int64_t most = 1;
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (schedule.kind(OpId(op)) != OpKind::kTransfer) continue;
    most = std::max(most, schedule.bytes(OpId(op)).value());
  }
  return PacketsOf(std::max<std::int64_t>(
                       1, static_cast<std::int64_t>(static_cast<double>(most) *
                                                    random.Decades(-1.5, 0.1))),
                   random.OneIn(2));
}

TEST_CASE("packets end when a naive simulator says so", "[engine][network]") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Random random(7'000'000 + seed);
    const int hops = random.OneIn(2) ? 1 : random.Int(2, 6);
    const RandomDag dag = MakeRandomDag(random, hops);
    const NetworkModel model = hops == 1 && random.OneIn(2)
                                   ? kFifo
                                   : RandomPackets(random, dag.schedule);
    CAPTURE(ToText(model));
    const Network network = With(dag.network, model);
    const std::vector<double> expected =
        NaiveQueues(dag.schedule, network).Run();
    const Timeline timeline = RunPod(dag.schedule, network);
    for (std::size_t op = 0; op < expected.size(); ++op) {
      CAPTURE(op);
      REQUIRE(Near(timeline.end[op], expected[op]));
    }
  }
}

// ---- laws ---------------------------------------------------------------

TEST_CASE("fifo: no two transfers are on a link at once, none is idle in one",
          "[engine][network][property]") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Random random(8'000'000 + seed);
    const RandomDag dag = MakeRandomDag(random, 1);
    const Timeline timeline = RunWith(dag, kFifo);
    // A transfer holds its link for bytes/B until its end.
    std::map<std::uint32_t, std::vector<std::pair<double, double>>> held;
    for (std::uint32_t id = 0; id < dag.schedule.size(); ++id) {
      const OpId op(id);
      if (dag.schedule.kind(op) != OpKind::kTransfer) continue;
      const LinkId link = dag.schedule.route(op)[0];
      const double time = static_cast<double>(dag.schedule.bytes(op).value()) /
                          dag.network.BandwidthOf(link);
      const double begin = timeline.end[id] - time;
      const double earliest = timeline.start[id] +
                              dag.network.message_overhead +
                              dag.network.LatencyOf(link);
      CHECK(begin >= earliest - 1e-9 * timeline.end[id]);
      held[link.value()].emplace_back(timeline.end[id], begin);
    }
    for (auto& [link, intervals] : held) {
      std::sort(intervals.begin(), intervals.end());
      for (std::size_t k = 1; k < intervals.size(); ++k) {
        CHECK(intervals[k].second >=
              intervals[k - 1].first - 1e-9 * intervals[k].first);
      }
    }
  }
}

TEST_CASE("packets that hold a whole transfer of one hop are fifo, bit by bit",
          "[engine][network][property]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(9'000'000 + seed);
    const RandomDag dag = MakeRandomDag(random, 1);
    const Timeline fifo = RunWith(dag, kFifo);
    const Timeline packet =
        RunWith(dag, PacketsOf(std::int64_t{1} << 40, random.OneIn(2)));
    CHECK(packet.start == fifo.start);
    CHECK(packet.end == fifo.end);
  }
}

TEST_CASE(
    "packets over nine decades of sizes lose no op, in SimGrid or without",
    "[engine][network][property]") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Random random(10'000'000 + seed);
    const RandomDag dag =
        MakeRandomDag(random, random.OneIn(2) ? 1 : random.Int(2, 6));
    const Network network =
        With(dag.network, RandomPackets(random, dag.schedule));
    CAPTURE(ToText(network.model));
    const Timeline pod = RunPod(dag.schedule, network);
    const Timeline core = RunCore(dag.schedule, network);
    REQUIRE(core.start == pod.start);
    REQUIRE(core.end == pod.end);
    REQUIRE(core.makespan == pod.makespan);
    for (std::uint32_t op = 0; op < dag.schedule.size(); ++op) {
      REQUIRE(pod.end[op] >= pod.start[op]);
      REQUIRE(std::isfinite(pod.end[op]));
      for (const OpId wait : dag.schedule.after(OpId(op))) {
        REQUIRE(pod.start[op] >= pod.end[wait.value()] * (1 - 1e-11));
      }
    }
  }
}

TEST_CASE("no network beats its busiest link, nor its longest chain",
          "[engine][network][property]") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    Random random(11'000'000 + seed);
    const RandomDag dag = MakeRandomDag(random, random.Int(1, 5));
    const Timeline timeline = RunWith(dag, RandomPackets(random, dag.schedule));
    std::vector<double> busy(dag.network.links);
    for (std::uint32_t id = 0; id < dag.schedule.size(); ++id) {
      const OpId op(id);
      if (dag.schedule.kind(op) != OpKind::kTransfer) continue;
      const double bytes = static_cast<double>(dag.schedule.bytes(op).value());
      double least = dag.network.message_overhead, slowest = 0;
      for (const LinkId link : dag.schedule.route(op)) {
        const double time = bytes / dag.network.BandwidthOf(link);
        busy[link.value()] += time;
        slowest = std::max(slowest, time);
        least += dag.network.LatencyOf(link);
      }
      REQUIRE(timeline.end[id] >=
              timeline.start[id] + (least + slowest) * (1 - 1e-9));
    }
    for (const double time : busy) {
      REQUIRE(timeline.makespan >= time * (1 - 1e-9));
    }
  }
}

// ---- text ---------------------------------------------------------------

TEST_CASE("network models as text", "[engine][network]") {
  CHECK(ToText(ParseNetworkModel("fluid", "n")) == "fluid");
  CHECK(ToText(ParseNetworkModel("fifo", "n")) == "fifo");
  CHECK(ToText(ParseNetworkModel("packet", "n")) ==
        "packet:size=4KiB,cut_through=true");
  const std::string text = "packet:size=1000B,cut_through=false";
  CHECK(ParseNetworkModel(text, "n").packet == 1000);
  CHECK(ToText(ParseNetworkModel("packet:cut_through=false,size=1kB", "n")) ==
        ToText(ParseNetworkModel(text, "n")));
}

}  // namespace
}  // namespace podsim
