#ifndef PODSIM_SCHEDULE_MSCCL_ORDER_H_
#define PODSIM_SCHEDULE_MSCCL_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/msccl_memory.h"
#include "schedule/violations.h"

namespace podsim {

// What happens as one: a message (several sending steps if they are joined), a
// local add, or a local copy.
struct MscclNode {
  struct Part {
    std::uint32_t send;  // steps
    std::uint32_t receive;
  };
  std::vector<Part> parts;  // of a message
  std::uint32_t step = 0;   // the first sending, or the local one
  std::uint32_t chain =
      0;  // threadblock of `step`: its nodes follow each other
  std::vector<std::uint32_t> waits;           // nodes
  std::vector<std::uint32_t> receiver_waits;  // of the receiving step itself
  // Of the receiver's gpu: earlier uses of what the message overwrites.
  std::vector<std::uint32_t> conflicts;

  bool message() const { return !parts.empty(); }
};

struct MscclOrder {
  struct Step {
    const MscclStep* step;
    std::uint32_t gpu;
    std::uint32_t chain;  // threadblocks of all gpus, numbered
    int channel;
  };
  std::vector<Step> steps;  // of all gpus, threadblock by threadblock
  std::vector<MscclNode> nodes;
  std::vector<std::uint32_t> order;  // nodes, each after what it waits for
  Violations violations;  // unmatched messages, deadlocks, unordered copies
};

// Matches messages, and finds what every node waits for. Throws InputError
// where only a buffered message avoids a deadlock.
MscclOrder OrderMsccl(const MscclAlgorithm& algorithm,
                      const MscclMemory& memory);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_MSCCL_ORDER_H_
