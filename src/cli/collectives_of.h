#ifndef PODSIM_CLI_COLLECTIVES_OF_H_
#define PODSIM_CLI_COLLECTIVES_OF_H_

#include <vector>

#include "cli/options.h"
#include "collective/collective.h"
#include "topology/slice.h"

namespace podsim {

// KIND with who takes part (--axes, --groups, --shift, --pairs, --root) and how
// much is sent (--bytes, --matrix, --distribution): one per payload. Throws
// InputError at the flag that is wrong.
std::vector<Collective> CollectivesOf(const CliOptions& options,
                                      const Slice& slice);

}  // namespace podsim

#endif  // PODSIM_CLI_COLLECTIVES_OF_H_
