#include "cli/commands.h"

#include <algorithm>
#include <functional>
#include <iostream>

#include "base/check.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "cli/astra_files.h"
#include "cli/chakra_file.h"
#include "cli/collectives_of.h"
#include "cli/goal_command.h"
#include "cli/hlo_file.h"
#include "cli/outputs.h"
#include "cli/run_options.h"
#include "cli/step_commands.h"
#include "cli/sweep_commands.h"
#include "report/csv.h"
#include "report/html.h"
#include "report/json.h"
#include "report/output_file.h"
#include "report/progress_line.h"
#include "report/table.h"
#include "report/terminal_plot.h"
#include "report/topology_report.h"
#include "report/trace.h"
#include "schedule/goal.h"
#include "schedule/instantiate.h"
#include "schedule/msccl_xml.h"
#include "schedule/schedule_file.h"
#include "schedule/schedule_json.h"
#include "sim/choose_lowering.h"
#include "sim/memory_guard.h"
#include "sim/simulate.h"
#include "workload/chakra.h"
#include "workload/hlo_workload.h"

namespace podsim {
namespace {

constexpr int kDone = 0;
constexpr int kAnswerIsNo = 1;
constexpr std::size_t kShownViolations = 10;

Slice ResolveSlice(const CliOptions& options) {
  Slice slice = MakeSlice(SliceRequestOf(options));
  Warn(slice.warnings);
  return slice;
}

// The one --lowering of a collective; "auto" if none.
std::string LoweringText(const CliOptions& options) {
  if (options.lowerings.size() > 1) {
    throw InputError("--lowering",
                     "expected one lowering; use `podsim compare` "
                     "or --lowering all for several");
  }
  return options.lowerings.empty() ? "auto" : options.lowerings[0];
}

std::optional<LoweringSpec> LoweringOf(const CliOptions& options) {
  const std::string text = LoweringText(options);
  if (text == "auto") return std::nullopt;
  return ParseLoweringSpec(text, "--lowering");
}

// Measured for the report alone: the other outputs do not depend on it.
void DropLinks(std::vector<Point>& points) {
  for (Point& point : points) point.links.reset();
}

int RunCollective(const CliOptions& options) {
  const bool all =
      options.command == "compare" || LoweringText(options) == "all";
  const std::optional<LoweringSpec> lowering =
      all ? std::nullopt : LoweringOf(options);
  RunLine line = MakeRunLine(options);
  const SimOptions sim = WatchedBy(line, options);
  const Slice slice = ResolveSlice(options);
  const std::vector<Collective> collectives = CollectivesOf(options, slice);
  RequireTraceable(options, sim);
  const std::vector<ChipId> trace_chips = TraceChips(options, slice.topology);
  const int top = TopOf(options);
  if (!options.trace.empty() && (all || collectives.size() != 1)) {
    throw InputError("--trace",
                     "expected one lowering and one payload to trace");
  }
  Outputs outputs(options);
  PhaseTimes times;
  std::vector<Point> points;
  std::vector<NotApplicable> not_applicable;
  RunRecord record;
  for (const Collective& collective : collectives) {
    if (!all) {
      points.push_back(
          SimulateCollective(collective, slice, lowering, "--lowering", sim,
                             times, outputs.records() ? &record : nullptr));
      continue;
    }
    Comparison comparison = CompareLowerings(collective, slice, sim, times);
    points.insert(points.end(), comparison.points.begin(),
                  comparison.points.end());
    not_applicable = std::move(comparison.not_applicable);
  }
  if (outputs.traces()) {
    outputs.SetTrace(TraceJson(record, slice, trace_chips, "--trace"));
  }
  if (outputs.reports()) {
    outputs.SetHtml(HtmlReport(
        {.title = TitleOf(options, options.kind, slice),
         .result = ResultJson(slice.parameters, points, not_applicable),
         .slice = &slice,
         .record = all ? nullptr : Recorded(record)}));
    if (!ListsLinks(options)) DropLinks(points);
  }
  outputs.Write(
      [&] {
        std::string text = PointsTable(slice, points, not_applicable);
        for (const Point& point : points) {
          if (top > 0 && point.links) text += LinksTable(*point.links, top);
        }
        return text;
      },
      [&] { return ResultJson(slice.parameters, points, not_applicable); },
      [&] { return PointsCsv(points); }, times);
  if (options.command == "compare") {
    DrawPlot(options, !outputs.table(), [&](std::size_t columns) {
      return TerminalPlot(EfficienciesOf(points), columns);
    });
  }
  return kDone;
}

int RunLower(const CliOptions& options) {
  const std::optional<LoweringSpec> lowering = LoweringOf(options);
  const SimOptions sim = SimOptionsOf(options);
  const Slice slice = ResolveSlice(options);
  const std::vector<Collective> collectives = CollectivesOf(options, slice);
  if (collectives.size() != 1) {
    throw InputError("--bytes", "expected one payload, got " + options.bytes);
  }
  const bool traces = IsChakraName(options.output);
  std::optional<OutputFile> file;
  if (!traces) file.emplace(options.output, "-o " + options.output);
  const LoweredCollective lowered =
      LowerOrChoose(collectives[0], slice, lowering, "--lowering", sim);
  RequireFewUnfolded(lowered, slice.topology, "lower");
  RequireMemory(CountTransfers(lowered, slice.topology), sim, "--max-memory",
                "take fewer chips or batches");
  VerifyLowered(lowered, slice, sim);
  const Schedule schedule = MakeSchedule(
      lowered, slice.topology, NoFold(slice.topology), collectives[0].payload);
  if (traces) {
    WriteChakraFiles(schedule, slice.topology.chips(), options);
    return kDone;
  }
  const CollectiveMeaning meaning = MeaningOf(lowered, slice.topology);
  WriteScheduleFile(options.output, schedule, meaning, slice,
                    [&](const std::string& text) { file->Write(text); });
  file->Commit();
  return kDone;
}

void PrintViolations(const std::string& path, const Violations& violations) {
  std::cout << path << ": " << violations.count()
            << (violations.count() == 1 ? " violation" : " violations") << "\n";
  std::size_t shown = 0;
  for (const std::string& text : violations.texts()) {
    if (++shown > kShownViolations) break;
    std::cout << "  " << text << "\n";
  }
  if (violations.count() > kShownViolations) {
    std::cout << "  ... and " << violations.count() - kShownViolations
              << " more\n";
  }
}

// --bytes of a schedule that leaves its payload open.
std::optional<Bytes> PayloadOf(const CliOptions& options) {
  if (options.bytes.empty()) return std::nullopt;
  return ParseBytes(options.bytes, "--bytes");
}

int RunVerify(const CliOptions& options) {
  if (IsChakraFile(options.file)) {
    throw InputError(options.file,
                     "a trace does not say what its messages must compute; "
                     "verify a schedule");
  }
  const ScheduleFile file = ReadScheduleFile(
      options.file, SliceRequestOf(options), PayloadOf(options));
  const Violations violations = JudgeSchedule(file);
  if (!violations.empty()) {
    PrintViolations(options.file, violations);
    return kAnswerIsNo;
  }
  std::cout << options.file << ": valid: " << file.meaning.kind << " of "
            << file.meaning.payload.value() << " bytes on " << file.slice.spec
            << ", " << file.schedule.transfers()
            << " transfers, proved by replay\n";
  return kDone;
}

int SimulateScheduleFile(const CliOptions& options) {
  RejectScheduleFlags(options);
  RunLine line = MakeRunLine(options);
  const SimOptions sim = WatchedBy(line, options);
  Outputs outputs(options);
  const ScheduleFile file =
      IsChakraFile(options.file)
          ? ReadChakraSchedule(options)
          : ReadScheduleFile(options.file, SliceRequestOf(options),
                             PayloadOf(options));
  Warn(file.slice.warnings);
  RequireTraceable(options, sim);
  const std::vector<ChipId> trace_chips =
      TraceChips(options, file.slice.topology);
  const int top = TopOf(options);
  PhaseTimes times;
  RunRecord record;
  const ScheduleResult result =
      SimulateSchedule(file, sim, times, outputs.records() ? &record : nullptr);
  if (!result.violations.empty()) {
    PrintViolations(options.file, result.violations);
    return kAnswerIsNo;
  }
  const std::vector<Point> points = {result.point};
  if (outputs.traces()) {
    outputs.SetTrace(TraceJson(record, file.slice, trace_chips, "--trace"));
  }
  if (outputs.reports()) {
    outputs.SetHtml(
        HtmlReport({.title = TitleOf(options, options.file, file.slice),
                    .result = ResultJson(file.slice.parameters, points, {}),
                    .slice = &file.slice,
                    .record = Recorded(record)}));
  }
  outputs.Write(
      [&] {
        std::string text = PointsTable(file.slice, points, {});
        if (top > 0 && result.point.links) {
          text += LinksTable(*result.point.links, top);
        }
        return text;
      },
      [&] { return ResultJson(file.slice.parameters, points, {}); },
      [&] { return PointsCsv(points); }, times);
  return kDone;
}

int RunSimulate(const CliOptions& options) {
  if (IsAstra(options)) {
    RejectChakraFlags(options);
    return SimulateStepFile(options);
  }
  if (IsGoalFile(options.file)) {
    RejectChakraFlags(options);
    return SimulateGoalFile(options);
  }
  if (IsHloFile(options.file)) return SimulateStepFile(options);
  RejectHloFlags(options);
  if (IsChakraFile(options.file)) {
    return AreChakraMessages(options) ? SimulateScheduleFile(options)
                                      : SimulateStepFile(options);
  }
  RejectChakraFlags(options);
  if (IsMscclFile(options.file)) return SimulateScheduleFile(options);
  const JsonValue format = JsonValue::ReadFile(options.file).Get("format");
  if (format.AsString() == "podsim-schedule/1") {
    return SimulateScheduleFile(options);
  }
  if (format.AsString() == "podsim-workload/1") {
    return SimulateStepFile(options);
  }
  format.Fail(
      "expected \"podsim-workload/1\" or \"podsim-schedule/1\", got \"" +
      format.AsString() + "\"");
}

int RunTopology(const CliOptions& options) {
  const Slice slice = ResolveSlice(options);
  if (options.dot) {
    std::cout << TopologyDot(slice);
  } else {
    std::cout << (options.json.empty() ? TopologyTable(slice)
                                       : TopologyJson(slice));
  }
  return kDone;
}

// What auto takes, kind by kind and payload by payload.
int RunChoose(CliOptions options) {
  if (options.slice.empty()) {
    throw InputError("--choose",
                     "expected the slice to choose on: --slice v5e:4x4");
  }
  std::vector<std::string> kinds = {
      "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"};
  if (!options.kind.empty()) kinds = {options.kind};
  if (options.bytes.empty()) options.bytes = "1KiB..64MiB x4";
  const Slice slice = ResolveSlice(options);
  const SimOptions sim = SimOptionsOf(options);
  PhaseTimes times;
  std::vector<Point> points;
  for (const std::string& kind : kinds) {
    options.kind = kind;
    for (const Collective& collective : CollectivesOf(options, slice)) {
      points.push_back(SimulateCollective(collective, slice, std::nullopt,
                                          "--choose", sim, times));
    }
  }
  std::cout << (options.json.empty()
                    ? PointsTable(slice, points, {})
                    : ResultJson(slice.parameters, points, {}));
  return kDone;
}

int RunLowerings(const CliOptions& options) {
  if (options.choose) return RunChoose(options);
  for (const auto& [flag, value] : {std::pair("--slice", options.slice),
                                    std::pair("--bytes", options.bytes),
                                    std::pair("--collective", options.kind)}) {
    if (value.empty()) continue;
    throw InputError(flag, "is for --choose; add --choose or leave it out");
  }
  std::cout << (options.json.empty() ? LoweringsTable() : LoweringsJson());
  return kDone;
}

int RunGenerations(const CliOptions& options) {
  std::cout << (options.json.empty() ? GenerationsTable(BuiltInGenerations())
                                     : GenerationsJson(BuiltInGenerations()));
  return kDone;
}

struct Command {
  const char* name;
  int (*run)(const CliOptions&);
};
constexpr Command kCommands[] = {
    {"simulate", RunSimulate},   {"collective", RunCollective},
    {"compare", RunCollective},  {"lower", RunLower},
    {"explain", RunExplain},     {"verify", RunVerify},
    {"sweep", RunSweepCommand},  {"check", RunCheckCommand},
    {"merge", RunMergeCommand},  {"topology", RunTopology},
    {"lowerings", RunLowerings}, {"generations", RunGenerations}};

}  // namespace

void RejectScheduleFlags(const CliOptions& options) {
  if (!options.lowerings.empty()) {
    throw InputError("--lowering", "a schedule is lowered already");
  }
  RejectStepFlags(options);
  if (options.fold == "on") {
    throw InputError("--fold on",
                     "a schedule is simulated as it stands, on every chip; "
                     "leave it out");
  }
}

int RunCommand(const CliOptions& options) {
  for (const Command& command : kCommands) {
    if (options.command == command.name) return command.run(options);
  }
  CHECK(false) << options.command;
  return kDone;
}

}  // namespace podsim
