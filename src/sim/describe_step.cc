#include "sim/describe_step.h"

#include <algorithm>
#include <string>
#include <vector>

#include "collective/groups.h"
#include "cost/bounds.h"
#include "cost/cut.h"
#include "sim/simulate.h"

namespace podsim {
namespace {

// Joins the verdicts of the collectives: the weakest one counts.
Verdict WorstOf(const std::vector<Verdict>& verdicts) {
  Verdict worst{.ok = true, .method = "none", .reason = "no collectives"};
  if (verdicts.empty()) return worst;
  worst = verdicts[0];
  const auto strength = [](const Verdict& verdict) {
    return verdict.method == "none" ? 0 : verdict.method == "replay" ? 1 : 2;
  };
  for (const Verdict& verdict : verdicts) {
    if (strength(verdict) < strength(worst)) worst = verdict;
  }
  return worst;
}

// Each distinct collective alone: lowering, bounds, proof, time. Dated faults
// are left out, as their dates are those of the step.
void DescribeCollectives(const Workload& workload, const LoweredStep& lowered,
                         const SimOptions& step_options,
                         const std::vector<std::int64_t>& counts,
                         PhaseTimes& times, StepResult& result) {
  const Slice slice = WithoutDatedFaults(workload.slice);
  std::vector<Verdict> verdicts;
  SimOptions options = step_options;
  options.links = false;
  const std::vector<std::uint32_t> first_alike =
      FirstAlike(workload.graph, slice.topology);
  std::vector<std::size_t> entry_of(first_alike.size());
  for (std::size_t k = 0; k < workload.graph.ops.size(); ++k) {
    const StepOp& op = workload.graph.ops[k];
    if (!op.collective) {
      result.computes.push_back(
          {.id = op.id, .executions = counts[k], .copy = op.copy});
      continue;
    }
    StepCollective entry;
    entry.id = op.id;
    entry.executions = counts[k];
    entry.mode = op.mode;
    entry.axes = op.axes;
    entry_of[k] = result.collectives.size();
    if (first_alike[k] != k) {
      entry.alone = result.collectives[entry_of[first_alike[k]]].alone;
    } else if (lowered.lowered.empty()) {
      entry.alone = SimulateCollective(*op.collective, slice, op.lowering,
                                       op.lowering_where, options, times);
    } else {
      entry.alone = SimulateLowered(*lowered.lowered[k], slice, options, times);
    }
    verdicts.push_back(entry.alone.verified);
    result.collectives.push_back(std::move(entry));
  }
  result.verified = WorstOf(verdicts);
}

// With sync collectives alone a chip moves nothing while it computes, and all
// bytes of a collective to or from a chip between its own issue and end of
// it. So the poorest chip needs its computes plus its `chip` bound of every
// sync collective, and all links together their traffic in what is left of
// the makespan. Async ones may run beside anything, but their bytes pass the
// same links. (The collectives' own bounds do not add up: a chip may be ahead
// of its peers.)
void SetLowerBound(const Workload& workload,
                   const std::vector<std::int64_t>& counts,
                   StepResult& result) {
  const Slice& slice = workload.slice;
  const double start = StartOf(slice.parameters, /*over_dcn=*/false) +
                       SmallestLatency(slice.topology);
  double compute = 0, sync_chip = 0, sync_links = 0, chip = 0, links = 0;
  std::size_t collective = 0;
  for (std::size_t k = 0; k < workload.graph.ops.size(); ++k) {
    const StepOp& op = workload.graph.ops[k];
    const auto times = static_cast<double>(counts[k]);
    if (op.copy) continue;
    if (!op.collective) {
      compute += times * op.duration.value();
      continue;
    }
    // What may go over links or ports does not add to what needs links.
    const bool over_dcn = SpansSlices(*op.collective, slice.topology);
    for (const auto& [name, seconds] :
         result.collectives[collective++].alone.bounds) {
      if (name != "chip") continue;
      if (!op.async()) sync_chip += times * seconds;
      if (over_dcn) continue;
      chip += times * std::max(0.0, seconds - start);
    }
    const double traffic = TotalTrafficTime(*op.collective, slice).value();
    if (!op.async()) sync_links += times * traffic;
    if (!over_dcn) links += times * traffic;
  }
  const double by_chip = std::max(compute + sync_chip, chip);
  const double by_links = std::max(compute + sync_links, links);
  result.bounds = {
      {"compute", compute}, {"chip", by_chip}, {"links", by_links}};
  result.lower_bound_s = std::max(by_chip, by_links);
  result.bound = result.lower_bound_s == compute ? "compute"
                 : by_chip >= by_links           ? "chip"
                                                 : "links";
}

}  // namespace

StepResult DescribeStep(const Workload& workload, const LoweredStep& lowered,
                        const SimOptions& options, PhaseTimes& times) {
  const std::vector<std::int64_t> counts = CountExecutions(workload.graph);
  StepResult result;
  result.name = workload.name;
  result.slice = workload.slice.spec;
  result.shape = workload.slice.shape;
  result.generation = workload.slice.generation;
  result.step_mode = ToText(options.step_mode);
  result.engine = ToText(options.engine);
  result.network = ToText(options.network);
  result.memory = workload.graph.memory;
  result.hbm_capacity = workload.slice.parameters.hbm_capacity;
  DescribeCollectives(workload, lowered, options, counts, times, result);
  SetLowerBound(workload, counts, result);
  RequireFinite(result.lower_bound_s, "the bound of this step");
  return result;
}

double BoundSlack(const Workload& workload) {
  const std::vector<std::int64_t> counts = CountExecutions(workload.graph);
  const Topology& topology = workload.slice.topology;
  double slack = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const StepOp& op = workload.graph.ops[k];
    if (!op.collective) continue;
    const int n = GroupSize(*op.collective, topology);
    if (op.collective->payload.value() % n == 0) continue;
    slack +=
        static_cast<double>(counts[k]) * n / topology.base_bandwidth().value();
  }
  return slack;
}

}  // namespace podsim
