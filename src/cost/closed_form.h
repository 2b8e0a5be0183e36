#ifndef PODSIM_COST_CLOSED_FORM_H_
#define PODSIM_COST_CLOSED_FORM_H_

#include <optional>

#include "collective/lowering.h"
#include "topology/slice.h"

namespace podsim {

// The alpha-beta time of a lowering where the formula is exact: healthy slice
// (but for greedy and trees), equal chunks, one batch, no ici.issue or
// ici.window; bucket-rotated also needs equal wrapped axes and equal fractions.
// Includes collective.launch. nullopt elsewhere. With a = o + alpha, all-gather
// (reduce-scatter equal, all-reduce twice):
//   ring        (n-1)(a + S/(nB))
//   ring-split  (n-1)(a + S/(2nB))
//   ring-short  floor(n/2) a + (n-1)/(2n) S/B
//   line        (n-1)(a + S/(nB))
//   bucket      sum over stages of the axis' formula, on what is held by then
//   bucket-rotated   bucket with S/d
//   bfb         sum over levels of a + (sub-chunks on the fullest link)
//               S/(n sub_chunks B)
//   hamiltonian       floor(n/2) a + (n-1)/(2n) S/B
//   hamiltonian-pair  floor(n/2) a + (n-1)/(4n) S/B
//   greedy      steps (a + S/(PqB))
//   direct      o + h alpha + S/B for one pair, h hops apart
//   chain, line-middle   (e + k - 1)(a + S/(kB)), twice e for all-reduce
//   edge-disjoint-trees  (e + k - 1)(a + S/(tkB)), t trees
//   spanning-trees   (2e + k - 1)(a + S/(tkB)) if no two share a cable
std::optional<Seconds> ClosedForm(const LoweringSpec& spec,
                                  const Collective& collective,
                                  const Slice& slice);

}  // namespace podsim

#endif  // PODSIM_COST_CLOSED_FORM_H_
