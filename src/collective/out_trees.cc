#include "collective/out_trees.h"

#include <algorithm>

#include "base/check.h"

namespace podsim {
namespace {

// Arc-disjoint paths, by flow augmentation over the arcs that are left.
class Paths {
 public:
  Paths(const std::vector<Arc>& arcs, int ranks)
      : arcs_(arcs), left_(arcs.size(), true), touching_(ranks) {
    for (std::size_t k = 0; k < arcs.size(); ++k) {
      touching_[arcs[k].from].push_back(static_cast<int>(k));
      touching_[arcs[k].to].push_back(static_cast<int>(k));
    }
  }

  bool left(int arc) const { return left_[arc]; }
  void Remove(int arc) { left_[arc] = false; }
  void Restore(int arc) { left_[arc] = true; }

  // How many there are from one rank to another, at most `most`.
  int Count(int from, int to, int most) const {
    std::vector<bool> flow(arcs_.size());
    int paths = 0;
    while (paths < most && Augment(from, to, flow)) ++paths;
    return paths;
  }

 private:
  bool Augment(int from, int to, std::vector<bool>& flow) const {
    std::vector<int> by(touching_.size(), -1);  // the arc a rank was reached by
    std::vector<int> queue = {from};
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const int at = queue[k];
      for (const int arc : touching_[at]) {
        if (!left_[arc]) continue;
        const bool along = arcs_[arc].from == at;
        if (along == flow[arc]) continue;  // full, or nothing to take back
        const int next = along ? arcs_[arc].to : arcs_[arc].from;
        if (next == from || by[next] >= 0) continue;
        by[next] = arc;
        if (next == to) {
          TakePath(from, to, by, flow);
          return true;
        }
        queue.push_back(next);
      }
    }
    return false;
  }

  void TakePath(int from, int to, const std::vector<int>& by,
                std::vector<bool>& flow) const {
    for (int at = to; at != from;) {
      const Arc& arc = arcs_[by[at]];
      flow[by[at]] = !flow[by[at]];
      at = arc.to == at ? arc.from : arc.to;
    }
  }

  const std::vector<Arc>& arcs_;
  std::vector<bool> left_;
  std::vector<std::vector<int>> touching_;  // arcs by rank
};

// Grows one tree; `after` trees must still fit into the arcs it leaves. Only
// cuts around the head of an arc lose by taking it, so its head is all that
// must be looked at; an arc once refused stays so as fewer are left.
ArcTree GrowTree(const std::vector<Arc>& arcs, int ranks, int root, int after,
                 Paths& paths) {
  ArcTree tree(ranks, -1);
  std::vector<int> depth(ranks, -1);
  depth[root] = 0;
  std::vector<bool> refused(arcs.size());
  for (int found = 1; found < ranks;) {
    int best = -1;
    for (std::size_t k = 0; k < arcs.size(); ++k) {
      const int arc = static_cast<int>(k);
      if (!paths.left(arc) || refused[arc]) continue;
      if (depth[arcs[arc].from] < 0 || depth[arcs[arc].to] >= 0) continue;
      if (best < 0 || depth[arcs[arc].from] < depth[arcs[best].from]) {
        best = arc;
      }
    }
    CHECK(best >= 0) << "fewer trees fit than were asked for";
    const Arc& arc = arcs[best];
    paths.Remove(best);
    if (paths.Count(root, arc.to, after) < after) {
      paths.Restore(best);
      refused[best] = true;
      continue;
    }
    tree[arc.to] = best;
    depth[arc.to] = depth[arc.from] + 1;
    ++found;
  }
  return tree;
}

}  // namespace

int MostOutTrees(const std::vector<Arc>& arcs, int ranks, int root) {
  const Paths paths(arcs, ranks);
  int most = static_cast<int>(arcs.size());
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != root) most = paths.Count(root, rank, most);
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
