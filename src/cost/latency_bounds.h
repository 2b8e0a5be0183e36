#ifndef PODSIM_COST_LATENCY_BOUNDS_H_
#define PODSIM_COST_LATENCY_BOUNDS_H_

#include <vector>

#include "collective/collective.h"
#include "cost/bounds.h"
#include "cost/cut.h"
#include "topology/topology.h"

namespace podsim {

// Components that couple hops with bytes or with the number of messages. All
// messages go over ICI; alpha is the smallest of the live links.

// What a message over h hops takes before its bytes flow: g + o + h alpha.
struct MessageCost {
  double issue = 0;     // g, s: one after the other on a chip
  double overhead = 0;  // o, s
  double alpha = 0;     // s per hop

  double Before(int hops) const { return issue + overhead + hops * alpha; }
};

// So many members of a group are at least so many hops away from a chip.
struct Beyond {
  int hops = 0;
  double members = 0;
};
// By rising hops from 1 on, the last one at the eccentricity of the chip. Some
// may be left out: what follows then says less, and nothing wrong.
using Spread = std::vector<Beyond>;

// Of the members that are hops[chip] away.
Spread SpreadOf(const std::vector<int>& hops, const std::vector<int>& group,
                int which);
// Of the sub-grid spanned by `axes` of a plain grid around one of its chips.
Spread SpreadOnAxes(const Topology& topology, const std::vector<int>& axes,
                    const Coordinates& from);

// The earliest date at which all members can depend on one source. A chip that
// depends on it since tau issues its i-th message with that knowledge no
// earlier than tau + i g, so chips are named by the issue indices of the
// messages that informed them: C(m, k) sequences of k indices have a sum of at
// most m, and k messages that bridge h hops take k o + max(k, h) alpha besides.
double IssueSeconds(const MessageCost& cost, const Spread& spread);

// All-reduce on one ring of n >= 3 chips, `transfer` = S/B seconds: for every
// budget of hops some chain is longer, or every link carries several times S.
double HorizonSeconds(const MessageCost& cost, int n, double transfer);

// `front`, `issue` and `horizon`, each where it applies, of a collective that
// has bytes to move and stays inside slices. `symmetric`: a plain grid and
// groups along axes; then `groups` and `roots` are not used but `root` is.
struct LatencyQuestion {
  const Collective& collective;
  const Topology& topology;
  MessageCost cost;
  bool symmetric;
  ChipId root;
  const Groups& groups;
  const std::vector<ChipId>& roots;
};
std::vector<BoundComponent> LatencyBounds(const LatencyQuestion& question);

}  // namespace podsim

#endif  // PODSIM_COST_LATENCY_BOUNDS_H_
