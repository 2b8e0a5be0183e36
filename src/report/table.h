#ifndef PODSIM_REPORT_TABLE_H_
#define PODSIM_REPORT_TABLE_H_

#include <string>
#include <vector>

#include "sim/result.h"
#include "topology/generation.h"
#include "topology/slice.h"

namespace podsim {

// The `top` busiest links, for --top; "" if none were measured.
std::string LinksTable(const std::vector<LinkUse>& links, int top);

// Tables for people, in nccl-tests units: GB = 1e9 bytes, us. Time and bound
// side by side; efficiency = bound / time.
std::string PointsTable(const Slice& slice, const std::vector<Point>& points,
                        const std::vector<NotApplicable>& not_applicable);

// podsim lowerings, podsim generations.
std::string LoweringsTable();
std::string GenerationsTable(const std::vector<Generation>& generations);

}  // namespace podsim

#endif  // PODSIM_REPORT_TABLE_H_
