// Texts that are not HLO and what the user reads about each: file, line,
// column, what was found, what was expected.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "hlo/parser.h"
#include "test/support/error_of.h"

namespace podsim {
namespace {

struct BadInput {
  std::string text;
  std::string message;  // all of it
};

std::string MessageOf(const std::string& text) {
  return ErrorOf([&text] { ParseHlo(text, "bad.hlo"); });
}

void CheckMessages(const std::vector<BadInput>& inputs) {
  std::set<std::string> texts;
  for (const BadInput& bad : inputs) {
    CAPTURE(bad.text);
    CHECK(MessageOf(bad.text) == bad.message);
    CHECK(texts.insert(bad.text).second);
  }
}

std::string Repeated(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// An entry whose line 3 is `line`, from column 3 on, after parameter p.
std::string Body(const std::string& line) {
  return "ENTRY e {\n  p = f32[8]{0} parameter(0)\n  " + line + "\n}\n";
}
// The same after a tuple t of (f32[8], s32[]).
std::string TupleBody(const std::string& line) {
  return "ENTRY e {\n  t = (f32[8], s32[]) parameter(0)\n  " + line + "\n}\n";
}
// The same, with a function `add` of two parameters in lines 1 to 5, so that
// `line` is line 8.
std::string BodyAfterAdd(const std::string& line) {
  return "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT c = f32[] add(a, b)\n}\n" +
         Body(line);
}

TEST_CASE("what is no HLO text at all is said so", "[hlo][bad]") {
  CheckMessages({
      {"",
       "bad.hlo: contains no HLO, expected HloModule, ENTRY or a "
       "computation"},
      {" // nothing\n /* here */ \n",
       "bad.hlo: contains no HLO, expected HloModule, ENTRY or a computation"},
      {"\x1F\x8B\x08 packed", "bad.hlo: is compressed (gzip); unpack it first"},
      {std::string("HloModule m\0", 12),
       "bad.hlo: contains a zero byte, expected HLO text; of a binary "
       "HloModuleProto print the text first, as compiled.as_text() does"},
      {"module @jit_f attributes {mhlo.num_partitions = 4 : i32} {\n}\n",
       "bad.hlo:1:1: found MLIR (StableHLO), as lowered.as_text() prints it, "
       "expected HLO text; compiled.as_text() prints that"},
      {"#loc = loc(unknown)\nmodule @jit_f {\n}\n",
       "bad.hlo:1:1: found MLIR (StableHLO), as lowered.as_text() prints it, "
       "expected HLO text; compiled.as_text() prints that"},
      {"{\"steps\": []}\n",
       "bad.hlo:1:1: expected HloModule, ENTRY or the name of a computation, "
       "found '{'"},
      {"[1, 2]\n",
       "bad.hlo:1:1: expected HloModule, ENTRY or the name of a computation, "
       "found '['"},
      {"Compiling module jit_f\n",
       "bad.hlo:1:11: expected '{' before the instructions of a computation, "
       "found 'module'"},
      {"\xC3\xA9 {\n}\n",
       "bad.hlo:1:1: expected HloModule, ENTRY or the name of a computation, "
       "found byte 0xc3"},
      {"/* a comment that does not end",
       "bad.hlo: the file ends inside of a comment"},
  });
}

TEST_CASE("errors of a header are found", "[hlo][bad]") {
  const std::string entry = "\nENTRY e {\n  p = f32[] parameter(0)\n}\n";
  CheckMessages({
      {"HloModule m\n",
       "bad.hlo:1:1: module 'm' has no computation, expected at least one"},
      {"HloModule a" + entry + "HloModule b\n\n",
       "bad.hlo:5:1: module 'b' has no computation, expected at least one"},
      {"HloModule m\n// -----\n" + entry,
       "bad.hlo:1:1: module 'm' has no computation, expected at least one"},
      {"HloModule {}" + entry,
       "bad.hlo:1:11: expected the name of the module, found '{'"},
      {"HloModule m, is_scheduled" + entry,
       "bad.hlo:2:1: expected '=' after the name of an attribute, found "
       "'ENTRY'"},
      {"HloModule m, , x=1" + entry,
       "bad.hlo:1:14: expected the name of an attribute, found ','"},
      {"HloModule m, is_scheduled=maybe" + entry,
       "bad.hlo:1:27: expected true or false, found 'maybe'"},
      {"HloModule m, replica_count=0" + entry,
       "bad.hlo:1:28: 0 devices, expected 1 to 131072"},
      {"HloModule m, num_partitions=131073" + entry,
       "bad.hlo:1:29: 131073 devices, expected 1 to 131072"},
      {"HloModule m, num_partitions=four" + entry,
       "bad.hlo:1:29: expected a number of devices, found 'four'"},
      {"HloModule m, replica_count=99999999999999999999" + entry,
       "bad.hlo:1:28: number out of range, expected a number of devices"},
      {"HloModule m, num_partitions=2, num_partitions=4" + entry,
       "bad.hlo:1:32: attribute 'num_partitions' stands twice"},
      {"HloModule m, x=1, y=2, x=1" + entry,
       "bad.hlo:1:24: attribute 'x' stands twice"},
      {"HloModule m, x=, y=2" + entry,
       "bad.hlo:1:16: expected the value of an attribute, found ','"},
      {"HloModule m, entry_computation_layout={(f32[8)}" + entry,
       "bad.hlo:1:46: expected ']' to close the '[' of line 1, found ')'"},
      {"HloModule m, input_output_alias=(0)" + entry,
       "bad.hlo:1:33: expected '{' before the aliases, found '('"},
      {"HloModule m, input_output_alias={ {0} (0, {}) }" + entry,
       "bad.hlo:1:39: expected ':' after the index of an output, found '('"},
      {"HloModule m, input_output_alias={ {0}: (0, {}, may) }" + entry,
       "bad.hlo:1:48: expected may-alias or must-alias, found 'may'"},
      {"HloModule m, input_output_alias={ {-1}: (0, {}) }" + entry,
       "bad.hlo:1:36: tuple index -1, expected 0 to 1000000"},
      {"HloModule m, input_output_alias={ {0}: (-1, {}) }" + entry,
       "bad.hlo:1:41: parameter number -1, expected 0 to 1000000"},
      {"HloModule m\nFileNames\n1 \"a.py\"\nFileNames\n" + entry,
       "bad.hlo:4:1: a second table FileNames"},
      {"HloModule m\nFileNames\n1 a.py\n" + entry,
       "bad.hlo:3:3: expected a string, found 'a.py'"},
  });
}

TEST_CASE("errors of computations are found", "[hlo][bad]") {
  CheckMessages({
      {"ENTRY {\n}\n",
       "bad.hlo:1:7: expected HloModule, ENTRY or the name of a computation, "
       "found '{'"},
      {"ENTRY e\n  p = f32[] parameter(0)\n}\n",
       "bad.hlo:2:3: expected '{' before the instructions of a computation, "
       "found 'p'"},
      {"ENTRY %e {\n}\n", "bad.hlo:1:7: computation 'e' has no instructions"},
      {"a {\n  p = f32[] parameter(0)\n}\na {\n  p = f32[] parameter(0)\n}\n",
       "bad.hlo:4:1: computation 'a' is defined a second time, first in line "
       "1"},
      {"ENTRY a {\n  p = f32[] parameter(0)\n}\n"
       "ENTRY b {\n  p = f32[] parameter(0)\n}\n",
       "bad.hlo:4:7: a second ENTRY, expected one; the first is in line 1"},
      {"ENTRY e (p: f32[] -> f32[] {\n  p = f32[] parameter(0)\n}\n",
       "bad.hlo:1:19: expected ')' or ',' after a parameter, found '->'"},
      {"ENTRY e (p f32[]) -> f32[] {\n  p = f32[] parameter(0)\n}\n",
       "bad.hlo:1:12: expected ':' after the name of a parameter, found "
       "'f32'"},
      {"ENTRY e (p: f32[]) {\n  p = f32[] parameter(0)\n}\n",
       "bad.hlo:1:20: expected '->' and the result of the computation, found "
       "'{'"},
      {"ENTRY e (p: f32[], q: f32[]) -> f32[] {\n"
       "  p = f32[] parameter(0)\n}\n",
       "bad.hlo:1:7: computation 'e' has 1 parameter, its signature 2"},
      {"ENTRY e {\n  p = f32[] parameter(0)\n}, execution_thread\n}\n",
       "bad.hlo:4:1: expected '=' after the name of an attribute, found '}'"},
      {"ENTRY e {\n  p = f32[] parameter(0)\n}\n}\n",
       "bad.hlo:4:1: expected HloModule, ENTRY or the name of a computation, "
       "found '}'"},
      {"a {\n  p = f32[] parameter(0)\n// -----\n  q = f32[] copy(p)\n}\n",
       "bad.hlo:3:1: a separator \"// -----\" inside of a module's part, "
       "expected it between modules"},
      {"a (p: f32[]) -> f32[] {\n  ROOT c = f32[] constant(1)\n}\n",
       "bad.hlo:1:1: computation 'a' has 0 parameters, its signature 1"},
  });
}

TEST_CASE("errors of instructions are found", "[hlo][bad]") {
  CheckMessages({
      {Body("5 = f32[] copy(p)"),
       "bad.hlo:3:3: expected the name of an instruction, or '}', found '5'"},
      {Body("q f32[8] copy(p)"),
       "bad.hlo:3:5: expected '=' after the name of an instruction, found "
       "'f32'"},
      {Body("q = f32[8] (p)"),
       "bad.hlo:3:14: expected an opcode after the shape, found '('"},
      {Body("q = , copy(p)"),
       "bad.hlo:3:7: expected a shape or an opcode, found ','"},
      {Body("q = f32[8] copy p"),
       "bad.hlo:3:19: expected '(' after the opcode, found 'p'"},
      {Body("q = f32[8] copy(p"),
       "bad.hlo:4:1: expected ')' or ',' after an operand, found '}'"},
      {Body("q = f32[8] add(p p)"),
       "bad.hlo:3:20: expected ')' or ',' after an operand, found 'p'"},
      {Body("q = f32[8] add(p, 5)"),
       "bad.hlo:3:21: expected an operand, found '5'"},
      {Body("q = f32[8] add(p, %)"),
       "bad.hlo:3:21: expected an operand, found '%'"},
      {Body("q = f32[8] add(p, \x01)"),
       "bad.hlo:3:21: expected an operand, found byte 0x01"},
      {Body("p = f32[8] copy(p)"),
       "bad.hlo:3:3: 'p' is defined a second time, first in line 2"},
      {Body("ROOT q = f32[8] copy(p)\n  ROOT r = f32[8] copy(p)"),
       "bad.hlo:4:8: a second ROOT, expected one; the first is in line 3"},
      {Body("q = f32[8] copy(r)"),
       "bad.hlo:3:19: no instruction 'r' above in computation 'e'; operands "
       "are defined before they are used"},
      {Body("q = f32[8] copy(q)"),
       "bad.hlo:3:19: no instruction 'q' above in computation 'e'; operands "
       "are defined before they are used"},
      {Body("q = f32[8] copy(r)\n  r = f32[8] copy(p)"),
       "bad.hlo:3:19: no instruction 'r' above in computation 'e'; operands "
       "are defined before they are used"},
      {Body("q = f32[8] copy(add(p, copy(r)))"),
       "bad.hlo:3:31: no instruction 'r' above in computation 'e'; operands "
       "are defined before they are used"},
      {Body("q = f32[8] copy(p#0)"),
       "bad.hlo:3:20: 'p' has no tuple element '#0', its shape is f32[8]{0}"},
      {TupleBody("q = f32[8] copy(t#2)"),
       "bad.hlo:3:20: 't' has no tuple element '#2', its shape is (f32[8], "
       "s32[])"},
      {TupleBody("q = f32[8] copy(t#-1)"),
       "bad.hlo:3:20: a tuple has no element -1"},
      {TupleBody("q = f32[8] copy(t#x)"),
       "bad.hlo:3:21: expected an index of a tuple, found 'x'"},
      {Body("q = reshape(p)"),
       "bad.hlo:3:3: the shape of this reshape is missing and does not follow "
       "from its operands; write it before the opcode, as in f32[8,128]"},
      {Body("q = f32[] parameter(-1)"),
       "bad.hlo:3:23: parameter number -1, expected 0 to 1000000"},
      {Body("q = f32[] parameter(one)"),
       "bad.hlo:3:23: expected the number of a parameter, found 'one'"},
      {Body("q = f32[] parameter(0)"),
       "bad.hlo:3:3: parameter(0) stands a second time, first in line 2"},
      {Body("q = f32[] parameter(7)"),
       "bad.hlo:3:3: parameter(7) in a computation of 2 instructions"},
      {"ENTRY e {\n  p = f32[] parameter(1)\n  q = f32[] copy(p)\n}\n",
       "bad.hlo:1:7: computation 'e' has no parameter(0) but one of a higher "
       "number"},
      {Body("q = f32[] constant 5"),
       "bad.hlo:3:22: expected '(' after the opcode, found '5'"},
      {Body("q = f32[2] constant({1, 2)"),
       "bad.hlo:3:28: expected '}' to close the '{' of line 3, found ')'"},
      {Body("q = f32[] copy(" + Repeated("copy(", 101) + "p" +
            Repeated(")", 102)),
       "bad.hlo:3:518: operands nested deeper than 100 levels"},
      {Body("q = f32[] constant(" + Repeated("{", 101) + Repeated("}", 101) +
            ")"),
       "bad.hlo:3:121: brackets nested deeper than 100 levels"},
  });
}

TEST_CASE("errors of shapes are found", "[hlo][bad]") {
  CheckMessages({
      {Body("q = fp32[8] copy(p)"),
       "bad.hlo:3:7: unknown element type 'fp32'; did you mean f32? (known: "
       "pred, s1, u1, s2, u2, s4, u4, f4e2m1fn, f6e2m3fn, f6e3m2fn, s8, u8, "
       "f8e5m2, f8e4m3, f8e4m3fn, f8e4m3b11fnuz, f8e3m4, f8e5m2fnuz, "
       "f8e4m3fnuz, f8e8m0fnu, s16, u16, f16, bf16, s32, u32, f32, s64, u64, "
       "f64, c64, c128, token, opaque)"},
      {Body("q = f32[-8] copy(p)"),
       "bad.hlo:3:11: size -8 of a dimension, expected 0 or more"},
      {Body("q = f32[8,] copy(p)"),
       "bad.hlo:3:13: expected the size of a dimension, found ']'"},
      {Body("q = f32[8x4] copy(p)"),
       "bad.hlo:3:12: expected ']' or ',' in a shape, found 'x4'"},
      {Body("q = f32[9223372036854775808] copy(p)"),
       "bad.hlo:3:11: number out of range, expected the size of a dimension"},
      {Body("q = f32[1048576,1048576,1048576] copy(p)"),
       "bad.hlo:3:7: an array of more than 2^48 bytes"},
      {Body("q = f32[" + Repeated("1,", 64) + "1] copy(p)"),
       "bad.hlo:3:139: more than 64 dimensions"},
      {Body("q = token[8] copy(p)"),
       "bad.hlo:3:12: token has no dimensions, expected token[]"},
      {Body("q = f32[8,4]{1} copy(p)"),
       "bad.hlo:3:15: layout {1} of 2 dimensions, expected each of 0 to 1 "
       "once"},
      {Body("q = f32[8,4]{1,1} copy(p)"),
       "bad.hlo:3:15: layout {1,1} of 2 dimensions, expected each of 0 to 1 "
       "once"},
      {Body("q = f32[8,4]{1,2} copy(p)"),
       "bad.hlo:3:15: layout {1,2} of 2 dimensions, expected each of 0 to 1 "
       "once"},
      {Body("q = f32[]{0} copy(p)"),
       "bad.hlo:3:12: layout {0} of no dimensions, expected {}"},
      {Body("q = f32[8]{0 x} copy(p)"),
       "bad.hlo:3:16: expected ',', ':' or '}' in a layout, found 'x'"},
      {Body("q = f32[8]{0:T(8} copy(p)"),
       "bad.hlo:3:19: expected ')' to close the '(' of line 3, found '}'"},
      {Body("q = (f32[8] copy(p)"),
       "bad.hlo:3:15: expected ')' or ',' in a tuple shape, found 'copy'"},
      {Body("q = (f32[8], 5) copy(p)"),
       "bad.hlo:3:16: expected a shape, found '5'"},
      {Body("q = (f32) copy(p)"),
       "bad.hlo:3:11: expected '[' after the element type, found ')'"},
      {Body("q = b(f32[8], f32[8]) copy(p)"),
       "bad.hlo:3:15: expected ')' at the end of a buffer shape, found ','"},
      {Body("q = " + Repeated("(", 102) + Repeated(")", 102) + " tuple()"),
       "bad.hlo:3:108: shapes nested deeper than 100 levels"},
  });
}

TEST_CASE("errors of attributes are found", "[hlo][bad]") {
  std::string many;
  for (int i = 0; i <= 256; ++i) many += ", a" + std::to_string(i) + "=1";
  CheckMessages({
      {Body("q = f32[8] copy(p), metadata"),
       "bad.hlo:4:1: expected '=' after the name of an attribute, found '}'"},
      {Body("q = f32[8] copy(p), =5"),
       "bad.hlo:3:23: expected the name of an attribute, found '='"},
      {Body("q = f32[8] copy(p), x="),
       "bad.hlo:4:1: expected the value of an attribute, found '}'"},
      {Body("q = f32[8] copy(p), x={1,[2}, y=3"),
       "bad.hlo:3:30: expected ']' to close the '[' of line 3, found '}'"},
      {Body("q = f32[8] copy(p), x=1, y=2, x=1"),
       "bad.hlo:3:33: attribute 'x' stands twice"},
      {Body("q = f32[8] copy(p)" + many),
       "bad.hlo:3:1961: more than 256 attributes"},
      {BodyAfterAdd("q = f32[] reduce(p, p), to_apply=add, to_apply=add"),
       "bad.hlo:8:41: attribute 'to_apply' stands twice"},
      {Body("q = f32[] reduce(p, p), dimensions={0}, to_apply=add"),
       "bad.hlo:3:52: no computation 'add' in this module"},
      {Body("q = f32[8] fusion(p), kind=kLoop, calls={e, 5}"),
       "bad.hlo:3:47: expected the name of a computation, found '5'"},
      {Body("q = f32[8] copy(p), control-predecessors=p"),
       "bad.hlo:3:44: expected '{' before control predecessors, found 'p'"},
      {Body("q = f32[8] copy(p), control-predecessors={r}"),
       "bad.hlo:3:45: no instruction 'r' above in computation 'e'; operands "
       "are defined before they are used"},
      {Body("q = f32[8] copy(p), control-predecessors={p; p}"),
       "bad.hlo:3:46: expected '}' or ',' after a control predecessor, found "
       "';'"},
  });
}

TEST_CASE("instructions that nothing could be computed of are found",
          "[hlo][bad]") {
  const std::string loop =
      "cond {\n  c = s32[] parameter(0)\n  ROOT r = pred[] compare(c, c), "
      "direction=LT\n}\n";
  CheckMessages({
      {Body("q = f32[8] add(p)"),
       "bad.hlo:3:3: add has 1 operand, expected 2 operands"},
      {Body("q = f32[8] iota(p)"),
       "bad.hlo:3:3: iota has 1 operand, expected 0 operands"},
      {Body("q = f32[8] dot(p)"),
       "bad.hlo:3:3: dot has 1 operand, expected 2 to 4 operands"},
      {Body("q = f32[8] concatenate()"),
       "bad.hlo:3:3: concatenate has 0 operands, expected at least 1 operand"},
      {Body("q = f32[8] all-to-all-done(p, p)"),
       "bad.hlo:3:3: all-to-all-done has 2 operands, expected 1 operand"},
      {Body("q = pred[8] compare(p, p)"),
       "bad.hlo:3:3: compare has no attribute direction"},
      {Body("q = f32[8] all-gather(p)"),
       "bad.hlo:3:3: all-gather has no attribute dimensions"},
      {Body("q = f32[8] all-reduce(p), replica_groups={}"),
       "bad.hlo:3:3: all-reduce has no attribute to_apply"},
      {Body("q = f32[8] collective-permute(p), channel_id=1"),
       "bad.hlo:3:3: collective-permute has no attribute source_target_pairs"},
      {Body("q = f32[8] reduce-scatter(p), dimensions={0}"),
       "bad.hlo:3:3: reduce-scatter has no attribute to_apply"},
      {Body("q = f32[8] convolution(p, p), window={}"),
       "bad.hlo:3:3: convolution has no attribute dim_labels"},
      {Body("q = f32[8] custom-call(p)"),
       "bad.hlo:3:3: custom-call has no attribute custom_call_target"},
      {BodyAfterAdd("q = f32[8] fusion(p), kind=kLoop, calls=add"),
       "bad.hlo:8:3: fusion passes 1 operand to 'add', which has 2 "
       "parameters"},
      {BodyAfterAdd("q = f32[8] call(p, p, p), to_apply=add"),
       "bad.hlo:8:3: call passes 3 operands to 'add', which has 2 "
       "parameters"},
      {Body("q = f32[8] fusion(p), calls={}"),
       "bad.hlo:3:3: fusion has no attribute calls"},
      {Body("q = f32[8] fusion(p), calls=5"),
       "bad.hlo:3:3: fusion has no computation as calls"},
      {loop + BodyAfterAdd("q = f32[8] while(p), condition=cond, body=add"),
       "bad.hlo:12:3: while passes 1 operand to 'add', which has 2 "
       "parameters"},
      {loop + Body("q = f32[8] while(p), condition=cond"),
       "bad.hlo:7:3: while has no attribute body"},
      {Body("q = f32[8] conditional(p, p)"),
       "bad.hlo:3:3: conditional has no branch_computations and no "
       "true_computation"},
      {loop + Body("q = pred[] conditional(p, p), branch_computations={cond, "
                   "cond}"),
       "bad.hlo:7:3: conditional has 2 branches and 2 operands, expected one "
       "operand to choose and one per branch"},
      {TupleBody("q = f32[] get-tuple-element(t)"),
       "bad.hlo:3:3: get-tuple-element has no attribute index"},
      {TupleBody("q = f32[] get-tuple-element(t), index=2"),
       "bad.hlo:3:3: index=2 of a tuple of 2 elements"},
      {TupleBody("q = f32[] get-tuple-element(t), index=first"),
       "bad.hlo:3:3: index=first: expected an integer"},
      {Body("q = f32[] get-tuple-element(p), index=0"),
       "bad.hlo:3:3: get-tuple-element of f32[8]{0}, which is not a tuple"},
      {Body("q = f32[8] fusion(p), calls=e"),
       "bad.hlo:3:3: computation 'e' calls itself through this instruction"},
      {"a {\n  p = f32[] parameter(0)\n  q = f32[] call(p), to_apply=b\n}\n"
       "b {\n  p = f32[] parameter(0)\n  q = f32[] call(p), to_apply=a\n}\n",
       "bad.hlo:7:3: computation 'a' calls itself through this instruction"},
  });
}

TEST_CASE("a text that ends in its first computation says where and of what",
          "[hlo][bad]") {
  CheckMessages({
      {"HloModule m, x={1",
       "bad.hlo: line 1: the file ends inside of a header "
       "that begins in line 1; expected a '}'; no "
       "computation is whole"},
      {"HloModule m\n\n%add (p: f32[",
       "bad.hlo: line 3: the file ends inside of the computation 'add' that "
       "begins in line 3; expected the size of a dimension; no computation is "
       "whole"},
      {"ENTRY e {\n  p = f32[] parameter(0)\n  q = f32[] cop",
       "bad.hlo: line 3: the file ends inside of the computation 'e' that "
       "begins in line 1; expected '(' after the opcode; no computation is "
       "whole"},
      {"ENTRY e {\n  p = f32[] parameter(0), metadata={op_name=\"ab",
       "bad.hlo: line 2: the file ends inside of the computation 'e' that "
       "begins in line 1; expected the closing \" of a string; no computation "
       "is whole"},
      // The '}' of the computation is taken for that of x.
      {Body("q = f32[8] copy(p), x={1,2, y=3"),
       "bad.hlo: line 5: the file ends inside of the computation 'e' that "
       "begins in line 1; expected the name of an instruction, or '}'; no "
       "computation is whole"},
      {"ENTRY e {\n  p = f32[] parameter(0)\n",
       "bad.hlo: line 3: the file ends inside of the computation 'e' that "
       "begins in line 1; expected the name of an instruction, or '}'; no "
       "computation is whole"},
  });
}

}  // namespace
}  // namespace podsim
