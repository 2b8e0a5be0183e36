#ifndef PODSIM_COST_BISECTION_H_
#define PODSIM_COST_BISECTION_H_

#include <optional>

#include "topology/topology.h"

namespace podsim {

// Cut in the middle of the axis where the fewest links cross: one-way links and
// their bytes/s together.
struct Bisection {
  int axis = 0;
  int links = 0;
  BytesPerSecond bandwidth;
};
std::optional<Bisection> ComputeBisection(const Topology& topology);

}  // namespace podsim

#endif  // PODSIM_COST_BISECTION_H_
