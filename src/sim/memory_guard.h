#ifndef PODSIM_SIM_MEMORY_GUARD_H_
#define PODSIM_SIM_MEMORY_GUARD_H_

#include <cstdint>
#include <string>

#include "sim/options.h"

namespace podsim {

// Bytes, measured on all-reduces of 1.2 to 7 million transfers (schedule with
// its dependences, successors, event queues, timeline), and on all-to-alls of
// 0.35 and 1.3 million of several hops (routes, chunks, replay); rounded up.
inline constexpr double kBytesPerTransfer = 120;
inline constexpr double kBytesPerFarTransfer = 450;

// Predicts the memory of building and running that many transfers (or other
// ops), and throws InputError with the need, the limit and the remedies if it
// is too much. Without --max-memory the limit is 80 % of MemAvailable
// (/proc/meminfo).
void RequireMemory(std::uint64_t transfers, const SimOptions& options,
                   const std::string& where, const std::string& remedies,
                   double bytes_per_transfer = kBytesPerTransfer);

}  // namespace podsim

#endif  // PODSIM_SIM_MEMORY_GUARD_H_
