#ifndef PODSIM_WORKLOAD_HLO_MEMORY_H_
#define PODSIM_WORKLOAD_HLO_MEMORY_H_

#include <vector>

#include "hlo/module.h"
#include "step/step_graph.h"

namespace podsim {

// What a device's HBM holds while an HLO module runs in the order of its text:
// logical bytes, in memory space 0 alone.
//
// A value has a buffer from the instruction that makes it (of an async one its
// start) until its last reader (of a reading start: the done), what a
// computation returns until its end. Views have none of their own: tuples,
// elements, bitcasts, the state of a loop; nor has what is written in place,
// where nothing else reads what it is written over: updates of slices, scatter,
// all-reduce. Parameters of the entry stay, but those whose buffer becomes an
// output (input_output_alias) until their last reader only.
class HloMemory {
 public:
  // The module must outlive it.
  explicit HloMemory(const HloModule& module);
  explicit HloMemory(const HloModule&& module) = delete;

  // While an instruction runs, without what computations that it calls hold
  // beside their arguments.
  Bytes Usage(int computation, int instruction) const {
    return usage_[computation][instruction];
  }
  // The most that a computation holds beside its arguments.
  Bytes Peak(int computation) const { return peak_[computation]; }

  // Of the entry: which instruction runs then, and the largest buffers.
  StepMemory EntryPeak() const;

 private:
  struct Buffer {
    Bytes bytes;
    int first = 0;  // instructions while which it is there
    int last = 0;
    int made_by = 0;  // instruction
  };

  void Measure(int computation);
  Bytes Inner(int computation, int instruction) const;
  int Busiest(int computation) const;

  const HloModule& module_;
  std::vector<std::vector<Buffer>> buffers_;  // by computation
  std::vector<std::vector<Bytes>> usage_;
  std::vector<Bytes> peak_;
};

// The start that an instruction ends: of copy-done, all-gather-done,
// async-done, .. in the same computation; -1: it ends none.
int StartOfDone(const HloComputation& computation, int instruction);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_HLO_MEMORY_H_
