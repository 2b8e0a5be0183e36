#ifndef PODSIM_COLLECTIVE_CYCLE_H_
#define PODSIM_COLLECTIVE_CYCLE_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/lowering.h"

namespace podsim {

// A Hamiltonian cycle of one group: every rank once, over links.
struct Cycle {
  std::vector<int> ranks;        // from rank 0 on
  std::vector<LinkId> forward;   // [i]: from ranks[i] to the next one
  std::vector<LinkId> backward;  // [i]: from ranks[i] to the one before
};

// One hop in a plane of two axes.
struct PlaneStep {
  int axis = 0;  // 0: the first of the two
  Sign sign = Sign::kPlus;
};
using PlaneWalk = std::vector<PlaneStep>;  // from its corner

// A cycle of the a x b mesh: sweeps over all columns but the first, which leads
// back. Empty unless a side is even (the mesh is bipartite).
PlaneWalk Snake(int a, int b);

// Two cycles of the a x b torus that share no cable. In the first, column x
// takes n_y - 1 links along y in a direction of its own, then one along x; the
// second is what is left. Empty if a bounded search finds none: always where
// the parities of a and b differ.
std::vector<PlaneWalk> EdgeDisjointWalks(int a, int b);

// The two axes of the groups, if there are two.
std::optional<std::string> WhyNotPlanes(const Collective& collective,
                                        const Topology& topology);

// A link of a walk that is dead in one direction, in words.
std::optional<std::string> WhyBroken(const std::vector<PlaneWalk>& walks,
                                     const Collective& collective,
                                     const Topology& topology);

// The walks in every group (a sub-grid of two axes, or one chip); by group,
// then by walk.
std::vector<std::vector<Cycle>> FollowWalks(const std::vector<PlaneWalk>& walks,
                                            const Collective& collective,
                                            const Topology& topology);

// ring-short around every cycle of a group, with an equal part of every shard
// on each of them.
WholeSchedule BuildCycles(const Collective& collective,
                          const Topology& topology,
                          const std::vector<PlaneWalk>& walks);

// Transfers of BuildCycles.
std::uint64_t CountCycles(const Collective& collective,
                          const Topology& topology, int cycles);

// floor(n/2) a + (n-1)/(2cn) S/B on c cycles, twice that for all-reduce: its
// time where chunks are equal, else (with S less the largest shard for
// (n-1)/n S, and one start-up if some chunks have no bytes) a time that it
// cannot beat.
Seconds CyclesTime(const Collective& collective, const Slice& slice,
                   int cycles);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_CYCLE_H_
