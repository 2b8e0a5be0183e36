#include "workload/hlo_values.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace podsim {
namespace {

HloSources JoinAll(const HloValue& value) {
  HloSources all;
  for (const HloSources& element : value.elements) all = Joined(all, element);
  return all;
}

}  // namespace

HloSources Joined(const HloSources& a, const HloSources& b) {
  if (a.empty()) return b;
  if (b.empty() || a == b) return a;
  HloSources joined;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(),
                 std::back_inserter(joined));
  return joined;
}

HloValues::HloValues(const HloComputation& computation,
                     const std::vector<HloValue>& arguments)
    : computation_(computation),
      arguments_(arguments),
      values_(computation.instructions.size()) {}

HloValue HloValues::OperandOf(const HloOperand& operand) const {
  const HloValue& value = values_[operand.instruction];
  if (operand.path.empty()) return value;
  const auto element = static_cast<std::size_t>(operand.path[0]);
  if (element < value.elements.size()) return {{value.elements[element]}};
  return {{JoinAll(value)}};
}

HloSources HloValues::OperandsOf(int instruction) const {
  const HloInstruction& at = computation_.instructions[instruction];
  HloSources all;
  for (const HloOperand& operand : at.operands) {
    all = Joined(all, JoinAll(OperandOf(operand)));
  }
  for (const int before : at.control_predecessors) {
    all = Joined(all, JoinAll(values_[before]));
  }
  return all;
}

std::vector<HloValue> HloValues::ArgumentsOf(int instruction) const {
  std::vector<HloValue> arguments;
  for (const HloOperand& operand :
       computation_.instructions[instruction].operands) {
    arguments.push_back(OperandOf(operand));
  }
  return arguments;
}

void HloValues::Set(int instruction, HloValue value) {
  values_[instruction] = std::move(value);
}

void HloValues::PassOn(int instruction) {
  const HloInstruction& at = computation_.instructions[instruction];
  if (!at.operands.empty()) values_[instruction] = OperandOf(at.operands[0]);
}

void HloValues::SetMade(int instruction, std::uint32_t first,
                        std::uint32_t end) {
  if (first == end) {
    values_[instruction] = PassedOn(instruction);
    return;
  }
  HloSources made;
  for (std::uint32_t op = first; op < end; ++op) made.push_back(op);
  values_[instruction] = {{std::move(made)}};
}

HloValue HloValues::PassedOn(int instruction) const {
  const HloInstruction& at = computation_.instructions[instruction];
  if (at.opcode == "parameter") {
    const auto number = static_cast<std::size_t>(at.parameter);
    return number < arguments_.size() ? arguments_[number] : HloValue();
  }
  if (at.opcode == "tuple") {
    HloValue value;
    for (const HloOperand& operand : at.operands) {
      value.elements.push_back(JoinAll(OperandOf(operand)));
    }
    return value;
  }
  if (at.opcode == "get-tuple-element" && !at.operands.empty()) {
    HloOperand operand = at.operands[0];
    if (operand.path.empty()) {
      if (const std::string* index = FindAttribute(at, "index")) {
        operand.path = {std::atoi(index->c_str())};
      }
    }
    return OperandOf(operand);
  }
  const bool same = at.operands.size() == 1 &&
                    (at.opcode == "bitcast" || at.opcode == "opt-barrier" ||
                     at.opcode == "copy");
  if (same) return OperandOf(at.operands[0]);
  return {{OperandsOf(instruction)}};
}

LoopState::LoopState(const std::vector<HloValue>& operands,
                     std::size_t elements, std::uint32_t first_mark)
    : first_mark_(first_mark) {
  if (!operands.empty()) initial_ = operands[0];
  if (initial_.elements.size() != elements) {
    initial_.elements.assign(elements, JoinAll(initial_));
  }
  for (std::uint32_t k = 0; k < elements; ++k) {
    entering_.elements.push_back({first_mark_ + k});
  }
}

void LoopState::Close(const HloValue& result) {
  const std::size_t marks = initial_.elements.size();
  meaning_ = initial_.elements;
  // Elements handed from one to another go round at most once each.
  bool changed = true;
  for (std::size_t round = 0; changed && round <= marks; ++round) {
    changed = false;
    for (std::size_t k = 0; k < marks; ++k) {
      HloSources left =
          k < result.elements.size() ? result.elements[k] : JoinAll(result);
      Resolve(left);
      HloSources joined = Joined(meaning_[k], left);
      changed |= joined != meaning_[k];
      meaning_[k] = std::move(joined);
    }
  }
  leaving_ = result;
  for (HloSources& element : leaving_.elements) Resolve(element);
}

void LoopState::Resolve(HloSources& sources) const {
  // Marks of outer loops come before, and stay.
  const auto first =
      std::lower_bound(sources.begin(), sources.end(), first_mark_);
  if (first == sources.end()) return;
  HloSources resolved(sources.begin(), first);
  for (auto mark = first; mark != sources.end(); ++mark) {
    resolved = Joined(resolved, meaning_[*mark - first_mark_]);
  }
  sources = std::move(resolved);
}

}  // namespace podsim
