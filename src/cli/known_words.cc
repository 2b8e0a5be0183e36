#include "cli/known_words.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace podsim {

// CLI11 only says that a command is missing.
void RequireKnownCommand(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
  }
  if (argc <= 1) {
    throw InputError("", "expected a command (known: " + Join(known, ", ") +
                             "); see `podsim --help`");
  }
  const std::string first = argv[1];
  for (const char* flag : {"-h", "--help", "--help-all", "--version"}) {
    if (first == flag) return;
  }
  if (std::find(known.begin(), known.end(), first) != known.end()) return;
  const auto near = Similar(first, known);
  throw InputError("", "unknown command \"" + first + "\"" +
                           (near ? "; did you mean \"" + *near + "\"?" : "") +
                           " (known: " + Join(known, ", ") + ")");
}

// Names the first argument that the command does not take; CLI11 lists them
// all, in no helpful order.
void RejectUnknown(const CLI::App& command) {
  const std::vector<std::string> left = command.remaining();
  const std::string help = "; see `podsim " + command.get_name() + " --help`";
  const auto flag = std::find_if(
      left.begin(), left.end(),
      [](const std::string& text) { return text.starts_with("-"); });
  if (flag == left.end() && left.empty()) return;
  if (flag == left.end()) {
    throw InputError("", "unexpected argument \"" + left[0] + "\"" + help);
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back(name);
  }
  const std::size_t begin =
      std::min(flag->find_first_not_of('-'), flag->size());
  const auto near =
      Similar(flag->substr(begin, flag->find('=') - begin), known);
  throw InputError("", "unknown flag \"" + *flag + "\"" +
                           (near ? "; did you mean \"--" + *near + "\"?" : "") +
                           help);
}

}  // namespace podsim
