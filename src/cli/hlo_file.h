#ifndef PODSIM_CLI_HLO_FILE_H_
#define PODSIM_CLI_HLO_FILE_H_

#include "cli/options.h"
#include "workload/hlo_workload.h"

namespace podsim {

// The step of the one module of an HLO file, as the flags lay it out.
Workload ReadHloWorkload(const CliOptions& options);

// Throws InputError for flags that say what the text of an HLO module does not.
void RejectHloFlags(const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_HLO_FILE_H_
