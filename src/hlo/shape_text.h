#ifndef PODSIM_HLO_SHAPE_TEXT_H_
#define PODSIM_HLO_SHAPE_TEXT_H_

#include "hlo/lexer.h"
#include "hlo/shape.h"

namespace podsim {

// Is a shape next, and not an opcode or a name?
bool ShapeIsNext(HloLexer& lexer);

// Reads a shape. Where the body of a computation may follow, "{}" is no layout.
// Throws what the lexer does; also for an array of more than 2^48 bytes or 64
// dimensions, a layout that does not fit, and more than 100 levels.
HloShape ReadShape(HloLexer& lexer, bool body_may_follow = false);

}  // namespace podsim

#endif  // PODSIM_HLO_SHAPE_TEXT_H_
