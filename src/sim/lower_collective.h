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

// A collective with its lowering chosen and its steps emitted: the program of
// one chip or, without symmetry, the schedule of all.
struct LoweredCollective {
  Collective collective;
  LoweringSpec spec;  // resolved
  std::optional<Program> program;
  std::optional<WholeSchedule> whole;  // else
  // Of `auto`: the fastest other lowering that it timed, resolved, and its time
  // with equal shards.
  std::optional<LoweringSpec> runner_up = {};
  double runner_up_s = 0;
};

// Transfers on all chips, and ops on the sites of a fold, before building.
std::uint64_t CountTransfers(const LoweredCollective& lowered,
                             const Topology& topology);
std::uint64_t CountSlots(const LoweredCollective& lowered,
                         const FoldedGrid& grid);
// The schedule of every chip, or of the sites of a fold.
Schedule MakeSchedule(const LoweredCollective& lowered,
                      const Topology& topology, const Fold& fold,
                      Bytes payload);
// The same of the one and only use: leaves a whole schedule empty.
Schedule TakeSchedule(LoweredCollective& lowered, const Topology& topology,
                      const Fold& fold, Bytes payload);
// What the unfolded schedule must compute.
CollectiveMeaning MeaningOf(const LoweredCollective& lowered,
                            const Topology& topology);

// Throws InputError{where, ..} for a program whose transfers of several hops,
// chip by chip, are more than can be simulated; WhyTooMany is for schedules.
void RequireFewUnfolded(const LoweredCollective& lowered,
                        const Topology& topology, const std::string& where);

// Throws InputError{where, ..} with the reason if the lowering does not apply,
// or makes more than can be simulated.
LoweredCollective LowerCollective(const Collective& collective,
                                  const Slice& slice, const LoweringSpec& spec,
                                  const std::string& where,
                                  const SimOptions& options);

// Whether the program sends over several hops.
bool HasFarSteps(const LoweredCollective& lowered);

// Transfers of several hops share links, which makes every one of them slow to
// simulate: `auto` and `compare` leave lowerings with more of them out.
inline constexpr std::uint64_t kMostMultiHop = 20'000;

// Why a resolved spec makes more transfers than can be simulated one by one.
std::optional<std::string> WhyTooMany(const LoweringSpec& spec,
                                      const Collective& collective,
                                      const Topology& topology);

// Proves the program: by orbit if every chunk has bytes and symmetry saves
// work, else by replay of the unfolded schedule (`kFull`: always), skipped
// above 20 million transfers. A violation of a lowering of ours is an internal
// error.
Verdict VerifyLowered(const LoweredCollective& lowered, const Slice& slice,
                      const SimOptions& options);

}  // namespace podsim

#endif  // PODSIM_SIM_LOWER_COLLECTIVE_H_
