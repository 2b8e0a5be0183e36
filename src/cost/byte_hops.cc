#include <algorithm>
#include <set>

#include "cost/cut.h"
#include "topology/distance.h"

namespace podsim {

double ByteHops(const Collective& collective, const Topology& topology,
                const Groups& groups) {
  const auto payload = static_cast<double>(collective.payload.value());
  const bool by_axes = collective.groups.empty() && topology.is_grid() &&
                       topology.live_chips() == topology.chips();
  if (by_axes) {
    const double n = GroupSize(collective, topology);
    const double pairs = topology.chips() * (n - 1);
    return payload / n * pairs *
           SummariseAxisGroups(topology, collective.axes).mean_hops;
  }
  double sum = 0;
  for (const int n : std::set<int>(groups.sizes.begin(), groups.sizes.end())) {
    std::vector<int> group = groups.of_chip;  // of this size only
    double pairs = 0;
    for (int& g : group) {
      if (g >= 0 && groups.sizes[g] != n) g = -1;
      if (g >= 0) pairs += n - 1;
    }
    sum += payload / n * pairs * SummariseDistances(topology, group).mean_hops;
  }
  return sum;
}

double AxisByteHops(const Collective& collective, const Topology& topology,
                    const Groups& groups, int axis) {
  if (std::find(collective.axes.begin(), collective.axes.end(), axis) ==
      collective.axes.end()) {
    return 0;
  }
  const auto payload = static_cast<double>(collective.payload.value());
  const GridAxis& along = topology.axes()[axis];
  if (topology.live_chips() == topology.chips()) {
    const double n = GroupSize(collective, topology);
    const double lines = n / along.size;
    return topology.chips() / n * payload / n * SumOfHops(along) * lines *
           lines;
  }
  std::vector<std::vector<double>> members(groups.sizes.size(),
                                           std::vector<double>(along.size));
  for (int id = 0; id < topology.chips(); ++id) {
    const int group = groups.of_chip[id];
    if (group < 0) continue;
    ++members[group][topology.CoordinatesOf(ChipId(id))[axis]];
  }
  double sum = 0;
  for (std::size_t g = 0; g < members.size(); ++g) {
    for (int a = 0; a < along.size; ++a) {
      for (int b = 0; b < a; ++b) {
        sum += payload / groups.sizes[g] * 2 * members[g][a] * members[g][b] *
               HopsAlong(along, a, b);
      }
    }
  }
  return sum;
}

}  // namespace podsim
