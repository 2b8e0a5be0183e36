// The event loop of StepSimulator for steps whose ops slow each other.
#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "base/check.h"
#include "step/share_speeds.h"
#include "step/simulate_abstract.h"

namespace podsim {
namespace {

// Activities: 2 * op on the core, 2 * op + 1 its transfer.
constexpr std::uint32_t CoreOf(std::uint32_t op) { return 2 * op; }
constexpr std::uint32_t TransferOf(std::uint32_t op) { return 2 * op + 1; }

struct Progress {
  std::uint32_t version = 0;  // of the event that ends the phase
  bool latency = false;       // in the phase before the work
  bool dated = false;         // has speed and end
  bool ended = false;
  double remaining = 0;  // work at `since`
  double since = 0;
  double speed = 1;
  std::uint32_t limiter = UINT32_MAX;
};

struct PhaseEnd {
  double date;
  std::uint32_t activity;
  std::uint32_t version;
  bool operator>(const PhaseEnd& other) const {
    return std::tie(date, activity) > std::tie(other.date, other.activity);
  }
};

struct Queue {
  std::vector<std::uint32_t> ops;
  std::size_t head = 0;
};

class EventRun {
 public:
  EventRun(const StepSimulator& step, StepOrderView order)
      : step_(step),
        order_(order),
        speeds_(step),
        progress_(2 * step.ops()),
        queues_(step.resources()) {
    for (auto* dates : {&timeline_.begin, &timeline_.end, &timeline_.issued,
                        &timeline_.transfer_begin, &timeline_.transfer_end}) {
      dates->resize(step.ops());
    }
    timeline_.busy.resize(step.resources());
    timeline_.lost.resize(step.resources());
  }

  AbstractTimeline Run() {
    for (;;) {
      while (EndPhases() || BeginTransfers() || IssueNext()) {
      }
      if (active_changed_) SetSpeeds();
      DropStale();
      if (phase_ends_.empty()) break;
      now_ = phase_ends_.top().date;
    }
    CHECK(position_ == order_.size() && running_ == kNoOp)
        << "the order stops at position " << position_;
    if (!order_.empty()) timeline_.makespan = timeline_.end[order_.back()];
    MergeLosses();
    return std::move(timeline_);
  }

 private:
  void DropStale() {
    while (!phase_ends_.empty() &&
           phase_ends_.top().version !=
               progress_[phase_ends_.top().activity].version) {
      phase_ends_.pop();
    }
  }

  void EndAt(double date, std::uint32_t activity) {
    phase_ends_.push({.date = date,
                      .activity = activity,
                      .version = ++progress_[activity].version});
  }

  // All phases that end now; false if none.
  bool EndPhases() {
    bool any = false;
    for (;;) {
      DropStale();
      if (phase_ends_.empty() || phase_ends_.top().date > now_) return any;
      const std::uint32_t activity = phase_ends_.top().activity;
      phase_ends_.pop();
      ++progress_[activity].version;
      any = true;
      if (progress_[activity].latency) {
        progress_[activity].latency = false;
        StartWork(activity, step_.op(activity / 2).work);
      } else {
        EndWork(activity);
      }
    }
  }

  void StartWork(std::uint32_t activity, double amount) {
    progress_[activity].remaining = amount;
    progress_[activity].since = now_;
    const bool transfer = activity % 2 == 1;
    if (amount <= 0 || step_.shares(activity / 2, transfer).empty()) {
      EndAt(now_ + amount, activity);
      return;
    }
    active_.push_back({.op = activity / 2, .transfer = transfer});
    active_changed_ = true;
  }

  void EndWork(std::uint32_t activity) {
    Book(activity);
    progress_[activity].ended = true;
    const auto gone =
        std::find_if(active_.begin(), active_.end(), [&](const auto& a) {
          return 2 * a.op + (a.transfer ? 1 : 0) == activity;
        });
    if (gone != active_.end()) {
      active_.erase(gone);
      active_changed_ = true;
    }
    if (activity % 2 == 1) {
      EndTransfer(activity / 2);
    } else {
      EndCore(activity / 2);
    }
  }

  void EndCore(std::uint32_t op) {
    timeline_.end[op] = now_;
    running_ = kNoOp;
    const AbstractKind kind = step_.op(op).kind;
    if (kind == AbstractKind::kSync) running_ = op;  // until its transfer ends
    if (kind == AbstractKind::kCompute || kind == AbstractKind::kDone) return;
    timeline_.issued[op] = now_;
    candidates_.push_back(op);
    for (const std::uint32_t fifo : step_.fifos(op)) {
      queues_[fifo].ops.push_back(op);
    }
  }

  void EndTransfer(std::uint32_t op) {
    timeline_.transfer_end[op] = now_;
    for (const std::uint32_t fifo : step_.fifos(op)) {
      timeline_.busy[fifo] += now_ - timeline_.transfer_begin[op];
      Queue& queue = queues_[fifo];
      ++queue.head;
      if (queue.head < queue.ops.size()) {
        candidates_.push_back(queue.ops[queue.head]);
      }
    }
    if (running_ == op && step_.op(op).kind == AbstractKind::kSync) {
      timeline_.end[op] = now_;
      running_ = kNoOp;
    }
  }

  bool IsFirstInQueues(std::uint32_t op) const {
    for (const std::uint32_t fifo : step_.fifos(op)) {
      if (queues_[fifo].ops[queues_[fifo].head] != op) return false;
    }
    return true;
  }

  bool BeginTransfers() {
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()),
                      candidates_.end());
    bool any = false;
    for (const std::uint32_t op : candidates_) {
      if (!IsFirstInQueues(op)) continue;
      any = true;
      timeline_.transfer_begin[op] = now_;
      progress_[TransferOf(op)].latency = true;
      EndAt(now_ + step_.op(op).latency, TransferOf(op));
    }
    candidates_.clear();
    return any;
  }

  bool IssueNext() {
    if (running_ != kNoOp || position_ == order_.size()) return false;
    const std::uint32_t index = order_[position_];
    const StepSimulator::Op& op = step_.op(index);
    if (op.kind == AbstractKind::kDone &&
        !progress_[TransferOf(op.start)].ended) {
      return false;
    }
    ++position_;
    running_ = index;
    timeline_.begin[index] = now_;
    StartWork(CoreOf(index), op.tc_time);
    return true;
  }

  // Takes off what was done since, at the speed since then.
  void Book(std::uint32_t activity) {
    Progress& progress = progress_[activity];
    const double elapsed = now_ - progress.since;
    progress.since = now_;
    progress.remaining =
        std::max(0.0, progress.remaining - progress.speed * elapsed);
    const double lost = (1 - progress.speed) * elapsed;
    if (progress.limiter == UINT32_MAX || lost <= 0) return;
    timeline_.lost[progress.limiter] += lost;
    timeline_.losses.push_back({.op = activity / 2,
                                .transfer = activity % 2 == 1,
                                .resource = progress.limiter,
                                .seconds = lost});
  }

  void SetSpeeds() {
    active_changed_ = false;
    speeds_.Solve(active_);
    for (const ShareActivity& a : active_) {
      const std::uint32_t activity =
          a.transfer ? TransferOf(a.op) : CoreOf(a.op);
      Progress& progress = progress_[activity];
      if (progress.dated && progress.speed == a.speed &&
          progress.limiter == a.limiter) {
        continue;
      }
      Book(activity);
      progress.speed = a.speed;
      progress.limiter = a.limiter;
      progress.dated = true;
      CHECK(a.speed > 0) << "op " << a.op << " stands still";
      EndAt(now_ + progress.remaining / a.speed, activity);
    }
  }

  void MergeLosses() {
    auto& losses = timeline_.losses;
    const auto key = [](const LostTime& l) {
      return std::tuple(l.op, l.transfer, l.resource);
    };
    std::stable_sort(
        losses.begin(), losses.end(),
        [&](const LostTime& a, const LostTime& b) { return key(a) < key(b); });
    std::size_t kept = 0;
    for (const LostTime& loss : losses) {
      if (kept > 0 && key(losses[kept - 1]) == key(loss)) {
        losses[kept - 1].seconds += loss.seconds;
      } else {
        losses[kept++] = loss;
      }
    }
    losses.resize(kept);
  }

  const StepSimulator& step_;
  StepOrderView order_;
  ShareSpeeds speeds_;
  AbstractTimeline timeline_;
  double now_ = 0;
  std::size_t position_ = 0;       // of the next op to issue
  std::uint32_t running_ = kNoOp;  // holds the core
  std::vector<Progress> progress_;
  std::priority_queue<PhaseEnd, std::vector<PhaseEnd>, std::greater<>>
      phase_ends_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> candidates_;  // may be first in all queues now
  std::vector<ShareActivity> active_;      // working, with shares
  bool active_changed_ = false;
};

}  // namespace

AbstractTimeline StepSimulator::RunEvents(StepOrderView order) const {
  return EventRun(*this, order).Run();
}

}  // namespace podsim
