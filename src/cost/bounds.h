#ifndef PODSIM_COST_BOUNDS_H_
#define PODSIM_COST_BOUNDS_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/collective.h"
#include "topology/slice.h"

namespace podsim {

// A time that no schedule can beat, and why.
struct BoundComponent {
  std::string name;  // "latency", "chip", "slab:x", "edges", "front", ..
  Seconds time;
};

struct Bounds {
  std::vector<BoundComponent> components;  // at least one

  const BoundComponent& binding() const;  // the largest; first on ties
};

// Every component that applies, each of the form o + alpha + bytes/capacity but
// for `latency` (o + alpha x hops) and those of latency_bounds.h. Valid for
// every schedule in which chips forward and add, and links do neither
// (algorithms: Tutte, Nash-Williams 1961 for `edges` and `block`; cuts and LP
// duality for the rest):
//   latency     o + alpha x the farthest pair that must exchange information
//   chip        cut around one chip, out and in
//   slab:a      cut around an arc (wrapped axis) or prefix of coordinates
//   box         cut around an axis-aligned box; slices of up to 64 chips that
//               are not fully wrapped or have faults
//   edges       all-reduce: 2(n-1)S over all links (Harary & Schwenk 1974)
//   block       all-reduce, same slices as box: a set of chips taken as one
//   distance, distance:a   all-to-all: byte-hops over the capacity; those of
//               the slice only of a ragged one
//   shift       collective-permute: a shift along a wrapped axis
//   front       what a chip learns from others that are h hops away enters by
//               its own links after o + h alpha
//   issue       o + alpha x hops, and g for every message that a chip must send
//               until all can depend on one source; o + alpha x D if g = 0
//   horizon     all-reduce on a healthy ring: long chains or many bytes
//   dcn         of groups that span slices, which have this, `latency`, `chip`
//               and `edges` only: cut around one slice, and for all-reduce
//               2(m-1)S for m slices, over the NICs of their hosts
// A group of one chip or an empty payload has the single component `none`, 0 s.
// Where n does not divide S the bound can exceed the optimum by less than n
// bytes on the binding link. Groups that run at once add up what must cross a
// cut. With links of different latency alpha is the smallest.
// `front` and `issue` are those of all-reduce, all-gather, reduce-scatter,
// all-to-all and broadcast (but for all-reduce and broadcast only where every
// rank has a byte). They take hops over live links and the smallest alpha, the
// rates of the live links into a chip, and on slices of more than 64 chips that
// have faults, no axes or listed groups, some of the chips only.
// With an issue cost o stands for o + g, but where messages may go over DCN.
Bounds ComputeBounds(const Collective& collective, const Slice& slice);

// The bytes that all links together must carry, over their capacity, without
// start-up: 2(n-1)S per group for all-reduce, (n-1)S for all-gather and
// reduce-scatter (every chip lacks, or must pass on, n-1 shards); 0 for others.
Seconds TotalTrafficTime(const Collective& collective, const Slice& slice);

}  // namespace podsim

#endif  // PODSIM_COST_BOUNDS_H_
