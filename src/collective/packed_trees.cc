#include "collective/packed_trees.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace podsim {
namespace {

constexpr std::int32_t kNone = -1;

// Pseudo-random, to break ties.
std::uint64_t Mixed(std::uint64_t link, std::uint64_t tree) {
  return (7919 * link + 104729 * tree) % 1000003;
}

class Packer {
 public:
  Packer(const PackedGraph& graph, const std::vector<std::uint32_t>& roots,
         std::int64_t target, bool per_cable)
      : graph_(graph),
        ranks_(static_cast<std::size_t>(graph.ranks)),
        target_(target),
        per_cable_(per_cable),
        load_(graph.arcs.size()),
        parent_(roots.size() * ranks_, kNone),
        version_(roots.size()) {
    trees_.roots = roots;
    trees_.arcs.resize(roots.size() * (ranks_ - 1));
  }

  PackedTrees Pack(int slack) && {
    const auto count = static_cast<std::int64_t>(trees_.roots.size());
    for (std::int64_t j = 0; j < count; ++j) {
      Grow(static_cast<std::size_t>(j),
           ((j + 1) * target_ + count - 1) / count + slack);
    }
    Repair();
    return std::move(trees_);
  }

 private:
  // Where the load of an arc is counted.
  std::uint32_t Slot(std::uint32_t arc) const {
    return per_cable_ ? graph_.cable[arc] : arc;
  }
  std::int32_t& Parent(std::size_t tree, std::size_t rank) {
    return parent_[tree * ranks_ + rank];
  }
  std::span<const std::uint32_t> Out(int rank) const {
    return {graph_.out.data() + graph_.first_out[rank],
            graph_.out.data() + graph_.first_out[rank + 1]};
  }

  // Prim's algorithm: the link with the least (load above the cap, depth, load,
  // pseudo-random, link) at the time when its tail joined.
  void Grow(std::size_t j, std::int64_t cap) {
    struct Entry {
      std::uint64_t cost;  // above the cap, depth, load
      std::uint64_t tie;   // pseudo-random, arc
      bool operator>(const Entry& other) const {
        return std::tie(cost, tie) > std::tie(other.cost, other.tie);
      }
    };
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap;
    std::vector<int> depth(ranks_, kNone);
    const auto push_from = [&](int rank) {
      for (const std::uint32_t arc : Out(rank)) {
        if (depth[graph_.arcs[arc].to] != kNone) continue;
        const std::int64_t load = load_[Slot(arc)];
        const auto above = static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, load + 1 - cap));
        heap.push({above << 40 | static_cast<std::uint64_t>(depth[rank]) << 24 |
                       static_cast<std::uint64_t>(load),
                   Mixed(graph_.arcs[arc].link.value(), j) << 32 | arc});
      }
    };
    depth[trees_.roots[j]] = 0;
    push_from(static_cast<int>(trees_.roots[j]));
    std::size_t grown = j * (ranks_ - 1);
    const std::size_t full = grown + ranks_ - 1;
    while (grown < full) {
      CHECK(!heap.empty()) << "ranks that the root cannot reach";
      const auto arc = static_cast<std::uint32_t>(heap.top().tie);
      heap.pop();
      const Arc& edge = graph_.arcs[arc];
      if (depth[edge.to] != kNone) continue;
      depth[edge.to] = depth[edge.from] + 1;
      Parent(j, edge.to) = static_cast<std::int32_t>(arc);
      ++load_[Slot(arc)];
      trees_.arcs[grown++] = arc;
      push_from(edge.to);
    }
  }

  // Exchanges edges of overloaded cables for others below the target, until no
  // exchange is left. Links only fill up to the target, so that what failed
  // fails again until its tree has changed.
  void Repair() {
    failed_.assign(graph_.arcs.size(), {});
    bool again = true;
    while (again) {
      again = false;
      for (std::uint32_t slot = 0; slot < load_.size() && !again; ++slot) {
        if (load_[slot] > target_) again = Relieve(slot);
      }
    }
  }

  bool Relieve(std::uint32_t slot) {
    auto& failed = failed_[slot];
    if (failed.empty()) failed.assign(version_.size(), UINT32_MAX);
    for (std::size_t j = version_.size(); j-- > 0;) {
      if (failed[j] == version_[j]) continue;
      if (const auto arc = UseOf(j, slot)) {
        if (Exchange(j, *arc)) return true;
      }
      failed[j] = version_[j];
    }
    return false;
  }

  // The arc of a tree that loads the slot.
  std::optional<std::uint32_t> UseOf(std::size_t j, std::uint32_t slot) {
    const auto uses = [&](std::int32_t arc) {
      return arc != kNone && Parent(j, graph_.arcs[arc].to) == arc;
    };
    if (uses(static_cast<std::int32_t>(slot))) return slot;
    const std::int32_t back = graph_.reverse[slot];
    if (per_cable_ && uses(back)) return static_cast<std::uint32_t>(back);
    return std::nullopt;
  }

  bool Exchange(std::size_t j, std::uint32_t old) {
    const int top = graph_.arcs[old].to;
    MarkBelow(j, top);
    using Key = std::tuple<int, std::int64_t, std::uint32_t>;
    std::optional<Key> best;
    for (std::uint32_t arc = 0; arc < graph_.arcs.size(); ++arc) {
      const Arc& edge = graph_.arcs[arc];
      const std::int64_t load = load_[Slot(arc)];
      if (load >= target_ || !below_[edge.to] || below_[edge.from]) continue;
      if (!per_cable_ && edge.to != top) continue;
      if (Slot(arc) == Slot(old)) continue;
      const Key key{depth_[edge.from], load, arc};
      if (!best || key < *best) best = key;
    }
    if (!best) return false;
    Replace(j, old, std::get<2>(*best));
    return true;
  }

  // Depths of a tree, and who is at or below `top`.
  void MarkBelow(std::size_t j, int top) {
    depth_.assign(ranks_, 0);
    below_.assign(ranks_, 0);
    below_[top] = 1;
    for (const std::uint32_t arc : trees_.Tree(j, graph_.ranks)) {
      const Arc& edge = graph_.arcs[arc];
      depth_[edge.to] = depth_[edge.from] + 1;
      if (below_[edge.from]) below_[edge.to] = 1;
    }
  }

  void Replace(std::size_t j, std::uint32_t old, std::uint32_t added) {
    // The path from the new edge up to the old one turns round.
    std::int32_t down = static_cast<std::int32_t>(added);
    int at = graph_.arcs[added].to;
    const int top = graph_.arcs[old].to;
    while (true) {
      const std::int32_t up = std::exchange(Parent(j, at), down);
      if (at == top) break;
      at = graph_.arcs[up].from;
      down = graph_.reverse[up];
    }
    --load_[Slot(old)];
    ++load_[Slot(added)];
    ++version_[j];
    Reorder(j);
  }

  // Breadth first from the root, children by link id.
  void Reorder(std::size_t j) {
    std::size_t grown = j * (ranks_ - 1);
    std::vector<int> queue = {static_cast<int>(trees_.roots[j])};
    for (std::size_t k = 0; k < queue.size(); ++k) {
      for (const std::uint32_t arc : Out(queue[k])) {
        const int to = graph_.arcs[arc].to;
        if (Parent(j, to) != static_cast<std::int32_t>(arc)) continue;
        trees_.arcs[grown++] = arc;
        queue.push_back(to);
      }
    }
    CHECK(queue.size() == ranks_) << "a tree that fell apart";
  }

  const PackedGraph& graph_;
  std::size_t ranks_;
  std::int64_t target_;
  bool per_cable_;
  std::vector<std::int64_t> load_;      // by arc, or by the cable's first arc
  std::vector<std::int32_t> parent_;    // arc into each rank, by tree
  std::vector<std::uint32_t> version_;  // exchanges so far, by tree
  // By load slot: the version of each tree with which no exchange was found.
  std::vector<std::vector<std::uint32_t>> failed_;
  std::vector<int> depth_;
  std::vector<char> below_;
  PackedTrees trees_;
};

}  // namespace

PackedGraph MakePackedGraph(std::vector<Arc> arcs, int ranks,
                            const Topology& topology) {
  PackedGraph graph{.ranks = ranks,
                    .arcs = std::move(arcs),
                    .cable = {},
                    .reverse = {},
                    .first_out = {},
                    .out = {}};
  std::vector<std::int32_t> at(topology.link_ids(), kNone);
  const auto count = static_cast<std::uint32_t>(graph.arcs.size());
  for (std::uint32_t arc = 0; arc < count; ++arc) {
    at[graph.arcs[arc].link.value()] = static_cast<std::int32_t>(arc);
  }
  for (std::uint32_t arc = 0; arc < count; ++arc) {
    const std::int32_t back =
        at[topology.Reverse(graph.arcs[arc].link).value()];
    graph.reverse.push_back(back);
    graph.cable.push_back(
        back == kNone ? arc : std::min(arc, static_cast<std::uint32_t>(back)));
    graph.out.push_back(arc);
  }
  std::stable_sort(graph.out.begin(), graph.out.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return graph.arcs[a].from < graph.arcs[b].from;
                   });
  graph.first_out.assign(static_cast<std::size_t>(ranks) + 1, 0);
  for (const Arc& arc : graph.arcs) ++graph.first_out[arc.from + 1];
  std::partial_sum(graph.first_out.begin(), graph.first_out.end(),
                   graph.first_out.begin());
  return graph;
}

PackedTrees PackTrees(const PackedGraph& graph,
                      const std::vector<std::uint32_t>& roots,
                      std::int64_t target, int slack, bool per_cable) {
  return Packer(graph, roots, target, per_cable).Pack(slack);
}

std::int64_t LargestLoad(const PackedGraph& graph, const PackedTrees& trees,
                         bool per_cable) {
  std::vector<std::int64_t> load(graph.arcs.size());
  for (const std::uint32_t arc : trees.arcs) {
    ++load[per_cable ? graph.cable[arc] : arc];
  }
  return load.empty() ? 0 : *std::max_element(load.begin(), load.end());
}

int Eccentricity(const PackedGraph& graph, int rank) {
  std::vector<int> hops(static_cast<std::size_t>(graph.ranks), kNone);
  std::vector<int> queue = {rank};
  hops[rank] = 0;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    const int at = queue[k];
    for (auto i = graph.first_out[at]; i < graph.first_out[at + 1]; ++i) {
      const int to = graph.arcs[graph.out[i]].to;
      if (hops[to] != kNone) continue;
      hops[to] = hops[at] + 1;
      queue.push_back(to);
    }
  }
  return hops[queue.back()];
}

std::size_t StrideOf(std::size_t size) {
  for (const std::size_t stride : {7, 5, 3, 11, 13, 17}) {
    if (std::gcd(stride, size) == 1) return stride;
  }
  return 1;
}

}  // namespace podsim
