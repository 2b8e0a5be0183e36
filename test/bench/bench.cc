// podsim-bench engine: the pod engine against the bare loop of yardstick.h, on
// the same schedules in the same process; podsim-bench network: hops of packets
// per second against transfers per second of that loop. Slices may follow, in
// place of those that stand here. Prints one JSON line per case; only the ratio
// is portable.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "collective/lowering.h"
#include "engine/engine.h"
#include "schedule/instantiate.h"
#include "sim/options.h"
#include "test/bench/yardstick.h"
#include "topology/slice.h"

namespace podsim {
namespace {

constexpr std::int64_t kPayload = std::int64_t{1} << 30;
constexpr std::uint64_t kSeed = 20260901;
constexpr double kJitter = 0.1;                       // sizes +-10 %
constexpr int kRounds = 3;                            // the best of
constexpr std::uint32_t kLeastTransfers = 1'500'000;  // per round

// The same schedule with every transfer's size changed by up to 10 %.
Schedule Jittered(const Schedule& schedule) {
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> factor(1 - kJitter, 1 + kJitter);
  Schedule changed;
  changed.AddPattern({});
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    const double bytes = static_cast<double>(schedule.bytes(op).value());
    changed.Add(Transfer{.src = schedule.src(op),
                         .dst = schedule.dst(op),
                         .chunks = {PatternId(0), schedule.src(op)},
                         .bytes = Bytes(
                             static_cast<std::int64_t>(bytes * factor(random))),
                         .mode = schedule.mode(op),
                         .lane = schedule.lane(op)},
                schedule.route(op), schedule.after(op));
  }
  return changed;
}

yardstick::Dag MakeDag(const Schedule& schedule, std::uint32_t links) {
  yardstick::Dag dag;
  dag.links = links;
  dag.first.assign(schedule.size() + 1, 0);
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    dag.bytes.push_back(static_cast<double>(schedule.bytes(op).value()));
    dag.link.push_back(schedule.route(op)[0].value());
    dag.pending.push_back(
        static_cast<std::uint32_t>(schedule.after(op).size()));
    for (const OpId wait : schedule.after(op)) ++dag.first[wait.value() + 1];
  }
  for (std::size_t k = 1; k < dag.first.size(); ++k) {
    dag.first[k] += dag.first[k - 1];
  }
  dag.successor.resize(dag.first.back());
  std::vector<std::uint32_t> next(dag.first.begin(), dag.first.end() - 1);
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    for (const OpId wait : schedule.after(OpId(id))) {
      dag.successor[next[wait.value()]++] = id;
    }
  }
  return dag;
}

int RunCase(const Slice& slice, const Schedule& schedule, const char* sizes) {
  const Network network = MakeNetwork(slice);
  double engine_s = 1e300, yardstick_s = 1e300;
  double engine_end = 0, yardstick_end = 0;
  // The kernel tells user from system time by ticks: short runs several times.
  const int repeats = 1 + static_cast<int>(kLeastTransfers / schedule.size());
  for (int round = 0; round < kRounds; ++round) {
    double engine_sum = 0, yardstick_sum = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      double begin = UserSeconds();
      engine_end = RunPod(schedule, network).makespan;
      engine_sum += UserSeconds() - begin;
      yardstick::Dag dag = MakeDag(schedule, network.links);
      begin = UserSeconds();
      const yardstick::Result result = yardstick::Run(
          std::move(dag), network.hop_latency, network.bandwidth);
      yardstick_sum += UserSeconds() - begin;
      yardstick_end = result.makespan;
    }
    engine_s = std::min(engine_s, engine_sum / repeats);
    yardstick_s = std::min(yardstick_s, yardstick_sum / repeats);
  }
  std::printf(
      "{\"bench\": \"engine\", \"slice\": \"%s\", \"chips\": %d, "
      "\"transfers\": %u, \"sizes\": \"%s\", \"engine_user_s\": %.4f, "
      "\"yardstick_user_s\": %.4f, \"ratio\": %.3f}\n",
      slice.spec.c_str(), slice.topology.chips(), schedule.transfers(), sizes,
      engine_s, yardstick_s, yardstick_s / engine_s);
  std::fflush(stdout);
  // Long jittered runs amplify rounding (a chaotic order of near ties).
  const double difference = engine_end / yardstick_end - 1;
  if (difference > 1e-6 || difference < -1e-6) {
    std::fprintf(stderr,
                 "podsim-bench: %s %s: engine ends at %.17g, yardstick "
                 "at %.17g\n",
                 slice.spec.c_str(), sizes, engine_end, yardstick_end);
    return 1;
  }
  return 0;
}

int RunEngineBench(const std::vector<std::string>& specs) {
  int status = 0;
  for (const std::string& spec : specs) {
    SliceRequest request;
    request.spec = spec;
    const Slice slice = MakeSlice(request);
    const Collective collective{.kind = CollectiveKind::kAllReduce,
                                .payload = Bytes(kPayload),
                                .axes = AllAxes(slice.topology)};
    const LoweringSpec lowering = ParseLoweringSpec("bucket-rotated", "");
    const Schedule equal =
        Instantiate(Lower(lowering, collective, slice.topology), slice.topology,
                    NoFold(slice.topology), collective.payload);
    status |= RunCase(slice, equal, "equal");
    status |= RunCase(slice, Jittered(equal), "jitter");
  }
  return status;
}

struct Rate {
  double seconds = 1e300;  // the best of kRounds
  double makespan = 0;
};

Rate TimePod(const Schedule& schedule, const Network& network) {
  Rate rate;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = UserSeconds();
    rate.makespan = RunPod(schedule, network).makespan;
    rate.seconds = std::min(rate.seconds, UserSeconds() - begin);
  }
  return rate;
}

// Transfers per second of the bare loop, on neighbour traffic of 1,024 chips.
double YardstickRate() {
  SliceRequest request;
  request.spec = "v5p:8x8x16";
  const Slice slice = MakeSlice(request);
  const Collective collective{.kind = CollectiveKind::kAllReduce,
                              .payload = Bytes(kPayload),
                              .axes = AllAxes(slice.topology)};
  const Schedule schedule =
      Instantiate(Lower(ParseLoweringSpec("bucket-rotated", ""), collective,
                        slice.topology),
                  slice.topology, NoFold(slice.topology), collective.payload);
  const Network network = MakeNetwork(slice);
  double best = 1e300;
  for (int round = 0; round < kRounds; ++round) {
    yardstick::Dag dag = MakeDag(schedule, network.links);
    const double begin = UserSeconds();
    yardstick::Run(std::move(dag), network.hop_latency, network.bandwidth);
    best = std::min(best, UserSeconds() - begin);
  }
  return schedule.transfers() / best;
}

void RunNetworkCase(const Slice& slice, const Schedule& schedule,
                    const char* sizes, const NetworkModel& model,
                    double yardstick_rate) {
  Network network = MakeNetwork(slice);
  network.model = model;
  double hops = 0;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    const std::int64_t bytes = schedule.bytes(op).value();
    hops += static_cast<double>((bytes + model.packet - 1) / model.packet) *
            static_cast<double>(schedule.route(op).size());
  }
  const Rate rate = TimePod(schedule, network);
  std::printf(
      "{\"bench\": \"network\", \"slice\": \"%s\", \"chips\": %d, "
      "\"transfers\": %u, \"sizes\": \"%s\", \"network\": \"%s\", "
      "\"hops\": %.0f, \"user_s\": %.4f, \"hops_per_s\": %.3g, "
      "\"yardstick_transfers_per_s\": %.3g, \"ratio\": %.3f, "
      "\"makespan_s\": %.9g}\n",
      slice.spec.c_str(), slice.topology.chips(), schedule.transfers(), sizes,
      ToText(model).c_str(), hops, rate.seconds, hops / rate.seconds,
      yardstick_rate, hops / rate.seconds / yardstick_rate, rate.makespan);
  std::fflush(stdout);
}

// Unfolded all-to-alls, 64 KiB per pair, whole messages and packets of 16 KiB.
int RunNetworkBench(const std::vector<std::string>& specs) {
  const double yardstick_rate = YardstickRate();
  for (const std::string& spec : specs) {
    SliceRequest request;
    request.spec = spec;
    const Slice slice = MakeSlice(request);
    const Collective collective{
        .kind = CollectiveKind::kAllToAll,
        .payload = Bytes(std::int64_t{slice.topology.chips()} << 16),
        .axes = AllAxes(slice.topology)};
    const Schedule equal =
        Instantiate(Lower(ParseLoweringSpec("direct:ties=parity", ""),
                          collective, slice.topology),
                    slice.topology, NoFold(slice.topology), collective.payload);
    const Schedule jittered = Jittered(equal);
    for (const std::int64_t packet : {1 << 20, 1 << 14}) {
      const NetworkModel model{.kind = NetworkKind::kPacket, .packet = packet};
      RunNetworkCase(slice, equal, "equal", model, yardstick_rate);
      RunNetworkCase(slice, jittered, "jitter", model, yardstick_rate);
    }
  }
  return 0;
}

}  // namespace
}  // namespace podsim

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  std::vector<std::string> specs(argv + std::min(argc, 2), argv + argc);
  try {
    if (what == "engine") {
      if (specs.empty()) specs = {"v5p:8x8x16", "v5p:16x16x16", "v7x:16x24x24"};
      return podsim::RunEngineBench(specs);
    }
    if (what == "network") {
      if (specs.empty()) specs = {"v5p:4x8x8", "v5p:8x8x16"};
      return podsim::RunNetworkBench(specs);
    }
  } catch (const podsim::InputError& error) {
    std::fprintf(stderr, "podsim-bench: error: %s\n", error.what());
    return 2;
  }
  std::fprintf(stderr, "usage: podsim-bench engine | network [SLICE ...]\n");
  return 2;
}
