#include "collective/tree.h"

#include <algorithm>

#include "base/check.h"
#include "collective/groups.h"
#include "collective/schedule_builder.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

using Lanes = std::vector<std::optional<OpId>>;  // the last op, by rank

std::span<const OpId> LastOf(const std::optional<OpId>& lane) {
  return lane ? std::span(&*lane, 1) : std::span<const OpId>();
}

std::uint16_t LaneOf(std::size_t tree, bool up) {
  return static_cast<std::uint16_t>(2 * tree + (up ? 1 : 0));
}

// Every rank adds the chunk, with what its children have added, at its parent.
void SendUp(const std::vector<ChipId>& group, const Tree& tree,
            const std::vector<int>& order, std::uint32_t chunk,
            std::uint16_t lane, Lanes& last, ScheduleBuilder& builder) {
  for (std::size_t k = order.size() - 1; k > 0; --k) {
    const int rank = order[k];
    last[rank] = builder.Send({.from = group[rank],
                               .to = group[tree.parent[rank]],
                               .chunks = {&chunk, 1},
                               .mode = Mode::kReduce,
                               .route = tree.up[rank],
                               .lane = lane},
                              LastOf(last[rank]));
  }
}

// Every rank gets the chunk from its parent; a parent comes before its
// children.
void SendDown(const std::vector<ChipId>& group, const Tree& tree,
              const std::vector<int>& order, std::uint32_t chunk,
              std::uint16_t lane, Lanes& last, ScheduleBuilder& builder) {
  for (std::size_t k = 1; k < order.size(); ++k) {
    const int rank = order[k];
    last[rank] = builder.Send({.from = group[tree.parent[rank]],
                               .to = group[rank],
                               .chunks = {&chunk, 1},
                               .mode = Mode::kCopy,
                               .route = tree.down[rank],
                               .lane = lane},
                              LastOf(last[rank]));
  }
}

}  // namespace

Tree MakeTree(const std::vector<int>& parent, const std::vector<ChipId>& group,
              const Topology& topology) {
  Tree tree{.parent = parent,
            .down = std::vector<std::vector<LinkId>>(group.size()),
            .up = std::vector<std::vector<LinkId>>(group.size())};
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    if (parent[rank] < 0) continue;
    const ChipId above = group[parent[rank]];
    tree.down[rank] = RouteOf(topology, above, group[rank]);
    tree.up[rank] = RouteOf(topology, group[rank], above);
  }
  return tree;
}

Tree MakeTree(const ArcTree& tree, const std::vector<Arc>& arcs,
              const Topology& topology) {
  Tree made{.parent = std::vector<int>(tree.size(), -1),
            .down = std::vector<std::vector<LinkId>>(tree.size()),
            .up = std::vector<std::vector<LinkId>>(tree.size())};
  for (std::size_t rank = 0; rank < tree.size(); ++rank) {
    if (tree[rank] < 0) continue;
    const Arc& arc = arcs[tree[rank]];
    made.parent[rank] = arc.from;
    made.down[rank] = {arc.link};
    made.up[rank] = {topology.Reverse(arc.link)};
  }
  return made;
}

std::vector<int> BreadthFirst(const Tree& tree,
                              const std::vector<ChipId>& group) {
  std::vector<std::vector<int>> children(group.size());
  std::vector<int> order;
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    if (tree.parent[rank] < 0) {
      order.push_back(static_cast<int>(rank));
    } else {
      children[tree.parent[rank]].push_back(static_cast<int>(rank));
    }
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto& next = children[order[k]];
    std::sort(next.begin(), next.end(),
              [&](int a, int b) { return group[a] < group[b]; });
    order.insert(order.end(), next.begin(), next.end());
  }
  CHECK(order.size() == group.size()) << "not a tree";
  return order;
}

int Depth(const std::vector<int>& parent) {
  std::vector<int> depth(parent.size(), -1);
  int deepest = 0;
  for (std::size_t rank = 0; rank < parent.size(); ++rank) {
    // Up to a rank whose depth is known, then back down.
    std::vector<int> path;
    int at = static_cast<int>(rank);
    while (at >= 0 && depth[at] < 0) {
      path.push_back(at);
      at = parent[at];
    }
    int above = at < 0 ? -1 : depth[at];
    for (std::size_t k = path.size(); k-- > 0;) depth[path[k]] = ++above;
    deepest = std::max(deepest, depth[rank]);
  }
  return deepest;
}

void SortByDepth(std::vector<Tree>& trees) {
  std::stable_sort(trees.begin(), trees.end(),
                   [](const Tree& a, const Tree& b) {
                     return Depth(a.parent) > Depth(b.parent);
                   });
}

WholeSchedule BuildPipeline(const Collective& collective,
                            std::vector<std::vector<ChipId>> groups,
                            const Trees& trees, int chunks) {
  ScheduleBuilder builder(collective, std::move(groups));
  for (std::size_t g = 0; g < trees.size(); ++g) {
    const std::vector<ChipId> group = builder.groups()[g];
    const std::vector<Bytes> parts =
        SplitEvenly(collective.payload, static_cast<int>(trees[g].size()));
    for (std::size_t t = 0; t < trees[g].size(); ++t) {
      const Tree& tree = trees[g][t];
      const std::vector<int> order = BreadthFirst(tree, group);
      std::vector<std::uint32_t> ids;
      for (const Bytes size : SplitEvenly(parts[t], chunks)) {
        ids.push_back(builder.AddChunk(g, order[0], size));
      }
      if (collective.kind != CollectiveKind::kBroadcast) {
        Lanes last(group.size());
        for (const std::uint32_t chunk : ids) {
          SendUp(group, tree, order, chunk, LaneOf(t, /*up=*/true), last,
                 builder);
        }
      }
      if (collective.kind == CollectiveKind::kReduce) continue;
      Lanes last(group.size());
      for (const std::uint32_t chunk : ids) {
        SendDown(group, tree, order, chunk, LaneOf(t, /*up=*/false), last,
                 builder);
      }
    }
  }
  return std::move(builder).Finish();
}

std::size_t CountMembers(const Collective& collective,
                         const Topology& topology) {
  if (collective.groups.empty()) {
    return static_cast<std::size_t>(topology.live_chips());
  }
  std::size_t members = 0;
  for (const auto& group : collective.groups) members += group.size();
  return members;
}

std::uint64_t CountPipeline(const Collective& collective,
                            const Topology& topology, int trees, int chunks) {
  const std::uint64_t phases = PhasesOf(collective.kind);
  std::uint64_t edges = 0;
  for (const auto& group : GroupsOf(collective, topology)) {
    edges += group.size() - 1;
  }
  const auto most = static_cast<std::uint64_t>(collective.payload.value());
  return phases * edges *
         std::min(most, static_cast<std::uint64_t>(trees) * chunks);
}

Seconds PipelineTime(const Collective& collective, const Slice& slice,
                     int depth, int trees, int chunks) {
  if (collective.payload.value() == 0 || depth == 0) return Seconds(0);
  // No more chunks are sent than a part has bytes.
  const std::int64_t part = (collective.payload.value() + trees - 1) / trees;
  chunks = static_cast<int>(std::min<std::int64_t>(chunks, part));
  const double start = slice.parameters.ici_message_overhead.value() +
                       slice.topology.base_latency().value();
  const double bytes = static_cast<double>(collective.payload.value()) /
                       (static_cast<double>(trees) * chunks);
  const int fill =
      collective.kind == CollectiveKind::kAllReduce ? 2 * depth : depth;
  return Seconds((fill + chunks - 1) *
                 (start + bytes / slice.topology.base_bandwidth().value()));
}

int BestChunks(const Collective& collective, const Slice& slice, int depth,
               int trees, int most) {
  int best = 1;
  for (int chunks = 2; chunks <= most; ++chunks) {
    if (PipelineTime(collective, slice, depth, trees, chunks) <
        PipelineTime(collective, slice, depth, trees, best)) {
      best = chunks;
    }
  }
  return best;
}

}  // namespace podsim
