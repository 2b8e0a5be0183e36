#ifndef PODSIM_COLLECTIVE_GROUPS_H_
#define PODSIM_COLLECTIVE_GROUPS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "collective/collective.h"
#include "schedule/schedule.h"

namespace podsim {

// Who takes part in a collective, as lists of chips.

// The groups in rank order: every sub-grid spanned by its axes (or all chips of
// a slice without axes), live chips only; or its own lists. A permute has one.
std::vector<std::vector<ChipId>> GroupsOf(const Collective& collective,
                                          const Topology& topology);

// The axes whose sub-grids are exactly these lists, if any: lowerings and
// bounds know more about those.
std::optional<std::vector<int>> AxesOfGroups(
    const std::vector<std::vector<ChipId>>& groups, const Topology& topology);

// Whether it has one group: all live chips of one slice.
bool IsAllChips(const Collective& collective, const Topology& topology);

// The rank of the root, the same in every group.
int RootRank(const Collective& collective,
             const std::vector<std::vector<ChipId>>& groups);

// Who takes part, in words: "all", "axes=x,y", "groups=[[0, 1], [2, 3]]",
// "shift=x:1", "pairs=[[0, 1]]", with " root=5" of the rooted kinds if it is
// not rank 0, and the matrix of a ragged-all-to-all. Long lists are told apart
// by a hash.
std::string PartiesText(const Collective& collective, const Topology& topology);

// Who sends to whom in a permute; pairs of a chip with itself, which cost
// nothing, left out.
std::vector<ChipPair> PairsOf(const Collective& collective,
                              const Topology& topology);

// The meaning of a collective but for its chunks.
CollectiveMeaning MeaningWithoutChunks(const Collective& collective,
                                       std::vector<std::vector<ChipId>> groups);

// Every member has the whole payload, so that groups may differ in size:
// all-reduce, broadcast, reduce.
bool TakesUnequalGroups(CollectiveKind kind);

// Sets `groups`, or `axes` where those mean the same.
void SetGroups(std::vector<std::vector<ChipId>> groups,
               const Topology& topology, Collective& collective);

// "groups": [[0, 1], [2, 3]]. Sets `groups`, or `axes` where those mean the
// same. Throws InputError at the pointer of dead, unknown or repeated chips,
// and of groups of unequal size unless every member has the whole payload
// (all-reduce, broadcast, reduce).
void ReadGroups(const JsonValue& json, const Topology& topology,
                Collective& collective);

// "pairs": [[0, 1], [1, 2]]: no chip sends, or receives, twice.
void ReadPairs(const JsonValue& json, const Topology& topology,
               Collective& collective);

// "x:1", "y:-2"; around a wrapped axis modulo its size. Throws InputError at
// `where`.
AxisShift ParseShift(const std::string& text, const Topology& topology,
                     const std::string& where);
AxisShift MakeShift(int axis, std::int64_t by, const Topology& topology,
                    const std::string& where);

// Throws InputError{where, ..} unless `root` is a live chip of some group and
// every group is long enough to have its rank; and for kinds without a root.
void SetRoot(std::int64_t root, const Topology& topology,
             const std::string& where, Collective& collective);

// Whether some group, or pair of a permute, has chips of several slices.
bool SpansSlices(const Collective& collective, const Topology& topology);

// Throws InputError{where, ..} if that is so and nothing is known of DCN.
void RequireDcn(const Collective& collective, const Topology& topology,
                const std::string& where);

// Throws InputError{where, ..} for axes of a permute.
void RejectAxesOfPermute(const Collective& collective,
                         const std::string& where);

// Throws InputError{where, ..} for a permute without pairs or shift, and for
// pairs or a shift of another kind.
void RequirePairs(const Collective& collective, const std::string& where);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_GROUPS_H_
