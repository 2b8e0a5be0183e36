#ifndef PODSIM_REPORT_NCCL_BASELINE_H_
#define PODSIM_REPORT_NCCL_BASELINE_H_

#include <string>

#include "report/nccl_log.h"
#include "report/results_file.h"

namespace podsim {

// What the command line says of a baseline that is a log of nccl-tests.
struct LogReading {
  std::string collective;  // of podsim, as --baseline-collective; "": the log
                           // names its benchmark
  int ranks = 0;           // --baseline-ranks; 0: the log says
  bool in_place = false;   // --baseline-time: which columns

  bool is_default() const {
    return collective.empty() && ranks == 0 && !in_place;
  }
};

// The rows of a log as points of one collective over one group, keyed by
// collective, group size and payload: a log knows neither slice nor lowering.
// The fastest of several rows of one payload counts; rows of 0 bytes do not.
//
// Throws InputError with file and line if the collective or the number of
// ranks is not known, or if the columns gainsay them: redop, root, count
// (bytes / element size, of all-gather and the like divided by the ranks),
// algbw = S / time and busbw = algbw x factor, each within its last digit.
ResultsFile BaselineOfLog(const NcclLog& log, const LogReading& reading);

// A file of podsim's results or a log; `reading` fits a log only.
ResultsFile ReadBaseline(const std::string& path, const LogReading& reading);
// The same of a text; `path` names it in messages.
ResultsFile ParseBaseline(const std::string& text, const std::string& path,
                          const LogReading& reading);

}  // namespace podsim

#endif  // PODSIM_REPORT_NCCL_BASELINE_H_
