#ifndef PODSIM_COLLECTIVE_BLOCK_VIEW_H_
#define PODSIM_COLLECTIVE_BLOCK_VIEW_H_

#include <optional>
#include <vector>

#include "collective/collective.h"
#include "topology/slice.h"

namespace podsim {

// Groups that are blocks of consecutive coordinates, as one of them sees them:
// a slice of its own, whose chips have the same place in every block. Blocks
// share no links, so that what one of them does takes as long as what all do.
struct BlockView {
  // As long as the block along the axes of the group (whole axes wrap as in the
  // slice, others do not), as the slice along the others.
  Topology topology;
  Collective collective;    // on it, along axes
  std::vector<int> blocks;  // Program::blocks; empty: no axis is cut
};

// nullopt unless the slice is one plain grid of equal links, and the groups are
// lists of chips in increasing order, each of them a box, all of the same
// lengths, each of which starts at a multiple of its length along every axis,
// and all chips are in one.
std::optional<BlockView> BlockViewOf(const Collective& collective,
                                     const Topology& topology);

// The slice of one block alone.
Slice SliceOf(const BlockView& view, const Slice& slice);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_BLOCK_VIEW_H_
