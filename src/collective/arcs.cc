#include "collective/arcs.h"

#include <algorithm>

namespace podsim {
namespace {

bool Usable(const Topology& topology, LinkId link, CollectiveKind kind) {
  if (!topology.Exists(link)) return false;
  const bool spreads =
      kind == CollectiveKind::kAllGather || kind == CollectiveKind::kBroadcast;
  const bool gathers =
      kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kReduce;
  return (gathers || topology.Live(link)) &&
         (spreads || topology.Live(topology.Reverse(link)));
}

}  // namespace

std::vector<Arc> ArcsOf(const std::vector<ChipId>& group, CollectiveKind kind,
                        const Topology& topology) {
  std::vector<int> rank_of(topology.chips(), -1);
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    rank_of[group[rank].value()] = static_cast<int>(rank);
  }
  std::vector<Arc> arcs;
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    const LinkId link(id);
    if (!Usable(topology, link, kind)) continue;
    const int from = rank_of[topology.Source(link).value()];
    const int to = rank_of[topology.Target(link).value()];
    if (from >= 0 && to >= 0) arcs.push_back({link, from, to});
  }
  return arcs;
}

std::optional<int> FirstUnreached(const std::vector<Arc>& arcs, int ranks,
                                  int root, bool backwards) {
  std::vector<std::vector<int>> next(ranks);
  for (const Arc& arc : arcs) {
    next[backwards ? arc.to : arc.from].push_back(backwards ? arc.from
                                                            : arc.to);
  }
  std::vector<bool> found(ranks);
  std::vector<int> queue = {root};
  found[root] = true;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const int rank : next[queue[k]]) {
      if (found[rank]) continue;
      found[rank] = true;
      queue.push_back(rank);
    }
  }
  const auto lost = std::find(found.begin(), found.end(), false);
  if (lost == found.end()) return std::nullopt;
  return static_cast<int>(lost - found.begin());
}

void AppendKey(const std::vector<Arc>& arcs, std::vector<std::uint32_t>& key) {
  for (const Arc& arc : arcs) {
    key.push_back(arc.link.value());
    key.push_back(static_cast<std::uint32_t>(arc.from));
    key.push_back(static_cast<std::uint32_t>(arc.to));
  }
}

}  // namespace podsim
