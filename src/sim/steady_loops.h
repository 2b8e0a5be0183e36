#ifndef PODSIM_SIM_STEADY_LOOPS_H_
#define PODSIM_SIM_STEADY_LOOPS_H_

#include <optional>
#include <vector>

#include "engine/engine.h"
#include "sim/compile_step.h"
#include "sim/result.h"

namespace podsim {

// What can be said of a step whose loops were shortened.

// Whether the last two iterations of every shortened loop are the same but for
// their date, on every site: then all further ones are, as each depends on the
// one before alone, and everything after the loop only comes later.
bool LoopsAreSteady(const CompiledStep& step, const Timeline& timeline);

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
