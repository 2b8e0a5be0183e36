#ifndef PODSIM_REPORT_STEP_TABLE_H_
#define PODSIM_REPORT_STEP_TABLE_H_

#include <string>

#include "sim/explain.h"
#include "sim/result.h"
#include "topology/slice.h"

namespace podsim {

// Where the time of a step goes, per group and collective, and its critical
// path. Times in us, GB = 1e9 bytes, GiB = 2^30.
std::string StepTable(const Slice& slice, const StepResult& step);

// podsim explain.
std::string ExplanationTable(const Slice& slice,
                             const Explanation& explanation);

}  // namespace podsim

#endif  // PODSIM_REPORT_STEP_TABLE_H_
