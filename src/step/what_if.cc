#include "step/what_if.h"

#include <utility>

#include "base/check.h"

namespace podsim {

AbstractStep WithoutLatency(AbstractStep step) {
  for (AbstractOp& op : step.ops) op.latency = Seconds(0);
  return step;
}

AbstractStep WithInfiniteFifo(AbstractStep step, std::uint32_t resource) {
  CHECK(step.resources.at(resource).mode == ResourceMode::kFifo)
      << step.resources[resource].name << " is shared";
  for (AbstractOp& op : step.ops) {
    const auto used = std::erase_if(op.use, [&](const ResourceUse& use) {
      return use.resource == resource;
    });
    if (used > 0) op.work = Seconds(0);
  }
  return step;
}

AbstractStep WithoutContentionOn(AbstractStep step, std::uint32_t resource) {
  CHECK(step.resources.at(resource).mode == ResourceMode::kShare)
      << step.resources[resource].name << " is a queue";
  for (AbstractOp& op : step.ops) {
    std::erase_if(op.use, [&](const ResourceUse& use) {
      return use.resource == resource;
    });
  }
  return step;
}

AbstractStep WithoutContention(AbstractStep step) {
  for (AbstractOp& op : step.ops) {
    std::erase_if(op.use, [&](const ResourceUse& use) {
      return step.resources[use.resource].mode == ResourceMode::kShare;
    });
  }
  return step;
}

AbstractStep WithoutCommunication(AbstractStep step) {
  for (AbstractOp& op : step.ops) {
    if (!HasTransfer(op)) continue;
    op.latency = op.work = Seconds(0);
    op.use.clear();
  }
  return step;
}

AbstractStep WithoutCompute(AbstractStep step) {
  for (AbstractOp& op : step.ops) {
    if (op.kind == AbstractKind::kCompute) op.tc_time = Seconds(0);
  }
  return step;
}

std::vector<WhatIf> MakeWhatIfs(const AbstractStep& step) {
  std::vector<WhatIf> rungs;
  rungs.push_back({.name = "zero_latency", .step = WithoutLatency(step)});
  for (std::uint32_t k = 0; k < step.resources.size(); ++k) {
    if (step.resources[k].mode != ResourceMode::kFifo) continue;
    rungs.push_back({.name = "infinite:" + step.resources[k].name,
                     .step = WithInfiniteFifo(step, k)});
  }
  rungs.push_back({.name = "no_contention", .step = WithoutContention(step)});
  rungs.push_back(
      {.name = "no_communication", .step = WithoutCommunication(step)});
  rungs.push_back({.name = "zero_compute", .step = WithoutCompute(step)});
  return rungs;
}

}  // namespace podsim
