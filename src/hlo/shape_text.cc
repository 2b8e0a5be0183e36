#include "hlo/shape_text.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "hlo/parser.h"

namespace podsim {
namespace {

constexpr std::size_t kMaxRank = 64;  // HloShape keeps a bit per dimension

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void FailElementType(HloLexer& lexer, std::size_t at,
                                  std::string_view word) {
  const std::vector<std::string> names = HloElementTypeNames();
  const auto similar = Similar(word, names);
  const std::string hint = similar ? "; did you mean " + *similar + "?" : "";
  lexer.Fail(at, "unknown element type '" + Shortened(word, 40) + "'" + hint +
                     " (known: " + Join(names, ", ") + ", token, opaque)");
}

// One of "8", "<=8", "?", "<=?".
void ReadDimension(HloLexer& lexer, HloShape& shape) {
  const std::size_t d = shape.dimensions.size();
  if (d == kMaxRank) lexer.Fail(lexer.at(), "more than 64 dimensions");
  if (lexer.Accept("<=")) shape.dynamic_dimensions |= std::uint64_t{1} << d;
  if (lexer.Accept('?')) {
    shape.dimensions.push_back(kUnboundedDimension);
    return;
  }
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::int64_t size = lexer.Integer("the size of a dimension");
  if (size < 0) {
    lexer.Fail(at, "size " + std::to_string(size) +
                       " of a dimension, expected 0 or more");
  }
  shape.dimensions.push_back(size);
}

void ReadDimensions(HloLexer& lexer, HloShape& shape) {
  lexer.Expect('[', "after the element type");
  if (lexer.Accept(']')) return;
  do {
    ReadDimension(lexer, shape);
  } while (lexer.Accept(','));
  lexer.Expect(']', "or ',' in a shape");
}

// Is the '{' that is next a layout's?
bool LayoutIsNext(HloLexer& lexer, bool body_may_follow) {
  const std::size_t at = lexer.at();
  bool is_layout = false;
  if (lexer.Accept('{')) {
    if (lexer.AtEnd()) throw HloTextEnds{"a layout or an instruction"};
    const char next = lexer.Peek();
    is_layout =
        IsDigit(next) || next == ':' || (next == '}' && !body_may_follow);
  }
  lexer.MoveTo(at);
  return is_layout;
}

// The order of dimensions at the head of a layout, if given, names each once.
void CheckMinorToMajor(HloLexer& lexer, std::size_t begin, std::size_t end,
                       std::size_t rank) {
  lexer.MoveTo(begin);
  std::vector<std::int64_t> order;
  if (IsDigit(lexer.Peek())) {
    do {
      order.push_back(lexer.Integer("a dimension"));
    } while (lexer.Accept(','));
  }
  if (!lexer.PeekIs(":") && !lexer.PeekIs("}")) {
    lexer.FailExpected(lexer.at(), "',', ':' or '}' in a layout");
  }
  lexer.MoveTo(end);
  if (order.empty()) return;
  std::vector<std::int64_t> sorted = order;
  std::ranges::sort(sorted);
  bool fits = sorted.size() == rank;
  for (std::size_t d = 0; fits && d < rank; ++d) {
    fits = sorted[d] == static_cast<std::int64_t>(d);
  }
  if (!fits) {
    std::vector<std::string> names;
    for (const std::int64_t d : order) names.push_back(std::to_string(d));
    lexer.Fail(begin - 1,
               "layout {" + Shortened(Join(names, ","), 60) + "} of " +
                   (rank == 0 ? "no dimensions, expected {}"
                              : std::to_string(rank) +
                                    " dimensions, expected each of 0 to " +
                                    std::to_string(rank - 1) + " once"));
  }
}

// n of the S(n) among the parts after ':' such as T(8,128)(2,1)S(1); 0 if none.
std::int32_t MemorySpaceOf(std::string_view layout) {
  std::size_t at = layout.find(':');
  int depth = 0;
  for (; at < layout.size(); ++at) {
    const char c = layout[at];
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth == 0 && layout.substr(at, 2) == "S(" &&
        !IsHloWordStart(layout[at - 1])) {
      std::int32_t space = 0;
      std::from_chars(layout.data() + at + 2, layout.data() + layout.size(),
                      space);
      return space;
    }
  }
  return 0;
}

void ReadLayout(HloLexer& lexer, HloShape& shape) {
  lexer.SkipSpace();
  const std::size_t begin = lexer.at();
  const std::string_view layout = lexer.Balanced();
  CheckMinorToMajor(lexer, begin + 1, lexer.at(), shape.dimensions.size());
  shape.layout = layout;
  shape.memory_space = MemorySpaceOf(layout);
}

void CheckSize(HloLexer& lexer, std::size_t at, const HloShape& shape) {
  if (LogicalBytes(shape).value() > kMaxHloArrayBytes) {
    lexer.Fail(at, "an array of more than 2^48 bytes");
  }
}

HloShape ReadNested(HloLexer& lexer, bool body_may_follow, int depth);

HloShape ReadTuple(HloLexer& lexer, int depth) {
  HloShape tuple;
  tuple.kind = HloShapeKind::kTuple;
  lexer.Expect('(', "of a tuple shape");
  if (lexer.Accept(')')) return tuple;
  do {
    tuple.elements.push_back(ReadNested(lexer, false, depth + 1));
  } while (lexer.Accept(','));
  lexer.Expect(')', "or ',' in a tuple shape");
  return tuple;
}

HloShape ReadBuffer(HloLexer& lexer, int depth) {
  HloShape buffer;
  buffer.kind = HloShapeKind::kBuffer;
  lexer.Expect('(', "after the b of a buffer shape");
  buffer.elements.push_back(ReadNested(lexer, false, depth + 1));
  lexer.Expect(')', "at the end of a buffer shape");
  return buffer;
}

HloShape ReadArray(HloLexer& lexer, std::size_t at, std::string_view word) {
  HloShape shape;
  if (word == "token" || word == "opaque") {
    shape.kind = word == "token" ? HloShapeKind::kToken : HloShapeKind::kOpaque;
  } else {
    const auto type = FindHloElementType(word);
    if (!type) FailElementType(lexer, at, word);
    shape.kind = HloShapeKind::kArray;
    shape.type = *type;
  }
  lexer.SkipSpace();
  const std::size_t dimensions_at = lexer.at();
  ReadDimensions(lexer, shape);
  if (!IsArray(shape) && !shape.dimensions.empty()) {
    lexer.Fail(dimensions_at, std::string(word) +
                                  " has no dimensions, expected " +
                                  std::string(word) + "[]");
  }
  CheckSize(lexer, at, shape);
  return shape;
}

HloShape ReadNested(HloLexer& lexer, bool body_may_follow, int depth) {
  if (depth > kMaxHloNesting) {
    lexer.Fail(lexer.at(), "shapes nested deeper than 100 levels");
  }
  if (lexer.Peek() == '(') return ReadTuple(lexer, depth);
  const std::size_t at = lexer.at();
  const std::string_view word = lexer.Word("a shape");
  if (word == "b" && lexer.Peek() == '(') return ReadBuffer(lexer, depth);
  HloShape shape = ReadArray(lexer, at, word);
  if (LayoutIsNext(lexer, body_may_follow)) ReadLayout(lexer, shape);
  return shape;
}

}  // namespace

bool ShapeIsNext(HloLexer& lexer) {
  if (lexer.Peek() == '(') return true;
  const std::size_t at = lexer.at();
  const std::string_view word = lexer.PeekWord();
  if (word.empty()) return false;
  lexer.MoveTo(at + word.size());
  const char next = lexer.Peek();
  lexer.MoveTo(at);
  return next == '[' || (word == "b" && next == '(');
}

HloShape ReadShape(HloLexer& lexer, bool body_may_follow) {
  return ReadNested(lexer, body_may_follow, 0);
}

HloShape ParseHloShape(std::string_view text, const std::string& where) {
  HloLexer lexer(text, where);
  try {
    HloShape shape = ReadShape(lexer);
    if (!lexer.AtEnd()) lexer.FailExpected(lexer.at(), "the end of the shape");
    return shape;
  } catch (const HloTextEnds& ends) {
    throw InputError(where, "the text ends, expected " + ends.expected);
  }
}

}  // namespace podsim
