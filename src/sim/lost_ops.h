#ifndef PODSIM_SIM_LOST_OPS_H_
#define PODSIM_SIM_LOST_OPS_H_

#include <string>
#include <utility>

#include "base/error.h"
#include "engine/engine.h"
#include "topology/topology.h"

namespace podsim {

// A run that dated faults took ops from, which has no time.
class LostOps : public InputError {
 public:
  LostOps(const std::string& where, std::string in_short,
          const std::string& details)
      : InputError(where, in_short + details), summary(std::move(in_short)) {}

  std::string summary;  // "the run loses .., and .. never ran"
};

// Throws LostOps if anything is lost: by which fault, how much, the first ten,
// and how much never ran.
void RequireNoneLost(const Schedule& schedule, const Network& network,
                     const Timeline& timeline, const Topology& topology);

}  // namespace podsim

#endif  // PODSIM_SIM_LOST_OPS_H_
