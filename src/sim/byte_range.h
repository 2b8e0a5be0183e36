#ifndef PODSIM_SIM_BYTE_RANGE_H_
#define PODSIM_SIM_BYTE_RANGE_H_

#include <string>
#include <vector>

#include "base/units.h"

namespace podsim {

// Payload sizes as --bytes takes them: "64MiB", "1KiB,1MiB", "1KiB..4GiB" (by
// factors of 2), "1KiB..64MiB x4"; the end of a range counts only if hit.
// Throws InputError{where, ..} for ranges that run backwards or start at 0.
std::vector<Bytes> ParseByteList(const std::string& text,
                                 const std::string& where);

}  // namespace podsim

#endif  // PODSIM_SIM_BYTE_RANGE_H_
