#ifndef PODSIM_SIM_RESULT_H_
#define PODSIM_SIM_RESULT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "step/step_graph.h"
#include "topology/slice.h"

namespace podsim {

struct Verdict {
  std::optional<bool> ok;             // nullopt: not verified
  std::string method;                 // "orbit", "replay" or "none"
  std::optional<std::string> reason;  // why not, or why this method
};

// What one link carried, one way.
struct LinkUse {
  std::string link;
  std::int64_t bytes = 0;
  double busy_s = 0;        // something flowed
  double utilisation = 0;   // bytes / (rate x time)
  std::uint32_t links = 1;  // of the slice that this one stands for (folded)
};

// One simulated collective. nullopt: not known (null in JSON).
struct Point {
  std::string collective;
  std::optional<std::string> lowering;  // every parameter resolved
  // What `auto` would have taken else, among those it timed.
  std::optional<std::string> runner_up;
  std::optional<double> runner_up_s;
  std::string slice;
  Shape shape;
  std::string generation;
  std::string group;  // who takes part: "all", "axes=x", "shift=x:1", ..
  int group_size = 0;
  std::int64_t payload_bytes = 0;
  std::optional<std::int64_t> padded_payload_bytes;  // only with fold on
  std::optional<double> time_s;
  std::optional<double> lower_bound_s;
  std::optional<std::string> bound;
  std::vector<std::pair<std::string, double>> bounds;
  std::optional<double> closed_form_s;
  std::optional<double> efficiency;  // lower bound / time
  std::optional<double> algbw_bytes_per_s;
  std::optional<double> busbw_bytes_per_s;
  std::optional<std::uint64_t> transfers;
  std::optional<std::int64_t> byte_hops;
  std::optional<std::int64_t> max_link_bytes;
  std::string engine;
  std::string network = "fluid";
  std::optional<std::vector<int>> fold;  // periods
  Verdict verified;
  std::optional<std::string> busiest_link;
  std::optional<double> busiest_link_utilisation;
  std::optional<std::vector<LinkUse>> links;  // only if asked for
};

struct NotApplicable {
  std::string lowering;
  std::string reason;
};

// One entry per reason, the lowerings that share it joined by commas.
std::vector<NotApplicable> JoinReasons(
    const std::vector<NotApplicable>& reasons);

// What the core of one chip did, and what the step cost.
struct StepCollective {
  std::string id;
  std::int64_t executions = 0;
  CollectiveMode mode = CollectiveMode::kSync;
  std::string axes;  // of the mesh; empty: the file does not name them
  // On the chip that ends last, all executions: from issue to end; what the
  // core stood still for it, and waiting for other chips to issue it; and
  // its flight less those.
  std::optional<double> flight_s;
  std::optional<double> exposed_s;
  std::optional<double> idle_s;
  std::optional<double> overlapped_s;
  Point alone;  // one execution on an otherwise idle slice
};

// A compute or copy of a step, all executions on the chip that ends last:
// undisturbed, what memory traffic of collectives added, and what the core
// waited for a copy.
struct StepCompute {
  std::string id;
  std::int64_t executions = 0;
  bool copy = false;
  std::optional<double> compute_s = {};
  std::optional<double> interference_s = {};
  // Of copies.
  std::optional<double> exposed_s = {};
  std::optional<double> overlapped_s = {};
};

// Part of a critical path, summed over all executions of an op.
struct PathEntry {
  std::string op;  // id
  // "compute", "issue", "latency", "transfer", "contention:<resource>"
  std::string kind;
  double seconds = 0;
  // Of those, what came after another op only because of the order of the
  // program or of a queue.
  double scheduling_s = 0;
};

struct StepResult {
  std::string name;
  std::string slice;
  Shape shape;
  std::string generation;
  std::optional<double> makespan_s;
  std::optional<double> compute_s;
  std::optional<double> interference_s;
  std::optional<double> exposed_communication_s;
  std::optional<double> idle_s;
  std::optional<double> overlapped_communication_s;
  std::optional<StepMemory> memory;
  std::optional<Bytes> hbm_capacity;
  // Compute plus what communication that does not overlap it needs at least, or
  // all communication alone: of the poorest chip's links ("chip") or of all
  // links together ("links").
  double lower_bound_s = 0;
  std::string bound;
  std::vector<std::pair<std::string, double>> bounds;
  std::optional<double> efficiency;
  std::optional<std::uint64_t> transfers;
  std::string step_mode = "engine";
  std::string engine;
  std::string network = "fluid";
  std::optional<std::vector<int>> fold;
  Verdict verified;
  std::vector<PathEntry> critical_path;
  std::optional<std::vector<LinkUse>> links;  // only if asked for
  std::vector<StepCompute> computes;
  std::vector<StepCollective> collectives;
};

// The collectives of a step with the same members, summed.
struct GroupTotal {
  std::string group;  // Point::group
  std::string axes;   // of the mesh, if named
  std::int64_t collectives = 0;
  std::int64_t executions = 0;
  double payload_bytes = 0;  // of all executions
  std::optional<double> flight_s;
  std::optional<double> exposed_s;
  std::optional<double> idle_s;
  std::optional<double> overlapped_s;
};

// Largest exposed time first, then in order of appearance.
std::vector<GroupTotal> TotalsByGroup(const StepResult& step);

// Seconds of the critical path by kind; they add up to the makespan.
std::map<std::string, double> PathByKind(const StepResult& step);

inline std::optional<std::int64_t> PeakBytes(const StepResult& step) {
  if (!step.memory) return std::nullopt;
  return step.memory->peak.value();
}

}  // namespace podsim

#endif  // PODSIM_SIM_RESULT_H_
