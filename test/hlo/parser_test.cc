#include "hlo/parser.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "hlo/module.h"
#include "hlo/replica_groups.h"
#include "test/hlo/hlo_texts.h"
#include "test/support/error_of.h"
#include "test/support/temporary_file.h"

namespace podsim {
namespace {

HloShape Shape(const std::string& text) { return ParseHloShape(text, "shape"); }

std::vector<std::string> NamesIn(const HloComputation& computation) {
  std::vector<std::string> names;
  for (const auto& instruction : computation.instructions) {
    names.push_back(instruction.name);
  }
  return names;
}

std::vector<std::string> OperandsOf(const HloComputation& computation,
                                    const std::string& name) {
  std::vector<std::string> names;
  for (const auto& operand : InstructionOf(computation, name).operands) {
    names.push_back(computation.instructions
                        .at(static_cast<std::size_t>(operand.instruction))
                        .name);
    for (const int i : operand.path) names.back() += "#" + std::to_string(i);
  }
  return names;
}

// The value as written, or "none".
std::string Attribute(const HloInstruction& instruction,
                      const std::string& name) {
  const std::string* value = FindAttribute(instruction, name);
  return value == nullptr ? "none" : *value;
}

// An entry of these lines; p is f32[8], t is (f32[8], (s32[], f32[2])).
HloComputation Entry(const std::string& lines) {
  return ParseOne(
             "ENTRY e {\n  p = f32[8]{0} parameter(0)\n"
             "  t = (f32[8]{0}, (s32[], f32[2]{0})) parameter(1)\n" +
             lines + "\n}\n")
      .computations.at(0);
}

TEST_CASE("a module is read with its header and tables", "[hlo][parser]") {
  const HloModule module = ParseOne(kSmallModule);
  CHECK(module.has_header);
  CHECK(module.name == "small");
  CHECK(module.is_scheduled);
  CHECK(module.replica_count == 1);
  CHECK(module.num_partitions == 4);
  REQUIRE(module.input_output_alias.size() == 1);
  CHECK(module.input_output_alias[0] ==
        HloAlias{{0}, 0, {}, /*must_alias=*/true});
  REQUIRE(module.attributes.size() == 2);
  CHECK(module.attributes[0].name == "entry_computation_layout");
  CHECK(module.attributes[0].value ==
        "{(f32[8]{0}, s32[])->(f32[8]{0}, s32[])}");
  CHECK(module.attributes[1].value == R"({note="}, \"{"})");
  REQUIRE(module.tables.size() == 2);
  CHECK(module.tables[0] == HloTable{"FileNames", "1 \"a.py\"\n2 'b.py'"});
  CHECK(module.tables[1] ==
        HloTable{"StackFrames", "1 {file_location_id=1 parent_frame_id=1}"});
  CHECK_FALSE(module.truncated);
  CHECK(module.warnings.empty());
}

TEST_CASE("computations and their calls are read", "[hlo][parser]") {
  const HloModule module = ParseOne(kSmallModule);
  REQUIRE(module.computations.size() == 4);
  CHECK(module.entry == 3);
  const HloComputation& main = module.computations[3];
  CHECK(main.name == "main");
  CHECK(NamesIn(main) == std::vector<std::string>{"p", "q", "start", "loop"});
  CHECK(main.root == 3);
  CHECK(main.parameters == std::vector<int>{0, 1});
  REQUIRE(main.attributes.size() == 1);
  CHECK(main.attributes[0] == HloAttribute{"execution_thread", "\"main\""});
  const HloInstruction& loop = InstructionOf(main, "loop");
  CHECK(loop.opcode == "while");
  CHECK(FindCall(loop, HloCallRole::kCondition) == 1);
  CHECK(FindCall(loop, HloCallRole::kBody) == 2);
  CHECK(FindCall(loop, HloCallRole::kToApply) == std::nullopt);
  CHECK(Attribute(loop, "condition") == "none");
  CHECK(Attribute(loop, "backend_config") ==
        R"({"known_trip_count":{"n":"5"}})");
  CHECK(InstructionOf(main, "start").control_predecessors ==
        std::vector<int>{1});
  CHECK(Attribute(InstructionOf(main, "p"), "sharding") ==
        "{devices=[4]<=[4]}");
}

TEST_CASE("nested operands become instructions before their reader",
          "[hlo][parser]") {
  const HloModule module = ParseOne(kSmallModule);
  const HloComputation& body = module.computations[2];
  CHECK(NamesIn(body) == std::vector<std::string>{"b", "data", "all",
                                                  "constant.nested.1",
                                                  "add.nested.2", "out"});
  CHECK(OperandsOf(body, "add.nested.2") ==
        std::vector<std::string>{"b#1", "constant.nested.1"});
  CHECK(OperandsOf(body, "out") ==
        std::vector<std::string>{"all", "add.nested.2"});
  CHECK(InstructionOf(body, "out").opcode == "tuple");
  CHECK(InstructionOf(body, "data").shape.memory_space == 1);
  // A comma stands before the ids, and they still belong to the value.
  CHECK(Attribute(InstructionOf(body, "all"), "replica_groups") ==
        "mesh['a'=2,'b'=2], device_ids=(3,2,1,0) {'b'}");
  CHECK(Attribute(InstructionOf(body, "all"), "channel_id") == "1");
  CHECK(InferDevices(module).partitions == 4);
}

TEST_CASE("positions are those of names, opcodes of nested operands",
          "[hlo][parser]") {
  const HloModule module = ParseOne(
      "ENTRY e {\n  p = f32[8] parameter(0)\n"
      "\tROOT %sum = f32[8]\n   add(p, f32[8] negate(p))\n}\n");
  const HloComputation& entry = module.computations[0];
  CHECK(entry.line == 1);
  CHECK(WhereIs(module, InstructionOf(entry, "p")) == "test.hlo:2:3");
  CHECK(WhereIs(module, InstructionOf(entry, "sum")) == "test.hlo:3:7");
  CHECK(WhereIs(module, InstructionOf(entry, "negate.nested.1")) ==
        "test.hlo:4:18");
}

TEST_CASE("names may have '%' or not, shapes may stand before operands",
          "[hlo][parser]") {
  const HloComputation entry = Entry(
      "  %a.1-b_2 = f32[8]{0} copy(f32[8]{0} %p)\n"
      "  c = f32[8]{0} add(a.1-b_2, f32[8] %p), metadata={op_name=\"x\"}\n"
      "  ROOT r = f32[8] add(/*index=0*/ %c, (f32[8]{0}, (s32[], f32[2]{0})) "
      "%t#0)");
  CHECK(OperandsOf(entry, "a.1-b_2") == std::vector<std::string>{"p"});
  CHECK(OperandsOf(entry, "c") == std::vector<std::string>{"a.1-b_2", "p"});
  CHECK(OperandsOf(entry, "r") == std::vector<std::string>{"c", "t#0"});
}

TEST_CASE("words of the grammar may be names", "[hlo][parser]") {
  const HloComputation entry = Entry(
      "  ROOT = f32[8] copy(p)\n  ENTRY = f32[8] copy(ROOT)\n"
      "  %all-gather = f32[8] copy(ENTRY)\n  f32 = f32[8] copy(%all-gather)\n"
      "  b = f32[8] copy(f32), parameter=x\n  ROOT constant = f32[8] copy(b)");
  CHECK(NamesIn(entry) == std::vector<std::string>{"p", "t", "ROOT", "ENTRY",
                                                   "all-gather", "f32", "b",
                                                   "constant"});
  CHECK(entry.root == 7);
  CHECK(OperandsOf(entry, "constant") == std::vector<std::string>{"b"});
}

TEST_CASE("line ends, spaces and comments may stand anywhere",
          "[hlo][parser]") {
  const std::string tight =
      "ENTRY e{p=f32[8]{0}parameter(0) ROOT q=f32[8]{0}add(p,p),x={1},y=2}";
  const std::string loose =
      "// head\r\n ENTRY\r\n%e {\r\n\t%p /*a*/ = f32 [ 8 ] {0} parameter ( 0 )"
      " // b\r\n ROOT %q = f32[8]{0} add ( %p // c\n, %p ) , x = {1} ,\n"
      " y = 2 /* d */ } // e";
  CHECK(ParseOne(tight) == ParseOne(loose));
  CHECK(ParseOne("\xEF\xBB\xBF" + tight) == ParseOne(tight));
}

TEST_CASE("without ROOT the last instruction is the root", "[hlo][parser]") {
  const HloComputation last =
      Entry("  q = f32[8] copy(p)\n  r = f32[8] copy(p)");
  CHECK(last.root == 3);
  const HloComputation nested = Entry("  q = f32[8] copy(f32[8] negate(p))");
  CHECK(nested.instructions.at(static_cast<std::size_t>(nested.root)).name ==
        "q");
  const HloComputation first =
      Entry("  ROOT q = f32[8] copy(p)\n  r = f32[8] copy(p)");
  CHECK(first.root == 2);
}

TEST_CASE("without ENTRY the last computation is the entry, with a warning",
          "[hlo][parser]") {
  const HloModule module = ParseOne(
      "f {\n  x = f32[] parameter(0)\n}\n"
      "g {\n  x = f32[] parameter(0)\n  y = f32[] call(x), to_apply=f\n}\n");
  CHECK_FALSE(module.has_header);
  CHECK(module.name.empty());
  CHECK(module.entry == 1);
  CHECK(module.warnings ==
        std::vector<std::string>{
            "test.hlo:4: no computation is marked ENTRY; the last one, 'g', is "
            "taken for it"});
  // The entry need not be the last one, nor computations be called below.
  const HloModule first = ParseOne(
      "ENTRY g {\n  x = f32[] parameter(0)\n  y = f32[] call(x), "
      "to_apply=f\n}\nf {\n  x = f32[] parameter(0)\n}\n");
  CHECK(first.entry == 0);
  CHECK(FindCall(first.computations[0].instructions[1],
                 HloCallRole::kToApply) == 1);
}

TEST_CASE("a last computation that is no entry means a truncated module",
          "[hlo][parser]") {
  const std::string f = "f {\n  x = f32[] parameter(0)\n}\n";
  const HloModule uncalled = ParseOne(f + "g {\n  x = f32[] parameter(0)\n}\n");
  CHECK_FALSE(uncalled.entry);
  CHECK(uncalled.truncated ==
        "line 7: the module ends without ENTRY, and its last computation 'g' "
        "does not call all the others");
  const HloModule other = ParseOne(
      "HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}\n" + f);
  CHECK_FALSE(other.entry);
  CHECK(other.truncated ==
        "line 5: the module ends without ENTRY, and its last computation 'f' "
        "has other shapes than the header's entry_computation_layout");
}

TEST_CASE("a file may have several modules", "[hlo][parser]") {
  const std::string entry = "ENTRY e {\n  x = f32[] parameter(0)\n}\n";
  const auto names = [](const std::string& text) {
    std::vector<std::string> found;
    for (const HloModule& module : ParseHlo(text, "test.hlo")) {
      found.push_back(module.name);
      CHECK(module.entry == 0);
      CHECK_FALSE(module.truncated);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(names("HloModule a\n" + entry + "// -----\nHloModule b\n" + entry) ==
        Names{"a", "b"});
  CHECK(names("HloModule a\n" + entry + "HloModule b\n" + entry) ==
        Names{"a", "b"});
  CHECK(names(entry + "\n// -----\n\n" + entry + "// -----  \r\n") ==
        Names{"", ""});
  CHECK(names("// -----\n" + entry + "// -----\n// -----\n" + entry) ==
        Names{"", ""});
  // Only a comment.
  CHECK(names("// ------ a\n" + entry) == Names{""});
}

TEST_CASE("raw values keep brackets, strings and odd JSON", "[hlo][parser]") {
  const std::vector<std::string> values = {
      "{1,0}",
      "true",
      "-1",
      "1.5e-3",
      "bf01_io01->bf01",
      "0_1x-2_3",
      "{size=3x3 pad=0_1x0_1 rhs_reversal=1x1}",
      "{\"a\":{\"b\":[1,2,{\"c\":\"}\"}]}}",
      "{sizes: [16,16], eps = 9.9e-06}",
      "\"{\\\"n\\\": \\\"5\\\"}\"",
      "'single \"quoted\"'",
      "{{0,1},{2,3}}",
      "[2,4]<=[4,2]T(1,0)",
      "mesh['x'=4,'y'=2] {'x'}",
      "mesh['x'=2], device_ids=([2]T(0)) {'x'}",
      "maximal_mesh[device_id=3]",
      "{devices=[2,1,2]<=[4] last_tile_dim_replicate metadata={a=\"x\"}}",
      "nan(0x7)",
      "{/*comment, with } and \" */ 1}",
      "{}",
      "\"\"",
      "b01f_01io->b01f",
      "{(f32[8]{0}, s32[])->f32[8]{0}}",
      "?01_1->b",
  };
  std::string attributes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    attributes += ", a" + std::to_string(i) + "=" + values[i];
  }
  // Behind the last value: an instruction, ROOT, or the end.
  for (const std::string after :
       {"\n  r = f32[8] copy(q)", "\n  %r = f32[8] copy(q)",
        "\n  ROOT r = f32[8] copy(q)", ""}) {
    const HloComputation entry =
        Entry("  q = f32[8] copy(p)" + attributes + after);
    CHECK(entry.instructions.size() == (after.empty() ? 3U : 4U));
    const HloInstruction& q = InstructionOf(entry, "q");
    REQUIRE(q.attributes.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(q.attributes[i].name == "a" + std::to_string(i));
      CHECK(q.attributes[i].value == values[i]);
    }
  }
  // The last value alone, whichever it is, ends at the next instruction.
  for (const std::string& value : values) {
    CAPTURE(value);
    const HloComputation entry =
        Entry("  q = f32[8] copy(p), a=" + value + "\n  r = f32[8] copy(q)");
    CHECK(Attribute(InstructionOf(entry, "q"), "a") == value);
    CHECK(entry.instructions.size() == 4);
  }
}

TEST_CASE("literals are kept as written", "[hlo][parser]") {
  for (const std::string literal :
       {"0", "-inf", "nan", "{...}", "{ {1, 2}, {3, 4} }", "true", "(1, -2)",
        "1e-30", "\"a)b\"", "({1,2}, 3)", "nan(0x400000)", ""}) {
    CAPTURE(literal);
    const HloComputation entry =
        Entry("  c = f32[2,2]{1,0} constant( " + literal + " )");
    CHECK(InstructionOf(entry, "c").literal == literal);
    CHECK(InstructionOf(entry, "c").operands.empty());
  }
}

TEST_CASE("shapes that the text leaves out follow from the operands",
          "[hlo][parser]") {
  const HloComputation entry = Entry(
      "  a = add(p, p)\n  lt = compare(p, a), direction=LT\n"
      "  pair = tuple(p, lt)\n  second = get-tuple-element(pair), index=1\n"
      "  s = select(lt, p, a)\n  inner = get-tuple-element(t), index=1\n"
      "  m = multiply(p, t#0)");
  const auto shape = [&](const char* name) {
    return ToText(InstructionOf(entry, name).shape);
  };
  CHECK(shape("a") == "f32[8]{0}");
  CHECK(shape("lt") == "pred[8]");
  CHECK(shape("pair") == "(f32[8]{0}, pred[8])");
  CHECK(shape("second") == "pred[8]");
  CHECK(shape("s") == "f32[8]{0}");
  CHECK(shape("inner") == "(s32[], f32[2]{0})");
  CHECK(shape("m") == "f32[8]{0}");
  const HloModule typed = ParseOne(
      "ENTRY e (x: f32[4]) -> f32[4] {\n  x = parameter(0)\n"
      "  ROOT y = negate(x)\n}\n");
  CHECK(typed.computations[0].instructions[1].shape == Shape("f32[4]"));
}

TEST_CASE("a shape that the text leaves out may not grow without bound",
          "[hlo][parser][bad]") {
  // Doubles with every line: 2^40 parts.
  std::string lines = "  x0 = tuple(p, p)";
  for (int i = 1; i <= 40; ++i) {
    const std::string last = "x" + std::to_string(i - 1);
    lines +=
        "\n  x" + std::to_string(i) + " = tuple(" + last + ", " + last + ")";
  }
  // 3, 7, 15 parts; 31 are too many.
  CHECK(ErrorOf([&] {
          Entry(lines);
        }).starts_with("test.hlo:7:3: the shape of this tuple is missing"));
  // 2^48 bytes of four bits each, compared: 2^49 bytes.
  CHECK(ErrorOf([&] {
          Entry(
              "  x = s4[16777216,33554432] iota(), iota_dimension=0\n"
              "  y = compare(x, x), direction=LT");
        }).starts_with("test.hlo:5:3: the shape of this compare is missing"));
}

TEST_CASE("paths lead into tuples of tuples", "[hlo][parser]") {
  const HloComputation entry = Entry("  x = f32[2]{0} copy(t#1#1)");
  const HloOperand& operand = InstructionOf(entry, "x").operands.at(0);
  CHECK(operand == HloOperand{1, {1, 1}});
  CHECK(ShapeOf(entry, operand) == Shape("f32[2]{0}"));
}

TEST_CASE("each attribute that calls has its role", "[hlo][parser]") {
  const HloModule module = ParseOne(
      "f {\n  x = f32[] parameter(0)\n}\n"
      "g {\n  x = f32[] parameter(0)\n  y = f32[] negate(x)\n}\n"
      "h {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
      "  z = f32[] add(x, y)\n}\n"
      "ENTRY e {\n  p = f32[] parameter(0)\n  i = s32[] parameter(1)\n"
      "  a = f32[] conditional(i, p, p), branch_computations={f, %g}\n"
      "  b = f32[] conditional(i, p, p), true_computation=f, "
      "false_computation=g\n"
      "  c = f32[] fusion(p), kind=kLoop, calls=%f\n"
      "  d = f32[] custom-call(p), custom_call_target=\"x\", "
      "called_computations={f}\n"
      "  k = f32[] select-and-scatter(p, p, p), select=h, scatter=h\n"
      "  l = f32[] copy(p), select=h\n"
      "  m = f32[] custom-call(p), custom_call_target=\"x\", "
      "called_computations={}\n}\n");
  const HloComputation& entry = module.computations[3];
  const auto calls = [&](const char* name) {
    return InstructionOf(entry, name).calls;
  };
  using Calls = std::vector<HloCall>;
  CHECK(calls("a") ==
        Calls{{HloCallRole::kBranch, 0}, {HloCallRole::kBranch, 1}});
  CHECK(calls("b") == Calls{{HloCallRole::kTrueComputation, 0},
                            {HloCallRole::kFalseComputation, 1}});
  CHECK(calls("c") == Calls{{HloCallRole::kCalls, 0}});
  CHECK(calls("d") == Calls{{HloCallRole::kCalledComputation, 0}});
  CHECK(calls("k") ==
        Calls{{HloCallRole::kSelect, 2}, {HloCallRole::kScatter, 2}});
  CHECK(calls("l").empty());
  CHECK(Attribute(InstructionOf(entry, "l"), "select") == "h");
  CHECK(calls("m").empty());
}

TEST_CASE("values are found by name and type", "[hlo][parser]") {
  const HloModule module = ParseOne(
      "ENTRY e {\n  p = f32[8] parameter(0), n=-7, yes=true, no=false, "
      "list={3,-1}, one=5, none={}, text=\"a \\\"b\\\" \\n\", bare=word\n}\n");
  const HloInstruction& p = module.computations[0].instructions[0];
  CHECK(FindInteger(module, p, "n") == -7);
  CHECK_FALSE(FindInteger(module, p, "absent"));
  CHECK(FindBool(module, p, "yes") == true);
  CHECK(FindBool(module, p, "no") == false);
  using List = std::vector<std::int64_t>;
  CHECK(FindIntegers(module, p, "list") == List{3, -1});
  CHECK(FindIntegers(module, p, "one") == List{5});
  CHECK(FindIntegers(module, p, "none") == List{});
  CHECK(FindText(p, "text") == "a \"b\" \n");
  CHECK(FindText(p, "bare") == "word");
  CHECK_FALSE(FindText(p, "absent"));
  CHECK(ErrorOf([&] { FindInteger(module, p, "bare"); }) ==
        "test.hlo:2:3: bare=word: expected an integer");
  CHECK(ErrorOf([&] { FindBool(module, p, "n"); }) ==
        "test.hlo:2:3: n=-7: expected true or false");
  CHECK(ErrorOf([&] { FindIntegers(module, p, "yes"); }) ==
        "test.hlo:2:3: yes=true: expected integers such as {0,1}");
}

TEST_CASE("users are listed once each, in order", "[hlo][parser]") {
  const HloComputation entry = Entry(
      "  a = f32[8] add(p, p)\n  b = f32[8] add(a, p)\n"
      "  c = f32[8] copy(p), control-predecessors={a, b}");
  const HloUsers users = UsersOf(entry);
  using Lists = std::vector<std::vector<int>>;
  CHECK(users.data == Lists{{2, 3, 4}, {}, {3}, {}, {}});
  CHECK(users.control == Lists{{}, {}, {4}, {4}, {}});
}

TEST_CASE("unknown opcodes and unbounded dimensions are warned of once",
          "[hlo][parser]") {
  const HloModule module = ParseOne(
      "ENTRY e {\n  p = f32[?] parameter(0)\n  a = f32[?] copyy(p)\n"
      "  b = f32[?] copyy(a)\n  c = f32[?] frobnicate-gently(b)\n}\n");
  REQUIRE(module.warnings.size() >= 3);
  CHECK(module.warnings[0] ==
        "test.hlo: unbounded dimensions ('?') count as 1 element");
  CHECK(module.warnings[1] ==
        "test.hlo:3:3: unknown opcode 'copyy'; did you mean copy? Taken as "
        "computing on its operands");
  CHECK(module.warnings[2] ==
        "test.hlo:5:3: unknown opcode 'frobnicate-gently'; taken as computing "
        "on its operands");
  CHECK(module.warnings.size() == 3);
}

TEST_CASE("deep nesting up to the limit is read", "[hlo][parser]") {
  std::string operand = "p";
  for (int i = 0; i < 100; ++i) operand = "f32[8] copy(" + operand + ")";
  CHECK(Entry("  q = f32[8] copy(" + operand + ")").instructions.size() == 103);
  const std::string open(100, '('), close(100, ')');
  CHECK(ToText(Shape(open + close)) == open + close);
}

// c0, and c1 that calls it, ..
std::string ChainOfCalls(int computations) {
  std::string text = "c0 {\n  x = f32[] parameter(0)\n}\n";
  for (int i = 1; i < computations; ++i) {
    text += "c" + std::to_string(i) + " {\n  x = f32[] parameter(0)\n" +
            "  y = f32[] call(x), to_apply=c" + std::to_string(i - 1) + "\n}\n";
  }
  return text;
}

TEST_CASE("calls of 256 levels are read, deeper ones refused",
          "[hlo][parser]") {
  const HloModule module = ParseOne(ChainOfCalls(257));
  CHECK(module.computations.size() == 257);
  CHECK(module.entry == 256);
  // c257 stands in line 4 + 4 x 256, its call two lines below.
  for (const int length : {258, 20'000}) {
    CHECK(ErrorOf([&] { ParseOne(ChainOfCalls(length)); }) ==
          "test.hlo:1030:3: calls nested deeper than 256 levels");
  }
}

TEST_CASE("a file is read, or named as unreadable", "[hlo][parser]") {
  const TemporaryFile file("podsim_hlo_parser_test.hlo", kSmallModule);
  const std::vector<HloModule> modules = ReadHlo(file.path());
  REQUIRE(modules.size() == 1);
  CHECK(modules[0].file == file.path());
  CHECK(modules[0] == ParseOne(kSmallModule));
  CHECK(ErrorOf([] { ReadHlo("/no/such.hlo"); }).starts_with("/no/such.hlo: "));
}

}  // namespace
}  // namespace podsim
