#include "cli/hlo_file.h"

#include <utility>

#include "base/error.h"
#include "base/parse_units.h"
#include "hlo/parser.h"

namespace podsim {

Workload ReadHloWorkload(const CliOptions& options) {
  const std::vector<HloModule> modules = ReadHlo(options.file);
  if (modules.size() != 1) {
    throw InputError(options.file, "expected one HLO module, got " +
                                       std::to_string(modules.size()) +
                                       "; cut the file at \"// -----\"");
  }
  HloRequest request{.slice = SliceRequestOf(options),
                     .lowerings = options.lowerings,
                     .trip_counts = options.trip_counts};
  if (!options.device_assignment.empty()) {
    request.device_assignment = options.device_assignment;
  }
  if (!options.compute_scale.empty()) {
    request.compute_scale =
        ParsePercent(options.compute_scale, "--compute-scale");
  }
  return MakeHloWorkload(modules[0], request);
}

void RejectHloFlags(const CliOptions& options) {
  for (const auto& [flag, given] :
       {std::pair("--device-assignment", !options.device_assignment.empty()),
        std::pair("--trip-count", !options.trip_counts.empty()),
        std::pair("--compute-scale", !options.compute_scale.empty())}) {
    if (!given) continue;
    throw InputError(flag, "is for HLO files; leave it out");
  }
}

}  // namespace podsim
