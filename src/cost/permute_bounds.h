#ifndef PODSIM_COST_PERMUTE_BOUNDS_H_
#define PODSIM_COST_PERMUTE_BOUNDS_H_

#include "cost/bounds.h"

namespace podsim {

// ComputeBounds of a collective-permute: `latency` of the farthest pair;
// `chip`, `slab:a` and `box` with the bytes of the pairs that they cut;
// `distance`, the byte-hops over all links; and `shift`, k(n-k)/n S/B for a
// shift by k along a wrapped axis of n: pairs k ahead need k hops one way or
// n-k the other, and the best mix of both fills all links of the axis.
Bounds ComputePermuteBounds(const Collective& collective, const Slice& slice);

}  // namespace podsim

#endif  // PODSIM_COST_PERMUTE_BOUNDS_H_
