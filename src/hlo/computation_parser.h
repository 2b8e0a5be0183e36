#ifndef PODSIM_HLO_COMPUTATION_PARSER_H_
#define PODSIM_HLO_COMPUTATION_PARSER_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "hlo/lexer.h"
#include "hlo/module.h"

namespace podsim {

// A call whose computation is known by name only.
struct PendingHloCall {
  int instruction = 0;
  std::size_t call = 0;  // index in HloInstruction::calls
  std::string_view name;
  std::size_t at = 0;  // where the name stands
};

struct ParsedHloComputation {
  HloComputation computation;  // calls not resolved: computation 0
  std::vector<PendingHloCall> pending;
  bool is_entry = false;
  std::size_t at = 0;  // where its name stands
};

// Reads one computation from its name or "ENTRY" to its '}' and attributes
// after it. Throws what the lexer does; names in messages are of the text.
ParsedHloComputation ReadHloComputation(HloLexer& lexer);

// Gives `instruction`, the last of `computation`, the shape that the text
// leaves out, where the operands tell: tuples, their elements, copies,
// elementwise operations, loops. `signature`: shapes of the computation's
// parameters, may be empty. False if they do not.
bool InferHloShape(const HloComputation& computation,
                   const std::vector<HloShape>& signature,
                   HloInstruction& instruction);

}  // namespace podsim

#endif  // PODSIM_HLO_COMPUTATION_PARSER_H_
