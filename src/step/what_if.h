#ifndef PODSIM_STEP_WHAT_IF_H_
#define PODSIM_STEP_WHAT_IF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "step/abstract_step.h"

namespace podsim {

// Each changes one thing of a step; simulate the same order again to see what
// it costs. Gains do not add up.

// No transfer has a latency; costs of issue stay.
AbstractStep WithoutLatency(AbstractStep step);
// Transfers that use this FIFO resource have no work left and do not queue for
// it; their latency stays.
AbstractStep WithInfiniteFifo(AbstractStep step, std::uint32_t resource);
// Nothing slows anything: no op uses a share resource.
AbstractStep WithoutContention(AbstractStep step);
// Nothing slows anything on this share resource.
AbstractStep WithoutContentionOn(AbstractStep step, std::uint32_t resource);
// Transfers take no time and use nothing; costs of issue stay.
AbstractStep WithoutCommunication(AbstractStep step);
// Computes take no time.
AbstractStep WithoutCompute(AbstractStep step);

struct WhatIf {
  std::string name;
  AbstractStep step;
};

// zero_latency, infinite:<resource> of each FIFO resource, no_contention,
// no_communication, zero_compute.
std::vector<WhatIf> MakeWhatIfs(const AbstractStep& step);

}  // namespace podsim

#endif  // PODSIM_STEP_WHAT_IF_H_
