#include "report/nccl_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/text.h"

namespace podsim {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kShown = 40;  // bytes of a text that messages quote
constexpr int kMostRanks = 1 << 24;

struct ElementType {
  const char* name;
  int bytes;
};
constexpr ElementType kElementTypes[] = {
    {"int8", 1},   {"uint8", 1},   {"char", 1},     {"int32", 4},
    {"int", 4},    {"uint32", 4},  {"int64", 8},    {"uint64", 8},
    {"half", 2},   {"float16", 2}, {"bfloat16", 2}, {"bf16", 2},
    {"float", 4},  {"float32", 4}, {"double", 8},   {"float64", 8},
    {"f8e4m3", 1}, {"f8e5m2", 1},  {"fp8_e4m3", 1}, {"fp8_e5m2", 1}};

Words WordsOf(std::string_view line) {
  std::istringstream stream{std::string(line)};
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::size_t DigitsAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end - at;
}

bool IsWhole(std::string_view text) {
  return !text.empty() && DigitsAt(text, 0) == text.size();
}

// "-1", "106.5"; also nan and inf, which are refused where they are used.
bool IsDecimal(std::string_view text) {
  if (text == "nan" || text == "-nan" || text == "inf") return true;
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t whole = DigitsAt(text, 0);
  if (whole == 0) return false;
  if (whole == text.size()) return true;
  return text[whole] == '.' && whole + 1 < text.size() &&
         DigitsAt(text, whole + 1) == text.size() - whole - 1;
}

// "2e-07", a difference.
bool IsScientific(std::string_view text) {
  double ignored = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data(), end, ignored, std::chars_format::scientific);
  return error == std::errc() && stop == end;
}

bool IsWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

enum class Column {
  kSize,
  kCount,
  kType,
  kRedop,
  kRoot,
  kTime,
  kAlgbw,
  kBusbw,
  kWrong,  // "error" of old versions: the largest difference
  kOther
};

Column ColumnOf(const std::string& word) {
  constexpr std::pair<const char*, Column> kNames[] = {
      {"size", Column::kSize},    {"count", Column::kCount},
      {"type", Column::kType},    {"redop", Column::kRedop},
      {"root", Column::kRoot},    {"time", Column::kTime},
      {"algbw", Column::kAlgbw},  {"busbw", Column::kBusbw},
      {"#wrong", Column::kWrong}, {"error", Column::kWrong},
  };
  for (const auto& [name, column] : kNames) {
    if (word == name) return column;
  }
  return Column::kOther;
}

// Whether the whole field is what the column holds; else text is glued onto it.
bool Fits(Column column, const std::string& field) {
  switch (column) {
    case Column::kSize:
    case Column::kCount:
      return IsWhole(field);
    case Column::kType:
    case Column::kRedop:
      return IsWord(field);
    case Column::kRoot:
    case Column::kTime:
    case Column::kAlgbw:
    case Column::kBusbw:
      return IsDecimal(field);
    case Column::kWrong:
      return field == "N/A" || IsDecimal(field) || IsScientific(field);
    case Column::kOther:
      break;
  }
  return true;
}

// What mpirun and srun put before a line: "[1,0]<stdout>: " or "0: ".
std::string_view WithoutTag(std::string_view line) {
  std::size_t at = DigitsAt(line, 0);
  if (at > 0 && line.substr(at, 2) == ": ") return line.substr(at + 2);
  if (!line.starts_with('[')) return line;
  at = 1 + DigitsAt(line, 1);
  if (line.substr(at, 1) != ",") return line;
  at += 1 + DigitsAt(line, at + 1);
  for (const std::string_view end : {"]<stdout>:", "]<stderr>:"}) {
    if (line.substr(at).starts_with(end)) return line.substr(at + end.size());
  }
  return line;
}

std::string_view Trimmed(std::string_view line) {
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// "all_gather" of ".../all_gather_perf -b 8"; "" if the line names none.
std::string BenchmarkIn(std::string_view line) {
  const auto end = line.find("_perf");
  if (end == std::string_view::npos) return "";
  if (end + 5 < line.size() && line[end + 5] != ' ') return "";
  std::size_t begin = end;
  while (begin > 0 &&
         (std::islower(static_cast<unsigned char>(line[begin - 1])) != 0 ||
          line[begin - 1] == '_')) {
    --begin;
  }
  return std::string(line.substr(begin, end - begin));
}

class LogReader {
 public:
  explicit LogReader(const std::string& path) { log_.path = path; }

  NcclLog Read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const auto end = std::min(text.find('\n'), text.size());
      ReadLine(Trimmed(WithoutTag(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    FinishRow();
    if (columns_.empty()) {
      throw InputError(
          log_.path,
          "no table of nccl-tests: expected a line \"# size count "
          "type .. time algbw busbw ..\"; record the whole output");
    }
    if (log_.rows.empty()) {
      throw InputError(log_.path,
                       "the table has no rows: nothing was measured");
    }
    const int ranks = listed_ranks_ > 0 ? listed_ranks_ : process_ranks_;
    if (ranks > 0) log_.ranks = ranks;
    return std::move(log_);
  }

 private:
  [[noreturn]] void Fail(int line, const std::string& what) const {
    throw InputError(log_.path + ":" + std::to_string(line), what);
  }
  [[noreturn]] void Fail(const std::string& what) const { Fail(line_, what); }

  void ReadLine(std::string_view line) {
    if (line.empty()) return;
    if (line.starts_with('#')) {
      ReadComment(line.substr(1));
      return;
    }
    const Words words = WordsOf(line);
    if (IsRowStart(words)) {
      FinishRow();
      if (columns_.empty()) {
        Fail(
            "a row of the table stands before its header; record the log from "
            "its first line");
      }
      row_line_ = line_;
      Take(words);
      return;
    }
    if (IsRestOfRow(words)) {
      glued_.clear();
      Take(words);
      return;
    }
    ReadOther(line);
  }

  static bool IsRowStart(const Words& words) {
    return words.size() >= 3 && IsWhole(words[0]) && IsWhole(words[1]) &&
           std::isalpha(static_cast<unsigned char>(words[2][0])) != 0 &&
           IsWord(words[2]);
  }

  // What other text on the line before had cut off.
  bool IsRestOfRow(const Words& words) const {
    if (fields_.empty() || words.size() != columns_.size() - fields_.size()) {
      return false;
    }
    for (std::size_t k = 0; k < words.size(); ++k) {
      if (!Fits(columns_[fields_.size() + k], words[k])) return false;
    }
    return true;
  }

  // Fields up to the first onto which other text is glued. No number begins
  // with 0 and goes on: a count of wrong values that does is 0.
  void Take(const Words& words) {
    for (std::size_t k = 0; k < words.size(); ++k) {
      if (fields_.size() == columns_.size()) return;  // text behind the row
      const Column column = columns_[fields_.size()];
      if (Fits(column, words[k])) {
        fields_.push_back(words[k]);
        continue;
      }
      glued_ = Join(std::span(words).subspan(k), " ");
      if (column == Column::kWrong && words[k][0] == '0') {
        fields_.emplace_back("0");
        glued_.erase(0, 1);
      } else if (column == Column::kRoot && words[k].starts_with("-1")) {
        fields_.emplace_back("-1");
        glued_.erase(0, 2);
      }
      ReadOther(glued_);
      return;
    }
  }

  void FinishRow() {
    if (fields_.empty()) return;
    LoggedRow row;
    row.line = row_line_;
    row.glued = Shortened(glued_, kShown);
    std::optional<LoggedTime>* times[] = {&row.out_of_place, &row.in_place};
    std::size_t block = 0;
    LoggedTime time;
    for (std::size_t k = 0; k < fields_.size(); ++k) {
      const std::string& field = fields_[k];
      switch (columns_[k]) {
        case Column::kSize:
          row.bytes = Whole(field, "size");
          break;
        case Column::kCount:
          row.count = Whole(field, "count");
          break;
        case Column::kType:
          row.element_bytes = ElementBytes(field);
          break;
        case Column::kRedop:
          row.redop = field;
          break;
        case Column::kRoot:
          row.root = Root(field);
          break;
        case Column::kTime:
          time = {.us = Number(field), .algbw = {}, .busbw = {}};
          if (row.bytes > 0 && time.us.value <= 0) {
            Fail(row_line_, "expected a time of more than 0 us, got " + field);
          }
          break;
        case Column::kAlgbw:
          time.algbw = Number(field);
          break;
        case Column::kBusbw:
          time.busbw = Number(field);
          if (!has_wrong_ && block < 2) *times[block++] = time;
          break;
        case Column::kWrong:
          RequireRight(field);
          if (block < 2) *times[block++] = time;
          break;
        case Column::kOther:
          break;
      }
    }
    log_.rows.push_back(std::move(row));
    fields_.clear();
    glued_.clear();
  }

  std::int64_t Whole(const std::string& field,
                     const std::string& column) const {
    std::int64_t value = 0;
    const char* end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, value);
    if (error == std::errc() && stop == end) return value;
    Fail(row_line_, "the " + column + " " + Shortened(field, kShown) +
                        " is too large; expected less than 2^63");
  }

  PrintedNumber Number(const std::string& field) const {
    PrintedNumber number;
    const char* end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, number.value,
                                               std::chars_format::fixed);
    if (error != std::errc() || stop != end || !std::isfinite(number.value)) {
      Fail(row_line_, "expected a finite number, got \"" +
                          Shortened(field, kShown) + "\"");
    }
    const auto point = field.find('.');
    const std::size_t decimals =
        point == std::string::npos ? 0 : field.size() - point - 1;
    number.half = 0.5 * std::pow(10.0, -static_cast<double>(decimals));
    return number;
  }

  int Root(const std::string& field) const {
    const double root = Number(field).value;
    if (root >= -1 && root < kMostRanks) return static_cast<int>(root);
    Fail(row_line_, "expected a root from -1 to " +
                        std::to_string(kMostRanks - 1) + ", got " +
                        Shortened(field, kShown));
  }

  int ElementBytes(const std::string& field) const {
    std::vector<std::string> names;
    for (const ElementType& type : kElementTypes) {
      if (field == type.name) return type.bytes;
      names.emplace_back(type.name);
    }
    Fail(row_line_, "unknown element type \"" + Shortened(field, kShown) +
                        "\"; expected " + Join(names, ", "));
  }

  void RequireRight(const std::string& field) const {
    if (!counts_wrong_ || field == "N/A" || field == "0") return;
    Fail(row_line_, "expected 0 or N/A wrong values, got " + field +
                        ": a run whose data is wrong is no baseline");
  }

  void ReadComment(std::string_view line) {
    const Words words = WordsOf(line);
    if (words.empty()) return;
    const auto has = [&](const char* word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    if (has("size") && has("count") && has("type")) {
      ReadHeader(words);
    } else if (words[0] == "(B)") {
      RequireUnits(words);
    } else if (line.find("Collective test") != std::string_view::npos) {
      SetBenchmark(BenchmarkIn(line));
    } else if (words[0] == "Rank" && words.size() > 1 && IsWhole(words[1])) {
      listed_ranks_ =
          std::max(listed_ranks_, Count(words[1], kMostRanks - 1) + 1);
    } else if (line.find("Out of bounds") != std::string_view::npos) {
      if (has("FAILED")) {
        Fail(
            "the benchmark says that its values are out of bounds; a run "
            "whose data is wrong is no baseline");
      }
    } else if (words[0].starts_with("nThread")) {
      process_ranks_ = 1;
      for (std::size_t k = 0; k + 1 < words.size(); ++k) {
        for (const std::string_view name : {"nThread", "nGpus", "nRanks"}) {
          if (!words[k].starts_with(name) || !IsWhole(words[k + 1])) continue;
          process_ranks_ *= Count(words[k + 1], kMostRanks / process_ranks_);
          process_ranks_ = std::max(process_ranks_, 1);
        }
      }
    }
  }

  void ReadHeader(const Words& words) {
    FinishRow();
    columns_.clear();
    int times = 0;
    has_wrong_ = counts_wrong_ = false;
    for (const std::string& word : words) {
      if (word == "cputime") {
        Fail(
            "\"cputime\" is the time of the host's calls, not of the "
            "collective; run the benchmark without -C");
      }
      columns_.push_back(ColumnOf(word));
      if (columns_.back() == Column::kTime) ++times;
      if (columns_.back() == Column::kWrong) has_wrong_ = true;
      if (word == "#wrong") counts_wrong_ = true;
    }
    for (const char* name : {"time", "algbw", "busbw"}) {
      if (std::find(words.begin(), words.end(), name) == words.end()) {
        Fail(std::string("the header has no column \"") + name +
             "\"; expected size, count, type, time, algbw and busbw");
      }
    }
    if (columns_.front() != Column::kSize || columns_[1] != Column::kCount ||
        columns_[2] != Column::kType) {
      Fail("expected the columns size, count, type first, got \"" +
           Shortened(Join(words, " "), kShown) + "\"");
    }
    log_.has_in_place = times > 1;
  }

  void RequireUnits(const Words& words) const {
    for (const std::string& word : words) {
      if (!word.starts_with('(')) continue;
      if (word == "(B)" || word == "(elements)" || word == "(us)" ||
          word == "(GB/s)") {
        continue;
      }
      Fail("expected the units (B), (us) and (GB/s), got " +
           Shortened(word, kShown));
    }
  }

  void ReadOther(std::string_view line) {
    if (log_.rows.empty() && fields_.empty() && log_.benchmark.empty()) {
      log_.benchmark = BenchmarkIn(line);
    }
    // NCCL INFO: ".. comm 0x2cd50b0 nRanks 32", "rank 3 nranks 8".
    const Words words = WordsOf(line);
    for (std::size_t k = 0; k + 1 < words.size(); ++k) {
      if ((words[k] == "nRanks" || words[k] == "nranks") &&
          IsWhole(words[k + 1])) {
        listed_ranks_ =
            std::max(listed_ranks_, Count(words[k + 1], kMostRanks));
      }
    }
  }

  void SetBenchmark(const std::string& name) {
    if (name.empty() || name == log_.benchmark) return;
    if (!says_benchmark_) {
      log_.benchmark = name;
      says_benchmark_ = true;
      return;
    }
    Fail("a second benchmark, " + name + "_perf after " + log_.benchmark +
         "_perf; keep the log of one");
  }

  int Count(const std::string& word, int most) const {
    int value = 0;
    const auto result =
        std::from_chars(word.data(), word.data() + word.size(), value);
    if (result.ec == std::errc() && value <= most) return value;
    Fail("expected at most " + std::to_string(most) + ", got " +
         Shortened(word, kShown));
  }

  NcclLog log_;
  int line_ = 0;
  std::vector<Column> columns_;
  bool has_wrong_ = false;
  bool counts_wrong_ = false;
  bool says_benchmark_ = false;  // in a comment of its own
  int listed_ranks_ = 0;
  int process_ranks_ = 0;
  // Of the row that is being read; more may follow on a line of its own.
  Words fields_;
  int row_line_ = 0;
  std::string glued_;
};

}  // namespace

bool IsNcclLog(std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (Trimmed(WithoutTag(text.substr(0, end))).starts_with('#')) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

NcclLog ReadNcclLog(const std::string& text, const std::string& path) {
  return LogReader(path).Read(text);
}

}  // namespace podsim
