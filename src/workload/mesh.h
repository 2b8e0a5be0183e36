#ifndef PODSIM_WORKLOAD_MESH_H_
#define PODSIM_WORKLOAD_MESH_H_

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "topology/topology.h"

namespace podsim {

// A logical axis of a device mesh, laid over whole axes of the slice.
struct MeshAxis {
  std::string name;
  std::vector<int> on;  // topology axes, ascending
};

// Reads "mesh" of a workload: every `on` names axes of the slice, none twice;
// `size` is their product. Parts of an axis (x:4) are refused.
std::vector<MeshAxis> ReadMesh(const JsonValue& json, const Topology& topology);

// The topology axes that the name of one mesh or torus axis spans, ascending.
std::vector<int> ReadAxis(const JsonValue& json,
                          const std::vector<MeshAxis>& mesh,
                          const Topology& topology);

// The topology axes that a list of mesh or torus axis names spans, ascending.
std::vector<int> ReadAxes(const JsonValue& json,
                          const std::vector<MeshAxis>& mesh,
                          const Topology& topology);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_MESH_H_
