#ifndef PODSIM_COLLECTIVE_TREE_PACKING_H_
#define PODSIM_COLLECTIVE_TREE_PACKING_H_

#include <cstdint>

#include "collective/lowering.h"

namespace podsim {

// Rounds of the plan of `tree-packing`. The spec is resolved. With chunks of
// equal bytes, alike links, lat=0 and window=1 its time is at most this many
// times (o + alpha + S/(NB)).
std::uint32_t TreePackingRounds(const Collective& collective,
                                const Topology& topology,
                                const LoweringSpec& spec);

// The load of the fullest link in its trees (all-reduce: of the fullest cable),
// and what is certainly the least.
struct PackedLoad {
  std::int64_t largest = 0;
  std::int64_t target = 0;
};
PackedLoad TreePackingLoad(const Collective& collective,
                           const Topology& topology, const LoweringSpec& spec);

// Plans made so far by this thread: one serves all payloads.
std::uint64_t TreePackingPlansMade();

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_TREE_PACKING_H_
