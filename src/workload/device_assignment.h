#ifndef PODSIM_WORKLOAD_DEVICE_ASSIGNMENT_H_
#define PODSIM_WORKLOAD_DEVICE_ASSIGNMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/json_reader.h"
#include "topology/shape_rules.h"
#include "topology/slice.h"

namespace podsim {

// From the devices of an HLO module to the chips of a slice. The text of a
// module names devices by flattened ids, replica * partitions + partition; on
// which chip each one runs is not in the text.
enum class AssignmentKind {
  kIota,       // device ids x-fastest over the slice
  kMeshUtils,  // the order of JAX's mesh_utils.create_device_mesh
  kFile,       // podsim-device-assignment/1
};

// What --device-assignment says.
struct DeviceAssignment {
  AssignmentKind kind = AssignmentKind::kIota;
  Shape mesh = {};                      // of kMeshUtils: the logical mesh
  std::optional<JsonValue> chips = {};  // of kFile: the list "chips"
  std::string where = "--device-assignment iota";  // for messages
};

// "iota", "mesh_utils:16x8", or the path of a podsim-device-assignment/1 file:
// {"format": "podsim-device-assignment/1", "chips": [chip of id 0, of 1, ..]}.
// Throws InputError for anything else, and for a file that is not one.
DeviceAssignment ParseDeviceAssignment(const std::string& text);

// XLA devices of one chip: 2 on v2, v3 and v7x, whose TensorCores are devices
// of their own; else 1 (v4 and v5p run both cores as one). Generation files
// have no key for it.
int DevicesPerChip(const std::string& generation);

// The chip of every flattened id. There must be as many devices as live chips
// of the slice(s), times DevicesPerChip.
//   iota: device partition * replicas + replica (XLA's ComputationPlacer), and
//     device core + cores * (x + X * (y + Y * z)) of every slice, one slice
//     after the other; dead chips are left out.
//   mesh_utils: partition p is the p-th entry of mesh.devices.flat. Of several
//     slices one after the other; the mesh is that of one slice, or that of all
//     with the slices outermost in its first axis (create_hybrid_device_mesh
//     with dcn_mesh_shape = (slices, 1, ..)). replicas must be 1.
//   file: as listed; every live chip as often as it has devices.
// Throws InputError at spec.where, or at the pointer in the file.
std::vector<ChipId> AssignDevices(const DeviceAssignment& spec,
                                  const Slice& slice, int devices,
                                  int replicas = 1);

// mesh.devices.flat of JAX's create_device_mesh(mesh) on one slice: ids of
// devices, core + cores * (x + X * (y + Y * z)). The mesh has as many entries
// as the slice has devices. Small slices of some generations have an order of
// their own (a ring through all chips). Else every logical axis, last to first,
// takes as many axes of the slice as possible (the cores of a chip are one),
// the first combination of free ones, whose sizes multiply to its own. Throws
// InputError{where, ..} where none do: JAX then wants
// allow_split_physical_axes, which is not modelled.
std::vector<int> MeshUtilsDevices(const std::string& generation,
                                  const Shape& slice, const Shape& mesh,
                                  const std::string& where);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_DEVICE_ASSIGNMENT_H_
