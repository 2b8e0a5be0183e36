#include "collective/schedule_builder.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "collective/groups.h"
#include "topology/distance.h"
#include "topology/routing.h"

namespace podsim {
namespace {

void SortOut(std::vector<OpId>& waits) {
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
}

}  // namespace

ScheduleBuilder::ScheduleBuilder(const Collective& collective,
                                 std::vector<std::vector<ChipId>> groups)
    : kind_(FindKindParties(ToText(collective.kind))),
      whole_{.schedule = {},
             .meaning = MeaningWithoutChunks(collective, std::move(groups))} {
  const auto& root = whole_.meaning.root;
  if (root) root_ = *RankOf(ChipId(*root), whole_.meaning.groups);
  for (const auto& group : whole_.meaning.groups) {
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      const std::uint32_t chip = group[rank].value();
      if (rank_of_.size() <= chip) rank_of_.resize(chip + 1);
      rank_of_[chip] = rank;
    }
  }
}

std::uint32_t ScheduleBuilder::AddChunk(std::size_t group, int owner,
                                        Bytes bytes, int target) {
  std::vector<Chunk>& chunks = whole_.meaning.chunks;
  chunks.push_back(MakeChunk(*kind_, groups()[group],
                             static_cast<std::uint32_t>(group),
                             static_cast<std::uint32_t>(owner), bytes, root_,
                             static_cast<std::uint32_t>(target)));
  return static_cast<std::uint32_t>(chunks.size() - 1);
}

std::uint32_t ScheduleBuilder::AddLevel() {
  std::vector<Chunk>& chunks = whole_.meaning.chunks;
  Chunk next = chunks.back();
  ++next.level;
  chunks.push_back(next);
  return static_cast<std::uint32_t>(chunks.size() - 1);
}

std::uint32_t ScheduleBuilder::NewestOf(ChipId chip,
                                        std::uint32_t chunk) const {
  const std::uint32_t rank = rank_of_[chip.value()];
  if (kind_->targeted()) {
    const auto found =
        targeted_writers_.find(std::uint64_t{chunk} << 32 | rank);
    return found == targeted_writers_.end() ? kNone : found->second;
  }
  if (writers_.size() <= chunk || writers_[chunk].empty()) return kNone;
  return writers_[chunk][rank];
}

void ScheduleBuilder::SetNewest(ChipId chip, std::uint32_t chunk,
                                std::uint32_t newest) {
  const std::uint32_t rank = rank_of_[chip.value()];
  if (kind_->targeted()) {
    targeted_writers_[std::uint64_t{chunk} << 32 | rank] = newest;
    return;
  }
  if (writers_.size() <= chunk) writers_.resize(chunk + 1);
  auto& by_rank = writers_[chunk];
  if (by_rank.empty()) {
    const std::uint32_t group = whole_.meaning.chunks[chunk].group;
    by_rank.assign(groups()[group].size(), kNone);
  }
  by_rank[rank] = newest;
}

void ScheduleBuilder::AddWriter(ChipId chip, std::uint32_t chunk, OpId op,
                                bool overwrites) {
  pool_.push_back({op, overwrites ? kNone : NewestOf(chip, chunk)});
  SetNewest(chip, chunk, static_cast<std::uint32_t>(pool_.size() - 1));
}

void ScheduleBuilder::AddWriters(ChipId chip, std::uint32_t chunk,
                                 std::vector<OpId>& waits) const {
  std::uint32_t at = NewestOf(chip, chunk);
  for (; at != kNone; at = pool_[at].next) waits.push_back(pool_[at].op);
}

// Runs of consecutive chunks; those of one chunk are made once.
PatternId ScheduleBuilder::PatternOf(std::span<const std::uint32_t> chunks) {
  if (chunks.size() == 1) {
    if (alone_.size() <= chunks[0]) alone_.resize(chunks[0] + 1);
    auto& known = alone_[chunks[0]];
    const ChunkRun run{chunks[0], 1};
    if (!known) known = whole_.schedule.AddRuns({&run, 1});
    return *known;
  }
  std::vector<ChunkRun> runs;
  for (const std::uint32_t chunk : chunks) AppendRun(runs, chunk);
  return whole_.schedule.AddRuns(runs);
}

std::optional<OpId> ScheduleBuilder::Send(const Message& message,
                                          std::span<const OpId> after) {
  const std::vector<Chunk>& known = whole_.meaning.chunks;
  std::vector<std::uint32_t> kept;
  std::vector<OpId> waits(after.begin(), after.end());
  Bytes bytes;
  for (const std::uint32_t chunk : message.chunks) {
    if (known[chunk].bytes.value() == 0) continue;
    kept.push_back(chunk);
    bytes = bytes + known[chunk].bytes;
    AddWriters(message.from, chunk, waits);
  }
  if (kept.empty()) return std::nullopt;
  SortOut(waits);
  const OpId op =
      whole_.schedule.Add({.src = message.from,
                           .dst = message.to,
                           .chunks = {PatternOf(kept), message.from},
                           .bytes = bytes,
                           .mode = message.mode,
                           .lane = message.lane},
                          message.route, waits);
  if (message.mode == Mode::kScratch) {
    scratch_[op.value()] = std::move(kept);
    return op;
  }
  for (const std::uint32_t chunk : kept) {
    if (message.mode == Mode::kAccumulate) {
      AddWriter(message.to, chunk + 1, op, /*overwrites=*/false);
      continue;
    }
    if (known[chunk].receiver == message.to) continue;
    AddWriter(message.to, chunk, op, message.mode == Mode::kCopy);
  }
  return op;
}

OpId ScheduleBuilder::AddScratch(OpId transfer, std::span<const OpId> after) {
  const ChipId chip = whole_.schedule.dst(transfer);
  std::vector<OpId> waits(after.begin(), after.end());
  waits.push_back(transfer);
  SortOut(waits);
  const OpId op = whole_.schedule.AddLocal(
      chip, whole_.schedule.chunks(transfer), transfer, Seconds(0), waits);
  for (const std::uint32_t chunk : scratch_.at(transfer.value())) {
    AddWriter(chip, chunk, op, /*overwrites=*/false);
  }
  return op;
}

void ScheduleBuilder::Accumulate(ChipId chip, std::uint32_t chunk) {
  if (whole_.meaning.chunks[chunk].bytes.value() == 0) return;
  std::vector<OpId> waits;
  AddWriters(chip, chunk, waits);
  SortOut(waits);
  const OpId op = whole_.schedule.AddAccumulate(
      chip, {PatternOf({&chunk, 1}), chip}, waits);
  AddWriter(chip, chunk + 1, op, /*overwrites=*/false);
}

WholeSchedule ScheduleBuilder::Finish() && { return std::move(whole_); }

std::vector<LinkId> RouteOf(const Topology& topology, ChipId from, ChipId to) {
  const auto route = Route(topology, from, to, TieRule::kParity);
  CHECK(route.has_value()) << "no way from chip " << from.value() << " to "
                           << to.value();
  return *route;
}

std::vector<std::vector<LinkId>> RoutesOf(const Topology& topology, ChipId from,
                                          ChipId to, bool halves) {
  if (halves && topology.is_grid() && !topology.twisted() &&
      topology.healthy()) {
    const Coordinates a = topology.CoordinatesOf(from);
    const Coordinates b = topology.CoordinatesOf(to);
    for (int axis = 0; axis < topology.ici_axes(); ++axis) {
      const GridAxis& along = topology.axes()[axis];
      if (along.wrap && 2 * std::abs(a[axis] - b[axis]) == along.size) {
        return {*Route(topology, from, to, TieRule::kPlus),
                *Route(topology, from, to, TieRule::kMinus)};
      }
    }
  }
  return {RouteOf(topology, from, to)};
}

double MeanLinkTime(const Collective& collective, const Slice& slice,
                    double block) {
  const Topology& topology = slice.topology;
  if (!collective.groups.empty() || !topology.is_grid() ||
      !topology.uniform() || topology.twisted()) {
    return 0;
  }
  const double chips = GroupSize(collective, topology);
  double busiest = 0;
  for (const int axis : ActiveAxes(collective, topology)) {
    const GridAxis& along = topology.axes()[axis];
    const double lines = chips / along.size;
    const double links = 2 * (along.wrap ? chips : chips - lines);
    busiest =
        std::max(busiest, SumOfHops(along) * lines * lines * block / links);
  }
  return busiest / topology.base_bandwidth().value();
}

std::optional<std::string> WhyUnreachable(const Collective& collective,
                                          const Topology& topology,
                                          const LoweringSpec&) {
  if (topology.healthy()) return std::nullopt;
  for (const auto& group : GroupsOf(collective, topology)) {
    const std::vector<int> out = HopsFrom(topology, group[0]);
    const std::vector<int> back = HopsTo(topology, group[0]);
    for (const ChipId chip : group) {
      if (topology.SliceOf(chip) != topology.SliceOf(group[0])) continue;
      if (out[chip.value()] != kUnreachable &&
          back[chip.value()] != kUnreachable) {
        continue;
      }
      return "chips " + std::to_string(group[0].value()) + " and " +
             std::to_string(chip.value()) + " cannot reach each other over ICI";
    }
  }
  return std::nullopt;
}

}  // namespace podsim
