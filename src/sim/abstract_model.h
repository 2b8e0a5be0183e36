#ifndef PODSIM_SIM_ABSTRACT_MODEL_H_
#define PODSIM_SIM_ABSTRACT_MODEL_H_

#include <cstdint>
#include <vector>

#include "sim/collective_cost.h"
#include "step/abstract_step.h"
#include "step/executions.h"
#include "topology/parameters.h"

namespace podsim {

// A step as the abstract mode executes it: loops written out, every collective
// one transfer that holds its axes (step/simulate_abstract.h).
struct AbstractModel {
  AbstractStep step;
  // By op of the abstract step, in the order of the program.
  std::vector<std::uint32_t> op_of;  // index into StepGraph::ops
};

// Of the TensorCore, what an async_fused collective takes of it while it works:
// a guess, as nothing is published (docs/model.md).
inline constexpr double kFusedShare = 0.1;

// `costs`: by op of the graph; those of collectives are read. Resources: hbm
// (shared), every direction of every axis (one collective at a time), dcn
// (shared), sc0 (one collective at a time), dma (one copy at a time).
AbstractModel MakeAbstractModel(const StepGraph& graph,
                                const std::vector<StepRun>& runs,
                                const std::vector<CollectiveCost>& costs,
                                const Parameters& parameters);

}  // namespace podsim

#endif  // PODSIM_SIM_ABSTRACT_MODEL_H_
