#ifndef PODSIM_COLLECTIVE_ARCS_H_
#define PODSIM_COLLECTIVE_ARCS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collective/collective.h"

namespace podsim {

// A link between two members of a group, by rank. What travels against it uses
// the link in the reverse direction.
struct Arc {
  LinkId link;
  int from = 0;
  int to = 0;
};

// Those of a group that the collective can use, by link id: live links for
// what spreads (all-gather, broadcast), links whose reverse is live for what
// gathers sums (reduce-scatter, reduce), both for all-reduce.
std::vector<Arc> ArcsOf(const std::vector<ChipId>& group, CollectiveKind kind,
                        const Topology& topology);

// The first rank that cannot be reached from `root` along arcs, or that cannot
// reach it if `backwards`.
std::optional<int> FirstUnreached(const std::vector<Arc>& arcs, int ranks,
                                  int root, bool backwards);

// What distinguishes groups with these arcs, for Memo.
void AppendKey(const std::vector<Arc>& arcs, std::vector<std::uint32_t>& key);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_ARCS_H_
