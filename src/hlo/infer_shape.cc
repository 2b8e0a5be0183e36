#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo/attributes.h"
#include "hlo/computation_parser.h"

namespace podsim {
namespace {

// Their result has the shape of the first operand.
constexpr std::array<std::string_view, 47> kLikeFirstOperand = {
    "abs",
    "acos",
    "acosh",
    "add",
    "and",
    "asin",
    "asinh",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "collective-broadcast",
    "collective-permute",
    "copy",
    "cosine",
    "cosh",
    "divide",
    "erf",
    "exponential",
    "exponential-minus-one",
    "floor",
    "log",
    "log-plus-one",
    "logistic",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "opt-barrier",
    "or",
    "power",
    "remainder",
    "reverse",
    "round-nearest-afz",
    "round-nearest-even",
    "rsqrt",
    "shift-left",
    "sign",
    "sine",
    "sinh",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "while",
    "xor"};
static_assert(!kLikeFirstOperand.back().empty());

// Shapes that the text leaves out stay small, or short texts could make huge
// modules: tuples of tuples double with every line.
constexpr int kMaxInferredParts = 16;

int CountParts(const HloShape& shape) {
  int parts = 1;
  for (const HloShape& element : shape.elements) {
    parts += CountParts(element);
    if (parts > kMaxInferredParts) break;
  }
  return parts;
}

std::optional<HloShape> Predicates(const HloShape& operand) {
  if (!IsArray(operand)) return std::nullopt;
  return ArrayShape(HloElementType::kPred, operand.dimensions);
}

std::optional<HloShape> TupleElement(const HloShape& tuple,
                                     const HloInstruction& instruction) {
  const std::string* text = FindAttribute(instruction, "index");
  const auto index = text ? ParseWholeInteger(*text) : std::nullopt;
  if (!index || *index < 0 || *index > 1'000'000'000) return std::nullopt;
  const HloShape* element = ElementAt(tuple, {static_cast<int>(*index)});
  return element ? std::optional(*element) : std::nullopt;
}

std::optional<HloShape> Inferred(const HloComputation& computation,
                                 const std::vector<HloShape>& signature,
                                 const HloInstruction& instruction) {
  const std::string& opcode = instruction.opcode;
  if (opcode == "parameter") {
    const auto number = static_cast<std::size_t>(instruction.parameter);
    if (number >= signature.size()) return std::nullopt;
    return signature[number];
  }
  std::vector<HloShape> operands;
  for (const HloOperand& operand : instruction.operands) {
    const HloShape& shape = ShapeOf(computation, operand);
    if (opcode != "get-tuple-element" &&
        (CountParts(shape) > kMaxInferredParts ||
         operands.size() == kMaxInferredParts)) {
      return std::nullopt;
    }
    operands.push_back(shape);
  }
  if (opcode == "tuple") return TupleShape(std::move(operands));
  if (operands.empty()) return std::nullopt;
  if (opcode == "get-tuple-element") {
    return TupleElement(operands[0], instruction);
  }
  if (opcode == "compare" || opcode == "is-finite") {
    return Predicates(operands[0]);
  }
  if (opcode == "all-reduce" && operands.size() > 1) {
    return TupleShape(std::move(operands));
  }
  if (opcode == "select" && operands.size() == 3) return operands[1];
  if (opcode == "all-reduce" ||
      std::ranges::find(kLikeFirstOperand, opcode) != kLikeFirstOperand.end()) {
    return operands[0];
  }
  return std::nullopt;
}

}  // namespace

bool InferHloShape(const HloComputation& computation,
                   const std::vector<HloShape>& signature,
                   HloInstruction& instruction) {
  auto shape = Inferred(computation, signature, instruction);
  if (!shape || CountParts(*shape) > kMaxInferredParts) return false;
  // One byte per pred may be more than what the operand has.
  if (IsArray(*shape) && LogicalBytes(*shape).value() > kMaxHloArrayBytes) {
    return false;
  }
  instruction.shape = *std::move(shape);
  return true;
}

}  // namespace podsim
