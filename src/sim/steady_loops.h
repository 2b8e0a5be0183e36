#ifndef PODSIM_SIM_STEADY_LOOPS_H_
#define PODSIM_SIM_STEADY_LOOPS_H_

#include <optional>
#include <vector>

#include "engine/engine.h"
#include "sim/compile_step.h"
#include "sim/result.h"

namespace podsim {

// What can be said of a step whose loops were shortened.

// Lets one iteration of every shortened loop stand for those left out: one that
// is the same as the one before but for its date, on every site. Then all
// between the first and the last ones are, as each depends on the one before
// and on nothing that is different; the last ones may feel what comes after the
// loop, as chips run ahead. False: some loop has none.
bool UseSteadyLoops(const Timeline& timeline, CompiledStep& step);

// From the op that ends last, back along the dependence that ended last; the
// parts telescope to the makespan. Summed per op of the step and kind of time.
// nullopt: a path that leaves the last iteration of a shortened loop elsewhere
// than the one before, so that iterations cannot stand for others.
std::optional<std::vector<PathEntry>> FindCriticalPath(const StepGraph& graph,
                                                       const CompiledStep& step,
                                                       const Timeline& timeline,
                                                       const Network& network,
                                                       double makespan);

}  // namespace podsim

#endif  // PODSIM_SIM_STEADY_LOOPS_H_
