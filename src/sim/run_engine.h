#ifndef PODSIM_SIM_RUN_ENGINE_H_
#define PODSIM_SIM_RUN_ENGINE_H_

#include "engine/engine.h"
#include "sim/options.h"

namespace podsim {

// Runs the engine that the options name (not `bound`). Throws InputError when
// the reference engine is asked for more transfers than it can do in reasonable
// time, unless forced, or another network than fluid; when the network does not
// serve the schedule (fifo: several hops) or packets are too many; when dated
// faults do what the reference engine cannot follow. Throws LostOps when ops
// are lost to them, named as in `topology`.
Timeline RunEngine(const Schedule& schedule, const Network& network,
                   const Topology& topology, const SimOptions& options);

}  // namespace podsim

#endif  // PODSIM_SIM_RUN_ENGINE_H_
