#include "engine/engine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/core.h"
#include "engine/pod_model.h"

namespace podsim {
void RequireAllEnded(const Timeline& timeline) {
  std::vector<bool> lost(timeline.lost.empty() ? 0 : timeline.end.size());
  for (const Timeline::Loss& loss : timeline.lost) lost[loss.op] = true;
  std::string left;
  std::size_t count = 0;
  for (std::size_t op = 0; op < timeline.end.size(); ++op) {
    if (timeline.end[op] >= 0) continue;
    if (!lost.empty() && (lost[op] || timeline.start[op] < 0)) continue;
    if (++count <= 10) left += " " + std::to_string(op);
  }
  CHECK(count == 0) << count << " ops never ended, first:" << left;
}

Network MakeNetwork(const Slice& slice) {
  const Topology& topology = slice.topology;
  Network network{
      .links = topology.port_ids(),
      .bandwidth = topology.base_bandwidth().value(),
      .hop_latency = topology.base_latency().value(),
      .message_overhead = slice.parameters.ici_message_overhead.value(),
      .hbm_bandwidth =
          slice.parameters.hbm_bandwidth.value_or(BytesPerSecond(0)).value(),
      .issue = slice.parameters.ici_issue.value(),
      .window = static_cast<std::uint32_t>(slice.parameters.ici_window),
      .first_port = topology.link_ids(),
      .link_bandwidth = {},
      .link_latency = {}};
  if (topology.uniform() && !topology.dcn()) return network;
  for (std::uint32_t id = 0; id < network.links; ++id) {
    network.link_bandwidth.push_back(topology.Bandwidth(LinkId(id)).value());
    if (!topology.is_grid() || topology.dcn()) {
      network.link_latency.push_back(topology.Latency(LinkId(id)).value());
    }
  }
  return network;
}

Network MakeNetwork(const Slice& slice, Seconds launch) {
  Network network = MakeNetwork(slice);
  network.changes = slice.topology.dated();
  const auto shift = [&](double& date) {
    date = std::max(0.0, date - launch.value());
  };
  for (LinkChange& change : network.changes.links) shift(change.date);
  for (ChipDeath& death : network.changes.chips) shift(death.date);
  return network;
}

Network MakeNetwork(const Slice& slice, const FoldedGrid& grid) {
  const Topology& topology = slice.topology;
  CHECK(topology.uniform());
  Network network = MakeNetwork(slice);
  network.links = grid.port_ids();
  network.first_port = grid.link_ids();
  network.link_bandwidth.clear();
  network.link_latency.clear();
  if (!topology.dcn()) return network;
  network.link_bandwidth.assign(grid.link_ids(), network.bandwidth);
  network.link_bandwidth.resize(network.links,
                                topology.dcn()->bandwidth.value());
  network.link_latency.assign(grid.link_ids(), network.hop_latency);
  network.link_latency.resize(network.links,
                              topology.dcn()->latency.value() / 2);
  return network;
}

namespace {

// Of every message over ICI: the one `window` messages before it on its lane of
// its chip, by op id; nullopt for other ops and the first ones.
std::vector<std::optional<OpId>> WindowWaits(const Schedule& schedule,
                                             const Network& network) {
  std::vector<std::optional<OpId>> waits(schedule.size());
  // By chip and lane: the latest messages, as a ring.
  std::map<std::pair<ChipId, std::uint16_t>, std::vector<OpId>> rings;
  std::map<std::pair<ChipId, std::uint16_t>, std::size_t> sent;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    if (schedule.kind(op) != OpKind::kTransfer ||
        schedule.route(op)[0].value() >= network.first_port) {
      continue;
    }
    const std::pair lane(schedule.src(op), schedule.lane(op));
    std::vector<OpId>& ring = rings[lane];
    const std::size_t slot = sent[lane]++ % network.window;
    if (slot == ring.size()) {
      ring.push_back(op);
      continue;
    }
    waits[id] = ring[slot];
    ring[slot] = op;
  }
  return waits;
}

}  // namespace

Successors::Successors(const Schedule& schedule, const Network& network)
    : first_(schedule.size() + 1), pending_(schedule.size()) {
  std::vector<std::optional<OpId>> window;
  if (network.window > 0) window = WindowWaits(schedule, network);
  const auto for_each_wait = [&](std::uint32_t op, auto visit) {
    for (const OpId wait : schedule.after(OpId(op))) visit(wait);
    if (!window.empty() && window[op]) visit(*window[op]);
  };
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    for_each_wait(op, [&](OpId wait) {
      if (pending_[op] < kMost) {
        ++pending_[op];
      } else {
        ++more_[op];
      }
      ++first_[wait.value() + 1];
    });
  }
  for (std::size_t k = 1; k < first_.size(); ++k) first_[k] += first_[k - 1];
  ops_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    for_each_wait(op, [&](OpId wait) { ops_[next[wait.value()]++] = op; });
  }
}

std::unique_ptr<Core> MakeCore(const Schedule& schedule,
                               const Network& network) {
  if (network.model.kind != NetworkKind::kFluid) {
    return MakeLinkQueueCore(schedule, network);
  }
  return schedule.one_hop() ? MakeEqualShareCore(schedule, network)
                            : MakeMaxMinCore(schedule, network);
}

Timeline RunPod(const Schedule& schedule, const Network& network,
                const RunWatch& watch) {
  const std::unique_ptr<Core> core = MakeCore(schedule, network);
  RunInSimGrid(*core, [&] {
    if (watch && !core->empty()) {
      watch({core->ended(), schedule.size(), core->next()});
    }
  });
  Timeline timeline = core->TakeTimeline();
  RequireAllEnded(timeline);
  if (watch) watch({core->ended(), schedule.size(), timeline.makespan});
  return timeline;
}

Timeline RunCore(const Schedule& schedule, const Network& network) {
  const std::unique_ptr<Core> core = MakeCore(schedule, network);
  core->Run(UINT64_MAX);
  Timeline timeline = core->TakeTimeline();
  RequireAllEnded(timeline);
  return timeline;
}

}  // namespace podsim
