#ifndef PODSIM_HLO_COST_H_
#define PODSIM_HLO_COST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "hlo/module.h"

namespace podsim {

// What one device computes in one execution of an instruction.
struct HloCost {
  // Multiply-adds of dot, convolution, ragged-dot, scaled-dot and library
  // matmuls, 2 each; fusions and calls: of their computation, loops inside
  // times their trip counts (1 if unknown).
  Flops flops;
  // Additions of an all-reduce or reduce-scatter: 1 per element.
  Flops reduction_flops;
  // Operands and results, once each; what a fusion has inside is free. 0 for
  // what moves nothing (bitcast, tuple, get-tuple-element, parameter,
  // constant, ..) and for control flow, whose bodies count.
  Bytes bytes;
  // The same, but slices are read and updates written in place: a
  // dynamic-slice reads its result only, a dynamic-update-slice its update; so
  // does a fusion that uses a parameter only that way (XLA HloCostAnalysis).
  Bytes bytes_in_place;
  // Element type of the wider operand of the largest dot or convolution.
  std::optional<HloElementType> dot_type;
  // A custom call whose work is not known: its target.
  std::optional<std::string> unknown_target;
  // The compiler's own estimate, of the backend_config.
  std::optional<std::int64_t> estimated_cycles;
};

// Multiply-adds of a computation and what it calls, at most 1e300.
struct HloWork {
  double flops = 0;
  double most = 0;                     // of one dot or convolution
  std::optional<HloElementType> type;  // of its wider operand
};

// The costs of many instructions of a module: keeps what called computations
// cost. The module must outlive it.
class HloCosts {
 public:
  explicit HloCosts(const HloModule& module) : module_(module) {}

  // Throws InputError at the instruction for shapes that do not fit.
  HloCost Of(int computation, int instruction);

 private:
  HloWork WorkOf(int computation, int instruction);
  const HloWork& WorkOfComputation(int computation);
  Bytes BytesOfFusion(int computation);

  const HloModule& module_;
  std::map<int, HloWork> computations_;
  std::map<int, Bytes> fusions_;  // by their computation
};

// The same of one instruction. Adds up all that it calls.
HloCost CostOf(const HloModule& module, int computation, int instruction);

// Multiply-adds times 2 of dot, convolution and the like alone; 0 for others.
Flops DotFlops(const HloModule& module, const HloComputation& computation,
               const HloInstruction& instruction);

// How often each computation runs in one run of the module, loops multiplied:
// entry 1; every branch of a conditional as often as the conditional, an upper
// bound; fusions, calls and async wrappers as often as their callers; element
// functions (of reduce, sort, all-reduce, ..) 0. `default_trip_count` stands in
// for unknown trip counts. Saturates at 2^62. All 0 without an entry.
std::vector<std::int64_t> ExecutionCounts(const HloModule& module,
                                          std::int64_t default_trip_count);

struct HloTotals {
  Flops static_flops;   // each computation once
  Flops dynamic_flops;  // times its execution count
};
HloTotals TotalFlops(const HloModule& module, std::int64_t default_trip_count);

}  // namespace podsim

#endif  // PODSIM_HLO_COST_H_
