#include "schedule/msccl_memory.h"

#include <algorithm>

namespace podsim {

MscclMemory::MscclMemory(const MscclAlgorithm& algorithm) {
  const MscclBuffers buffers =
      BuffersOf(algorithm.kind->kind, algorithm.chunks_per_loop,
                static_cast<int>(algorithm.gpus.size()));
  input_ = buffers.input;
  output_ = buffers.output;
  bool has_input = false, has_output = false;
  for (const MscclGpu& gpu : algorithm.gpus) {
    has_input |= gpu.i_chunks > 0;
    has_output |= gpu.o_chunks > 0;
  }
  aliased_ = algorithm.in_place || !has_input || !has_output;
  chunks_ = aliased_ ? std::max(input_, output_) : input_ + output_;
  first_.push_back(0);
  for (const MscclGpu& gpu : algorithm.gpus) {
    first_.push_back(first_.back() + static_cast<std::size_t>(chunks_) +
                     static_cast<std::size_t>(gpu.s_chunks));
  }
}

std::size_t MscclMemory::SlotOf(int gpu, const MscclPlace& place, int k) const {
  std::size_t at = first_[static_cast<std::size_t>(gpu)] +
                   static_cast<std::size_t>(place.offset + k);
  const auto share = static_cast<std::size_t>(std::min(input_, output_)) *
                     static_cast<std::size_t>(gpu);
  switch (place.buffer) {
    case 'i':
      if (aliased_ && input_ < output_) at += share;
      break;
    case 'o':
      if (!aliased_) {
        at += static_cast<std::size_t>(input_);
      } else if (output_ < input_) {
        at += share;
      }
      break;
    default:
      at += static_cast<std::size_t>(chunks_);
  }
  return at;
}

}  // namespace podsim
