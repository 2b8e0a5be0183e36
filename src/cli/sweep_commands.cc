#include "cli/sweep_commands.h"

#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/parse_units.h"
#include "cli/outputs.h"
#include "report/check.h"
#include "report/html.h"
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

void RequireAnotherFile(const std::string& flag, const std::string& output,
                        const std::string& input) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(output, input, ignored)) return;
  throw InputError(flag + " " + output,
                   "is the sweep itself; expected another file");
}

}  // namespace

int RunSweepCommand(const CliOptions& options) {
  const int jobs = ParseCount(options.jobs, 1, kMaxJobs, "--jobs");
  SimOptions sim = SimOptionsOf(options);
  sim.links = false;  // reports of sweeps have no map
  const SweepFormat format = SweepFormatOf(options.output);
  RequireAnotherFile("-o", options.output, options.file);
  RequireAnotherFile("--html", options.html, options.file);
  const std::vector<SweepPoint> points =
      ReadSweep(JsonValue::ReadFile(options.file));
  const std::string path = options.output.empty() ? "-" : options.output;
  OutputFile file(path, "-o " + path);
  Outputs outputs(options);
  const RowText row_text =
      outputs.reports() ? WithReportRow(RowTextOf(format)) : RowTextOf(format);
  std::vector<SweepRow> rows;
  {
    ProgressLine line(ShowsProgress(options), points.size());
    rows = RunSweep(points, sim, jobs, row_text,
                    [&](std::size_t done, std::size_t failed) {
                      line.Update(done, failed);
                    });
  }
  for (const std::string& warning : WarningsOf(rows)) {
    std::cerr << "podsim: warning: " << warning << "\n";
  }
  if (outputs.reports()) {
    outputs.SetHtml(HtmlReport({.title = "podsim sweep " + options.file,
                                .result = TakeReportRows(rows)}));
  }
  file.Write(SweepText(format, rows));
  file.Commit();
  outputs.Commit();
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
