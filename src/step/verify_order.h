#ifndef PODSIM_STEP_VERIFY_ORDER_H_
#define PODSIM_STEP_VERIFY_ORDER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "step/abstract_step.h"
#include "step/loops.h"

namespace podsim {

enum class OrderRule : std::uint8_t {
  kOnce,        // each op stands in the order once
  kOperands,    // producers, control edges and donors before
  kPairs,       // a start before its done; one done per start
  kInFlight,    // limits hold at every start and sync
  kMemory,      // usage as annotated; never above the limit
  kDonors,      // no read after a buffer was taken over
  kOutputs,     // nothing is written over a result
  kCarries,     // what enters a loop is as large as what its body leaves
  kResources,   // resources exist, are used within their capacity
  kIterations,  // pairs do not cross iterations
  kDeadlock,    // all members issue their collectives in the same order
};

struct OrderViolation {
  OrderRule rule = OrderRule::kOnce;
  std::uint32_t op = kNoOp;
  // "schedule: op 17 (all-gather-start.3) at position 4: memory 12.1 GiB
  // exceeds the limit 11.5 GiB by 0.6 GiB; largest live: ..."
  std::string text;
};
using OrderViolations = std::vector<OrderViolation>;

// All violations of an order of the step, by rule. `usage`, if given, is what
// the schedule says it uses at each position. Where ops are missing, or the
// step is malformed, what needs a whole order is not looked at. Memory above
// the limit counts once per stretch of positions, at its highest.
OrderViolations VerifyOrder(const AbstractStep& step, StepOrderView order,
                            std::span<const Bytes> usage = {});

// kCarries, and kIterations of the body: no value is carried out of a start.
OrderViolations VerifyLoop(const LoopStep& loop);
// kIterations of an order of the flattened loop: between a start and its done
// stand ops of their own iteration only. For loops that were not pipelined.
OrderViolations VerifyIterations(const LoopStep& loop, StepOrderView order);

// One collective in the program of a chip, in order of issue.
struct IssuedCollective {
  std::string name;                    // of this execution, on all members
  std::vector<std::uint32_t> members;  // chips
};

// kDeadlock: of every pair of chips the first two of their common collectives
// that they issue in different orders, and members that never issue theirs.
OrderViolations VerifyCollectiveOrders(
    const std::vector<std::vector<IssuedCollective>>& programs);

}  // namespace podsim

#endif  // PODSIM_STEP_VERIFY_ORDER_H_
