#ifndef PODSIM_REPORT_CSV_H_
#define PODSIM_REPORT_CSV_H_

#include <string>
#include <vector>

#include "sim/result.h"

namespace podsim {

// One row per point under one header row, keys as in the result JSON; unknown
// values are empty, fields are quoted where needed (RFC 4180, lines end in \n).
std::string PointsCsv(const std::vector<Point>& points);

}  // namespace podsim

#endif  // PODSIM_REPORT_CSV_H_
