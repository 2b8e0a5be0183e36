#ifndef PODSIM_REPORT_TOPOLOGY_REPORT_H_
#define PODSIM_REPORT_TOPOLOGY_REPORT_H_

#include <string>

#include "topology/slice.h"

namespace podsim {

// podsim topology: chips, links, wraps, distances, bisection, and the bound of
// each collective over all chips of a slice per byte of payload (large
// payloads: latencies left out).
std::string TopologyTable(const Slice& slice);
std::string TopologyJson(const Slice& slice);
// Graphviz: a node per chip, an edge per cable; dead ones dashed.
std::string TopologyDot(const Slice& slice);

}  // namespace podsim

#endif  // PODSIM_REPORT_TOPOLOGY_REPORT_H_
