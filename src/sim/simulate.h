#ifndef PODSIM_SIM_SIMULATE_H_
#define PODSIM_SIM_SIMULATE_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/lowering.h"
#include "schedule/schedule_file.h"
#include "sim/lower_collective.h"
#include "sim/options.h"
#include "sim/result.h"
#include "sim/run_record.h"
#include "topology/fold.h"
#include "workload/workload.h"

namespace podsim {

// `record`: where to keep what ran, if anyone wants to see it.

// One collective on a slice: chosen, proved, bounded, timed. lowering nullopt:
// auto. `where` names the lowering's place in messages. Throws InputError where
// it does not apply; a time below its bound is an internal error (CHECK), with
// the slack of n bytes on the binding link where n does not divide the payload.
Point SimulateCollective(const Collective& collective, const Slice& slice,
                         const std::optional<LoweringSpec>& lowering,
                         const std::string& where, const SimOptions& options,
                         PhaseTimes& times, RunRecord* record = nullptr);

// The same of one that has been lowered on that slice already.
Point SimulateLowered(const LoweredCollective& lowered, const Slice& slice,
                      const SimOptions& options, PhaseTimes& times);

// Every applicable lowering of `compare`, fastest first, and why the others do
// not apply. Throws InputError with the reasons if none does (the bounds alone
// with the engine `bound`).
struct Comparison {
  std::vector<Point> points;
  std::vector<NotApplicable> not_applicable;
};
Comparison CompareLowerings(const Collective& collective, const Slice& slice,
                            const SimOptions& options, PhaseTimes& times);

// A step: every chip's core executes the ops in order; a collective's transfers
// wait until both their ends have reached it.
StepResult SimulateStep(const Workload& workload, const SimOptions& options,
                        PhaseTimes& times, RunRecord* record = nullptr);

// A schedule file. Violations are returned, and nothing is timed then.
struct ScheduleResult {
  Point point;
  Violations violations;
};
ScheduleResult SimulateSchedule(const ScheduleFile& file,
                                const SimOptions& options, PhaseTimes& times,
                                RunRecord* record = nullptr);

// Throws InputError if the bandwidths and latencies asked for make a time
// infinite. `what`: "the time of this all-reduce".
void RequireFinite(double seconds, const std::string& what);

// Fills the numbers of a point that follow from a simulated time.
void SetTime(double seconds, bool divides, const Slice& slice, Point& point);

// Traffic of a schedule: byte-hops, the fullest link and the one that is busy
// longest. `copies`: chips that one site stands for.
void SetTraffic(const Schedule& schedule, const Slice& slice,
                const std::optional<Fold>& fold, Point& point);

}  // namespace podsim

#endif  // PODSIM_SIM_SIMULATE_H_
