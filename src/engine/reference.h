#ifndef PODSIM_ENGINE_REFERENCE_H_
#define PODSIM_ENGINE_REFERENCE_H_

#include "engine/engine.h"

namespace podsim {

// Above this, stock SimGrid needs minutes: its list of pending communications
// is scanned at every completion (quadratic in 3.32).
inline constexpr std::uint32_t kMostReferenceTransfers = 60'000;

// The second opinion: stock SimGrid communications (CM02, max-min solver) over
// a network zone of our routes, one per transfer, nothing of our event loop.
// Ends agree with RunPod within 1e-9 relative + 4e-15 s while dates stay below
// 1 s.
//
// SimGrid can be configured once per process, so this runs in a forked child
// and must be called before RunPod in the parent (CHECK). Throws InputError
// when the child dies, and for links that get faster at a date.
Timeline RunReference(const Schedule& schedule, const Network& network);

}  // namespace podsim

#endif  // PODSIM_ENGINE_REFERENCE_H_
