#include "step/step_graph.h"

#include <algorithm>

namespace podsim {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;

void Count(const std::vector<StepItem>& items, std::int64_t times,
           int most_repeats, std::vector<std::int64_t>& counts) {
  for (const StepItem& item : items) {
    if (item.op && item.wait) continue;
    if (item.op) {
      counts[*item.op] = std::min(kMost - times, counts[*item.op]) + times;
      continue;
    }
    const int repeat =
        most_repeats == 0 ? item.repeat : std::min(item.repeat, most_repeats);
    const bool large = times > kMost / 2 / repeat;
    Count(item.body, large ? kMost / 2 : times * repeat, most_repeats, counts);
  }
}

}  // namespace

const char* ToText(CollectiveMode mode) {
  switch (mode) {
    case CollectiveMode::kSync:
      return "sync";
    case CollectiveMode::kAsync:
      return "async";
    case CollectiveMode::kAsyncFused:
      return "async_fused";
    case CollectiveMode::kSparseCore:
      return "sparsecore";
  }
  return "";
}

std::vector<std::int64_t> CountExecutions(const StepGraph& graph,
                                          int most_repeats) {
  std::vector<std::int64_t> counts(graph.ops.size());
  Count(graph.items, 1, most_repeats, counts);
  return counts;
}

bool HasLongerLoop(const std::vector<StepItem>& items, int repeats) {
  return std::any_of(items.begin(), items.end(), [&](const StepItem& item) {
    return !item.op &&
           (item.repeat > repeats || HasLongerLoop(item.body, repeats));
  });
}

}  // namespace podsim
