#ifndef PODSIM_COLLECTIVE_BALANCED_TREES_H_
#define PODSIM_COLLECTIVE_BALANCED_TREES_H_

#include <cstdint>
#include <vector>

#include "collective/collective.h"

namespace podsim {

// The links of a chip of a torus, by index: 2k + (0 for +, 1 for -) along the
// k-th active axis of the group.
struct Generator {
  int axis;
  Sign sign;
  Coordinates hop;  // the displacement it makes
};

// One displacement and sub-chunk of a breadth-first broadcast from a chip: over
// which link it arrives there.
struct TreeJob {
  ChipId at;  // the displacement, seen from chip 0
  int sub_chunk;
  std::uint32_t admissible;  // generators that come from one level nearer
  int generator;
};

// Broadcast trees of all sub-chunks of one shard over a translation-invariant
// group (every active axis wraps), breadth first, spread over the 2d links of
// the chips as evenly as unit jobs can be: the fullest link of every level
// carries the fewest sub-chunks possible. Zhao et al., "Optimal direct-connect
// topologies for collective communications", arXiv 2202.03356; Johnsson & Ho,
// IEEE Trans. Computers 1989.
struct BalancedTrees {
  std::vector<Generator> generators;
  // levels[l]: the jobs of displacements l + 1 hops away, by (displacement,
  // sub-chunk).
  std::vector<std::vector<TreeJob>> levels;
  // feeds[l] by (generator here, generator of the level before): some job of
  // level l continues what arrived over the other.
  std::vector<std::vector<bool>> feeds;

  int count() const { return static_cast<int>(generators.size()); }
  // Sub-chunks on the fullest link of a level.
  int MostOf(std::size_t level) const;
};

BalancedTrees MakeBalancedTrees(const Collective& collective,
                                const Topology& topology, int sub_chunks);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_BALANCED_TREES_H_
