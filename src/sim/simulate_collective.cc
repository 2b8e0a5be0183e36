#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "collective/groups.h"
#include "cost/bounds.h"
#include "cost/closed_form.h"
#include "engine/engine.h"
#include "schedule/instantiate.h"
#include "schedule/placement.h"
#include "sim/choose_fold.h"
#include "sim/choose_lowering.h"
#include "sim/link_use.h"
#include "sim/lost_ops.h"
#include "sim/memory_guard.h"
#include "sim/run_engine.h"
#include "sim/simulate.h"

namespace podsim {
namespace {

constexpr double kBoundSlack = 1e-9;  // relative
constexpr int kSortDigits = 9;
// Transfers that `compare` simulates of a lowering without symmetry.
constexpr std::uint64_t kMostWhole = 2'000'000;

void SetBounds(const Bounds& bounds, Point& point) {
  for (const BoundComponent& component : bounds.components) {
    point.bounds.emplace_back(component.name, component.time.value());
  }
  point.lower_bound_s = bounds.binding().time.value();
  point.bound = bounds.binding().name;
  RequireFinite(*point.lower_bound_s, "the bound of this " + point.collective);
}

Point MakePoint(const Collective& collective, const Slice& slice,
                const SimOptions& options) {
  Point point;
  point.collective = ToText(collective.kind);
  point.slice = slice.spec;
  point.shape = slice.shape;
  point.generation = slice.generation;
  point.group = PartiesText(collective, slice.topology);
  point.group_size = GroupSize(collective, slice.topology);
  point.payload_bytes = collective.payload.value();
  point.engine = ToText(options.engine);
  point.network = ToText(options.network);
  SetBounds(ComputeBounds(collective, slice), point);
  return point;
}

void Simulate(LoweredCollective& lowered, const Slice& slice,
              const SimOptions& options, PhaseTimes& times, Point& point,
              RunRecord* record) {
  const FoldChoice choice = ChooseFold(lowered, slice, options, "");
  if (!choice.fold) RequireFewUnfolded(lowered, slice.topology, "--fold");
  const Fold fold = choice.fold.value_or(NoFold(slice.topology));
  const FoldedGrid grid(slice.topology, fold);
  RequireMemory(CountSlots(lowered, grid), options, "--max-memory",
                "let it fold (--fold auto or on), take fewer chips or batches, "
                "use --engine bound");
  Collective padded = lowered.collective;
  padded.payload = choice.payload;
  if (choice.fold) point.fold = choice.fold->periods;
  if (options.fold == FoldMode::kOn) {
    point.padded_payload_bytes = choice.payload.value();
  }
  Schedule schedule;
  {
    const PhaseTimer timer(times.build);
    schedule = TakeSchedule(lowered, slice.topology, fold, choice.payload);
  }
  point.transfers = std::uint64_t{schedule.transfers()} * grid.chips_per_site();
  SetTraffic(schedule, slice, choice.fold, point);
  // Where a formula is exact no two transfers are at a link at once, so that
  // all networks agree, but for packets that wait to be complete.
  if (slice.topology.dated().empty() &&
      (schedule.one_hop() || options.network.cut_through)) {
    if (const auto closed = ClosedForm(lowered.spec, padded, slice)) {
      point.closed_form_s = closed->value();
    }
  }
  const PhaseTimer timer(times.engine);
  const bool empty = schedule.size() == 0;
  const double launch =
      empty ? 0.0 : slice.parameters.collective_launch.value();
  Network network = choice.fold ? MakeNetwork(slice, grid)
                                : MakeNetwork(slice, Seconds(launch));
  network.model = options.network;
  network.starts = record != nullptr || options.links;
  Timeline timeline = RunEngine(schedule, network, slice.topology, options);
  const double time = timeline.makespan + launch;
  const bool divides =
      lowered.collective.payload.value() % point.group_size == 0;
  SetTime(time, divides, slice, point);
  if (options.links) {
    point.links =
        MeasureLinks(schedule, timeline, network, slice, choice.fold, time);
  }
  if (record == nullptr) return;
  *record = {.schedule = std::move(schedule),
             .timeline = std::move(timeline),
             .fold = choice.fold,
             .offset_s = launch,
             .executions = {},
             .names = {},
             .name = point.collective};
}

// A comparison is over in seconds; one lowering alone may take its time.
std::optional<std::string> WhyTooSlow(const LoweringSpec& spec,
                                      const Collective& collective,
                                      const Slice& slice) {
  if (HasProgram(spec, collective, slice.topology)) return std::nullopt;
  const LoweringSpec resolved = Resolve(spec, collective, slice);
  if (const auto reason = WhyTooMany(resolved, collective, slice.topology)) {
    return reason;
  }
  const std::uint64_t transfers =
      CountSteps(resolved, collective, slice.topology);
  const bool one_hop = FindLowering(spec.name)->one_hop;
  if (transfers <= (one_hop ? kMostWhole : kMostMultiHop)) return std::nullopt;
  return "left out: up to " + std::to_string(transfers) +
         " transfers take long to simulate; run it alone with --lowering " +
         spec.name;
}

// Products beside the transfers run one at a time on every chip.
void AddComputeBound(const LoweringSpec& spec, Point& point) {
  const double products = spec.step_compute.value() * point.group_size;
  if (products == 0) return;
  point.bounds.emplace_back("compute", products);
  if (point.lower_bound_s && products <= *point.lower_bound_s) return;
  point.lower_bound_s = products;
  point.bound = "compute";
}

// Proof and time of what has been lowered.
Point FinishPoint(Point point, LoweredCollective lowered, const Slice& slice,
                  const SimOptions& options, PhaseTimes& times,
                  RunRecord* record) {
  const Collective& collective = lowered.collective;
  point.lowering = ToText(lowered.spec, collective, slice.topology);
  // Its time, too, is that of the slice without dated faults.
  if (lowered.runner_up && slice.topology.dated().empty()) {
    point.runner_up = ToText(*lowered.runner_up, collective, slice.topology);
    point.runner_up_s = lowered.runner_up_s;
  }
  AddComputeBound(lowered.spec, point);
  if (options.engine == EngineKind::kBound) {
    point.transfers = CountTransfers(lowered, slice.topology);
    if (!slice.topology.dated().empty()) return point;
    if (const auto closed = ClosedForm(lowered.spec, collective, slice)) {
      point.closed_form_s = closed->value();
    }
    return point;
  }
  {
    const PhaseTimer timer(times.verify);
    point.verified = VerifyLowered(lowered, slice, options);
  }
  Simulate(lowered, slice, options, times, point, record);
  if (point.algbw_bytes_per_s) {
    point.busbw_bytes_per_s =
        *point.algbw_bytes_per_s * BusFactor(collective.kind, point.group_size);
  }
  return point;
}

Point SimulatePoint(Point point, const Collective& collective,
                    const Slice& slice,
                    const std::optional<LoweringSpec>& lowering,
                    const std::string& where, const SimOptions& options,
                    PhaseTimes& times, RunRecord* record) {
  const bool bound_only = options.engine == EngineKind::kBound;
  if (bound_only) {
    point.verified = {.ok = {}, .method = "none", .reason = "--engine bound"};
    // Bounds hold for every schedule; only a named one has a closed form.
    if (!lowering) return point;
  }
  std::optional<LoweredCollective> lowered;
  {
    const PhaseTimer timer(times.lower);
    lowered = LowerOrChoose(collective, slice, lowering, where, options);
  }
  return FinishPoint(std::move(point), *std::move(lowered), slice, options,
                     times, record);
}

}  // namespace

void RequireFinite(double seconds, const std::string& what) {
  if (std::isfinite(seconds)) return;
  throw InputError("", what +
                           " is more than the 1.8e308 s of a double; check the "
                           "bandwidths, latencies and durations");
}

void SetTime(double seconds, bool divides, const Slice& slice, Point& point) {
  RequireFinite(seconds, "the time of this " + point.collective);
  point.time_s = seconds;
  if (point.lower_bound_s) {
    double slack = kBoundSlack * *point.lower_bound_s;
    if (!divides) {
      double slowest = slice.topology.base_bandwidth().value();
      slice.topology.ForEachLiveLink([&](LinkId link) {
        slowest = std::min(slowest, slice.topology.Bandwidth(link).value());
      });
      slack += point.group_size / slowest;
    }
    CHECK(seconds >= *point.lower_bound_s - slack)
        << point.collective << " on " << point.slice << ": " << seconds
        << " s is below the bound " << *point.bound << " of "
        << *point.lower_bound_s << " s";
  }
  if (seconds <= 0) return;
  if (point.lower_bound_s) {
    // Rounding must not make it more than the best possible.
    point.efficiency = std::min(1.0, *point.lower_bound_s / seconds);
  }
  point.algbw_bytes_per_s = static_cast<double>(point.payload_bytes) / seconds;
  if (point.max_link_bytes && point.busiest_link_utilisation) {
    *point.busiest_link_utilisation /= seconds;
  }
}

void SetTraffic(const Schedule& schedule, const Slice& slice,
                const std::optional<Fold>& fold, Point& point) {
  const Topology& topology = slice.topology;
  std::optional<FoldedGrid> grid;
  if (fold) grid.emplace(topology, *fold);
  std::vector<std::int64_t> bytes(grid ? grid->port_ids()
                                       : topology.port_ids());
  std::int64_t byte_hops = 0;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    if (schedule.kind(OpId(id)) != OpKind::kTransfer) continue;
    for (const LinkId link : schedule.route(OpId(id))) {
      bytes[link.value()] += schedule.bytes(OpId(id)).value();
      byte_hops += schedule.bytes(OpId(id)).value();
    }
  }
  point.byte_hops = byte_hops * (grid ? grid->chips_per_site() : 1);
  point.max_link_bytes = 0;
  double busiest = 0;  // seconds at full rate
  for (std::uint32_t id = 0; id < bytes.size(); ++id) {
    if (bytes[id] == 0) continue;
    const LinkId link = grid ? grid->Representative(LinkId(id)) : LinkId(id);
    if (grid && topology.IsPort(link)) bytes[id] *= topology.ChipsOf(link);
    point.max_link_bytes = std::max(*point.max_link_bytes, bytes[id]);
    const double busy = (Bytes(bytes[id]) / topology.Bandwidth(link)).value();
    if (busy <= busiest) continue;
    busiest = busy;
    point.busiest_link = topology.NameOf(link);
    point.busiest_link_utilisation = busy;  // divided by the time in SetTime
  }
}

Point SimulateCollective(const Collective& collective, const Slice& slice,
                         const std::optional<LoweringSpec>& lowering,
                         const std::string& where, const SimOptions& options,
                         PhaseTimes& times, RunRecord* record) {
  return SimulatePoint(MakePoint(collective, slice, options), collective, slice,
                       lowering, where, options, times, record);
}

Point SimulateLowered(const LoweredCollective& lowered, const Slice& slice,
                      const SimOptions& options, PhaseTimes& times) {
  return FinishPoint(MakePoint(lowered.collective, slice, options), lowered,
                     slice, options, times, nullptr);
}

Comparison CompareLowerings(const Collective& collective, const Slice& slice,
                            const SimOptions& options, PhaseTimes& times) {
  Comparison comparison;
  // The bounds are the same for all.
  const Point bounds = MakePoint(collective, slice, options);
  for (const LoweringSpec& spec : SpecsToCompare()) {
    if (IsRedundant(spec, collective, slice.topology)) continue;
    if (const auto reason = WhyNot(spec, collective, slice.topology)) {
      const bool known = !comparison.not_applicable.empty() &&
                         comparison.not_applicable.back().lowering == spec.name;
      if (!known) comparison.not_applicable.push_back({spec.name, *reason});
      continue;
    }
    if (const auto reason = WhyTooSlow(spec, collective, slice)) {
      comparison.not_applicable.push_back({spec.name, *reason});
      continue;
    }
    if (const auto reason = WhyNotServed(options.network, spec)) {
      comparison.not_applicable.push_back({spec.name, *reason});
      continue;
    }
    try {
      comparison.points.push_back(SimulatePoint(
          bounds, collective, slice, spec, spec.name, options, times, nullptr));
    } catch (const LostOps& lost) {
      comparison.not_applicable.push_back({spec.name, lost.summary});
    }
  }
  if (comparison.points.empty() && options.engine == EngineKind::kBound) {
    comparison.points.push_back(SimulatePoint(bounds, collective, slice,
                                              std::nullopt, "compare", options,
                                              times, nullptr));
  } else if (comparison.points.empty()) {
    FailNothingApplies(collective, comparison.not_applicable, "compare");
  }
  // Rounded, so that equal times stay in table order.
  const auto seconds = [](const Point& point) {
    const double time = point.time_s.value_or(
        point.closed_form_s.value_or(std::numeric_limits<double>::infinity()));
    return std::stod(Significant(time, kSortDigits));
  };
  std::stable_sort(
      comparison.points.begin(), comparison.points.end(),
      [&](const Point& a, const Point& b) { return seconds(a) < seconds(b); });
  return comparison;
}

}  // namespace podsim
