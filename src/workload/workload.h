#ifndef PODSIM_WORKLOAD_WORKLOAD_H_
#define PODSIM_WORKLOAD_WORKLOAD_H_

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "step/step_graph.h"
#include "topology/slice.h"

namespace podsim {

// A step and the slice it runs on.
struct Workload {
  std::string name;
  Slice slice;
  StepGraph graph;
  std::vector<std::string> warnings;
};

// What the command line adds to a workload file.
struct WorkloadRequest {
  SliceRequest slice;  // empty spec: the file's
  // --lowering KIND=NAME[:params]: for every collective of that kind.
  std::vector<std::string> lowerings;
};

// Reads a podsim-workload/1 document (design: "Workload JSON"). Throws
// InputError at the JSON pointer of whatever is wrong.
Workload ReadWorkload(const JsonValue& json, const WorkloadRequest& request);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_WORKLOAD_H_
