#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "engine/core.h"
#include "engine/dated_changes.h"
#include "engine/event_queue.h"
#include "engine/issue_units.h"
#include "engine/memory_contention.h"

namespace podsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNone = UINT32_MAX;
// Version of an event that is the end of a local or compute op.
constexpr std::uint32_t kComputeEnd = UINT32_MAX;
// .. that is the end of an issue, by chip.
constexpr std::uint32_t kIssueEnd = UINT32_MAX - 1;
// .. that is the next dated change of a link. The smallest of these.
constexpr std::uint32_t kChange = UINT32_MAX - 2;

// A transfer that flows on a link, by the link's volume at which it is done.
struct Mark {
  double volume;
  std::uint32_t op;
};

bool Higher(const Mark& a, const Mark& b) {
  return a.volume > b.volume || (a.volume == b.volume && a.op > b.op);
}

// A link shared equally: `volume` counts the bytes that each flowing transfer
// has received since the link was first used, so a transfer of b bytes that
// joins at volume v is done at volume v + b, whoever joins or leaves meanwhile.
struct LinkState {
  double volume = 0;
  double since = 0;            // date of `volume`
  Mark first{0, kNone};        // the next to end
  std::uint32_t active = 0;    // flowing
  std::uint32_t version = 0;   // of the promised completion
  std::uint32_t more = kNone;  // index of the heap of the others
};

class EqualShareCore : public Core {
 public:
  EqualShareCore(const Schedule& schedule, const Network& network)
      : schedule_(schedule),
        network_(network),
        successors_(schedule, network),
        issue_(schedule, network),
        memory_(schedule, network.hbm_bandwidth),
        changes_(schedule, network),
        links_(network.links),
        rate_(network.bandwidth),
        uniform_rate_(network.link_bandwidth.empty() && changes_.empty()),
        rates_(network.link_bandwidth) {
    if (network.starts || !changes_.empty()) {
      timeline_.start.assign(schedule.size(), -1);
    }
    timeline_.end.assign(schedule.size(), -1);
    if (memory_.active()) weights_.resize(network.links);
    uniform_delay_ = network.link_latency.empty();
    if (uniform_delay_) {
      starts_.ClassOf(network.message_overhead + network.hop_latency);
    }
    if (!uniform_rate_) rates_.resize(network.links, rate_);
    PromiseChange(0);
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      if (!successors_.Waits(op)) Start(op, 0);
    }
  }

  bool empty() const override { return starts_.empty() && ends_.empty(); }

  double next() const override {
    return TakeEnd() ? ends_.top().date : starts_.top().date;
  }

  void Step() override {
    if (TakeEnd()) {
      End();
    } else {
      Join();
    }
  }

  void Run(std::uint64_t events) override {
    for (; events > 0 && !empty(); --events) EqualShareCore::Step();
  }

  std::uint64_t ended() const override { return ended_; }
  Timeline TakeTimeline() override { return std::move(timeline_); }

 private:
  // Of simultaneous events ends come first: they make room.
  bool TakeEnd() const {
    if (ends_.empty()) return false;
    return starts_.empty() ||
           ends_.top().date <= starts_.top().date * (1 + kSimultaneous);
  }

  double RateOf(std::uint32_t link) const {
    return uniform_rate_ ? rate_ : rates_[link];
  }

  auto PromiseIssue() {
    return [this](std::uint32_t chip, double end) {
      ends_.Push({end, chip, kIssueEnd});
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
    if (!timeline_.start.empty()) timeline_.start[op] = now;
    const OpId id(op);
    if (memory_.active() && memory_.Uses(op)) {
      const double end = memory_.Start(op, now);
      if (end < kNever) ends_.Push({end, op, kComputeEnd});
      return;
    }
    if (schedule_.kind(id) != OpKind::kTransfer) {
      ends_.Push({now + schedule_.duration(id).value(), op, kComputeEnd});
      return;
    }
    const std::size_t delay_class =
        uniform_delay_
            ? 0
            : starts_.ClassOf(network_.message_overhead +
                              network_.LatencyOf(schedule_.route(id)[0]));
    starts_.Push(delay_class, now, op);
  }

  // A transfer begins to flow.
  void Join() {
    const Event event = starts_.top();
    starts_.Pop();
    const OpId op(event.id);
    const std::uint32_t link_id = schedule_.route(op)[0].value();
    if (!uniform_rate_ && rates_[link_id] == 0) [[unlikely]] {
      Lose(event.id);
      return;
    }
    LinkState& link = links_[link_id];
    const double bytes = static_cast<double>(schedule_.bytes(op).value());
    if (link.active == 0) {
      link.volume = 0;
      link.since = event.date;
      link.first = {bytes, event.id};
    } else {
      const double elapsed = std::max(0.0, event.date - link.since);
      link.volume += elapsed * RateOf(link_id) / link.active;
      link.since = std::max(link.since, event.date);
      Insert(link, {link.volume + bytes, event.id});
    }
    ++link.active;
    Promise(link_id, link);
    if (memory_.active()) ChangeFlow(op, link_id, +1, event.date);
  }

  // A transfer has begun or ended to flow: its link moves `rate` bytes/s while
  // anything flows, of which every flow has an equal share.
  void ChangeFlow(OpId op, std::uint32_t link_id, int change, double now) {
    const double rate = RateOf(link_id);
    const std::uint32_t active = links_[link_id].active;
    const std::uint32_t before = active - change;
    const double old_weight = weights_[link_id];
    weights_[link_id] =
        active == 0 ? 0
                    : old_weight +
                          change * MemoryContention::Weight(schedule_.mode(op));
    const auto per_flow = [&](double weight, std::uint32_t flows) {
      return flows == 0 ? 0 : rate * weight / flows;
    };
    const auto promise = [this](std::uint32_t compute, double end) {
      ends_.Push({end, compute, kComputeEnd});
    };
    if (active == 0 || before == 0) {
      memory_.Change(schedule_.src(op).value(), change * rate, now, promise);
    }
    memory_.Change(
        schedule_.dst(op).value(),
        per_flow(weights_[link_id], active) - per_flow(old_weight, before), now,
        promise);
  }

  void Insert(LinkState& link, Mark mark) {
    if (Higher(link.first, mark)) std::swap(link.first, mark);
    if (link.more == kNone) {
      link.more = static_cast<std::uint32_t>(heaps_.size());
      heaps_.emplace_back();
    }
    std::vector<Mark>& heap = heaps_[link.more];
    heap.push_back(mark);
    std::push_heap(heap.begin(), heap.end(), Higher);
  }

  // The link's next completion, if nobody joins before.
  void Promise(std::uint32_t id, LinkState& link) {
    ++link.version;
    ends_.Push({EndOf(id, link), id, link.version});
  }

  double EndOf(std::uint32_t id, const LinkState& link) const {
    const double left = std::max(0.0, link.first.volume - link.volume);
    return link.since + left * link.active / RateOf(id);
  }

  // The next one, after the ends of its date.
  void PromiseChange(double now) {
    const std::vector<LinkChange>& changes = network_.changes.links;
    if (changed_ == changes.size()) return;
    ends_.Push({std::max(now, changes[changed_].date), kNone, kChange});
  }

  // A link gets another rate, or dies.
  void Change(double now) {
    const LinkChange& change = network_.changes.links[changed_];
    const std::uint32_t id = change.link.value();
    LinkState& link = links_[id];
    const double end = link.active > 0 ? EndOf(id, link) : kNever;
    if (end <= change.date * (1 + kSimultaneous)) {
      // First who is done but for rounding.
      ends_.Push({std::max(end, std::nextafter(now, kNever)), kNone, kChange});
      return;
    }
    ++changed_;
    PromiseChange(now);
    ++link.version;  // what it promised does not hold any more
    const double before = rates_[id];
    const double after = network_.BandwidthOf(change.link) * change.factor;
    rates_[id] = after;
    if (link.active == 0) return;
    const double elapsed = std::max(0.0, now - link.since);
    link.volume += elapsed * before / link.active;
    link.since = std::max(link.since, now);
    if (memory_.active()) ChangeMemory(id, after - before, now);
    if (after > 0) {
      Promise(id, link);
    } else {
      LoseAll(id);
    }
  }

  // The rate of a link on which something flows changes.
  void ChangeMemory(std::uint32_t link_id, double change, double now) {
    const LinkState& link = links_[link_id];
    const OpId op(link.first.op);
    const auto promise = [this](std::uint32_t compute, double end) {
      ends_.Push({end, compute, kComputeEnd});
    };
    memory_.Change(schedule_.src(op).value(), change, now, promise);
    memory_.Change(schedule_.dst(op).value(),
                   change * weights_[link_id] / link.active, now, promise);
  }

  // Whatever flows on a link is lost.
  void LoseAll(std::uint32_t link_id) {
    LinkState& link = links_[link_id];
    Lose(link.first.op);
    if (link.more != kNone) {
      for (const Mark& mark : heaps_[link.more]) Lose(mark.op);
      heaps_[link.more].clear();
    }
    link.active = 0;
    if (memory_.active()) weights_[link_id] = 0;
  }

  void Lose(std::uint32_t op) {
    timeline_.lost.push_back(changes_.LossOf(OpId(op)));
  }

  void End() {
    const Event event = ends_.top();
    ends_.Pop();
    if (event.version == kComputeEnd) {
      if (memory_.active() && memory_.Uses(event.id)) {
        if (!memory_.Holds(event.id, event.date)) return;  // it has moved
        memory_.Finish(event.id);
      }
      if (changes_.Takes(OpId(event.id), event.date)) {
        Lose(event.id);
      } else {
        Finish(event.id, event.date);
      }
      return;
    }
    if (event.version >= kChange) [[unlikely]] {
      if (event.version == kIssueEnd) {
        StartUp(issue_.End(event.id, event.date, PromiseIssue()), event.date);
      } else {
        Change(event.date);
      }
      return;
    }
    LinkState& link = links_[event.id];
    if (event.version != link.version) return;  // someone joined since
    const std::uint32_t op = link.first.op;
    link.volume = link.first.volume;
    link.since = event.date;
    --link.active;
    if (link.active > 0) {
      std::vector<Mark>& heap = heaps_[link.more];
      std::pop_heap(heap.begin(), heap.end(), Higher);
      link.first = heap.back();
      heap.pop_back();
      Promise(event.id, link);
    }
    if (memory_.active()) ChangeFlow(OpId(op), event.id, -1, event.date);
    Finish(op, event.date);
  }

  void Finish(std::uint32_t op, double now) {
    timeline_.end[op] = now;
    ++ended_;
    timeline_.makespan = std::max(timeline_.makespan, now);
    successors_.Release(op, [&](std::uint32_t next) { Start(next, now); });
  }

  const Schedule& schedule_;
  const Network& network_;
  Successors successors_;
  IssueUnits issue_;
  MemoryContention memory_;
  std::vector<double> weights_;  // of the flows of a link, if memory counts
  DatedChanges changes_;
  std::vector<LinkState> links_;
  std::vector<std::vector<Mark>> heaps_;
  double rate_;
  bool uniform_rate_;
  std::vector<double> rates_;  // unless uniform; 0: dead
  std::size_t changed_ = 0;    // of Network::changes
  bool uniform_delay_ = true;
  DelayQueue starts_;
  EventQueue ends_;
  std::uint64_t ended_ = 0;
  Timeline timeline_;
};

}  // namespace

std::unique_ptr<Core> MakeEqualShareCore(const Schedule& schedule,
                                         const Network& network) {
  CHECK(schedule.one_hop());
  return std::make_unique<EqualShareCore>(schedule, network);
}

}  // namespace podsim
