#include "cli/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/commit.h"
#include "cli/completions.h"
#include "cli/known_words.h"
#include "collective/collective.h"
#include "report/version.h"

namespace podsim {
namespace {

// Of the command that was given, if any.
std::string HelpText(const CLI::App& app, CLI::AppFormatMode mode) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app.help("", CLI::AppFormatMode::Normal)
                          : commands[0]->help("podsim", mode);
}

}  // namespace

bool ParseCommandLine(int argc, char** argv, CliOptions& options) {
  CLI::App app;
  app.name("podsim");
  AddCommands(app, options);
  RequireKnownCommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << HelpText(app, CLI::AppFormatMode::Normal);
    return false;
  } catch (const CLI::CallForAllHelp&) {
    std::cout << HelpText(app, CLI::AppFormatMode::All);
    return false;
  } catch (const CLI::CallForVersion&) {
    std::cout << "podsim " << kVersion << " (" << kCommit << ")\n";
    return false;
  } catch (const CLI::ParseError& error) {
    const auto used = app.get_subcommands();
    if (!used.empty()) RejectUnknown(*used[0]);
    throw InputError("", std::string(error.what()) + "; see `podsim " +
                             (used.empty() ? "" : used[0]->get_name() + " ") +
                             "--help`");
  }
  options.command = app.get_subcommands()[0]->get_name();
  if (options.command == "completions") {
    std::cout << CompletionScript(app, options.shell);
    return false;
  }
  return true;
}

SliceRequest SliceRequestOf(const CliOptions& options) {
  SliceRequest request;
  request.spec = options.slice;
  request.sets = options.sets;
  request.faults = options.faults;
  request.ideal = options.ideal;
  return request;
}

bool ShowsProgress(const CliOptions& options) {
  return options.progress == "on" ||
         (options.progress == "auto" && isatty(STDERR_FILENO) != 0);
}

bool ListsLinks(const CliOptions& options) {
  return !options.top.empty() ||
         (!options.json.empty() && options.command != "compare" &&
          (options.lowerings.empty() || options.lowerings[0] != "all"));
}

SimOptions SimOptionsOf(const CliOptions& options) {
  SimOptions sim;
  sim.engine = options.engine == "bound"       ? EngineKind::kBound
               : options.engine == "reference" ? EngineKind::kReference
                                               : EngineKind::kPod;
  sim.force = options.force;
  sim.network = ParseNetworkModel(options.network, "--network");
  sim.step_mode =
      options.step_mode == "abstract" ? StepMode::kAbstract : StepMode::kEngine;
  sim.links = ListsLinks(options) || !options.html.empty();
  sim.fold = options.fold == "on"    ? FoldMode::kOn
             : options.fold == "off" ? FoldMode::kOff
                                     : FoldMode::kAuto;
  sim.verify = options.verify == "full"  ? VerifyMode::kFull
               : options.verify == "off" ? VerifyMode::kOff
                                         : VerifyMode::kAuto;
  if (!options.max_memory.empty()) {
    sim.max_memory_bytes =
        ParseBytes(options.max_memory, "--max-memory").value();
  }
  return sim;
}

}  // namespace podsim
