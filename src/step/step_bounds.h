#ifndef PODSIM_STEP_STEP_BOUNDS_H_
#define PODSIM_STEP_STEP_BOUNDS_H_

#include "cost/bounds.h"
#include "step/abstract_step.h"

namespace podsim {

// Makespans that no order can beat:
//   critical_path  the longest path with unlimited resources
//   tensorcore     one machine whose jobs are the ops' times on the core (of a
//                  sync until its transfer ends), preemptive: each with its
//                  longest path from the start and to the end
//                  (Jackson; Carlier 1982)
//   fifo:r         of each FIFO resource: the same of latency and work of its
//                  transfers
//   share:r        of each share resource with a load: sum of share x work over
//                  the capacity; of `tc` all time on the core too
//   memory_area    with a memory limit: sum of bytes x shortest life over the
//                  limit, where a life is the longest path from the begin of
//                  the definition to the end of the last reader, of outputs and
//                  state to the end
// With more than about 4,000 ops the lives look at some thousand ops behind
// each definition only, and may be shorter than that.
// Throws InputError where TopologicalOrder does.
Bounds ComputeStepBounds(const AbstractStep& step);

}  // namespace podsim

#endif  // PODSIM_STEP_STEP_BOUNDS_H_
