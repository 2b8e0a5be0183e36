#ifndef PODSIM_STEP_STEP_GRAPH_H_
#define PODSIM_STEP_STEP_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/collective.h"
#include "collective/lowering.h"

namespace podsim {

// One op of a step, the same on every chip: a compute, or a collective that
// holds the core until it has ended on that chip; an async one does not, until
// its wait.
struct StepOp {
  std::string id;
  std::string where;  // its place in the file, for messages
  std::optional<Collective> collective;
  std::optional<LoweringSpec> lowering;  // nullopt: auto
  std::string lowering_where;
  bool async = false;
  Seconds duration;  // of a compute, undisturbed
  Bytes hbm;         // its memory traffic
};

// What the core executes, in order: ops, waits for async ones, and loops that
// stay loops.
struct StepItem {
  std::optional<std::uint32_t> op;  // index into StepGraph::ops
  bool wait = false;                // for the latest execution of `op`
  int repeat = 1;                   // of a loop
  std::vector<StepItem> body;
};

// One step of an SPMD program, in issue order.
struct StepGraph {
  std::vector<StepOp> ops;  // in file order
  std::vector<StepItem> items;
};

// How often each op is executed, loops of more than `most_repeats` iterations
// (0: any number) cut to so many. Saturates at 2^62.
std::vector<std::int64_t> CountExecutions(const StepGraph& graph,
                                          int most_repeats = 0);

// Whether some loop has more iterations.
bool HasLongerLoop(const std::vector<StepItem>& items, int repeats);

}  // namespace podsim

#endif  // PODSIM_STEP_STEP_GRAPH_H_
