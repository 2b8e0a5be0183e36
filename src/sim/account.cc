#include "sim/account.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace podsim {
namespace {

// Relative, of sums that must add up; and what each term may add by rounding.
constexpr double kSumSlack = 1e-12;
constexpr double kRounding = 1.2e-16;

class Accountant {
 public:
  Accountant(const StepGraph& graph, const CompiledStep& step,
             const Timeline& timeline, const PeersOf& peers, std::uint32_t site)
      : graph_(graph),
        step_(step),
        timeline_(timeline),
        peers_(peers),
        site_(site),
        waited_(step.executions.size()) {
    account_.ops.resize(graph.ops.size());
  }

  CoreAccount Run() {
    double left_out = 0;  // of what executions stand for, beside their own
    for (const StepExecution& execution : step_.executions) {
      const double begin = core_at_;
      Book(execution);
      left_out += (execution.times - 1) * (core_at_ - begin);
    }
    account_.makespan_s = timeline_.makespan + left_out;
    for (const CoreAccount::OpShare& share : account_.ops) {
      account_.compute_s += share.compute_s;
      account_.interference_s += share.interference_s;
      account_.exposed_s += share.exposed_s;
      account_.idle_s += share.idle_s;
      account_.overlapped_s += share.overlapped_s;
    }
    account_.idle_s += timeline_.makespan - core_at_;
    const double sum = account_.compute_s + account_.interference_s +
                       account_.exposed_s + account_.idle_s;
    const double slack =
        kSumSlack + kRounding * static_cast<double>(step_.executions.size());
    CHECK(std::abs(sum - account_.makespan_s) <= slack * account_.makespan_s)
        << sum << " s of parts in a makespan of " << account_.makespan_s
        << " s on site " << site_;
    return std::move(account_);
  }

 private:
  void Book(const StepExecution& execution) {
    CoreAccount::OpShare& share = account_.ops[execution.op];
    const double begin = core_at_;
    const double times = execution.times;
    switch (execution.kind) {
      case ExecutionKind::kCompute: {
        core_at_ = timeline_.end[execution.first_end + site_];
        const double elapsed = core_at_ - begin;
        const double alone = graph_.ops[execution.op].duration.value();
        // What rounding adds or takes is no interference.
        const bool disturbed = elapsed > alone + kSumSlack * core_at_;
        share.compute_s += times * (disturbed ? alone : elapsed);
        share.interference_s += disturbed ? times * (elapsed - alone) : 0;
        break;
      }
      case ExecutionKind::kStart:
        share.flight_s += times * FlightOf(execution);
        // Less what it is waited for.
        share.overlapped_s += times * FlightOf(execution);
        break;
      case ExecutionKind::kSync:
        core_at_ = timeline_.end[execution.first_end + site_];
        share.flight_s += times * FlightOf(execution);
        Stall(execution, begin, times, share);
        break;
      case ExecutionKind::kWait: {
        core_at_ = timeline_.end[execution.first_end + site_];
        const StepExecution& started = step_.executions[execution.started];
        if (waited_[execution.started]) break;  // it has ended long ago
        waited_[execution.started] = true;
        Stall(started, begin, times, share);
        share.overlapped_s -= times * (core_at_ - begin);
        break;
      }
    }
  }

  double FlightOf(const StepExecution& collective) const {
    return timeline_.end[collective.first_end + site_] -
           timeline_.start[collective.first_start + site_];
  }

  // From `begin` to now the core stood still for the collective; idle as long
  // as not all of its group had issued it.
  void Stall(const StepExecution& collective, double begin, double times,
             CoreAccount::OpShare& share) const {
    double latest = timeline_.start[collective.first_start + site_];
    for (const std::uint32_t peer : peers_(collective.op, site_)) {
      latest = std::max(latest, timeline_.start[collective.first_start + peer]);
    }
    const double idle = std::max(0.0, std::min(latest, core_at_) - begin);
    share.idle_s += times * idle;
    share.exposed_s += times * (core_at_ - begin - idle);
  }

  const StepGraph& graph_;
  const CompiledStep& step_;
  const Timeline& timeline_;
  const PeersOf& peers_;
  std::uint32_t site_;
  std::vector<bool> waited_;  // by execution
  double core_at_ = 0;        // when the core is free again
  CoreAccount account_;
};

}  // namespace

CoreAccount AccountCore(const StepGraph& graph, const CompiledStep& step,
                        const Timeline& timeline, const PeersOf& peers,
                        std::uint32_t site) {
  return Accountant(graph, step, timeline, peers, site).Run();
}

}  // namespace podsim
