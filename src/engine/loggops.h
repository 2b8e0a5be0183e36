#ifndef PODSIM_ENGINE_LOGGOPS_H_
#define PODSIM_ENGINE_LOGGOPS_H_

#include <compare>
#include <cstdint>
#include <vector>

#include "schedule/goal.h"

namespace podsim {

// LogGOPS: messages on an ideal network between ranks whose CPUs and NICs do
// one thing at a time (docs/model.md; Hoefler, Schneider, Lumsdaine:
// LogGOPSim, LSAP 2010). The defaults are LogGOPSim's.
struct LoggopsParameters {
  double latency_ns = 2500;         // L: from NIC to NIC
  double overhead_ns = 1500;        // o: of the CPU, per message
  double gap_ns = 1000;             // g: of the NIC, per message
  double gap_per_byte_ns = 6;       // G: of the NIC, per byte
  double overhead_per_byte_ns = 0;  // O: of the CPU, per byte
  // S: the send of a larger message is finished only when its recv is found.
  std::int64_t eager_bytes = 65535;
};

struct GoalOpId {
  std::uint32_t rank = 0;
  std::uint32_t op = 0;

  auto operator<=>(const GoalOpId&) const = default;
};

struct GoalTimeline {
  std::vector<double> finish_ns;  // by rank: when the last of its CPUs is free
  std::uint64_t ops = 0;
  std::uint64_t messages = 0;
  std::int64_t bytes = 0;  // sent
  // In ascending order: ops that never ran or never found a message, and sends
  // whose message nobody received. Both empty: the program came to its end.
  std::vector<GoalOpId> unfinished;
  std::vector<GoalOpId> unreceived;

  bool complete() const { return unfinished.empty() && unreceived.empty(); }
};

// Plays a program, deterministically: events of one date run in the order in
// which they were made. Dates are exact in whole nanoseconds below 2^53.
GoalTimeline RunLoggops(const GoalProgram& program,
                        const LoggopsParameters& parameters);

}  // namespace podsim

#endif  // PODSIM_ENGINE_LOGGOPS_H_
