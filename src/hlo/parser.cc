#include "hlo/parser.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/text_file.h"
#include "hlo/computation_parser.h"
#include "hlo/header.h"
#include "hlo/lexer.h"
#include "hlo/validate.h"

namespace podsim {
namespace {

std::string Quoted(std::string_view name) {
  return "'" + Shortened(name, 60) + "'";
}

void CheckEncoding(std::string_view text, const std::string& file) {
  if (text.starts_with("\x1F\x8B")) {
    throw InputError(file, "is compressed (gzip); unpack it first");
  }
  if (text.find('\0') != std::string_view::npos) {
    throw InputError(file,
                     "contains a zero byte, expected HLO text; of a binary "
                     "HloModuleProto print the text first, as "
                     "compiled.as_text() does");
  }
}

// "module @jit_f attributes {..", with "#loc = .." before it or not.
void CheckNotMlir(HloLexer& lexer) {
  const std::size_t begin = lexer.at();
  bool is_mlir = lexer.Peek() == '#';
  if (lexer.AcceptWord("module")) {
    is_mlir = lexer.PeekIs("@") || lexer.PeekWord() == "attributes";
  }
  if (is_mlir) {
    throw InputError(lexer.WhereIs(begin),
                     "found MLIR (StableHLO), as lowered.as_text() prints it, "
                     "expected HLO text; compiled.as_text() prints that");
  }
  lexer.MoveTo(begin);
}

// What can be reached by calls from the last computation.
bool AllAreCalledFromLast(const HloModule& module) {
  std::vector<bool> reached(module.computations.size(), false);
  std::vector<int> open = {static_cast<int>(reached.size()) - 1};
  while (!open.empty()) {
    const auto current = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (reached[current]) continue;
    reached[current] = true;
    for (const auto& instruction : module.computations[current].instructions) {
      for (const HloCall& call : instruction.calls) {
        open.push_back(call.computation);
      }
    }
  }
  return std::ranges::find(reached, false) == reached.end();
}

class ModuleParser {
 public:
  explicit ModuleParser(HloLexer& lexer) : lexer_(lexer) {
    module_.file = lexer.file();
  }

  // One module, up to the next header, separator or the end.
  HloModule Read() {
    lexer_.SkipSpace();
    begin_ = lexer_.at();
    try {
      ReadParts();
    } catch (const HloTextEnds& ends) {
      NoteTruncated(ends.expected);
      module_.open_instructions = ends.whole_instructions;
    }
    if (module_.computations.empty()) FailEmpty();
    ResolveCalls();
    ValidateHlo(module_);
    ChooseEntry();
    return std::move(module_);
  }

 private:
  void ReadParts() {
    if (lexer_.PeekWord() == "HloModule") ReadHloHeader(lexer_, module_);
    for (;;) {
      part_ = lexer_.at();
      const bool at_end = lexer_.AtEnd();
      if (lexer_.TakeSeparator() || at_end) return;
      part_ = lexer_.at();
      if (lexer_.PeekWord() == "HloModule") return;
      if (AcceptHloTable(lexer_, module_)) continue;
      ReadComputation();
    }
  }

  void ReadComputation() {
    ParsedHloComputation parsed = ReadHloComputation(lexer_);
    const int index = static_cast<int>(module_.computations.size());
    if (parsed.is_entry && module_.entry) {
      lexer_.Fail(parsed.at,
                  "a second ENTRY, expected one; the first is in line " +
                      std::to_string(At(*module_.entry).line));
    }
    const auto [known, is_new] =
        indices_.emplace(parsed.computation.name, index);
    if (!is_new) {
      lexer_.Fail(parsed.at, "computation " + Quoted(parsed.computation.name) +
                                 " is defined a second time, first in line " +
                                 std::to_string(At(known->second).line));
    }
    if (parsed.is_entry) module_.entry = index;
    for (const PendingHloCall& call : parsed.pending) {
      pending_.push_back({index, call});
    }
    module_.computations.push_back(std::move(parsed.computation));
  }

  HloComputation& At(int index) {
    return module_.computations[static_cast<std::size_t>(index)];
  }

  void NoteTruncated(const std::string& expected) {
    const std::size_t end = lexer_.text().size();
    const int last_line = lexer_.PositionOf(end).line;
    module_.truncated = "line " + std::to_string(last_line) +
                        ": the file ends inside of " + OpenPart() +
                        "; expected " + expected;
    lexer_.MoveTo(end);
  }

  // What the file ends inside of.
  std::string OpenPart() {
    const std::size_t at = std::max(part_, begin_);
    const int line = lexer_.PositionOf(at).line;
    const std::string since = " that begins in line " + std::to_string(line);
    lexer_.MoveTo(at);
    try {
      if (lexer_.AtEnd()) return "a module" + since;
    } catch (const HloTextEnds&) {
      return "a comment";
    }
    try {
      if (lexer_.AcceptWord("HloModule")) return "a header" + since;
      lexer_.AcceptWord("ENTRY");
      return "the computation " + Quoted(lexer_.Name("")) + since;
    } catch (const HloTextEnds&) {
      return "a part" + since;
    } catch (const InputError&) {
      return "a part" + since;
    }
  }

  [[noreturn]] void FailEmpty() {
    if (!module_.truncated) {
      throw InputError(lexer_.WhereIs(begin_),
                       "module " + Quoted(module_.name) +
                           " has no computation, expected at least one");
    }
    throw InputError(lexer_.file(),
                     *module_.truncated + "; no computation is whole");
  }

  void ResolveCalls() {
    for (const auto& [computation, call] : pending_) {
      const auto found = indices_.find(std::string(call.name));
      if (found == indices_.end()) FailUnknown(call);
      At(computation)
          .instructions[static_cast<std::size_t>(call.instruction)]
          .calls[call.call]
          .computation = found->second;
    }
  }

  [[noreturn]] void FailUnknown(const PendingHloCall& call) {
    const std::string ends =
        module_.truncated ? " (" + *module_.truncated + ")" : "";
    throw InputError(
        lexer_.WhereIs(call.at),
        "no computation " + Quoted(call.name) + " in this module" + ends);
  }

  // Without ENTRY, the last computation is it, unless it looks like one of
  // those before the entry: a file cut between two computations.
  void ChooseEntry() {
    if (module_.entry || module_.truncated) return;
    const int last = static_cast<int>(module_.computations.size()) - 1;
    std::string reason;
    if (!LastComputationFitsHeader(module_)) {
      reason = "has other shapes than the header's entry_computation_layout";
    } else if (!AllAreCalledFromLast(module_)) {
      reason = "does not call all the others";
    }
    if (reason.empty()) {
      module_.entry = last;
      module_.warnings.push_back(
          module_.file + ":" + std::to_string(At(last).line) +
          ": no computation is marked ENTRY; the last one, " +
          Quoted(At(last).name) + ", is taken for it");
      return;
    }
    const std::size_t end = lexer_.at();
    module_.truncated = "line " + std::to_string(lexer_.PositionOf(end).line) +
                        ": the module ends without ENTRY, and its last "
                        "computation " +
                        Quoted(At(last).name) + " " + reason;
  }

  HloLexer& lexer_;
  HloModule module_;
  std::size_t begin_ = 0;  // of the module
  std::size_t part_ = 0;   // of the part being read
  std::unordered_map<std::string, int> indices_;
  std::vector<std::pair<int, PendingHloCall>> pending_;
};

// Comments at the end of the text may be unfinished.
bool MoreFollows(HloLexer& lexer) {
  try {
    return !lexer.AtEnd();
  } catch (const HloTextEnds&) {
    throw InputError(lexer.file(), "the file ends inside of a comment");
  }
}

}  // namespace

std::vector<HloModule> ParseHlo(std::string_view text,
                                const std::string& file) {
  CheckEncoding(text, file);
  HloLexer lexer(text, file);
  std::vector<HloModule> modules;
  if (MoreFollows(lexer)) CheckNotMlir(lexer);
  while (MoreFollows(lexer)) {
    lexer.TakeSeparator();
    modules.push_back(ModuleParser(lexer).Read());
  }
  if (modules.empty()) {
    throw InputError(file,
                     "contains no HLO, expected HloModule, ENTRY or a "
                     "computation");
  }
  return modules;
}

std::vector<HloModule> ReadHlo(const std::string& path) {
  return ParseHlo(ReadTextFile(path), path);
}

}  // namespace podsim
