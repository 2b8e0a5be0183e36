#include "collective/lattice.h"

#include <algorithm>

#include "collective/sub_grid.h"

namespace podsim {
namespace {

// The strides that the group of chip 0 can only have.
std::vector<int> StridesOf(const std::vector<ChipId>& group,
                           const Topology& topology) {
  std::vector<int> strides;
  for (const GridAxis& axis : topology.axes()) strides.push_back(axis.size);
  for (const ChipId chip : group) {
    const Coordinates at = topology.CoordinatesOf(chip);
    for (std::size_t a = 0; a < strides.size(); ++a) {
      if (at[a] != 0) strides[a] = std::min(strides[a], at[a]);
    }
  }
  return strides;
}

// Whether all chips are so far apart: with as many of them as fit, all.
bool Holds(const std::vector<int>& strides, const std::vector<ChipId>& group,
           const Topology& topology) {
  const Coordinates first = topology.CoordinatesOf(group[0]);
  return std::is_sorted(group.begin(), group.end()) &&
         std::all_of(group.begin(), group.end(), [&](ChipId chip) {
           const Coordinates at = topology.CoordinatesOf(chip);
           for (std::size_t a = 0; a < strides.size(); ++a) {
             if ((at[a] - first[a]) % strides[a] != 0) return false;
           }
           return true;
         });
}

std::optional<Lattice> LatticeOfLists(
    const std::vector<std::vector<ChipId>>& groups, const Topology& topology) {
  const std::size_t size = groups[0].size();
  if (groups.size() * size != static_cast<std::size_t>(topology.chips())) {
    return std::nullopt;
  }
  const auto origin = std::find_if(
      groups.begin(), groups.end(),
      [](const auto& group) { return group.front() == ChipId(0); });
  if (origin == groups.end()) return std::nullopt;
  Lattice lattice{StridesOf(*origin, topology)};
  std::size_t members = 1;
  for (std::size_t a = 0; a < lattice.strides.size(); ++a) {
    const GridAxis& axis = topology.axes()[a];
    if (axis.size % lattice.strides[a] != 0) return std::nullopt;
    if (lattice.strides[a] < axis.size && !axis.wrap) return std::nullopt;
    members *= axis.size / lattice.strides[a];
  }
  if (members != size) return std::nullopt;
  for (const std::vector<ChipId>& group : groups) {
    // Unequal lists come with other kinds of groups.
    if (group.size() != size || !Holds(lattice.strides, group, topology)) {
      return std::nullopt;
    }
  }
  return lattice;
}

}  // namespace

std::vector<int> AxesOf(const Lattice& lattice, const Topology& topology) {
  std::vector<int> axes;
  for (std::size_t a = 0; a < lattice.strides.size(); ++a) {
    if (lattice.strides[a] < topology.axes()[a].size) {
      axes.push_back(static_cast<int>(a));
    }
  }
  return axes;
}

std::optional<Lattice> LatticeOf(const Collective& collective,
                                 const Topology& topology) {
  if (!collective.groups.empty()) {
    const bool one_slice =
        topology.ici_axes() == static_cast<int>(topology.axes().size());
    if (!topology.plain() || !one_slice) return std::nullopt;
    return LatticeOfLists(collective.groups, topology);
  }
  if (!AllAlike(collective, topology)) return std::nullopt;
  Lattice lattice;
  for (const GridAxis& axis : topology.axes()) {
    lattice.strides.push_back(axis.size);
  }
  for (const int axis : ActiveAxes(collective, topology)) {
    lattice.strides[axis] = 1;
  }
  return lattice;
}

bool HasTies(const Lattice& lattice, const Topology& topology) {
  const std::vector<int> axes = AxesOf(lattice, topology);
  return std::any_of(axes.begin(), axes.end(), [&](int axis) {
    return topology.axes()[axis].size % (2 * lattice.strides[axis]) == 0;
  });
}

}  // namespace podsim
