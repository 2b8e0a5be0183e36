#ifndef PODSIM_COLLECTIVE_PACKED_TREES_H_
#define PODSIM_COLLECTIVE_PACKED_TREES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "collective/arcs.h"

namespace podsim {

// The graph that trees are packed into: ranks and the arcs between them, by
// link id.
struct PackedGraph {
  int ranks = 0;
  std::vector<Arc> arcs;
  // The cable of each arc, as the smaller index of its two.
  std::vector<std::uint32_t> cable;
  std::vector<std::int32_t> reverse;     // by arc; -1: there is none
  std::vector<std::uint32_t> first_out;  // by rank, into `out`
  std::vector<std::uint32_t> out;        // arcs by tail, then by link id
};
PackedGraph MakePackedGraph(std::vector<Arc> arcs, int ranks,
                            const Topology& topology);

// One spanning tree per root. The arcs of tree j, parent to child, in the order
// in which it grew: arcs[j (ranks - 1)] ...
struct PackedTrees {
  std::vector<std::uint32_t> roots;
  std::vector<std::uint32_t> arcs;

  std::span<const std::uint32_t> Tree(std::size_t j, int ranks) const {
    const auto edges = static_cast<std::size_t>(ranks - 1);
    return {arcs.data() + j * edges, edges};
  }
};

// Trees that together load no cable (no arc unless `per_cable`) with more than
// `target` of them, where that can be had by growing each below its share of
// the target, shallow first, and by exchanging edges of overloaded cables.
PackedTrees PackTrees(const PackedGraph& graph,
                      const std::vector<std::uint32_t>& roots,
                      std::int64_t target, int slack, bool per_cable);

// The load of the fullest cable, or arc.
std::int64_t LargestLoad(const PackedGraph& graph, const PackedTrees& trees,
                         bool per_cable);

// Hops from the rank to the farthest.
int Eccentricity(const PackedGraph& graph, int rank);

// The g-th, 2g-th, .. of a list of that size, g coprime to it.
std::size_t StrideOf(std::size_t size);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_PACKED_TREES_H_
