// From a schedule to GOAL.
#include <cmath>

#include "base/error.h"
#include "schedule/goal.h"

namespace podsim {
namespace {

class GoalMaker {
 public:
  GoalMaker(const Schedule& schedule, const Topology& topology,
            const std::string& where)
      : schedule_(schedule),
        where_(where),
        sends_(schedule.size()),
        receives_(schedule.size()) {
    program_.ranks.resize(static_cast<std::size_t>(topology.chips()));
  }

  GoalProgram Make() && {
    for (std::uint32_t id = 0; id < schedule_.size(); ++id) AddOp(OpId(id));
    return std::move(program_);
  }

 private:
  std::uint32_t Append(ChipId chip, const GoalOp& op) {
    std::vector<GoalOp>& ops = program_.ranks[chip.value()].ops;
    ops.push_back(op);
    return static_cast<std::uint32_t>(ops.size() - 1);
  }

  GoalOp MessageOf(OpId op, GoalKind kind, ChipId peer) const {
    return {.kind = kind,
            .peer = static_cast<std::int32_t>(peer.value()),
            .tag = op.value(),
            .amount = schedule_.bytes(op).value()};
  }

  void AddOp(OpId op) {
    const ChipId src = schedule_.src(op);
    const ChipId dst = schedule_.dst(op);
    if (schedule_.kind(op) == OpKind::kTransfer) {
      sends_[op.value()] = Append(src, MessageOf(op, GoalKind::kSend, dst));
      receives_[op.value()] = Append(dst, MessageOf(op, GoalKind::kRecv, src));
    } else {
      const double seconds = schedule_.duration(op).value();
      sends_[op.value()] = receives_[op.value()] =
          Append(src, {.amount = std::llround(seconds * 1e9)});
    }
    for (const OpId after : schedule_.after(op)) AddWait(op, after);
  }

  // Of a transfer the send waits.
  void AddWait(OpId op, OpId after) {
    const ChipId chip = schedule_.src(op);
    std::uint32_t local = 0;
    if (schedule_.dst(after) == chip) {
      local = receives_[after.value()];
    } else if (schedule_.src(after) == chip) {
      local = sends_[after.value()];
    } else {
      throw InputError(
          where_, "op " + std::to_string(op.value()) + " of chip " +
                      std::to_string(chip.value()) + " waits for op " +
                      std::to_string(after.value()) +
                      ", which ends on other chips; GOAL's waits are local, "
                      "write podsim-schedule/1 (.json)");
    }
    program_.ranks[chip.value()].waits.push_back(
        {.op = sends_[op.value()], .after = local});
  }

  const Schedule& schedule_;
  const std::string& where_;
  // Of each op of the schedule, indices into the ops of its ranks.
  std::vector<std::uint32_t> sends_, receives_;
  GoalProgram program_;
};

}  // namespace

GoalProgram MakeGoal(const Schedule& schedule, const Topology& topology,
                     const std::string& where) {
  return GoalMaker(schedule, topology, where).Make();
}

}  // namespace podsim
