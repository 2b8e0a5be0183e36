#ifndef PODSIM_STEP_MEMORY_H_
#define PODSIM_STEP_MEMORY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "step/abstract_step.h"
#include "step/index_lists.h"

namespace podsim {

// A result, or a parameter, with bytes. Whoever takes over a buffer reads it,
// and its readers read the same buffer.
struct StepBuffer {
  Bytes bytes = {};
  std::uint32_t op = kNoOp;  // allocates it; kNoOp: there from the start
  std::uint32_t param = 0;   // then: index into AbstractStep::params
  bool live_out = false;     // to the end
};

struct MemoryPeak {
  Bytes bytes = {};
  std::uint32_t position = 0;  // in the order: the first one of several
  // What is live there, most bytes first.
  std::vector<StepBuffer> live;
};

// What a step holds while it executes in some order: usage while op i runs,
// after the ops `before`, is its scratch and all buffers defined by a member of
// `before`, by i, or from the start, but those that are not live to the end and
// whose readers are all in `before`. A start allocates the result of its
// transfer and reads its operands until its done. So usage depends on the set
// of ops before, not on their order; and on nothing else.
// O(ops + edges) to make and per order.
class MemoryModel {
 public:
  explicit MemoryModel(const AbstractStep& step);

  const std::vector<StepBuffer>& buffers() const { return buffers_; }
  // The one that the op allocates; kNoBuffer: none.
  std::uint32_t Defines(std::uint32_t op) const { return defines_[op]; }
  // Those whose reading ends with the op, each once.
  std::span<const std::uint32_t> Reads(std::uint32_t op) const {
    return reads_[op];
  }
  // The ops with which its reading ends, ascending. Empty: counted while its
  // op runs only.
  std::span<const std::uint32_t> Readers(std::uint32_t buffer) const {
    return readers_[buffer];
  }
  Bytes tmp(std::uint32_t op) const { return tmp_[op]; }

  // While each position runs.
  std::vector<Bytes> Usage(StepOrderView order) const;
  MemoryPeak Peak(StepOrderView order) const;
  // What is live while that position runs, most bytes first.
  std::vector<StepBuffer> LiveAt(StepOrderView order,
                                 std::uint32_t position) const;

  static constexpr std::uint32_t kNoBuffer = UINT32_MAX;

 private:
  void AddBuffers(const AbstractStep& step);
  void AddReaders(const AbstractStep& step);
  std::vector<StepBuffer> buffers_;
  std::vector<std::uint32_t> defines_;
  std::vector<std::uint32_t> held_;  // the buffer with the op's result
  IndexLists reads_;
  IndexLists readers_;
  std::vector<Bytes> tmp_;
};

// "op 4 (fusion.7) 64 MiB, param 0 8 MiB, 2 more".
std::string LargestLiveText(const AbstractStep& step,
                            const std::vector<StepBuffer>& live);

// "12.1 GiB": four significant digits and a fitting binary unit.
std::string AmountText(Bytes amount);

}  // namespace podsim

#endif  // PODSIM_STEP_MEMORY_H_
