#include <algorithm>
#include <map>

#include "collective/groups.h"
#include "cost/bounds.h"
#include "engine/engine.h"
#include "schedule/chunk_parties.h"
#include "sim/link_use.h"
#include "sim/memory_guard.h"
#include "sim/run_engine.h"
#include "sim/simulate.h"
#include "workload/chakra_lower.h"

namespace podsim {
namespace {

std::optional<CollectiveKind> KindOf(const std::string& name) {
  for (const CollectiveKind kind : AllCollectiveKinds()) {
    if (name == ToText(kind)) return kind;
  }
  return std::nullopt;
}

// Who sends to whom; nullopt if some pair's chunks are not the whole payload.
std::optional<std::vector<ChipPair>> PairsOfChunks(
    const CollectiveMeaning& meaning) {
  std::map<std::pair<ChipId, ChipId>, std::int64_t> bytes;
  for (const Chunk& chunk : meaning.chunks) {
    bytes[{*chunk.contributor, *chunk.receiver}] += chunk.bytes.value();
  }
  std::vector<ChipPair> pairs;
  for (const auto& [pair, sum] : bytes) {
    if (sum != meaning.payload.value()) return std::nullopt;
    pairs.push_back({pair.first, pair.second});
  }
  return pairs;
}

// What each rank sends to each; nullopt if groups differ.
std::optional<ByteMatrix> MatrixOfChunks(const CollectiveMeaning& meaning) {
  std::vector<ByteMatrix> matrices;
  for (const auto& group : meaning.groups) {
    matrices.emplace_back(group.size(), std::vector<Bytes>(group.size()));
  }
  for (const Chunk& chunk : meaning.chunks) {
    const auto to = RankOf(*chunk.receiver, meaning.groups);
    Bytes& bytes = matrices[chunk.group].at(chunk.owner).at(to.value());
    bytes = bytes + chunk.bytes;
  }
  for (const ByteMatrix& matrix : matrices) {
    if (matrix != matrices[0]) return std::nullopt;
  }
  return matrices.at(0);
}

void SetScheduleBounds(const ScheduleFile& file, Point& point) {
  const auto kind = KindOf(file.meaning.kind);
  if (!kind) return;
  Collective collective{
      .kind = *kind, .payload = file.meaning.payload, .axes = {}};
  if (*kind == CollectiveKind::kCollectivePermute) {
    const auto pairs = PairsOfChunks(file.meaning);
    if (!pairs) return;
    collective.pairs = *pairs;
  }
  if (*kind == CollectiveKind::kRaggedAllToAll) {
    const auto matrix = MatrixOfChunks(file.meaning);
    if (!matrix) return;
    collective.matrix = *matrix;
  }
  // Bounds are sharper for sub-grids.
  if (const auto axes =
          AxesOfGroups(file.meaning.groups, file.slice.topology)) {
    collective.axes = *axes;
  } else {
    collective.groups = file.meaning.groups;
  }
  if (file.meaning.root) collective.root = ChipId(*file.meaning.root);
  const Bounds bounds = ComputeBounds(collective, file.slice);
  for (const BoundComponent& component : bounds.components) {
    point.bounds.emplace_back(component.name, component.time.value());
  }
  point.lower_bound_s = bounds.binding().time.value();
  point.bound = bounds.binding().name;
  RequireFinite(*point.lower_bound_s, "the bound of this " + point.collective);
}

}  // namespace

ScheduleResult SimulateSchedule(const ScheduleFile& file,
                                const SimOptions& options, PhaseTimes& times,
                                RunRecord* record) {
  ScheduleResult result;
  Point& point = result.point;
  point.collective = file.meaning.kind;
  point.slice = file.slice.spec;
  point.shape = file.slice.shape;
  point.generation = file.slice.generation;
  point.group = "schedule";
  for (const auto& group : file.meaning.groups) {
    point.group_size =
        std::max(point.group_size, static_cast<int>(group.size()));
  }
  point.payload_bytes = file.meaning.payload.value();
  point.engine = ToText(options.engine);
  point.network = ToText(options.network);
  point.transfers = file.schedule.transfers();
  if (file.meaning.kind == kMessages) {
    point.verified = {
        .ok = {},
        .method = "none",
        .reason = "a trace does not say what its messages must compute"};
  } else {
    // A file is never trusted: what is broken cannot be timed.
    const PhaseTimer timer(times.verify);
    result.violations = JudgeSchedule(file);
    point.verified = {
        .ok = result.violations.empty(), .method = "replay", .reason = {}};
  }
  if (!result.violations.empty()) return result;
  SetScheduleBounds(file, point);
  SetTraffic(file.schedule, file.slice, std::nullopt, point);
  if (options.engine == EngineKind::kBound) {
    point.busiest_link.reset();
    point.busiest_link_utilisation.reset();
    return result;
  }
  const PhaseTimer timer(times.engine);
  const double launch = file.schedule.size() > 0
                            ? file.slice.parameters.collective_launch.value()
                            : 0.0;
  Network network = MakeNetwork(file.slice, Seconds(launch));
  network.model = options.network;
  Timeline timeline =
      RunEngine(file.schedule, network, file.slice.topology, options);
  const double time = timeline.makespan + launch;
  const bool divides =
      point.group_size == 0 || point.payload_bytes % point.group_size == 0;
  SetTime(time, divides, file.slice, point);
  if (options.links) {
    point.links = MeasureLinks(file.schedule, timeline, network, file.slice,
                               std::nullopt, time);
  }
  if (record != nullptr) {
    *record = {.schedule = file.schedule,
               .timeline = std::move(timeline),
               .fold = {},
               .offset_s = launch,
               .executions = {},
               .names = {},
               .name = point.collective};
  }
  const auto kind = KindOf(file.meaning.kind);
  if (kind && point.algbw_bytes_per_s) {
    point.busbw_bytes_per_s =
        *point.algbw_bytes_per_s * BusFactor(*kind, point.group_size);
  }
  return result;
}

}  // namespace podsim
