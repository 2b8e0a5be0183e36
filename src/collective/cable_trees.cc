#include "collective/cable_trees.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/check.h"

namespace podsim {
namespace {

struct Ends {
  int a = 0;
  int b = 0;
};

// A forest of cable copies. Paths are found by climbing towards the root of a
// component.
class Forest {
 public:
  explicit Forest(int ranks) : up_(ranks), by_(ranks), depth_(ranks) {
    Root({});
  }

  // Made anew of these copies: (copy, ends).
  void Root(const std::vector<std::pair<int, Ends>>& copies) {
    const int ranks = static_cast<int>(up_.size());
    std::vector<std::vector<std::pair<int, int>>> next(ranks);
    for (const auto& [copy, ends] : copies) {
      next[ends.a].emplace_back(ends.b, copy);
      next[ends.b].emplace_back(ends.a, copy);
    }
    std::fill(depth_.begin(), depth_.end(), -1);
    top_.assign(ranks, -1);
    for (int root = 0; root < ranks; ++root) {
      if (depth_[root] >= 0) continue;
      depth_[root] = 0;
      std::vector<int> queue = {root};
      for (std::size_t k = 0; k < queue.size(); ++k) {
        const int at = queue[k];
        top_[at] = root;
        for (const auto& [to, copy] : next[at]) {
          if (depth_[to] >= 0) continue;
          depth_[to] = depth_[at] + 1;
          up_[to] = at;
          by_[to] = copy;
          queue.push_back(to);
        }
      }
    }
  }

  bool Joins(const Ends& ends) const { return top_[ends.a] != top_[ends.b]; }

  // Calls visit(copy) along the path between two ranks of one component.
  template <class Visit>
  void ForEachBetween(Ends ends, Visit visit) const {
    while (ends.a != ends.b) {
      int& lower = depth_[ends.a] > depth_[ends.b] ? ends.a : ends.b;
      visit(by_[lower]);
      lower = up_[lower];
    }
  }

 private:
  std::vector<int> up_;  // the rank above
  std::vector<int> by_;  // the copy that leads there
  std::vector<int> depth_;
  std::vector<int> top_;  // of the component
};

// Copies of cables, each in one of several forests or in none.
class Partition {
 public:
  Partition(std::vector<Ends> cables, int ranks, int count, int copies)
      : cables_(std::move(cables)),
        copies_(copies),
        ranks_(ranks),
        forests_(count, Forest(ranks)),
        in_(cables_.size() * copies, kNone) {}

  // Puts a copy of the cable, which there must be, into a forest that it joins.
  void Put(int cable, int forest) {
    for (int copy = cable * copies_;; ++copy) {
      if (in_[copy] != kNone) continue;
      in_[copy] = forest;
      ++placed_;
      return;
    }
  }

  // All forests become spanning trees, if that is possible.
  bool Complete() {
    for (std::size_t f = 0; f < forests_.size(); ++f)
      Renew(static_cast<int>(f));
    const int wanted = static_cast<int>(forests_.size()) * (ranks_ - 1);
    for (std::size_t c = 0; c < cables_.size() && placed_ < wanted; ++c) {
      const int first = static_cast<int>(c) * copies_;
      for (int copy = first; copy < first + copies_; ++copy) {
        // If one copy has no place, the others have none.
        if (in_[copy] == kNone && !Augment(copy)) break;
      }
    }
    return placed_ == wanted;
  }

  // Cables of a forest.
  std::vector<int> CablesIn(int forest) const {
    std::vector<int> cables;
    for (std::size_t copy = 0; copy < in_.size(); ++copy) {
      if (in_[copy] == forest) {
        cables.push_back(static_cast<int>(copy) / copies_);
      }
    }
    return cables;
  }

 private:
  static constexpr int kNone = -1;

  const Ends& EndsOf(int copy) const { return cables_[copy / copies_]; }

  void Renew(int forest) {
    std::vector<std::pair<int, Ends>> members;
    for (std::size_t copy = 0; copy < in_.size(); ++copy) {
      if (in_[copy] != forest) continue;
      members.emplace_back(static_cast<int>(copy),
                           EndsOf(static_cast<int>(copy)));
    }
    forests_[forest].Root(members);
  }

  // Breadth first over copies: one takes the place of another in whose forest
  // they close a cycle, until one joins two parts of a forest.
  bool Augment(int fresh) {
    std::vector<int> instead(in_.size(), kNone);
    std::vector<int> queue = {fresh};
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const int copy = queue[k];
      for (std::size_t f = 0; f < forests_.size(); ++f) {
        const int forest = static_cast<int>(f);
        if (in_[copy] == forest) continue;
        if (forests_[f].Joins(EndsOf(copy))) {
          Shift(copy, forest, instead);
          return true;
        }
        forests_[f].ForEachBetween(EndsOf(copy), [&](int other) {
          if (other == fresh || instead[other] != kNone) return;
          instead[other] = copy;
          queue.push_back(other);
        });
      }
    }
    return false;
  }

  void Shift(int copy, int forest, const std::vector<int>& instead) {
    std::vector<int> changed;
    while (copy != kNone) {
      changed.push_back(forest);
      std::swap(in_[copy], forest);
      copy = instead[copy];
    }
    ++placed_;
    for (const int f : changed) Renew(f);
  }

  std::vector<Ends> cables_;
  int copies_;
  int ranks_;
  std::vector<Forest> forests_;
  std::vector<int> in_;  // forest by copy; copies of a cable are consecutive
  int placed_ = 0;
};

// Grows trees from the roots, each by one arc in turn: that with the smallest
// (depth of its tail, uses of its cable).
void GrowInTurn(const std::vector<Arc>& arcs,
                const std::vector<CableArcs>& cables,
                const std::vector<int>& roots, int ranks, int copies,
                Partition& partition) {
  std::vector<int> cable_of(arcs.size());
  for (std::size_t c = 0; c < cables.size(); ++c) {
    cable_of[cables[c].there] = static_cast<int>(c);
    cable_of[cables[c].back] = static_cast<int>(c);
  }
  std::vector<int> uses(cables.size());
  std::vector<std::vector<int>> depth(roots.size(),
                                      std::vector<int>(ranks, -1));
  for (std::size_t t = 0; t < roots.size(); ++t) depth[t][roots[t]] = 0;
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t t = 0; t < roots.size(); ++t) {
      std::optional<std::tuple<int, int, std::size_t>> best;
      for (std::size_t k = 0; k < arcs.size(); ++k) {
        const int from = depth[t][arcs[k].from];
        const int used = uses[cable_of[k]];
        if (from < 0 || depth[t][arcs[k].to] >= 0 || used == copies) continue;
        const auto candidate = std::tuple(from, used, k);
        if (!best || candidate < *best) best = candidate;
      }
      if (!best) continue;
      const std::size_t arc = std::get<2>(*best);
      depth[t][arcs[arc].to] = std::get<0>(*best) + 1;
      ++uses[cable_of[arc]];
      partition.Put(cable_of[arc], static_cast<int>(t));
      grown = true;
    }
  }
}

// Ranks by their distance to the farthest one.
std::vector<int> CentralFirst(const std::vector<Arc>& arcs, int ranks) {
  std::vector<std::vector<int>> next(ranks);
  for (const Arc& arc : arcs) next[arc.from].push_back(arc.to);
  std::vector<std::pair<int, int>> order;
  for (int root = 0; root < ranks; ++root) {
    std::vector<int> depth(ranks, -1);
    std::vector<int> queue = {root};
    depth[root] = 0;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      for (const int to : next[queue[k]]) {
        if (depth[to] >= 0) continue;
        depth[to] = depth[queue[k]] + 1;
        queue.push_back(to);
      }
    }
    order.emplace_back(depth[queue.back()], root);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> central;
  for (const auto& [farthest, rank] : order) central.push_back(rank);
  return central;
}

// The tree of these cables from a root.
ArcTree RootedAt(int root, const std::vector<Arc>& arcs,
                 const std::vector<CableArcs>& cables,
                 const std::vector<int>& members, int ranks) {
  std::vector<std::vector<int>> out(ranks);
  for (const int cable : members) {
    for (const int arc : {cables[cable].there, cables[cable].back}) {
      out[arcs[arc].from].push_back(arc);
    }
  }
  ArcTree tree(ranks, -1);
  std::vector<int> queue = {root};
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const int arc : out[queue[k]]) {
      const int to = arcs[arc].to;
      if (to == root || tree[to] >= 0) continue;
      tree[to] = arc;
      queue.push_back(to);
    }
  }
  CHECK(static_cast<int>(queue.size()) == ranks) << "a tree that does not span";
  return tree;
}

int DepthOf(const ArcTree& tree, const std::vector<Arc>& arcs) {
  std::vector<int> parent;
  for (const int arc : tree) parent.push_back(arc < 0 ? -1 : arcs[arc].from);
  return Depth(parent);
}

ArcTree RootedAtCentre(const std::vector<Arc>& arcs,
                       const std::vector<CableArcs>& cables,
                       const std::vector<int>& members, int ranks) {
  ArcTree best;
  for (int root = 0; root < ranks; ++root) {
    ArcTree tree = RootedAt(root, arcs, cables, members, ranks);
    if (best.empty() || DepthOf(tree, arcs) < DepthOf(best, arcs)) {
      best = std::move(tree);
    }
  }
  return best;
}

}  // namespace

std::vector<CableArcs> CablesOf(const std::vector<Arc>& arcs,
                                const Topology& topology) {
  std::unordered_map<std::uint32_t, int> index;
  std::vector<CableArcs> cables;
  for (std::size_t k = 0; k < arcs.size(); ++k) {
    const int arc = static_cast<int>(k);
    const auto other = index.find(topology.Reverse(arcs[k].link).value());
    if (other != index.end()) cables.push_back({other->second, arc});
    index[arcs[k].link.value()] = arc;
  }
  return cables;
}

std::optional<std::vector<ArcTree>> PackCableTrees(
    const std::vector<Arc>& arcs, const std::vector<CableArcs>& cables,
    int ranks, int count, int copies) {
  const std::vector<int> central = CentralFirst(arcs, ranks);
  std::vector<Ends> ends;
  for (const CableArcs& cable : cables) {
    ends.push_back({arcs[cable.there].from, arcs[cable.there].to});
  }
  std::vector<ArcTree> best;
  int best_depth = 0;
  // Which roots give shallow trees depends on the slice: the most central one
  // for all, neighbours, or some that are apart.
  for (const int apart : {0, 1, 2, 3, 5, 7, ranks / 3 + 1}) {
    std::vector<int> from;
    for (int t = 0; t < count; ++t) from.push_back(central[t * apart % ranks]);
    Partition partition(ends, ranks, count, copies);
    GrowInTurn(arcs, cables, from, ranks, copies, partition);
    if (!partition.Complete()) return std::nullopt;
    std::vector<ArcTree> trees;
    int depth = 0;
    for (int t = 0; t < count; ++t) {
      trees.push_back(
          RootedAtCentre(arcs, cables, partition.CablesIn(t), ranks));
      depth = std::max(depth, DepthOf(trees.back(), arcs));
    }
    if (!best.empty() && depth >= best_depth) continue;
    best = std::move(trees);
    best_depth = depth;
  }
  return best;
}

}  // namespace podsim
