#ifndef PODSIM_SIM_EXPLAIN_H_
#define PODSIM_SIM_EXPLAIN_H_

#include <optional>
#include <string>
#include <vector>

#include "sim/options.h"
#include "sim/result.h"
#include "workload/workload.h"

namespace podsim {

// What a step would take if one thing were ideal, in the same order.
struct WhatIfRung {
  std::string change;      // "infinite bandwidth of x"
  std::string gain_named;  // "latency", "ici:x", "ici", "dcn", "contention",
                           // "scheduling", "hbm", "compute", "communication"
  double makespan_s = 0;
  double gain_s = 0;  // may be negative where resources are shared
  // With the changes of all rungs before; not of communication, which stands
  // for itself.
  std::optional<double> cumulative_makespan_s;
};

// One collective, all executions together; times in seconds.
struct ExposedCollective {
  std::string id;
  std::string collective;
  std::string group;
  std::int64_t executions = 0;
  double payload_bytes = 0;  // of one
  double transfer_s = 0;
  double queue_s = 0;  // waited for others that have its axes
  double exposed_s = 0;
  double overlapped_s = 0;
  double slack_s = 0;  // between issue and need
  // Payload / slack: what would hide it. nullopt: there is no slack.
  std::optional<double> required_bytes_per_s;
};

// Shares of the makespan, in (0, 1]: kernels x hiding x schedule = mfu.
struct StepEfficiency {
  std::optional<double> mfu;      // FLOPs / (makespan x peak)
  std::optional<double> kernels;  // ideal time of the FLOPs / core work
  double hiding = 1;    // core work / the best bound: what cannot be hidden
  double schedule = 1;  // the best bound / makespan
  double compute = 1;   // core work / makespan
  double overlap = 1;   // 1 - exposed / in flight
  std::optional<double> memory;  // peak / capacity
};

struct Explanation {
  StepResult step;  // in the abstract mode
  std::vector<WhatIfRung> rungs;
  std::string bottleneck;             // a gain's name
  std::optional<std::string> second;  // if it gains half as much at least
  std::string reason;
  std::vector<ExposedCollective> exposed;  // most first
  StepEfficiency efficiency;
};

// Why a step takes as long as it does: the order of its program executed in the
// abstract mode, again with one thing ideal, and what is gained.
Explanation Explain(const Workload& workload, const SimOptions& options,
                    PhaseTimes& times);

}  // namespace podsim

#endif  // PODSIM_SIM_EXPLAIN_H_
