#ifndef PODSIM_TOPOLOGY_ROUTING_H_
#define PODSIM_TOPOLOGY_ROUTING_H_

#include <optional>
#include <vector>

#include "topology/topology.h"

namespace podsim {

// Which way a message goes on an even ring when both ways are equally long.
enum class TieRule {
  kParity,  // + from even coordinates, - from odd: balances exchange patterns,
            // invariant under even translations only
  kPlus,    // the halves of a message split in two: half 0 takes + on all tied
  kMinus,   // axes, half 1 takes -; together exactly balanced
};

// The minimal route of a multi-hop message, link by link. Dimension order x, y,
// z on a healthy untwisted grid, per axis the shorter way; else the
// breadth-first path that is lexicographically smallest by (axis, + before -),
// or by link id without axes. To another slice: out of one host and into the
// other. Empty if from == to; nullopt if there is no way.
std::optional<std::vector<LinkId>> Route(const Topology& topology, ChipId from,
                                         ChipId to, TieRule tie);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_ROUTING_H_
