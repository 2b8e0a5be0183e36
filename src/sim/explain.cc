#include "sim/explain.h"

#include <algorithm>

#include "base/text.h"
#include "sim/abstract_run.h"
#include "step/abstract_account.h"

namespace podsim {
namespace {

constexpr std::size_t kMostExposed = 5;
// Communication that costs less of the makespan is no bottleneck.
constexpr double kLittle = 0.05;

class Ladder {
 public:
  Ladder(const AbstractRun& run, double makespan)
      : run_(run), makespan_(makespan) {}

  std::vector<WhatIfRung> Climb() {
    Add("no latency", "latency", {.no_latency = true});
    const std::vector<std::string>& axes = run_.axes();
    std::set<std::string> ici(axes.begin(), axes.end());
    const bool dcn = ici.erase("dcn") > 0;
    for (const std::string& axis : ici) {
      Add("infinite bandwidth of " + axis, "ici:" + axis,
          {.fast_axes = {axis}});
    }
    if (!ici.empty()) Add("infinite ICI bandwidth", "ici", {.fast_axes = ici});
    if (dcn) Add("infinite DCN bandwidth", "dcn", {.fast_axes = {"dcn"}});
    Add("no contention", "contention", {.no_contention = true});
    AddPerfectOverlap();
    Add("infinite HBM bandwidth", "hbm", {.fast_hbm = true});
    Add("infinite FLOP/s", "compute", {.fast_compute = true});
    Add("no communication", "communication", {.no_communication = true});
    rungs_.back().cumulative_makespan_s.reset();
    return std::move(rungs_);
  }

 private:
  void Add(const std::string& change, const std::string& gain,
           const StepChanges& changes) {
    Join(changes);
    const double alone = run_.Makespan(changes);
    const double together =
        perfect_ ? run_.PerfectOverlap(all_) : run_.Makespan(all_);
    rungs_.push_back({change, gain, alone, makespan_ - alone, together});
  }

  void AddPerfectOverlap() {
    perfect_ = true;
    const double alone = run_.PerfectOverlap({});
    rungs_.push_back({"perfect overlap", "scheduling", alone, makespan_ - alone,
                      run_.PerfectOverlap(all_)});
  }

  void Join(const StepChanges& changes) {
    all_.no_latency |= changes.no_latency;
    all_.fast_axes.insert(changes.fast_axes.begin(), changes.fast_axes.end());
    all_.no_contention |= changes.no_contention;
    all_.fast_hbm |= changes.fast_hbm;
    all_.fast_compute |= changes.fast_compute;
  }

  const AbstractRun& run_;
  double makespan_;
  bool perfect_ = false;
  StepChanges all_;
  std::vector<WhatIfRung> rungs_;
};

const WhatIfRung& RungOf(const std::vector<WhatIfRung>& rungs,
                         const std::string& gain) {
  return *std::find_if(rungs.begin(), rungs.end(), [&](const WhatIfRung& rung) {
    return rung.gain_named == gain;
  });
}

std::string ShareText(double share) { return Fixed(100 * share, 1) + " %"; }

// Without communication little would be gained: the core's work decides. Else
// the largest gain, the first of several.
void NameBottleneck(double makespan, Explanation& explanation) {
  const std::vector<WhatIfRung>& rungs = explanation.rungs;
  const auto share = [&](const WhatIfRung& rung) {
    return makespan > 0 ? rung.gain_s / makespan : 0;
  };
  const WhatIfRung& silent = RungOf(rungs, "communication");
  if (share(silent) < kLittle) {
    const WhatIfRung& hbm = RungOf(rungs, "hbm");
    const WhatIfRung& compute = RungOf(rungs, "compute");
    const bool by_hbm = hbm.gain_s > compute.gain_s;
    explanation.bottleneck = by_hbm ? "hbm" : "compute";
    explanation.reason =
        "without any communication the step would be " +
        ShareText(share(silent)) + " shorter, which is under 5 %; infinite " +
        (by_hbm ? "HBM bandwidth" : "FLOP/s") + " would gain " +
        ShareText(share(by_hbm ? hbm : compute));
    return;
  }
  std::vector<const WhatIfRung*> candidates;
  for (const WhatIfRung& rung : rungs) {
    const bool named =
        rung.gain_named == "latency" || rung.gain_named.starts_with("ici:") ||
        rung.gain_named == "dcn" || rung.gain_named == "scheduling" ||
        rung.gain_named == "contention";
    if (named) candidates.push_back(&rung);
  }
  // Scheduling before contention on ties.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const WhatIfRung* a, const WhatIfRung* b) {
                     return a->gain_s > b->gain_s;
                   });
  const WhatIfRung& first = *candidates[0];
  explanation.bottleneck = first.gain_named;
  explanation.reason = first.change + " would shorten the step by " +
                       ShareText(share(first)) + ", all of communication by " +
                       ShareText(share(silent));
  if (candidates.size() > 1 && candidates[1]->gain_s > 0 &&
      candidates[1]->gain_s >= first.gain_s / 2) {
    explanation.second = candidates[1]->gain_named;
    explanation.reason += "; " + candidates[1]->change + " by " +
                          ShareText(share(*candidates[1]));
  }
}

std::vector<ExposedCollective> FindExposed(const AbstractModel& model,
                                           const StepResult& result,
                                           const StepGraph& graph) {
  const AbstractStep& step = model.step;
  const StepOrder order = ProgramOrder(step);
  const AbstractTimeline timeline = Simulate(step, order);
  std::vector<ExposedCollective> by_op(graph.ops.size());
  double core = 0;
  for (const std::uint32_t op : order) {
    const AbstractOp& at = step.ops[op];
    ExposedCollective& entry = by_op[model.op_of[op]];
    const double needed = core;
    core = timeline.end[op];
    if (at.of) {
      entry.slack_s += std::max(0.0, needed - timeline.issued[*at.of]);
    }
    if (!HasTransfer(at)) continue;
    entry.transfer_s += timeline.transfer_end[op] - timeline.transfer_begin[op];
    entry.queue_s += timeline.transfer_begin[op] - timeline.issued[op];
  }
  std::vector<ExposedCollective> exposed;
  std::size_t collective = 0;
  for (std::size_t k = 0; k < graph.ops.size(); ++k) {
    if (!graph.ops[k].collective) continue;
    const StepCollective& known = result.collectives[collective++];
    ExposedCollective entry = by_op[k];
    entry.id = known.id;
    entry.collective = known.alone.collective;
    entry.group = known.axes.empty() ? known.alone.group : known.axes;
    entry.executions = known.executions;
    entry.payload_bytes = static_cast<double>(known.alone.payload_bytes);
    entry.exposed_s = *known.exposed_s;
    entry.overlapped_s = *known.overlapped_s;
    if (entry.slack_s > 0) {
      entry.required_bytes_per_s = entry.payload_bytes *
                                   static_cast<double>(entry.executions) /
                                   entry.slack_s;
    }
    if (entry.exposed_s > 0) exposed.push_back(std::move(entry));
  }
  std::stable_sort(exposed.begin(), exposed.end(),
                   [](const ExposedCollective& a, const ExposedCollective& b) {
                     return a.exposed_s > b.exposed_s;
                   });
  if (exposed.size() > kMostExposed) exposed.resize(kMostExposed);
  return exposed;
}

StepEfficiency EfficiencyOf(const StepResult& step, const StepGraph& graph) {
  StepEfficiency efficiency;
  const std::vector<std::int64_t> counts = CountExecutions(graph);
  double ideal = 0;
  for (std::size_t k = 0; k < graph.ops.size(); ++k) {
    const StepOp& op = graph.ops[k];
    if (!op.roofline) continue;
    ideal += static_cast<double>(counts[k]) * op.roofline->ideal.value();
  }
  const double makespan = *step.makespan_s;
  const double work = *step.compute_s;
  if (makespan > 0) {
    efficiency.compute = work / makespan;
    efficiency.schedule = std::min(1.0, step.lower_bound_s / makespan);
    if (ideal > 0) efficiency.mfu = ideal / makespan;
  }
  if (step.lower_bound_s > 0) {
    efficiency.hiding = std::min(1.0, work / step.lower_bound_s);
  }
  if (ideal > 0 && work > 0) efficiency.kernels = ideal / work;
  const double flight =
      *step.exposed_communication_s + *step.overlapped_communication_s;
  if (flight > 0) {
    efficiency.overlap = *step.overlapped_communication_s / flight;
  }
  if (step.memory && step.hbm_capacity && step.hbm_capacity->value() > 0) {
    efficiency.memory = static_cast<double>(step.memory->peak.value()) /
                        static_cast<double>(step.hbm_capacity->value());
  }
  return efficiency;
}

}  // namespace

Explanation Explain(const Workload& workload, const SimOptions& options,
                    PhaseTimes& times) {
  SimOptions abstract = options;
  abstract.step_mode = StepMode::kAbstract;
  const AbstractRun run(workload, abstract, times);
  const PhaseTimer timer(times.engine);
  Explanation explanation;
  explanation.step = ResultOf(run, workload.graph);
  const double makespan = *explanation.step.makespan_s;
  explanation.rungs = Ladder(run, makespan).Climb();
  NameBottleneck(makespan, explanation);
  explanation.exposed =
      FindExposed(run.Model(), explanation.step, workload.graph);
  explanation.efficiency = EfficiencyOf(explanation.step, workload.graph);
  return explanation;
}

}  // namespace podsim
