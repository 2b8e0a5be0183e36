#ifndef PODSIM_WORKLOAD_LOWERING_CHOICE_H_
#define PODSIM_WORKLOAD_LOWERING_CHOICE_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/lowering.h"
#include "step/step_graph.h"

namespace podsim {

// One --lowering KIND=NAME, for every collective of that kind.
struct LoweringOverride {
  CollectiveKind kind;
  std::optional<LoweringSpec> spec;  // nullopt: auto
  std::string where;
  bool used = false;
};

// "auto" is nullopt. Throws InputError at `where`.
std::optional<LoweringSpec> ParseLoweringChoice(const std::string& text,
                                                const std::string& where);

// "all-reduce=bucket-rotated". Throws InputError naming the flag, also for a
// kind that stands twice.
std::vector<LoweringOverride> ParseLoweringOverrides(
    const std::vector<std::string>& texts);

// Sets the lowering of an op of this kind, if one was asked for.
void ApplyOverride(std::vector<LoweringOverride>& overrides,
                   CollectiveKind kind, StepOp& op);

// Says which ones no op has used.
void WarnOfUnused(const std::vector<LoweringOverride>& overrides,
                  std::vector<std::string>& warnings);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_LOWERING_CHOICE_H_
