#ifndef PODSIM_HLO_HEADER_H_
#define PODSIM_HLO_HEADER_H_

#include "hlo/lexer.h"
#include "hlo/module.h"

namespace podsim {

// Reads "HloModule name, attributes" into `module`.
void ReadHloHeader(HloLexer& lexer, HloModule& module);

// Reads a table (FileNames, ..) into `module` if one is next. `taken` for a
// second table of one name: an error.
bool AcceptHloTable(HloLexer& lexer, HloModule& module);

// Is the last computation the one that the header's entry_computation_layout
// describes? True without such an attribute.
bool LastComputationFitsHeader(const HloModule& module);

}  // namespace podsim

#endif  // PODSIM_HLO_HEADER_H_
