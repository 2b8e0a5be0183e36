#include "collective/schedule_builder.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "topology/routing.h"

namespace podsim {

ChunkParties PartiesOf(CollectiveKind kind, ChipId root, ChipId owner,
                       ChipId target) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {{}, {}};
    case CollectiveKind::kAllGather:
      return {owner, {}};
    case CollectiveKind::kReduceScatter:
      return {{}, owner};
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kCollectivePermute:
      return {owner, target};
    case CollectiveKind::kBroadcast:
      return {root, {}};
    case CollectiveKind::kReduce:
      return {{}, root};
    case CollectiveKind::kGather:
      return {owner, root};
    case CollectiveKind::kScatter:
      return {root, owner};
  }
  return {{}, {}};
}

ScheduleBuilder::ScheduleBuilder(CollectiveMeaning meaning, const Topology&)
    : whole_{.schedule = {}, .meaning = std::move(meaning)} {}

std::uint32_t ScheduleBuilder::AddChunk(std::uint32_t group,
                                        std::uint32_t owner, Bytes bytes,
                                        std::optional<std::uint32_t> target) {
  const auto& meaning = whole_.meaning;
  const auto& members = meaning.groups[group];
  ChipId root = members[0];
  if (meaning.root) {
    // Every group has its root at the same rank.
    for (const auto& other : meaning.groups) {
      const auto found =
          std::find(other.begin(), other.end(), ChipId(*meaning.root));
      if (found != other.end()) root = members[found - other.begin()];
    }
  }
  const ChunkParties parties =
      PartiesOf(ParseCollectiveKind(meaning.kind, ""), root, members[owner],
                members[target.value_or(owner)]);
  whole_.meaning.chunks.push_back({.group = group,
                                   .owner = owner,
                                   .bytes = bytes,
                                   .contributor = parties.contributor,
                                   .receiver = parties.receiver});
  return static_cast<std::uint32_t>(meaning.chunks.size() - 1);
}

Bytes ScheduleBuilder::BytesOf(std::span<const std::uint32_t> chunks) const {
  Bytes sum;
  for (const std::uint32_t chunk : chunks) {
    sum = sum + whole_.meaning.chunks[chunk].bytes;
  }
  return sum;
}

std::optional<OpId> ScheduleBuilder::Send(ChipId from, ChipId to,
                                          std::span<const std::uint32_t> chunks,
                                          Mode mode,
                                          std::span<const LinkId> route,
                                          std::span<const OpId> after) {
  std::vector<std::uint32_t> kept;
  std::vector<ChunkRun> runs;
  for (const std::uint32_t chunk : chunks) {
    if (whole_.meaning.chunks[chunk].bytes.value() == 0) continue;
    kept.push_back(chunk);
    if (!runs.empty() && runs.back().first + runs.back().count == chunk) {
      ++runs.back().count;
    } else {
      runs.push_back({chunk, 1});
    }
  }
  if (kept.empty()) return std::nullopt;
  std::vector<OpId> waits(after.begin(), after.end());
  for (const std::uint32_t chunk : kept) {
    const auto& writers = Writers(from, chunk);
    waits.insert(waits.end(), writers.begin(), writers.end());
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  const OpId op =
      whole_.schedule.Add({.src = from,
                           .dst = to,
                           .chunks = {whole_.schedule.AddRuns(runs), from},
                           .bytes = BytesOf(kept),
                           .mode = mode},
                          route, waits);
  scratch_.resize(op.value() + 1);
  if (mode == Mode::kScratch) {
    scratch_[op.value()] = std::move(kept);
    return op;
  }
  for (const std::uint32_t chunk : kept) {
    auto& writers = Writers(to, chunk);
    if (mode == Mode::kCopy) writers.clear();
    writers.push_back(op);
  }
  return op;
}

OpId ScheduleBuilder::AddScratch(OpId transfer, std::span<const OpId> after) {
  const ChipId chip = whole_.schedule.dst(transfer);
  std::vector<OpId> waits(after.begin(), after.end());
  waits.push_back(transfer);
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  const OpId op = whole_.schedule.AddLocal(
      chip, whole_.schedule.chunks(transfer), transfer, Seconds(0), waits);
  scratch_.resize(op.value() + 1);
  for (const std::uint32_t chunk : scratch_[transfer.value()]) {
    Writers(chip, chunk).push_back(op);
  }
  return op;
}

WholeSchedule ScheduleBuilder::Finish() && { return std::move(whole_); }

std::vector<std::vector<LinkId>> RoutesOf(const Topology& topology, ChipId from,
                                          ChipId to, bool halves) {
  const auto route = [&](TieRule tie) {
    const auto links = Route(topology, from, to, tie);
    CHECK(links.has_value())
        << "no way from chip " << from.value() << " to " << to.value();
    return *links;
  };
  if (!halves || !topology.is_grid() || topology.twisted() ||
      !topology.healthy()) {
    return {route(TieRule::kParity)};
  }
  const Coordinates a = topology.CoordinatesOf(from);
  const Coordinates b = topology.CoordinatesOf(to);
  for (int axis = 0; axis < topology.ici_axes(); ++axis) {
    const GridAxis& along = topology.axes()[axis];
    if (along.wrap && 2 * std::abs(a[axis] - b[axis]) == along.size) {
      return {route(TieRule::kPlus), route(TieRule::kMinus)};
    }
  }
  return {route(TieRule::kParity)};
}

}  // namespace podsim
