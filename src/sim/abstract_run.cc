#include "sim/abstract_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "sim/describe_step.h"
#include "step/abstract_account.h"
#include "step/critical_path.h"
#include "step/step_bounds.h"
#include "step/verify_order.h"
#include "step/what_if.h"

namespace podsim {
namespace {

constexpr std::size_t kMostRuns = 4'000'000;

// Durations of computes as changed.
StepGraph Changed(StepGraph graph, const StepChanges& changes) {
  for (StepOp& op : graph.ops) {
    if (changes.fast_hbm) op.hbm = Bytes(0);
    if (op.copy && changes.fast_hbm) op.duration = Seconds(0);
    if (op.copy || !op.roofline) continue;
    const Seconds flops =
        changes.fast_compute ? Seconds(0) : op.roofline->flops_time;
    const Seconds hbm = changes.fast_hbm ? Seconds(0) : op.roofline->hbm_time;
    op.duration = std::max(flops, hbm);
  }
  return graph;
}

}  // namespace

AbstractRun::AbstractRun(const Workload& workload, const SimOptions& options,
                         PhaseTimes& times)
    : workload_(workload) {
  {
    const PhaseTimer timer(times.lower);
    lowered_ = LowerStep(workload, options);
  }
  described_ = DescribeStep(workload, lowered_, options, times);
  runs_ = WriteOut(workload.graph, kMostRuns);
  const PhaseTimer timer(times.engine);
  const Slice slice = WithoutDatedFaults(workload.slice);
  const FoldedGrid grid(slice.topology, lowered_.fold);
  costers_.resize(workload.graph.ops.size());
  costs_.resize(workload.graph.ops.size());
  std::set<std::string> used;
  for (std::size_t k = 0; k < costers_.size(); ++k) {
    if (!workload.graph.ops[k].collective) continue;
    const std::uint32_t first = lowered_.first_alike[k];
    if (first == k) {
      costers_[k] = std::make_unique<CollectiveCoster>(
          *lowered_.lowered[k], workload.slice, grid, lowered_.folded,
          lowered_.payload[k], options.network);
      costs_[k] = costers_[k]->Cost();
      for (const LinkClass& links : costs_[k].links) used.insert(links.axis);
    }
    costs_[k] = costs_[first];
  }
  const bool dcn = used.erase("dcn") > 0;
  axes_.assign(used.begin(), used.end());
  if (dcn) axes_.emplace_back("dcn");
}

std::vector<CollectiveCost> AbstractRun::Costs(
    const StepChanges& changes) const {
  std::vector<CollectiveCost> costs = costs_;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    if (!workload_.graph.ops[k].collective) continue;
    const std::uint32_t first = lowered_.first_alike[k];
    if (first != k) {
      costs[k] = costs[first];
      continue;
    }
    if (changes.no_communication) {
      costs[k] = CollectiveCost();
      continue;
    }
    std::vector<std::string> fast;
    std::size_t slow = 0;
    for (const LinkClass& links : costs[k].links) {
      if (changes.fast_axes.contains(links.axis)) {
        fast.push_back(links.axis);
      } else {
        ++slow;
      }
    }
    if (slow == 0) {
      costs[k].work = Seconds(0);
    } else if (!fast.empty()) {
      const double time = costers_[k]->TimeWithout(fast);
      // Fast links can be shared unluckily: then they are used as before.
      costs[k].work =
          std::min(costs[k].work,
                   Seconds(std::max(0.0, time - costs[k].latency.value())));
    }
    if (changes.no_latency) costs[k].latency = Seconds(0);
    if (changes.fast_hbm) costs[k].hbm = Bytes(0);
  }
  return costs;
}

AbstractModel AbstractRun::Model(const StepChanges& changes) const {
  AbstractModel model =
      MakeAbstractModel(Changed(workload_.graph, changes), runs_,
                        Costs(changes), workload_.slice.parameters);
  if (changes.no_contention) {
    model.step = WithoutContention(std::move(model.step));
  }
  return model;
}

double AbstractRun::Makespan(const StepChanges& changes) const {
  const AbstractModel model = Model(changes);
  return StepSimulator(model.step).Makespan(ProgramOrder(model.step));
}

double AbstractRun::PerfectOverlap(const StepChanges& changes) const {
  const AbstractStep step = Model(changes).step;
  std::vector<double> load(step.resources.size());
  for (const AbstractOp& op : step.ops) {
    load[kTensorCore] += op.tc_time.value();
    for (const ResourceUse& use : op.use) {
      const bool fifo =
          step.resources[use.resource].mode == ResourceMode::kFifo;
      load[use.resource] += fifo              ? TransferTime(op)
                            : HasTransfer(op) ? use.share * op.work.value()
                                              : use.share * op.tc_time.value();
    }
  }
  return *std::max_element(load.begin(), load.end());
}

StepResult ResultOf(const AbstractRun& run, const StepGraph& graph) {
  const AbstractModel model = run.Model();
  const AbstractStep& step = model.step;
  const StepOrder order = ProgramOrder(step);
  const OrderViolations violations = VerifyOrder(step, order);
  CHECK(violations.empty()) << violations.front().text;
  const AbstractTimeline timeline = Simulate(step, order);
  const AbstractAccount account = AccountAbstract(step, order, timeline);
  StepResult result = run.described();
  result.makespan_s = account.makespan;
  result.compute_s = account.work;
  result.interference_s = account.interference;
  result.exposed_communication_s = account.exposed;
  result.idle_s = 0;
  result.overlapped_communication_s = account.in_flight - account.exposed;

  struct Sums {
    double work = 0, interference = 0, flight = 0, exposed = 0;
  };
  std::vector<Sums> sums(graph.ops.size());
  for (std::size_t k = 0; k < step.ops.size(); ++k) {
    sums[model.op_of[k]].work += step.ops[k].tc_time.value();
  }
  for (const LostTime& loss : timeline.losses) {
    if (!loss.transfer) {
      sums[model.op_of[loss.op]].interference += loss.seconds;
    }
  }
  for (const TransferAccount& transfer : account.transfers) {
    sums[model.op_of[transfer.op]].flight += transfer.in_flight;
    sums[model.op_of[transfer.op]].exposed += transfer.exposed;
  }
  std::size_t compute = 0, collective = 0;
  for (std::size_t k = 0; k < graph.ops.size(); ++k) {
    if (!graph.ops[k].collective) {
      StepCompute& entry = result.computes[compute++];
      entry.compute_s = sums[k].work;
      entry.interference_s = sums[k].interference;
      if (entry.copy) {
        entry.exposed_s = sums[k].exposed;
        entry.overlapped_s = sums[k].flight - sums[k].exposed;
      }
      continue;
    }
    StepCollective& entry = result.collectives[collective++];
    entry.flight_s = sums[k].flight;
    entry.exposed_s = sums[k].exposed;
    entry.idle_s = 0;
    entry.overlapped_s = sums[k].flight - sums[k].exposed;
  }

  std::map<std::pair<std::uint32_t, std::string>, PathEntry> path;
  for (const PathSegment& segment : CriticalPath(step, order, timeline)) {
    const std::uint32_t op = model.op_of[segment.op];
    const std::string kind = PathTotals(step, {segment}).begin()->first;
    PathEntry& entry = path[{op, kind}];
    entry.op = graph.ops[op].id;
    entry.kind = kind;
    const double seconds = segment.end - segment.begin;
    entry.seconds += seconds;
    if (segment.scheduling()) entry.scheduling_s += seconds;
  }
  for (const auto& [key, entry] : path) {
    if (entry.seconds > 0) result.critical_path.push_back(entry);
  }

  result.bounds.clear();
  for (const BoundComponent& bound : ComputeStepBounds(step).components) {
    result.bounds.emplace_back(bound.name, bound.time.value());
    if (result.bounds.size() > 1 &&
        bound.time.value() <= result.lower_bound_s) {
      continue;
    }
    result.lower_bound_s = bound.time.value();
    result.bound = bound.name;
  }
  CHECK(account.makespan >= result.lower_bound_s * (1 - 1e-9))
      << account.makespan << " s are below the bound " << result.bound;
  if (account.makespan > 0) {
    result.efficiency = std::min(1.0, result.lower_bound_s / account.makespan);
  }
  return result;
}

}  // namespace podsim
