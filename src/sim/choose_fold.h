#ifndef PODSIM_SIM_CHOOSE_FOLD_H_
#define PODSIM_SIM_CHOOSE_FOLD_H_

#include <optional>
#include <string>

#include "sim/lower_collective.h"

namespace podsim {

// Folded as far as translations leave the program alone: to one chip along an
// axis, or one block. nullopt if the links differ or nothing folds.
std::optional<Fold> FoldOf(const Program& program, const Topology& topology);

// The payload of a lowered program, up to the next that its ranks divide.
Bytes PaddedPayload(const LoweredCollective& lowered, const Topology& topology);

// How a program is placed for simulation.
struct FoldChoice {
  std::optional<Fold> fold;  // nullopt: every chip
  Bytes payload;             // the collective's, or padded
  std::string reason;        // why not folded
};

// Folds every axis that the program is invariant along, if the shards are equal
// and the slice is healthy, with the network model fluid. `kOn` pads the
// payload to whole shards, and throws InputError{where, ..} with the reason
// where nothing can fold.
FoldChoice ChooseFold(const LoweredCollective& lowered, const Slice& slice,
                      const SimOptions& options, const std::string& where);

}  // namespace podsim

#endif  // PODSIM_SIM_CHOOSE_FOLD_H_
