#ifndef PODSIM_COLLECTIVE_DIRECT_H_
#define PODSIM_COLLECTIVE_DIRECT_H_

#include "collective/lowering.h"

namespace podsim {

// One message per pair of chips on its minimal route; of an all-to-all, ragged
// or not, what two ways tie for goes in two halves unless the spec says parity.
// Messages of no bytes are left out. `window` of the spec: how many of a chip
// are in flight at once, 0: all. `far_first`: a chip posts the farthest first.
WholeSchedule BuildDirect(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_DIRECT_H_
