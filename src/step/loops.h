#ifndef PODSIM_STEP_LOOPS_H_
#define PODSIM_STEP_LOOPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/bounds.h"
#include "step/abstract_step.h"

namespace podsim {

// Op `to` of iteration i reads the result of op `from` of iteration
// i - distance, if there is one.
struct LoopCarry {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t distance = 1;  // at least 1
  // Of the buffer that the first iteration finds in its place, if known.
  std::optional<Bytes> entering = {};
};

struct LoopStep {
  AbstractStep body;  // users of its params use them in every iteration; its
                      // outputs count for nothing
  std::int64_t trip = 0;
  std::vector<LoopCarry> carries = {};
  std::vector<std::uint32_t> results = {};  // of the last iteration: outputs
};

// Op b of iteration i is op i * (ops of the body) + b: one step of all
// iterations. Throws InputError above 2^31 ops.
AbstractStep FlattenLoop(const LoopStep& loop);

// The iterations one after the other, each in the order of the body.
StepOrder RolledOrder(const LoopStep& loop, StepOrderView body);

// What moves to another iteration.
struct LoopPipelining {
  // Starts that need nothing of their iteration: the one of iteration
  // i + depth stands right after the done of iteration i; the first `depth`
  // ones stand before everything.
  std::vector<std::uint32_t> prefetch = {};
  std::int64_t depth = 1;
  // Each a done and what follows on it: those of iteration i - 1 stand right
  // before their start of iteration i, the last ones after everything.
  std::vector<std::vector<std::uint32_t>> sink = {};
};

// The iterations in the order of the body but for what moves. Throws InputError
// if that cannot be right: no pair, in two groups, operands of its iteration.
// verify_order.h proves an order of the flattened loop.
StepOrder PipelinedOrder(const LoopStep& loop, const LoopPipelining& pipelining,
                         StepOrderView body);

// Seconds that each further iteration must add at least, in the long run:
//   tensorcore  time on the core per iteration, of a sync until its end
//   fifo:r      latency and work of the transfers on each FIFO resource
//   recurrence  the largest length / distance of a circle of operands, carries,
//               control edges and transfers
Bounds InitiationBounds(const LoopStep& loop);

}  // namespace podsim

#endif  // PODSIM_STEP_LOOPS_H_
