#include "step/abstract_step.h"

#include <numeric>

namespace podsim {

double TransferTime(const AbstractOp& op) {
  return op.latency.value() + op.work.value();
}

double FullSpeedTime(const AbstractOp& op) {
  const double core = op.tc_time.value();
  return op.kind == AbstractKind::kSync ? core + TransferTime(op) : core;
}

StepOrder ProgramOrder(const AbstractStep& step) {
  StepOrder order(step.ops.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

std::vector<std::uint32_t> LastReaders(const AbstractStep& step) {
  std::vector<std::uint32_t> last = ProgramOrder(step);
  for (std::uint32_t op = 0; op < step.ops.size(); ++op) {
    const std::optional<std::uint32_t>& start = step.ops[op].of;
    if (start && *start < step.ops.size()) last[*start] = op;
  }
  return last;
}

std::string OpText(const AbstractStep& step, std::uint32_t op) {
  std::string text = "op " + std::to_string(op);
  if (op < step.ops.size() && !step.ops[op].name.empty()) {
    text += " (" + step.ops[op].name + ")";
  }
  return text;
}

}  // namespace podsim
