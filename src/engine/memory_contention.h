#ifndef PODSIM_ENGINE_MEMORY_CONTENTION_H_
#define PODSIM_ENGINE_MEMORY_CONTENTION_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/engine.h"

namespace podsim {

// Computes that share the memory of their chip with the transfers to and from
// it. A transfer is never slowed: it reads every byte at its source, and at its
// destination writes it (copy, scratch) or reads and writes the sum (reduce,
// two accesses). A compute that alone would use the share u of the bandwidth
// runs at the speed min(1, (1 - traffic/bandwidth) / u).
class MemoryContention {
 public:
  // Nothing to do unless some compute reads or writes memory.
  MemoryContention(const Schedule& schedule, double bandwidth)
      : schedule_(schedule), bandwidth_(bandwidth) {
    if (bandwidth <= 0) return;
    std::uint32_t chips = 0;
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      active_ |= Uses(op);
      chips = std::max({chips, schedule.src(OpId(op)).value() + 1,
                        schedule.dst(OpId(op)).value() + 1});
    }
    if (!active_) return;
    chips_.resize(chips);
    promised_.assign(schedule.size(), kNever);
  }

  bool active() const { return active_; }
  bool Uses(std::uint32_t op) const {
    return schedule_.kind(OpId(op)) == OpKind::kCompute &&
           schedule_.hbm(OpId(op)).value() > 0 &&
           schedule_.duration(OpId(op)).value() > 0;
  }
  // Accesses per byte at the destination.
  static double Weight(Mode mode) { return mode == Mode::kReduce ? 2 : 1; }

  // Starts a compute that uses memory; the date when it ends, as things are.
  double Start(std::uint32_t op, double now) {
    Chip& chip = chips_[schedule_.src(OpId(op)).value()];
    const double duration = schedule_.duration(OpId(op)).value();
    const double share = static_cast<double>(schedule_.hbm(OpId(op)).value()) /
                         (bandwidth_ * duration);
    chip.running.push_back({op, share, duration, SpeedOf(share, chip), now});
    return promised_[op] = EndOf(chip.running.back());
  }
  // Whether an end of this date is still the truth.
  bool Holds(std::uint32_t op, double date) const {
    return promised_[op] == date;
  }
  void Finish(std::uint32_t op) {
    auto& running = chips_[schedule_.src(OpId(op)).value()].running;
    std::erase_if(running, [op](const Running& r) { return r.op == op; });
  }

  // The traffic of transfers at a chip changes by `delta` bytes/s; calls
  // promise(op, date) for computes whose end moves.
  template <class Promise>
  void Change(std::uint32_t at, double delta, double now, Promise promise) {
    Chip& chip = chips_[at];
    chip.traffic += delta;
    for (Running& running : chip.running) {
      running.left -= running.speed * std::max(0.0, now - running.since);
      running.left = std::max(0.0, running.left);
      running.since = std::max(running.since, now);
      running.speed = SpeedOf(running.share, chip);
      const double end = EndOf(running);
      if (end == promised_[running.op]) continue;
      promised_[running.op] = end;
      if (end < kNever) promise(running.op, end);
    }
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  struct Running {
    std::uint32_t op;
    double share;  // of the bandwidth, at full speed
    double left;   // seconds at full speed, at `since`
    double speed;
    double since;
  };
  struct Chip {
    double traffic = 0;  // bytes/s
    std::vector<Running> running;
  };

  double SpeedOf(double share, const Chip& chip) const {
    const double free = 1 - chip.traffic / bandwidth_;
    // Rounding of many rates must not slow what nothing disturbs.
    return share <= free * (1 + 1e-12) ? 1 : std::max(0.0, free / share);
  }
  static double EndOf(const Running& running) {
    if (running.left == 0) return running.since;
    return running.speed > 0 ? running.since + running.left / running.speed
                             : kNever;
  }

  const Schedule& schedule_;
  double bandwidth_;
  bool active_ = false;
  std::vector<Chip> chips_;
  std::vector<double> promised_;  // end, by op
};

}  // namespace podsim

#endif  // PODSIM_ENGINE_MEMORY_CONTENTION_H_
