#include "hlo/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr std::size_t kMaxTokenInMessage = 40;

enum CharClass : unsigned char {
  kOther = 0,
  kSpace = 1,
  kWordStart = 2,
  kWordMore = 4,  // also of those that start a word
  kDigit = 8,
};

constexpr std::array<unsigned char, 256> MakeClasses() {
  std::array<unsigned char, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kWordStart | kWordMore;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kWordStart | kWordMore;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kWordMore | kDigit;
  classes['_'] = kWordStart | kWordMore;
  classes['-'] = kWordMore;
  classes['.'] = kWordMore;
  for (const unsigned char c : {' ', '\t', '\r', '\n', '\f', '\v'}) {
    classes[c] = kSpace;
  }
  return classes;
}

constexpr std::array<unsigned char, 256> kClasses = MakeClasses();

bool Is(char c, unsigned char char_class) {
  return (kClasses[static_cast<unsigned char>(c)] & char_class) != 0;
}

std::size_t EndOfWord(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && Is(text[end], kWordMore)) {
    if (text[end] == '-' && text.substr(end + 1, 1) == ">") break;
    ++end;
  }
  return end;
}

char PartnerOf(char open) {
  return open == '(' ? ')' : open == '[' ? ']' : '}';
}

// "// -----", what splits the modules of a test file.
bool IsSeparator(std::string_view comment) {
  const std::string_view dashes = "// -----";
  return comment.starts_with(dashes) &&
         comment.find_first_not_of(" \t\r", dashes.size()) ==
             std::string_view::npos;
}

std::string Hexadecimal(unsigned char byte) {
  constexpr const char* kDigits = "0123456789abcdef";
  return std::string("byte 0x") + kDigits[byte / 16] + kDigits[byte % 16];
}

}  // namespace

bool IsHloWordStart(char c) { return Is(c, kWordStart); }
bool IsHloWordChar(char c) { return Is(c, kWordMore); }

HloLexer::HloLexer(std::string_view text, std::string file)
    : text_(text), file_(std::move(file)) {
  if (text.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

void HloLexer::SkipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (Is(c, kSpace)) {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() &&
               (text_[at_ + 1] == '/' || text_[at_ + 1] == '*')) {
      SkipComment();
    } else {
      return;
    }
  }
}

void HloLexer::SkipComment() {
  if (text_[at_ + 1] == '*') {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) {
      at_ = text_.size();
      throw HloTextEnds{"the \"*/\" of a comment"};
    }
    at_ = end + 2;
    return;
  }
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  if (!separator_ && IsSeparator(text_.substr(at_, end - at_))) {
    separator_ = at_;
  }
  at_ = end;
}

bool HloLexer::AtEnd() {
  SkipSpace();
  return at_ == text_.size();
}

char HloLexer::Peek() { return AtEnd() ? '\0' : text_[at_]; }

bool HloLexer::PeekIs(std::string_view token) {
  SkipSpace();
  return text_.substr(at_, token.size()) == token;
}

bool HloLexer::Accept(char c) {
  if (Peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

bool HloLexer::Accept(std::string_view token) {
  if (!PeekIs(token)) return false;
  at_ += token.size();
  return true;
}

void HloLexer::Expect(char c, const char* context) {
  Expect(std::string_view(&c, 1), context);
}

void HloLexer::Expect(std::string_view token, const char* context) {
  if (Accept(token)) return;
  FailExpected(at_, "'" + std::string(token) + "' " + context);
}

std::string_view HloLexer::PeekWord() {
  SkipSpace();
  if (at_ == text_.size() || !Is(text_[at_], kWordStart)) return {};
  return text_.substr(at_, EndOfWord(text_, at_) - at_);
}

bool HloLexer::AcceptWord(std::string_view word) {
  if (PeekWord() != word) return false;
  at_ += word.size();
  return true;
}

std::string_view HloLexer::Word(const char* expected) {
  const std::string_view word = PeekWord();
  if (word.empty()) FailExpected(at_, expected);
  at_ += word.size();
  return word;
}

std::string_view HloLexer::Name(const char* expected) {
  SkipSpace();
  const std::size_t begin = at_;
  if (at_ < text_.size() && text_[at_] == '%') ++at_;
  if (at_ == text_.size() || !Is(text_[at_], kWordStart)) {
    if (at_ == text_.size()) throw HloTextEnds{expected};
    FailExpected(begin, expected);
  }
  const std::size_t end = EndOfWord(text_, at_);
  const std::string_view name = text_.substr(at_, end - at_);
  at_ = end;
  return name;
}

std::int64_t HloLexer::Integer(const char* expected) {
  SkipSpace();
  std::int64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [end, error] =
      std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) {
    Fail(at_, std::string("number out of range, expected ") + expected);
  }
  if (error != std::errc()) FailExpected(at_, expected);
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

void HloLexer::SkipString() {
  const char quote = text_[at_];
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == quote) {
      ++at_;
      return;
    }
    if (text_[at_] == '\\') ++at_;
  }
  at_ = text_.size();
  throw HloTextEnds{std::string("the closing ") + quote + " of a string"};
}

std::string_view HloLexer::String() {
  const char c = Peek();
  if (c != '"' && c != '\'') FailExpected(at_, "a string");
  const std::size_t begin = at_;
  SkipString();
  return text_.substr(begin, at_ - begin);
}

std::string_view HloLexer::Balanced() {
  SkipSpace();
  const std::size_t begin = at_;
  std::vector<std::size_t> open;
  do {
    SkipSpace();
    if (at_ >= text_.size()) {
      throw HloTextEnds{std::string("a '") + PartnerOf(text_[open.back()]) +
                        "'"};
    }
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      SkipString();
      continue;
    }
    if (c == '(' || c == '[' || c == '{') {
      if (open.size() == kMaxHloNesting) {
        Fail(at_, "brackets nested deeper than 100 levels");
      }
      open.push_back(at_);
    } else if (c == ')' || c == ']' || c == '}') {
      const char partner = PartnerOf(text_[open.back()]);
      if (c != partner) {
        FailExpected(at_, std::string("'") + partner + "' to close the '" +
                              text_[open.back()] + "' of line " +
                              std::to_string(PositionOf(open.back()).line));
      }
      open.pop_back();
    }
    ++at_;
  } while (!open.empty());
  return text_.substr(begin, at_ - begin);
}

bool HloLexer::TakeSeparator() {
  const auto separator = std::exchange(separator_, std::nullopt);
  if (!separator) return false;
  SkipSpace();
  const std::size_t next = at_;
  at_ = *separator;
  SkipSpace();
  if (at_ < next) {
    throw InputError(WhereIs(*separator),
                     "a separator \"// -----\" inside of a module's part, "
                     "expected it between modules");
  }
  separator_.reset();
  return true;
}

HloPosition HloLexer::PositionOf(std::size_t offset) {
  if (offset < known_offset_) {
    known_offset_ = 0;
    known_line_start_ = 0;
    known_line_ = 1;
  }
  std::size_t newline = text_.find('\n', known_offset_);
  while (newline < offset) {
    ++known_line_;
    known_line_start_ = newline + 1;
    newline = text_.find('\n', newline + 1);
  }
  known_offset_ = std::max(offset, known_line_start_);
  return {known_line_, static_cast<int>(offset - known_line_start_) + 1};
}

std::string HloLexer::WhereIs(std::size_t offset) {
  const HloPosition position = PositionOf(offset);
  return file_ + ":" + std::to_string(position.line) + ":" +
         std::to_string(position.column);
}

bool HloLexer::ReachesEnd(std::size_t offset) const {
  std::size_t end = offset;
  if (end < text_.size() && text_[end] == '%') ++end;
  if (end < text_.size() && Is(text_[end], kWordMore)) {
    end = EndOfWord(text_, end);
  } else if (end < text_.size() && std::string_view("<-/").find(text_[end]) !=
                                       std::string_view::npos) {
    ++end;
  }
  return end >= text_.size();
}

std::string HloLexer::Describe(std::size_t offset) const {
  const char c = text_[offset];
  if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F) {
    return Hexadecimal(static_cast<unsigned char>(c));
  }
  std::size_t end = offset + 1;
  const std::string_view two = text_.substr(offset, 2);
  if (two == "->" || two == "<=") {
    ++end;
  } else if (c == '%' || Is(c, kWordMore)) {
    end = std::max(end, EndOfWord(text_, end));
  } else if (static_cast<unsigned char>(c) >= 0x80) {
    return Hexadecimal(static_cast<unsigned char>(c));
  }
  return "'" +
         Shortened(text_.substr(offset, end - offset), kMaxTokenInMessage) +
         "'";
}

void HloLexer::FailExpected(std::size_t offset, const std::string& expected) {
  if (ReachesEnd(offset)) throw HloTextEnds{expected};
  throw InputError(WhereIs(offset),
                   "expected " + expected + ", found " + Describe(offset));
}

void HloLexer::Fail(std::size_t offset, const std::string& what) {
  if (ReachesEnd(offset)) throw HloTextEnds{"more"};
  throw InputError(WhereIs(offset), what);
}

}  // namespace podsim
