#ifndef PODSIM_CLI_KNOWN_WORDS_H_
#define PODSIM_CLI_KNOWN_WORDS_H_

#include <CLI/CLI.hpp>

namespace podsim {

// Throws InputError with the known commands, and the nearest, where CLI11 only
// says that one is missing.
void RequireKnownCommand(const CLI::App& app, int argc, char** argv);

// Throws InputError that names the first argument that the command does not
// take; CLI11 lists them all, in no helpful order.
void RejectUnknown(const CLI::App& command);

}  // namespace podsim

#endif  // PODSIM_CLI_KNOWN_WORDS_H_
