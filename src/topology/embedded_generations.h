#ifndef PODSIM_TOPOLOGY_EMBEDDED_GENERATIONS_H_
#define PODSIM_TOPOLOGY_EMBEDDED_GENERATIONS_H_

#include <span>

#include "base/embedded_file.h"

namespace podsim {

// The files of topologies/ that describe a generation.
std::span<const EmbeddedFile> EmbeddedGenerations();

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_EMBEDDED_GENERATIONS_H_
