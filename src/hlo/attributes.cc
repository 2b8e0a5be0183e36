#include "hlo/attributes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"

namespace podsim {
namespace {

constexpr std::size_t kMaxAttributes = 256;

// Does "name =", "%name" or ROOT stand next?
bool InstructionIsNext(HloLexer& lexer) {
  if (lexer.PeekIs("%")) return true;
  const std::string_view word = lexer.PeekWord();
  if (word == "ROOT") return true;
  const std::size_t at = lexer.at();
  lexer.MoveTo(at + word.size());
  const bool is_next = lexer.AtEnd() || lexer.PeekIs("=");
  lexer.MoveTo(at);
  return is_next;
}

bool WordEndsValue(HloLexer& lexer, AfterValue after) {
  return after == AfterValue::kComputation || InstructionIsNext(lexer);
}

// Consumes ", device_ids=(..)" if that is next.
bool AcceptMeshDevices(HloLexer& lexer) {
  const std::size_t at = lexer.at();
  if (lexer.Accept(',') && lexer.AcceptWord("device_ids") &&
      lexer.Accept('=') && lexer.Peek() == '(') {
    lexer.Balanced();
    return true;
  }
  lexer.MoveTo(at);
  return false;
}

// Reads a key of a JSON-like object, without its quotes; empty if there is
// none.
std::string_view ReadKey(HloLexer& lexer) {
  const char c = lexer.Peek();
  if (c == '"' || c == '\'') {
    const std::string_view quoted = lexer.String();
    return quoted.substr(1, quoted.size() - 2);
  }
  const std::string_view word = lexer.PeekWord();
  lexer.MoveTo(lexer.at() + word.size());
  return word;
}

std::optional<std::string_view> SearchObject(HloLexer& lexer,
                                             std::string_view key) {
  lexer.Expect('{', "");
  while (lexer.Peek() != '}') {
    const std::string_view found = ReadKey(lexer);
    if (!lexer.Accept(':') && !lexer.Accept('=')) return std::nullopt;
    const std::string_view value =
        ReadAttributeValue(lexer, AfterValue::kInstruction);
    if (found == key) return value;
    if (!lexer.Accept(',')) return std::nullopt;
  }
  return std::nullopt;
}

// Runs a reader of a part of a raw value; nothing if it fails.
template <class Read>
auto TryRead(std::string_view text, Read read)
    -> decltype(read(std::declval<HloLexer&>())) {
  HloLexer lexer(text, "");
  try {
    return read(lexer);
  } catch (const HloTextEnds&) {
    return std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

std::string_view ReadAttributeValue(HloLexer& lexer, AfterValue after) {
  lexer.SkipSpace();
  const std::size_t begin = lexer.at();
  std::size_t end = begin;
  for (;;) {
    lexer.SkipSpace();
    const std::size_t at = lexer.at();
    const bool spaced = at != end;
    const char c = lexer.Peek();
    const std::string_view so_far = lexer.text().substr(begin, end - begin);
    if (c == '\0' && lexer.AtEnd()) break;
    if (c == ',' && so_far.starts_with("mesh[") && AcceptMeshDevices(lexer)) {
      end = lexer.at();
      continue;
    }
    if (c == ',' || c == '}' || c == ')' || c == ']') break;
    if (c == '(' || c == '[' || c == '{') {
      lexer.Balanced();
    } else if (c == '"' || c == '\'') {
      lexer.String();
    } else if (c == '%' || IsHloWordStart(c)) {
      if (spaced && end != begin && WordEndsValue(lexer, after)) break;
      lexer.Name("a name");
    } else {
      lexer.MoveTo(at + 1);
    }
    end = lexer.at();
  }
  if (end == begin) lexer.FailExpected(lexer.at(), "the value of an attribute");
  lexer.MoveTo(end);
  return lexer.text().substr(begin, end - begin);
}

void CheckNewAttribute(HloLexer& lexer, std::size_t at, std::string_view name,
                       const std::vector<HloAttribute>& attributes) {
  if (attributes.size() == kMaxAttributes) {
    lexer.Fail(at, "more than 256 attributes");
  }
  const auto found = std::ranges::find(attributes, name, &HloAttribute::name);
  if (found != attributes.end()) {
    lexer.Fail(at, "attribute '" + std::string(name) + "' stands twice");
  }
}

std::optional<std::vector<std::int64_t>> ParseIntegerList(
    std::string_view text) {
  if (const auto single = ParseWholeInteger(text)) return std::vector{*single};
  return TryRead(
      text, [](HloLexer& lexer) -> std::optional<std::vector<std::int64_t>> {
        std::vector<std::int64_t> numbers;
        lexer.Expect('{', "");
        if (lexer.Peek() != '}') {
          do {
            numbers.push_back(lexer.Integer("a number"));
          } while (lexer.Accept(','));
        }
        lexer.Expect('}', "");
        if (!lexer.AtEnd()) return std::nullopt;
        return numbers;
      });
}

std::optional<std::int64_t> ParseWholeInteger(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string Unquoted(std::string_view text) {
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'') ||
      text.back() != text[0]) {
    return std::string(text);
  }
  std::string plain;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] != '\\' || i + 2 >= text.size()) {
      plain += text[i];
      continue;
    }
    ++i;
    plain += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
  }
  return plain;
}

std::optional<std::string_view> FindJsonLike(std::string_view object,
                                             std::string_view key) {
  return TryRead(object,
                 [&](HloLexer& lexer) { return SearchObject(lexer, key); });
}

std::optional<HloCallRole> CallRoleOf(std::string_view attribute,
                                      std::string_view opcode) {
  struct Row {
    const char* attribute;
    HloCallRole role;
  };
  static constexpr std::array kRows = {
      Row{"to_apply", HloCallRole::kToApply},
      Row{"calls", HloCallRole::kCalls},
      Row{"condition", HloCallRole::kCondition},
      Row{"body", HloCallRole::kBody},
      Row{"true_computation", HloCallRole::kTrueComputation},
      Row{"false_computation", HloCallRole::kFalseComputation},
      Row{"branch_computations", HloCallRole::kBranch},
      Row{"called_computations", HloCallRole::kCalledComputation},
  };
  for (const Row& row : kRows) {
    if (attribute == row.attribute) return row.role;
  }
  if (opcode != "select-and-scatter") return std::nullopt;
  if (attribute == "select") return HloCallRole::kSelect;
  if (attribute == "scatter") return HloCallRole::kScatter;
  return std::nullopt;
}

}  // namespace podsim
