#include "step/share_speeds.h"

#include <algorithm>

namespace podsim {
namespace {

// Levels that differ by rounding only are the same.
constexpr double kSame = 1e-12;

}  // namespace

void ShareSpeeds::Solve(std::span<ShareActivity> active) {
  for (const std::uint32_t resource : used_) {
    frozen_[resource] = rising_[resource] = 0;
  }
  used_.clear();
  open_.clear();
  for (std::uint32_t k = 0; k < active.size(); ++k) {
    open_.push_back(k);
    for (const auto& use : step_.shares(active[k].op, active[k].transfer)) {
      if (rising_[use.resource] == 0) used_.push_back(use.resource);
      rising_[use.resource] += use.share;
    }
  }
  while (!open_.empty()) {
    const double level = NextLevel();
    if (level >= 1 - kSame) break;
    Freeze(level, active);
  }
  for (const std::uint32_t k : open_) {
    active[k].speed = 1;
    active[k].limiter = UINT32_MAX;
  }
}

double ShareSpeeds::NextLevel() const {
  double level = 1;
  for (const std::uint32_t resource : used_) {
    if (rising_[resource] <= 0) continue;
    const double left = step_.capacity(resource) - frozen_[resource];
    level = std::min(level, std::max(0.0, left) / rising_[resource]);
  }
  return level;
}

// The first by name of the resources that let the activity rise no further.
std::uint32_t ShareSpeeds::LimiterAt(double level,
                                     const ShareActivity& activity) const {
  std::uint32_t limiter = UINT32_MAX;
  for (const auto& use : step_.shares(activity.op, activity.transfer)) {
    const double left = step_.capacity(use.resource) - frozen_[use.resource];
    const double most = std::max(0.0, left) / rising_[use.resource];
    if (most > level * (1 + kSame)) continue;
    if (limiter == UINT32_MAX ||
        step_.name_rank(use.resource) < step_.name_rank(limiter)) {
      limiter = use.resource;
    }
  }
  return limiter;
}

void ShareSpeeds::Freeze(double level, std::span<ShareActivity> active) {
  std::vector<std::uint32_t> stay;
  for (const std::uint32_t k : open_) {
    active[k].limiter = LimiterAt(level, active[k]);
    if (active[k].limiter == UINT32_MAX) {
      stay.push_back(k);
    } else {
      active[k].speed = level;
    }
  }
  for (const std::uint32_t k : open_) {
    if (active[k].limiter == UINT32_MAX) continue;
    for (const auto& use : step_.shares(active[k].op, active[k].transfer)) {
      frozen_[use.resource] += use.share * level;
    }
  }
  // Summed anew: a difference would leave a rest of rounding to rise.
  for (const std::uint32_t resource : used_) rising_[resource] = 0;
  for (const std::uint32_t k : stay) {
    for (const auto& use : step_.shares(active[k].op, active[k].transfer)) {
      rising_[use.resource] += use.share;
    }
  }
  open_ = std::move(stay);
}

}  // namespace podsim
