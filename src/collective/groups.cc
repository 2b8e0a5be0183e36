#include "collective/groups.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "schedule/chunk_parties.h"

namespace podsim {
namespace {

constexpr std::size_t kLongList = 200;  // characters

// The chips of every sub-grid spanned by `axes`, live ones, in rank order.
std::vector<std::vector<ChipId>> GroupsAlong(const std::vector<int>& axes,
                                             const Topology& topology) {
  std::vector<std::vector<ChipId>> groups;
  std::vector<int> index(topology.chips(), -1);
  for (int id = 0; id < topology.chips(); ++id) {
    if (!topology.Live(ChipId(id))) continue;
    std::uint32_t first = 0;
    if (topology.is_grid()) {
      Coordinates at = topology.CoordinatesOf(ChipId(id));
      for (const int axis : axes) at[axis] = 0;
      first = topology.ChipAt(at).value();
    }
    int& group = index[first];
    if (group < 0) {
      group = static_cast<int>(groups.size());
      groups.emplace_back();
    }
    groups[group].emplace_back(id);
  }
  return groups;
}

ChipId ReadLiveChip(const JsonValue& json, const Topology& topology) {
  const ChipId chip(
      static_cast<std::uint32_t>(json.AsInteger(0, topology.chips() - 1)));
  if (!topology.Live(chip)) {
    json.Fail("chip " + json.Excerpt() + " is dead; leave it out");
  }
  return chip;
}

// FNV-1a.
std::uint64_t HashOf(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

std::string ListText(const std::vector<std::vector<ChipId>>& lists) {
  std::vector<std::string> texts;
  for (const auto& list : lists) {
    std::vector<std::string> chips;
    for (const ChipId chip : list)
      chips.push_back(std::to_string(chip.value()));
    texts.push_back("[" + Join(chips, ", ") + "]");
  }
  const std::string text = "[" + Join(texts, ", ") + "]";
  if (text.size() <= kLongList) return text;
  return std::to_string(lists.size()) + " lists, hash " +
         std::to_string(HashOf(text));
}

// "[[0, 3], [2, 0]]", bytes.
std::string MatrixText(const Collective& collective) {
  std::string text = "[";
  for (const auto& row : collective.matrix) {
    text += text.size() == 1 ? "[" : ", [";
    for (std::size_t k = 0; k < row.size(); ++k) {
      text += (k == 0 ? "" : ", ") + std::to_string(row[k].value());
    }
    text += "]";
  }
  text += "]";
  if (text.size() <= kLongList) return text;
  return "hash " + std::to_string(HashOf(text));
}

}  // namespace

bool TakesUnequalGroups(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce ||
         kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

std::vector<std::vector<ChipId>> GroupsOf(const Collective& collective,
                                          const Topology& topology) {
  if (!collective.groups.empty()) return collective.groups;
  if (collective.kind == CollectiveKind::kCollectivePermute) {
    std::vector<std::vector<ChipId>> all(1);
    for (int id = 0; id < topology.chips(); ++id) {
      if (topology.Live(ChipId(id))) all[0].emplace_back(id);
    }
    return all;
  }
  return GroupsAlong(collective.axes, topology);
}

std::optional<std::vector<int>> AxesOfGroups(
    const std::vector<std::vector<ChipId>>& groups, const Topology& topology) {
  if (!topology.is_grid()) {
    if (groups == GroupsAlong({}, topology)) return std::vector<int>{};
    return std::nullopt;
  }
  const int count = static_cast<int>(topology.axes().size());
  for (int subset = (1 << count) - 1; subset >= 0; --subset) {
    std::vector<int> axes;
    for (int axis = 0; axis < count; ++axis) {
      if ((subset >> axis & 1) != 0) axes.push_back(axis);
    }
    if (GroupsAlong(axes, topology) == groups) return axes;
  }
  return std::nullopt;
}

int RootRank(const Collective& collective,
             const std::vector<std::vector<ChipId>>& groups) {
  if (!collective.root) return 0;
  const auto rank = RankOf(*collective.root, groups);
  CHECK(rank.has_value()) << "root " << collective.root->value()
                          << " is in no group";
  return static_cast<int>(*rank);
}

std::string PartiesText(const Collective& collective,
                        const Topology& topology) {
  std::string text = "all";
  if (collective.shift) {
    text = "shift=" + AxisName(topology, collective.shift->axis) + ":" +
           std::to_string(collective.shift->by);
  } else if (!collective.pairs.empty()) {
    std::vector<std::vector<ChipId>> pairs;
    for (const ChipPair& pair : collective.pairs) {
      pairs.push_back({pair.from, pair.to});
    }
    text = "pairs=" + ListText(pairs);
  } else if (!collective.groups.empty()) {
    text = "groups=" + ListText(collective.groups);
  } else if (topology.is_grid() && collective.axes != AllAxes(topology)) {
    std::vector<std::string> names;
    for (const int axis : collective.axes) {
      names.push_back(AxisName(topology, axis));
    }
    text = names.empty() ? "single chips" : "axes=" + Join(names, ",");
  }
  if (!collective.matrix.empty()) text += " matrix=" + MatrixText(collective);
  if (collective.root && RootRank(collective, GroupsOf(collective, topology))) {
    text += " root=" + std::to_string(collective.root->value());
  }
  return text;
}

std::vector<ChipPair> PairsOf(const Collective& collective,
                              const Topology& topology) {
  std::vector<ChipPair> pairs;
  if (!collective.shift) {
    for (const ChipPair& pair : collective.pairs) {
      if (pair.from != pair.to) pairs.push_back(pair);
    }
    return pairs;
  }
  const auto [axis, by] = *collective.shift;
  for (int id = 0; id < topology.chips(); ++id) {
    Coordinates at = topology.CoordinatesOf(ChipId(id));
    const GridAxis& along = topology.axes()[axis];
    at[axis] += by;
    if (along.wrap) at[axis] %= along.size;
    if (at[axis] < 0 || at[axis] >= along.size) continue;
    const ChipId to = topology.ChipAt(at);
    if (!topology.Live(ChipId(id)) || !topology.Live(to)) continue;
    if (to != ChipId(id)) pairs.push_back({ChipId(id), to});
  }
  return pairs;
}

CollectiveMeaning MeaningWithoutChunks(
    const Collective& collective, std::vector<std::vector<ChipId>> groups) {
  CollectiveMeaning meaning{.kind = ToText(collective.kind),
                            .payload = collective.payload,
                            .groups = {},
                            .root = {},
                            .chunks = {}};
  if (IsRooted(collective.kind)) {
    const int rank = RootRank(collective, groups);
    meaning.root = collective.root.value_or(groups.at(0).at(rank)).value();
  }
  meaning.groups = std::move(groups);
  return meaning;
}

void ReadGroups(const JsonValue& json, const Topology& topology,
                Collective& collective) {
  std::vector<bool> used(topology.chips());
  std::vector<std::vector<ChipId>> groups;
  for (const JsonValue& list : json.Elements()) {
    std::vector<ChipId> group;
    for (const JsonValue& entry : list.Elements()) {
      const ChipId chip = ReadLiveChip(entry, topology);
      if (used[chip.value()]) {
        entry.Fail("chip " + entry.Excerpt() + " stands twice in the groups");
      }
      used[chip.value()] = true;
      group.push_back(chip);
    }
    if (group.empty()) list.Fail("expected at least one chip");
    if (!groups.empty() && group.size() != groups[0].size() &&
        !TakesUnequalGroups(collective.kind)) {
      list.Fail("expected " + std::to_string(groups[0].size()) +
                " chips as in the first group, got " +
                std::to_string(group.size()) + "; groups of " +
                ToText(collective.kind) + " are equally large");
    }
    groups.push_back(std::move(group));
  }
  if (groups.empty()) json.Fail("expected at least one group");
  if (collective.kind == CollectiveKind::kCollectivePermute) {
    json.Fail("a collective-permute has pairs or a shift, not groups");
  }
  SetGroups(std::move(groups), topology, collective);
}

void SetGroups(std::vector<std::vector<ChipId>> groups,
               const Topology& topology, Collective& collective) {
  if (const auto axes = AxesOfGroups(groups, topology)) {
    collective.axes = *axes;
  } else {
    collective.axes.clear();
    collective.groups = std::move(groups);
  }
}

void ReadPairs(const JsonValue& json, const Topology& topology,
               Collective& collective) {
  std::vector<bool> sends(topology.chips());
  std::vector<bool> receives(topology.chips());
  for (const JsonValue& entry : json.Elements()) {
    const std::vector<JsonValue> ends = entry.Elements();
    if (ends.size() != 2) {
      entry.Fail("expected a pair of chips [from, to], got " +
                 std::to_string(ends.size()) + " entries");
    }
    const ChipPair pair{ReadLiveChip(ends[0], topology),
                        ReadLiveChip(ends[1], topology)};
    if (sends[pair.from.value()]) {
      ends[0].Fail("chip " + ends[0].Excerpt() + " sends twice");
    }
    if (receives[pair.to.value()]) {
      ends[1].Fail("chip " + ends[1].Excerpt() + " receives twice");
    }
    sends[pair.from.value()] = receives[pair.to.value()] = true;
    collective.pairs.push_back(pair);
  }
  if (collective.pairs.empty()) json.Fail("expected at least one pair");
}

AxisShift MakeShift(int axis, std::int64_t by, const Topology& topology,
                    const std::string& where) {
  const int size = topology.axes()[axis].size;
  const bool wraps = topology.axes()[axis].wrap;
  if (wraps ? by % size == 0 : by == 0 || by <= -size || by >= size) {
    throw InputError(where, "a shift by " + std::to_string(by) + " on axis " +
                                AxisName(topology, axis) + " of " +
                                std::to_string(size) +
                                " chips moves nothing; expected 1 to " +
                                std::to_string(std::max(1, size - 1)) +
                                (wraps ? "" : " or the negative of it"));
  }
  if (!wraps) return {axis, static_cast<int>(by)};
  return {axis, static_cast<int>(((by % size) + size) % size)};
}

AxisShift ParseShift(const std::string& text, const Topology& topology,
                     const std::string& where) {
  const auto colon = text.find(':');
  std::size_t used = 0;
  std::int64_t by = 0;
  if (colon != std::string::npos) {
    try {
      by = std::stoll(text.substr(colon + 1), &used);
    } catch (const std::exception&) {
      used = 0;
    }
  }
  if (used == 0 || used != text.size() - colon - 1) {
    throw InputError(where,
                     "expected AXIS:PLACES such as x:1, got \"" + text + "\"");
  }
  const std::vector<int> axes =
      ParseAxes(text.substr(0, colon), topology, where);
  if (axes.size() != 1) {
    throw InputError(where, "expected one axis, got \"" + text + "\"");
  }
  return MakeShift(axes[0], by, topology, where);
}

void SetRoot(std::int64_t root, const Topology& topology,
             const std::string& where, Collective& collective) {
  if (!IsRooted(collective.kind)) {
    throw InputError(where, std::string(ToText(collective.kind)) +
                                " has no root; broadcast, reduce, gather and "
                                "scatter have");
  }
  const ChipId chip(static_cast<std::uint32_t>(root));
  if (root < 0 || root >= topology.chips() || !topology.Live(chip)) {
    throw InputError(where, "expected a live chip from 0 to " +
                                std::to_string(topology.chips() - 1) +
                                ", got " + std::to_string(root));
  }
  const auto groups = GroupsOf(collective, topology);
  const auto rank = RankOf(chip, groups);
  if (!rank) {
    throw InputError(where, "chip " + std::to_string(root) +
                                " is in no group of the collective");
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (*rank < groups[g].size()) continue;
    throw InputError(where, "chip " + std::to_string(root) + " has rank " +
                                std::to_string(*rank) +
                                " in its group, and group " +
                                std::to_string(g) + " has only " +
                                std::to_string(groups[g].size()) + " chips");
  }
  collective.root = chip;
}

bool SpansSlices(const Collective& collective, const Topology& topology) {
  if (topology.slices() == 1) return false;
  const auto apart = [&](ChipId a, ChipId b) {
    return topology.SliceOf(a) != topology.SliceOf(b);
  };
  if (collective.kind == CollectiveKind::kCollectivePermute) {
    return std::ranges::any_of(
        PairsOf(collective, topology),
        [&](const ChipPair& pair) { return apart(pair.from, pair.to); });
  }
  if (collective.groups.empty()) {
    return std::ranges::any_of(
        collective.axes, [&](int axis) { return !topology.axes()[axis].ici; });
  }
  return std::ranges::any_of(collective.groups, [&](const auto& group) {
    return std::ranges::any_of(
        group, [&](ChipId chip) { return apart(group[0], chip); });
  });
}

void RequireDcn(const Collective& collective, const Topology& topology,
                const std::string& where) {
  if (topology.dcn() || !SpansSlices(collective, topology)) return;
  throw InputError(
      where,
      "this " + std::string(ToText(collective.kind)) + " spans " +
          std::to_string(topology.slices()) +
          " slices, and the generation does not say how fast DCN is; set "
          "dcn.bandwidth (per chip, for example 25Gbit/s), or give axes, for "
          "groups inside every slice");
}

void RejectAxesOfPermute(const Collective& collective,
                         const std::string& where) {
  if (collective.kind != CollectiveKind::kCollectivePermute) return;
  throw InputError(where,
                   "a collective-permute has pairs or a shift, not axes");
}

void RequirePairs(const Collective& collective, const std::string& where) {
  const bool permute = collective.kind == CollectiveKind::kCollectivePermute;
  const bool given = collective.shift || !collective.pairs.empty();
  if (permute && !given) {
    throw InputError(where,
                     "a collective-permute needs to know who sends to whom: a "
                     "shift along an axis, or pairs");
  }
  if (!permute && given) {
    throw InputError(where, std::string(ToText(collective.kind)) +
                                " has no pairs and no shift; "
                                "collective-permute has");
  }
}

bool IsAllChips(const Collective& collective, const Topology& topology) {
  if (topology.slices() > 1) return false;
  if (!collective.groups.empty()) {
    return collective.groups.size() == 1 &&
           static_cast<int>(collective.groups[0].size()) ==
               topology.live_chips();
  }
  return !topology.is_grid() ||
         ActiveAxes(collective, topology) ==
             ActiveAxes({.payload = Bytes(0), .axes = IciAxes(topology)},
                        topology);
}

}  // namespace podsim
