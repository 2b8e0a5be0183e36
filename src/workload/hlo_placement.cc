#include "workload/hlo_placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "collective/groups.h"

namespace podsim {

CollectiveKind KindOf(HloCollectiveKind kind) {
  switch (kind) {
    case HloCollectiveKind::kAllReduce:
      return CollectiveKind::kAllReduce;
    case HloCollectiveKind::kAllGather:
      return CollectiveKind::kAllGather;
    case HloCollectiveKind::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case HloCollectiveKind::kAllToAll:
    case HloCollectiveKind::kRaggedAllToAll:
      return CollectiveKind::kAllToAll;
    case HloCollectiveKind::kCollectiveBroadcast:
      return CollectiveKind::kBroadcast;
    case HloCollectiveKind::kCollectivePermute:
    case HloCollectiveKind::kSend:
    case HloCollectiveKind::kRecv:
      break;
  }
  return CollectiveKind::kCollectivePermute;
}

std::optional<Collective> HloPlacement::Place(const HloCollective& collective,
                                              const std::string& where) const {
  Collective placed{.kind = KindOf(collective.kind),
                    .payload = collective.payload,
                    .axes = AllAxes(slice_.topology)};
  std::optional<Collective> done =
      placed.kind == CollectiveKind::kCollectivePermute
          ? PlacePairs(collective, std::move(placed), where)
          : PlaceGroups(collective, std::move(placed), where);
  if (!done) return done;
  RequireDcn(*done, slice_.topology, where);
  RequireCountable(*done, slice_.topology, where);
  return done;
}

ChipId HloPlacement::ChipOf(int device, const std::string& where) const {
  if (device < 0 || device >= static_cast<int>(chips_.size())) {
    throw InputError(where, "device " + std::to_string(device) +
                                " is in a group, but the module has " +
                                std::to_string(chips_.size()) + " devices");
  }
  return chips_[device];
}

std::optional<Collective> HloPlacement::PlaceGroups(
    const HloCollective& collective, Collective placed,
    const std::string& where) const {
  // How many groups have these chips.
  std::map<std::vector<ChipId>, std::int64_t> groups;
  for (const std::vector<int>& devices : collective.groups) {
    std::set<ChipId> chips;
    for (const int device : devices) chips.insert(ChipOf(device, where));
    if (chips.size() > 1) ++groups[{chips.begin(), chips.end()}];
  }
  if (groups.empty()) return std::nullopt;
  const std::int64_t copies = groups.begin()->second;
  std::vector<std::vector<ChipId>> lists;
  std::set<ChipId> members;
  for (const auto& [chips, times] : groups) {
    for (const ChipId chip : chips) {
      if (members.insert(chip).second && times == copies) continue;
      throw InputError(
          where,
          "the groups overlap on chip " + std::to_string(chip.value()) +
              " once its devices share it; give a --device-assignment that "
              "keeps the devices of a chip in groups of the same chips");
    }
    lists.push_back(chips);
  }
  const bool unequal = std::any_of(
      lists.begin(), lists.end(),
      [&](const auto& list) { return list.size() != lists[0].size(); });
  if (unequal && !TakesUnequalGroups(placed.kind)) {
    throw InputError(where,
                     std::string("the groups of this ") + ToText(placed.kind) +
                         " differ in size on the chips of " + slice_.spec);
  }
  placed.payload = copies * placed.payload;
  SetGroups(std::move(lists), slice_.topology, placed);
  if (placed.kind == CollectiveKind::kBroadcast) {
    SetRoot(ChipOf(collective.groups[0][0], where).value(), slice_.topology,
            where, placed);
  }
  return placed;
}

std::optional<Collective> HloPlacement::PlacePairs(
    const HloCollective& collective, Collective placed,
    const std::string& where) const {
  std::set<std::pair<ChipId, ChipId>> seen;
  std::set<ChipId> sources, targets;
  for (const auto& [from, to] : collective.pairs) {
    const ChipId src = ChipOf(from, where), dst = ChipOf(to, where);
    if (src == dst) continue;
    // The second device of the chip goes the same way.
    if (!seen.insert({src, dst}).second) continue;
    if (!sources.insert(src).second || !targets.insert(dst).second) {
      throw InputError(where,
                       "the devices of chip " + std::to_string(src.value()) +
                           " send to different chips at once, which a "
                           "collective-permute of chips cannot say; give "
                           "another --device-assignment");
    }
    placed.pairs.push_back({src, dst});
  }
  if (placed.pairs.empty()) return std::nullopt;
  const auto sent = static_cast<std::size_t>(std::count_if(
      collective.pairs.begin(), collective.pairs.end(), [&](const auto& pair) {
        return ChipOf(pair.first, where) != ChipOf(pair.second, where);
      }));
  placed.payload =
      static_cast<std::int64_t>((sent + seen.size() - 1) / seen.size()) *
      placed.payload;
  return placed;
}

}  // namespace podsim
