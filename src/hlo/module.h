#ifndef PODSIM_HLO_MODULE_H_
#define PODSIM_HLO_MODULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo/shape.h"

namespace podsim {

// Replicas times partitions of a module are at most this.
inline constexpr int kMaxHloDevices = 1 << 17;
// Computations call at most so many levels of others.
inline constexpr int kMaxHloCallLevels = 256;

// An operand: an instruction of the same computation, and the tuple element of
// it that is meant ("%while#3": path {3}; empty: all of it).
struct HloOperand {
  int instruction = 0;
  std::vector<int> path;

  bool operator==(const HloOperand&) const = default;
};

// name=value, the value as written, comments and all.
struct HloAttribute {
  std::string name;
  std::string value;

  bool operator==(const HloAttribute&) const = default;
};

// What an instruction needs a computation for; the attribute that names it.
enum class HloCallRole : std::uint8_t {
  kToApply,
  kCalls,
  kCondition,
  kBody,
  kTrueComputation,
  kFalseComputation,
  kBranch,  // branch_computations={..}: one call each, in order
  kCalledComputation,
  kSelect,
  kScatter,
};

struct HloCall {
  HloCallRole role = HloCallRole::kCalls;
  int computation = 0;  // index in HloModule::computations

  bool operator==(const HloCall&) const = default;
};

struct HloInstruction {
  std::string name;  // without '%'
  std::string opcode;
  HloShape shape;
  std::vector<HloOperand> operands;  // older instructions
  // All but those that name computations or control predecessors.
  std::vector<HloAttribute> attributes;
  std::vector<HloCall> calls;
  std::vector<int> control_predecessors;  // older instructions
  std::int64_t parameter = -1;            // of parameter(n)
  std::string literal;                    // of constant(..), as written
  // The name stands here; nested operands: their opcode. From 1. Not compared.
  int line = 0;
  int column = 0;

  bool operator==(const HloInstruction& other) const;
};

struct HloComputation {
  std::string name;
  std::vector<HloInstruction> instructions;  // at least one, in file order
  int root = 0;                              // index
  std::vector<int> parameters;               // index of parameter n at n
  std::vector<HloAttribute> attributes;      // execution_thread
  int line = 0;                              // not compared

  bool operator==(const HloComputation& other) const;
};

// {output}: (parameter, {index}, kind): the output reuses the parameter's
// buffer.
struct HloAlias {
  std::vector<int> output;
  std::int64_t parameter = 0;
  std::vector<int> parameter_index;
  bool must_alias = false;

  bool operator==(const HloAlias&) const = default;
};

// FileNames, FunctionNames, FileLocations or StackFrames.
struct HloTable {
  std::string name;
  std::string rows;  // as written; may be empty

  bool operator==(const HloTable&) const = default;
};

// Values all the way: copies are deep, nothing points back into the text.
struct HloModule {
  std::string file;  // not compared
  bool has_header = false;
  std::string name;
  bool is_scheduled = false;  // file order is execution order
  std::int64_t replica_count = 1;
  std::int64_t num_partitions = 1;  // 1 may also mean "not said"
  std::vector<HloAlias> input_output_alias;
  std::vector<HloAttribute> attributes;  // the others, of the header
  std::vector<HloTable> tables;
  std::vector<HloComputation> computations;  // in file order; calls are acyclic
  // The one marked ENTRY, else the last. None in a truncated module that has
  // not come to its entry.
  std::optional<int> entry;
  // The file ends inside this module: "line 2000: ...". The computations above
  // are whole, what follows is missing. Use such a module for looking only.
  std::optional<std::string> truncated;
  // Whole instructions of the computation that it ends inside of.
  int open_instructions = 0;
  std::vector<std::string> warnings;  // "file:LINE:COLUMN: .."; not compared

  bool operator==(const HloModule& other) const;
};

// "file:LINE:COLUMN" of an instruction, for messages.
std::string WhereIs(const HloModule& module, const HloInstruction& instruction);

// The value as written; null if there is no such attribute.
const std::string* FindAttribute(const HloInstruction& instruction,
                                 std::string_view name);
// The value without quotes and escapes: custom_call_target="x" -> x.
std::optional<std::string> FindText(const HloInstruction& instruction,
                                    std::string_view name);
// Throw InputError at the instruction when the value is something else.
std::optional<std::int64_t> FindInteger(const HloModule& module,
                                        const HloInstruction& instruction,
                                        std::string_view name);
std::optional<bool> FindBool(const HloModule& module,
                             const HloInstruction& instruction,
                             std::string_view name);
// "{1,0}" -> 1, 0.
std::optional<std::vector<std::int64_t>> FindIntegers(
    const HloModule& module, const HloInstruction& instruction,
    std::string_view name);

// The first computation called in this role, if any.
std::optional<int> FindCall(const HloInstruction& instruction,
                            HloCallRole role);

// The text of attribute `role`: "to_apply".
const char* ToText(HloCallRole role);

// The shape of what an operand names: an element of its instruction's.
const HloShape& ShapeOf(const HloComputation& computation,
                        const HloOperand& operand);

// Who reads each instruction of a computation, and control successors.
struct HloUsers {
  std::vector<std::vector<int>> data;
  std::vector<std::vector<int>> control;
};
HloUsers UsersOf(const HloComputation& computation);

}  // namespace podsim

#endif  // PODSIM_HLO_MODULE_H_
