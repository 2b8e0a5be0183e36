#include "collective/out_trees.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

namespace podsim {
namespace {

// Arc-disjoint paths, by flow augmentation over the arcs that are left.
class Paths {
 public:
  Paths(const std::vector<Arc>& arcs, int ranks)
      : arcs_(arcs),
        left_(arcs.size(), true),
        touching_(ranks),
        flow_(arcs.size()),
        by_(ranks, kUnseen) {
    for (std::size_t k = 0; k < arcs.size(); ++k) {
      touching_[arcs[k].from].push_back(static_cast<int>(k));
      touching_[arcs[k].to].push_back(static_cast<int>(k));
    }
  }

  bool left(int arc) const { return left_[arc]; }
  void Remove(int arc) { left_[arc] = false; }
  void Restore(int arc) { left_[arc] = true; }
  const std::vector<int>& touching(int rank) const { return touching_[rank]; }

  // How many there are from two ranks (or one, twice) to a third, at most
  // `most`. Searched for from their ends, as one of the two is often near.
  int Count(int from, int or_from, int to, int most) {
    if (to == from || to == or_from) return most;
    int paths = 0;
    while (paths < most && Augment(from, or_from, to)) ++paths;
    for (const int arc : used_) flow_[arc] = false;
    used_.clear();
    return paths;
  }

 private:
  static constexpr int kUnseen = -1;
  static constexpr int kEnd = -2;

  bool Augment(int from, int or_from, int to) {
    by_[to] = kEnd;
    queue_ = {to};
    std::optional<int> start;
    for (std::size_t k = 0; k < queue_.size() && !start; ++k) {
      const int at = queue_[k];
      for (const int arc : touching_[at]) {
        if (!left_[arc]) continue;
        const bool along = arcs_[arc].to == at;
        if (along == flow_[arc]) continue;  // full, or nothing to take back
        const int before = along ? arcs_[arc].from : arcs_[arc].to;
        if (by_[before] != kUnseen) continue;
        by_[before] = arc;
        queue_.push_back(before);
        if (before != from && before != or_from) continue;
        start = before;
        break;
      }
    }
    if (start) TakePath(*start);
    for (const int rank : queue_) by_[rank] = kUnseen;
    return start.has_value();
  }

  void TakePath(int at) {
    while (by_[at] != kEnd) {
      const int arc = by_[at];
      flow_[arc] = !flow_[arc];
      used_.push_back(arc);
      at = arcs_[arc].from == at ? arcs_[arc].to : arcs_[arc].from;
    }
  }

  const std::vector<Arc>& arcs_;
  std::vector<bool> left_;
  std::vector<std::vector<int>> touching_;  // arcs by rank
  // Of one Count: arcs on its paths, and all that ever were.
  std::vector<bool> flow_;
  std::vector<int> used_;
  // Of one search: the arc by which a rank leads on, and the ranks seen.
  std::vector<int> by_;
  std::vector<int> queue_;
};

// Grows one tree; `after` trees must still fit into the arcs it leaves. Only
// sets of ranks with the head of an arc and neither its tail nor the root lose
// by taking it, so paths from those two to the head are all that must be
// counted; an arc once refused stays so as fewer are left. nullopt: they did
// not fit to begin with.
std::optional<ArcTree> GrowTree(const std::vector<Arc>& arcs, int ranks,
                                int root, int after, Paths& paths) {
  ArcTree tree(ranks, -1);
  std::vector<bool> found(ranks);
  // (depth of the tail, arc), the smallest first.
  using Candidate = std::pair<int, int>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> next;
  const auto add = [&](int rank, int depth) {
    found[rank] = true;
    for (const int arc : paths.touching(rank)) {
      if (arcs[arc].from == rank && paths.left(arc)) next.push({depth, arc});
    }
  };
  add(root, 0);
  for (int joined = 1; joined < ranks;) {
    if (next.empty()) return std::nullopt;
    const auto [depth, best] = next.top();
    next.pop();
    const Arc& arc = arcs[best];
    if (found[arc.to]) continue;
    paths.Remove(best);
    if (paths.Count(root, arc.from, arc.to, after) < after) {
      paths.Restore(best);
      continue;
    }
    tree[arc.to] = best;
    add(arc.to, depth + 1);
    ++joined;
  }
  return tree;
}

// Edges from the root to every rank, and from it to the farthest one below it.
struct Levels {
  std::vector<int> depth;
  std::vector<int> height;
  int deepest = 0;
};

Levels LevelsOf(const ArcTree& tree, const std::vector<Arc>& arcs, int root) {
  const std::size_t ranks = tree.size();
  std::vector<std::vector<int>> children(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (tree[rank] < 0) continue;
    children[arcs[tree[rank]].from].push_back(static_cast<int>(rank));
  }
  Levels levels{.depth = std::vector<int>(ranks),
                .height = std::vector<int>(ranks)};
  std::vector<int> order = {root};
  for (std::size_t k = 0; k < order.size(); ++k) {
    for (const int child : children[order[k]]) {
      levels.depth[child] = levels.depth[order[k]] + 1;
      order.push_back(child);
    }
  }
  for (std::size_t k = order.size() - 1; k > 0; --k) {
    int& height = levels.height[arcs[tree[order[k]]].from];
    height = std::max(height, levels.height[order[k]] + 1);
  }
  levels.deepest = levels.depth[order.back()];
  return levels;
}

// Makes packed trees less deep: a rank above the deepest ones of a tree enters
// by another arc, nearer to the root, and the tree that had that arc takes the
// old one where it gets less deep than `most` all the same. Every exchange
// leaves fewer ranks that are deepest.
class Flattening {
 public:
  Flattening(const std::vector<Arc>& arcs, int root,
             std::vector<ArcTree>& trees)
      : arcs_(arcs), root_(root), trees_(trees), into_(trees[0].size()) {
    for (std::size_t k = 0; k < arcs.size(); ++k) {
      into_[arcs[k].to].push_back(static_cast<int>(k));
    }
    for (const ArcTree& tree : trees) {
      levels_.push_back(LevelsOf(tree, arcs, root));
    }
  }

  void Run() {
    bool better = true;
    while (better) {
      most_ = 0;
      for (const Levels& levels : levels_) {
        most_ = std::max(most_, levels.deepest);
      }
      better = false;
      for (std::size_t t = 0; t < trees_.size(); ++t) better |= Lift(t);
    }
  }

 private:
  bool Lift(std::size_t t) {
    bool better = false;
    for (std::size_t rank = 0; rank < into_.size(); ++rank) {
      const Levels& levels = levels_[t];
      if (levels.deepest < most_) break;
      if (trees_[t][rank] < 0 ||
          levels.depth[rank] + levels.height[rank] < most_) {
        continue;
      }
      for (const int arc : into_[rank]) {
        if (levels.depth[arcs_[arc].from] + 1 >= levels.depth[rank]) continue;
        if (!Exchange(t, static_cast<int>(rank), arc)) continue;
        better = true;
        break;
      }
    }
    return better;
  }

  bool Exchange(std::size_t t, int rank, int arc) {
    const int old = trees_[t][rank];
    for (std::size_t other = 0; other < trees_.size(); ++other) {
      if (trees_[other][rank] != arc) continue;
      const int from = arcs_[old].from;
      const Levels& levels = levels_[other];
      if (levels.depth[from] + 1 + levels.height[rank] >= most_ ||
          IsBelow(trees_[other], from, rank)) {
        return false;
      }
      Enter(other, rank, old);
    }
    Enter(t, rank, arc);
    return true;
  }

  bool IsBelow(const ArcTree& tree, int rank, int above) const {
    while (rank != above && tree[rank] >= 0) rank = arcs_[tree[rank]].from;
    return rank == above;
  }

  void Enter(std::size_t t, int rank, int arc) {
    trees_[t][rank] = arc;
    levels_[t] = LevelsOf(trees_[t], arcs_, root_);
  }

  const std::vector<Arc>& arcs_;
  int root_;
  std::vector<ArcTree>& trees_;
  std::vector<std::vector<int>> into_;  // arcs by rank
  std::vector<Levels> levels_;          // by tree
  int most_ = 0;                        // depth of the deepest tree
};

}  // namespace

int MostOutTrees(const std::vector<Arc>& arcs, int ranks, int root) {
  Paths paths(arcs, ranks);
  int most = FewestArcsIn(arcs, ranks, root);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != root) most = paths.Count(root, root, rank, most);
  }
  return most;
}

int FewestArcsIn(const std::vector<Arc>& arcs, int ranks, int root) {
  std::vector<int> in(ranks);
  int out = 0;
  for (const Arc& arc : arcs) {
    ++in[arc.to];
    if (arc.from == root) ++out;
  }
  in[root] = out;
  return *std::min_element(in.begin(), in.end());
}

std::optional<std::vector<ArcTree>> PackOutTrees(const std::vector<Arc>& arcs,
                                                 int ranks, int root,
                                                 int count) {
  Paths paths(arcs, ranks);
  std::vector<ArcTree> trees;
  for (int after = count - 1; after >= 0; --after) {
    auto tree = GrowTree(arcs, ranks, root, after, paths);
    if (!tree) return std::nullopt;
    trees.push_back(*std::move(tree));
  }
  if (!trees.empty()) Flattening(arcs, root, trees).Run();
  return trees;
}

}  // namespace podsim
