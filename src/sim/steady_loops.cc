#include "sim/steady_loops.h"

#include <cmath>

namespace podsim {
namespace {

// Relative to the makespan: what rounding may do to equal iterations.
constexpr double kSteadySlack = 1e-12;
// Relative, of sums that must add up.
constexpr double kSumSlack = 1e-9;

bool AreTranslated(const std::vector<double>& dates, std::uint32_t first,
                   std::uint32_t second, std::uint32_t ops, double by,
                   double slack) {
  for (std::uint32_t k = 0; k < ops; ++k) {
    const double apart = dates[second + k] - dates[first + k];
    if (!(std::abs(apart - by) <= slack)) return false;
  }
  return true;
}

}  // namespace

bool LoopsAreSteady(const CompiledStep& step, const Timeline& timeline) {
  const double slack = kSteadySlack * timeline.makespan;
  for (const ShortenedLoop& loop : step.loops) {
    const std::size_t n = loop.first_op.size();
    const std::uint32_t first = loop.first_op[n - 3];
    const std::uint32_t second = loop.first_op[n - 2];
    const std::uint32_t ops = second - first;
    if (loop.first_op[n - 1] - second != ops) return false;
    if (ops == 0) continue;
    const double by = timeline.end[second] - timeline.end[first];
    if (!AreTranslated(timeline.end, first, second, ops, by, slack)) {
      return false;
    }
    if (!timeline.start.empty() &&
        !AreTranslated(timeline.start, first, second, ops, by, slack)) {
      return false;
    }
  }
  return true;
}

std::optional<std::vector<PathEntry>> FindCriticalPath(const StepGraph& graph,
                                                       const CompiledStep& step,
                                                       const Timeline& timeline,
                                                       double makespan) {
  const Schedule& schedule = step.schedule;
  std::vector<double> spent(graph.ops.size());
  double total = 0;
  auto execution = step.executions.rbegin();
  // On some chip the core may have nothing left to do when others end.
  std::uint32_t op = step.executions.back().first_end;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    if (timeline.end[id] > timeline.end[op]) op = id;
  }
  for (;;) {
    while (execution->first_start > op) ++execution;
    const OpId* latest = nullptr;
    for (const OpId& wait : schedule.after(OpId(op))) {
      if (latest == nullptr ||
          timeline.end[wait.value()] > timeline.end[latest->value()]) {
        latest = &wait;
      }
    }
    const double from = latest == nullptr ? 0 : timeline.end[latest->value()];
    const double part = execution->times * (timeline.end[op] - from);
    spent[execution->op] += part;
    total += part;
    if (latest == nullptr) break;
    op = latest->value();
  }
  if (std::abs(total - makespan) > kSumSlack * makespan) return std::nullopt;
  std::vector<PathEntry> path;
  for (std::size_t k = 0; k < spent.size(); ++k) {
    if (spent[k] == 0) continue;
    path.push_back({graph.ops[k].id,
                    graph.ops[k].collective ? "collective" : "compute",
                    spent[k]});
  }
  return path;
}

}  // namespace podsim
