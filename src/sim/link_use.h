#ifndef PODSIM_SIM_LINK_USE_H_
#define PODSIM_SIM_LINK_USE_H_

#include <optional>
#include <vector>

#include "engine/engine.h"
#include "sim/result.h"
#include "topology/fold.h"
#include "topology/slice.h"

namespace podsim {

// Every link that carried bytes, the longest busy first, ties by link id.
// `seconds`: what utilisation refers to.
std::vector<LinkUse> MeasureLinks(const Schedule& schedule,
                                  const Timeline& timeline,
                                  const Network& network, const Slice& slice,
                                  const std::optional<Fold>& fold,
                                  double seconds);

}  // namespace podsim

#endif  // PODSIM_SIM_LINK_USE_H_
