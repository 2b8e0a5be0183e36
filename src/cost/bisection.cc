#include "cost/bisection.h"

namespace podsim {

std::optional<Bisection> ComputeBisection(const Topology& topology) {
  if (!topology.is_grid()) return std::nullopt;
  std::optional<Bisection> least;
  for (int axis = 0; axis < topology.ici_axes(); ++axis) {
    const int size = topology.axes()[axis].size;
    if (size == 1) continue;
    Bisection cut{.axis = axis, .links = 0, .bandwidth = {}};
    if (topology.healthy() && !topology.twisted()) {
      cut.links =
          topology.chips() / size * (topology.axes()[axis].wrap ? 2 : 1);
      cut.bandwidth = cut.links * topology.base_bandwidth();
      if (!least || cut.bandwidth < least->bandwidth) least = cut;
      continue;
    }
    double rate = 0;
    topology.ForEachLiveLink([&](LinkId link) {
      const int from = topology.CoordinatesOf(topology.Source(link))[axis];
      const int to = topology.CoordinatesOf(topology.Target(link))[axis];
      if (from < size / 2 && to >= size / 2) {
        ++cut.links;
        rate += topology.Bandwidth(link).value();
      }
    });
    cut.bandwidth = BytesPerSecond(rate);
    if (!least || cut.bandwidth < least->bandwidth) least = cut;
  }
  return least;
}

}  // namespace podsim
