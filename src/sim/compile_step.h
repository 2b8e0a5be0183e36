#ifndef PODSIM_SIM_COMPILE_STEP_H_
#define PODSIM_SIM_COMPILE_STEP_H_

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "step/executions.h"
#include "step/step_graph.h"
#include "topology/fold.h"

namespace podsim {

// One execution of a StepOp inside the compiled schedule. Site s issues it when
// op `first_start + s` begins; the compute or collective ends there with op
// `first_end + s` (for a compute or a wait both are the same op).
struct StepExecution {
  std::uint32_t op;  // index into StepGraph::ops
  ExecutionKind kind;
  std::uint32_t first_start;
  std::uint32_t first_end;
  std::uint32_t started = 0;  // of a wait: the execution it waits for
  double times = 1;           // executions of the step that this stands for
};

// A loop of which only some iterations were compiled.
struct ShortenedLoop {
  // The first op of every iteration, and the one after the last.
  std::vector<std::uint32_t> first_op;
  int left_out = 0;  // iterations
};

struct CompiledStep {
  Schedule schedule;
  std::vector<StepExecution> executions;  // in issue order
  std::vector<ShortenedLoop> loops = {};
};

// Joins the ops of a step and the schedules of its collectives (by op index;
// nullptr for computes) into one schedule over the sites of the fold. Every
// site's core is a chain: an execution starts when the one before has ended
// there, or been issued if it is async. A transfer of a collective waits until
// both its ends have issued the collective (the receiver's buffers are free,
// its operand computed), each `launch` later; the collective ends on a chip
// with its last transfer to or from it. Computes keep their memory traffic if
// anything can run beside them. Copies
// run one after the other beside the core, and so do the collectives on the
// SparseCore. Of loops with more than `most_repeats`
// iterations (0: any number) only so many are compiled, at least 4.
CompiledStep CompileStep(const StepGraph& graph,
                         const std::vector<const Schedule*>& collectives,
                         std::uint32_t sites, Seconds launch,
                         int most_repeats = 0);

// Ops that CompileStep adds besides transfers, per execution and site.
inline constexpr std::uint64_t kMarkersPerExecution = 2;

}  // namespace podsim

#endif  // PODSIM_SIM_COMPILE_STEP_H_
