#include <algorithm>

#include "step/memory.h"
#include "step/order_edges.h"
#include "step/verify_order.h"

namespace podsim {
namespace {

// Bytes of the buffer that holds the op's result.
Bytes ResultBytes(const AbstractStep& step, std::uint32_t op) {
  const std::vector<std::uint32_t> owners = ValueOwners(step);
  op = owners[op];
  for (std::size_t hops = 0; step.ops[op].alias && hops < owners.size();
       ++hops) {
    op = owners[*step.ops[op].alias];
  }
  return step.ops[op].out;
}

std::string InIteration(const LoopStep& loop, std::uint32_t flat) {
  const auto ops = static_cast<std::uint32_t>(loop.body.ops.size());
  return OpText(loop.body, flat % ops) + " of iteration " +
         std::to_string(flat / ops);
}

}  // namespace

OrderViolations VerifyLoop(const LoopStep& loop) {
  OrderViolations violations;
  for (const LoopCarry& carry : loop.carries) {
    if (loop.body.ops.at(carry.from).kind == AbstractKind::kStart) {
      violations.push_back(
          {.rule = OrderRule::kIterations,
           .op = carry.from,
           .text = "schedule: " + OpText(loop.body, carry.from) +
                   ": is carried into another iteration without its done"});
    }
    if (!carry.entering) continue;
    const Bytes leaving = ResultBytes(loop.body, carry.from);
    if (leaving == *carry.entering) continue;
    violations.push_back(
        {.rule = OrderRule::kCarries,
         .op = carry.from,
         .text = "schedule: " + OpText(loop.body, carry.from) + ": carries " +
                 AmountText(leaving) + " into the next iteration of " +
                 OpText(loop.body, carry.to) + ", where " +
                 AmountText(*carry.entering) + " enter the loop"});
  }
  return violations;
}

OrderViolations VerifyIterations(const LoopStep& loop, StepOrderView order) {
  const auto ops = static_cast<std::uint32_t>(loop.body.ops.size());
  const std::vector<std::uint32_t> last = LastReaders(loop.body);
  OrderViolations violations;
  std::vector<std::uint32_t> position(order.size(), kNoOp);
  // Last position up to each one that belongs to another iteration than it.
  std::vector<std::uint32_t> other(order.size(), kNoOp);
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    position.at(order[k]) = k;
    if (k == 0) continue;
    const bool same = order[k] / ops == order[k - 1] / ops;
    other[k] = same ? other[k - 1] : k - 1;
  }
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    const std::uint32_t done = order[k];
    const std::optional<std::uint32_t>& of = loop.body.ops[done % ops].of;
    if (!of) continue;
    const std::uint32_t start = position[done - done % ops + *of];
    if (start == kNoOp || start > k) continue;  // VerifyOrder's
    if (other[k] == kNoOp || other[k] < start) continue;
    violations.push_back(
        {.rule = OrderRule::kIterations,
         .op = done,
         .text = "schedule: " + InIteration(loop, done) + " at position " +
                 std::to_string(k) + ": " + InIteration(loop, order[other[k]]) +
                 " stands between it and its start at position " +
                 std::to_string(start) +
                 "; pairs may cross iterations only in a pipelined loop"});
  }
  return violations;
}

}  // namespace podsim
