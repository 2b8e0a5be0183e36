#ifndef PODSIM_SIM_RUN_RECORD_H_
#define PODSIM_SIM_RUN_RECORD_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sim/compile_step.h"
#include "topology/fold.h"

namespace podsim {

// What ran and when, for whoever wants to look at it.
struct RunRecord {
  Schedule schedule;
  Timeline timeline;
  std::optional<Fold> fold;  // the ops are those of its sites
  double offset_s = 0;       // date of the engine's 0: the launch
  // Of a step; else empty, and all of it is one collective of this name.
  std::vector<StepExecution> executions;
  std::vector<std::string> names;  // by StepExecution::op
  std::vector<std::optional<Bytes>> live =
      {};  // in HBM while it runs; likewise
  std::string name;
};

}  // namespace podsim

#endif  // PODSIM_SIM_RUN_RECORD_H_
