#include "collective/collective.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "collective/groups.h"
#include "schedule/chunk_parties.h"

namespace podsim {
namespace {

struct KindRow {
  CollectiveKind kind;
  const char* name;
};

constexpr KindRow kKinds[] = {
    {CollectiveKind::kAllReduce, "all-reduce"},
    {CollectiveKind::kAllGather, "all-gather"},
    {CollectiveKind::kReduceScatter, "reduce-scatter"},
    {CollectiveKind::kAllToAll, "all-to-all"},
    {CollectiveKind::kRaggedAllToAll, "ragged-all-to-all"},
    {CollectiveKind::kBroadcast, "broadcast"},
    {CollectiveKind::kReduce, "reduce"},
    {CollectiveKind::kGather, "gather"},
    {CollectiveKind::kScatter, "scatter"},
    {CollectiveKind::kCollectivePermute, "collective-permute"},
};

}  // namespace

const char* ToText(CollectiveKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row.name;
  }
  return "";
}

CollectiveKind ParseCollectiveKind(const std::string& name,
                                   const std::string& where) {
  std::vector<std::string> known;
  for (const KindRow& row : kKinds) {
    if (name == row.name) return row.kind;
    known.emplace_back(row.name);
  }
  throw InputError(where, "unknown collective \"" + name +
                              "\"; did you mean \"" + Nearest(name, known) +
                              "\"? (known: " + Join(known, ", ") + ")");
}

std::vector<CollectiveKind> AllCollectiveKinds() {
  std::vector<CollectiveKind> kinds;
  for (const KindRow& row : kKinds) kinds.push_back(row.kind);
  return kinds;
}

bool IsRooted(CollectiveKind kind) {
  return FindKindParties(ToText(kind))->rooted();
}

int GroupSize(const Collective& collective, const Topology& topology) {
  const bool all_live = topology.live_chips() == topology.chips();
  if (!collective.groups.empty() || !all_live) {
    std::size_t largest = 0;
    for (const auto& group : GroupsOf(collective, topology)) {
      largest = std::max(largest, group.size());
    }
    return static_cast<int>(largest);
  }
  if (!topology.is_grid() ||
      collective.kind == CollectiveKind::kCollectivePermute) {
    return topology.chips();
  }
  int size = 1;
  for (const int axis : collective.axes) size *= topology.axes()[axis].size;
  return size;
}

void RequireCountable(const Collective& collective, const Topology& topology,
                      const std::string& where) {
  // An all-reduce moves 2S(n-1) bytes in each group; with room for padding.
  const Bytes most(std::numeric_limits<std::int64_t>::max() / 4 /
                   topology.chips());
  if (collective.payload <= most) return;
  throw InputError(where, "expected at most " + ToText(most) + " on " +
                              std::to_string(topology.chips()) +
                              " chips, got " + ToText(collective.payload) +
                              ": the traffic could not be counted");
}

std::vector<int> AllAxes(const Topology& topology) {
  std::vector<int> axes;
  for (std::size_t axis = 0; axis < topology.axes().size(); ++axis) {
    axes.push_back(static_cast<int>(axis));
  }
  return axes;
}

std::vector<int> IciAxes(const Topology& topology) {
  std::vector<int> axes = AllAxes(topology);
  std::erase_if(axes, [&](int axis) { return !topology.axes()[axis].ici; });
  return axes;
}

std::vector<int> ParseAxes(const std::string& text, const Topology& topology,
                           const std::string& where) {
  std::vector<std::string> known;
  for (const int axis : AllAxes(topology)) {
    known.push_back(AxisName(topology, axis));
  }
  if (known.empty()) {
    throw InputError(where, "the slice is a list of links without axes");
  }
  std::vector<int> axes;
  for (const std::string& name : Split(text, ',')) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      throw InputError(
          where,
          "no axis \"" + name + "\" in this slice; it has " + Join(known, ","));
    }
    axes.push_back(static_cast<int>(found - known.begin()));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    throw InputError(where, "an axis stands twice in \"" + text + "\"");
  }
  return axes;
}

std::vector<int> ActiveAxes(const Collective& collective,
                            const Topology& topology) {
  std::vector<int> active;
  for (const int axis : collective.axes) {
    const GridAxis& along = topology.axes()[axis];
    if (along.ici && along.size > 1) active.push_back(axis);
  }
  return active;
}

int PhasesOf(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce ? 2 : 1;
}

ChunkFlow FlowOf(CollectiveKind kind) {
  const KindParties& parties = *FindKindParties(ToText(kind));
  const auto known = [](Party party) {
    return party == Party::kAll || party == Party::kOwner ||
           party == Party::kTarget;
  };
  CHECK(known(parties.contributor) && known(parties.receiver))
      << ToText(kind) << " has no owner per chunk";
  return {.all_contribute = parties.contributor == Party::kAll,
          .all_receive = parties.receiver == Party::kAll};
}

double BusFactor(CollectiveKind kind, int group_size) {
  const double n = group_size;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return (n - 1) / n;
    case CollectiveKind::kRaggedAllToAll:
      return (n - 1) / (n * n);
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kCollectivePermute:
      return 1;
  }
  return 1;
}

}  // namespace podsim
