#ifndef PODSIM_CLI_COMPLETIONS_H_
#define PODSIM_CLI_COMPLETIONS_H_

#include <CLI/CLI.hpp>
#include <string>

namespace podsim {

// A script that completes the commands, flags and known values of `app` in
// "bash" or "zsh"; values that are not known are completed as files.
std::string CompletionScript(const CLI::App& app, const std::string& shell);

}  // namespace podsim

#endif  // PODSIM_CLI_COMPLETIONS_H_
