#ifndef PODSIM_COLLECTIVE_GREEDY_H_
#define PODSIM_COLLECTIVE_GREEDY_H_

#include "collective/lowering.h"

namespace podsim {

// Transfers on the longest chain of dependences of `greedy`. Where chunks and
// links are alike this many times (a + S/(PqB)) is its time: a link carries
// nothing but its own lane. The spec is resolved.
int GreedySteps(const Collective& collective, const Topology& topology,
                const LoweringSpec& spec);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_GREEDY_H_
