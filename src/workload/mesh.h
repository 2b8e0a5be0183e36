#ifndef PODSIM_WORKLOAD_MESH_H_
#define PODSIM_WORKLOAD_MESH_H_

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "collective/collective.h"
#include "topology/topology.h"

namespace podsim {

// A digit of the coordinate along one axis of the slice, (coordinate / stride)
// mod size: chips that differ in nothing else are together. "x:4" are blocks
// of 4 neighbours along x; "x:4@4" every fourth chip, 4 of them; both together
// the whole of an axis of 16.
struct AxisPart {
  int axis = 0;
  int size = 1;    // size * stride divides the size of the axis
  int stride = 1;  // in chips
};

bool IsWhole(const AxisPart& part, const Topology& topology);

// A logical axis of a device mesh, laid over axes of the slice or parts of
// them: ascending by axis and stride, neighbouring parts joined.
struct MeshAxis {
  std::string name;
  std::vector<AxisPart> on;
};

// Reads "mesh" of a workload: every `on` names axes of the slice or parts of
// them, nothing twice; `size` is their product. Throws InputError at the
// pointer.
std::vector<MeshAxis> ReadMesh(const JsonValue& json, const Topology& topology);

// What the name of one mesh axis, torus axis or part of one spans.
std::vector<AxisPart> ReadAxis(const JsonValue& json,
                               const std::vector<MeshAxis>& mesh,
                               const Topology& topology);

// What a list of such names spans, nothing twice.
std::vector<AxisPart> ReadAxes(const JsonValue& json,
                               const std::vector<MeshAxis>& mesh,
                               const Topology& topology);

// Whole axes become the axes of the collective; with parts among them, the
// sub-grids of live chips become its groups, in order of chip ids. Throws
// InputError{where, ..} if dead chips leave groups of unequal size to a kind
// that needs equal ones.
void SetAxes(const std::vector<AxisPart>& parts, const Topology& topology,
             const std::string& where, Collective& collective);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_MESH_H_
