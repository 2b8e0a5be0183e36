#ifndef PODSIM_COLLECTIVE_COLLECTIVE_H_
#define PODSIM_COLLECTIVE_COLLECTIVE_H_

#include <optional>
#include <string>
#include <vector>

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
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
};

const char* ToText(CollectiveKind kind);  // "all-reduce"
// Throws InputError{where, ..} naming the nearest kind.
CollectiveKind ParseCollectiveKind(const std::string& name,
                                   const std::string& where);
std::vector<CollectiveKind> AllCollectiveKinds();

// One collective over every sub-grid spanned by `axes` at once (all chips:
// every ICI axis). Payload is the nccl-tests size S of algorithms of this kind:
// the all-reduce operand, the all-gather result, the reduce-scatter operand.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes payload;
  std::vector<int> axes;  // ascending; those of size 1 included or not
};

// Chips of one group; of a group of all chips only the live ones count.
int GroupSize(const Collective& collective, const Topology& topology);

// Throws InputError{where, ..} if the bytes that the collective moves, counted
// once per hop, might not fit 63 bits.
void RequireCountable(const Collective& collective, const Topology& topology,
                      const std::string& where);

// All ICI axes: one group per slice.
std::vector<int> AllAxes(const Topology& topology);

// "x,y" -> {0, 1}. Throws InputError{where, ..} for axes that the slice does
// not have, axes named twice, and dcn.
std::vector<int> ParseAxes(const std::string& text, const Topology& topology,
                           const std::string& where);

// The axes of the group that have more than one chip.
std::vector<int> ActiveAxes(const Collective& collective,
                            const Topology& topology);

// Who contributes to and who receives the chunks of this kind.
ChunkFlow FlowOf(CollectiveKind kind);

// busbw = algbw x factor (nccl-tests): all-reduce 2(n-1)/n; all-gather,
// reduce-scatter, all-to-all (n-1)/n; the rooted ones 1.
double BusFactor(CollectiveKind kind, int group_size);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_COLLECTIVE_H_
