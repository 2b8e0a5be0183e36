#include "sim/steady_loops.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace podsim {
namespace {

// Relative to an iteration: what rounding may do to equal ones. Where transfers
// of several hops share links, dates that differ in the last digit may be
// served in another order.
constexpr double kSteadySlack = 1e-9;
// Relative, of sums that must add up.
constexpr double kSumSlack = 1e-9;

// How far the dates of ops from `second` on are from those of as many from
// `first` on, `by` later.
double Apart(const std::vector<double>& dates, std::uint32_t first,
             std::uint32_t second, std::uint32_t ops, double by) {
  double most = 0;
  for (std::uint32_t k = 0; k < ops; ++k) {
    const double apart = std::abs(dates[second + k] - dates[first + k] - by);
    if (!(apart <= most)) most = apart;
  }
  return most;
}

// The iteration that is most like the one before, but not the first or last;
// nullopt: none is the same.
std::optional<std::size_t> SteadyIteration(const ShortenedLoop& loop,
                                           const Timeline& timeline) {
  std::optional<std::size_t> steady;
  double least = 0;
  for (std::size_t k = 1; k + 2 < loop.first_op.size(); ++k) {
    const std::uint32_t first = loop.first_op[k - 1];
    const std::uint32_t second = loop.first_op[k];
    const std::uint32_t ops = second - first;
    if (loop.first_op[k + 1] - second != ops) continue;
    if (ops == 0) return k;
    const double by = timeline.end[second] - timeline.end[first];
    double apart = Apart(timeline.end, first, second, ops, by);
    if (!timeline.start.empty()) {
      apart = std::max(apart, Apart(timeline.start, first, second, ops, by));
    }
    if (!(apart <= kSteadySlack * by) || (steady && apart >= least)) continue;
    steady = k;
    least = apart;
  }
  return steady;
}

class PathFinder {
 public:
  PathFinder(const StepGraph& graph, const CompiledStep& step,
             const Timeline& timeline, const Network& network)
      : graph_(graph),
        step_(step),
        schedule_(step.schedule),
        timeline_(timeline),
        network_(network) {}

  std::optional<std::vector<PathEntry>> Find(double makespan) {
    // On some chip the core may have nothing left to do when others end.
    std::uint32_t op = step_.executions.back().first_end;
    for (std::uint32_t id = 0; id < schedule_.size(); ++id) {
      if (timeline_.end[id] > timeline_.end[op]) op = id;
    }
    double total = 0;
    auto execution = step_.executions.rbegin();
    for (;;) {
      while (execution->first_start > op) ++execution;
      const std::optional<std::uint32_t> before = Latest(op);
      const double from = before ? timeline_.end[*before] : 0;
      total += execution->times * (timeline_.end[op] - from);
      Book(*execution, op, timeline_.end[op] - from);
      if (!before) break;
      const bool leaves = *before < execution->first_start;
      if (leaves) Leave(*execution, *before);
      op = *before;
    }
    Flush(/*scheduling=*/false);
    if (std::abs(total - makespan) > kSumSlack * makespan) return std::nullopt;
    std::vector<PathEntry> path;
    for (auto& [key, entry] : entries_) {
      if (entry.seconds > 0) path.push_back(std::move(entry));
    }
    return path;
  }

 private:
  std::optional<std::uint32_t> Latest(std::uint32_t op) const {
    std::optional<std::uint32_t> latest;
    for (const OpId& wait : schedule_.after(OpId(op))) {
      if (!latest || timeline_.end[wait.value()] > timeline_.end[*latest]) {
        latest = wait.value();
      }
    }
    return latest;
  }

  // So many seconds of one op of an execution.
  void Book(const StepExecution& execution, std::uint32_t id, double seconds) {
    const OpId op(id);
    const StepOp& of = graph_.ops[execution.op];
    if (schedule_.kind(op) == OpKind::kTransfer) {
      double start_up = network_.message_overhead + network_.issue;
      for (const LinkId link : schedule_.route(op)) {
        start_up += network_.LatencyOf(link);
      }
      Add(execution, "latency", std::min(seconds, start_up));
      Add(execution, "transfer", std::max(0.0, seconds - start_up));
    } else if (of.collective) {
      Add(execution, "latency", seconds);  // its launch, or a local add
    } else {
      const double alone = std::min(seconds, of.duration.value());
      const bool slowed = seconds - alone > kSumSlack * seconds;
      Add(execution, of.copy ? "transfer" : "compute",
          slowed ? alone : seconds);
      if (slowed) Add(execution, "contention:hbm", seconds - alone);
    }
  }

  void Add(const StepExecution& execution, const char* kind, double seconds) {
    if (seconds <= 0) return;
    PathEntry& entry = entries_[{execution.op, kind}];
    entry.op = graph_.ops[execution.op].id;
    entry.kind = kind;
    entry.seconds += execution.times * seconds;
    open_.push_back({&entry, execution.times * seconds});
  }

  // The path goes from an execution on to one before it: if the op does not
  // need that one's result, only the order of the program made it wait.
  void Leave(const StepExecution& execution, std::uint32_t before) {
    const auto next = std::upper_bound(
        step_.executions.begin(), step_.executions.end(), before,
        [](std::uint32_t id, const StepExecution& other) {
          return id < other.first_start;
        });
    const StepExecution& from = *std::prev(next);
    const std::vector<std::uint32_t>& deps = graph_.ops[execution.op].deps;
    const bool needs =
        from.op == execution.op ||
        std::find(deps.begin(), deps.end(), from.op) != deps.end();
    Flush(!needs);
  }

  void Flush(bool scheduling) {
    for (const auto& [entry, seconds] : open_) {
      if (scheduling) entry->scheduling_s += seconds;
    }
    open_.clear();
  }

  const StepGraph& graph_;
  const CompiledStep& step_;
  const Schedule& schedule_;
  const Timeline& timeline_;
  const Network& network_;
  std::map<std::pair<std::uint32_t, std::string>, PathEntry> entries_;
  // Of the stretch inside one execution.
  std::vector<std::pair<PathEntry*, double>> open_;
};

}  // namespace

bool UseSteadyLoops(const Timeline& timeline, CompiledStep& step) {
  for (const ShortenedLoop& loop : step.loops) {
    const auto steady = SteadyIteration(loop, timeline);
    if (!steady) return false;
    for (StepExecution& execution : step.executions) {
      if (execution.first_start < loop.first_op[*steady]) continue;
      if (execution.first_start >= loop.first_op[*steady + 1]) break;
      execution.times *= 1 + loop.left_out;
    }
  }
  return true;
}

std::optional<std::vector<PathEntry>> FindCriticalPath(const StepGraph& graph,
                                                       const CompiledStep& step,
                                                       const Timeline& timeline,
                                                       const Network& network,
                                                       double makespan) {
  return PathFinder(graph, step, timeline, network).Find(makespan);
}

}  // namespace podsim
