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

}  // namespace podsim
