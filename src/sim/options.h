#ifndef PODSIM_SIM_OPTIONS_H_
#define PODSIM_SIM_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "engine/engine.h"

namespace podsim {

enum class EngineKind { kPod, kReference, kBound };
enum class FoldMode { kAuto, kOn, kOff };
enum class VerifyMode { kAuto, kFull, kOff };
// Of a step: the lowered transfers on real links, or every collective one
// transfer that has its axes for itself.
enum class StepMode { kEngine, kAbstract };

const char* ToText(EngineKind engine);  // "pod"
const char* ToText(FoldMode fold);      // "auto"
const char* ToText(StepMode mode);      // "engine"

// How to simulate; the same for collectives, steps and schedule files.
struct SimOptions {
  EngineKind engine = EngineKind::kPod;
  NetworkModel network;
  FoldMode fold = FoldMode::kAuto;
  VerifyMode verify = VerifyMode::kAuto;
  StepMode step_mode = StepMode::kEngine;
  bool links = false;  // measure the use of every link
  bool force = false;  // the reference engine on large schedules
  RunWatch watch;      // of the engine `pod`
  // Refuse runs predicted to need more; nullopt: 80 % of what is available.
  std::optional<std::int64_t> max_memory_bytes;
};

// CPU seconds of this process by phase, for --timing.
struct PhaseTimes {
  double lower = 0;
  double verify = 0;
  double build = 0;
  double engine = 0;
  double report = 0;
};

// User CPU seconds of this process so far.
double UserSeconds();

// Adds the user CPU seconds of its scope to one phase.
class PhaseTimer {
 public:
  explicit PhaseTimer(double& phase) : phase_(phase), begin_(UserSeconds()) {}
  ~PhaseTimer() { phase_ += UserSeconds() - begin_; }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  double& phase_;
  double begin_;
};

}  // namespace podsim

#endif  // PODSIM_SIM_OPTIONS_H_
