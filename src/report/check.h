#ifndef PODSIM_REPORT_CHECK_H_
#define PODSIM_REPORT_CHECK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/results_file.h"

namespace podsim {

// A point whose time is not what it was, or that fails now or failed before.
struct ChangedPoint {
  std::string key;
  std::optional<double> before_s;
  std::optional<double> after_s;
  std::string reason;  // without a time: why
};

struct CheckResult {
  // The files do not compare: which point, what differs, and what to do. Then
  // nothing else is filled in.
  std::optional<std::string> refusal;
  std::vector<std::string> notes;    // what could not be compared
  std::vector<ChangedPoint> worse;   // worst first: failed, then by ratio
  std::vector<ChangedPoint> better;  // in the order of the baseline
  std::vector<std::string> missing;  // keys, in the baseline only
  std::vector<std::string> added;    // keys, in the results only
  std::size_t points = 0;            // of the baseline
  std::size_t untimed = 0;           // without a time in both
};

// Compares the times of each point of the baseline with the results. Worse:
// after > before (1 + tolerance), or no time where there was one; better:
// before > after (1 + tolerance), or a time where there was none. Points are
// matched by request if all of both files have one, else by identity; with a
// baseline that was measured, by MeasuredKey, and its points that the results
// have not are noted, not missing. Throws InputError for a baseline without
// points or, measured, without one of the results, and for a file in which two
// points of one key have different times.
CheckResult CompareResults(const ResultsFile& results,
                           const ResultsFile& baseline, double tolerance);

// Whether CI may go on: nothing is worse or missing; `either_way`: nor better.
bool Passes(const CheckResult& result, bool either_way);

// A line per finding, worst first, and a summary that repeats the tolerance.
// Points that became better are listed with `either_way` only.
std::string CheckText(const CheckResult& result,
                      const std::string& tolerance_text, bool either_way);

}  // namespace podsim

#endif  // PODSIM_REPORT_CHECK_H_
