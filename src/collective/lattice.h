#ifndef PODSIM_COLLECTIVE_LATTICE_H_
#define PODSIM_COLLECTIVE_LATTICE_H_

#include <optional>
#include <vector>

#include "collective/collective.h"

namespace podsim {

// Groups whose chips all see the same around them: along every axis, which
// then wraps, the chips `strides` apart, such as each chip and the one half a
// ring away.
struct Lattice {
  std::vector<int> strides;  // by axis; its size: one chip only
};

// The axes with more than one chip of a group.
std::vector<int> AxesOf(const Lattice& lattice, const Topology& topology);

// Of one plain slice: sub-grids of wrapped axes, or lists of chips in
// increasing order which together have every chip. Else nullopt.
std::optional<Lattice> LatticeOf(const Collective& collective,
                                 const Topology& topology);

// Whether some two chips of a group are half an axis apart.
bool HasTies(const Lattice& lattice, const Topology& topology);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_LATTICE_H_
