#ifndef PODSIM_HLO_WRITER_H_
#define PODSIM_HLO_WRITER_H_

#include <span>
#include <string>

#include "hlo/module.h"

namespace podsim {

// HLO text that ParseHlo reads back as an equal module. Operands are written
// without shapes, nested ones as the instructions that they became. The text of
// a truncated module ends too early, too.
std::string WriteHlo(const HloModule& module);
// Modules separated by "// -----"; only the last one's text may end too early.
std::string WriteHlo(std::span<const HloModule> modules);
// One instruction as in the text, without indent and line end.
std::string WriteHlo(const HloModule& module, const HloComputation& computation,
                     const HloInstruction& instruction);

}  // namespace podsim

#endif  // PODSIM_HLO_WRITER_H_
