#ifndef PODSIM_REPORT_RESULTS_FILE_H_
#define PODSIM_REPORT_RESULTS_FILE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace podsim {

// A point of a file of results, as far as `check` compares and plots draw it.
struct ResultPoint {
  std::string where;                   // "new.json: /points/3", "new.csv:5"
  std::optional<std::string> request;  // of a sweep
  // What was simulated, on one line: collective, slice, payload, group size,
  // resolved lowering, engine, network; of a step its name and slice.
  std::string identity;
  // Of a collective, else empty.
  std::string collective, slice, lowering;
  std::optional<double> payload_bytes;
  std::optional<double> group_size;
  std::optional<double> efficiency;
  std::optional<double> time_s;      // or the makespan
  std::optional<std::string> error;  // why the point failed
  // nullopt: the file does not say.
  std::optional<std::string> version;
  std::optional<std::map<std::string, double>> parameters;
};

struct ResultsFile {
  std::string path;
  std::vector<ResultPoint> points;
  // A log of a benchmark: its points are known by MeasuredKey alone.
  bool measured = false;
  std::vector<std::string> notes = {};  // what of it could not be used
};

// What a benchmark knows of a point: collective, group size and payload. A
// point that failed before its group was known has `group_size`.
std::string MeasuredKey(const ResultPoint& point, double group_size);

// Whether a text claims to be results of podsim: JSON, or CSV with time_s in
// its first line.
bool IsResults(const std::string& text);

// Reads podsim-result/1 (a text that begins with "{") or CSV of ours. Throws
// InputError with file and place.
ResultsFile ReadResults(const std::string& path);
// The same of a text; `path` names it in messages.
ResultsFile ParseResults(const std::string& text, const std::string& path);

}  // namespace podsim

#endif  // PODSIM_REPORT_RESULTS_FILE_H_
