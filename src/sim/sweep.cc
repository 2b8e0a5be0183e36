#include "sim/sweep.h"

#include "base/check.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/text.h"
#include "collective/groups.h"
#include "sim/simulate.h"
#include "topology/generation.h"

namespace podsim {

SliceRequest RequestSlice(const SweepPoint& point) {
  SliceRequest request;
  request.spec = point.slice;
  request.spec_where = "slice";
  request.faults = point.faults;
  for (const auto& [key, value] : point.sets) {
    request.sets.push_back(key + "=" + value);
  }
  return request;
}

namespace {

std::vector<int> GroupAxes(const SweepPoint& point, const Topology& topology) {
  if (!point.axes.empty()) return ParseAxes(point.axes, topology, "axes");
  return AllAxes(topology);
}

// A row and its warnings as the output of a process: the warnings, a line
// each, and behind a zero byte the row.
std::string Pack(const std::string& row,
                 const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += warning + "\n";
  return text + '\0' + row;
}

SweepRow Unpack(const std::string& text) {
  const auto end = text.find('\0');
  CHECK(end != std::string::npos) << text;
  SweepRow row;
  row.text = text.substr(end + 1);
  row.warnings = Split(text.substr(0, end), '\n');
  row.warnings.pop_back();  // behind the last line
  return row;
}

}  // namespace

std::string RequestOf(const SweepPoint& point) {
  std::vector<std::string> words;
  if (point.collective) {
    words.emplace_back(ToText(*point.collective));
  } else {
    words.push_back("workload=" + point.workload);
  }
  if (!point.slice.empty()) words.push_back("slice=" + point.slice);
  if (point.collective) {
    words.push_back("bytes=" + std::to_string(point.payload.value()));
  }
  if (!point.axes.empty()) words.push_back("axes=" + point.axes);
  for (const std::string& text : point.lowerings) {
    words.push_back("lowering=" + text);
  }
  const SweepPoint defaults;
  if (point.network != defaults.network) {
    words.push_back("network=" + point.network);
  }
  if (point.fold != defaults.fold) {
    words.push_back(std::string("fold=") + ToText(point.fold));
  }
  for (const std::string& text : point.faults) words.push_back("fault=" + text);
  for (const auto& [key, value] : point.sets) {
    words.push_back(key + "=" + value);
  }
  return Join(words, " ");
}

SweepResult RunPoint(const SweepPoint& point, const SimOptions& options) {
  SimOptions sim = options;
  sim.fold = point.fold;
  sim.network = ParseNetworkModel(point.network, "network");
  PhaseTimes times;
  SweepResult result;
  if (point.workload_json) {
    const Workload workload = ReadWorkload(
        *point.workload_json,
        {.slice = RequestSlice(point), .lowerings = point.lowerings});
    result.parameters = workload.slice.parameters;
    result.warnings = workload.slice.warnings;
    result.warnings.insert(result.warnings.end(), workload.warnings.begin(),
                           workload.warnings.end());
    result.step = SimulateStep(workload, sim, times);
    return result;
  }
  const Slice slice = MakeSlice(RequestSlice(point));
  const Collective collective{.kind = *point.collective,
                              .payload = point.payload,
                              .axes = GroupAxes(point, slice.topology)};
  RequireDcn(collective, slice.topology, "slice");
  RequireCountable(collective, slice.topology, "bytes");
  const std::string& lowering = point.lowerings.at(0);
  std::optional<LoweringSpec> spec;
  if (lowering != "auto") spec = ParseLoweringSpec(lowering, "lowering");
  result.parameters = slice.parameters;
  result.warnings = slice.warnings;
  result.collective =
      SimulateCollective(collective, slice, spec, "lowering", sim, times);
  return result;
}

std::vector<SweepRow> RunSweep(
    const std::vector<SweepPoint>& points, const SimOptions& options, int jobs,
    const RowText& row_text,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  BuiltInGenerations();  // read once here, not once in every process
  std::size_t done = 0, failed = 0;
  const std::vector<ForkedResult> results = RunForked(
      points.size(), jobs,
      [&](std::size_t k) {
        const SweepResult result = RunPoint(points[k], options);
        return Pack(row_text(points[k], result), result.warnings);
      },
      [&](const ForkedResult& result) {
        ++done;
        if (!result.ok) ++failed;
        progress(done, failed);
      });
  std::vector<SweepRow> rows;
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (results[k].ok) {
      rows.push_back(Unpack(results[k].output));
      continue;
    }
    SweepResult result;
    result.error = results[k].failure;
    rows.push_back({.text = row_text(points[k], result),
                    .error = result.error,
                    .warnings = {}});
  }
  return rows;
}

}  // namespace podsim
