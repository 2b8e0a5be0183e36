#include "hlo/validate.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "hlo/opcodes.h"

namespace podsim {
namespace {

std::string Quoted(const std::string& name) {
  return "'" + Shortened(name, 60) + "'";
}

std::string CountOf(int count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

class Validator {
 public:
  explicit Validator(HloModule& module) : module_(module) {}

  void Run() {
    for (const HloComputation& computation : module_.computations) {
      for (const HloInstruction& instruction : computation.instructions) {
        CheckOperands(instruction);
        CheckAttributes(instruction);
        CheckCalls(instruction);
        if (instruction.opcode == "get-tuple-element") {
          CheckTupleIndex(computation, instruction);
        }
        if (HasUnboundedDimension(instruction.shape)) WarnOfUnbounded();
      }
    }
    CheckNesting();
  }

 private:
  [[noreturn]] void Fail(const HloInstruction& instruction,
                         const std::string& what) const {
    throw InputError(WhereIs(module_, instruction), what);
  }

  void Warn(const HloInstruction& instruction, const std::string& what) {
    module_.warnings.push_back(WhereIs(module_, instruction) + ": " + what);
  }

  void CheckOperands(const HloInstruction& instruction) {
    const HloOpcodeRule* rule = FindHloOpcode(instruction.opcode);
    const int count = static_cast<int>(instruction.operands.size());
    if (rule == nullptr) {
      CheckSugar(instruction, count);
      return;
    }
    const int min = rule->min_operands;
    const int max = rule->max_operands;
    if (count >= min && (max < 0 || count <= max)) return;
    std::string expected = max < 0 ? "at least " : "";
    if (max > min) expected += std::to_string(min) + " to ";
    expected += CountOf(max > min ? max : min, "operand");
    Fail(instruction, instruction.opcode + " has " + CountOf(count, "operand") +
                          ", expected " + expected);
  }

  // X-update and X-done of an async X that has no opcodes of its own.
  void CheckSugar(const HloInstruction& instruction, int count) {
    const std::string& opcode = instruction.opcode;
    if (!IsKnownHloOpcode(opcode)) {
      WarnOfOpcode(instruction);
      return;
    }
    if (!WithoutSuffix(opcode, "-start") && count != 1) {
      Fail(instruction, opcode + " has " + CountOf(count, "operand") +
                            ", expected 1 operand");
    }
  }

  void WarnOfOpcode(const HloInstruction& instruction) {
    if (!unknown_opcodes_.insert(instruction.opcode).second) return;
    const auto similar = SimilarHloOpcode(instruction.opcode);
    Warn(instruction,
         "unknown opcode " + Quoted(instruction.opcode) +
             (similar ? "; did you mean " + *similar + "? T" : "; t") +
             "aken as computing on its operands");
  }

  void CheckAttributes(const HloInstruction& instruction) const {
    const HloOpcodeRule* rule = FindHloOpcode(instruction.opcode);
    if (rule == nullptr) return;
    for (const char* required : {rule->required, rule->also_required}) {
      if (required != nullptr && !Has(instruction, required)) {
        Fail(instruction, instruction.opcode + " has no attribute " + required);
      }
    }
  }

  static bool Has(const HloInstruction& instruction,
                  std::string_view attribute) {
    return FindAttribute(instruction, attribute) != nullptr ||
           std::ranges::any_of(instruction.calls, [&](const HloCall& call) {
             return ToText(call.role) == attribute;
           });
  }

  void CheckCalls(const HloInstruction& instruction) const {
    const std::string& opcode = instruction.opcode;
    const int operands = static_cast<int>(instruction.operands.size());
    if (opcode == "fusion" || opcode == "async-start") {
      CheckParameters(instruction, HloCallRole::kCalls, operands);
    } else if (opcode == "call") {
      CheckParameters(instruction, HloCallRole::kToApply, operands);
    } else if (opcode == "while") {
      CheckParameters(instruction, HloCallRole::kCondition, 1);
      CheckParameters(instruction, HloCallRole::kBody, 1);
    } else if (opcode == "conditional") {
      CheckBranches(instruction);
    }
  }

  void CheckParameters(const HloInstruction& instruction, HloCallRole role,
                       int expected) const {
    const auto computation = FindCall(instruction, role);
    if (!computation) {
      Fail(instruction, instruction.opcode + " has no computation as " +
                            std::string(ToText(role)));
    }
    CheckCallee(instruction, *computation, expected);
  }

  void CheckCallee(const HloInstruction& instruction, int computation,
                   int expected) const {
    const HloComputation& callee =
        module_.computations[static_cast<std::size_t>(computation)];
    const int parameters = static_cast<int>(callee.parameters.size());
    if (parameters != expected) {
      Fail(instruction, instruction.opcode + " passes " +
                            CountOf(expected, "operand") + " to " +
                            Quoted(callee.name) + ", which has " +
                            CountOf(parameters, "parameter"));
    }
  }

  void CheckBranches(const HloInstruction& instruction) const {
    const std::size_t branches = instruction.calls.size();
    if (branches == 0) {
      Fail(instruction,
           "conditional has no branch_computations and no true_computation");
    }
    if (instruction.operands.size() != branches + 1) {
      Fail(instruction,
           "conditional has " + std::to_string(branches) +
               (branches == 1 ? " branch" : " branches") + " and " +
               CountOf(static_cast<int>(instruction.operands.size()),
                       "operand") +
               ", expected one operand to choose and one per branch");
    }
    for (const HloCall& call : instruction.calls) {
      CheckCallee(instruction, call.computation, 1);
    }
  }

  void CheckTupleIndex(const HloComputation& computation,
                       const HloInstruction& instruction) const {
    const std::int64_t index =
        FindInteger(module_, instruction, "index").value_or(-1);
    const HloShape& tuple = ShapeOf(computation, instruction.operands[0]);
    if (!IsTuple(tuple)) {
      Fail(instruction, "get-tuple-element of " + Shortened(ToText(tuple), 60) +
                            ", which is not a tuple");
    }
    if (index < 0 ||
        index >= static_cast<std::int64_t>(tuple.elements.size())) {
      Fail(instruction,
           "index=" + std::to_string(index) + " of a tuple of " +
               CountOf(static_cast<int>(tuple.elements.size()), "element"));
    }
  }

  static bool HasUnboundedDimension(const HloShape& shape) {
    return std::ranges::find(shape.dimensions, kUnboundedDimension) !=
               shape.dimensions.end() ||
           std::ranges::any_of(shape.elements, HasUnboundedDimension);
  }

  void WarnOfUnbounded() {
    if (warned_of_unbounded_) return;
    warned_of_unbounded_ = true;
    module_.warnings.push_back(
        module_.file + ": unbounded dimensions ('?') count as 1 element");
  }

  // No circles and no long chains: others follow calls recursively. Depth
  // first, with a stack of its own.
  void CheckNesting() const {
    enum class State : unsigned char { kNew, kOpen, kDone };
    std::vector<State> states(module_.computations.size(), State::kNew);
    std::vector<int> levels(states.size(), 0);  // of calls below
    std::vector<int> open;
    for (std::size_t c = 0; c < states.size(); ++c) {
      if (states[c] == State::kNew) open.push_back(static_cast<int>(c));
      while (!open.empty()) {
        const auto current = static_cast<std::size_t>(open.back());
        if (states[current] != State::kNew) {
          if (states[current] == State::kOpen) SetLevels(current, levels);
          states[current] = State::kDone;
          open.pop_back();
          continue;
        }
        states[current] = State::kOpen;
        for (const HloInstruction& caller :
             module_.computations[current].instructions) {
          for (const HloCall& call : caller.calls) {
            const auto callee = static_cast<std::size_t>(call.computation);
            if (states[callee] == State::kOpen) FailCircle(caller, callee);
            if (states[callee] == State::kNew) open.push_back(call.computation);
          }
        }
      }
    }
  }

  void SetLevels(std::size_t computation, std::vector<int>& levels) const {
    for (const HloInstruction& caller :
         module_.computations[computation].instructions) {
      for (const HloCall& call : caller.calls) {
        const int level = levels[static_cast<std::size_t>(call.computation)];
        if (level == kMaxHloCallLevels) {
          Fail(caller, "calls nested deeper than " +
                           std::to_string(kMaxHloCallLevels) + " levels");
        }
        levels[computation] = std::max(levels[computation], level + 1);
      }
    }
  }

  [[noreturn]] void FailCircle(const HloInstruction& caller,
                               std::size_t callee) const {
    Fail(caller, "computation " + Quoted(module_.computations[callee].name) +
                     " calls itself through this instruction");
  }

  HloModule& module_;
  std::set<std::string> unknown_opcodes_;
  bool warned_of_unbounded_ = false;
};

}  // namespace

void ValidateHlo(HloModule& module) { Validator(module).Run(); }

}  // namespace podsim
