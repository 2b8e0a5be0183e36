#include "workload/lowering_choice.h"

#include "base/error.h"

namespace podsim {

std::optional<LoweringSpec> ParseLoweringChoice(const std::string& text,
                                                const std::string& where) {
  if (text == "auto") return std::nullopt;
  return ParseLoweringSpec(text, where);
}

std::vector<LoweringOverride> ParseLoweringOverrides(
    const std::vector<std::string>& texts) {
  std::vector<LoweringOverride> overrides;
  for (const std::string& text : texts) {
    const std::string where = "--lowering " + text;
    const auto equals = text.find('=');
    if (equals == std::string::npos || text.find(':') < equals) {
      throw InputError(where,
                       "expected KIND=NAME, for example "
                       "all-reduce=bucket-rotated");
    }
    overrides.push_back({ParseCollectiveKind(text.substr(0, equals), where),
                         ParseLoweringChoice(text.substr(equals + 1), where),
                         where});
    for (std::size_t k = 0; k + 1 < overrides.size(); ++k) {
      if (overrides[k].kind != overrides.back().kind) continue;
      throw InputError(where, "the lowering of " + text.substr(0, equals) +
                                  " was given before, in " +
                                  overrides[k].where);
    }
  }
  return overrides;
}

void ApplyOverride(std::vector<LoweringOverride>& overrides,
                   CollectiveKind kind, StepOp& op) {
  for (LoweringOverride& entry : overrides) {
    if (entry.kind != kind) continue;
    entry.used = true;
    op.lowering = entry.spec;
    op.lowering_where = entry.where;
  }
}

void WarnOfUnused(const std::vector<LoweringOverride>& overrides,
                  std::vector<std::string>& warnings) {
  for (const LoweringOverride& entry : overrides) {
    if (entry.used) continue;
    warnings.push_back(entry.where + " changes nothing: no op is " +
                       ToText(entry.kind));
  }
}

}  // namespace podsim
