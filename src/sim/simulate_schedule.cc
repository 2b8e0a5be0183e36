#include <algorithm>

#include "cost/bounds.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "sim/memory_guard.h"
#include "sim/simulate.h"

namespace podsim {
namespace {

std::optional<CollectiveKind> KindOf(const std::string& name) {
  for (const CollectiveKind kind : AllCollectiveKinds()) {
    if (name == ToText(kind)) return kind;
  }
  return std::nullopt;
}

// The chips of every sub-grid spanned by `axes`, in rank order.
std::vector<std::vector<ChipId>> GroupsAlong(const std::vector<int>& axes,
                                             const Topology& topology) {
  std::vector<std::vector<ChipId>> groups;
  std::vector<int> index(topology.chips(), -1);
  for (int id = 0; id < topology.chips(); ++id) {
    Coordinates at = topology.CoordinatesOf(ChipId(id));
    for (const int axis : axes) at[axis] = 0;
    int& group = index[topology.ChipAt(at).value()];
    if (group < 0) {
      group = static_cast<int>(groups.size());
      groups.emplace_back();
    }
    groups[group].emplace_back(id);
  }
  return groups;
}

// The axes whose sub-grids are exactly the groups of the file, if any: their
// bounds are sharper to compute.
std::optional<std::vector<int>> AxesOf(const CollectiveMeaning& meaning,
                                       const Topology& topology) {
  if (!topology.is_grid()) return std::nullopt;
  for (int subset = (1 << topology.ici_axes()) - 1; subset >= 0; --subset) {
    std::vector<int> axes;
    for (int axis = 0; axis < topology.ici_axes(); ++axis) {
      if ((subset >> axis & 1) != 0) axes.push_back(axis);
    }
    if (GroupsAlong(axes, topology) == meaning.groups) return axes;
  }
  return std::nullopt;
}

void SetScheduleBounds(const ScheduleFile& file, Point& point) {
  const auto kind = KindOf(file.meaning.kind);
  if (!kind) return;
  const ChipId root(file.meaning.root.value_or(0));
  const auto axes = AxesOf(file.meaning, file.slice.topology);
  const Bounds bounds =
      axes
          ? ComputeBounds(
                {.kind = *kind, .payload = file.meaning.payload, .axes = *axes},
                file.slice, root)
          : ComputeBounds(*kind, file.meaning.payload, file.meaning.groups,
                          file.slice, root);
  for (const BoundComponent& component : bounds.components) {
    point.bounds.emplace_back(component.name, component.time.value());
  }
  point.lower_bound_s = bounds.binding().time.value();
  point.bound = bounds.binding().name;
  RequireFinite(*point.lower_bound_s, "the bound of this " + point.collective);
}

}  // namespace

ScheduleResult SimulateSchedule(const ScheduleFile& file,
                                const SimOptions& options, PhaseTimes& times) {
  ScheduleResult result;
  Point& point = result.point;
  point.collective = file.meaning.kind;
  point.slice = file.slice.spec;
  point.shape = file.slice.shape;
  point.generation = file.slice.generation;
  for (const auto& group : file.meaning.groups) {
    point.group_size =
        std::max(point.group_size, static_cast<int>(group.size()));
  }
  point.payload_bytes = file.meaning.payload.value();
  point.engine = ToText(options.engine);
  point.transfers = file.schedule.transfers();
  result.violations = file.violations;
  {
    // A file is never trusted: what is broken cannot be timed.
    const PhaseTimer timer(times.verify);
    result.violations.Append(
        VerifyFull(file.schedule, file.meaning, file.slice.topology));
  }
  point.verified = {
      .ok = result.violations.empty(), .method = "replay", .reason = {}};
  if (!result.violations.empty()) return result;
  SetScheduleBounds(file, point);
  SetTraffic(file.schedule, file.slice, std::nullopt, point);
  if (options.engine == EngineKind::kBound) {
    point.busiest_link.reset();
    point.busiest_link_utilisation.reset();
    return result;
  }
  const PhaseTimer timer(times.engine);
  const double time = RunPod(file.schedule, MakeNetwork(file.slice)).makespan +
                      (file.schedule.size() > 0
                           ? file.slice.parameters.collective_launch.value()
                           : 0.0);
  const bool divides =
      point.group_size == 0 || point.payload_bytes % point.group_size == 0;
  SetTime(time, divides, file.slice, point);
  const auto kind = KindOf(file.meaning.kind);
  if (kind && point.algbw_bytes_per_s) {
    point.busbw_bytes_per_s =
        *point.algbw_bytes_per_s * BusFactor(*kind, point.group_size);
  }
  return result;
}

}  // namespace podsim
