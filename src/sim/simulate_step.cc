#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "base/check.h"
#include "base/error.h"
#include "collective/groups.h"
#include "cost/bounds.h"
#include "cost/cut.h"
#include "engine/engine.h"
#include "schedule/instantiate.h"
#include "sim/account.h"
#include "sim/choose_fold.h"
#include "sim/choose_lowering.h"
#include "sim/compile_step.h"
#include "sim/link_use.h"
#include "sim/memory_guard.h"
#include "sim/run_engine.h"
#include "sim/simulate.h"
#include "sim/steady_loops.h"

namespace podsim {
namespace {

// Iterations of a loop that are simulated where the rest are the same.
constexpr int kFewRepeats = 4;

// By op: the first op with the same collective and lowering, itself if there is
// none before.
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

// The collectives of a step, lowered and folded alike; by op index, of those
// alike only the first.
struct LoweredStep {
  std::vector<std::uint32_t> first_alike;
  std::vector<std::optional<LoweredCollective>> lowered;
  std::vector<Bytes> payload;  // padded, with --fold on
  Fold fold;
  bool folded = false;
};

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

class StepSimulation {
 public:
  StepSimulation(const Workload& workload, const SimOptions& options,
                 PhaseTimes& times, RunRecord* record)
      : workload_(workload),
        options_(options),
        times_(times),
        record_(record),
        slice_(workload.slice),
        counts_(CountExecutions(workload.graph)) {}

  StepResult Run() {
    StepResult result;
    result.name = workload_.name;
    result.slice = slice_.spec;
    result.shape = slice_.shape;
    result.generation = slice_.generation;
    result.engine = ToText(options_.engine);
    result.network = ToText(options_.network);
    const bool bound_only = options_.engine == EngineKind::kBound;
    if (!bound_only) {
      // First: its messages name the op.
      const PhaseTimer timer(times_.lower);
      step_ = LowerStep(workload_, options_);
    }
    DescribeCollectives(result);
    SetLowerBound(result);
    RequireFinite(result.lower_bound_s, "the bound of this step");
    if (!bound_only) Simulate(result);
    return result;
  }

 private:
  // Each distinct collective alone: lowering, bounds, proof, time. Dated faults
  // are left out, as their dates are those of the step.
  void DescribeCollectives(StepResult& result) {
    const Slice slice = WithoutDatedFaults(slice_);
    std::vector<Verdict> verdicts;
    SimOptions options = options_;
    options.links = false;
    const std::vector<std::uint32_t> first_alike =
        FirstAlike(workload_.graph, slice.topology);
    std::vector<std::size_t> entry_of(first_alike.size());
    for (std::size_t k = 0; k < workload_.graph.ops.size(); ++k) {
      const StepOp& op = workload_.graph.ops[k];
      if (!op.collective) {
        result.computes.push_back({.id = op.id,
                                   .executions = counts_[k],
                                   .compute_s = {},
                                   .interference_s = {}});
        continue;
      }
      StepCollective entry;
      entry.id = op.id;
      entry.executions = counts_[k];
      entry.async = op.async;
      entry_of[k] = result.collectives.size();
      entry.alone = first_alike[k] == k
                        ? SimulateCollective(*op.collective, slice, op.lowering,
                                             op.lowering_where, options, times_)
                        : result.collectives[entry_of[first_alike[k]]].alone;
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
  void SetLowerBound(StepResult& result) const {
    const double start = StartOf(slice_.parameters, /*over_dcn=*/false) +
                         SmallestLatency(slice_.topology);
    double compute = 0, sync_chip = 0, sync_links = 0, chip = 0, links = 0;
    std::size_t collective = 0;
    for (std::size_t k = 0; k < workload_.graph.ops.size(); ++k) {
      const StepOp& op = workload_.graph.ops[k];
      const auto times = static_cast<double>(counts_[k]);
      if (!op.collective) {
        compute += times * op.duration.value();
        continue;
      }
      // What may go over links or ports does not add to what needs links.
      const bool over_dcn = SpansSlices(*op.collective, slice_.topology);
      for (const auto& [name, seconds] :
           result.collectives[collective++].alone.bounds) {
        if (name != "chip") continue;
        if (!op.async) sync_chip += times * seconds;
        if (over_dcn) continue;
        chip += times * std::max(0.0, seconds - start);
      }
      const double traffic = TotalTrafficTime(*op.collective, slice_).value();
      if (!op.async) sync_links += times * traffic;
      if (!over_dcn) links += times * traffic;
    }
    const double by_chip = std::max(compute + sync_chip, chip);
    const double by_links = std::max(compute + sync_links, links);
    result.lower_bound_s = std::max(by_chip, by_links);
    result.bound = result.lower_bound_s == compute ? "compute"
                   : by_chip >= by_links           ? "chip"
                                                   : "links";
  }

  // Loops are cut to a few iterations where the rest are the same.
  void Simulate(StepResult& result) {
    const FoldedGrid grid = MakeGrid();
    std::vector<Schedule> schedules(workload_.graph.ops.size());
    std::vector<const Schedule*> by_op(schedules.size(), nullptr);
    const std::vector<int> repeats = RepeatsToTry();
    RequireFits(grid, repeats.front());
    {
      const PhaseTimer timer(times_.build);
      std::uint64_t transfers = 0;
      for (std::size_t k = 0; k < schedules.size(); ++k) {
        if (!workload_.graph.ops[k].collective) continue;
        const std::uint32_t first = step_.first_alike[k];
        if (first == k) {
          schedules[k] = MakeSchedule(*step_.lowered[k], slice_.topology,
                                      step_.fold, step_.payload[k]);
        }
        by_op[k] = &schedules[first];
        transfers += schedules[first].transfers() * counts_[k];
      }
      result.transfers = transfers * grid.chips_per_site();
    }
    if (step_.folded) result.fold = step_.fold.periods;
    for (const int most : repeats) {
      if (Run(by_op, most, grid, result)) return;
    }
    CHECK(false) << "the whole step was simulated and left no result";
  }

  // Iterations of a loop to simulate; 0: all of them. Whoever looks at what ran
  // wants to see all.
  std::vector<int> RepeatsToTry() const {
    std::vector<int> repeats;
    const bool looks = record_ != nullptr || options_.links;
    if (!looks && slice_.topology.dated().empty() &&
        HasLongerLoop(workload_.graph.items, kFewRepeats)) {
      repeats.push_back(kFewRepeats);
    }
    repeats.push_back(0);
    return repeats;
  }

  // False: loops were cut, and their iterations differ.
  bool Run(const std::vector<const Schedule*>& by_op, int most_repeats,
           const FoldedGrid& grid, StepResult& result) {
    RequireFits(grid, most_repeats);
    CompiledStep compiled;
    {
      const PhaseTimer timer(times_.build);
      compiled = CompileStep(workload_.graph, by_op, grid.sites(),
                             slice_.parameters.collective_launch, most_repeats);
    }
    const PhaseTimer timer(times_.engine);
    Network network = step_.folded ? MakeNetwork(slice_, grid)
                                   : MakeNetwork(slice_, /*launch=*/Seconds(0));
    network.model = options_.network;
    Timeline timeline =
        RunEngine(compiled.schedule, network, slice_.topology, options_);
    if (!LoopsAreSteady(compiled, timeline)) return false;
    Account(compiled, timeline, grid, result);
    auto path = FindCriticalPath(workload_.graph, compiled, timeline,
                                 *result.makespan_s);
    if (!path) return false;
    result.critical_path = std::move(*path);
    const auto fold = step_.folded ? std::optional(step_.fold) : std::nullopt;
    if (options_.links) {
      result.links = MeasureLinks(compiled.schedule, timeline, network, slice_,
                                  fold, timeline.makespan);
    }
    if (record_ != nullptr) {
      Keep(std::move(compiled), std::move(timeline), fold, result.name);
    }
    return true;
  }

  void Keep(CompiledStep compiled, Timeline timeline,
            const std::optional<Fold>& fold, const std::string& name) {
    *record_ = {.schedule = std::move(compiled.schedule),
                .timeline = std::move(timeline),
                .fold = fold,
                .offset_s = 0,
                .executions = std::move(compiled.executions),
                .names = {},
                .name = name};
    for (const StepOp& op : workload_.graph.ops) {
      record_->names.push_back(op.id);
    }
  }

  FoldedGrid MakeGrid() const {
    return FoldedGrid(slice_.topology, step_.fold);
  }

  void RequireFits(const FoldedGrid& grid, int most_repeats) const {
    const std::vector<std::int64_t> counts =
        CountExecutions(workload_.graph, most_repeats);
    double transfers = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      double per_execution = kMarkersPerExecution * grid.sites();
      const auto& lowered = step_.lowered[step_.first_alike[k]];
      if (lowered) {
        if (!step_.folded) {
          RequireFewUnfolded(*lowered, slice_.topology,
                             workload_.graph.ops[k].where);
        }
        per_execution += static_cast<double>(CountSlots(*lowered, grid));
      }
      transfers += per_execution * static_cast<double>(counts[k]);
    }
    RequireMemory(static_cast<std::uint64_t>(std::min(transfers, 1e18)),
                  options_, "--max-memory",
                  "let it fold (--fold auto or on), take fewer chips or "
                  "repeats, use --engine bound");
  }

  // The chip that ends last, lowest id on ties.
  static std::uint32_t LastSite(const CompiledStep& compiled,
                                const Timeline& timeline, std::uint32_t sites) {
    const std::uint32_t ends = compiled.executions.back().first_end;
    std::uint32_t last = 0;
    for (std::uint32_t site = 1; site < sites; ++site) {
      if (timeline.end[ends + site] > timeline.end[ends + last]) last = site;
    }
    return last;
  }

  // The sites of every group of every collective.
  PeersOf MakePeers(const FoldedGrid& grid) const {
    // [op][site]: index into lists.
    auto lists = std::make_shared<std::vector<std::vector<std::uint32_t>>>();
    lists->emplace_back();  // nobody else
    std::vector<std::vector<std::uint32_t>> list_of(workload_.graph.ops.size());
    for (std::size_t k = 0; k < list_of.size(); ++k) {
      const auto& collective = workload_.graph.ops[k].collective;
      list_of[k].assign(grid.sites(), 0);
      if (!collective) continue;
      const auto join = [&](const std::vector<std::uint32_t>& sites) {
        for (const std::uint32_t site : sites) {
          list_of[k][site] = static_cast<std::uint32_t>(lists->size());
        }
        lists->push_back(sites);
      };
      if (collective->kind == CollectiveKind::kCollectivePermute) {
        std::vector<std::vector<std::uint32_t>> partners(grid.sites());
        for (const ChipPair& pair : PairsOf(*collective, slice_.topology)) {
          partners[pair.from.value()].push_back(pair.to.value());
          partners[pair.to.value()].push_back(pair.from.value());
        }
        for (std::uint32_t site = 0; site < grid.sites(); ++site) {
          list_of[k][site] = static_cast<std::uint32_t>(lists->size());
          lists->push_back(partners[site]);
        }
      } else if (!step_.folded) {
        for (const auto& group : GroupsOf(*collective, slice_.topology)) {
          std::vector<std::uint32_t> sites;
          for (const ChipId chip : group) sites.push_back(chip.value());
          join(sites);
        }
      } else {
        // What folds is a program.
        const Program& program = *step_.lowered[step_.first_alike[k]]->program;
        std::map<Coordinates, std::vector<std::uint32_t>> by_origin;
        for (std::uint32_t site = 0; site < grid.sites(); ++site) {
          Coordinates at = grid.CoordinatesOf(site);
          for (const int axis : program.group_axes) {
            at[axis] -= at[axis] % BlockLength(program, slice_.topology, axis);
          }
          by_origin[at].push_back(site);
        }
        for (const auto& [origin, sites] : by_origin) join(sites);
      }
    }
    return [lists, list_of](std::uint32_t op, std::uint32_t site) {
      return (*lists)[list_of[op][site]];
    };
  }

  void Account(const CompiledStep& compiled, const Timeline& timeline,
               const FoldedGrid& grid, StepResult& result) const {
    RequireFinite(timeline.makespan, "the time of this step");
    const std::uint32_t site = LastSite(compiled, timeline, grid.sites());
    const CoreAccount account =
        AccountCore(workload_.graph, compiled, timeline, MakePeers(grid), site);
    std::size_t compute = 0, collective = 0;
    for (std::size_t k = 0; k < workload_.graph.ops.size(); ++k) {
      const CoreAccount::OpShare& share = account.ops[k];
      if (!workload_.graph.ops[k].collective) {
        StepCompute& entry = result.computes[compute++];
        entry.compute_s = share.compute_s;
        entry.interference_s = share.interference_s;
        continue;
      }
      StepCollective& entry = result.collectives[collective++];
      entry.flight_s = share.flight_s;
      entry.exposed_s = share.exposed_s;
      entry.idle_s = share.idle_s;
      entry.overlapped_s = share.overlapped_s;
    }
    result.makespan_s = account.makespan_s;
    result.compute_s = account.compute_s;
    result.interference_s = account.interference_s;
    result.exposed_communication_s = account.exposed_s;
    result.idle_s = account.idle_s;
    result.overlapped_communication_s = account.overlapped_s;
    const double makespan = account.makespan_s;
    CHECK(makespan >= result.lower_bound_s * (1 - 1e-9) - Slack());
    if (makespan > 0) result.efficiency = result.lower_bound_s / makespan;
  }

  // Bounds may exceed the optimum by n bytes where n does not divide S.
  double Slack() const {
    double slack = 0;
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      const StepOp& op = workload_.graph.ops[k];
      if (!op.collective) continue;
      const int n = GroupSize(*op.collective, slice_.topology);
      if (op.collective->payload.value() % n == 0) continue;
      slack += static_cast<double>(counts_[k]) * n /
               slice_.topology.base_bandwidth().value();
    }
    return slack;
  }

  const Workload& workload_;
  const SimOptions& options_;
  PhaseTimes& times_;
  RunRecord* record_;
  const Slice& slice_;
  std::vector<std::int64_t> counts_;
  LoweredStep step_;
};

}  // namespace

StepResult SimulateStep(const Workload& workload, const SimOptions& options,
                        PhaseTimes& times, RunRecord* record) {
  return StepSimulation(workload, options, times, record).Run();
}

}  // namespace podsim
