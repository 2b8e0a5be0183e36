#ifndef PODSIM_SCHEDULE_GOAL_H_
#define PODSIM_SCHEDULE_GOAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"
#include "topology/topology.h"

namespace podsim {

// GOAL, the text form of LogGOPSim's programs (Hoefler, Schneider, Lumsdaine:
// LogGOPSim, LSAP 2010; grammar: its txt2bin.re): what each rank computes,
// sends and receives, and what waits for what inside a rank.

inline constexpr std::int64_t kAnyGoalTag = -1;
inline constexpr std::int32_t kAnyGoalRank = -1;

enum class GoalKind : std::uint8_t { kCalc, kSend, kRecv };

struct GoalOp {
  GoalKind kind = GoalKind::kCalc;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
  std::int32_t peer = 0;  // a rank; of a recv also kAnyGoalRank; calc: 0
  std::int64_t tag = 0;   // 0 .. 2^32 - 1; of a recv also kAnyGoalTag; calc: 0
  std::int64_t amount = 0;  // bytes; of a calc nanoseconds

  bool operator==(const GoalOp&) const = default;
};

// `op` waits until `after` has finished, or, with `started`, begun.
struct GoalWait {
  std::uint32_t op = 0;  // index into the ops of the rank
  std::uint32_t after = 0;
  bool started = false;

  bool operator==(const GoalWait&) const = default;
};

struct GoalRank {
  std::vector<GoalOp> ops;
  std::vector<GoalWait> waits;
  std::vector<int> lines;  // of the ops; empty if not read from a file

  // What it does; where that stands does not matter.
  bool operator==(const GoalRank& other) const {
    return ops == other.ops && waits == other.waits;
  }
};

struct GoalProgram {
  std::vector<GoalRank> ranks;

  bool operator==(const GoalProgram&) const = default;
};

// By the suffix .goal.
bool IsGoalFile(const std::string& path);

// Throws InputError{"file:line:column", ..}. Ranks may stand in any order, each
// once; the sends of a program come to less than 2^63 bytes.
GoalProgram ReadGoal(const std::string& path);
GoalProgram ParseGoal(std::string_view text, const std::string& file);

// "send 4096b to 1 tag 7 cpu 1": the op as GOAL states it; clauses of 0 are
// left out.
std::string ToText(const GoalOp& op);

// Reads back as the same program. Labels are l1, l2, ..
void WriteGoal(const GoalProgram& program,
               const std::function<void(const std::string&)>& write);

// A schedule as GOAL: ranks are chips, a transfer is a send at its source and a
// recv at its destination, its op id the tag of both; local ops and computes
// are calcs, rounded to nanoseconds. Routes, chunks and modes are lost. An op
// that waits for one of another chip throws InputError{where, ..}: GOAL's waits
// are local.
GoalProgram MakeGoal(const Schedule& schedule, const Topology& topology,
                     const std::string& where);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_GOAL_H_
