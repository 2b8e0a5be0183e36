#ifndef PODSIM_CLI_CHAKRA_FILE_H_
#define PODSIM_CLI_CHAKRA_FILE_H_

#include "cli/options.h"
#include "schedule/schedule_file.h"
#include "workload/workload.h"

namespace podsim {

// Throws InputError for options of traces: for files of another format.
void RejectChakraFlags(const CliOptions& options);

// Whether the traces that --file names are messages, to be run as a schedule.
bool AreChakraMessages(const CliOptions& options);

// The messages, or the step, of the traces of all ranks. Throws InputError.
ScheduleFile ReadChakraSchedule(const CliOptions& options);
Workload ReadChakraWorkload(const CliOptions& options);

// Writes the trace of every chip: -o PREFIX.et makes PREFIX.0.et, PREFIX.1.et,
// ... All or none, unless a move fails.
void WriteChakraFiles(const Schedule& schedule, int chips,
                      const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_CHAKRA_FILE_H_
