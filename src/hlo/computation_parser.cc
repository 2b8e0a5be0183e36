#include "hlo/computation_parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "hlo/attributes.h"
#include "hlo/shape_text.h"

namespace podsim {
namespace {

constexpr std::int64_t kMaxParameter = 1'000'000;
constexpr std::int64_t kMaxTupleIndex = 1'000'000;

std::string Quoted(std::string_view name) {
  return "'" + Shortened(name, 60) + "'";
}

std::string_view Trimmed(std::string_view text) {
  const char* spaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

class ComputationParser {
 public:
  explicit ComputationParser(HloLexer& lexer) : lexer_(lexer) {}

  int instructions() const {
    return static_cast<int>(parsed_.computation.instructions.size());
  }

  ParsedHloComputation Read() {
    parsed_.is_entry = lexer_.AcceptWord("ENTRY");
    lexer_.SkipSpace();
    parsed_.at = lexer_.at();
    parsed_.computation.line = lexer_.PositionOf(parsed_.at).line;
    parsed_.computation.name =
        lexer_.Name("HloModule, ENTRY or the name of a computation");
    if (lexer_.Peek() == '(') ReadSignature();
    lexer_.Expect('{', "before the instructions of a computation");
    while (!lexer_.Accept('}')) ReadInstruction();
    if (computation().instructions.empty()) {
      lexer_.Fail(parsed_.at, "computation " + Quoted(computation().name) +
                                  " has no instructions");
    }
    if (!has_root_) computation().root = last_named_;
    NameNestedOperands();
    CollectParameters();
    if (MoreFollows()) {
      ReadAttributes(
          lexer_, AfterValue::kComputation,
          [](std::string_view, std::size_t) { return false; },
          computation().attributes);
    }
    computation().instructions.shrink_to_fit();
    return std::move(parsed_);
  }

 private:
  HloComputation& computation() { return parsed_.computation; }

  // Not if the text ends, be it inside of a comment: the computation is whole.
  bool MoreFollows() {
    const std::size_t end = lexer_.at();
    try {
      return !lexer_.AtEnd();
    } catch (const HloTextEnds&) {
      lexer_.MoveTo(end);
      return false;
    }
  }

  // (name: shape, ..) -> shape
  void ReadSignature() {
    lexer_.Expect('(', "");
    has_signature_ = true;
    if (!lexer_.Accept(')')) {
      do {
        lexer_.Name("the name of a parameter");
        lexer_.Expect(':', "after the name of a parameter");
        signature_.push_back(ReadShape(lexer_));
      } while (lexer_.Accept(','));
      lexer_.Expect(')', "or ',' after a parameter");
    }
    lexer_.Expect("->", "and the result of the computation");
    ReadShape(lexer_, /*body_may_follow=*/true);
  }

  void ReadInstruction() {
    lexer_.SkipSpace();
    const bool is_root = AcceptRoot();
    lexer_.SkipSpace();
    const std::size_t at = lexer_.at();
    const std::string_view name =
        lexer_.Name("the name of an instruction, or '}'");
    if (is_root && has_root_) {
      lexer_.Fail(at, "a second ROOT, expected one; the first is in line " +
                          std::to_string(At(computation().root).line));
    }
    HloInstruction instruction;
    instruction.name = name;
    Locate(at, instruction);
    lexer_.Expect('=', "after the name of an instruction");
    const bool has_shape = ReadOperation(instruction, 0);
    const auto previous = names_.find(name);
    if (previous != names_.end()) {
      lexer_.Fail(at, Quoted(name) +
                          " is defined a second time, first in line " +
                          std::to_string(At(previous->second).line));
    }
    ReadInstructionAttributes(instruction);
    names_.emplace(name, Add(std::move(instruction), has_shape, at));
    last_named_ = static_cast<int>(computation().instructions.size()) - 1;
    if (is_root) computation().root = last_named_;
    has_root_ = has_root_ || is_root;
  }

  // ROOT may also be the name of an instruction.
  bool AcceptRoot() {
    const std::size_t at = lexer_.at();
    if (!lexer_.AcceptWord("ROOT")) return false;
    if (lexer_.Peek() != '=') return true;
    lexer_.MoveTo(at);
    return false;
  }

  // [shape] opcode(operands); was there a shape?
  bool ReadOperation(HloInstruction& instruction, int depth) {
    if (depth > kMaxHloNesting) {
      lexer_.Fail(lexer_.at(), "operands nested deeper than 100 levels");
    }
    const bool has_shape = ShapeIsNext(lexer_);
    if (has_shape) instruction.shape = ReadShape(lexer_);
    instruction.opcode = lexer_.Word(has_shape ? "an opcode after the shape"
                                               : "a shape or an opcode");
    if (instruction.opcode == "constant") {
      ReadLiteral(instruction);
    } else {
      lexer_.Expect('(', "after the opcode");
      if (instruction.opcode == "parameter") {
        ReadParameterNumber(instruction);
      } else if (lexer_.Peek() != ')') {
        do {
          instruction.operands.push_back(ReadOperand(depth));
        } while (lexer_.Accept(','));
      }
      lexer_.Expect(')', "or ',' after an operand");
    }
    return has_shape;
  }

  void ReadLiteral(HloInstruction& instruction) {
    if (lexer_.Peek() != '(') lexer_.Expect('(', "after the opcode");
    const std::string_view text = lexer_.Balanced();
    instruction.literal = Trimmed(text.substr(1, text.size() - 2));
  }

  void ReadParameterNumber(HloInstruction& instruction) {
    lexer_.SkipSpace();
    const std::size_t at = lexer_.at();
    instruction.parameter = lexer_.Integer("the number of a parameter");
    if (instruction.parameter < 0 || instruction.parameter > kMaxParameter) {
      lexer_.Fail(at, "parameter number " +
                          std::to_string(instruction.parameter) +
                          ", expected 0 to 1000000");
    }
  }

  HloOperand ReadOperand(int depth) {
    lexer_.SkipSpace();
    const std::size_t begin = lexer_.at();
    if (ShapeIsNext(lexer_)) ReadShape(lexer_);
    lexer_.SkipSpace();
    const std::size_t at = lexer_.at();
    const std::string_view name = lexer_.Name("an operand");
    if (lexer_.Peek() == '(') {
      lexer_.MoveTo(begin);
      HloInstruction nested;
      const bool has_shape = ReadOperation(nested, depth + 1);
      Locate(at, nested);
      return {Add(std::move(nested), has_shape, at), {}};
    }
    HloOperand operand{Find(name, at), {}};
    ReadPath(operand);
    return operand;
  }

  // '#i' ..
  void ReadPath(HloOperand& operand) {
    while (lexer_.Peek() == '#') {
      const std::size_t at = lexer_.at();
      lexer_.Accept('#');
      const std::int64_t index = lexer_.Integer("an index of a tuple");
      if (index < 0 || index > kMaxTupleIndex) {
        lexer_.Fail(at, "a tuple has no element " + std::to_string(index));
      }
      operand.path.push_back(static_cast<int>(index));
      if (ElementAt(At(operand.instruction).shape, operand.path) == nullptr) {
        lexer_.Fail(at,
                    Quoted(At(operand.instruction).name) +
                        " has no tuple element '#" + std::to_string(index) +
                        "', its shape is " +
                        Shortened(ToText(At(operand.instruction).shape), 60));
      }
    }
  }

  void ReadInstructionAttributes(HloInstruction& instruction) {
    ReadAttributes(
        lexer_, AfterValue::kInstruction,
        [&](std::string_view name, std::size_t at) {
          if (name == "control-predecessors") {
            ReadControlPredecessors(instruction);
            return true;
          }
          const auto role = CallRoleOf(name, instruction.opcode);
          return role && ReadCalls(*role, at, instruction);
        },
        instruction.attributes);
  }

  void ReadControlPredecessors(HloInstruction& instruction) {
    lexer_.Expect('{', "before control predecessors");
    if (lexer_.Accept('}')) return;
    do {
      lexer_.SkipSpace();
      const std::size_t at = lexer_.at();
      instruction.control_predecessors.push_back(
          Find(lexer_.Name("a control predecessor"), at));
    } while (lexer_.Accept(','));
    lexer_.Expect('}', "or ',' after a control predecessor");
  }

  // %name or {%name, ..}; false for values that are no names.
  bool ReadCalls(HloCallRole role, std::size_t attribute_at,
                 HloInstruction& instruction) {
    for (const HloCall& call : instruction.calls) {
      if (call.role == role) {
        lexer_.Fail(attribute_at, std::string("attribute '") + ToText(role) +
                                      "' stands twice");
      }
    }
    const bool is_list = lexer_.Accept('{');
    if (!is_list && lexer_.Peek() != '%' && !IsHloWordStart(lexer_.Peek())) {
      return false;
    }
    if (is_list && lexer_.Accept('}')) return true;
    const int index = static_cast<int>(computation().instructions.size());
    do {
      lexer_.SkipSpace();
      const std::size_t at = lexer_.at();
      const std::string_view name = lexer_.Name("the name of a computation");
      parsed_.pending.push_back({index, instruction.calls.size(), name, at});
      instruction.calls.push_back({role, 0});
    } while (is_list && lexer_.Accept(','));
    if (is_list) lexer_.Expect('}', "or ',' after a computation");
    return true;
  }

  int Find(std::string_view name, std::size_t at) {
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    lexer_.Fail(at, "no instruction " + Quoted(name) +
                        " above in computation " + Quoted(computation().name) +
                        "; operands are defined before they are used");
  }

  int Add(HloInstruction instruction, bool has_shape, std::size_t at) {
    if (!has_shape && !InferHloShape(computation(), signature_, instruction)) {
      lexer_.Fail(at, "the shape of this " + instruction.opcode +
                          " is missing and does not follow from its operands; "
                          "write it before the opcode, as in f32[8,128]");
    }
    computation().instructions.push_back(std::move(instruction));
    return static_cast<int>(computation().instructions.size()) - 1;
  }

  HloInstruction& At(int index) {
    return computation().instructions[static_cast<std::size_t>(index)];
  }

  void Locate(std::size_t at, HloInstruction& instruction) {
    const HloPosition position = lexer_.PositionOf(at);
    instruction.line = position.line;
    instruction.column = position.column;
  }

  // Nested operands are instructions without a name in the text.
  void NameNestedOperands() {
    std::int64_t number = 0;
    for (HloInstruction& instruction : computation().instructions) {
      if (!instruction.name.empty()) continue;
      do {
        instruction.name =
            instruction.opcode + ".nested." + std::to_string(++number);
      } while (names_.contains(instruction.name));
    }
  }

  void CollectParameters() {
    for (std::size_t i = 0; i < computation().instructions.size(); ++i) {
      const std::int64_t number = computation().instructions[i].parameter;
      if (number >= 0) PlaceParameter(static_cast<int>(i), number);
    }
    const std::vector<int>& parameters = computation().parameters;
    const auto missing = std::ranges::find(parameters, -1);
    if (missing != parameters.end()) {
      lexer_.Fail(parsed_.at, "computation " + Quoted(computation().name) +
                                  " has no parameter(" +
                                  std::to_string(missing - parameters.begin()) +
                                  ") but one of a higher number");
    }
    if (has_signature_ && signature_.size() != parameters.size()) {
      lexer_.Fail(parsed_.at,
                  "computation " + Quoted(computation().name) + " has " +
                      std::to_string(parameters.size()) +
                      (parameters.size() == 1 ? " parameter" : " parameters") +
                      ", its signature " + std::to_string(signature_.size()));
    }
  }

  void PlaceParameter(int index, std::int64_t number) {
    std::vector<int>& parameters = computation().parameters;
    const std::size_t place = static_cast<std::size_t>(number);
    if (place >= computation().instructions.size()) {
      FailParameter(index,
                    "parameter(" + std::to_string(number) +
                        ") in a computation of " +
                        std::to_string(computation().instructions.size()) +
                        " instructions");
    }
    if (place >= parameters.size()) parameters.resize(place + 1, -1);
    if (parameters[place] >= 0) {
      FailParameter(index, "parameter(" + std::to_string(number) +
                               ") stands a second time, first in line " +
                               std::to_string(At(parameters[place]).line));
    }
    parameters[place] = index;
  }

  [[noreturn]] void FailParameter(int index, const std::string& what) {
    throw InputError(lexer_.file() + ":" + std::to_string(At(index).line) +
                         ":" + std::to_string(At(index).column),
                     what);
  }

  HloLexer& lexer_;
  ParsedHloComputation parsed_;
  std::vector<HloShape> signature_;
  bool has_signature_ = false;
  bool has_root_ = false;
  int last_named_ = 0;
  std::unordered_map<std::string_view, int> names_;
};

}  // namespace

ParsedHloComputation ReadHloComputation(HloLexer& lexer) {
  ComputationParser parser(lexer);
  try {
    return parser.Read();
  } catch (HloTextEnds& ends) {
    ends.whole_instructions = parser.instructions();
    throw;
  }
}

}  // namespace podsim
