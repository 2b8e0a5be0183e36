#ifndef PODSIM_CLI_STEP_COMMANDS_H_
#define PODSIM_CLI_STEP_COMMANDS_H_

#include "cli/options.h"
#include "workload/workload.h"

namespace podsim {

// Whole steps: workload JSON or HLO text.
int SimulateStepFile(const CliOptions& options);
int RunExplain(const CliOptions& options);

// A step as the flags change it, and that of the file.
Workload EditedStep(Workload workload, const CliOptions& options);
Workload ReadStep(const CliOptions& options);

// Throws InputError for --bytes.
void RejectBytesOfStep(const CliOptions& options);
// Throws InputError for dates of faults that would be ignored.
void RequireRunnable(const Workload& workload, const SimOptions& sim);

// Throws InputError for flags that change steps only.
void RejectStepFlags(const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_STEP_COMMANDS_H_
