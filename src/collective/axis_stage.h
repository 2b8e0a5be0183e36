#ifndef PODSIM_COLLECTIVE_AXIS_STAGE_H_
#define PODSIM_COLLECTIVE_AXIS_STAGE_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/lowering.h"

namespace podsim {

// One axis along which all lines of a slice run a ring or line phase at once:
// the building block of the ring, line and bucket lowerings.
struct AxisRun {
  int axis = 0;
  int size = 0;
  bool wrap = false;
  AxisPrimitive primitive = AxisPrimitive::kShort;  // unwrapped axes use lines
  int plus_lane = 0;
  int minus_lane = 0;
};

// One (part, batch) of every shard on its way through the stages: which owners'
// chunks a chip holds (all-gather) or is still responsible for
// (reduce-scatter), and the transfers that brought them here, per half.
struct Parcel {
  OwnerBox held;
  int part = 0;  // part * batches + batch
  std::vector<After> ready[2];
};

// Whether the chunks of this run must be cut in halves.
bool NeedsHalves(const AxisRun& run);

// All chips of a line end with what any of them held.
void EmitAllGatherStage(const AxisRun& run, Parcel& parcel,
                        ProgramBuilder& builder);

// Position i of a line ends with the sum of block i: of the chunks it is
// responsible for, those whose owners have coordinate i.
void EmitReduceScatterStage(const AxisRun& run, Parcel& parcel,
                            ProgramBuilder& builder);

// What the bucket family runs: `orders[k]` lists the runs of part k in
// all-gather order; reduce-scatter reverses it. Stages are the outer loop,
// batches and parts the inner ones, so that lanes are FIFO by batch. Groups
// that span slices go around these over DCN when their sums are smallest, the
// parts of a batch together.
Program EmitBucket(const Collective& collective, const Topology& topology,
                   const std::vector<std::vector<AxisRun>>& orders,
                   std::vector<double> fractions, int batches);

// The same with one part: the group's axes one after the other, in index order.
Program EmitAxesInOrder(const Collective& collective, const Topology& topology,
                        AxisPrimitive primitive, int batches);

// One part of every shard per axis; part k walks the axes in the order k, k+1,
// .., k+d-1 (mod d).
Program EmitRotated(const Collective& collective, const Topology& topology,
                    const LoweringSpec& spec);
// Why its fractions do not suit the axes; nullopt if they do.
std::optional<std::string> WhyNotRotated(const Collective& collective,
                                         const Topology& topology,
                                         const LoweringSpec& spec);

// A run along `axis` for part k of a bucket.
AxisRun MakeRun(const Topology& topology, int axis, AxisPrimitive primitive,
                int part);

// Why the group is no single ring (or line), with the remedy; nullopt if it is.
std::optional<std::string> WhyNotOneRing(const Collective& collective,
                                         const Topology& topology,
                                         AxisPrimitive primitive);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_AXIS_STAGE_H_
