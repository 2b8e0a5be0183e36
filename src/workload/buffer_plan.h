#ifndef PODSIM_WORKLOAD_BUFFER_PLAN_H_
#define PODSIM_WORKLOAD_BUFFER_PLAN_H_

#include <cstdint>
#include <vector>

#include "step/step_graph.h"

namespace podsim {

// The buffers of a workload file, by op. One is there from the issue of its op
// until an op that frees it has ended (an async one: until its wait), else to
// the end of the list that its op stands in.
struct BufferPlan {
  Bytes resident = {};  // there all the time: parameters, optimizer state
  std::vector<Bytes> alloc = {};
  std::vector<std::vector<std::uint32_t>> frees = {};  // ops of the same list
};

// Sets what the chip holds while each op runs, and the peak. Loops hold the
// same in every iteration.
void ApplyBuffers(const BufferPlan& plan, StepGraph& graph);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_BUFFER_PLAN_H_
