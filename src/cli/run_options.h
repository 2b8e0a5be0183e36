#ifndef PODSIM_CLI_RUN_OPTIONS_H_
#define PODSIM_CLI_RUN_OPTIONS_H_

#include <string>
#include <vector>

#include "cli/options.h"
#include "report/progress_line.h"
#include "sim/run_record.h"
#include "topology/slice.h"
#include "topology/topology.h"

namespace podsim {

// What several commands make of their flags.

// On stderr.
void Warn(const std::vector<std::string>& warnings);

// The chips of --trace-chips; empty: all.
std::vector<ChipId> TraceChips(const CliOptions& options,
                               const Topology& topology);
// Throws InputError where nothing runs that could be traced.
void RequireTraceable(const CliOptions& options, const SimOptions& sim);

int TopOf(const CliOptions& options);

// "podsim compare all-reduce on v5p:4x4x4".
std::string TitleOf(const CliOptions& options, const std::string& what,
                    const Slice& slice);
// nullptr if nothing ran: the engine `bound`, or an abstract step.
const RunRecord* Recorded(const RunRecord& record);

// Silent for a second, unless asked for.
RunLine MakeRunLine(const CliOptions& options);
// `line` must outlive the run.
SimOptions WatchedBy(RunLine& line, const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_RUN_OPTIONS_H_
