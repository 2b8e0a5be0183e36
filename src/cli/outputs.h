#ifndef PODSIM_CLI_OUTPUTS_H_
#define PODSIM_CLI_OUTPUTS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "cli/options.h"
#include "report/output_file.h"
#include "sim/options.h"

namespace podsim {

// --plot: `plot` to stdout where that is a terminal and carries no data; with
// "on" in any case, to stderr where stdout does.
void DrawPlot(const CliOptions& options, bool data_on_stdout,
              const std::function<std::string(std::size_t columns)>& plot);

// The outputs of a command: opened before the long work, moved into place after
// it. The table goes to stdout unless one of them does.
class Outputs {
 public:
  // Throws InputError at the flag of what cannot be written, or would be lost.
  explicit Outputs(const CliOptions& options);

  bool traces() const { return trace_ != nullptr; }
  bool reports() const { return html_ != nullptr; }
  // Whether someone wants to see what ran when.
  bool records() const { return traces() || reports(); }
  // Whether stdout takes the table.
  bool table() const { return table_; }
  void SetTrace(const std::string& text) { trace_->Write(text); }
  void SetHtml(const std::string& text) { html_->Write(text); }

  void Write(const std::function<std::string()>& table,
             const std::function<std::string()>& json,
             const std::function<std::string()>& csv, PhaseTimes& times);

  // Moves what has been set into place; Write does.
  void Commit();

 private:
  bool table_;
  std::unique_ptr<OutputFile> json_, csv_, timing_, trace_, html_;
};

}  // namespace podsim

#endif  // PODSIM_CLI_OUTPUTS_H_
