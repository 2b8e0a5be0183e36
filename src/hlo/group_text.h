#ifndef PODSIM_HLO_GROUP_TEXT_H_
#define PODSIM_HLO_GROUP_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hlo/lexer.h"

namespace podsim {

// The parts of group texts; all throw what the lexer does.

// {{0,1},{2,3}}; ids from 0 below kMaxHloDevices.
std::vector<std::vector<int>> ReadGroupList(HloLexer& lexer);

// [2,4]<=[4,2]T(1,0)
std::vector<std::vector<int>> ReadIotaGroups(HloLexer& lexer);

// mesh['x'=4,'y'=2], device_ids=(..) {'x':(1)2}, maximal_mesh[device_id=3]
std::vector<std::vector<int>> ReadMeshGroups(HloLexer& lexer);

// 0, 1, .. laid out as `dimensions`, transposed by `order`, flattened.
std::vector<int> TransposedIota(const std::vector<int>& dimensions,
                                const std::vector<int>& order);

// The same of `values` instead of 0, 1, ..
std::vector<int> Transposed(const std::vector<int>& values,
                            const std::vector<int>& dimensions,
                            const std::vector<int>& order);

// "[4,2]" and "T(1,0)"; the order is the identity if there is no T.
std::vector<int> ReadDimensionList(HloLexer& lexer);
std::vector<int> ReadOrder(HloLexer& lexer, std::size_t rank);

// The product of a dimension list; above kMaxHloDevices: an error at `at`.
int ProductOf(HloLexer& lexer, std::size_t at,
              const std::vector<int>& dimensions);

// Consecutive runs of `size` of the values.
std::vector<std::vector<int>> CutIntoGroups(const std::vector<int>& values,
                                            int size);

}  // namespace podsim

#endif  // PODSIM_HLO_GROUP_TEXT_H_
