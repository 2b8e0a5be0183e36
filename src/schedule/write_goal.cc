// Writer of GOAL text.
#include "schedule/goal.h"

namespace podsim {
namespace {

std::string Clause(const char* word, std::int64_t value) {
  return value == 0 ? "" : std::string(" ") + word + std::to_string(value);
}

std::string Label(std::uint32_t op) { return "l" + std::to_string(op + 1); }

void WriteRank(const GoalRank& rank, std::size_t id,
               const std::function<void(const std::string&)>& write) {
  write("\nrank " + std::to_string(id) + " {\n");
  std::uint32_t number = 0;
  for (const GoalOp& op : rank.ops) {
    write(Label(number++) + ": " + ToText(op) + "\n");
  }
  for (const GoalWait& wait : rank.waits) {
    write(Label(wait.op) + (wait.started ? " irequires " : " requires ") +
          Label(wait.after) + "\n");
  }
  write("}\n");
}

}  // namespace

std::string ToText(const GoalOp& op) {
  const std::string amount = std::to_string(op.amount);
  if (op.kind == GoalKind::kCalc) {
    return "calc " + amount + Clause("cpu ", op.cpu);
  }
  return (op.kind == GoalKind::kSend ? "send " : "recv ") + amount +
         (op.kind == GoalKind::kSend ? "b to " : "b from ") +
         std::to_string(op.peer) + Clause("tag ", op.tag) +
         Clause("cpu ", op.cpu) + Clause("nic ", op.nic);
}

void WriteGoal(const GoalProgram& program,
               const std::function<void(const std::string&)>& write) {
  write("num_ranks " + std::to_string(program.ranks.size()) + "\n");
  std::size_t id = 0;
  for (const GoalRank& rank : program.ranks) WriteRank(rank, id++, write);
}

}  // namespace podsim
