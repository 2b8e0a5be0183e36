#include "collective/out_trees.h"

#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "base/check.h"

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
// counted; an arc once refused stays so as fewer are left.
ArcTree GrowTree(const std::vector<Arc>& arcs, int ranks, int root, int after,
                 Paths& paths) {
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
    CHECK(!next.empty()) << "fewer trees fit than were asked for";
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

}  // namespace

int MostOutTrees(const std::vector<Arc>& arcs, int ranks, int root) {
  Paths paths(arcs, ranks);
  int most = static_cast<int>(arcs.size());
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != root) most = paths.Count(root, root, rank, most);
  }
  return most;
}

std::vector<ArcTree> PackOutTrees(const std::vector<Arc>& arcs, int ranks,
                                  int root, int count) {
  Paths paths(arcs, ranks);
  std::vector<ArcTree> trees;
  for (int after = count - 1; after >= 0; --after) {
    trees.push_back(GrowTree(arcs, ranks, root, after, paths));
  }
  return trees;
}

}  // namespace podsim
