#ifndef PODSIM_SIM_ABSTRACT_RUN_H_
#define PODSIM_SIM_ABSTRACT_RUN_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/abstract_model.h"
#include "sim/lower_step.h"
#include "sim/result.h"
#include "step/simulate_abstract.h"

namespace podsim {

// What a what-if changes of a step.
struct StepChanges {
  bool no_latency = false;               // of transfers
  std::set<std::string> fast_axes = {};  // "x", "dcn", ..: infinitely fast
  bool fast_hbm = false;
  bool fast_compute = false;
  bool no_contention = false;     // nothing slows anything
  bool no_communication = false;  // collectives take no time
};

// A step in the abstract mode, as it is and as it would be.
class AbstractRun {
 public:
  // Lowers, proves and times every distinct collective alone. The workload must
  // outlive it.
  AbstractRun(const Workload& workload, const SimOptions& options,
              PhaseTimes& times);

  // Everything but times: the collectives alone.
  const StepResult& described() const { return described_; }
  // Axes that collectives use, in order; "dcn" last.
  const std::vector<std::string>& axes() const { return axes_; }
  AbstractModel Model(const StepChanges& changes = {}) const;
  // In the order of the program.
  double Makespan(const StepChanges& changes) const;
  // The larger of the core's work and any resource's load: what no order of
  // these ops can beat, but for what waits for what.
  double PerfectOverlap(const StepChanges& changes) const;

 private:
  std::vector<CollectiveCost> Costs(const StepChanges& changes) const;

  const Workload& workload_;
  LoweredStep lowered_;
  StepResult described_;
  std::vector<StepRun> runs_;
  // By op, of those alike only the first.
  std::vector<std::unique_ptr<CollectiveCoster>> costers_;
  std::vector<CollectiveCost> costs_;
  std::vector<std::string> axes_;
};

// The result of a step in abstract mode: dates of one chip, path and bounds.
StepResult ResultOf(const AbstractRun& run, const StepGraph& graph);

}  // namespace podsim

#endif  // PODSIM_SIM_ABSTRACT_RUN_H_
