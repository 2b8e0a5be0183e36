#ifndef PODSIM_CLI_COMMANDS_H_
#define PODSIM_CLI_COMMANDS_H_

#include "cli/options.h"

namespace podsim {

// Each command returns its exit status; input errors are thrown.
int RunCommand(const CliOptions& options);

// Throws InputError for flags of `simulate` that a schedule leaves nothing to.
void RejectScheduleFlags(const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_COMMANDS_H_
