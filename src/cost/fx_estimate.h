#ifndef PODSIM_COST_FX_ESTIMATE_H_
#define PODSIM_COST_FX_ESTIMATE_H_

#include <vector>

#include "collective/lowering.h"
#include "topology/slice.h"

namespace podsim {

// About the time of a resolved spec of `fx` on a healthy slice, without
// building it. A round of messages of b bytes, k-th farthest first, takes
//   max(late, g + o + alpha h_min + load b/B),
//   late = o + b/B + max over k (k g + alpha h_k),
// where `load` is the number of messages on the fullest link; rounds are
// summed, those that are both scattered and gathered twice; of several parts
// the slowest counts, beside the messages of the others. The plan with the
// smallest estimate takes 0.85 to 1.41 of it, others at least 0.7.
Seconds EstimateFx(const LoweringSpec& spec, const Collective& collective,
                   const Slice& slice);

// The plans worth an estimate: all axes in one round, one axis after the other
// in one part or one per axis, two of three axes in one round, and two rounds
// on axes of 8 and 16; each with every cut where the kind has one.
std::vector<LoweringSpec> FxCandidates(const Collective& collective,
                                       const Topology& topology);

}  // namespace podsim

#endif  // PODSIM_COST_FX_ESTIMATE_H_
