#ifndef PODSIM_CLI_HELP_FORMAT_H_
#define PODSIM_CLI_HELP_FORMAT_H_

#include <CLI/CLI.hpp>

namespace podsim {

// Lets help texts fit a screen of 24 lines of 80 columns, each with an example;
// --help-all explains the options that --help only names.
void FormatHelp(CLI::App& app);

}  // namespace podsim

#endif  // PODSIM_CLI_HELP_FORMAT_H_
