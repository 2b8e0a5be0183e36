#include "sim/result.h"

#include <algorithm>

namespace podsim {

std::vector<NotApplicable> JoinReasons(
    const std::vector<NotApplicable>& reasons) {
  std::vector<NotApplicable> joined;
  std::vector<std::vector<std::string>> names;
  for (const NotApplicable& entry : reasons) {
    const auto same = std::find_if(joined.begin(), joined.end(),
                                   [&](const NotApplicable& other) {
                                     return other.reason == entry.reason;
                                   });
    const auto k = static_cast<std::size_t>(same - joined.begin());
    if (same == joined.end()) {
      joined.push_back(entry);
      names.push_back({entry.lowering});
    } else if (std::find(names[k].begin(), names[k].end(), entry.lowering) ==
               names[k].end()) {
      joined[k].lowering += ", " + entry.lowering;
      names[k].push_back(entry.lowering);
    }
  }
  return joined;
}

std::vector<GroupTotal> TotalsByGroup(const StepResult& step) {
  std::vector<GroupTotal> totals;
  const auto add = [](std::optional<double>& sum,
                      const std::optional<double>& more) {
    if (more) sum = sum.value_or(0) + *more;
  };
  for (const StepCollective& entry : step.collectives) {
    auto total = std::find_if(
        totals.begin(), totals.end(), [&](const GroupTotal& other) {
          return other.group == entry.alone.group && other.axes == entry.axes;
        });
    if (total == totals.end()) {
      totals.push_back({.group = entry.alone.group,
                        .axes = entry.axes,
                        .flight_s = {},
                        .exposed_s = {},
                        .idle_s = {},
                        .overlapped_s = {}});
      total = std::prev(totals.end());
    }
    ++total->collectives;
    total->executions += entry.executions;
    total->payload_bytes += static_cast<double>(entry.executions) *
                            static_cast<double>(entry.alone.payload_bytes);
    add(total->flight_s, entry.flight_s);
    add(total->exposed_s, entry.exposed_s);
    add(total->idle_s, entry.idle_s);
    add(total->overlapped_s, entry.overlapped_s);
  }
  std::stable_sort(totals.begin(), totals.end(),
                   [](const GroupTotal& a, const GroupTotal& b) {
                     return a.exposed_s.value_or(0) > b.exposed_s.value_or(0);
                   });
  return totals;
}

std::map<std::string, double> PathByKind(const StepResult& step) {
  std::map<std::string, double> kinds;
  for (const PathEntry& entry : step.critical_path) {
    kinds[entry.kind] += entry.seconds;
  }
  return kinds;
}

}  // namespace podsim
