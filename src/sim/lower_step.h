#ifndef PODSIM_SIM_LOWER_STEP_H_
#define PODSIM_SIM_LOWER_STEP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/lower_collective.h"
#include "workload/workload.h"

namespace podsim {

// By op: the first op with the same collective and lowering, itself if there is
// none before.
std::vector<std::uint32_t> FirstAlike(const StepGraph& graph,
                                      const Topology& topology);

// The collectives of a step, lowered and folded alike; by op index, of those
// alike only the first.
struct LoweredStep {
  std::vector<std::uint32_t> first_alike;
  std::vector<std::optional<LoweredCollective>> lowered;
  std::vector<Bytes> payload;  // padded, with --fold on
  Fold fold;
  bool folded = false;
};

// Throws InputError at an op whose lowering does not apply, or which cannot
// fold as the options ask.
LoweredStep LowerStep(const Workload& workload, const SimOptions& options);

}  // namespace podsim

#endif  // PODSIM_SIM_LOWER_STEP_H_
