#ifndef PODSIM_STEP_SHARE_SPEEDS_H_
#define PODSIM_STEP_SHARE_SPEEDS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "step/simulate_abstract.h"

namespace podsim {

// One op on the core or one working transfer, and what it may do now.
struct ShareActivity {
  std::uint32_t op = 0;
  bool transfer = false;
  double speed = 1;
  std::uint32_t limiter = UINT32_MAX;  // the resource that stopped it below 1
};

// Weighted max-min of speeds: all rise together from 0 to at most 1, those that
// use a resource whose sum(share * speed) has reached its capacity stay.
class ShareSpeeds {
 public:
  explicit ShareSpeeds(const StepSimulator& step)
      : step_(step), frozen_(step.resources()), rising_(step.resources()) {}

  // Sets speed and limiter of all that are active.
  void Solve(std::span<ShareActivity> active);

 private:
  double NextLevel() const;
  std::uint32_t LimiterAt(double level, const ShareActivity& activity) const;
  void Freeze(double level, std::span<ShareActivity> active);

  const StepSimulator& step_;
  std::vector<double> frozen_;  // per resource: sum of share * speed
  std::vector<double> rising_;  // and sum of the shares of those that rise
  std::vector<std::uint32_t> used_;
  std::vector<std::uint32_t> open_;  // indices of those that rise
};

}  // namespace podsim

#endif  // PODSIM_STEP_SHARE_SPEEDS_H_
