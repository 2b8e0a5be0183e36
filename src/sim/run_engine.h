#ifndef PODSIM_SIM_RUN_ENGINE_H_
#define PODSIM_SIM_RUN_ENGINE_H_

#include "engine/engine.h"
#include "sim/options.h"

namespace podsim {

// Runs the engine that the options name (not `bound`). Throws InputError when
// the reference engine is asked for more transfers than it can do in reasonable
// time, unless forced, or another network than fluid; when the network does not
// serve the schedule (fifo: several hops) or packets are too many.
Timeline RunEngine(const Schedule& schedule, const Network& network,
                   const SimOptions& options);

}  // namespace podsim

#endif  // PODSIM_SIM_RUN_ENGINE_H_
