#ifndef PODSIM_HLO_LEXER_H_
#define PODSIM_HLO_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace podsim {

// The text ends where more is needed. Caught where a module is read, which then
// counts as truncated.
struct HloTextEnds {
  std::string expected;        // "')' after the operands"
  int whole_instructions = 0;  // of the computation that is cut
};

struct HloPosition {
  int line = 1;
  int column = 1;
};

// Reads tokens of HLO text one after another. White space and comments before
// a token are skipped. What cannot be a prefix of valid text throws InputError
// "file:LINE:COLUMN: expected .., found ..", what can throws HloTextEnds.
// The text must outlive it; results are views of the text.
class HloLexer {
 public:
  HloLexer(std::string_view text, std::string file);

  std::string_view text() const { return text_; }
  const std::string& file() const { return file_; }
  // The next byte to read.
  std::size_t at() const { return at_; }
  void MoveTo(std::size_t at) { at_ = at; }

  void SkipSpace();
  bool AtEnd();
  char Peek();  // the next character, '\0' at the end
  bool PeekIs(std::string_view token);
  bool Accept(char c);
  bool Accept(std::string_view token);
  void Expect(char c, const char* context);
  void Expect(std::string_view token, const char* context);

  // [A-Za-z_][A-Za-z0-9_.-]*, without the '-' of a "->"; empty if none is next.
  std::string_view PeekWord();
  bool AcceptWord(std::string_view word);
  std::string_view Word(const char* expected);
  // A word with or without '%' before it; the '%' is dropped.
  std::string_view Name(const char* expected);
  std::int64_t Integer(const char* expected);
  // With its quotes.
  std::string_view String();
  // From an opening bracket to its partner; strings and comments inside are
  // skipped. At most 100 levels.
  std::string_view Balanced();

  // True once after a comment "// -----" was skipped. Throws InputError if
  // something else than space and comments stands between it and the next
  // token.
  bool TakeSeparator();

  HloPosition PositionOf(std::size_t offset);
  std::string WhereIs(std::size_t offset);  // "file:LINE:COLUMN"
  // Throws HloTextEnds if the token at `offset` reaches the end of the text,
  // else InputError "expected <expected>, found <token>".
  [[noreturn]] void FailExpected(std::size_t offset,
                                 const std::string& expected);
  // The same with a message of its own.
  [[noreturn]] void Fail(std::size_t offset, const std::string& what);

 private:
  bool ReachesEnd(std::size_t offset) const;
  std::string Describe(std::size_t offset) const;
  void SkipComment();
  void SkipString();

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  std::optional<std::size_t> separator_;  // the first since it was taken
  // PositionOf goes on from the last offset asked for.
  std::size_t known_offset_ = 0;
  std::size_t known_line_start_ = 0;
  int known_line_ = 1;
};

// Limit of nested brackets, tuples and operands, which also bounds recursion.
inline constexpr int kMaxHloNesting = 100;

bool IsHloWordStart(char c);
bool IsHloWordChar(char c);

}  // namespace podsim

#endif  // PODSIM_HLO_LEXER_H_
