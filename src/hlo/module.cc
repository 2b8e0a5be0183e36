#include "hlo/module.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "hlo/attributes.h"

namespace podsim {
namespace {

constexpr std::size_t kMaxExcerpt = 60;

[[noreturn]] void FailValue(const HloModule& module,
                            const HloInstruction& instruction,
                            std::string_view name, const std::string& value,
                            const char* expected) {
  throw InputError(WhereIs(module, instruction),
                   std::string(name) + "=" + Shortened(value, kMaxExcerpt) +
                       ": expected " + expected);
}

}  // namespace

bool HloInstruction::operator==(const HloInstruction& other) const {
  const auto compared = [](const HloInstruction& i) {
    return std::tie(i.name, i.opcode, i.shape, i.operands, i.attributes,
                    i.calls, i.control_predecessors, i.parameter, i.literal);
  };
  return compared(*this) == compared(other);
}

bool HloComputation::operator==(const HloComputation& other) const {
  const auto compared = [](const HloComputation& c) {
    return std::tie(c.name, c.instructions, c.root, c.parameters, c.attributes);
  };
  return compared(*this) == compared(other);
}

bool HloModule::operator==(const HloModule& other) const {
  const auto compared = [](const HloModule& m) {
    return std::tie(m.has_header, m.name, m.is_scheduled, m.replica_count,
                    m.num_partitions, m.input_output_alias, m.attributes,
                    m.tables, m.computations, m.entry);
  };
  return compared(*this) == compared(other) &&
         truncated.has_value() == other.truncated.has_value();
}

std::string WhereIs(const HloModule& module,
                    const HloInstruction& instruction) {
  return module.file + ":" + std::to_string(instruction.line) + ":" +
         std::to_string(instruction.column);
}

const std::string* FindAttribute(const HloInstruction& instruction,
                                 std::string_view name) {
  for (const HloAttribute& attribute : instruction.attributes) {
    if (attribute.name == name) return &attribute.value;
  }
  return nullptr;
}

std::optional<std::string> FindText(const HloInstruction& instruction,
                                    std::string_view name) {
  const std::string* value = FindAttribute(instruction, name);
  if (value == nullptr) return std::nullopt;
  return Unquoted(*value);
}

std::optional<std::int64_t> FindInteger(const HloModule& module,
                                        const HloInstruction& instruction,
                                        std::string_view name) {
  const std::string* value = FindAttribute(instruction, name);
  if (value == nullptr) return std::nullopt;
  const auto integer = ParseWholeInteger(*value);
  if (!integer) FailValue(module, instruction, name, *value, "an integer");
  return integer;
}

std::optional<bool> FindBool(const HloModule& module,
                             const HloInstruction& instruction,
                             std::string_view name) {
  const std::string* value = FindAttribute(instruction, name);
  if (value == nullptr) return std::nullopt;
  if (*value != "true" && *value != "false") {
    FailValue(module, instruction, name, *value, "true or false");
  }
  return *value == "true";
}

std::optional<std::vector<std::int64_t>> FindIntegers(
    const HloModule& module, const HloInstruction& instruction,
    std::string_view name) {
  const std::string* value = FindAttribute(instruction, name);
  if (value == nullptr) return std::nullopt;
  auto integers = ParseIntegerList(*value);
  if (!integers) {
    FailValue(module, instruction, name, *value, "integers such as {0,1}");
  }
  return integers;
}

std::optional<int> FindCall(const HloInstruction& instruction,
                            HloCallRole role) {
  for (const HloCall& call : instruction.calls) {
    if (call.role == role) return call.computation;
  }
  return std::nullopt;
}

const char* ToText(HloCallRole role) {
  switch (role) {
    case HloCallRole::kToApply:
      return "to_apply";
    case HloCallRole::kCalls:
      return "calls";
    case HloCallRole::kCondition:
      return "condition";
    case HloCallRole::kBody:
      return "body";
    case HloCallRole::kTrueComputation:
      return "true_computation";
    case HloCallRole::kFalseComputation:
      return "false_computation";
    case HloCallRole::kBranch:
      return "branch_computations";
    case HloCallRole::kCalledComputation:
      return "called_computations";
    case HloCallRole::kSelect:
      return "select";
    case HloCallRole::kScatter:
      return "scatter";
  }
  CHECK(false) << "role " << static_cast<int>(role);
  return "";
}

const HloShape& ShapeOf(const HloComputation& computation,
                        const HloOperand& operand) {
  const HloInstruction& instruction =
      computation.instructions[static_cast<std::size_t>(operand.instruction)];
  const HloShape* shape = ElementAt(instruction.shape, operand.path);
  CHECK(shape != nullptr) << "path into " << instruction.name;
  return *shape;
}

HloUsers UsersOf(const HloComputation& computation) {
  const std::size_t size = computation.instructions.size();
  HloUsers users{std::vector<std::vector<int>>(size),
                 std::vector<std::vector<int>>(size)};
  for (std::size_t i = 0; i < size; ++i) {
    const HloInstruction& instruction = computation.instructions[i];
    const int index = static_cast<int>(i);
    for (const HloOperand& operand : instruction.operands) {
      auto& readers = users.data[static_cast<std::size_t>(operand.instruction)];
      if (readers.empty() || readers.back() != index) readers.push_back(index);
    }
    for (const int before : instruction.control_predecessors) {
      auto& after = users.control[static_cast<std::size_t>(before)];
      if (after.empty() || after.back() != index) after.push_back(index);
    }
  }
  return users;
}

}  // namespace podsim
