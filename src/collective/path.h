#ifndef PODSIM_COLLECTIVE_PATH_H_
#define PODSIM_COLLECTIVE_PATH_H_

#include "collective/tree.h"

namespace podsim {

// Trees that are the lines of an unwrapped axis: what line-middle and chain
// share.

// Why the groups are no lines of one unwrapped axis.
std::optional<std::string> WhyNotPath(const Collective& collective,
                                      const Topology& topology,
                                      const LoweringSpec& spec);

// Every line is a tree whose root is at position `root`; nullopt: in its own
// middle, floor(n/2), as dead chips at their ends leave lines of unequal
// length.
WholeSchedule BuildPaths(const Collective& collective, const Topology& topology,
                         std::optional<int> root, int chunks);
std::uint64_t CountPaths(const Collective& collective, const Topology& topology,
                         const LoweringSpec& spec);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_PATH_H_
