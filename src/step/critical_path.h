#ifndef PODSIM_STEP_CRITICAL_PATH_H_
#define PODSIM_STEP_CRITICAL_PATH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "step/abstract_step.h"
#include "step/simulate_abstract.h"

namespace podsim {

enum class PathKind : std::uint8_t {
  kCompute,
  kIssue,       // core time of a start, done or sync
  kLatency,     // of a transfer
  kTransfer,    // its work at full speed
  kContention,  // a core op or transfer slowed by a resource
};

// Why a segment could not begin before the end of the one before it.
enum class PathEdge : std::uint8_t {
  kBegin,       // the first one
  kDependence,  // operand, control edge, transfer of a done, issue of a
                // transfer
  kCoreOrder,   // only because the schedule put it there
  kQueue,       // a transfer behind another one in a queue: also the schedule
};

struct PathSegment {
  double begin = 0;
  double end = 0;
  PathKind kind = PathKind::kCompute;
  std::uint32_t op = 0;              // of a transfer its start or sync
  std::uint32_t resource = 0;        // of a contention
  PathEdge edge = PathEdge::kBegin;  // scheduling, if any edge passed was

  bool scheduling() const {
    return edge == PathEdge::kCoreOrder || edge == PathEdge::kQueue;
  }
};

// What the end of the step waited for, from its start on: segments without
// gaps that add up to the makespan (CHECKed); empty ones are left out. From a
// done that waited it goes to its transfer; from a transfer that queued to the
// one that released an awaited queue last (of several the largest op index),
// else to the issue; without waiting to the op before on the core.
std::vector<PathSegment> CriticalPath(const AbstractStep& step,
                                      StepOrderView order,
                                      const AbstractTimeline& timeline);

// Seconds per kind: "compute", "issue", "latency", "transfer",
// "contention:<resource>".
std::map<std::string, double> PathTotals(const AbstractStep& step,
                                         const std::vector<PathSegment>& path);

}  // namespace podsim

#endif  // PODSIM_STEP_CRITICAL_PATH_H_
