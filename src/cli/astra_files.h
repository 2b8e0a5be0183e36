#ifndef PODSIM_CLI_ASTRA_FILES_H_
#define PODSIM_CLI_ASTRA_FILES_H_

#include "cli/options.h"
#include "workload/workload.h"

namespace podsim {

// Whether FILE is a text workload of ASTRA-sim: --astra NETWORK.yml
// SYSTEM.json.
bool IsAstra(const CliOptions& options);

// Its step. Throws InputError, also for flags that say what the files do.
Workload ReadAstraWorkload(const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_ASTRA_FILES_H_
