#ifndef PODSIM_HLO_PARSER_H_
#define PODSIM_HLO_PARSER_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"

namespace podsim {

// Reads HLO text: the modules of a dump or of a test file, several ones
// separated by "// -----" or by their headers. Grammar: XLA
// xla/hlo/parser/hlo_parser.cc. Unknown attributes are kept as written, unknown
// opcodes are kept with a warning.
//
// Throws InputError "file:LINE:COLUMN: what" for what is not HLO, including
// references to what does not exist, operands that are defined later, calls in
// a circle, numbers of operands and missing attributes that later readers rely
// on, nesting deeper than 100 levels, and calls deeper than 256. A file that
// ends too early has its last module marked `truncated`; if it has not one
// whole computation, that is an error, too.
std::vector<HloModule> ParseHlo(std::string_view text, const std::string& file);

// The same of a file. Throws InputError if it cannot be read.
std::vector<HloModule> ReadHlo(const std::string& path);

// One shape and nothing else: "(f32[8]{0}, token[])". Errors as above.
HloShape ParseHloShape(std::string_view text, const std::string& where);

}  // namespace podsim

#endif  // PODSIM_HLO_PARSER_H_
