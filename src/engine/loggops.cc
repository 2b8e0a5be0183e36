// The event loop of LogGOPSim. Busy resources send an event back into the queue
// for when they are free; messages occupy the CPU and NIC of their destination
// on arrival, whether their recv is posted or not.
#include "engine/loggops.h"

#include <algorithm>
#include <queue>

#include "engine/goal_mailbox.h"

namespace podsim {
namespace {

constexpr std::uint8_t kArrival = 3;  // behind the GoalKinds

// In the order in which ops that become free together are started.
std::uint8_t StartOrder(GoalKind kind) {
  if (kind == GoalKind::kSend) return 0;
  return kind == GoalKind::kRecv ? 1 : 2;
}

struct GoalEvent {
  double date_ns;
  std::uint64_t number;
  GoalOpId op;  // of an arrival: the send
  std::uint8_t kind;
};

struct IsLater {
  bool operator()(const GoalEvent& a, const GoalEvent& b) const {
    return a.date_ns != b.date_ns ? a.date_ns > b.date_ns : a.number > b.number;
  }
};

struct OpState {
  std::uint32_t missing = 0;  // waits
  double ready_ns = 0;
  double cpu_end_ns = 0;  // of a send, at its destination
  bool finished = false;
};

// Who waits for an op of a rank.
struct Waiters {
  std::vector<std::uint32_t> first;  // by op, and the end
  std::vector<GoalWait> waits;       // sorted by `after`
};

Waiters WaitersOf(const GoalRank& rank) {
  Waiters waiters;
  waiters.first.resize(rank.ops.size() + 1);
  for (const GoalWait& wait : rank.waits) ++waiters.first[wait.after + 1];
  for (std::size_t op = 0; op < rank.ops.size(); ++op) {
    waiters.first[op + 1] += waiters.first[op];
  }
  waiters.waits = rank.waits;
  std::stable_sort(
      waiters.waits.begin(), waiters.waits.end(),
      [](const GoalWait& a, const GoalWait& b) { return a.after < b.after; });
  return waiters;
}

// When the CPUs, or one side of the NICs, of all ranks are free.
class BusyUntil {
 public:
  BusyUntil(std::size_t ranks, std::size_t units)
      : units_(units), dates_ns_(ranks * units) {}
  double& At(std::uint32_t rank, std::uint8_t unit) {
    return dates_ns_[rank * units_ + unit];
  }
  double Last(std::uint32_t rank) const {
    const auto first =
        dates_ns_.begin() + static_cast<std::ptrdiff_t>(rank * units_);
    return *std::max_element(first,
                             first + static_cast<std::ptrdiff_t>(units_));
  }

 private:
  std::size_t units_;
  std::vector<double> dates_ns_;
};

template <class Unit>
std::size_t UnitsOf(const GoalProgram& program, Unit unit) {
  std::uint8_t most = 0;
  for (const GoalRank& rank : program.ranks) {
    for (const GoalOp& op : rank.ops) most = std::max(most, op.*unit);
  }
  return std::size_t{most} + 1;
}

class LoggopsPlayer {
 public:
  LoggopsPlayer(const GoalProgram& program, const LoggopsParameters& parameters)
      : program_(program),
        p_(parameters),
        cpus_(program.ranks.size(), UnitsOf(program, &GoalOp::cpu)),
        sending_(program.ranks.size(), UnitsOf(program, &GoalOp::nic)),
        receiving_(sending_),
        mailboxes_(program.ranks.size()) {}

  GoalTimeline Run() && {
    for (const GoalRank& rank : program_.ranks) {
      waiters_.push_back(WaitersOf(rank));
      states_.emplace_back(rank.ops.size());
      for (const GoalWait& wait : rank.waits) ++states_.back()[wait.op].missing;
    }
    for (std::uint32_t rank = 0; rank < states_.size(); ++rank) Begin(rank);
    while (!events_.empty()) {
      GoalEvent event = events_.top();
      events_.pop();
      Play(event);
      StartFreed();
    }
    return Timeline();
  }

 private:
  const GoalOp& OpAt(GoalOpId id) const {
    return program_.ranks[id.rank].ops[id.op];
  }
  OpState& StateAt(GoalOpId id) { return states_[id.rank][id.op]; }

  // What the bytes of a message behind the first take.
  static double PerByte(const GoalOp& op, double ns) {
    return op.amount == 0 ? 0 : static_cast<double>(op.amount - 1) * ns;
  }

  void Begin(std::uint32_t rank) {
    for (std::uint32_t op = 0; op < states_[rank].size(); ++op) {
      if (states_[rank][op].missing == 0) freed_.push_back({rank, op});
    }
    StartFreed();
  }

  // Puts the ops that became free into the queue, rank by rank.
  void StartFreed() {
    if (freed_.empty()) return;
    std::stable_sort(freed_.begin(), freed_.end(),
                     [&](const GoalOpId& a, const GoalOpId& b) {
                       if (a.rank != b.rank) return a.rank < b.rank;
                       return StartOrder(OpAt(a).kind) <
                              StartOrder(OpAt(b).kind);
                     });
    for (const GoalOpId id : freed_) {
      const GoalOp& op = OpAt(id);
      double date = std::max(StateAt(id).ready_ns, cpus_.At(id.rank, op.cpu));
      if (op.kind == GoalKind::kSend) {
        date = std::max(date, sending_.At(id.rank, op.nic));
      }
      events_.push(
          {date, next_number_++, id, static_cast<std::uint8_t>(op.kind)});
    }
    freed_.clear();
  }

  void Play(GoalEvent& event) {
    if (event.kind == kArrival) {
      Arrive(event);
    } else if (OpAt(event.op).kind == GoalKind::kCalc) {
      Calculate(event);
    } else if (OpAt(event.op).kind == GoalKind::kSend) {
      Send(event);
    } else {
      Receive(event);
    }
  }

  bool Postponed(GoalEvent& event, double free_ns) {
    if (free_ns <= event.date_ns) return false;
    event.date_ns = free_ns;
    events_.push(event);
    return true;
  }

  void Calculate(GoalEvent& event) {
    const GoalOp& op = OpAt(event.op);
    double& cpu = cpus_.At(event.op.rank, op.cpu);
    if (Postponed(event, cpu)) return;
    cpu = event.date_ns + static_cast<double>(op.amount);
    Release(event.op, event.date_ns, true);
    Finish(event.op, cpu);
  }

  void Send(GoalEvent& event) {
    const GoalOp& op = OpAt(event.op);
    double& cpu = cpus_.At(event.op.rank, op.cpu);
    double& nic = sending_.At(event.op.rank, op.nic);
    if (Postponed(event, std::max(cpu, nic))) return;
    Release(event.op, event.date_ns, true);
    cpu = event.date_ns + p_.overhead_ns + PerByte(op, p_.overhead_per_byte_ns);
    nic = event.date_ns + p_.gap_ns + PerByte(op, p_.gap_per_byte_ns);
    StateAt(event.op).ready_ns = cpu;
    events_.push({event.date_ns + p_.overhead_ns + p_.latency_ns,
                  next_number_++, event.op, kArrival});
    if (op.amount <= p_.eager_bytes) Finish(event.op, cpu);
  }

  void Receive(const GoalEvent& event) {
    Release(event.op, event.date_ns, true);
    const GoalOp& op = OpAt(event.op);
    GoalMailbox& mailbox = mailboxes_[event.op.rank];
    const auto message = mailbox.TakeMessage(op.peer, op.tag);
    if (!message) {
      mailbox.Post(op.peer, op.tag, event.op);
      return;
    }
    Match(event.op, *message,
          std::max(event.date_ns, StateAt(*message).cpu_end_ns));
  }

  // The CPU and NIC are those that the send names.
  void Arrive(GoalEvent& event) {
    const GoalOp& send = OpAt(event.op);
    const auto rank = static_cast<std::uint32_t>(send.peer);
    double& cpu = cpus_.At(rank, send.cpu);
    double& nic = receiving_.At(rank, send.nic);
    if (Postponed(event, std::max(cpu, nic))) return;
    const double gap = PerByte(send, p_.gap_per_byte_ns);
    cpu = event.date_ns + p_.overhead_ns +
          std::max(PerByte(send, p_.overhead_per_byte_ns), gap);
    nic = event.date_ns + p_.gap_ns + gap;
    StateAt(event.op).cpu_end_ns = cpu;
    const auto src = static_cast<std::int32_t>(event.op.rank);
    const auto receive = mailboxes_[rank].TakeReceive(src, send.tag);
    if (receive) {
      Match(*receive, event.op, cpu);
    } else {
      mailboxes_[rank].Keep(src, send.tag, event.op);
    }
  }

  void Match(GoalOpId receive, GoalOpId send, double date_ns) {
    if (OpAt(send).amount > p_.eager_bytes) {
      Finish(send, std::max(StateAt(send).ready_ns, date_ns));
    }
    Finish(receive, date_ns);
  }

  void Finish(GoalOpId id, double date_ns) {
    StateAt(id).finished = true;
    Release(id, date_ns, false);
  }

  // Ops that wait for the start of this one, or for its end.
  void Release(GoalOpId id, double date_ns, bool started) {
    const Waiters& waiters = waiters_[id.rank];
    for (auto at = waiters.first[id.op]; at < waiters.first[id.op + 1]; ++at) {
      const GoalWait& wait = waiters.waits[at];
      if (wait.started != started) continue;
      OpState& state = states_[id.rank][wait.op];
      state.ready_ns = std::max(state.ready_ns, date_ns);
      if (--state.missing == 0) freed_.push_back({id.rank, wait.op});
    }
  }

  void Count(GoalOpId id, GoalTimeline& timeline) {
    ++timeline.ops;
    if (OpAt(id).kind == GoalKind::kSend) {
      ++timeline.messages;
      timeline.bytes += OpAt(id).amount;
    }
    if (!StateAt(id).finished &&
        !std::binary_search(timeline.unreceived.begin(),
                            timeline.unreceived.end(), id)) {
      timeline.unfinished.push_back(id);
    }
  }

  GoalTimeline Timeline() {
    GoalTimeline timeline;
    for (const GoalMailbox& mailbox : mailboxes_) {
      const std::vector<GoalOpId> kept = mailbox.kept();
      timeline.unreceived.insert(timeline.unreceived.end(), kept.begin(),
                                 kept.end());
    }
    std::sort(timeline.unreceived.begin(), timeline.unreceived.end());
    for (std::uint32_t rank = 0; rank < states_.size(); ++rank) {
      timeline.finish_ns.push_back(cpus_.Last(rank));
      for (std::uint32_t op = 0; op < states_[rank].size(); ++op) {
        Count({rank, op}, timeline);
      }
    }
    return timeline;
  }

  const GoalProgram& program_;
  const LoggopsParameters& p_;
  BusyUntil cpus_, sending_, receiving_;
  std::vector<GoalMailbox> mailboxes_;
  std::vector<Waiters> waiters_;
  std::vector<std::vector<OpState>> states_;
  std::priority_queue<GoalEvent, std::vector<GoalEvent>, IsLater> events_;
  std::uint64_t next_number_ = 0;
  std::vector<GoalOpId> freed_;
};

}  // namespace

GoalTimeline RunLoggops(const GoalProgram& program,
                        const LoggopsParameters& parameters) {
  return LoggopsPlayer(program, parameters).Run();
}

}  // namespace podsim
