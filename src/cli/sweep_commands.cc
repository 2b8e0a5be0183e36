#include "cli/sweep_commands.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/journal.h"
#include "base/json_reader.h"
#include "base/parse_units.h"
#include "base/text_file.h"
#include "cli/outputs.h"
#include "report/check.h"
#include "report/html.h"
#include "report/nccl_baseline.h"
#include "report/output_file.h"
#include "report/progress_line.h"
#include "report/results_file.h"
#include "report/sweep_report.h"
#include "report/terminal_plot.h"
#include "report/version.h"
#include "sim/sweep.h"

namespace podsim {
namespace {

constexpr int kDone = 0;
constexpr int kAnswerIsNo = 1;
constexpr int kMaxJobs = 1024;
constexpr int kMaxLogRanks = 1 << 24;  // as many as chips of a slice
constexpr int kMaxShards = 1'000'000;  // as many as points

// `what` the input is.
void RequireAnotherFile(const std::string& flag, const std::string& output,
                        const std::string& input, const std::string& what) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(output, input, ignored)) return;
  throw InputError(flag + " " + output,
                   "is " + what + "; expected another file");
}

// "2/8".
Shard ParseShard(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos) {
    throw InputError("--shard",
                     "expected K/N, for example 2/8, got \"" + text + "\"");
  }
  Shard shard;
  shard.of = static_cast<std::size_t>(ParseCount(
      text.substr(slash + 1), 1, kMaxShards, "--shard " + text + ": N"));
  shard.number = static_cast<std::size_t>(
      ParseCount(text.substr(0, slash), 1, static_cast<int>(shard.of),
                 "--shard " + text + ": K"));
  return shard;
}

// The points that this run takes, and for a shard where they come from.
struct SweepPart {
  std::vector<SweepPoint> points;
  std::optional<ShardOrigin> origin;
};

SweepPart PartOf(const std::vector<SweepPoint>& all, const std::string& shard) {
  if (shard.empty()) return {.points = all, .origin = std::nullopt};
  SweepPart part;
  part.origin = {.sweep = std::string(kVersion) + "-" + SweepFingerprint(all),
                 .points = all.size(),
                 .places = ShardOf(all, ParseShard(shard))};
  for (const std::size_t place : part.origin->places) {
    part.points.push_back(all[place]);
  }
  return part;
}

// What the journal's texts are.
std::string KindOfRows(SweepFormat format, bool with_report) {
  const std::string kind = format == SweepFormat::kCsv ? "csv" : "json";
  return with_report ? kind + "+html" : kind;
}

// Beside the output; none where that is not a file of its own.
std::unique_ptr<Journal> JournalOf(const CliOptions& options,
                                   const std::string& kind) {
  const std::string& output = options.output;
  const bool is_file = !output.empty() && output != "-" &&
                       (!std::filesystem::exists(output) ||
                        std::filesystem::is_regular_file(output));
  if (!is_file && options.resume) {
    throw InputError("--resume",
                     "needs -o FILE: finished points are kept in FILE.journal");
  }
  if (!is_file) return nullptr;
  auto journal = std::make_unique<Journal>(
      output + ".journal", "rows=" + kind,
      options.resume ? Journal::Mode::kResume : Journal::Mode::kNew);
  if (journal->dropped() != 0) {
    std::cerr << "podsim: warning: " << journal->path() << ": "
              << journal->dropped()
              << " torn or damaged lines dropped; their points run again\n";
  }
  return journal;
}

LogReading LogReadingOf(const CliOptions& options) {
  LogReading reading;
  reading.collective = options.baseline_collective;
  reading.in_place = options.baseline_time == "in-place";
  if (!options.baseline_ranks.empty()) {
    reading.ranks =
        ParseCount(options.baseline_ranks, 2, kMaxLogRanks, "--baseline-ranks");
  }
  return reading;
}

}  // namespace

int RunSweepCommand(const CliOptions& options) {
  const int jobs = ParseCount(options.jobs, 1, kMaxJobs, "--jobs");
  SimOptions sim = SimOptionsOf(options);
  sim.links = false;  // reports of sweeps have no map
  const SweepFormat format = SweepFormatOf(options.output);
  RequireAnotherFile("-o", options.output, options.file, "the sweep itself");
  RequireAnotherFile("--html", options.html, options.file, "the sweep itself");
  const std::vector<SweepPoint> all =
      Filtered(ReadSweep(JsonValue::ReadFile(options.file)), options.only,
               options.except);
  const SweepPart part = PartOf(all, options.shard);
  const std::string path = options.output.empty() ? "-" : options.output;
  OutputFile file(path, "-o " + path);
  Outputs outputs(options);
  const RowText row_text =
      outputs.reports() ? WithReportRow(RowTextOf(format)) : RowTextOf(format);
  const std::unique_ptr<Journal> journal =
      JournalOf(options, KindOfRows(format, outputs.reports()));
  std::vector<SweepRow> rows;
  {
    ProgressLine line(ShowsProgress(options));
    rows = RunSweep(part.points, sim, jobs, row_text, journal.get(),
                    [&](std::size_t done, std::size_t failed, std::size_t of) {
                      line.Update(done, failed, of);
                    });
  }
  for (const std::string& warning : WarningsOf(rows)) {
    std::cerr << "podsim: warning: " << warning << "\n";
  }
  if (outputs.reports()) {
    outputs.SetHtml(HtmlReport({.title = "podsim sweep " + options.file,
                                .result = TakeReportRows(rows)}));
  }
  const std::string text = part.origin ? ShardText(format, rows, *part.origin)
                                       : SweepText(format, rows);
  file.Write(text);
  file.Commit();
  outputs.Commit();
  if (journal) journal->Remove();
  DrawPlot(options, path == "-", [&](std::size_t columns) {
    return TerminalPlot(EfficienciesOf(ParseResults(text, path)), columns);
  });
  const auto failure = FailureText(part.points, rows);
  if (failure) std::cerr << *failure << "\n";
  return failure ? kAnswerIsNo : kDone;
}

int RunMergeCommand(const CliOptions& options) {
  const std::string path = options.output.empty() ? "-" : options.output;
  const SweepFormat format = SweepFormatOf(options.files.front());
  if (!options.output.empty() && SweepFormatOf(options.output) != format) {
    throw InputError("-o " + path, "expected the format of the shards");
  }
  std::vector<ShardFile> shards;
  for (const std::string& name : options.files) {
    if (SweepFormatOf(name) != format) {
      throw InputError(name, "is of another format than " +
                                 options.files.front() +
                                 "; expected all CSV or all JSON");
    }
    RequireAnotherFile("-o", options.output, name, "a shard");
    shards.push_back({.path = name, .text = ReadTextFile(name)});
  }
  OutputFile file(path, "-o " + path);
  file.Write(MergeShards(format, shards));
  file.Commit();
  return kDone;
}

int RunCheckCommand(const CliOptions& options) {
  const double tolerance = ParsePercent(options.tolerance, "--tolerance");
  if (tolerance > 10) {
    throw InputError("--tolerance",
                     "expected 0% to 1000%, got \"" + options.tolerance + "\"");
  }
  const CheckResult result = CompareResults(
      ReadResults(options.file),
      ReadBaseline(options.baseline, LogReadingOf(options)), tolerance);
  std::cout << CheckText(result, options.tolerance, options.either_way);
  return Passes(result, options.either_way) ? kDone : kAnswerIsNo;
}

}  // namespace podsim
