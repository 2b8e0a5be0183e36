#ifndef PODSIM_SIM_LOWER_COLLECTIVE_H_
#define PODSIM_SIM_LOWER_COLLECTIVE_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/lowering.h"
#include "schedule/schedule.h"
#include "sim/options.h"
#include "sim/result.h"
#include "topology/fold.h"

namespace podsim {

// A collective with its lowering chosen and its steps emitted.
struct LoweredCollective {
  Collective collective;
  LoweringSpec spec;
  Program program;
};

// How a program is placed for simulation.
struct FoldChoice {
  std::optional<Fold> fold;  // nullopt: every chip
  Bytes payload;             // the collective's, or padded
  std::string reason;        // why not folded
};

// Folds every axis that the program is invariant along, if the shards are equal
// and the slice is healthy. `kOn` pads the payload to whole shards, and throws
// InputError{where, ..} with the reason where nothing can fold.
FoldChoice ChooseFold(const LoweredCollective& lowered, const Slice& slice,
                      FoldMode mode, const std::string& where);

// Lowers with the given spec, or with the fastest one for nullopt (auto): the
// smallest closed form where exact, else simulated time, ties by table order.
// Throws InputError{where, ..} with the reasons if none applies.
LoweredCollective LowerCollective(const Collective& collective,
                                  const Slice& slice,
                                  const std::optional<LoweringSpec>& spec,
                                  const std::string& where);

// The error of a collective that no lowering applies to, with the reasons.
[[noreturn]] void FailNothingApplies(const Collective& collective,
                                     const std::vector<NotApplicable>& reasons,
                                     const std::string& where);

// Proves the program: by orbit if every chunk has bytes and symmetry saves
// work, else by replay of the unfolded schedule (`kFull`: always), skipped
// above 20 million transfers. A violation of a lowering of ours is an internal
// error.
Verdict VerifyLowered(const LoweredCollective& lowered, const Slice& slice,
                      const SimOptions& options);

}  // namespace podsim

#endif  // PODSIM_SIM_LOWER_COLLECTIVE_H_
