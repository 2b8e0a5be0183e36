#ifndef PODSIM_SIM_CHOOSE_LOWERING_H_
#define PODSIM_SIM_CHOOSE_LOWERING_H_

#include <optional>
#include <string>
#include <vector>

#include "sim/lower_collective.h"

namespace podsim {

// What `auto` does: lowers with the fastest lowering that applies, by the
// closed form where it is exact, else by simulated time; ties by closed form
// first, then by table order; by the network model fluid, among those that the
// network asked for serves. Throws InputError{where, ..} with the reasons if
// none applies.
LoweredCollective ChooseLowering(const Collective& collective,
                                 const Slice& slice, const std::string& where,
                                 const SimOptions& options);

// With the given spec, or chosen for nullopt (auto).
LoweredCollective LowerOrChoose(const Collective& collective,
                                const Slice& slice,
                                const std::optional<LoweringSpec>& spec,
                                const std::string& where,
                                const SimOptions& options);

// Seconds of a lowered collective on an otherwise idle slice, of equal shards
// where that lets it fold; nullopt: it is too large to try.
std::optional<double> TimeAlone(const LoweredCollective& lowered,
                                const Slice& slice, const SimOptions& options);

// The fastest lowering that folds at this payload; nullopt: none does.
struct TimedLowering {
  LoweredCollective lowered;
  double seconds = 0;
};
std::optional<TimedLowering> ChooseFolding(const Collective& collective,
                                           const Slice& slice,
                                           const SimOptions& options);

// Why a network does not serve the transfers of a lowering: fifo knows one hop
// only.
std::optional<std::string> WhyNotServed(const NetworkModel& network,
                                        const LoweringSpec& spec);

// The error of a collective that no lowering applies to, with the reasons.
[[noreturn]] void FailNothingApplies(const Collective& collective,
                                     const std::vector<NotApplicable>& reasons,
                                     const std::string& where);

}  // namespace podsim

#endif  // PODSIM_SIM_CHOOSE_LOWERING_H_
