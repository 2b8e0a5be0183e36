#include "collective/tree.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "collective/groups.h"
#include "schedule/chunk_split.h"
#include "topology/distance.h"
#include "topology/routing.h"

namespace podsim {
namespace {

// Ops of one pipeline: emitted group by group, tree by tree.
class PipelineBuilder {
 public:
  PipelineBuilder(const Collective& collective, WholeSchedule& whole)
      : whole_(whole),
        reduces_(collective.kind != CollectiveKind::kBroadcast),
        broadcasts_(collective.kind != CollectiveKind::kReduce) {}

  // Chunk j of the tree is chunk first_chunk + j of the schedule.
  void AddTree(const std::vector<ChipId>& group, const Tree& tree, int index,
               std::uint32_t first_chunk, const std::vector<Bytes>& sizes) {
    const std::vector<int> order = BreadthFirst(tree, group);
    // What the root waits for, by chunk: the sums that arrive there.
    std::vector<std::vector<OpId>> complete(sizes.size());
    if (reduces_) {
      complete = AddUp(group, tree, index, first_chunk, sizes, order);
    }
    if (broadcasts_) {
      AddDown(group, tree, index, first_chunk, sizes, order, complete);
    }
  }

 private:
  std::vector<std::vector<OpId>> AddUp(const std::vector<ChipId>& group,
                                       const Tree& tree, int index,
                                       std::uint32_t first_chunk,
                                       const std::vector<Bytes>& sizes,
                                       const std::vector<int>& order) {
    std::vector<std::vector<OpId>> complete(sizes.size());
    std::vector<std::optional<OpId>> lane(group.size());  // to the parent
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      if (sizes[j].value() == 0) continue;
      std::vector<std::vector<OpId>> arrived(group.size());
      for (std::size_t k = order.size() - 1; k > 0; --k) {
        const int rank = order[k];
        const int parent = tree.parent[rank];
        std::vector<OpId>& after = arrived[rank];
        if (lane[rank]) after.push_back(*lane[rank]);
        lane[rank] =
            Send(group[rank], group[parent], tree.up[rank], first_chunk + j,
                 sizes[j], Mode::kReduce, LaneOf(index, /*up=*/true), after);
        arrived[parent].push_back(*lane[rank]);
      }
      complete[j] = arrived[order[0]];
    }
    return complete;
  }

  void AddDown(const std::vector<ChipId>& group, const Tree& tree, int index,
               std::uint32_t first_chunk, const std::vector<Bytes>& sizes,
               const std::vector<int>& order,
               const std::vector<std::vector<OpId>>& complete) {
    std::vector<std::optional<OpId>> lane(group.size());  // by child
    std::vector<std::vector<OpId>> arrival(group.size());
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      if (sizes[j].value() == 0) continue;
      arrival[order[0]] = complete[j];
      // Breadth first, so that a parent comes before its children.
      for (std::size_t k = 1; k < order.size(); ++k) {
        const int rank = order[k];
        const int parent = tree.parent[rank];
        std::vector<OpId> after = arrival[parent];
        if (lane[rank]) after.push_back(*lane[rank]);
        lane[rank] =
            Send(group[parent], group[rank], tree.down[rank], first_chunk + j,
                 sizes[j], Mode::kCopy, LaneOf(index, /*up=*/false), after);
        arrival[rank] = {*lane[rank]};
      }
    }
  }

  static std::uint16_t LaneOf(int tree, bool up) {
    return static_cast<std::uint16_t>(2 * tree + (up ? 1 : 0));
  }

  OpId Send(ChipId from, ChipId to, const std::vector<LinkId>& route,
            std::size_t chunk, Bytes bytes, Mode mode, std::uint16_t lane,
            const std::vector<OpId>& after) {
    // One run per chunk, made when first used.
    if (patterns_.size() <= chunk) patterns_.resize(chunk + 1);
    if (!patterns_[chunk]) {
      const ChunkRun run{static_cast<std::uint32_t>(chunk), 1};
      patterns_[chunk] = whole_.schedule.AddRuns({&run, 1});
    }
    return whole_.schedule.Add({.src = from,
                                .dst = to,
                                .chunks = {*patterns_[chunk], from},
                                .bytes = bytes,
                                .mode = mode,
                                .lane = lane},
                               route, after);
  }

  WholeSchedule& whole_;
  bool reduces_;
  bool broadcasts_;
  std::vector<std::optional<PatternId>> patterns_;
};

Chunk MakeChunk(const Collective& collective, std::uint32_t group, int root,
                ChipId root_chip, Bytes bytes) {
  Chunk chunk{.group = group,
              .owner = static_cast<std::uint32_t>(root),
              .bytes = bytes,
              .contributor = {},
              .receiver = {}};
  if (collective.kind == CollectiveKind::kBroadcast) {
    chunk.contributor = root_chip;
  }
  if (collective.kind == CollectiveKind::kReduce) chunk.receiver = root_chip;
  return chunk;
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
    const auto down = Route(topology, above, group[rank], TieRule::kParity);
    const auto up = Route(topology, group[rank], above, TieRule::kParity);
    CHECK(down && up) << "no way between chips " << above.value() << " and "
                      << group[rank].value();
    tree.down[rank] = *down;
    tree.up[rank] = *up;
  }
  return tree;
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

WholeSchedule BuildPipeline(const Collective& collective,
                            std::vector<std::vector<ChipId>> groups,
                            const Trees& trees, int chunks) {
  WholeSchedule whole{.schedule = {},
                      .meaning = MeaningWithoutChunks(collective, groups)};
  PipelineBuilder builder(collective, whole);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<Bytes> parts =
        SplitEvenly(collective.payload, static_cast<int>(trees[g].size()));
    for (std::size_t t = 0; t < trees[g].size(); ++t) {
      const auto first =
          static_cast<std::uint32_t>(whole.meaning.chunks.size());
      const std::vector<Bytes> sizes = SplitEvenly(parts[t], chunks);
      const auto& parent = trees[g][t].parent;
      const auto root = static_cast<int>(
          std::find(parent.begin(), parent.end(), -1) - parent.begin());
      for (const Bytes size : sizes) {
        whole.meaning.chunks.push_back(MakeChunk(collective,
                                                 static_cast<std::uint32_t>(g),
                                                 root, groups[g][root], size));
      }
      builder.AddTree(groups[g], trees[g][t], static_cast<int>(t), first,
                      sizes);
    }
  }
  return whole;
}

std::uint64_t CountPipeline(const Collective& collective,
                            const Topology& topology, int trees, int chunks) {
  const std::uint64_t phases =
      collective.kind == CollectiveKind::kAllReduce ? 2 : 1;
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
               int trees) {
  int best = 1;
  for (int chunks = 2; chunks <= kMostChunks; ++chunks) {
    if (PipelineTime(collective, slice, depth, trees, chunks) <
        PipelineTime(collective, slice, depth, trees, best)) {
      best = chunks;
    }
  }
  return best;
}

std::vector<CollectiveKind> TreeKinds() {
  return {CollectiveKind::kAllReduce, CollectiveKind::kBroadcast,
          CollectiveKind::kReduce};
}

std::optional<std::string> WhyUnreachable(const Collective& collective,
                                          const Topology& topology) {
  if (topology.healthy() && topology.slices() == 1) return std::nullopt;
  for (const auto& group : GroupsOf(collective, topology)) {
    const std::vector<int> hops = HopsFrom(topology, group[0]);
    for (const ChipId chip : group) {
      const bool back =
          Route(topology, chip, group[0], TieRule::kParity).has_value();
      if (hops[chip.value()] >= 0 && back) continue;
      return "chips " + std::to_string(group[0].value()) + " and " +
             std::to_string(chip.value()) + " cannot reach each other over ICI";
    }
  }
  return std::nullopt;
}

}  // namespace podsim
