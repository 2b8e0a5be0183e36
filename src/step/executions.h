#ifndef PODSIM_STEP_EXECUTIONS_H_
#define PODSIM_STEP_EXECUTIONS_H_

#include <cstdint>
#include <vector>

#include "step/step_graph.h"

namespace podsim {

// What the core executes once: a compute, a sync collective, the start of an
// async one (or of a copy) or the wait for it.
enum class ExecutionKind : std::uint8_t { kCompute, kSync, kStart, kWait };

struct StepRun {
  std::uint32_t op = 0;  // index into StepGraph::ops
  ExecutionKind kind = ExecutionKind::kCompute;
  std::uint32_t started = 0;  // of a wait: the run of its start
  std::vector<std::uint32_t> deps =
      {};  // earlier runs; of an async op its wait
};

// Everything the core executes, loops written out, in order of issue. Throws
// InputError at the op with which they become more than `most`.
std::vector<StepRun> WriteOut(const StepGraph& graph, std::size_t most);

}  // namespace podsim

#endif  // PODSIM_STEP_EXECUTIONS_H_
