// parse(write(parse(x))) == parse(x).
#include "hlo/writer.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "hlo/parser.h"
#include "test/hlo/hlo_texts.h"

namespace podsim {
namespace {

void CheckRoundTrip(const std::string& text) {
  const std::vector<HloModule> modules = ParseHlo(text, "read.hlo");
  const std::string written = WriteHlo(modules);
  CAPTURE(written);
  const std::vector<HloModule> again = ParseHlo(written, "written.hlo");
  CHECK((again == modules));  // not expanded: it has no text
  CHECK((WriteHlo(again) == written));
  for (const HloModule& module : modules) {
    if (modules.size() == 1) CHECK((WriteHlo(module) == written));
  }
}

TEST_CASE("a module is written as XLA prints it", "[hlo][writer]") {
  const std::string text =
      R"(HloModule m, is_scheduled=true, replica_count=2, num_partitions=4, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {0,2}, must-alias) }, x={a, "b"}

FileNames
1 "a.py"

%f (x: f32[8], y: (s32[], token[])) -> f32[8] {
  %x = f32[8]{0:T(8)S(1)} parameter(0)
  %y = (s32[]{:S(6)}, token[]) parameter(1)
  %c = f32[2]{0} constant({1, 2})
  ROOT %r = f32[8]{0} custom-call(%x, %y#0), custom_call_target="t", control-predecessors={%c, %y}
}

ENTRY %e (p: f32[8], q: (s32[], token[])) -> f32[8] {
  %p = f32[8]{0} parameter(0), metadata={op_name="n"}
  %q = (s32[], token[]) parameter(1)
  %z = f32[8]{0} fusion(%p, %q), kind=kLoop, calls=%f
  ROOT %w = f32[8]{0} custom-call(%z), custom_call_target="t", called_computations={%f}
}, execution_thread="main"
)";
  CHECK(WriteHlo(ParseOne(text)) == text);
}

TEST_CASE("one instruction is written without its line", "[hlo][writer]") {
  const HloModule module = ParseOne(kSmallModule);
  const auto written = [&](std::size_t computation, const char* name) {
    const HloComputation& parent = module.computations[computation];
    return WriteHlo(module, parent, InstructionOf(parent, name));
  };
  CHECK(written(2, "add.nested.2") ==
        "%add.nested.2 = s32[] add(%b#1, %constant.nested.1)");
  CHECK(written(3, "loop") ==
        "%loop = (f32[8]{0}, s32[]) while(%start), "
        "backend_config={\"known_trip_count\":{\"n\":\"5\"}}, "
        "condition=%cond, body=%body");
}

TEST_CASE("what is written is read as the same module", "[hlo][writer]") {
  const std::string function = "f {\n  x = f32[] parameter(0)\n}\n";
  const std::string head = "ENTRY e {\n  p = f32[] parameter(0)\n  ";
  CheckRoundTrip(kSmallModule);
  CheckRoundTrip(function);
  CheckRoundTrip(kSmallModule + std::string("// -----\n") + function);
  for (const char* line : {
           // Names that are words of the grammar.
           "ROOT ROOT = f32[] copy(p)",
           "ENTRY = f32[] copy(p)\n  f32 = f32[] copy(ENTRY)",
           "a- = f32[] copy(p), x=b->c",
           // Comments in raw parts.
           "c = f32[] constant(1 // one\n)",
           "c = f32[2] constant({1, /* two */ 2})",
           "q = f32[] copy(p), x=a /* b */ c, y=1",
           "q = f32[]{/* none */} copy(p)",
           "q = f32[] copy(p), x={1, // one\n 2}\n  r = f32[] copy(q)",
           // Attributes that would grow together.
           "q = f32[] custom-call(p), custom_call_target=\"x\", "
           "groups=mesh['a'=2], called_computations={f}, device_ids=(0)",
           "q = f32[] custom-call(p), custom_call_target=\"x\", "
           "groups=mesh['a'=2], called_computations={}, device_ids=(0) {'a'}",
           "q = f32[] copy(p), groups=mesh['a'=2], device_ids=(0) {'a'}",
           // Roles with raw values.
           "q = f32[] custom-call(p), custom_call_target=\"x\", calls=5, "
           "to_apply=f",
           "q = f32[] conditional(p, p, p), branch_computations={f,f}",
           // Shapes of every kind.
           "q = (f32[<=4,?,<=?]{2,1,0}, b(f32[8]{0}), token[], opaque[], ()) "
           "custom-call(), custom_call_target=\"\"",
           "q = f32[] parameter(2)\n  r = s4[0]{0:E(4)} parameter(1)",
           // The root is not the last one.
           "ROOT q = f32[] copy(p)\n  r = f32[] copy(p)",
           "q = f32[] add(f32[] copy(p), f32[] copy(p))",
       }) {
    CAPTURE(line);
    CheckRoundTrip(function + head + line + "\n}\n");
  }
  CheckRoundTrip("HloModule m, a={1}, is_scheduled=false, b=\"x\"\n" +
                 function);
  // Tables behind a computation, comments behind their rows.
  CheckRoundTrip(function + "FileNames\n1 \"a\" // one\n2 \"b\"\n// none\n" +
                 "StackFrames\n" + head + "q = f32[] copy(p)\n}\n");
}

TEST_CASE("what is truncated stays truncated", "[hlo][writer]") {
  const std::string text = kSmallModule;
  for (const char* part : {"%cond (c: (f32", "ENTRY %main", "// The cond"}) {
    CAPTURE(part);
    CheckRoundTrip(text.substr(0, text.find(part) + 9));
  }
  const std::string function = "f {\n  x = f32[] parameter(0)\n}\n";
  CheckRoundTrip("ENTRY " + function + "g {");
  CheckRoundTrip(function + "/* g");
  // No entry: the last computation does not call the first.
  const std::string without_entry =
      function + "g {\n  x = f32[] parameter(0)\n}\n";
  CheckRoundTrip(without_entry);
  CheckRoundTrip(without_entry + "// -----\n" + text);
  CheckRoundTrip(text + "// -----\n" + without_entry);
}

TEST_CASE("samples and real files are written and read as the same modules",
          "[hlo][writer][corpus]") {
  for (const std::string& path : HloSamples()) {
    CAPTURE(path);
    CheckRoundTrip(ReadTextFile(path));
  }
  const std::string corpus = HloCorpus();
  if (corpus.empty()) return;
  for (const std::string& path : HloFilesIn(corpus)) {
    CAPTURE(path);
    CheckRoundTrip(ReadTextFile(path));
  }
}

// A module of random functions, each of which calls an older one.
std::string RandomModule(std::mt19937& random) {
  const auto pick = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  const std::vector<std::string> values = {"1",
                                           "{0,1}",
                                           "\"a, }\"",
                                           "mesh['x'=2] {'x'}",
                                           "[2,2]<=[4]T(0)",
                                           "b0f_0io->b0f",
                                           "{\"k\":{\"n\":\"5\"}}",
                                           "-inf",
                                           "{a=1 b=2}"};
  std::string text = pick(2) == 0 ? "HloModule r, x=" + values[0] + "\n" : "";
  const int functions = 1 + pick(4);
  for (int f = 0; f < functions; ++f) {
    text += (f + 1 == functions ? "ENTRY f" : "f") + std::to_string(f) +
            " {\n  i0 = f32[4]{0} parameter(0)\n";
    const int count = 1 + pick(8);
    const int root = 1 + pick(2 * count);  // may be none
    for (int i = 1; i <= count; ++i) {
      const auto operand = [&] { return "i" + std::to_string(pick(i)); };
      text += i == root ? "  ROOT i" : "  i";
      text += std::to_string(i) + " = f32[4]{0} ";
      if (f > 0 && pick(3) == 0) {
        text += "call(" + operand() + "), to_apply=f" + std::to_string(pick(f));
      } else if (pick(3) == 0) {
        text += "add(" + operand() + ", f32[4] negate(" + operand() + "))";
      } else {
        text += "copy(" + operand() + ")";
      }
      if (pick(3) == 0) text += ", control-predecessors={" + operand() + "}";
      const int attributes = pick(4);
      for (int a = 0; a < attributes; ++a) {
        text += ", a" + std::to_string(a) + "=" +
                values[static_cast<std::size_t>(
                    pick(static_cast<int>(values.size())))];
      }
      text += '\n';
    }
    text += "}\n";
  }
  return text;
}

TEST_CASE("random modules are written and read as the same",
          "[hlo][writer][property]") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CheckRoundTrip(RandomModule(random));
  }
}

}  // namespace
}  // namespace podsim
