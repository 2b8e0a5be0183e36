#ifndef PODSIM_COLLECTIVE_DIRECT_PROGRAM_H_
#define PODSIM_COLLECTIVE_DIRECT_PROGRAM_H_

#include <vector>

#include "collective/collective.h"
#include "collective/lattice.h"

namespace podsim {

// The ways from a chip to the one at a displacement: minimal hops along every
// axis, x first. Each carries an equal share of the bytes.
using Ways = std::vector<Coordinates>;
struct Displacement {
  Coordinates to;  // seen from any chip, 0 <= to < size
  Ways ways;
};

// Of every other member of a group, in the order of ranks:
// the shorter way along every axis; where some are tied (half of an even ring)
// two, + on all of them and - on all of them, which loads both directions of
// every axis alike.
std::vector<Displacement> ShortestWays(const Lattice& lattice,
                                       const Topology& topology);

// The same on all chips of a twisted slice: every minimal count of hops per
// axis is one way.
std::vector<Displacement> AllMinimalWays(const Topology& topology);

// All-to-all, all-gather, reduce-scatter or all-reduce by one message per way,
// all posted at once or, with a window of w, the i-th when the (i-w)-th has
// ended. The same at every chip. In an all-reduce the sums leave when all have
// arrived. The displacements of all but an all-to-all have one way or two.
Program EmitDirect(const Collective& collective,
                   const std::vector<Displacement>& displacements, int window);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_DIRECT_PROGRAM_H_
