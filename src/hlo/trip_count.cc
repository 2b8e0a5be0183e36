#include "hlo/trip_count.h"

#include <optional>
#include <vector>

#include "hlo/attributes.h"
#include "hlo/opcodes.h"

namespace podsim {
namespace {

constexpr int kMaxDepth = 100;
// Sums of sums double with every line.
constexpr int kMaxReads = 10'000;

// Differences of 64-bit integers, and products of few.
__extension__ typedef __int128 Wide;

// A scalar that a loop computes with: an element of the loop's tuple plus a
// constant, or a constant alone.
struct Scalar {
  int element = -1;  // -1: none
  std::int64_t offset = 0;

  bool is_constant() const { return element < 0; }
};
using Arguments = std::vector<std::optional<Scalar>>;

bool PassesThrough(const HloInstruction& instruction) {
  for (const char* opcode :
       {"copy", "bitcast", "convert", "reshape", "bitcast-convert",
        "optimization-barrier", "opt-barrier", "copy-done"}) {
    if (instruction.opcode == opcode) return true;
  }
  return false;
}

class LoopReader {
 public:
  explicit LoopReader(const HloModule& module) : module_(module) {}

  // `arguments`: of a fused computation; null: parameter 0 is the tuple.
  std::optional<Scalar> Read(int computation, const HloOperand& operand,
                             const Arguments* arguments, int depth = 0) {
    if (depth > kMaxDepth || ++reads_ > kMaxReads) return std::nullopt;
    const HloComputation& in = module_.computations[computation];
    const HloInstruction& at = in.instructions[operand.instruction];
    if (operand.path.size() > 1) return std::nullopt;
    if (!operand.path.empty()) {
      return Element(computation, operand.instruction, operand.path.back(),
                     arguments, depth);
    }
    if (at.opcode == "constant") {
      const auto value = ParseWholeInteger(at.literal);
      if (!value) return std::nullopt;
      return Scalar{-1, *value};
    }
    if (at.opcode == "parameter") {
      if (arguments == nullptr || at.parameter < 0 ||
          at.parameter >= static_cast<std::int64_t>(arguments->size())) {
        return std::nullopt;
      }
      return (*arguments)[static_cast<std::size_t>(at.parameter)];
    }
    if (at.opcode == "get-tuple-element") {
      const auto index = FindInteger(module_, at, "index");
      if (!index || !at.operands[0].path.empty()) return std::nullopt;
      return Element(computation, at.operands[0].instruction,
                     static_cast<int>(*index), arguments, depth);
    }
    if (at.opcode == "add" || at.opcode == "subtract") {
      return Sum(computation, at, arguments, depth);
    }
    if (at.opcode == "fusion" || at.opcode == "call") {
      const auto callee = Callee(at);
      if (!callee) return std::nullopt;
      const Arguments passed = Pass(computation, at, arguments, depth);
      return Read(*callee, Root(*callee), &passed, depth + 1);
    }
    if (PassesThrough(at) && !at.operands.empty()) {
      return Read(computation, at.operands[0], arguments, depth + 1);
    }
    return std::nullopt;
  }

  // An element of a tuple: of the loop's, or of one that is made here.
  std::optional<Scalar> Element(int computation, int tuple, int index,
                                const Arguments* arguments, int depth = 0) {
    if (depth > kMaxDepth) return std::nullopt;
    const HloInstruction& at =
        module_.computations[computation].instructions[tuple];
    if (at.opcode == "parameter" && arguments == nullptr) {
      return Scalar{index, 0};
    }
    if (at.opcode == "tuple" && index < static_cast<int>(at.operands.size())) {
      return Read(computation, at.operands[index], arguments, depth + 1);
    }
    if (PassesThrough(at) && !at.operands.empty() &&
        at.operands[0].path.empty()) {
      return Element(computation, at.operands[0].instruction, index, arguments,
                     depth + 1);
    }
    return std::nullopt;
  }

  HloOperand Root(int computation) const {
    return {module_.computations[computation].root, {}};
  }

  std::optional<int> Callee(const HloInstruction& at) const {
    return at.opcode == "call" ? FindCall(at, HloCallRole::kToApply)
                               : FindCall(at, HloCallRole::kCalls);
  }

  Arguments Pass(int computation, const HloInstruction& at,
                 const Arguments* arguments, int depth) {
    Arguments passed;
    for (const HloOperand& operand : at.operands) {
      passed.push_back(Read(computation, operand, arguments, depth + 1));
    }
    return passed;
  }

 private:
  std::optional<Scalar> Sum(int computation, const HloInstruction& at,
                            const Arguments* arguments, int depth) {
    const auto a = Read(computation, at.operands[0], arguments, depth + 1);
    const auto b = Read(computation, at.operands[1], arguments, depth + 1);
    if (!a || !b || (!a->is_constant() && !b->is_constant())) {
      return std::nullopt;
    }
    const bool minus = at.opcode == "subtract";
    if (minus && !b->is_constant()) return std::nullopt;
    Scalar sum{a->is_constant() ? b->element : a->element, 0};
    const bool overflows =
        minus ? __builtin_sub_overflow(a->offset, b->offset, &sum.offset)
              : __builtin_add_overflow(a->offset, b->offset, &sum.offset);
    if (overflows) return std::nullopt;
    return sum;
  }

  const HloModule& module_;
  int reads_ = 0;
};

// "compare(a, b), direction=LT", with what a and b are.
struct Comparison {
  Scalar left;
  Scalar right;
  std::string direction;
};

std::optional<Comparison> ReadCondition(const HloModule& module,
                                        int computation, HloOperand at,
                                        const Arguments* arguments,
                                        LoopReader& reader, int depth = 0) {
  if (depth > kMaxDepth || !at.path.empty()) return std::nullopt;
  const HloInstruction& root =
      module.computations[computation].instructions[at.instruction];
  if (root.opcode == "fusion" || root.opcode == "call") {
    const auto callee = reader.Callee(root);
    if (!callee) return std::nullopt;
    const Arguments passed = reader.Pass(computation, root, arguments, depth);
    return ReadCondition(module, *callee, reader.Root(*callee), &passed, reader,
                         depth + 1);
  }
  if (PassesThrough(root) && !root.operands.empty()) {
    return ReadCondition(module, computation, root.operands[0], arguments,
                         reader, depth + 1);
  }
  if (root.opcode != "compare") return std::nullopt;
  const auto left = reader.Read(computation, root.operands[0], arguments);
  const auto right = reader.Read(computation, root.operands[1], arguments);
  const auto direction = FindText(root, "direction");
  if (!left || !right || !direction) return std::nullopt;
  return Comparison{*left, *right, *direction};
}

std::string Flipped(const std::string& direction) {
  if (direction == "LT") return "GT";
  if (direction == "LE") return "GE";
  if (direction == "GT") return "LT";
  if (direction == "GE") return "LE";
  return direction;
}

// How many of start, start + step, .. hold before the first that does not;
// nullopt: it never ends, or wraps around.
std::optional<std::int64_t> CountWhile(Wide start, Wide step,
                                       const std::string& direction,
                                       Wide limit) {
  if (direction == "GT" || direction == "GE") {
    return CountWhile(-start, -step, direction == "GT" ? "LT" : "LE", -limit);
  }
  if (direction == "LE") return CountWhile(start, step, "LT", limit + 1);
  if (direction == "EQ") {
    if (start != limit) return 0;
    if (step == 0) return std::nullopt;
    return 1;
  }
  Wide count = 0;
  if (direction == "NE") {
    if (start == limit) return 0;
    if (step == 0 || (limit - start) % step != 0) return std::nullopt;
    count = (limit - start) / step;
    if (count < 0) return std::nullopt;
  } else if (direction == "LT") {
    if (start >= limit) return 0;
    if (step <= 0) return std::nullopt;
    count = (limit - start + step - 1) / step;
  } else {
    return std::nullopt;
  }
  if (count > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

std::optional<std::int64_t> KnownTripCount(const HloInstruction& loop) {
  const auto config = FindText(loop, "backend_config");
  if (!config) return std::nullopt;
  const auto known = FindJsonLike(*config, "known_trip_count");
  if (!known) return std::nullopt;
  const auto n = FindJsonLike(*known, "n");
  if (!n) return std::nullopt;
  const auto count = ParseWholeInteger(Unquoted(*n));
  return count && *count >= 0 ? count : std::nullopt;
}

TripCount Unknown(const std::string& reason) {
  return {TripCountSource::kUnknown, 0, reason};
}

}  // namespace

const char* ToText(TripCountSource source) {
  switch (source) {
    case TripCountSource::kKnown:
      return "known_trip_count";
    case TripCountSource::kDerived:
      return "derived";
    case TripCountSource::kUnknown:
      break;
  }
  return "unknown";
}

TripCount FindTripCount(const HloModule& module, int computation,
                        int instruction) {
  const HloInstruction& loop =
      module.computations[computation].instructions[instruction];
  if (const auto known = KnownTripCount(loop)) {
    return {TripCountSource::kKnown, *known, ""};
  }
  const auto condition = FindCall(loop, HloCallRole::kCondition);
  const auto body = FindCall(loop, HloCallRole::kBody);
  if (!condition || !body || loop.operands.empty()) {
    return Unknown("it has no condition or body");
  }
  LoopReader reader(module);
  const auto compared = ReadCondition(module, *condition,
                                      reader.Root(*condition), nullptr, reader);
  if (!compared) {
    return Unknown(
        "its condition does not compare an element of its tuple with a "
        "constant");
  }
  const bool flip = compared->left.is_constant();
  const Scalar counter = flip ? compared->right : compared->left;
  const Scalar limit = flip ? compared->left : compared->right;
  if (counter.is_constant()) return Unknown("its condition is constant");
  // What an element starts at, and what an iteration adds to it.
  const auto start_of = [&](int element) -> std::optional<std::int64_t> {
    if (!loop.operands[0].path.empty()) return std::nullopt;
    // The tuple of an enclosing loop is no constant.
    const auto start = reader.Element(computation, loop.operands[0].instruction,
                                      element, nullptr);
    if (!start || !start->is_constant()) return std::nullopt;
    return start->offset;
  };
  const auto step_of = [&](int element) -> std::optional<std::int64_t> {
    const auto next = reader.Element(*body, module.computations[*body].root,
                                     element, nullptr);
    if (!next || next->element != element) return std::nullopt;
    return next->offset;
  };
  const auto step = step_of(counter.element);
  if (!step) {
    return Unknown("its body does not add a constant to element " +
                   std::to_string(counter.element));
  }
  const auto start = start_of(counter.element);
  if (!start) {
    return Unknown("element " + std::to_string(counter.element) +
                   " of its tuple does not start at a constant");
  }
  Wide last = limit.offset;
  if (!limit.is_constant()) {
    const auto value = start_of(limit.element);
    if (step_of(limit.element) != 0 || !value) {
      return Unknown("its limit, element " + std::to_string(limit.element) +
                     " of its tuple, is no constant");
    }
    last += *value;
  }
  const auto count = CountWhile(
      *start, *step, flip ? Flipped(compared->direction) : compared->direction,
      last - counter.offset);
  if (!count) return Unknown("it does not end by its condition");
  return {TripCountSource::kDerived, *count, ""};
}

}  // namespace podsim
