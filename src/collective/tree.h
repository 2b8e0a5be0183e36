#ifndef PODSIM_COLLECTIVE_TREE_H_
#define PODSIM_COLLECTIVE_TREE_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/arcs.h"
#include "collective/lowering.h"

namespace podsim {

// A rooted spanning tree of one group, over its ranks.
struct Tree {
  std::vector<int> parent;  // by rank; -1: the root
  // Links from the parent and to it, by rank; empty at the root.
  std::vector<std::vector<LinkId>> down;
  std::vector<std::vector<LinkId>> up;
};

// A tree whose edges are minimal routes (ties by parity).
Tree MakeTree(const std::vector<int>& parent, const std::vector<ChipId>& group,
              const Topology& topology);

// By rank the arc that leads to it from its parent; -1: the root.
using ArcTree = std::vector<int>;
Tree MakeTree(const ArcTree& tree, const std::vector<Arc>& arcs,
              const Topology& topology);

// Ranks, breadth first from the root, children in increasing chip id.
std::vector<int> BreadthFirst(const Tree& tree,
                              const std::vector<ChipId>& group);

// Edges from the root to the farthest rank.
int Depth(const std::vector<int>& parent);

// The deepest first, else in the order they had.
void SortByDepth(std::vector<Tree>& trees);

// One or more trees for each group; group by group the same number.
using Trees = std::vector<std::vector<Tree>>;

// Pipelines the payload over the trees: split evenly over the trees of a group,
// each part into `chunks` chunks. Every inner rank passes chunk j on to its
// children (broadcast), adds its children's to its own and passes the sum to
// its parent (reduce), or first one, then the other (all-reduce). A transfer
// waits for what it passes on, and for the one before it in its lane (tree,
// child) or (tree, parent). With trees of depth e that share no link one way,
// t of them, k chunks, one hop per edge:
//   broadcast, reduce   (e + k - 1)(a + S/(tkB))
//   all-reduce         (2e + k - 1)(a + S/(tkB))
// Sanders, Speck, Traeff 2009; Johnsson & Ho 1989.
WholeSchedule BuildPipeline(const Collective& collective,
                            std::vector<std::vector<ChipId>> groups,
                            const Trees& trees, int chunks);

// Chips of all groups.
std::size_t CountMembers(const Collective& collective,
                         const Topology& topology);

// Transfers of BuildPipeline.
std::uint64_t CountPipeline(const Collective& collective,
                            const Topology& topology, int trees, int chunks);

// The formula above: its time where every edge is one hop of its own, else a
// time that it cannot beat.
Seconds PipelineTime(const Collective& collective, const Slice& slice,
                     int depth, int trees, int chunks);

// The k, from 1 to `most`, that makes PipelineTime smallest:
// about sqrt((2e-1) S/(taB)) for all-reduce, sqrt((e-1) S/(taB)) else.
int BestChunks(const Collective& collective, const Slice& slice, int depth,
               int trees, int most = kMostChunks);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_TREE_H_
