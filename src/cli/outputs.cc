#include "cli/outputs.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <iostream>

#include "base/error.h"
#include "report/json.h"

namespace podsim {
namespace {

struct Target {
  const char* flag;
  const std::string& path;
};
// Of two outputs in one place the first would be lost.
void RequireDifferent(std::initializer_list<Target> targets) {
  for (const Target& target : targets) {
    for (const Target& other : targets) {
      if (&other == &target) break;
      if (target.path.empty() || other.path != target.path) continue;
      throw InputError(std::string(target.flag) + " " + target.path,
                       std::string("is where ") + other.flag +
                           " goes too; expected another file");
    }
  }
}

void RequireFile(const char* flag, const std::string& path) {
  if (path != "-") return;
  throw InputError(flag, "expected a file, got \"-\"");
}

void Open(const std::string& path, const char* flag,
          std::unique_ptr<OutputFile>& file) {
  if (path.empty()) return;
  file = std::make_unique<OutputFile>(path, std::string(flag) + " " + path);
}

constexpr std::size_t kColumns = 80;  // where nothing says

std::size_t ColumnsOf(int terminal) {
  winsize size{};
  const bool known = ioctl(terminal, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > 0 ? size.ws_col : kColumns;
}

std::int64_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;  // Linux counts KiB
}

}  // namespace

void DrawPlot(const CliOptions& options, bool data_on_stdout,
              const std::function<std::string(std::size_t columns)>& plot) {
  const int target = data_on_stdout ? STDERR_FILENO : STDOUT_FILENO;
  const bool draws =
      options.plot == "on" ||
      (options.plot == "auto" && !data_on_stdout && isatty(STDOUT_FILENO) != 0);
  if (!draws) return;
  (data_on_stdout ? std::cerr : std::cout)
      << plot(ColumnsOf(target)) << std::flush;
}

Outputs::Outputs(const CliOptions& options)
    : table_(options.json != "-" && options.csv != "-") {
  RequireDifferent({{"-o", options.output},
                    {"--json", options.json},
                    {"--csv", options.csv},
                    {"--trace", options.trace},
                    {"--html", options.html},
                    {"--timing", options.timing}});
  Open(options.json, "--json", json_);
  Open(options.csv, "--csv", csv_);
  Open(options.timing, "--timing", timing_);
  Open(options.trace, "--trace", trace_);
  Open(options.html, "--html", html_);
  RequireFile("--trace", options.trace);
  RequireFile("--html", options.html);
}

void Outputs::Write(const std::function<std::string()>& table,
                    const std::function<std::string()>& json,
                    const std::function<std::string()>& csv,
                    PhaseTimes& times) {
  {
    const PhaseTimer timer(times.report);
    if (json_) json_->Write(json());
    if (csv_) csv_->Write(csv());
    if (table_) std::cout << table();
  }
  if (timing_) timing_->Write(TimingJson(times, PeakBytes()));
  Commit();
}

void Outputs::Commit() {
  for (const auto& file :
       {json_.get(), csv_.get(), timing_.get(), trace_.get(), html_.get()}) {
    if (file != nullptr) file->Commit();
  }
}

}  // namespace podsim
