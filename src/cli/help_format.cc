#include "cli/help_format.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

namespace podsim {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 25;  // of what options do

// Of commands with many options --help fits a screen: these are only named.
constexpr const char* kRare[] = {"--matrix",
                                 "--distribution",
                                 "--groups",
                                 "--root",
                                 "--shift",
                                 "--pairs",
                                 "--set",
                                 "--fault",
                                 "--ideal",
                                 "--engine",
                                 "--force",
                                 "--network",
                                 "--fold",
                                 "--verify",
                                 "--max-memory",
                                 "--progress",
                                 "--timing",
                                 "--trace-chips",
                                 "--trip-count",
                                 "--compute-scale",
                                 "--step-mode",
                                 "--async",
                                 "--op-times",
                                 "--csv",
                                 "--top",
                                 "--device-assignment",
                                 "--process-groups",
                                 "--astra"};
constexpr std::size_t kManyOptions = 14;

bool IsRare(const CLI::App& command, const CLI::Option& option) {
  return command.get_options().size() >= kManyOptions &&
         std::any_of(std::begin(kRare), std::end(kRare),
                     [&](const char* name) { return option.check_name(name); });
}

struct Example {
  const char* command;
  const char* line;
};
constexpr Example kExamples[] = {
    {"simulate", "simulate workloads/fsdp_two_layers.json --trace step.json"},
    {"explain", "explain workloads/fsdp_two_layers.json"},
    {"collective", "collective all-reduce --bytes 64MiB --slice v5e:16x16"},
    {"compare", "compare all-gather --bytes 1MiB --slice v5p:4x4x8"},
    {"lower", "lower all-reduce --bytes 1MiB --slice v5e:4x4 -o ar.json"},
    {"verify", "verify ar.json"},
    {"sweep", "sweep sweep.json --jobs 2 -o results.csv"},
    {"check", "check results.csv baseline.csv --tolerance 2%"},
    {"topology", "topology v5p:4x4x8:twisted"},
    {"lowerings", "lowerings --choose --slice v5e:4x4"},
    {"generations", "generations --json"},
    {"completions", "completions bash"}};

// `text` word by word from column `at` on; later lines begin at `indent`.
std::string Wrapped(const std::string& text, std::size_t at,
                    std::size_t indent) {
  std::istringstream words(text);
  std::string result, word;
  bool first = true;  // of its line
  while (words >> word) {
    if (!first && at + 1 + word.size() > kColumns) {
      result += "\n" + std::string(indent, ' ');
      at = indent;
      first = true;
    }
    if (!first) result += " ";
    at += word.size() + (first ? 0 : 1);
    result += word;
    first = false;
  }
  return result;
}

// "  NAME   what it does", wrapped.
std::string Row(const std::string& name, const std::string& text) {
  std::string row = "  " + name;
  if (row.size() + 1 > kIndent) {
    row += "\n" + std::string(kIndent, ' ');
  } else {
    row.resize(kIndent, ' ');
  }
  return row + Wrapped(text, kIndent, kIndent) + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return Wrapped(app->get_description(), 0, 0) + "\n";
  }

  std::string make_option(const CLI::Option* option,
                          bool positional) const override {
    if (!positional &&
        (option->check_name("--help") || option->check_name("--help-all"))) {
      return "";
    }
    std::string name = option->get_name(positional, !positional);
    // A flag of a value of its own, "--json{-}".
    if (const auto at = name.find('{'); at != std::string::npos) {
      name.resize(at);
    }
    const bool value = !positional && option->get_expected_min() > 0;
    std::string text = option->get_description();
    if (option->get_required()) text = "(required) " + text;
    // "TEXT:auto|off": what the validator says.
    const std::string type = option->get_type_name();
    const auto known = type.find(':');
    if (known != std::string::npos) text += " [" + type.substr(known + 1) + "]";
    return Row(value ? name + " .." : name, text);
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return make_description(app) + make_usage(app, name) +
           make_positionals(app) + OptionRows(app, mode) +
           make_subcommands(app, CLI::AppFormatMode::Normal) + "\n" +
           make_footer(app);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return Row(command->get_name(), command->get_description());
  }

 private:
  // With rare options only by name, unless all were asked for.
  std::string OptionRows(const CLI::App* app, CLI::AppFormatMode mode) const {
    std::string rows, more;
    for (const CLI::Option* option : app->get_options()) {
      if (!option->nonpositional()) continue;
      if (mode != CLI::AppFormatMode::All && IsRare(*app, *option)) {
        more += " --" + option->get_single_name();
      } else {
        rows += make_option(option, false);
      }
    }
    std::string text = rows.empty() ? "" : "\nOptions:\n" + rows;
    if (!more.empty()) {
      text += Row("--help-all", "explains these too:" + more);
    }
    return text;
  }
};

}  // namespace

void FormatHelp(CLI::App& app) {
  const auto formatter = std::make_shared<HelpFormatter>();
  app.formatter(formatter);
  for (const Example& example : kExamples) {
    CLI::App* command = app.get_subcommand(example.command);
    command->formatter(formatter);
    command->footer(
        std::string("Example: podsim ") + example.line +
        "\nExit status: 0 done; 1 the answer is no; 2 usage or input.");
  }
}

}  // namespace podsim
