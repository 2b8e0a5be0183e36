#ifndef PODSIM_COLLECTIVE_OUT_TREES_H_
#define PODSIM_COLLECTIVE_OUT_TREES_H_

#include <optional>
#include <vector>

#include "collective/arcs.h"
#include "collective/tree.h"

namespace podsim {

// The largest number of spanning trees from the root that share no arc: the
// fewest arc-disjoint paths from the root to any rank (Edmonds 1973).
int MostOutTrees(const std::vector<Arc>& arcs, int ranks, int root);

// A number that it does not exceed, and often is: the fewest arcs into any
// rank, out of the root.
int FewestArcsIn(const std::vector<Arc>& arcs, int ranks, int root);

// `count` of them; nullopt: so many do not fit. Each grows by the arc with the
// smallest (depth of its tail, link) that leaves every rank enough arc-disjoint
// paths for the trees that are still to come (Lovasz 1976); then they exchange
// arcs while that makes the deepest less deep.
std::optional<std::vector<ArcTree>> PackOutTrees(const std::vector<Arc>& arcs,
                                                 int ranks, int root,
                                                 int count);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_OUT_TREES_H_
