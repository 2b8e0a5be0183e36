#include "engine/engine.h"

#include <string>

#include "base/check.h"
#include "engine/core.h"
#include "engine/pod_model.h"

namespace podsim {
void RequireAllEnded(const Timeline& timeline) {
  std::string left;
  std::size_t count = 0;
  for (std::size_t op = 0; op < timeline.end.size(); ++op) {
    if (timeline.end[op] >= 0) continue;
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

Network MakeNetwork(const Slice& slice, const FoldedGrid& grid) {
  const Topology& topology = slice.topology;
  CHECK(topology.uniform());
  Network network = MakeNetwork(slice);
  network.links = grid.port_ids();
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

Successors::Successors(const Schedule& schedule)
    : first_(schedule.size() + 1), pending_(schedule.size()) {
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    const auto after = schedule.after(OpId(op));
    pending_[op] = static_cast<std::uint32_t>(after.size());
    for (const OpId wait : after) ++first_[wait.value() + 1];
  }
  for (std::size_t k = 1; k < first_.size(); ++k) first_[k] += first_[k - 1];
  ops_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    for (const OpId wait : schedule.after(OpId(op))) {
      ops_[next[wait.value()]++] = op;
    }
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

Timeline RunPod(const Schedule& schedule, const Network& network) {
  const std::unique_ptr<Core> core = MakeCore(schedule, network);
  RunInSimGrid(*core);
  Timeline timeline = core->TakeTimeline();
  RequireAllEnded(timeline);
  return timeline;
}

Timeline RunCore(const Schedule& schedule, const Network& network) {
  const std::unique_ptr<Core> core = MakeCore(schedule, network);
  core->Drain();
  Timeline timeline = core->TakeTimeline();
  RequireAllEnded(timeline);
  return timeline;
}

}  // namespace podsim
