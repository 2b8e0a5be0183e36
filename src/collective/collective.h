#ifndef PODSIM_COLLECTIVE_COLLECTIVE_H_
#define PODSIM_COLLECTIVE_COLLECTIVE_H_

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "schedule/program.h"
#include "topology/topology.h"

namespace podsim {

// XLA's collectives, and the rooted ones of MPI that it has no name for.
enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kRaggedAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kCollectivePermute,
};

const char* ToText(CollectiveKind kind);  // "all-reduce"
// Throws InputError{where, ..} naming the nearest kind.
CollectiveKind ParseCollectiveKind(const std::string& name,
                                   const std::string& where);
std::vector<CollectiveKind> AllCollectiveKinds();

// Every chip sends to the one `by` places on along an axis: around a wrapped
// one, 0 < by < size; over the end of another nothing is sent, |by| < size.
struct AxisShift {
  int axis = 0;
  int by = 0;
};

struct ChipPair {
  ChipId from;
  ChipId to;
};

// What every rank of a group sends to every rank: [from][to], square.
using ByteMatrix = std::vector<std::vector<Bytes>>;

// One collective over every sub-grid spanned by `axes` at once (all chips:
// every ICI axis), or over lists of chips. Payload is the nccl-tests size S of
// its kind: the all-reduce operand, the all-gather result, the reduce-scatter
// operand, the buffer of a broadcast, what each pair of a permute sends; of a
// ragged all-to-all the sum of its matrix.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes payload;
  std::vector<int> axes;  // ascending; those of size 1 included or not
  // Not empty: instead of axes. Disjoint lists of live chips in rank order.
  std::vector<std::vector<ChipId>> groups = {};
  // Of the rooted kinds. Other groups have their root at the same rank.
  // nullopt: rank 0.
  std::optional<ChipId> root = {};
  // Of a collective-permute: one of the two. No chip sends or receives twice.
  std::optional<AxisShift> shift = {};
  std::vector<ChipPair> pairs = {};
  // Of a ragged-all-to-all, the same in every group. The diagonal stays where
  // it is.
  ByteMatrix matrix = {};
};

bool IsRooted(CollectiveKind kind);  // broadcast, reduce, gather, scatter

// Live chips of the largest group. Of a permute: all live chips.
int GroupSize(const Collective& collective, const Topology& topology);

// Throws InputError{where, ..} if the bytes that the collective moves, counted
// once per hop, might not fit 63 bits.
void RequireCountable(const Collective& collective, const Topology& topology,
                      const std::string& where);

// Of one group of all chips: the ICI axes and, of several slices, DCN.
std::vector<int> AllAxes(const Topology& topology);
std::vector<int> IciAxes(const Topology& topology);

// "x,y" -> {0, 1}; "dcn": the slices. Throws InputError{where, ..} for axes
// that the slice does not have and axes named twice.
std::vector<int> ParseAxes(const std::string& text, const Topology& topology,
                           const std::string& where);

// The ICI axes of the group that have more than one chip.
std::vector<int> ActiveAxes(const Collective& collective,
                            const Topology& topology);

// Reduce-scatter and all-gather: an all-reduce is both.
int PhasesOf(CollectiveKind kind);

// Who contributes to and who receives the chunks of this kind.
ChunkFlow FlowOf(CollectiveKind kind);

// busbw = algbw x factor (nccl-tests): all-reduce 2(n-1)/n; all-gather,
// reduce-scatter, all-to-all (n-1)/n; the rooted ones and permute 1. A ragged
// all-to-all, whose S is that of all n ranks, (n-1)/n^2.
double BusFactor(CollectiveKind kind, int group_size);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_COLLECTIVE_H_
