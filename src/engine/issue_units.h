#ifndef PODSIM_ENGINE_ISSUE_UNITS_H_
#define PODSIM_ENGINE_ISSUE_UNITS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "engine/core.h"

namespace podsim {

// Every chip's issue unit: one message at a time, for g seconds each, in the
// order of (ready date, op id). Then the start-up of the message begins and the
// unit is free for the next one. Whom a unit serves is found when that issue
// ends, as only then all messages that became ready when it began are known.
class IssueUnits {
 public:
  IssueUnits(const Schedule& schedule, const Network& network)
      : schedule_(schedule), cost_(network.issue), ports_(network.first_port) {
    if (cost_ == 0) return;
    std::uint32_t chips = 0;
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      chips = std::max(chips, schedule.src(OpId(op)).value() + 1);
    }
    waiting_.resize(chips);
  }

  // Messages over DCN leave by the NIC of their host instead.
  bool Serves(std::uint32_t op) const {
    return cost_ > 0 && schedule_.kind(OpId(op)) == OpKind::kTransfer &&
           schedule_.route(OpId(op))[0].value() < ports_;
  }

  // A message is ready. promise(chip, date): call End(chip) then.
  template <class Promise>
  void Queue(std::uint32_t op, double now, Promise promise) {
    // Simultaneous events have one date.
    if (now > batch_ * (1 + kSimultaneous)) batch_ = now;
    const std::uint32_t chip = schedule_.src(OpId(op)).value();
    const bool idle = waiting_[chip].empty();
    waiting_[chip].emplace(batch_, op);
    if (idle) promise(chip, now + cost_);
  }

  // The issue that ends now: its op, which begins to start up.
  template <class Promise>
  std::uint32_t End(std::uint32_t chip, double now, Promise promise) {
    const std::uint32_t op = waiting_[chip].top().second;
    waiting_[chip].pop();
    if (!waiting_[chip].empty()) promise(chip, now + cost_);
    return op;
  }

 private:
  using Ready = std::pair<double, std::uint32_t>;  // date, op
  using Heap =
      std::priority_queue<Ready, std::vector<Ready>, std::greater<Ready>>;

  const Schedule& schedule_;
  double cost_;                // g
  std::uint32_t ports_;        // links from this one on are ports
  double batch_ = 0;           // date of the latest
  std::vector<Heap> waiting_;  // by chip, with the one that is being issued
};

}  // namespace podsim

#endif  // PODSIM_ENGINE_ISSUE_UNITS_H_
