#include "step/one_machine.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

namespace podsim {

double OneMachineBound(std::vector<MachineJob> jobs) {
  std::erase_if(jobs, [](const MachineJob& job) { return job.length <= 0; });
  std::sort(
      jobs.begin(), jobs.end(),
      [](const MachineJob& a, const MachineJob& b) { return a.head < b.head; });
  std::priority_queue<std::pair<double, double>> ready;  // tail, length left
  double now = 0;
  double bound = 0;
  std::size_t next = 0;
  while (next < jobs.size() || !ready.empty()) {
    if (ready.empty()) now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next) {
      ready.emplace(jobs[next].tail, jobs[next].length);
    }
    const double arrival = next < jobs.size()
                               ? jobs[next].head
                               : std::numeric_limits<double>::infinity();
    auto [tail, left] = ready.top();
    ready.pop();
    if (now + left <= arrival) {
      now += left;
      bound = std::max(bound, now + tail);
    } else {
      ready.emplace(tail, left - (arrival - now));
      now = arrival;
    }
  }
  return bound;
}

}  // namespace podsim
