#ifndef PODSIM_HLO_OPCODES_H_
#define PODSIM_HLO_OPCODES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podsim {

// How many operands an opcode takes; max < 0: any number from min.
struct HloOpcodeRule {
  const char* opcode;
  int min_operands;
  int max_operands;
  // Attributes that readers of the module rely on: at most two, or null.
  const char* required = nullptr;
  const char* also_required = nullptr;
};

// The rule of an opcode of XLA (xla/hlo/ir/hlo_opcode.h), null for others.
const HloOpcodeRule* FindHloOpcode(std::string_view opcode);

// Is it an opcode of XLA, or one with the suffix -start, -update or -done that
// async sugar gives it?
bool IsKnownHloOpcode(std::string_view opcode);

// The known opcode that is spelled most alike, if any is.
std::optional<std::string> SimilarHloOpcode(std::string_view opcode);

// "slice-start" -> "slice" for the suffix "-start"; nothing if it has not this
// suffix.
std::optional<std::string_view> WithoutSuffix(std::string_view opcode,
                                              std::string_view suffix);

}  // namespace podsim

#endif  // PODSIM_HLO_OPCODES_H_
