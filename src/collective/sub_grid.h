#ifndef PODSIM_COLLECTIVE_SUB_GRID_H_
#define PODSIM_COLLECTIVE_SUB_GRID_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/collective.h"

namespace podsim {

// The ranks of a whole sub-grid by their coordinates on its axes of more than
// one chip: rank = sum of coordinate k times stride k, the first axis fastest.
// The same for all groups of a collective.
struct SubGrid {
  std::vector<int> sizes;
  std::vector<int> strides;
  int chips = 1;

  int axes() const { return static_cast<int>(sizes.size()); }
  int Coordinate(int rank, int axis) const {
    return rank / strides[axis] % sizes[axis];
  }
  // The rank that differs on one axis only.
  int At(int rank, int axis, int coordinate) const {
    return rank + (coordinate - Coordinate(rank, axis)) * strides[axis];
  }
};

SubGrid SubGridOf(const Collective& collective, const Topology& topology);

// Whether all members of all groups see the same around them: sub-grids of one
// plain slice along axes that all wrap.
bool AllAlike(const Collective& collective, const Topology& topology);

// Whether some two chips of a group are half a wrapped axis apart.
bool HasTies(const Collective& collective, const Topology& topology);

// Why the groups are no whole sub-grids whose chips reach each other. The
// reason ends with `instead`: "; use direct".
std::optional<std::string> WhyNoSubGrid(const Collective& collective,
                                        const Topology& topology,
                                        const std::string& instead);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_SUB_GRID_H_
