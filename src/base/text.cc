#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

namespace podsim {
namespace {

bool IsContinuationByte(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Levenshtein, one row of the table at a time.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Unlike printf, to_chars does not depend on the locale.
std::string Formatted(double value, std::chars_format format, int digits) {
  constexpr std::size_t kLongestDouble = 320;  // -1.8e308 in full
  std::string text(kLongestDouble + static_cast<std::size_t>(digits), '\0');
  const char* end = std::to_chars(text.data(), text.data() + text.size(), value,
                                  format, digits)
                        .ptr;
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

struct Column {
  bool flush_left = false;
  std::size_t width = 0;
};

// In characters, all taken to be one place wide.
std::size_t Width(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(
                           text.begin(), text.end(), IsContinuationByte));
}

void Widen(const std::vector<std::string>& row, std::vector<Column>& columns) {
  columns.resize(std::max(columns.size(), row.size()));
  for (std::size_t i = 0; i < row.size(); ++i) {
    columns[i].width = std::max(columns[i].width, Width(row[i]));
  }
}

std::string FormatRow(const std::vector<std::string>& row,
                      std::span<const Column> columns) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string padding(columns[i].width - Width(row[i]), ' ');
    line += i == 0 ? "" : "  ";
    line += columns[i].flush_left ? row[i] + padding : padding + row[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::string Join(std::span<const std::string> parts,
                 std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string Nearest(std::string_view word,
                    std::span<const std::string> candidates) {
  const auto nearest = std::ranges::min_element(
      candidates, {}, [word](const std::string& candidate) {
        return EditDistance(word, candidate);
      });
  return nearest == candidates.end() ? "" : *nearest;
}

std::optional<std::string> Similar(std::string_view word,
                                   std::span<const std::string> candidates) {
  const std::string nearest = Nearest(word, candidates);
  if (candidates.empty() || 2 * EditDistance(word, nearest) > word.size()) {
    return std::nullopt;
  }
  return nearest;
}

std::string Shortened(std::string_view text, std::size_t limit) {
  constexpr std::string_view kEllipsis = "...";
  if (text.size() <= limit) return std::string(text);
  std::size_t kept = limit - std::min(limit, kEllipsis.size());
  while (kept > 0 && IsContinuationByte(text[kept])) --kept;
  return std::string(text.substr(0, kept)) + std::string(kEllipsis);
}

std::string Significant(double value, int digits) {
  return Formatted(value, std::chars_format::general, digits);
}

std::string Exact(double value) {
  std::array<char, 32> text;  // the longest is -2.2250738585072014e-308
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string Fixed(double value, int digits) {
  return Formatted(value, std::chars_format::fixed, digits);
}

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::vector<std::string> header = rows[0];
  std::vector<Column> columns(header.size());
  for (std::size_t i = 0; i < header.size(); ++i) {
    columns[i].flush_left = header[i].starts_with('<');
    if (columns[i].flush_left) header[i].erase(0, 1);
  }
  Widen(header, columns);
  for (const auto& row : std::span(rows).subspan(1)) Widen(row, columns);

  std::string table = FormatRow(header, columns);
  for (const auto& row : std::span(rows).subspan(1)) {
    table += FormatRow(row, columns);
  }
  return table;
}

}  // namespace podsim
