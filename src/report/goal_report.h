#ifndef PODSIM_REPORT_GOAL_REPORT_H_
#define PODSIM_REPORT_GOAL_REPORT_H_

#include <string>

#include "engine/loggops.h"

namespace podsim {

// A GOAL program that came to its end: a table, or podsim-goal-result/1.
std::string GoalTable(const GoalTimeline& timeline,
                      const LoggopsParameters& parameters);
std::string GoalResultJson(const GoalTimeline& timeline,
                           const LoggopsParameters& parameters);

// Of one that did not: what stands in the way, the first of it line by line.
std::string GoalDeadlock(const std::string& file, const GoalProgram& program,
                         const GoalTimeline& timeline);

// The first of the ranks that finish last.
std::size_t LastRank(const GoalTimeline& timeline);

}  // namespace podsim

#endif  // PODSIM_REPORT_GOAL_REPORT_H_
