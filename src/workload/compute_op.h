#ifndef PODSIM_WORKLOAD_COMPUTE_OP_H_
#define PODSIM_WORKLOAD_COMPUTE_OP_H_

#include <string>

#include "cost/roofline.h"
#include "step/step_graph.h"
#include "topology/parameters.h"

namespace podsim {

// Gives the op `scale` times what the work takes by the roofline. Throws
// InputError as RooflineTime.
void SetWork(const ComputeWork& work, double scale,
             const Parameters& parameters, const std::string& where,
             StepOp& op);

// Makes the op a copy by DMA of so many bytes between HBM and VMEM, at HBM's
// bandwidth.
void SetCopy(Bytes bytes, const Parameters& parameters,
             const std::string& where, StepOp& op);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_COMPUTE_OP_H_
