// A file that is cut anywhere is refused or marked truncated, with all that is
// whole kept; it never passes for a module.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text_file.h"
#include "hlo/parser.h"
#include "test/hlo/hlo_texts.h"

namespace podsim {
namespace {

// The modules of a text, or nothing where it is refused.
std::optional<std::vector<HloModule>> TryParse(std::string_view text) {
  try {
    return ParseHlo(text, "cut.hlo");
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// Are the computations the first ones of `whole`?
bool IsHeadOf(const HloModule& cut, const HloModule& whole) {
  return cut.computations.size() <= whole.computations.size() &&
         std::equal(cut.computations.begin(), cut.computations.end(),
                    whole.computations.begin(),
                    [](const HloComputation& a, const HloComputation& b) {
                      return a.name == b.name &&
                             a.instructions.size() == b.instructions.size();
                    });
}

struct Outcomes {
  int refused = 0;
  int truncated = 0;
};

// Cuts `text` after each `step` bytes, before its last character that is not
// white space.
Outcomes CutEverywhere(const std::string& text, std::size_t step) {
  const HloModule whole = ParseOne(text);
  const std::size_t end = text.find_last_not_of(" \n");
  Outcomes outcomes;
  for (std::size_t at = 0; at <= end; at += step) {
    CAPTURE(at);
    const auto modules = TryParse(std::string_view(text).substr(0, at));
    if (!modules) {
      ++outcomes.refused;
      continue;
    }
    REQUIRE(modules->size() == 1);
    const HloModule& cut = modules->front();
    REQUIRE(cut.truncated);
    ++outcomes.truncated;
    REQUIRE(IsHeadOf(cut, whole));
  }
  return outcomes;
}

TEST_CASE("every prefix of a small module is refused or truncated",
          "[hlo][prefix]") {
  std::string text = kSmallModule;
  // Behind the entry's '}' there is an attribute; without it, the module ends.
  text.erase(text.find(", execution_thread"));
  text += "\n";
  const Outcomes outcomes = CutEverywhere(text, 1);
  // Refused: up to the end of the first computation, but with its '}'.
  const std::size_t first = text.find("\n}\n") + 2;
  CHECK(outcomes.refused == static_cast<int>(first));
  CHECK(outcomes.truncated ==
        static_cast<int>(text.find_last_of('}') - first) + 1);
}

TEST_CASE("a cut attribute of the last computation does not pass for another",
          "[hlo][prefix]") {
  const std::string text = kSmallModule;
  const HloModule whole = ParseOne(text);
  for (std::size_t at = text.find(", execution_thread") + 1;
       at < text.find_last_of('"') + 1; ++at) {
    CAPTURE(at);
    const auto modules = TryParse(std::string_view(text).substr(0, at));
    REQUIRE(modules);
    CHECK(modules->front().truncated);
    CHECK_FALSE(modules->front().entry);
    CHECK(modules->front().computations.size() == 3);
  }
  CHECK(ParseOne(text.substr(0, text.find_last_of('"') + 1)) == whole);
}

TEST_CASE("the place of the cut is named, and what is whole is kept",
          "[hlo][prefix]") {
  const std::string text = kSmallModule;
  const auto cut_behind = [&](const std::string& part) {
    const auto modules = TryParse(
        std::string_view(text).substr(0, text.find(part) + part.size()));
    REQUIRE(modules);
    return modules->front();
  };
  const HloModule in_header = cut_behind("parameter(0), shar");
  CHECK(in_header.truncated ==
        "line 34: the file ends inside of the computation 'main' that begins "
        "in line 33; expected '=' after the name of an attribute");
  CHECK(in_header.computations.size() == 3);
  CHECK(in_header.open_instructions == 0);
  CHECK_FALSE(in_header.entry);
  const HloModule in_entry = cut_behind("%q = s32[] parameter(1)\n");
  CHECK(in_entry.truncated ==
        "line 36: the file ends inside of the computation 'main' that begins "
        "in line 33; expected the name of an instruction, or '}'");
  CHECK(in_entry.open_instructions == 2);
  // In a comment, between computations: the one above is whole.
  const auto in_comment =
      TryParse("f {\n  x = f32[] parameter(0)\n}\n/* the next");
  REQUIRE(in_comment);
  CHECK(in_comment->front().computations.size() == 1);
  CHECK(in_comment->front().truncated ==
        "line 4: the file ends inside of a comment; expected the \"*/\" of a "
        "comment");
}

TEST_CASE("of two modules, the one that is cut is marked", "[hlo][prefix]") {
  const std::string first = kSmallModule;
  const std::string text = first + "\n// -----\n\n" + first;
  for (std::size_t at = first.size() + 12; at < text.size(); at += 53) {
    CAPTURE(at);
    const auto modules = TryParse(std::string_view(text).substr(0, at));
    if (!modules) continue;
    REQUIRE(modules->size() <= 2);
    CHECK_FALSE(modules->front().truncated);
    if (modules->size() == 2) CHECK(modules->back().truncated);
  }
}

TEST_CASE("prefixes of real files are refused or truncated",
          "[hlo][prefix][corpus]") {
  // Sanitizers make it ten times slower: they get every tenth prefix of the
  // larger file.
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t kLargeStep = 971;
#else
  constexpr std::size_t kLargeStep = 97;
#endif
  const std::string corpus = HloCorpus();
  if (corpus.empty()) return;
  const auto check = [&](const char* name, std::size_t step) {
    CAPTURE(name);
    const std::string text = ReadTextFile(corpus + "/" + name);
    const Outcomes outcomes = CutEverywhere(text, step);
    CHECK(outcomes.truncated > 0);
    CHECK(outcomes.refused > 0);
    CHECK(outcomes.refused + outcomes.truncated >=
          static_cast<int>(text.size() / step));
  };
  check("trn_sharding_fsdp.hlo", 97);
  check("llama31_70b_bf16_16x8.hlo", kLargeStep);
}

}  // namespace
}  // namespace podsim
