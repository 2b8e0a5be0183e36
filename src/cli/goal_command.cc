#include "cli/goal_command.h"

#include <iostream>

#include "base/error.h"
#include "cli/hlo_file.h"
#include "cli/outputs.h"
#include "cli/step_commands.h"
#include "engine/loggops_parameters.h"
#include "report/goal_report.h"

namespace podsim {
namespace {

// An ideal network has no slice, no links, and nothing to choose or prove.
void RejectOtherFlags(const CliOptions& options) {
  RejectHloFlags(options);
  RejectStepFlags(options);
  for (const auto& [flag, given] :
       {std::pair("--slice", !options.slice.empty()),
        std::pair("--bytes", !options.bytes.empty()),
        std::pair("--lowering", !options.lowerings.empty()),
        std::pair("--fault", !options.faults.empty()),
        std::pair("--ideal", options.ideal),
        std::pair("--engine", options.engine != "pod"),
        std::pair("--force", options.force),
        std::pair("--fold", options.fold != "auto"),
        std::pair("--verify", options.verify != "auto"),
        std::pair("--max-memory", !options.max_memory.empty()),
        std::pair("--progress", options.progress != "auto"),
        std::pair("--html", !options.html.empty()),
        std::pair("--trace", !options.trace.empty()),
        std::pair("--trace-chips", !options.trace_chips.empty()),
        std::pair("--top", !options.top.empty())}) {
    if (given) throw InputError(flag, "is not for GOAL files; leave it out");
  }
  if (options.network == "loggp") return;
  throw InputError("--network",
                   "GOAL files run on loggp, an ideal network, got \"" +
                       options.network + "\"; write --network loggp");
}

}  // namespace

int SimulateGoalFile(const CliOptions& options) {
  RejectOtherFlags(options);
  LoggopsParameters parameters;
  for (const std::string& set : options.sets) {
    SetLoggopsParameter(set, parameters);
  }
  Outputs outputs(options);
  PhaseTimes times;
  const GoalProgram program = ReadGoal(options.file);
  GoalTimeline timeline;
  {
    const PhaseTimer timer(times.engine);
    timeline = RunLoggops(program, parameters);
  }
  if (!timeline.complete()) {
    std::cout << GoalDeadlock(options.file, program, timeline);
    return 1;
  }
  outputs.Write([&] { return GoalTable(timeline, parameters); },
                [&] { return GoalResultJson(timeline, parameters); },
                [] { return std::string(); }, times);
  return 0;
}

}  // namespace podsim
