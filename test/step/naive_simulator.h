#ifndef PODSIM_TEST_STEP_NAIVE_SIMULATOR_H_
#define PODSIM_TEST_STEP_NAIVE_SIMULATOR_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "step/abstract_step.h"

namespace podsim {

struct NaiveDates {
  std::vector<double> begin, end, issued, transfer_begin, transfer_end;
  double makespan = 0;
};

// The rules once more, from state to state: everything is looked at at every
// event, speeds come from bisection, nothing is kept but what is left to do.
class NaiveSimulator {
 public:
  NaiveSimulator(const AbstractStep& step, StepOrderView order)
      : step_(step), order_(order), core_left_(step.ops.size()) {
    for (const AbstractOp& op : step.ops) {
      latency_left_.push_back(op.latency.value());
      work_left_.push_back(op.work.value());
    }
    for (auto* dates : {&dates_.begin, &dates_.end, &dates_.issued,
                        &dates_.transfer_begin, &dates_.transfer_end}) {
      dates->assign(step.ops.size(), kNotYet);
    }
  }

  NaiveDates Run() {
    for (int events = 0;; ++events) {
      REQUIRE(events < 100'000);
      while (Cascade()) {
      }
      if (next_ == order_.size() && core_ == kNoOp) break;
      Advance();
    }
    dates_.makespan = now_;
    return dates_;
  }

 private:
  static constexpr double kNotYet = -1;

  struct Activity {
    std::uint32_t op;
    bool transfer;
    double speed;
    bool frozen;
  };

  bool Begun(std::uint32_t op) const {
    return dates_.transfer_begin[op] != kNotYet;
  }
  bool Arrived(std::uint32_t op) const {
    return dates_.transfer_end[op] != kNotYet;
  }

  // One thing that happens now.
  bool Cascade() {
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      if (Begun(op) && !Arrived(op) && latency_left_[op] <= 0 &&
          work_left_[op] <= 0) {
        dates_.transfer_end[op] = now_;
        return true;
      }
    }
    if (core_ != kNoOp && core_left_[core_] <= 0 && EndCore()) return true;
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      if (dates_.issued[op] == kNotYet || Begun(op) || !IsFirst(op)) continue;
      dates_.transfer_begin[op] = now_;
      return true;
    }
    return Issue();
  }

  bool EndCore() {
    const AbstractOp& op = step_.ops[core_];
    if (HasTransfer(op) && dates_.issued[core_] == kNotYet) {
      dates_.issued[core_] = now_;
      issues_.push_back(core_);
      return true;
    }
    if (op.kind == AbstractKind::kSync && !Arrived(core_)) return false;
    dates_.end[core_] = now_;
    core_ = kNoOp;
    return true;
  }

  // In every queue it uses, nobody issued before it is still there.
  bool IsFirst(std::uint32_t op) const {
    for (const std::uint32_t ahead : issues_) {
      if (ahead == op) return true;
      if (!Arrived(ahead) && ShareAFifo(ahead, op)) return false;
    }
    return true;
  }

  bool ShareAFifo(std::uint32_t a, std::uint32_t b) const {
    for (const ResourceUse& one : step_.ops[a].use) {
      for (const ResourceUse& other : step_.ops[b].use) {
        if (one.resource == other.resource &&
            step_.resources[one.resource].mode == ResourceMode::kFifo) {
          return true;
        }
      }
    }
    return false;
  }

  bool Issue() {
    if (core_ != kNoOp || next_ == order_.size()) return false;
    const std::uint32_t op = order_[next_];
    if (step_.ops[op].of && !Arrived(*step_.ops[op].of)) return false;
    ++next_;
    core_ = op;
    core_left_[op] = step_.ops[op].tc_time.value();
    dates_.begin[op] = now_;
    return true;
  }

  double ShareOf(const Activity& a, std::uint32_t resource) const {
    double share = !a.transfer && resource == kTensorCore ? 1 : 0;
    const bool uses = HasTransfer(step_.ops[a.op]) == a.transfer;
    if (!uses || step_.resources[resource].mode == ResourceMode::kFifo) {
      return share;
    }
    for (const ResourceUse& use : step_.ops[a.op].use) {
      if (use.resource == resource) share += use.share;
    }
    return share;
  }

  // Whether all that rise may have that speed.
  bool Fits(const std::vector<Activity>& all, double level) const {
    for (std::uint32_t r = 0; r < step_.resources.size(); ++r) {
      double sum = 0;
      for (const Activity& a : all) {
        sum += ShareOf(a, r) * (a.frozen ? a.speed : level);
      }
      if (sum > step_.resources[r].capacity * (1 + 1e-13)) return false;
    }
    return true;
  }

  void SetSpeeds(std::vector<Activity>& all) const {
    for (std::size_t round = 0; round <= all.size(); ++round) {
      double low = 0;
      double high = 1;
      if (Fits(all, 1)) low = 1;
      while (high - low > 1e-15) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) break;
        (Fits(all, middle) ? low : high) = middle;
      }
      for (Activity& a : all) {
        if (!a.frozen) a.speed = low;
      }
      if (low >= 1) return;
      std::vector<std::size_t> stopped;
      for (std::uint32_t r = 0; r < step_.resources.size(); ++r) {
        double sum = 0;
        for (const Activity& a : all) sum += ShareOf(a, r) * a.speed;
        if (sum < step_.resources[r].capacity * (1 - 1e-9)) continue;
        for (std::size_t k = 0; k < all.size(); ++k) {
          if (ShareOf(all[k], r) > 0) stopped.push_back(k);
        }
      }
      for (const std::size_t k : stopped) all[k].frozen = true;
    }
  }

  void Advance() {
    std::vector<Activity> all;
    double step = INFINITY;
    if (core_ != kNoOp && core_left_[core_] > 0) {
      all.push_back(
          {.op = core_, .transfer = false, .speed = 1, .frozen = false});
    }
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      if (!Begun(op) || Arrived(op)) continue;
      if (latency_left_[op] > 0) {
        step = std::min(step, latency_left_[op]);
      } else {
        all.push_back(
            {.op = op, .transfer = true, .speed = 1, .frozen = false});
      }
    }
    SetSpeeds(all);
    for (const Activity& a : all) step = std::min(step, Left(a) / a.speed);
    REQUIRE(std::isfinite(step));
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      if (!Begun(op) || Arrived(op) || latency_left_[op] <= 0) continue;
      latency_left_[op] = Rest(latency_left_[op] - step);
    }
    for (const Activity& a : all) Left(a) = Rest(Left(a) - a.speed * step);
    now_ += step;
  }

  double& Left(const Activity& a) {
    return a.transfer ? work_left_[a.op] : core_left_[a.op];
  }
  // What rounding leaves is nothing.
  static double Rest(double left) { return left < 1e-12 ? 0 : left; }

  const AbstractStep& step_;
  StepOrderView order_;
  double now_ = 0;
  std::size_t next_ = 0;
  std::uint32_t core_ = kNoOp;
  std::vector<std::uint32_t> issues_;
  std::vector<double> core_left_, latency_left_, work_left_;
  NaiveDates dates_;
};

}  // namespace podsim

#endif  // PODSIM_TEST_STEP_NAIVE_SIMULATOR_H_
