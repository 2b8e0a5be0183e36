// Parser of GOAL text: a statement per line, as LogGOPSim's txt2bin.re.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "base/text_file.h"
#include "schedule/goal.h"

namespace podsim {
namespace {

constexpr std::int64_t kMostRanks = 1 << 24;
constexpr std::int64_t kMostUnit = 255;  // LogGOPSim stores cpu, nic in a byte
constexpr std::int64_t kMostTag = UINT32_MAX;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordChar(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

// A word, a number, one other character, or the end of a line ("").
struct GoalToken {
  std::string_view text;
  int line = 1;
  int column = 1;
  bool ends_file = false;

  bool ends_line() const { return text.empty(); }
  bool is_label() const { return !text.empty() && IsLetter(text[0]); }
};

// Splits the text; "" stands for every end of a line, and for that of the file.
class GoalTokens {
 public:
  GoalTokens(std::string_view text, const std::string& file)
      : text_(text), file_(file) {
    Advance();
  }

  const GoalToken& peek() const { return next_; }
  GoalToken Take() {
    const GoalToken taken = next_;
    Advance();
    return taken;
  }
  bool at_end() const { return next_.ends_file; }

  [[noreturn]] void Fail(const GoalToken& at, const std::string& what) const {
    throw InputError(
        file_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column),
        what);
  }
  // "expected X, got Y".
  [[noreturn]] void Unexpected(const GoalToken& at,
                               const std::string& expected) const {
    const std::string got = !at.ends_line()
                                ? "\"" + Shortened(at.text, 60) + "\""
                            : at.ends_file ? "the end of the file"
                                           : "the end of the line";
    Fail(at, "expected " + expected + ", got " + got);
  }

 private:
  char At(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  int Column(std::size_t at) const {
    return static_cast<int>(at - line_start_) + 1;
  }
  void StartLine() {
    ++line_;
    line_start_ = at_;
  }

  void SkipComment() {
    const GoalToken start{"/*", line_, Column(at_)};
    const auto end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) Fail(start, "the comment has no \"*/\"");
    while (at_ < end + 2) {
      if (text_[at_++] == '\n') StartLine();
    }
  }
  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (IsBlank(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        SkipComment();
      } else {
        return;
      }
    }
  }

  std::size_t EndOfToken() const {
    std::size_t end = at_ + 1;
    const bool number =
        IsDigit(text_[at_]) || (text_[at_] == '-' && IsDigit(At(end)));
    if (number) {
      while (IsDigit(At(end))) ++end;
    } else if (IsWordChar(text_[at_])) {
      while (IsWordChar(At(end))) ++end;
    }
    return end;
  }

  void Advance() {
    if (ended_line_) {
      StartLine();
      ended_line_ = false;
    }
    SkipBlanks();
    next_ = {{}, line_, Column(at_)};
    if (at_ >= text_.size()) {
      next_.ends_file = true;
    } else if (text_[at_] == '\n') {
      ++at_;
      ended_line_ = true;
    } else {
      const std::size_t end = EndOfToken();
      next_.text = text_.substr(at_, end - at_);
      at_ = end;
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  bool ended_line_ = false;
  GoalToken next_;
};

class GoalParser {
 public:
  GoalParser(std::string_view text, const std::string& file)
      : file_(file), tokens_(text, file) {}

  GoalProgram Parse() && {
    SkipEmptyLines();
    if (tokens_.at_end()) throw InputError(file_, "empty file");
    ExpectWord("num_ranks");
    num_ranks_ = Number("the number of ranks", 1, kMostRanks);
    ExpectEndOfLine();
    for (SkipEmptyLines(); !tokens_.at_end(); SkipEmptyLines()) ReadRank();
    return Collected();
  }

 private:
  void SkipEmptyLines() {
    while (!tokens_.at_end() && tokens_.peek().ends_line()) tokens_.Take();
  }
  void ExpectWord(const char* word) {
    const GoalToken token = tokens_.Take();
    if (token.text != word) {
      tokens_.Unexpected(token, "\"" + std::string(word) + "\"");
    }
  }
  void ExpectEndOfLine() {
    if (!tokens_.peek().ends_line()) {
      tokens_.Unexpected(tokens_.peek(), "the end of the line");
    }
    tokens_.Take();
  }

  std::int64_t Number(const std::string& what, std::int64_t min,
                      std::int64_t max) {
    const GoalToken token = tokens_.Take();
    std::int64_t value = 0;
    const char* const end = token.text.data() + token.text.size();
    const auto [stop, error] = std::from_chars(token.text.data(), end, value);
    if (token.ends_line() || error == std::errc::invalid_argument) {
      tokens_.Unexpected(token, what);
    }
    if (error != std::errc() || stop != end || value < min || value > max) {
      tokens_.Unexpected(token, what + ", " + std::to_string(min) + " to " +
                                    std::to_string(max));
    }
    return value;
  }

  void ReadRank() {
    ExpectWord("rank");
    const GoalToken at = tokens_.peek();
    const auto id =
        static_cast<std::int32_t>(Number("a rank", 0, num_ranks_ - 1));
    if (!ranks_.emplace(id, GoalRank()).second) {
      tokens_.Fail(at, "rank " + std::to_string(id) + " stands twice");
    }
    rank_ = &ranks_[id];
    labels_.clear();
    ExpectWord("{");
    ExpectEndOfLine();
    for (SkipEmptyLines(); tokens_.peek().text != "}"; SkipEmptyLines()) {
      if (tokens_.at_end()) {
        tokens_.Unexpected(tokens_.peek(),
                           "an op or the \"}\" of rank " + std::to_string(id));
      }
      ReadStatement();
    }
    tokens_.Take();
    ExpectEndOfLine();
  }

  // "[LABEL:] OP" or "LABEL requires LABEL".
  void ReadStatement() {
    const GoalToken word = tokens_.Take();
    if (!word.is_label()) {
      tokens_.Unexpected(word, "a label, calc, send, recv or \"}\"");
    }
    const std::string_view next = tokens_.peek().text;
    if (next == "requires" || next == "irequires") {
      ReadWait(word);
    } else if (next == ":") {
      tokens_.Take();
      const auto op = static_cast<std::uint32_t>(rank_->ops.size());
      if (!labels_.emplace(word.text, op).second) {
        tokens_.Fail(word, "the label \"" + Shortened(word.text, 60) +
                               "\" stands twice in this rank");
      }
      ReadOp(tokens_.Take());
    } else if (word.text == "calc" || word.text == "send" ||
               word.text == "recv") {
      ReadOp(word);
    } else {
      tokens_.Unexpected(tokens_.peek(),
                         "\":\", requires or irequires after the label \"" +
                             Shortened(word.text, 60) + "\"");
    }
    ExpectEndOfLine();
  }

  std::uint32_t OpOf(const GoalToken& label) const {
    if (!label.is_label()) tokens_.Unexpected(label, "a label");
    const auto found = labels_.find(label.text);
    if (found == labels_.end()) {
      tokens_.Fail(label, "no op before this line has the label \"" +
                              Shortened(label.text, 60) +
                              "\" in this rank; waits follow the ops that "
                              "they name");
    }
    return found->second;
  }

  void ReadWait(const GoalToken& label) {
    const std::uint32_t op = OpOf(label);
    const bool started = tokens_.Take().text == "irequires";
    const GoalToken other = tokens_.Take();
    const std::uint32_t after = OpOf(other);
    if (op == after) tokens_.Fail(other, "an op cannot wait for itself");
    rank_->waits.push_back({op, after, started});
  }

  void ReadOp(const GoalToken& word) {
    GoalOp op;
    if (word.text == "calc") {
      op.amount = Number("nanoseconds", 0, INT64_MAX);
    } else if (word.text == "send" || word.text == "recv") {
      op.kind = word.text == "send" ? GoalKind::kSend : GoalKind::kRecv;
      ReadMessage(op);
    } else {
      tokens_.Unexpected(word, "calc, send or recv");
    }
    ReadClauses(op, std::string(word.text));
    rank_->ops.push_back(op);
    rank_->lines.push_back(word.line);
  }

  // "4096b to 1" or "4096b from 1".
  void ReadMessage(GoalOp& op) {
    const bool sends = op.kind == GoalKind::kSend;
    const GoalToken at = tokens_.peek();
    op.amount = Number("bytes", 0, INT64_MAX);
    if (sends && op.amount > INT64_MAX - sent_bytes_) {
      tokens_.Fail(at, "the sends come to 2^63 bytes or more");
    }
    if (sends) sent_bytes_ += op.amount;
    ExpectWord("b");
    ExpectWord(sends ? "to" : "from");
    op.peer = static_cast<std::int32_t>(
        Number(sends ? "a rank" : "a rank or -1", sends ? 0 : kAnyGoalRank,
               num_ranks_ - 1));
  }

  // "tag 7 cpu 1 nic 2", in any order.
  void ReadClauses(GoalOp& op, const std::string& kind) {
    std::set<std::string_view> seen;
    while (!tokens_.peek().ends_line()) {
      const GoalToken clause = tokens_.Take();
      const bool calc = op.kind == GoalKind::kCalc;
      if (clause.text == "cpu") {
        op.cpu = static_cast<std::uint8_t>(Number("a cpu", 0, kMostUnit));
      } else if (!calc && clause.text == "nic") {
        op.nic = static_cast<std::uint8_t>(Number("a nic", 0, kMostUnit));
      } else if (!calc && clause.text == "tag") {
        const bool any = op.kind == GoalKind::kRecv;
        op.tag = Number(any ? "a tag or -1" : "a tag", any ? kAnyGoalTag : 0,
                        kMostTag);
      } else {
        tokens_.Unexpected(clause, (calc ? "cpu" : "tag, cpu, nic") +
                                       std::string(" or the end of the line"
                                                   " after this ") +
                                       kind);
      }
      if (!seen.insert(clause.text).second) {
        tokens_.Fail(clause, std::string(clause.text) + " stands twice");
      }
    }
  }

  GoalProgram Collected() {
    GoalProgram program;
    for (std::int32_t id = 0; id < num_ranks_; ++id) {
      const auto found = ranks_.find(id);
      if (found == ranks_.end()) {
        tokens_.Fail(tokens_.peek(),
                     "num_ranks is " + std::to_string(num_ranks_) +
                         ", but there is no rank " + std::to_string(id) +
                         "; write \"rank " + std::to_string(id) +
                         " {\" and \"}\" for an idle one");
      }
      program.ranks.push_back(std::move(found->second));
    }
    return program;
  }

  const std::string& file_;
  GoalTokens tokens_;
  std::int64_t num_ranks_ = 0;
  std::int64_t sent_bytes_ = 0;
  std::map<std::int32_t, GoalRank> ranks_;
  GoalRank* rank_ = nullptr;  // the one that is read
  std::unordered_map<std::string_view, std::uint32_t> labels_;  // of it
};

}  // namespace

bool IsGoalFile(const std::string& path) { return path.ends_with(".goal"); }

GoalProgram ParseGoal(std::string_view text, const std::string& file) {
  return GoalParser(text, file).Parse();
}

GoalProgram ReadGoal(const std::string& path) {
  const std::string text = ReadTextFile(path);
  return ParseGoal(text, path);
}

}  // namespace podsim
