#include "sim/sweep.h"

#include <fnmatch.h>

#include <filesystem>
#include <unordered_map>

#include "base/check.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/text.h"
#include "base/text_file.h"
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

namespace {

// What a file named by `spec` holds; "" if it names none.
std::string FileContent(const std::string& spec) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(spec, ignored)) return "";
  return ReadTextFile(spec);
}

// Equal for points that ask the same, of the same files.
std::string KeyOf(const SweepPoint& point) {
  std::string key = RequestOf(point);
  std::string files = FileContent(point.slice);
  if (point.workload_json) {
    files += point.workload_json->Text();
    const auto slice = point.workload_json->Find("slice");
    if (slice && slice->is_string()) files += FileContent(slice->AsString());
  }
  if (!files.empty()) key += " files=" + Hex(Fnv1a(files));
  return key;
}

// Points that ask the same are one.
struct DistinctPoints {
  std::vector<std::size_t> first;  // by distinct point: the first such point
  std::vector<std::string> keys;   // by distinct point
  std::vector<std::size_t> of;     // by point: its distinct point
};

DistinctPoints Distinct(const std::vector<SweepPoint>& points) {
  DistinctPoints distinct;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const auto [entry, is_new] =
        known.try_emplace(KeyOf(points[k]), distinct.keys.size());
    if (is_new) {
      distinct.first.push_back(k);
      distinct.keys.push_back(entry->first);
    }
    distinct.of.push_back(entry->second);
  }
  return distinct;
}

bool Matches(const SweepPoint& point, const std::string& pattern) {
  for (const std::string& word : Split(RequestOf(point), ' ')) {
    if (fnmatch(pattern.c_str(), word.c_str(), 0) == 0) return true;
  }
  return false;
}

// The rows that the journal has, by distinct point.
std::vector<std::optional<SweepRow>> KnownRows(const DistinctPoints& distinct,
                                               const Journal* journal) {
  std::vector<std::optional<SweepRow>> rows(distinct.keys.size());
  if (journal == nullptr) return rows;
  std::unordered_map<std::string, const std::string*> texts;
  for (const Journal::Record& record : journal->records()) {
    texts[record.key] = &record.text;
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto found = texts.find(distinct.keys[k]);
    if (found != texts.end()) rows[k] = Unpack(*found->second);
  }
  return rows;
}

}  // namespace

std::vector<SweepPoint> Filtered(const std::vector<SweepPoint>& points,
                                 const std::vector<std::string>& only,
                                 const std::vector<std::string>& except) {
  std::vector<bool> kept(points.size(), true);
  const auto apply = [&](const std::string& pattern, bool keep,
                         const std::string& flag) {
    bool used = false;
    for (std::size_t k = 0; k < points.size(); ++k) {
      const bool matches = Matches(points[k], pattern);
      used = used || matches;
      if (matches != keep) kept[k] = false;
    }
    if (used) return;
    throw InputError(flag + " " + pattern, "matches no word of any of the " +
                                               std::to_string(points.size()) +
                                               " points; the first is \"" +
                                               RequestOf(points.at(0)) + "\"");
  };
  for (const std::string& pattern : only) apply(pattern, true, "--only");
  for (const std::string& pattern : except) apply(pattern, false, "--except");
  std::vector<SweepPoint> left;
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (kept[k]) left.push_back(points[k]);
  }
  if (left.empty()) {
    throw InputError("--only, --except", "no point matches all of them");
  }
  return left;
}

std::vector<std::size_t> ShardOf(const std::vector<SweepPoint>& points,
                                 const Shard& shard) {
  const DistinctPoints distinct = Distinct(points);
  std::vector<std::size_t> dealt;
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (distinct.of[k] % shard.of == shard.number - 1) dealt.push_back(k);
  }
  return dealt;
}

std::string SweepFingerprint(const std::vector<SweepPoint>& points) {
  std::uint64_t hash = Fnv1a("");
  for (const SweepPoint& point : points)
    hash = Fnv1a(KeyOf(point) + "\n", hash);
  return Hex(hash);
}

std::vector<SweepRow> RunSweep(const std::vector<SweepPoint>& points,
                               const SimOptions& options, int jobs,
                               const RowText& row_text, Journal* journal,
                               const SweepProgress& progress) {
  BuiltInGenerations();  // read once here, not once in every process
  const DistinctPoints distinct = Distinct(points);
  std::vector<std::optional<SweepRow>> rows = KnownRows(distinct, journal);
  std::vector<std::size_t> left;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (!rows[k]) left.push_back(k);
  }
  std::size_t done = rows.size() - left.size(), failed = 0;
  progress(done, failed, rows.size());
  RunForked(
      left.size(), jobs,
      [&](std::size_t task) {
        const SweepPoint& point = points[distinct.first[left[task]]];
        const SweepResult result = RunPoint(point, options);
        return Pack(row_text(point, result), result.warnings);
      },
      [&](std::size_t task, const ForkedResult& result) {
        const std::size_t k = left[task];
        ++done;
        if (result.ok) {
          if (journal != nullptr) {
            journal->Append({.key = distinct.keys[k], .text = result.output});
          }
          rows[k] = Unpack(result.output);
        } else {
          ++failed;
          SweepResult failure;
          failure.error = result.failure;
          rows[k] = {.text = row_text(points[distinct.first[k]], failure),
                     .error = failure.error,
                     .warnings = {}};
        }
        progress(done, failed, rows.size());
      });
  std::vector<SweepRow> of_points;
  for (const std::size_t k : distinct.of) of_points.push_back(*rows[k]);
  return of_points;
}

}  // namespace podsim
