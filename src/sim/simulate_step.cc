#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "base/check.h"
#include "base/error.h"
#include "collective/groups.h"
#include "engine/engine.h"
#include "schedule/instantiate.h"
#include "sim/abstract_run.h"
#include "sim/account.h"
#include "sim/compile_step.h"
#include "sim/describe_step.h"
#include "sim/link_use.h"
#include "sim/lower_step.h"
#include "sim/memory_guard.h"
#include "sim/run_engine.h"
#include "sim/simulate.h"
#include "sim/steady_loops.h"

namespace podsim {
namespace {

// Iterations of a loop that are simulated where the rest are the same: so many,
// or else so many.
constexpr int kFewRepeats[] = {5, 10};

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
    if (options_.engine != EngineKind::kBound) {
      // First: its messages name the op.
      const PhaseTimer timer(times_.lower);
      step_ = LowerStep(workload_, options_);
    }
    StepResult result = DescribeStep(workload_, step_, options_, times_);
    if (options_.engine != EngineKind::kBound) Simulate(result);
    return result;
  }

 private:
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
    for (const int few : kFewRepeats) {
      if (!looks && slice_.topology.dated().empty() &&
          HasLongerLoop(workload_.graph.items, few)) {
        repeats.push_back(few);
      }
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
    if (!UseSteadyLoops(timeline, compiled)) return false;
    Account(compiled, timeline, grid, result);
    auto path = FindCriticalPath(workload_.graph, compiled, timeline, network,
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
      record_->live.push_back(op.live);
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
                  "repeats, use --step-mode abstract or --engine bound");
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
            const int length = BlockLength(program, slice_.topology, axis);
            const int apart = std::gcd(StrideAlong(program, axis),
                                       static_cast<int>(grid.period(axis)));
            at[axis] -= at[axis] % length / apart * apart;
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
        if (entry.copy) {
          entry.exposed_s = share.exposed_s;
          entry.overlapped_s = share.overlapped_s;
        }
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
    CHECK(makespan >=
          result.lower_bound_s * (1 - 1e-9) - BoundSlack(workload_));
    if (makespan > 0) result.efficiency = result.lower_bound_s / makespan;
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
  const bool runs = options.engine != EngineKind::kBound;
  if (options.step_mode == StepMode::kAbstract && runs) {
    return ResultOf(AbstractRun(workload, options, times), workload.graph);
  }
  return StepSimulation(workload, options, times, record).Run();
}

}  // namespace podsim
