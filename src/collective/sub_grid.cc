#include "collective/sub_grid.h"

#include <algorithm>

#include "collective/groups.h"
#include "collective/schedule_builder.h"

namespace podsim {

SubGrid SubGridOf(const Collective& collective, const Topology& topology) {
  SubGrid grid;
  for (const int axis : ActiveAxes(collective, topology)) {
    grid.sizes.push_back(topology.axes()[axis].size);
    grid.strides.push_back(grid.chips);
    grid.chips *= grid.sizes.back();
  }
  return grid;
}

bool AllAlike(const Collective& collective, const Topology& topology) {
  if (!collective.groups.empty() || !topology.plain() ||
      SpansSlices(collective, topology)) {
    return false;
  }
  const std::vector<int> active = ActiveAxes(collective, topology);
  return std::all_of(active.begin(), active.end(),
                     [&](int axis) { return topology.axes()[axis].wrap; });
}

bool HasTies(const Collective& collective, const Topology& topology) {
  for (const int axis : ActiveAxes(collective, topology)) {
    const GridAxis& along = topology.axes()[axis];
    if (along.wrap && along.size % 2 == 0) return true;
  }
  return false;
}

std::optional<std::string> WhyNoSubGrid(const Collective& collective,
                                        const Topology& topology,
                                        const std::string& instead) {
  if (!topology.is_grid()) {
    return "the slice is a list of links without axes" + instead;
  }
  if (!collective.groups.empty()) {
    return "its groups must be all chips or the sub-grids of some axes, and "
           "these lists are neither" +
           instead;
  }
  for (int id = 0; id < topology.chips(); ++id) {
    if (topology.Live(ChipId(id))) continue;
    return "chip " + topology.NameOf(ChipId(id)) +
           " is dead, and the groups must be whole sub-grids" + instead;
  }
  return WhyUnreachable(collective, topology);
}

}  // namespace podsim
