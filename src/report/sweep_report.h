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

// What a shard says beside its rows, so that MergeShards can prove that none
// is missing or double.
struct ShardOrigin {
  std::string sweep;                // SweepFingerprint
  std::size_t points = 0;           // of the whole sweep
  std::vector<std::size_t> places;  // by row: its place among them, from 0
};

// The same with that: CSV has three more columns in front, sweep, points and
// place; JSON an object "shard" {sweep, points} and in every point "place".
std::string ShardText(SweepFormat format, const std::vector<SweepRow>& rows,
                      const ShardOrigin& origin);

// A file that ShardText wrote.
struct ShardFile {
  std::string path;
  std::string text;
};

// What SweepText gives for all rows of the shards of one sweep; both their
// format. Throws InputError where a file is no shard or not whole, where they
// are of different sweeps or versions, and naming the places that are missing
// or stand in two of them.
std::string MergeShards(SweepFormat format,
                        const std::vector<ShardFile>& shards);

// "podsim: 3 of 500 points failed, first: REQUEST: ERROR"; nullopt: none.
std::optional<std::string> FailureText(const std::vector<SweepPoint>& points,
                                       const std::vector<SweepRow>& rows);

// The warnings of all points, each once.
std::vector<std::string> WarningsOf(const std::vector<SweepRow>& rows);

// podsim-result/1 of points that are JSON already, a line each; `origin` is
// empty or a key and its value, with ", " behind it (shards.cc).
std::string SweepJsonText(const std::string& origin,
                          const std::vector<std::string>& points);

// One line of JSON (sweep_row_json.cc).
std::string SweepJsonRow(const SweepPoint& point, const SweepResult& result);

}  // namespace podsim

#endif  // PODSIM_REPORT_SWEEP_REPORT_H_
