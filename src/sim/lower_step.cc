#include "sim/lower_step.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "collective/groups.h"
#include "sim/choose_fold.h"
#include "sim/choose_lowering.h"

namespace podsim {

std::vector<std::uint32_t> FirstAlike(const StepGraph& graph,
                                      const Topology& topology) {
  std::vector<std::uint32_t> first;
  std::map<std::string, std::uint32_t> seen;
  for (const StepOp& op : graph.ops) {
    const auto k = static_cast<std::uint32_t>(first.size());
    first.push_back(k);
    if (!op.collective) continue;
    const std::string lowering =
        op.lowering ? ToText(*op.lowering, *op.collective, topology) : "auto";
    const std::string key = std::string(ToText(op.collective->kind)) + " " +
                            std::to_string(op.collective->payload.value()) +
                            " " + PartiesText(*op.collective, topology) + " " +
                            lowering;
    first.back() = seen.try_emplace(key, k).first->second;
  }
  return first;
}

LoweredStep LowerStep(const Workload& workload, const SimOptions& options) {
  const Topology& topology = workload.slice.topology;
  LoweredStep step;
  step.first_alike = FirstAlike(workload.graph, topology);
  for (const StepOp& op : workload.graph.ops) {
    step.lowered.emplace_back();
    step.payload.emplace_back();
    const std::size_t k = step.lowered.size() - 1;
    if (!op.collective || step.first_alike[k] != k) continue;
    step.lowered.back() =
        LowerOrChoose(*op.collective, workload.slice, op.lowering,
                      op.lowering_where, options);
    step.payload.back() = op.collective->payload;
  }
  step.fold = NoFold(topology);
  if (options.fold == FoldMode::kOff || !topology.is_grid()) return step;
  // A period per axis that every collective allows.
  std::vector<int> periods(topology.axes().size(), 1);
  for (std::size_t k = 0; k < step.lowered.size(); ++k) {
    if (!step.lowered[k]) continue;
    const FoldChoice choice = ChooseFold(*step.lowered[k], workload.slice,
                                         options, workload.graph.ops[k].where);
    if (!choice.fold) return step;
    step.payload[k] = choice.payload;
    for (std::size_t a = 0; a < periods.size(); ++a) {
      periods[a] = std::lcm(periods[a], choice.fold->periods[a]);
    }
  }
  if (!topology.uniform() || !topology.dated().empty()) return step;
  step.fold.periods = periods;
  step.folded = FoldsAnything(topology, step.fold);
  return step;
}

}  // namespace podsim
