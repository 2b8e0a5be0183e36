#include "cli/step_commands.h"

#include "base/error.h"
#include "base/json_reader.h"
#include "base/text_file.h"
#include "cli/astra_files.h"
#include "cli/chakra_file.h"
#include "cli/hlo_file.h"
#include "cli/outputs.h"
#include "cli/run_options.h"
#include "report/html.h"
#include "report/json.h"
#include "report/step_table.h"
#include "report/table.h"
#include "report/trace.h"
#include "sim/explain.h"
#include "sim/simulate.h"
#include "workload/chakra.h"
#include "workload/step_edits.h"
#include "workload/workload.h"

namespace podsim {
namespace {

Workload ReadFile(const CliOptions& options) {
  if (IsAstra(options)) {
    RejectChakraFlags(options);
    return ReadAstraWorkload(options);
  }
  if (IsHloFile(options.file)) {
    RejectChakraFlags(options);
    return ReadHloWorkload(options);
  }
  RejectHloFlags(options);
  if (IsChakraFile(options.file)) return ReadChakraWorkload(options);
  RejectChakraFlags(options);
  return ReadWorkload(
      JsonValue::ReadFile(options.file),
      {.slice = SliceRequestOf(options), .lowerings = options.lowerings});
}

}  // namespace

Workload EditedStep(Workload workload, const CliOptions& options) {
  if (options.async_mode == "off") MakeAllSync(workload.graph);
  if (options.async_mode == "all") MakeAllAsync(workload.graph);
  if (!options.op_times.empty()) {
    SetOpTimes(ReadTextFile(options.op_times), options.op_times, workload.graph,
               workload.warnings);
  }
  return workload;
}

Workload ReadStep(const CliOptions& options) {
  return EditedStep(ReadFile(options), options);
}

namespace {

// What the transfers of the engine do not take of the TensorCore.
void WarnOfFused(const StepGraph& graph, const SimOptions& sim) {
  if (sim.step_mode == StepMode::kAbstract) return;
  for (const StepOp& op : graph.ops) {
    if (op.mode != CollectiveMode::kAsyncFused) continue;
    Warn({op.where +
          ": async_fused runs as async in --step-mode engine, without taking "
          "a share of the TensorCore; use --step-mode abstract"});
    return;
  }
}

// Dates of faults would be ignored.
void RejectDatedFaults(const Slice& slice) {
  const DatedFaults& dated = slice.topology.dated();
  if (dated.empty()) return;
  throw InputError(dated.faults[0].where,
                   "explain and --step-mode abstract know no dates of faults; "
                   "use simulate without --step-mode abstract");
}

}  // namespace

void RejectBytesOfStep(const CliOptions& options) {
  if (options.bytes.empty()) return;
  throw InputError("--bytes", "the sizes of a workload are in its file");
}

void RequireRunnable(const Workload& workload, const SimOptions& sim) {
  if (sim.step_mode != StepMode::kAbstract ||
      sim.engine == EngineKind::kBound) {
    return;
  }
  RejectDatedFaults(workload.slice);
}

int SimulateStepFile(const CliOptions& options) {
  RejectBytesOfStep(options);
  RunLine line = MakeRunLine(options);
  const SimOptions sim = WatchedBy(line, options);
  const Workload workload = ReadStep(options);
  Warn(workload.slice.warnings);
  Warn(workload.warnings);
  WarnOfFused(workload.graph, sim);
  Outputs outputs(options);
  RequireTraceable(options, sim);
  if (!options.trace.empty() && sim.step_mode == StepMode::kAbstract) {
    throw InputError("--trace",
                     "--step-mode abstract has no transfers on links "
                     "to trace; leave one of the two out");
  }
  const std::vector<ChipId> trace_chips =
      TraceChips(options, workload.slice.topology);
  const int top = TopOf(options);
  RequireRunnable(workload, sim);
  if (sim.step_mode == StepMode::kAbstract &&
      sim.engine != EngineKind::kBound && top > 0) {
    throw InputError("--top",
                     "--step-mode abstract has no transfers on links to "
                     "list; leave one of the two out");
  }
  PhaseTimes times;
  RunRecord record;
  const StepResult step =
      SimulateStep(workload, sim, times, outputs.records() ? &record : nullptr);
  if (outputs.traces()) {
    outputs.SetTrace(TraceJson(record, workload.slice, trace_chips, "--trace"));
  }
  if (outputs.reports()) {
    outputs.SetHtml(
        HtmlReport({.title = TitleOf(options, options.file, workload.slice),
                    .result = ResultJson(workload.slice.parameters, step),
                    .slice = &workload.slice,
                    .record = Recorded(record)}));
  }
  outputs.Write(
      [&] {
        std::string text = StepTable(workload.slice, step);
        if (top > 0 && step.links) text += LinksTable(*step.links, top);
        return text;
      },
      [&] { return ResultJson(workload.slice.parameters, step); },
      [] { return std::string(); }, times);
  return 0;
}

int RunExplain(const CliOptions& options) {
  const SimOptions sim = SimOptionsOf(options);
  if (sim.engine == EngineKind::kBound) {
    throw InputError("--engine",
                     "bound times nothing that could be "
                     "explained; use pod");
  }
  const Workload workload = ReadStep(options);
  Warn(workload.slice.warnings);
  Warn(workload.warnings);
  Outputs outputs(options);
  PhaseTimes times;
  RejectDatedFaults(workload.slice);
  const Explanation explanation = Explain(workload, sim, times);
  outputs.Write(
      [&] { return ExplanationTable(workload.slice, explanation); },
      [&] { return ExplanationJson(workload.slice.parameters, explanation); },
      [] { return std::string(); }, times);
  return 0;
}

void RejectStepFlags(const CliOptions& options) {
  for (const auto& [flag, given] :
       {std::pair("--step-mode", options.step_mode != "engine"),
        std::pair("--async", !options.async_mode.empty()),
        std::pair("--op-times", !options.op_times.empty())}) {
    if (given) throw InputError(flag, "is for steps; leave it out");
  }
}

}  // namespace podsim
