#ifndef PODSIM_SCHEDULE_VERIFIER_H_
#define PODSIM_SCHEDULE_VERIFIER_H_

#include "schedule/schedule.h"
#include "schedule/violations.h"

namespace podsim {

// Proves that a schedule computes its collective, by replaying it symbolically:
//  1. structure: every route is a path from src to dst over live links, and the
//     bytes of a transfer are those of its chunks;
//  2. dataflow: nothing reads or adds into a chunk that is not there, and no
//     contribution is added twice;
//  3. postcondition: every receiver ends with the full sum;
//  4. hazards: on each (chip, chunk), a write and any other access are ordered
//     by the dependences (two adds need not be), so that the replay order does
//     not matter.
// Returns everything that is wrong. Memory: about 4 million (chip, chunk) cells
// at a time; time: the chunks of all transfers, plus one pass over the ops per
// block of cells.
Violations VerifyFull(const Schedule& schedule,
                      const CollectiveMeaning& meaning,
                      const Topology& topology);

// The same four proofs for the program on this slice (every chunk has bytes),
// from the chunks of one owner per class of chips that translations of the
// program map onto each other: those of chip 0 where all axes are invariant.
Violations VerifyOrbit(const Program& program, const Topology& topology);

// How many owners VerifyOrbit looks at: one per class of chips.
std::uint64_t OrbitClasses(const Program& program, const Topology& topology);

// How many (op, chunk) accesses VerifyOrbit would replay.
std::uint64_t OrbitCost(const Program& program, const Topology& topology);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_VERIFIER_H_
