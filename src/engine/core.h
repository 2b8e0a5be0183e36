#ifndef PODSIM_ENGINE_CORE_H_
#define PODSIM_ENGINE_CORE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"

namespace podsim {

// The event loop of the pod model, without SimGrid: testable alone. Dates start
// at 0. Implementations by network model and kind of schedule.
class Core {
 public:
  virtual ~Core() = default;
  virtual bool empty() const = 0;   // no event left
  virtual double next() const = 0;  // date of the next event; not if empty
  virtual void Step() = 0;          // do it
  // Do about so many, or all that are left if these are fewer.
  virtual void Run(std::uint64_t events) {
    for (; events > 0 && !empty(); --events) Step();
  }
  virtual std::uint64_t ended() const = 0;  // ops
  virtual Timeline TakeTimeline() = 0;
};

// Every transfer is one hop: links are independent, O(log k) per event.
std::unique_ptr<Core> MakeEqualShareCore(const Schedule& schedule,
                                         const Network& network);
// Routes of several hops: max-min fair rates, solved anew around the transfers
// that start or stop flowing (max_min_rates.h).
std::unique_ptr<Core> MakeMaxMinCore(const Schedule& schedule,
                                     const Network& network);
// Links that serve one packet at a time, first come first served, each packet
// on every link of its route in turn; the network models fifo (one hop, one
// packet per transfer) and packet. O(log links) per packet and hop.
std::unique_ptr<Core> MakeLinkQueueCore(const Schedule& schedule,
                                        const Network& network);

// The one that suits the network model and the schedule.
std::unique_ptr<Core> MakeCore(const Schedule& schedule,
                               const Network& network);

// Dates closer than this (relative) count as simultaneous.
inline constexpr double kSimultaneous = 1e-12;

// Which ops wait for which, by the schedule and by the window of the network,
// turned around; and what each still waits for.
class Successors {
 public:
  Successors(const Schedule& schedule, const Network& network);

  // Calls ready(op) for every op that waited for `op` last.
  template <class Ready>
  void Release(std::uint32_t op, Ready ready) {
    for (std::uint32_t k = first_[op]; k < first_[op + 1]; ++k) {
      if (--pending_[ops_[k]] == 0 && !StillWaits(ops_[k])) ready(ops_[k]);
    }
  }
  bool Waits(std::uint32_t op) const { return pending_[op] > 0; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> ops_;
  // What each op still waits for, at most kMost; the rest of the few that wait
  // for more stands in more_.
  static constexpr std::uint16_t kMost = UINT16_MAX;
  bool StillWaits(std::uint32_t op) {
    if (more_.empty()) return false;
    const auto found = more_.find(op);
    if (found == more_.end()) return false;
    pending_[op] = static_cast<std::uint16_t>(
        std::min<std::uint32_t>(found->second, kMost));
    found->second -= pending_[op];
    if (found->second == 0) more_.erase(found);
    return true;
  }
  std::vector<std::uint16_t> pending_;
  std::unordered_map<std::uint32_t, std::uint32_t> more_;
};

}  // namespace podsim

#endif  // PODSIM_ENGINE_CORE_H_
