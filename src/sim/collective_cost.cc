#include "sim/collective_cost.h"

#include <algorithm>

namespace podsim {
namespace {

constexpr double kInfinitelyFast = 1e30;  // bytes/s

}  // namespace

CollectiveCoster::CollectiveCoster(const LoweredCollective& lowered,
                                   const Slice& slice, const FoldedGrid& grid,
                                   bool folded, Bytes payload,
                                   const NetworkModel& model)
    : topology_(&slice.topology), sites_(grid.sites()) {
  Fold fold;
  for (int axis = 0; axis < grid.axes(); ++axis) {
    fold.periods.push_back(grid.period(axis));
  }
  schedule_ = MakeSchedule(lowered, slice.topology, fold, payload);
  network_ = folded ? MakeNetwork(slice, grid) : MakeNetwork(slice);
  network_.model = model;
  network_.starts = false;
  if (schedule_.size() > 0) {
    launch_ = slice.parameters.collective_launch.value();
  }
}

LinkClass CollectiveCoster::ClassOf(LinkId link) const {
  if (link.value() >= network_.first_port) return {"dcn", "dcn"};
  if (!topology_->is_grid()) return {"ici", "ici"};
  // Links of a fold are numbered like those of the slice.
  const std::uint32_t ports = 2 * topology_->ici_axes();
  const auto axis = static_cast<int>(link.value() % ports / 2);
  const std::string name = AxisName(*topology_, axis);
  return {"ici_" + name + (link.value() % 2 == 0 ? "+" : "-"), name};
}

CollectiveCost CollectiveCoster::Cost() const {
  CollectiveCost cost;
  const double time = TimeWithout({});
  std::vector<std::string> axes;
  std::vector<std::int64_t> bytes(sites_);
  for (std::uint32_t id = 0; id < schedule_.size(); ++id) {
    const OpId op(id);
    if (schedule_.kind(op) != OpKind::kTransfer) continue;
    const std::int64_t moved = schedule_.bytes(op).value();
    bytes[schedule_.src(op).value()] += moved;
    bytes[schedule_.dst(op).value()] +=
        schedule_.mode(op) == Mode::kCopy ? moved : 2 * moved;
    for (const LinkId link : schedule_.route(op)) {
      const LinkClass used = ClassOf(link);
      if (std::find(cost.links.begin(), cost.links.end(), used) ==
          cost.links.end()) {
        cost.links.push_back(used);
        axes.push_back(used.axis);
      }
    }
  }
  std::sort(
      cost.links.begin(), cost.links.end(),
      [](const LinkClass& a, const LinkClass& b) { return a.name < b.name; });
  for (const std::int64_t moved : bytes) {
    cost.hbm = std::max(cost.hbm, Bytes(moved));
  }
  cost.latency = Seconds(std::min(time, TimeWithout(axes)));
  cost.work = Seconds(time) - cost.latency;
  return cost;
}

double CollectiveCoster::TimeWithout(
    const std::vector<std::string>& axes) const {
  if (axes.empty()) return RunCore(schedule_, network_).makespan + launch_;
  Network network = network_;
  std::vector<double> bandwidth(network.links);
  for (std::uint32_t id = 0; id < network.links; ++id) {
    const LinkId link(id);
    const bool fast =
        std::find(axes.begin(), axes.end(), ClassOf(link).axis) != axes.end();
    bandwidth[id] = fast ? kInfinitelyFast : network_.BandwidthOf(link);
  }
  network.link_bandwidth = std::move(bandwidth);
  return RunCore(schedule_, network).makespan + launch_;
}

}  // namespace podsim
