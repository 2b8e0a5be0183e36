#ifndef PODSIM_HLO_VALIDATE_H_
#define PODSIM_HLO_VALIDATE_H_

#include "hlo/module.h"

namespace podsim {

// Throws InputError at the first instruction that readers of the module could
// not rely on: numbers of operands, required attributes and computations, tuple
// indices, parameters of called computations, calls in a circle, and calls
// nested deeper than kMaxHloCallLevels. Adds a warning for each unknown opcode
// and unbounded dimension, once per kind.
void ValidateHlo(HloModule& module);

}  // namespace podsim

#endif  // PODSIM_HLO_VALIDATE_H_
