#ifndef PODSIM_CLI_APP_H_
#define PODSIM_CLI_APP_H_

#include <CLI/CLI.hpp>

#include "cli/options.h"

namespace podsim {

// The commands and their flags; parsing writes what was given to `options`,
// which must outlive `app`.
void AddCommands(CLI::App& app, CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_APP_H_
