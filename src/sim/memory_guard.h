#ifndef PODSIM_SIM_MEMORY_GUARD_H_
#define PODSIM_SIM_MEMORY_GUARD_H_

#include <cstdint>
#include <string>

#include "sim/options.h"

namespace podsim {

// Predicts the memory of building and running that many transfers (or other
// ops), and throws InputError with the need, the limit and the remedies if it
// is too much. Without --max-memory the limit is 80 % of MemAvailable
// (/proc/meminfo).
void RequireMemory(std::uint64_t transfers, const SimOptions& options,
                   const std::string& where, const std::string& remedies);

}  // namespace podsim

#endif  // PODSIM_SIM_MEMORY_GUARD_H_
