#ifndef PODSIM_TEST_SUPPORT_NETWORKS_H_
#define PODSIM_TEST_SUPPORT_NETWORKS_H_

#include <cstdint>

#include "engine/engine.h"

namespace podsim {

inline constexpr NetworkModel kFifo = {.kind = NetworkKind::kFifo};

inline NetworkModel PacketsOf(std::int64_t bytes, bool cut_through = true) {
  return {.kind = NetworkKind::kPacket,
          .packet = bytes,
          .cut_through = cut_through};
}

// 1000 bytes/s, no start-up.
inline Network Bare(std::uint32_t links, const NetworkModel& model = {}) {
  return {.links = links,
          .bandwidth = 1000,
          .link_bandwidth = {},
          .link_latency = {},
          .model = model};
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_NETWORKS_H_
