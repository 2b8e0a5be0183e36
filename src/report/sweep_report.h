#ifndef PODSIM_REPORT_SWEEP_REPORT_H_
#define PODSIM_REPORT_SWEEP_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "sim/sweep.h"

namespace podsim {

enum class SweepFormat { kCsv, kJson };

// By the suffix of -o; "" and "-" are CSV. Throws InputError for others.
SweepFormat SweepFormatOf(const std::string& path);

// The row of a point, to be made in the process that runs it.
RowText RowTextOf(SweepFormat format);

// The same behind a first line with the row of a report.
RowText WithReportRow(const RowText& row_text);
// Takes that line off every row: podsim-result/1 for HtmlReport.
std::string TakeReportRows(std::vector<SweepRow>& rows);

// All rows as CSV, or as podsim-result/1 with one line per point.
std::string SweepText(SweepFormat format, const std::vector<SweepRow>& rows);

// "podsim: 3 of 500 points failed, first: REQUEST: ERROR"; nullopt: none.
std::optional<std::string> FailureText(const std::vector<SweepPoint>& points,
                                       const std::vector<SweepRow>& rows);

// The warnings of all points, each once.
std::vector<std::string> WarningsOf(const std::vector<SweepRow>& rows);

// One line of JSON (sweep_row_json.cc).
std::string SweepJsonRow(const SweepPoint& point, const SweepResult& result);

}  // namespace podsim

#endif  // PODSIM_REPORT_SWEEP_REPORT_H_
