#ifndef PODSIM_TEST_STEP_STEP_BUILDER_H_
#define PODSIM_TEST_STEP_STEP_BUILDER_H_

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "step/abstract_step.h"

namespace podsim {

using Ops = std::vector<std::uint32_t>;
using Uses = std::vector<ResourceUse>;

// But for rounding.
inline Approx Same(double value) { return Approx(value).epsilon(1e-12); }

// Writes small steps op by op; each returns the op's index. Seconds.
struct StepBuilder {
  AbstractStep step;

  std::uint32_t Fifo(const std::string& name) {
    step.resources.push_back({.name = name, .mode = ResourceMode::kFifo});
    return static_cast<std::uint32_t>(step.resources.size() - 1);
  }
  std::uint32_t Share(const std::string& name, double capacity = 1) {
    step.resources.push_back(
        {.name = name, .mode = ResourceMode::kShare, .capacity = capacity});
    return static_cast<std::uint32_t>(step.resources.size() - 1);
  }
  std::uint32_t Compute(double seconds, const Ops& deps = {},
                        std::int64_t out = 0, const Uses& use = {}) {
    return Add({.kind = AbstractKind::kCompute,
                .tc_time = Seconds(seconds),
                .use = use,
                .deps = deps,
                .out = Bytes(out)});
  }
  std::uint32_t Start(double latency, double work, const Uses& use,
                      const Ops& deps = {}, std::int64_t out = 0,
                      double issue = 0) {
    return Add({.kind = AbstractKind::kStart,
                .tc_time = Seconds(issue),
                .latency = Seconds(latency),
                .work = Seconds(work),
                .use = use,
                .deps = deps,
                .out = Bytes(out)});
  }
  std::uint32_t Sync(double latency, double work, const Uses& use,
                     const Ops& deps = {}, double issue = 0) {
    return Add({.kind = AbstractKind::kSync,
                .tc_time = Seconds(issue),
                .latency = Seconds(latency),
                .work = Seconds(work),
                .use = use,
                .deps = deps});
  }
  std::uint32_t Done(std::uint32_t start, double seconds = 0) {
    return Add({.kind = AbstractKind::kDone,
                .tc_time = Seconds(seconds),
                .of = start});
  }
  std::uint32_t Add(const AbstractOp& op) {
    step.ops.push_back(op);
    return static_cast<std::uint32_t>(step.ops.size() - 1);
  }
};

}  // namespace podsim

#endif  // PODSIM_TEST_STEP_STEP_BUILDER_H_
