#ifndef PODSIM_COLLECTIVE_CABLE_TREES_H_
#define PODSIM_COLLECTIVE_CABLE_TREES_H_

#include <optional>
#include <vector>

#include "collective/arcs.h"
#include "collective/tree.h"

namespace podsim {

// Cables between ranks: the two arcs of each, as indices into the arcs.
struct CableArcs {
  int there = 0;
  int back = 0;
};
std::vector<CableArcs> CablesOf(const std::vector<Arc>& arcs,
                                const Topology& topology);

// `count` spanning trees, each rooted at its centre (the smaller rank of two),
// that use no cable more than `copies` times; nullopt if there are none.
// Shallow trees grow first, then they are completed by matroid partition: a
// cable that closes a cycle in every tree pushes another one out, along a
// shortest chain of such exchanges (Edmonds 1965).
std::optional<std::vector<ArcTree>> PackCableTrees(
    const std::vector<Arc>& arcs, const std::vector<CableArcs>& cables,
    int ranks, int count, int copies);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_CABLE_TREES_H_
