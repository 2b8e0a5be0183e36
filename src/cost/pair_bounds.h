#ifndef PODSIM_COST_PAIR_BOUNDS_H_
#define PODSIM_COST_PAIR_BOUNDS_H_

#include "cost/bounds.h"

namespace podsim {

// Collective-permute and ragged all-to-all: every pair of chips has bytes of
// its own.
bool HasPairs(CollectiveKind kind);

// ComputeBounds of those: `latency` of the farthest pair that has bytes;
// `chip`, `slab:a` and `box` with the bytes of the pairs that they cut;
// `distance`, the byte-hops over all links; and `shift`, k(n-k)/n S/B for a
// permute that is a shift by k along a wrapped axis of n: pairs k ahead need k
// hops one way or n-k the other, and the best mix of both fills all links of
// the axis.
Bounds ComputePairBounds(const Collective& collective, const Slice& slice);

}  // namespace podsim

#endif  // PODSIM_COST_PAIR_BOUNDS_H_
