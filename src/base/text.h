#ifndef PODSIM_BASE_TEXT_H_
#define PODSIM_BASE_TEXT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace podsim {

// "a", "b" -> "a, b".
std::string Join(std::span<const std::string> parts,
                 std::string_view separator);
std::vector<std::string> Split(std::string_view text, char separator);

// The candidate with the smallest edit distance to `word`.
std::string Nearest(std::string_view word,
                    std::span<const std::string> candidates);
// Nearest, unless more than half the letters of `word` are wrong: what a "did
// you mean" may suggest.
std::optional<std::string> Similar(std::string_view word,
                                   std::span<const std::string> candidates);

// The text, cut to `limit` bytes that end in "..." if longer. Does not cut a
// UTF-8 character in two.
std::string Shortened(std::string_view text, std::size_t limit);

// printf-style %.<digits>g.
std::string Significant(double value, int digits);
// The shortest text that parses back to the same double.
std::string Exact(double value);
// printf-style %.<digits>f.
std::string Fixed(double value, int digits);

// Rows of text in columns, first row the header; numbers flush right. A column
// is flush left if its header starts with '<' (not printed).
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace podsim

#endif  // PODSIM_BASE_TEXT_H_
