#ifndef PODSIM_COLLECTIVE_TORUS_TREES_H_
#define PODSIM_COLLECTIVE_TORUS_TREES_H_

#include <vector>

#include "collective/tree.h"

namespace podsim {

// Arc-disjoint spanning trees of a torus from any root, two per axis, by a
// rule instead of a search. With coordinates relative to the root, + from 1 to
// floor(n/2) and - from there on, the tree that leaves the root by sign s along
// axis a enters a chip
//   with coordinate a = 0 against s along a, from the chip next to it,
//   of the other side by s along a, around the ring,
//   of its own side, away from the root, along the first axis b after a
//   (cyclically) on which the chip is not 0: b = a only next to nothing else.
// Trees of the zero axes take both arcs of those; of the others, those of the
// far side the arcs that come from afar, and those of the near side, each
// handing its arc to the one before it, the arcs that come from the root: every
// arc into every chip but the root is used once.

// Whether every group is a healthy, untwisted torus with at least three chips
// on each of its axes.
bool AreTori(const Collective& collective, const Topology& topology);

// Of one group of those, `count` of them, at most two per axis.
std::vector<Tree> TorusTrees(const Collective& collective,
                             const Topology& topology,
                             const std::vector<ChipId>& group, int root,
                             int count);

// Of the deepest of those: n_a - 1 along its own axis plus floor(n_b / 2) along
// each other one.
int TorusDepth(const Collective& collective, const Topology& topology,
               int count);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_TORUS_TREES_H_
