#ifndef PODSIM_SCHEDULE_MSCCL_MEMORY_H_
#define PODSIM_SCHEDULE_MSCCL_MEMORY_H_

#include <cstddef>
#include <vector>

#include "schedule/msccl_xml.h"

namespace podsim {

// The places of all buffers of all gpus, numbered. In place, input and output
// share them as NCCL prescribes; a buffer of no chunks is the other one.
class MscclMemory {
 public:
  explicit MscclMemory(const MscclAlgorithm& algorithm);

  std::size_t slots() const { return first_.back(); }
  // The slot of the k-th chunk from `place` on.
  std::size_t SlotOf(int gpu, const MscclPlace& place, int k = 0) const;

 private:
  std::vector<std::size_t> first_;  // by gpu
  int input_, output_;              // chunks of the kind
  int chunks_;                      // of input and output
  bool aliased_;
};

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_MSCCL_MEMORY_H_
