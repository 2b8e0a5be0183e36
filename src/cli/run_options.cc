#include "cli/run_options.h"

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {

void Warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    std::cerr << "podsim: warning: " << warning << "\n";
  }
}

std::vector<ChipId> TraceChips(const CliOptions& options,
                               const Topology& topology) {
  std::vector<ChipId> chips;
  if (options.trace_chips.empty()) return chips;
  if (options.trace.empty()) {
    throw InputError("--trace-chips", "goes with --trace FILE");
  }
  for (const std::string& text : Split(options.trace_chips, ',')) {
    const ChipId chip(static_cast<std::uint32_t>(
        ParseCount(text, 0, topology.chips() - 1, "--trace-chips")));
    if (!topology.Live(chip)) {
      throw InputError("--trace-chips", "chip " + text + " is dead");
    }
    if (std::find(chips.begin(), chips.end(), chip) != chips.end()) {
      throw InputError("--trace-chips", "chip " + text + " stands twice");
    }
    chips.push_back(chip);
  }
  return chips;
}

int TopOf(const CliOptions& options) {
  return options.top.empty() ? 0 : ParseCount(options.top, 1, 1 << 24, "--top");
}

void RequireTraceable(const CliOptions& options, const SimOptions& sim) {
  if (options.trace.empty() || sim.engine != EngineKind::kBound) return;
  throw InputError("--trace",
                   "--engine bound runs nothing that could be traced");
}

std::string TitleOf(const CliOptions& options, const std::string& what,
                    const Slice& slice) {
  return "podsim " + options.command + " " + what + " on " + slice.spec;
}

const RunRecord* Recorded(const RunRecord& record) {
  return record.schedule.size() == 0 ? nullptr : &record;
}

RunLine MakeRunLine(const CliOptions& options) {
  return RunLine(ShowsProgress(options), options.progress == "on" ? 0 : 1);
}

SimOptions WatchedBy(RunLine& line, const CliOptions& options) {
  SimOptions sim = SimOptionsOf(options);
  sim.watch = [&line](const RunProgress& progress) { line.Update(progress); };
  return sim;
}

}  // namespace podsim
