#ifndef PODSIM_COLLECTIVE_STAGES_H_
#define PODSIM_COLLECTIVE_STAGES_H_

#include <optional>
#include <string>

#include "collective/lowering.h"

namespace podsim {

// All-to-all axis after axis: what staged and staged-rotated share.

std::optional<std::string> WhyNotStages(const Collective& collective,
                                        const Topology& topology,
                                        const LoweringSpec& spec);

// Blocks are cut into as many parts; part k goes along the axes k, k+1, .. In
// each stage a chip sends every other chip of its line one message, with all
// that is at it now and due at that coordinate, when all of that has arrived.
// Where the two are half a ring apart, half of every block goes each way round.
WholeSchedule BuildStages(const Collective& collective,
                          const Topology& topology, int parts);

// The same as the steps of one chip, where all chips do the same: all axes wrap
// and the blocks are equal; below 65,536 pieces per chip.
bool StagesAreSymmetric(const Collective& collective, const Topology& topology,
                        int parts);
Program EmitStages(const Collective& collective, const Topology& topology,
                   int parts);

// Pieces of blocks, which is what building costs: those that one chip sends
// where all do the same; else of all chips, no fewer than a direct exchange
// has, and than the transfers.
std::uint64_t CountStages(const Collective& collective,
                          const Topology& topology, int parts);

// That no BuildStages can beat.
Seconds StagesTime(const Collective& collective, const Slice& slice, int parts);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_STAGES_H_
