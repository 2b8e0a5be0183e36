#ifndef PODSIM_HLO_ATTRIBUTES_H_
#define PODSIM_HLO_ATTRIBUTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/lexer.h"
#include "hlo/module.h"

namespace podsim {

// What may follow the value of an attribute without a comma.
enum class AfterValue : std::uint8_t {
  kComputation,  // in a header, after a computation: any name
  kInstruction,  // in a computation: "name =", ROOT
};

// The value after "name=", as written, found by matching brackets: up to a ','
// or closing bracket, the next instruction or computation. The device_ids of a
// mesh belong to it although a comma stands before them.
std::string_view ReadAttributeValue(HloLexer& lexer, AfterValue after);

// Reads ", name=value, .." into `attributes`; a name that stands twice and more
// than 256 are errors. `before` may take an attribute for itself: it has read
// "name=" and returns whether it read the value, too.
template <class Before>
void ReadAttributes(HloLexer& lexer, AfterValue after, Before before,
                    std::vector<HloAttribute>& attributes);

// Parts of raw values. All return nothing for text of another form.
// "{1,0}" -> 1, 0; also without braces for a single number.
std::optional<std::vector<std::int64_t>> ParseIntegerList(
    std::string_view text);
std::optional<std::int64_t> ParseWholeInteger(std::string_view text);
// Quotes and C escapes removed, if the text is quoted.
std::string Unquoted(std::string_view text);
// The value of `key` in a JSON-like object: keys with or without quotes, ':' or
// '=' after them. As written, nested values are not searched.
std::optional<std::string_view> FindJsonLike(std::string_view object,
                                             std::string_view key);

// The call role of an attribute of an instruction, if it names computations.
std::optional<HloCallRole> CallRoleOf(std::string_view attribute,
                                      std::string_view opcode);

void CheckNewAttribute(HloLexer& lexer, std::size_t at, std::string_view name,
                       const std::vector<HloAttribute>& attributes);

template <class Before>
void ReadAttributes(HloLexer& lexer, AfterValue after, Before before,
                    std::vector<HloAttribute>& attributes) {
  while (lexer.Accept(',')) {
    lexer.SkipSpace();
    const std::size_t at = lexer.at();
    const std::string_view name = lexer.Word("the name of an attribute");
    lexer.Expect('=', "after the name of an attribute");
    CheckNewAttribute(lexer, at, name, attributes);
    if (before(name, at)) continue;
    const std::string_view value = ReadAttributeValue(lexer, after);
    attributes.push_back({std::string(name), std::string(value)});
  }
}

}  // namespace podsim

#endif  // PODSIM_HLO_ATTRIBUTES_H_
