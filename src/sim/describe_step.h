#ifndef PODSIM_SIM_DESCRIBE_STEP_H_
#define PODSIM_SIM_DESCRIBE_STEP_H_

#include "sim/lower_step.h"
#include "sim/result.h"

namespace podsim {

// What is known of a step before it runs: its computes, each collective alone
// (lowering, proof, time, bounds), and a bound of the whole. `lowered`: empty
// with the engine `bound`.
StepResult DescribeStep(const Workload& workload, const LoweredStep& lowered,
                        const SimOptions& options, PhaseTimes& times);

// Seconds by which bounds may exceed the optimum, as where n does not divide S
// the shards differ by a byte.
double BoundSlack(const Workload& workload);

}  // namespace podsim

#endif  // PODSIM_SIM_DESCRIBE_STEP_H_
