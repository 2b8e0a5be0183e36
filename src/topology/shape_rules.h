#ifndef PODSIM_TOPOLOGY_SHAPE_RULES_H_
#define PODSIM_TOPOLOGY_SHAPE_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "topology/generation.h"

namespace podsim {

using Shape = std::vector<int>;

std::string ToText(const Shape& shape);  // "4x4x8"
// "4x4x8"; nullopt if it is not integers joined by x.
std::optional<Shape> ParseShape(const std::string& text);

// The generation builds slices of this shape.
bool IsLegal(const Generation& generation, const Shape& shape);
// Legal and twistable: n,n,2n or n,2n,2n (2D: n,2n) in any order; n a multiple
// of 4, on `ideal` at least 2.
bool IsTwistable(const Generation& generation, const Shape& shape);

// Which axes wrap unless the user says otherwise.
std::vector<bool> DefaultWrap(const Generation& generation, const Shape& shape);

// Up to `most` legal (twistable) shapes near `shape`: each axis rounded down
// and up, fewest changed axes first, then the smallest total change.
std::vector<Shape> LegalNear(const Generation& generation, const Shape& shape,
                             bool twisted, std::size_t most);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_SHAPE_RULES_H_
