#include "sim/link_use.h"

#include <algorithm>

namespace podsim {
namespace {

struct Interval {
  double begin;
  double end;
};

// Seconds that at least one of them covers.
double Union(std::vector<Interval> intervals) {
  std::sort(
      intervals.begin(), intervals.end(),
      [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  double covered = 0, until = 0;
  for (const Interval& interval : intervals) {
    covered += std::max(0.0, interval.end - std::max(until, interval.begin));
    until = std::max(until, interval.end);
  }
  return covered;
}

}  // namespace

std::vector<LinkUse> MeasureLinks(const Schedule& schedule,
                                  const Timeline& timeline,
                                  const Network& network, const Slice& slice,
                                  const std::optional<Fold>& fold,
                                  double seconds) {
  const Topology& topology = slice.topology;
  std::optional<FoldedGrid> grid;
  if (fold) grid.emplace(topology, *fold);
  std::vector<std::int64_t> bytes(network.links);
  // A link that several hops share max-min fairly may flow below its rate, and
  // one that is slow from a date on does: then its busy time is when anything
  // flows, or queues.
  const bool at_full_rate =
      network.changes.empty() &&
      (schedule.one_hop() || network.model.kind != NetworkKind::kFluid);
  std::vector<std::vector<Interval>> flows(at_full_rate ? 0 : network.links);
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    if (schedule.kind(op) != OpKind::kTransfer) continue;
    double begin = timeline.start[id] + network.message_overhead;
    for (const LinkId link : schedule.route(op)) {
      begin += network.LatencyOf(link);
    }
    for (const LinkId link : schedule.route(op)) {
      bytes[link.value()] += schedule.bytes(op).value();
      if (flows.empty()) continue;
      flows[link.value()].push_back({begin, timeline.end[id]});
    }
  }
  std::vector<LinkUse> uses;
  for (std::uint32_t id = 0; id < network.links; ++id) {
    if (bytes[id] == 0) continue;
    const double full_rate =
        static_cast<double>(bytes[id]) / network.BandwidthOf(LinkId(id));
    const LinkId link = grid ? grid->Representative(LinkId(id)) : LinkId(id);
    // Folded, a port is one chip's share of it.
    const int shares =
        grid && topology.IsPort(link) ? topology.ChipsOf(link) : 1;
    uses.push_back(
        {.link = topology.NameOf(link),
         .bytes = bytes[id] * shares,
         .busy_s = flows.empty() ? full_rate : Union(std::move(flows[id])),
         .utilisation = seconds > 0 ? full_rate / seconds : 0,
         .links = (grid ? grid->chips_per_site() : 1) / shares});
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const LinkUse& a, const LinkUse& b) {
                     return a.utilisation > b.utilisation;
                   });
  return uses;
}

}  // namespace podsim
