#include <algorithm>
#include <limits>

#include "base/check.h"
#include "engine/core.h"
#include "engine/dated_changes.h"
#include "engine/event_queue.h"
#include "engine/issue_units.h"
#include "engine/max_min_rates.h"
#include "engine/memory_contention.h"

namespace podsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Version of an event that is the end of an issue, by chip.
constexpr std::uint32_t kIssueEnd = 1;

// A transfer whose bytes are flowing.
struct Flow {
  std::uint32_t op = 0;
  double left = 0;   // bytes, at `since`
  double since = 0;  // date of its rate
};

class MaxMinCore : public Core {
 public:
  MaxMinCore(const Schedule& schedule, const Network& network)
      : schedule_(schedule),
        network_(network),
        successors_(schedule, network),
        issue_(schedule, network),
        memory_(schedule, network.hbm_bandwidth),
        dated_(schedule, network),
        rates_(network) {
    timeline_.start.assign(schedule.size(), -1);
    timeline_.end.assign(schedule.size(), -1);
    for (std::uint32_t op = 0; memory_.active() && op < schedule.size(); ++op) {
      const std::size_t chip = std::max(schedule.src(OpId(op)).value(),
                                        schedule.dst(OpId(op)).value());
      if (traffic_.size() <= chip) traffic_.resize(chip + 1);
    }
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      if (!successors_.Waits(op)) Start(op, 0);
    }
    FindNext();
  }

  bool empty() const override { return next_ == kNever; }
  double next() const override { return next_; }

  // All events of one date: ends first, then the transfers that begin to flow,
  // at the rates that the links have from this date on;
  // what they start may be due at once.
  void Step() override {
    const double now = next_;
    const double due = now * (1 + kSimultaneous);
    now_ = now;
    bool changed = false;
    for (bool again = true; again;) {
      again = EndFlows(due);
      again |= EndComputes(due);
      again |= ChangeLinks(due);
      again |= BeginFlows(due);
      changed |= again;
    }
    if (changed) {
      ChangeRates();
      if (memory_.active()) ShareMemory(now);
    }
    FindNext();
  }

  // A rate that changes counts as an event.
  void Run(std::uint64_t events) override {
    for (std::uint64_t done = 0; done < events && !empty();) {
      Step();
      done += 1 + changes_;
    }
  }

  std::uint64_t ended() const override { return ended_; }
  Timeline TakeTimeline() override { return std::move(timeline_); }

 private:
  auto PromiseIssue() {
    return [this](std::uint32_t chip, double end) {
      computes_.Push({end, chip, kIssueEnd});
    };
  }

  void Start(std::uint32_t op, double now) {
    if (issue_.Serves(op)) {
      issue_.Queue(op, now, PromiseIssue());
    } else {
      StartUp(op, now);
    }
  }

  void StartUp(std::uint32_t op, double now) {
    timeline_.start[op] = now;
    const OpId id(op);
    if (memory_.active() && memory_.Uses(op)) {
      const double end = memory_.Start(op, now);
      if (end < kNever) computes_.Push({end, op, 0});
      return;
    }
    if (schedule_.kind(id) != OpKind::kTransfer) {
      computes_.Push({now + schedule_.duration(id).value(), op, 0});
      return;
    }
    double delay = network_.message_overhead;
    for (const LinkId link : schedule_.route(id)) {
      delay += network_.LatencyOf(link);
    }
    starts_.Push({now + delay, op, 0});
  }

  void Finish(std::uint32_t op, double date) {
    timeline_.end[op] = date;
    ++ended_;
    timeline_.makespan = std::max(timeline_.makespan, date);
    successors_.Release(op, [&](std::uint32_t next) { Start(next, date); });
  }

  // All are taken out before the first one releases what waits for it.
  bool EndFlows(double due) {
    due_.clear();
    while (!ends_.empty() && ends_.date() <= due) {
      due_.push_back(flows_[ends_.id()].op);
      rates_.Remove(ends_.id());
      ends_.Pop();
    }
    for (const std::uint32_t op : due_) Finish(op, now_);
    return !due_.empty();
  }

  bool EndComputes(double due) {
    bool ended = false;
    while (!computes_.empty() && computes_.top().date <= due) {
      const Event event = computes_.top();
      computes_.Pop();
      if (event.version == kIssueEnd) {  // no flow begins or ends by it
        StartUp(issue_.End(event.id, event.date, PromiseIssue()), event.date);
        continue;
      }
      if (memory_.active() && memory_.Uses(event.id)) {
        if (!memory_.Holds(event.id, event.date)) continue;  // it has moved
        memory_.Finish(event.id);
      }
      ended = true;
      if (dated_.Takes(OpId(event.id), event.date)) {
        Lose(event.id);
      } else {
        Finish(event.id, event.date);
      }
    }
    return ended;
  }

  // Dated faults. What flows over something that dies is lost.
  bool ChangeLinks(double due) {
    const auto& [faults, links, chips] = network_.changes;
    bool changed = false, dies = false;
    for (; links_changed_ < links.size(); ++links_changed_) {
      const LinkChange& change = links[links_changed_];
      if (change.date > due) break;
      rates_.SetBandwidth(change.link,
                          network_.BandwidthOf(change.link) * change.factor);
      changed = true;
      dies |= change.factor == 0;
    }
    for (; chips_dead_ < chips.size(); ++chips_dead_) {
      if (chips[chips_dead_].date > due) break;
      changed = dies = true;
    }
    for (std::uint32_t flow = 0; dies && flow < flows_.size(); ++flow) {
      const std::uint32_t op = flows_[flow].op;
      if (rates_.rate(flow) == 0 || !dated_.Of(OpId(op)).By(now_)) continue;
      rates_.Remove(flow);
      ends_.Set(flow, -kNever);
      ends_.Pop();
      Lose(op);
    }
    return changed;
  }

  void Lose(std::uint32_t op) {
    timeline_.lost.push_back(dated_.LossOf(OpId(op)));
  }

  bool BeginFlows(double due) {
    bool began = false;
    while (!starts_.empty() && starts_.top().date <= due) {
      const std::uint32_t op = starts_.top().id;
      starts_.Pop();
      if (!dated_.empty() && dated_.Of(OpId(op)).By(now_)) {
        Lose(op);
        continue;
      }
      const std::uint32_t flow = rates_.Add(schedule_.route(OpId(op)));
      if (flow >= flows_.size()) flows_.resize(flow + 1);
      flows_[flow] = {
          op, static_cast<double>(schedule_.bytes(OpId(op)).value()), now_};
      began = true;
    }
    return began;
  }

  // What has flowed so far flowed at the rates before.
  void ChangeRates() {
    const auto& changes = rates_.Solve();
    changes_ = changes.size();
    for (const MaxMinRates::Change& change : changes) {
      Flow& flow = flows_[change.flow];
      flow.left -= change.before * (now_ - flow.since);
      flow.since = now_;
      ends_.Set(change.flow,
                now_ + std::max(0.0, flow.left) / rates_.rate(change.flow));
    }
  }

  // What the flows read and write at every chip, at their new rates.
  void ShareMemory(double now) {
    std::vector<double> traffic(traffic_.size());
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
      const double rate = rates_.rate(flow);
      const OpId op(flows_[flow].op);
      traffic[schedule_.src(op).value()] += rate;
      traffic[schedule_.dst(op).value()] +=
          rate * MemoryContention::Weight(schedule_.mode(op));
    }
    for (std::uint32_t chip = 0; chip < traffic.size(); ++chip) {
      if (traffic[chip] == traffic_[chip]) continue;
      memory_.Change(chip, traffic[chip] - traffic_[chip], now,
                     [this](std::uint32_t compute, double end) {
                       computes_.Push({end, compute, 0});
                     });
    }
    traffic_ = std::move(traffic);
  }

  void FindNext() {
    next_ = kNever;
    if (!starts_.empty()) next_ = std::min(next_, starts_.top().date);
    if (!computes_.empty()) next_ = std::min(next_, computes_.top().date);
    if (!ends_.empty()) next_ = std::min(next_, ends_.date());
    if (next_ == kNever) return;
    const auto& [faults, links, chips] = network_.changes;
    if (links_changed_ < links.size()) {
      next_ = std::min(next_, links[links_changed_].date);
    }
    if (chips_dead_ < chips.size()) {
      next_ = std::min(next_, chips[chips_dead_].date);
    }
    next_ = std::max(next_, now_);
  }

  const Schedule& schedule_;
  const Network& network_;
  Successors successors_;
  IssueUnits issue_;
  MemoryContention memory_;
  std::vector<double> traffic_;  // bytes/s by chip, if memory counts
  EventQueue starts_;
  EventQueue computes_;  // their ends, and those of issues
  DatedChanges dated_;
  std::size_t links_changed_ = 0, chips_dead_ = 0;  // of Network::changes
  MaxMinRates rates_;
  std::vector<Flow> flows_;  // as numbered by rates_
  MovableQueue ends_;        // of flows
  std::size_t changes_ = 0;  // of rates, at the latest change
  double now_ = 0;
  double next_ = kNever;
  std::vector<std::uint32_t> due_;
  std::uint64_t ended_ = 0;
  Timeline timeline_;
};

}  // namespace

std::unique_ptr<Core> MakeMaxMinCore(const Schedule& schedule,
                                     const Network& network) {
  return std::make_unique<MaxMinCore>(schedule, network);
}

}  // namespace podsim
