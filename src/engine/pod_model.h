#ifndef PODSIM_ENGINE_POD_MODEL_H_
#define PODSIM_ENGINE_POD_MODEL_H_

#include <functional>

#include "engine/core.h"

namespace podsim {

// Runs a core to its end as a model of SimGrid's engine. SimGrid has one engine
// per process, whose clock is never reset; cores count from the date at which
// they are run. Calls between() every few hundred events. Not
// thread-safe, like SimGrid.
void RunInSimGrid(Core& core, std::function<void()> between);

// RunInSimGrid was called in this process.
bool SimGridIsRunning();

}  // namespace podsim

#endif  // PODSIM_ENGINE_POD_MODEL_H_
