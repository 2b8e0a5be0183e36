#include "base/text.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>

namespace podsim {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("Join puts the separator between the parts only", "[base]") {
  CHECK(Join(Words{}, ", ").empty());
  CHECK(Join(Words{"a"}, ", ") == "a");
  CHECK(Join(Words{"a", "", "c"}, ", ") == "a, , c");
}

TEST_CASE("Split keeps empty parts", "[base]") {
  CHECK(Split("", ',') == Words{""});
  CHECK(Split("a", ',') == Words{"a"});
  CHECK(Split(",a,,b,", ',') == Words{"", "a", "", "b", ""});
}

TEST_CASE("Split undoes Join", "[base][property]") {
  const Words parts =
      GENERATE(Words{"a"}, Words{"", ""}, Words{"x", "yz", "", "w"});
  CHECK(Split(Join(parts, "|"), '|') == parts);
}

TEST_CASE("Nearest takes the smallest edit distance", "[base]") {
  // Distances to "byte": 1 (insert s), 2, 4.
  CHECK(Nearest("byte", Words{"axes", "bites", "bytes"}) == "bytes");
  CHECK(Nearest("bytes", Words{"axes", "bytes"}) == "bytes");
  // "kitten" -> "sitting" is 3 edits, the textbook example; "mitt" is 3 too:
  // k to m, and two letters less. The first wins a tie.
  CHECK(Nearest("kitten", Words{"sitting", "mitt"}) == "sitting");
  CHECK(Nearest("kitten", Words{"mitt", "sitting"}) == "mitt");
  CHECK(Nearest("", Words{"abc", "a"}) == "a");
  CHECK(Nearest("a", Words{}).empty());
}

TEST_CASE("Similar gives up when more than half of the letters are wrong",
          "[base]") {
  CHECK(Similar("abcd", Words{"abxy"}) == "abxy");        // 2 of 4
  CHECK(Similar("abcd", Words{"axyz"}) == std::nullopt);  // 3 of 4
  CHECK(Similar("abc", Words{"axy"}) == std::nullopt);    // 2 of 3
  CHECK(Similar("ab", Words{"abcd", "b"}) == "b");        // 1 of 2
  CHECK(Similar("a", Words{"b"}) == std::nullopt);        // 1 of 1
  CHECK(Similar("", Words{""}) == "");                    // nothing wrong
  CHECK(Similar("a", Words{}) == std::nullopt);
}

TEST_CASE("Shortened keeps to the limit and to whole characters", "[base]") {
  CHECK(Shortened("abcdef", 6) == "abcdef");
  CHECK(Shortened("abcdefg", 6) == "abc...");
  // Two bytes each: "\u00e9\u00e9\u00e9\u00e9", 8 bytes; 7 - 3 = 4 bytes stay,
  // 6 - 3 = 3 would cut the second in two.
  const std::string accents = "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9";
  CHECK(Shortened(accents, 8) == accents);
  CHECK(Shortened(accents, 7) == "\xC3\xA9\xC3\xA9...");
  CHECK(Shortened(accents, 6) == "\xC3\xA9...");
  CHECK(Shortened("abcdef", 0) == "...");
}

TEST_CASE("Significant is %.<digits>g and Fixed %.<digits>f",
          "[base][property]") {
  const double value =
      GENERATE(0.0, -0.0, 1.0, -2.5, 0.1, 999.96, 123456.7, 1e-7, 1e22,
               1.7976931348623157e308, 5e-324, INFINITY);
  const int digits = GENERATE(1, 4, 6, 17);
  std::array<char, 400> expected;
  std::snprintf(expected.data(), expected.size(), "%.*g", digits, value);
  CHECK(Significant(value, digits) == expected.data());
  std::snprintf(expected.data(), expected.size(), "%.*f", digits, value);
  CHECK(Fixed(value, digits) == expected.data());
}

TEST_CASE("a table is flush right but for columns marked with <", "[base]") {
  CHECK(FormatTable({{"<lowering", "steps", "<note"},
                     {"ring", "14", "exact"},
                     {"recursive doubling", "3", ""}}) ==
        "lowering            steps  note\n"
        "ring                   14  exact\n"
        "recursive doubling      3\n");
}

TEST_CASE("columns are as wide as their widest cell in characters", "[base]") {
  // The accent has two bytes and one place.
  CHECK(FormatTable({{"<x", "n"}, {"\xC3\xA9", "12345"}, {"e", "1"}}) ==
        "x      n\n"
        "\xC3\xA9  12345\n"
        "e      1\n");
}

TEST_CASE("a table may be empty, or have short, long and empty rows",
          "[base]") {
  CHECK(FormatTable({}).empty());
  CHECK(FormatTable({{"a"}}) == "a\n");
  CHECK(FormatTable({{"<"}, {"a"}}) == "\na\n");
  CHECK(FormatTable({{"a", "b"}, {"1"}, {}, {"1", "2", "333"}}) ==
        "a  b\n"
        "1\n"
        "\n"
        "1  2  333\n");
}

TEST_CASE("exact numbers are short and parse back to the same double",
          "[base]") {
  CHECK(Exact(0) == "0");
  CHECK(Exact(1e-6) == "1e-06");
  CHECK(Exact(90e9) == "9e+10");
  CHECK(Exact(17179869184) == "17179869184");
  for (const double value :
       {0.1, 1.0 / 3, 6.004200000000002e-06, -2.2250738585072014e-308,
        1.7976931348623157e308}) {
    CHECK(std::stod(Exact(value)) == value);
  }
}

}  // namespace
}  // namespace podsim
