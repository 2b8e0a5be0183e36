#include "collective/torus_trees.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "collective/sub_grid.h"

namespace podsim {
namespace {

// One hop along the k-th axis of a sub-grid.
struct Hop {
  int axis = 0;
  Sign sign = Sign::kPlus;
};

int DepthAlong(const SubGrid& grid, int axis) {
  int depth = grid.sizes[axis] - 1;
  for (int other = 0; other < grid.axes(); ++other) {
    if (other != axis) depth += grid.sizes[other] / 2;
  }
  return depth;
}

// The hops by which the trees leave the root, the shallowest trees first.
std::vector<Hop> FirstHops(const SubGrid& grid) {
  std::vector<int> axes(grid.sizes.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) {
    return DepthAlong(grid, a) < DepthAlong(grid, b);
  });
  std::vector<Hop> hops;
  for (const int axis : axes) {
    hops.push_back({axis, Sign::kPlus});
    hops.push_back({axis, Sign::kMinus});
  }
  return hops;
}

// Hops from the root in + direction.
int OffsetOf(const SubGrid& grid, int rank, int root, int axis) {
  const int size = grid.sizes[axis];
  return (grid.Coordinate(rank, axis) - grid.Coordinate(root, axis) + size) %
         size;
}

// Of a chip that is not level with the root there.
Sign SideOf(const SubGrid& grid, int rank, int root, int axis) {
  return OffsetOf(grid, rank, root, axis) <= grid.sizes[axis] / 2
             ? Sign::kPlus
             : Sign::kMinus;
}

// How the tree enters a rank other than the root.
Hop EntryOf(const SubGrid& grid, int rank, int root, const Hop& first) {
  if (OffsetOf(grid, rank, root, first.axis) == 0) {
    return {first.axis, Opposite(first.sign)};
  }
  if (SideOf(grid, rank, root, first.axis) != first.sign) return first;
  for (int k = 1; k < grid.axes(); ++k) {
    const int axis = (first.axis + k) % grid.axes();
    if (OffsetOf(grid, rank, root, axis) == 0) continue;
    return {axis, SideOf(grid, rank, root, axis)};
  }
  return first;
}

int Before(const SubGrid& grid, int rank, const Hop& hop) {
  const int size = grid.sizes[hop.axis];
  const int back = hop.sign == Sign::kPlus ? size - 1 : 1;
  return grid.At(rank, hop.axis,
                 (grid.Coordinate(rank, hop.axis) + back) % size);
}

}  // namespace

bool AreTori(const Collective& collective, const Topology& topology) {
  if (!topology.is_grid() || topology.twisted() || !topology.healthy() ||
      !collective.groups.empty()) {
    return false;
  }
  const std::vector<int> active = ActiveAxes(collective, topology);
  return !active.empty() &&
         std::all_of(active.begin(), active.end(), [&](int axis) {
           return topology.axes()[axis].wrap && topology.axes()[axis].size > 2;
         });
}

std::vector<Tree> TorusTrees(const Collective& collective,
                             const Topology& topology,
                             const std::vector<ChipId>& group, int root,
                             int count) {
  const SubGrid grid = SubGridOf(collective, topology);
  const std::vector<int> active = ActiveAxes(collective, topology);
  const std::vector<Hop> hops = FirstHops(grid);
  CHECK(static_cast<std::size_t>(count) <= hops.size());
  std::vector<Tree> trees;
  for (int t = 0; t < count; ++t) {
    Tree tree{.parent = std::vector<int>(group.size(), -1),
              .down = std::vector<std::vector<LinkId>>(group.size()),
              .up = std::vector<std::vector<LinkId>>(group.size())};
    for (int rank = 0; rank < grid.chips; ++rank) {
      if (rank == root) continue;
      const Hop entry = EntryOf(grid, rank, root, hops[t]);
      const int parent = Before(grid, rank, entry);
      const LinkId link =
          topology.LinkAt(group[parent], active[entry.axis], entry.sign);
      tree.parent[rank] = parent;
      tree.down[rank] = {link};
      tree.up[rank] = {topology.Reverse(link)};
    }
    trees.push_back(std::move(tree));
  }
  return trees;
}

int TorusDepth(const Collective& collective, const Topology& topology,
               int count) {
  const SubGrid grid = SubGridOf(collective, topology);
  return DepthAlong(grid, FirstHops(grid)[count - 1].axis);
}

}  // namespace podsim
