#ifndef PODSIM_CLI_SWEEP_COMMANDS_H_
#define PODSIM_CLI_SWEEP_COMMANDS_H_

#include "cli/options.h"

namespace podsim {

// podsim sweep: every point of a sweep file; 1 if a point failed.
int RunSweepCommand(const CliOptions& options);
int RunMergeCommand(const CliOptions& options);
// podsim check: results against a baseline; 1 if they do not pass.
int RunCheckCommand(const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_SWEEP_COMMANDS_H_
