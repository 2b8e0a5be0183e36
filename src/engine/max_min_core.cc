#include <algorithm>
#include <limits>

#include "base/check.h"
#include "engine/core.h"
#include "engine/event_queue.h"
#include "engine/issue_units.h"
#include "engine/memory_contention.h"

namespace podsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Version of an event that is the end of an issue, by chip.
constexpr std::uint32_t kIssueEnd = 1;

// A transfer whose bytes are draining.
struct Flow {
  std::uint32_t op;
  double left;      // bytes, at date `now_`
  double rate = 0;  // bytes/s
};

class MaxMinCore : public Core {
 public:
  MaxMinCore(const Schedule& schedule, const Network& network)
      : schedule_(schedule),
        network_(network),
        successors_(schedule, network),
        issue_(schedule, network),
        memory_(schedule, network.hbm_bandwidth),
        free_(network.links),
        unfrozen_(network.links),
        first_flow_(network.links),
        last_flow_(network.links) {
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

  // All events of one date: ends first, then the transfers that begin to flow;
  // what they start may be due at once.
  void Step() override {
    const double now = next_;
    const double due = now * (1 + kSimultaneous);
    Advance(now);
    bool changed = false;
    for (bool again = true; again;) {
      again = EndFlows(due);
      again |= EndComputes(due);
      again |= BeginFlows(due);
      changed |= again;
    }
    if (changed) {
      Solve();
      if (memory_.active()) ShareMemory(now);
    }
    FindNext();
  }

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
    timeline_.makespan = std::max(timeline_.makespan, date);
    successors_.Release(op, [&](std::uint32_t next) { Start(next, date); });
  }

  void Advance(double now) {
    for (Flow& flow : flows_) flow.left -= flow.rate * (now - now_);
    now_ = now;
  }

  // A flow is done when what is left would drain within the tolerance. All are
  // taken out before the first one releases what waits for it.
  bool EndFlows(double due) {
    ended_.clear();
    std::erase_if(flows_, [&](const Flow& flow) {
      if (flow.left > flow.rate * (due - now_)) return false;
      ended_.push_back(flow.op);
      return true;
    });
    for (const std::uint32_t op : ended_) Finish(op, now_);
    return !ended_.empty();
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
      Finish(event.id, event.date);
      ended = true;
    }
    return ended;
  }

  bool BeginFlows(double due) {
    bool began = false;
    while (!starts_.empty() && starts_.top().date <= due) {
      const std::uint32_t op = starts_.top().id;
      starts_.Pop();
      flows_.push_back(
          {op, static_cast<double>(schedule_.bytes(OpId(op)).value())});
      began = true;
    }
    return began;
  }

  // Progressive filling: the link with the smallest share per unfrozen flow
  // freezes its flows at that share, until all are frozen. A share only grows
  // while others freeze, so that a heap of possibly outdated, smaller shares
  // finds the smallest: O(hops x log links).
  void Solve() {
    ListFlowsOfLinks();
    tightest_.clear();
    for (const std::uint32_t link : used_) tightest_.push_back(ShareOf(link));
    std::make_heap(tightest_.begin(), tightest_.end(), Looser);
    frozen_.assign(flows_.size(), false);
    while (!tightest_.empty()) {
      std::pop_heap(tightest_.begin(), tightest_.end(), Looser);
      const Share found = tightest_.back();
      tightest_.pop_back();
      if (unfrozen_[found.link] == 0) continue;
      const Share now = ShareOf(found.link);
      if (now.rate > found.rate) {
        tightest_.push_back(now);
        std::push_heap(tightest_.begin(), tightest_.end(), Looser);
        continue;
      }
      Freeze(found.link, now.rate);
    }
  }

  // Of every used link: its flows, as indices into flows_, once per hop.
  void ListFlowsOfLinks() {
    used_.clear();
    for (const Flow& flow : flows_) {
      for (const LinkId link : schedule_.route(OpId(flow.op))) {
        if (unfrozen_[link.value()]++ > 0) continue;
        used_.push_back(link.value());
        free_[link.value()] = network_.BandwidthOf(link);
      }
    }
    std::uint32_t first = 0;
    for (const std::uint32_t link : used_) {
      first_flow_[link] = last_flow_[link] = first;
      first += unfrozen_[link];
    }
    flows_of_links_.resize(first);
    for (std::uint32_t k = 0; k < flows_.size(); ++k) {
      for (const LinkId link : schedule_.route(OpId(flows_[k].op))) {
        flows_of_links_[last_flow_[link.value()]++] = k;
      }
    }
  }

  struct Share {
    double rate;
    std::uint32_t link;
  };
  static bool Looser(const Share& a, const Share& b) {
    return a.rate > b.rate || (a.rate == b.rate && a.link > b.link);
  }
  Share ShareOf(std::uint32_t link) const {
    return {free_[link] / unfrozen_[link], link};
  }

  void Freeze(std::uint32_t at, double rate) {
    for (std::uint32_t k = first_flow_[at]; k < last_flow_[at]; ++k) {
      const std::uint32_t flow = flows_of_links_[k];
      if (frozen_[flow]) continue;
      frozen_[flow] = true;
      flows_[flow].rate = rate;
      for (const LinkId link : schedule_.route(OpId(flows_[flow].op))) {
        free_[link.value()] = std::max(0.0, free_[link.value()] - rate);
        --unfrozen_[link.value()];
      }
    }
  }

  // What the flows read and write at every chip, at their new rates.
  void ShareMemory(double now) {
    std::vector<double> traffic(traffic_.size());
    for (const Flow& flow : flows_) {
      const OpId op(flow.op);
      traffic[schedule_.src(op).value()] += flow.rate;
      traffic[schedule_.dst(op).value()] +=
          flow.rate * MemoryContention::Weight(schedule_.mode(op));
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
    for (const Flow& flow : flows_) {
      next_ = std::min(next_, now_ + std::max(0.0, flow.left) / flow.rate);
    }
    if (next_ != kNever) next_ = std::max(next_, now_);
  }

  const Schedule& schedule_;
  const Network& network_;
  Successors successors_;
  IssueUnits issue_;
  MemoryContention memory_;
  std::vector<double> traffic_;  // bytes/s by chip, if memory counts
  EventQueue starts_;
  EventQueue computes_;  // their ends, and those of issues
  std::vector<Flow> flows_;
  double now_ = 0;
  double next_ = kNever;
  // Scratch of Solve, by link.
  std::vector<double> free_;
  std::vector<std::uint32_t> unfrozen_;
  std::vector<std::uint32_t> used_;
  std::vector<std::uint32_t> first_flow_, last_flow_;  // into flows_of_links_
  std::vector<std::uint32_t> flows_of_links_;
  std::vector<Share> tightest_;  // a heap
  std::vector<bool> frozen_;     // by flow
  std::vector<std::uint32_t> ended_;
  Timeline timeline_;
};

}  // namespace

std::unique_ptr<Core> MakeMaxMinCore(const Schedule& schedule,
                                     const Network& network) {
  return std::make_unique<MaxMinCore>(schedule, network);
}

}  // namespace podsim
