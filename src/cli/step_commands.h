#ifndef PODSIM_CLI_STEP_COMMANDS_H_
#define PODSIM_CLI_STEP_COMMANDS_H_

#include "cli/options.h"

namespace podsim {

// Whole steps: workload JSON or HLO text.
int SimulateStepFile(const CliOptions& options);
int RunExplain(const CliOptions& options);

// Throws InputError for flags that change steps only.
void RejectStepFlags(const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_STEP_COMMANDS_H_
