#ifndef PODSIM_COLLECTIVE_LOWERINGS_H_
#define PODSIM_COLLECTIVE_LOWERINGS_H_

#include "collective/lowering.h"

namespace podsim {

// The rows of the lowering table, one .cc each.
Lowering RingLowering();
Lowering RingSplitLowering();
Lowering RingShortLowering();
Lowering LineLowering();
Lowering BucketLowering();
Lowering BucketRotatedLowering();
Lowering BfbLowering();
Lowering LineMiddleLowering();
Lowering ChainLowering();
Lowering BfsTreeLowering();
Lowering DoubleBinaryTreeLowering();
Lowering BinomialLowering();
Lowering DirectLowering();
Lowering DirectTwistedLowering();
Lowering RaggedLowering();
Lowering OneShotLowering();
Lowering RecursiveDoublingLowering();
Lowering HalvingDoublingLowering();
Lowering SwingLowering();
Lowering BruckLowering();
Lowering StagedLowering();
Lowering StagedRotatedLowering();
Lowering NeighborLowering();
Lowering HierarchicalLowering();
Lowering SplitShiftLowering();
Lowering WindowedMatmulLowering();
Lowering HamiltonianLowering();
Lowering HamiltonianPairLowering();
Lowering GreedyLowering();
Lowering EdgeDisjointTreesLowering();
Lowering SpanningTreesLowering();
Lowering FxLowering();
Lowering SwingExchangeLowering();
Lowering AxisExchangeLowering();
Lowering TreePackingLowering();
Lowering DetourLowering();

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_LOWERINGS_H_
