#include "cli/astra_files.h"

#include "base/error.h"
#include "base/json_reader.h"
#include "base/parse_units.h"
#include "base/text_file.h"
#include "topology/astra_network.h"
#include "workload/astra.h"

namespace podsim {

bool IsAstra(const CliOptions& options) { return !options.astra.empty(); }

Workload ReadAstraWorkload(const CliOptions& options) {
  const std::string& network = options.astra[0];
  const std::string& system = options.astra[1];
  for (const auto& [flag, given] :
       {std::pair("--slice", !options.slice.empty()),
        std::pair("--device-assignment", !options.device_assignment.empty()),
        std::pair("--trip-count", !options.trip_counts.empty())}) {
    if (!given) continue;
    throw InputError(flag,
                     "is not for --astra, whose files say the network; "
                     "leave it out");
  }
  if (!IsAstraNetworkFile(network)) {
    throw InputError("--astra", "expected NETWORK.yml SYSTEM.json, got \"" +
                                    network +
                                    "\" first; networks end in "
                                    ".yml or .yaml");
  }
  SliceRequest slice = SliceRequestOf(options);
  slice.spec = network;
  const double scale =
      options.compute_scale.empty()
          ? 1
          : ParsePercent(options.compute_scale, "--compute-scale");
  return MakeAstraWorkload(
      ParseAstraText(ReadTextFile(options.file), options.file),
      ReadAstraSystem(JsonValue::ReadFile(system)),
      {.slice = slice, .lowerings = options.lowerings}, scale);
}

}  // namespace podsim
