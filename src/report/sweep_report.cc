#include "report/sweep_report.h"

#include <algorithm>

#include "base/error.h"
#include "report/csv.h"

namespace podsim {

SweepFormat SweepFormatOf(const std::string& path) {
  if (path.empty() || path == "-" || path.ends_with(".csv")) {
    return SweepFormat::kCsv;
  }
  if (path.ends_with(".json")) return SweepFormat::kJson;
  throw InputError("-o " + path,
                   "expected a name that ends in .csv or .json, which says the "
                   "format");
}

RowText RowTextOf(SweepFormat format) {
  return format == SweepFormat::kCsv ? SweepCsvRow : SweepJsonRow;
}

RowText WithReportRow(const RowText& row_text) {
  return [row_text](const SweepPoint& point, const SweepResult& result) {
    return SweepJsonRow(point, result) + "\n" + row_text(point, result);
  };
}

std::string TakeReportRows(std::vector<SweepRow>& rows) {
  std::vector<SweepRow> report;
  for (SweepRow& row : rows) {
    const std::size_t end = row.text.find('\n');
    report.push_back(
        {.text = row.text.substr(0, end), .error = {}, .warnings = {}});
    row.text.erase(0, end + 1);
  }
  return SweepText(SweepFormat::kJson, report);
}

std::string SweepText(SweepFormat format, const std::vector<SweepRow>& rows) {
  if (format == SweepFormat::kCsv) {
    std::string csv = SweepCsvHeader();
    for (const SweepRow& row : rows) csv += row.text;
    return csv;
  }
  std::vector<std::string> points;
  for (const SweepRow& row : rows) points.push_back(row.text);
  return SweepJsonText("", points);
}

std::optional<std::string> FailureText(const std::vector<SweepPoint>& points,
                                       const std::vector<SweepRow>& rows) {
  const auto is_failed = [](const SweepRow& row) {
    return row.error.has_value();
  };
  const auto failed = std::count_if(rows.begin(), rows.end(), is_failed);
  if (failed == 0) return std::nullopt;
  const auto first = std::find_if(rows.begin(), rows.end(), is_failed);
  return "podsim: " + std::to_string(failed) + " of " +
         std::to_string(rows.size()) + " points failed, first: " +
         RequestOf(points[static_cast<std::size_t>(first - rows.begin())]) +
         ": " + *first->error;
}

std::vector<std::string> WarningsOf(const std::vector<SweepRow>& rows) {
  std::vector<std::string> warnings;
  for (const SweepRow& row : rows) {
    for (const std::string& warning : row.warnings) {
      if (std::find(warnings.begin(), warnings.end(), warning) ==
          warnings.end()) {
        warnings.push_back(warning);
      }
    }
  }
  return warnings;
}

}  // namespace podsim
