#ifndef PODSIM_WORKLOAD_HLO_WORKLOAD_H_
#define PODSIM_WORKLOAD_HLO_WORKLOAD_H_

#include <optional>
#include <string>
#include <vector>

#include "hlo/module.h"
#include "workload/workload.h"

namespace podsim {

// What the command line adds to an HLO module, whose text names neither its
// slice nor the chips of its devices.
struct HloRequest {
  SliceRequest slice;
  std::vector<std::string> lowerings;         // --lowering KIND=NAME
  std::string device_assignment = "iota";     // --device-assignment
  std::vector<std::string> trip_counts = {};  // --trip-count [WHILE=]N
  double compute_scale = 1;                   // of every compute time
};

// By its name: .hlo, or .txt as XLA dumps it.
bool IsHloFile(const std::string& path);

// One step of an HLO module (docs/hlo.md): computes by the roofline of their
// FLOPs and bytes, collectives on the chips of their devices, loops by their
// trip counts, in the order of the text. Throws InputError for a truncated
// module, a number of devices that the slice does not have, and collectives
// that cannot be placed; what is guessed is a warning.
Workload MakeHloWorkload(const HloModule& module, const HloRequest& request);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_HLO_WORKLOAD_H_
