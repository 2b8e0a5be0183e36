#include "collective/path.h"

#include "collective/groups.h"

namespace podsim {

std::optional<std::string> WhyNotPath(const Collective& collective,
                                      const Topology& topology,
                                      const LoweringSpec&) {
  const char* instead = "; use bfs-tree";
  if (!topology.is_grid() || !collective.groups.empty()) {
    return std::string("its groups must be the lines of an axis") + instead +
           " or binomial";
  }
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return std::nullopt;
  if (active.size() > 1) {
    return "the group spans " + std::to_string(active.size()) + " axes" +
           instead;
  }
  if (topology.axes()[active[0]].wrap) {
    return "axis " + AxisName(topology, active[0]) + " wraps" + instead;
  }
  if (topology.healthy()) return std::nullopt;
  for (const auto& group : GroupsOf(collective, topology)) {
    for (std::size_t k = 0; k + 1 < group.size(); ++k) {
      const LinkId link = topology.LinkAt(group[k], active[0], Sign::kPlus);
      if (topology.Exists(link) && topology.Live(link) &&
          topology.Live(topology.Reverse(link)) &&
          topology.Target(link) == group[k + 1]) {
        continue;
      }
      return "it needs link " + topology.NameOf(link) + " both ways" + instead;
    }
  }
  return std::nullopt;
}

WholeSchedule BuildPaths(const Collective& collective, const Topology& topology,
                         std::optional<int> root, int chunks) {
  std::vector<std::vector<ChipId>> groups = GroupsOf(collective, topology);
  Trees trees;
  for (const auto& group : groups) {
    const int n = static_cast<int>(group.size());
    const int top = root.value_or(n / 2);
    std::vector<int> parent;
    for (int rank = 0; rank < n; ++rank) {
      parent.push_back(rank == top ? -1 : rank < top ? rank + 1 : rank - 1);
    }
    trees.push_back({MakeTree(parent, group, topology)});
  }
  return BuildPipeline(collective, std::move(groups), trees, chunks);
}

std::uint64_t CountPaths(const Collective& collective, const Topology& topology,
                         const LoweringSpec& spec) {
  return CountPipeline(collective, topology, /*trees=*/1, spec.chunks);
}

}  // namespace podsim
