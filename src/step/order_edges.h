#ifndef PODSIM_STEP_ORDER_EDGES_H_
#define PODSIM_STEP_ORDER_EDGES_H_

#include <cstdint>
#include <vector>

#include "step/abstract_step.h"
#include "step/index_lists.h"

namespace podsim {

// What must stand before what in every order: producers, control edges, the
// start of a done, and for an op that takes over a buffer its donor and every
// other reader of the donor (of a reading start: its done).
struct OrderEdges {
  IndexLists before;  // of each op, ascending, each once
  IndexLists after;   // the same edges the other way
};

OrderEdges MakeOrderEdges(const AbstractStep& step);

// An order that respects the edges: of those that do the first in program
// order. Throws InputError at `step` if there is none: a buffer cannot be taken
// over while others must still read it.
StepOrder TopologicalOrder(const AbstractStep& step, const OrderEdges& edges);

// The op whose result a dep on each op reads: the start of a done, else itself.
std::vector<std::uint32_t> ValueOwners(const AbstractStep& step);

// Longest paths with unlimited resources, in seconds.
struct LongestPaths {
  std::vector<double> head;   // from the start to the op's begin
  std::vector<double> after;  // from the op's end (of a start: its issue) to
                              // the end of the step
  double critical = 0;        // the longest of all
};

LongestPaths ComputeLongestPaths(const AbstractStep& step,
                                 const OrderEdges& edges,
                                 StepOrderView topological);

}  // namespace podsim

#endif  // PODSIM_STEP_ORDER_EDGES_H_
