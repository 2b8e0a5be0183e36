#ifndef PODSIM_TOPOLOGY_EMBEDDED_GENERATIONS_H_
#define PODSIM_TOPOLOGY_EMBEDDED_GENERATIONS_H_

#include <span>
#include <string_view>

namespace podsim {

// One file of topologies/, compiled into the binary.
struct EmbeddedGeneration {
  std::string_view file;  // "topologies/v5p.json"
  std::string_view text;
};

std::span<const EmbeddedGeneration> EmbeddedGenerations();

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_EMBEDDED_GENERATIONS_H_
