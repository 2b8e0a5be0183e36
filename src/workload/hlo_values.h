#ifndef PODSIM_WORKLOAD_HLO_VALUES_H_
#define PODSIM_WORKLOAD_HLO_VALUES_H_

#include <cstdint>
#include <vector>

#include "hlo/module.h"

namespace podsim {

// Which ops of a step the values of an HLO module come from, through
// instructions that take no time.

// Indices into StepGraph::ops, ascending, each once; while a loop is read also
// marks of its state, which LoopState replaces.
using HloSources = std::vector<std::uint32_t>;

// Of an array, one; of a tuple, one per element (nested tuples are joined).
struct HloValue {
  std::vector<HloSources> elements;
};

// The values of one run of a computation.
class HloValues {
 public:
  HloValues(const HloComputation& computation,
            const std::vector<HloValue>& arguments);

  // What an instruction reads, control predecessors included.
  HloSources OperandsOf(int instruction) const;
  // Operand by operand.
  std::vector<HloValue> ArgumentsOf(int instruction) const;
  HloValue Of(int instruction) const { return values_[instruction]; }
  void Set(int instruction, HloValue value);
  // The ops [first, end) make the instruction's value; none: it passes on what
  // it reads.
  void SetMade(int instruction, std::uint32_t first, std::uint32_t end);
  // What operand 0 is.
  void PassOn(int instruction);

 private:
  HloValue OperandOf(const HloOperand& operand) const;
  HloValue PassedOn(int instruction) const;

  const HloComputation& computation_;
  const std::vector<HloValue>& arguments_;
  std::vector<HloValue> values_;
};

// The state of a loop: what enters is the initial one or what the iteration
// before has left.
class LoopState {
 public:
  // `operands`: of the while, the initial state of so many elements. Marks are
  // numbered from `first_mark` on, those of loops around it before.
  LoopState(const std::vector<HloValue>& operands, std::size_t elements,
            std::uint32_t first_mark);

  const HloValue& entering() const { return entering_; }  // of marks
  // `result`: of the body.
  void Close(const HloValue& result);
  void Resolve(HloSources& sources) const;  // replaces the marks
  const HloValue& leaving() const { return leaving_; }
  std::uint32_t end_mark() const {
    return first_mark_ + static_cast<std::uint32_t>(initial_.elements.size());
  }

 private:
  std::uint32_t first_mark_;
  HloValue initial_;
  HloValue entering_;
  HloValue leaving_;
  std::vector<HloSources> meaning_;  // of every mark
};

// Ops are far below.
inline constexpr std::uint32_t kFirstMark = 1U << 31;

// What is in one or the other.
HloSources Joined(const HloSources& a, const HloSources& b);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_HLO_VALUES_H_
