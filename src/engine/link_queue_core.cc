#include <algorithm>
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
// .. that is the end of a service by the death of the link.
constexpr std::uint32_t kDropped = UINT32_MAX - 2;

// A packet that waits at a link, or is on its way there.
struct Packet {
  std::uint32_t op;
  std::uint32_t number;  // of its transfer
  std::uint32_t hop;     // index into the route
  std::uint32_t behind;  // the next in the queue; or in the list of unused ones
  double head;           // date of arrival of its head
  double tail;           // of its last byte: it is not gone before
};

// A link that serves one packet at a time, and who waits for it.
struct LinkQueue {
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  bool busy = false;
  Packet served{};     // if busy
  double free_at = 0;  // end of the last service
  double rate = 0;     // bytes/s of this service, if memory counts
};

// Links with queues. The network `fifo` is one packet per transfer, of one hop.
class LinkQueueCore : public Core {
 public:
  LinkQueueCore(const Schedule& schedule, const Network& network)
      : schedule_(schedule),
        network_(network),
        successors_(schedule, network),
        issue_(schedule, network),
        memory_(schedule, network.hbm_bandwidth),
        changes_(schedule, network),
        links_(network.links),
        size_(network.model.kind == NetworkKind::kPacket
                  ? network.model.packet
                  : std::numeric_limits<std::int64_t>::max()),
        cut_through_(network.model.cut_through) {
    timeline_.start.assign(schedule.size(), -1);
    timeline_.end.assign(schedule.size(), -1);
    if (!changes_.empty()) lost_.resize(schedule.size());
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      if (!successors_.Waits(op)) Start(op, 0);
    }
  }

  bool empty() const override {
    return ends_.empty() && starts_.empty() && arrivals_.empty() &&
           batch_.empty();
  }

  double next() const override {
    double date = kNever;
    if (!ends_.empty()) date = std::min(date, ends_.top().date);
    if (!starts_.empty()) date = std::min(date, starts_.top().date);
    if (!arrivals_.empty()) date = std::min(date, arrivals_.top().date);
    return date;
  }

  // All events of one date: ends first, they make room; then whatever arrives,
  // by op and packet. What they start may be due at once: the next step.
  void Step() override {
    const double due = next() * (1 + kSimultaneous);
    while (!ends_.empty() && ends_.top().date <= due) End();
    while (!starts_.empty() && starts_.top().date <= due) {
      const Event start = starts_.top();
      starts_.Pop();
      batch_.push_back(NewPacket(start.id, 0, start.date));
    }
    while (!arrivals_.empty() && arrivals_.top().date <= due) {
      const Event arrival = arrivals_.top();
      arrivals_.Pop();
      packets_[arrival.id].head = arrival.date;
      batch_.push_back(arrival.id);
    }
    const auto before = [this](std::uint32_t a, std::uint32_t b) {
      const Packet& left = packets_[a];
      const Packet& right = packets_[b];
      return left.op != right.op ? left.op < right.op
                                 : left.number < right.number;
    };
    // At first they mostly are in order.
    if (!std::is_sorted(batch_.begin(), batch_.end(), before)) {
      std::sort(batch_.begin(), batch_.end(), before);
    }
    for (const std::uint32_t packet : batch_) Arrive(packet);
    batch_.clear();
  }

  std::uint64_t ended() const override { return ended_; }
  Timeline TakeTimeline() override { return std::move(timeline_); }

 private:
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
    timeline_.start[op] = now;
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
    const double start_up =
        network_.message_overhead + network_.LatencyOf(schedule_.route(id)[0]);
    starts_.Push(starts_.ClassOf(start_up), now, op);
  }

  std::uint32_t NewPacket(std::uint32_t op, std::uint32_t number, double date) {
    const Packet packet{.op = op,
                        .number = number,
                        .hop = 0,
                        .behind = kNone,
                        .head = date,
                        .tail = 0};
    if (unused_ == kNone) {
      packets_.push_back(packet);
      return static_cast<std::uint32_t>(packets_.size() - 1);
    }
    const std::uint32_t id = unused_;
    unused_ = packets_[id].behind;
    packets_[id] = packet;
    return id;
  }

  std::int64_t PacketsOf(std::uint32_t op) const {
    const std::int64_t bytes = schedule_.bytes(OpId(op)).value();
    return bytes <= size_ ? 1 : (bytes - 1) / size_ + 1;
  }

  double BytesOf(const Packet& packet) const {
    const std::int64_t bytes = schedule_.bytes(OpId(packet.op)).value();
    if (bytes <= size_) return static_cast<double>(bytes);
    return static_cast<double>(
        std::min(size_, bytes - size_ * std::int64_t{packet.number}));
  }

  LinkId LinkOf(const Packet& packet) const {
    return schedule_.route(OpId(packet.op))[packet.hop];
  }
  bool OnLastHop(const Packet& packet) const {
    return packet.hop + 1 == schedule_.route(OpId(packet.op)).size();
  }

  // A packet's head has come to a link.
  void Arrive(std::uint32_t id) {
    const std::uint32_t link_id = LinkOf(packets_[id]).value();
    LinkQueue& link = links_[link_id];
    if (!link.busy) {
      Serve(link_id, id);
      return;
    }
    packets_[id].behind = kNone;
    (link.first == kNone ? link.first : packets_[link.last].behind) = id;
    link.last = id;
  }

  // Begins to serve a packet: the link is held until its last byte has left,
  // which is not before that byte arrived. With cut-through the packet goes on
  // meanwhile. A packet that the link cannot finish goes nowhere.
  void Serve(std::uint32_t link_id, std::uint32_t id) {
    LinkQueue& link = links_[link_id];
    Packet& packet = packets_[id];
    const double begin = std::max(link.free_at, packet.head);
    const double bytes = BytesOf(packet);
    double rate = network_.BandwidthOf(LinkId(link_id));
    Death death;
    if (!changes_.empty()) {
      rate = changes_.RateAt(LinkId(link_id), begin);
      death = changes_.OfHop(OpId(packet.op), LinkId(link_id));
    }
    double end =
        rate > 0 ? std::max(begin + bytes / rate, packet.tail) : kNever;
    const bool lost = death.Before(end);
    link.busy = true;
    link.served = packet;
    link.served.behind = id;
    if (memory_.active()) {
      link.rate = end > begin ? bytes / (end - begin) : 0;
      ChangeMemory(link, +1, begin);
    }
    if (lost) {
      Lose(packet.op, death.fault);
      end = std::max(begin, death.date);
    }
    link.free_at = end;
    ends_.Push({end, link_id, lost ? kDropped : 0});
    if (OnLastHop(packet) || lost) {
      packet.behind = unused_;
      unused_ = id;
    } else if (cut_through_) {
      GoOn(id, begin, end);
    }
  }

  void Lose(std::uint32_t op, std::uint32_t fault) {
    if (!lost_[op]) timeline_.lost.push_back({.op = op, .fault = fault});
    lost_[op] = true;
  }

  // A packet leaves for the next link of its route.
  void GoOn(std::uint32_t id, double head, double tail) {
    Packet& packet = packets_[id];
    ++packet.hop;
    const double latency = network_.LatencyOf(LinkOf(packet));
    packet.tail = tail + latency;
    arrivals_.Push(arrivals_.ClassOf(latency), head, id);
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
        Lose(event.id, changes_.Of(OpId(event.id)).fault);
      } else {
        Finish(event.id, event.date);
      }
      return;
    }
    if (event.version == kIssueEnd) {
      StartUp(issue_.End(event.id, event.date, PromiseIssue()), event.date);
      return;
    }
    LinkQueue& link = links_[event.id];
    const Packet served = link.served;
    link.busy = false;
    if (memory_.active()) ChangeMemory(link, -1, event.date);
    if (event.version != kDropped) PassOn(served, event.date);
    if (link.first == kNone) return;
    const std::uint32_t next = link.first;
    link.first = packets_[next].behind;
    Serve(event.id, next);
  }

  // A link has served a packet.
  void PassOn(const Packet& served, double now) {
    const bool last = served.number + 1 == PacketsOf(served.op);
    // The next packet of a transfer comes to its first link when this one has
    // left it.
    if (served.hop == 0 && !last) {
      batch_.push_back(NewPacket(served.op, served.number + 1, now));
    }
    if (!OnLastHop(served)) {
      if (!cut_through_) GoOn(served.behind, now, now);
    } else if (last) {
      Finish(served.op, now);
    }
  }

  // A packet reads memory while it leaves its source, and writes while it
  // comes in at its destination.
  void ChangeMemory(const LinkQueue& link, int sign, double now) {
    const OpId op(link.served.op);
    const auto promise = [this](std::uint32_t compute, double end) {
      ends_.Push({end, compute, kComputeEnd});
    };
    if (link.served.hop == 0) {
      memory_.Change(schedule_.src(op).value(), sign * link.rate, now, promise);
    }
    if (OnLastHop(link.served)) {
      memory_.Change(
          schedule_.dst(op).value(),
          sign * link.rate * MemoryContention::Weight(schedule_.mode(op)), now,
          promise);
    }
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
  DatedChanges changes_;
  std::vector<bool> lost_;  // by op, if anything changes
  std::vector<LinkQueue> links_;
  std::int64_t size_;  // of a packet
  bool cut_through_;
  std::vector<Packet> packets_;
  std::uint32_t unused_ = kNone;      // the first of a list in packets_
  std::vector<std::uint32_t> batch_;  // packets that arrive now
  DelayQueue starts_;                 // ops
  DelayQueue arrivals_;               // packets, at the links after the first
  EventQueue ends_;                   // of services, and of computes
  std::uint64_t ended_ = 0;
  Timeline timeline_;
};

}  // namespace

std::unique_ptr<Core> MakeLinkQueueCore(const Schedule& schedule,
                                        const Network& network) {
  CHECK(network.model.kind != NetworkKind::kFluid);
  CHECK(network.model.kind == NetworkKind::kPacket || schedule.one_hop());
  return std::make_unique<LinkQueueCore>(schedule, network);
}

}  // namespace podsim
