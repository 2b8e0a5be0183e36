#ifndef PODSIM_CLI_GOAL_COMMAND_H_
#define PODSIM_CLI_GOAL_COMMAND_H_

#include "cli/options.h"

namespace podsim {

// `podsim simulate FILE.goal --network loggp`. Returns the exit status.
int SimulateGoalFile(const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_GOAL_COMMAND_H_
