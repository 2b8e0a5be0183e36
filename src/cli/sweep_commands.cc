#include "cli/sweep_commands.h"

#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/parse_units.h"
#include "report/check.h"
#include "report/output_file.h"
#include "report/progress_line.h"
#include "report/results_file.h"
#include "report/sweep_report.h"
#include "sim/sweep.h"

namespace podsim {
namespace {

constexpr int kDone = 0;
constexpr int kAnswerIsNo = 1;
constexpr int kMaxJobs = 1024;

void RequireAnotherFile(const std::string& output, const std::string& input) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(output, input, ignored)) return;
  throw InputError("-o " + output,
                   "is the sweep itself; expected another file");
}

}  // namespace

int RunSweepCommand(const CliOptions& options) {
  const int jobs = ParseCount(options.jobs, 1, kMaxJobs, "--jobs");
  const SimOptions sim = SimOptionsOf(options);
  const SweepFormat format = SweepFormatOf(options.output);
  RequireAnotherFile(options.output, options.file);
  const std::vector<SweepPoint> points =
      ReadSweep(JsonValue::ReadFile(options.file));
  const std::string path = options.output.empty() ? "-" : options.output;
  OutputFile file(path, "-o " + path);
  std::vector<SweepRow> rows;
  {
    ProgressLine line(ShowsProgress(options), points.size());
    rows = RunSweep(points, sim, jobs, RowTextOf(format),
                    [&](std::size_t done, std::size_t failed) {
                      line.Update(done, failed);
                    });
  }
  for (const std::string& warning : WarningsOf(rows)) {
    std::cerr << "podsim: warning: " << warning << "\n";
  }
  file.Write(SweepText(format, rows));
  file.Commit();
  const auto failure = FailureText(points, rows);
  if (failure) std::cerr << *failure << "\n";
  return failure ? kAnswerIsNo : kDone;
}

int RunCheckCommand(const CliOptions& options) {
  const double tolerance = ParsePercent(options.tolerance, "--tolerance");
  if (tolerance > 10) {
    throw InputError("--tolerance",
                     "expected 0% to 1000%, got \"" + options.tolerance + "\"");
  }
  const CheckResult result = CompareResults(
      ReadResults(options.file), ReadResults(options.baseline), tolerance);
  std::cout << CheckText(result, options.tolerance, options.either_way);
  return Passes(result, options.either_way) ? kDone : kAnswerIsNo;
}

}  // namespace podsim
