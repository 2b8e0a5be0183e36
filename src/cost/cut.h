#ifndef PODSIM_COST_CUT_H_
#define PODSIM_COST_CUT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "collective/collective.h"
#include "topology/parameters.h"
#include "topology/topology.h"

namespace podsim {

// Sets of chips, what links surround them, and what must cross those: the parts
// that cost/bounds.cc builds its components from.

// By chip.
using ChipSet = std::vector<bool>;

// Which chips are in which group; dead chips in none (-1).
struct Groups {
  std::vector<int> of_chip;
  std::vector<int> sizes;
};
Groups MakeGroups(const std::vector<std::vector<ChipId>>& lists,
                  const Topology& topology);

// Members of each group inside the set.
std::vector<int> MembersInside(const ChipSet& set, const Groups& groups);

// Bytes that must leave a set with `a` of a group's n members inside, for every
// schedule: all shards of its members (all-gather), the sum over it
// (all-reduce, reduce), the partial sums of the others' shards
// (reduce-scatter), ..
double MustLeave(CollectiveKind kind, double payload, int n, int a,
                 bool root_inside);

// Seconds per hop of the quickest live link.
double SmallestLatency(const Topology& topology);

// What every message takes before its first hop: o, and g over ICI, where it
// is issued first.
double StartOf(const Parameters& parameters, bool over_dcn);

// Bytes/s of all live ICI links, and of those along an axis.
double TotalCapacity(const Topology& topology);
double AxisCapacity(int axis, const Topology& topology);

// Looked up once, for many sets.
struct LiveLink {
  std::uint32_t from, to;  // chips
  double rate;             // bytes/s
};
std::vector<LiveLink> LiveLinksOf(const Topology& topology);

// Bytes/s of the live links out of, into, and inside a set.
struct CutCapacity {
  double out = 0;
  double in = 0;
  double inside = 0;
};
CutCapacity CapacityAround(const ChipSet& set,
                           const std::vector<LiveLink>& links);
CutCapacity CapacityAround(ChipId chip, const Topology& topology);

// Every arc of consecutive coordinates of a wrapped axis; every prefix of an
// unwrapped one, and of any axis of a twisted slice.
void ForEachSlab(const Topology& topology, int axis,
                 const std::function<void(const ChipSet&)>& visit);

// Every axis-aligned box of at least 2 and fewer than all chips, without wrap
// crossing.
void ForEachBox(const Topology& topology,
                const std::function<void(const ChipSet&)>& visit);

// Some axis does not wrap, or links are dead: then boxes can be tighter than
// slabs.
bool HasBorders(const Topology& topology);
// Boxes are enumerated on slices of up to this many chips.
inline constexpr int kMostBoxChips = 64;

// Bytes times hops over all pairs of an all-to-all, S/n bytes each in a group
// of n; and counting hops along one axis only (of a grid, groups along axes),
// which faults only lengthen.
double ByteHops(const Collective& collective, const Topology& topology,
                const Groups& groups);
double AxisByteHops(const Collective& collective, const Topology& topology,
                    const Groups& groups, int axis);

// A family of cuts: the seconds of its worst member.
class CutFamily {
 public:
  void Consider(double bytes, double capacity) {
    if (bytes <= 0) return;
    worst_ = std::max(worst_, capacity > 0
                                  ? bytes / capacity
                                  : std::numeric_limits<double>::infinity());
  }
  bool present() const { return worst_ > 0; }  // some member needs bytes
  double seconds() const { return worst_; }

 private:
  double worst_ = 0;
};

}  // namespace podsim

#endif  // PODSIM_COST_CUT_H_
