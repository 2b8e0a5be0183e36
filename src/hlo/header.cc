#include "hlo/header.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "hlo/attributes.h"
#include "hlo/shape_text.h"

namespace podsim {
namespace {

constexpr std::int64_t kMaxIndex = 1'000'000;

// `what`: without an article.
std::int64_t ReadNumber(HloLexer& lexer, const std::string& what,
                        std::int64_t min, std::int64_t max) {
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::int64_t number = lexer.Integer(("a " + what).c_str());
  if (number < min || number > max) {
    lexer.Fail(at, what + " " + std::to_string(number) + ", expected " +
                       std::to_string(min) + " to " + std::to_string(max));
  }
  return number;
}

// {1, 0}
std::vector<int> ReadIndex(HloLexer& lexer) {
  std::vector<int> index;
  lexer.Expect('{', "of a tuple index");
  if (lexer.Accept('}')) return index;
  do {
    index.push_back(
        static_cast<int>(ReadNumber(lexer, "tuple index", 0, kMaxIndex)));
  } while (lexer.Accept(','));
  lexer.Expect('}', "or ',' in a tuple index");
  return index;
}

// {output}: (parameter, {index}[, may-alias|must-alias])
HloAlias ReadAlias(HloLexer& lexer) {
  HloAlias alias;
  alias.output = ReadIndex(lexer);
  lexer.Expect(':', "after the index of an output");
  lexer.Expect('(', "before the parameter that it aliases");
  alias.parameter = ReadNumber(lexer, "parameter number", 0, kMaxIndex);
  lexer.Expect(',', "after the number of a parameter");
  alias.parameter_index = ReadIndex(lexer);
  if (lexer.Accept(',')) {
    lexer.SkipSpace();
    const std::size_t at = lexer.at();
    const std::string_view kind = lexer.Word("may-alias or must-alias");
    if (kind != "may-alias" && kind != "must-alias") {
      lexer.FailExpected(at, "may-alias or must-alias");
    }
    alias.must_alias = kind == "must-alias";
  }
  lexer.Expect(')', "after an alias");
  return alias;
}

void ReadAliases(HloLexer& lexer, HloModule& module) {
  lexer.Expect('{', "before the aliases");
  if (lexer.Accept('}')) return;
  do {
    module.input_output_alias.push_back(ReadAlias(lexer));
  } while (lexer.Accept(','));
  lexer.Expect('}', "or ',' after an alias");
}

bool ReadBool(HloLexer& lexer) {
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::string_view word = lexer.Word("true or false");
  if (word != "true" && word != "false") {
    lexer.FailExpected(at, "true or false");
  }
  return word == "true";
}

std::int64_t ReadCount(HloLexer& lexer) {
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::int64_t count = lexer.Integer("a number of devices");
  if (count < 1 || count > kMaxHloDevices) {
    lexer.Fail(at, std::to_string(count) + " devices, expected 1 to 131072");
  }
  return count;
}

// Reads the value of an attribute that the module has a field for.
bool ReadKnown(HloLexer& lexer, std::string_view name, HloModule& module) {
  if (name == "is_scheduled") {
    module.is_scheduled = ReadBool(lexer);
  } else if (name == "replica_count") {
    module.replica_count = ReadCount(lexer);
  } else if (name == "num_partitions") {
    module.num_partitions = ReadCount(lexer);
  } else if (name == "input_output_alias") {
    ReadAliases(lexer, module);
  } else {
    return false;
  }
  return true;
}

std::string_view Trimmed(std::string_view text) {
  const char* spaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

// Rows of a table: a number and a string or a list in braces each. Stops behind
// the last one.
void ReadRows(HloLexer& lexer) {
  std::size_t end = lexer.at();
  while (lexer.Peek() >= '0' && lexer.Peek() <= '9') {
    lexer.Integer("the number of a row");
    if (lexer.Peek() == '{') {
      lexer.Balanced();
    } else {
      lexer.String();
    }
    end = lexer.at();
  }
  lexer.MoveTo(end);
}

// The parameter and result shapes of "{(shape, ..)->shape}".
struct EntryLayout {
  std::vector<HloShape> parameters;
  HloShape result;
};

EntryLayout ReadEntryLayout(HloLexer& lexer) {
  EntryLayout layout;
  lexer.Expect('{', "before the layout of the entry");
  layout.parameters = ReadShape(lexer).elements;
  lexer.Expect("->", "before the result's layout");
  layout.result = ReadShape(lexer);
  return layout;
}

bool Fits(const EntryLayout& layout, const HloComputation& computation) {
  const auto shape = [&](int index) -> const HloShape& {
    return computation.instructions[static_cast<std::size_t>(index)].shape;
  };
  return SameDimensions(layout.result, shape(computation.root)) &&
         std::ranges::equal(layout.parameters, computation.parameters,
                            [&](const HloShape& parameter, int index) {
                              return SameDimensions(parameter, shape(index));
                            });
}

}  // namespace

void ReadHloHeader(HloLexer& lexer, HloModule& module) {
  lexer.Expect("HloModule", "at the head of a module");
  module.has_header = true;
  module.name = lexer.Name("the name of the module");
  std::vector<std::string_view> seen;
  ReadAttributes(
      lexer, AfterValue::kComputation,
      [&](std::string_view name, std::size_t at) {
        if (!ReadKnown(lexer, name, module)) return false;
        if (std::ranges::find(seen, name) != seen.end()) {
          lexer.Fail(at, "attribute '" + std::string(name) + "' stands twice");
        }
        seen.push_back(name);
        return true;
      },
      module.attributes);
}

bool AcceptHloTable(HloLexer& lexer, HloModule& module) {
  constexpr std::array<std::string_view, 4> kNames = {
      "FileNames", "FunctionNames", "FileLocations", "StackFrames"};
  const std::string_view word = lexer.PeekWord();
  if (std::ranges::find(kNames, word) == kNames.end()) return false;
  const std::size_t at = lexer.at();
  const auto known = std::ranges::find(module.tables, word, &HloTable::name);
  if (known != module.tables.end()) {
    lexer.Fail(at, "a second table " + std::string(word));
  }
  lexer.MoveTo(at + word.size());
  const std::size_t begin = lexer.at();
  ReadRows(lexer);
  const std::string_view rows = lexer.text().substr(begin, lexer.at() - begin);
  module.tables.push_back({std::string(word), std::string(Trimmed(rows))});
  return true;
}

bool LastComputationFitsHeader(const HloModule& module) {
  const auto layout = std::ranges::find(
      module.attributes, "entry_computation_layout", &HloAttribute::name);
  if (layout == module.attributes.end()) return true;
  HloLexer lexer(layout->value, "");
  try {
    return Fits(ReadEntryLayout(lexer), module.computations.back());
  } catch (const HloTextEnds&) {
    return true;
  } catch (const InputError&) {
    return true;
  }
}

}  // namespace podsim
