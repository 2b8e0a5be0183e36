#include "sim/lower_step.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "collective/groups.h"
#include "cost/bounds.h"
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

namespace {

// What steps may lose by folding, of all that their ops take one by one.
constexpr double kFoldingLoss = 1e-3;

// Of every distinct collective what ChooseFold says; of others nothing.
using FoldChoices = std::vector<std::optional<FoldChoice>>;

FoldChoices ChooseFolds(const LoweredStep& step, const Workload& workload,
                        const SimOptions& options) {
  FoldChoices choices(step.lowered.size());
  for (std::size_t k = 0; k < step.lowered.size(); ++k) {
    if (!step.lowered[k]) continue;
    choices[k] = ChooseFold(*step.lowered[k], workload.slice, options,
                            workload.graph.ops[k].where);
  }
  return choices;
}

// Where some collectives fold, and others, chosen freely, do not: the fastest
// ways for them that fold, if the step loses next to nothing. Else a few small
// collectives would have every chip simulated.
void PreferFolding(const Workload& workload, const SimOptions& options,
                   LoweredStep& step, FoldChoices& choices) {
  const auto folds = [](const std::optional<FoldChoice>& choice) {
    return choice && choice->fold;
  };
  if (std::none_of(choices.begin(), choices.end(), folds)) return;
  const std::vector<std::int64_t> counts = CountExecutions(workload.graph);
  double all = 0, lost = 0;
  std::vector<std::pair<std::size_t, LoweredCollective>> better;
  for (std::size_t k = 0; k < step.lowered.size(); ++k) {
    const StepOp& op = workload.graph.ops[k];
    double executions = 0;
    for (std::size_t j = k; j < counts.size(); ++j) {
      if (step.first_alike[j] == k) {
        executions += static_cast<double>(counts[j]);
      }
    }
    if (!op.collective) all += executions * op.duration.value();
    if (!choices[k]) continue;
    // At least, where that takes long to find out.
    const double now =
        TimeAlone(*step.lowered[k], workload.slice, options)
            .value_or(ComputeBounds(*op.collective, workload.slice)
                          .binding()
                          .time.value());
    all += executions * now;
    if (choices[k]->fold) continue;
    if (op.lowering) return;
    auto other = ChooseFolding(*op.collective, workload.slice, options);
    if (!other) return;
    lost += executions * std::max(0.0, other->seconds - now);
    better.emplace_back(k, std::move(other->lowered));
  }
  if (lost > kFoldingLoss * all) return;
  for (auto& [k, lowered] : better) {
    choices[k] = ChooseFold(lowered, workload.slice, options,
                            workload.graph.ops[k].where);
    step.lowered[k] = std::move(lowered);
  }
}

}  // namespace

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
  FoldChoices choices = ChooseFolds(step, workload, options);
  if (options.fold == FoldMode::kAuto) {
    PreferFolding(workload, options, step, choices);
  }
  // A period per axis that every collective allows.
  std::vector<int> periods(topology.axes().size(), 1);
  for (std::size_t k = 0; k < choices.size(); ++k) {
    if (!choices[k]) continue;
    if (!choices[k]->fold) return step;
    step.payload[k] = choices[k]->payload;
    for (std::size_t a = 0; a < periods.size(); ++a) {
      periods[a] = std::lcm(periods[a], choices[k]->fold->periods[a]);
    }
  }
  if (!topology.uniform() || !topology.dated().empty()) return step;
  step.fold.periods = periods;
  step.folded = FoldsAnything(topology, step.fold);
  return step;
}

}  // namespace podsim
