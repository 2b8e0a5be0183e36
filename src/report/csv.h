#ifndef PODSIM_REPORT_CSV_H_
#define PODSIM_REPORT_CSV_H_

#include <string>
#include <vector>

#include "sim/result.h"
#include "sim/sweep.h"

namespace podsim {

// One row per point under one header row, keys as in the result JSON; unknown
// values are empty, fields are quoted where needed (RFC 4180, lines end in \n).
std::string PointsCsv(const std::vector<Point>& points);

// The header, and one row, of the CSV of a sweep: what was asked, the columns
// of a point, those of a step, parameters, version and error.
std::string SweepCsvHeader();
std::string SweepCsvRow(const SweepPoint& point, const SweepResult& result);

}  // namespace podsim

#endif  // PODSIM_REPORT_CSV_H_
