#include "step/step_graph.h"

#include <algorithm>

namespace podsim {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;

void Count(const std::vector<StepItem>& items, std::int64_t times,
           std::vector<std::int64_t>& counts) {
  for (const StepItem& item : items) {
    if (item.op && item.wait) continue;
    if (item.op) {
      counts[*item.op] = std::min(kMost - times, counts[*item.op]) + times;
      continue;
    }
    const bool large = times > kMost / 2 / item.repeat;
    Count(item.body, large ? kMost / 2 : times * item.repeat, counts);
  }
}

}  // namespace

std::vector<std::int64_t> CountExecutions(const StepGraph& graph) {
  std::vector<std::int64_t> counts(graph.ops.size());
  Count(graph.items, 1, counts);
  return counts;
}

}  // namespace podsim
