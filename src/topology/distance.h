#ifndef PODSIM_TOPOLOGY_DISTANCE_H_
#define PODSIM_TOPOLOGY_DISTANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace podsim {

inline constexpr int kUnreachable = -1;

// Hops from `from` to every chip over live links; kUnreachable if there is no
// way (dead chips included).
std::vector<int> HopsFrom(const Topology& topology, ChipId from);

// Hops from every chip to `to`.
std::vector<int> HopsTo(const Topology& topology, ChipId to);

// Over all ordered pairs of different live chips of one group.
struct DistanceSummary {
  int diameter = 0;      // hops
  double mean_hops = 0;  // 0 if no pair exists
};
// The groups are the sub-grids spanned by `axes` (of a grid); hops count over
// the whole slice. Closed form on healthy untwisted grids, one search on
// healthy twisted ones, else a search from every chip, 64 at a time.
DistanceSummary SummariseAxisGroups(const Topology& topology,
                                    const std::vector<int>& axes);
// The same for one group of all chips of a slice.
DistanceSummary SummariseDistances(const Topology& topology);
// The same for any disjoint groups; group[chip] < 0: in none.
DistanceSummary SummariseDistances(const Topology& topology,
                                   const std::vector<int>& group);

// Hops between two coordinates of an axis.
int HopsAlong(const GridAxis& axis, int from, int to);

// Hops along one axis, summed over all ordered pairs of one of its lines.
double SumOfHops(const GridAxis& axis);

// Throws InputError{where, ..} naming chips that cannot reach, or be reached
// from, the first live chip of their slice.
void RequireConnected(const Topology& topology, const std::string& where);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_DISTANCE_H_
