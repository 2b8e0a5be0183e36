#ifndef PODSIM_CLI_OPTIONS_H_
#define PODSIM_CLI_OPTIONS_H_

#include <string>
#include <vector>

#include "sim/options.h"
#include "topology/slice.h"

namespace podsim {

// The command line as typed, before anything is looked up.
struct CliOptions {
  std::string command;
  std::string kind;          // of a collective
  std::string file;          // positional
  std::string slice;         // --slice, or the positional of `topology`
  std::string bytes;         // --bytes
  std::string axes;          // --axes
  std::string groups;        // --groups FILE
  std::string root;          // --root CHIP
  std::string shift;         // --shift x:1
  std::string pairs;         // --pairs FILE
  std::string matrix;        // --matrix FILE
  std::string distribution;  // --distribution zipf:skew=1.1
  std::vector<std::string> lowerings;  // --lowering
  std::vector<std::string> astra;      // --astra NETWORK.yml SYSTEM.json
  std::string device_assignment;       // of HLO files; empty: iota
  std::vector<std::string> trip_counts;
  std::string compute_scale;
  std::string process_groups;  // of Chakra traces: FILE
  std::string async_mode;      // of steps; empty: as the file says
  std::string op_times;        // of steps: CSV
  std::string step_mode = "engine";
  std::vector<std::string> sets;    // --set
  std::vector<std::string> faults;  // --fault
  bool ideal = false;
  bool force = false;
  std::string engine = "pod";
  std::string network = "fluid";
  std::string fold = "auto";
  std::string verify = "auto";
  std::string max_memory;
  std::string output;  // -o
  std::string trace;
  std::string trace_chips;
  std::string top;  // busiest links
  // Empty: none. "-": stdout, instead of the table. Flags without a file of
  // `topology`, `lowerings` and `generations` count as "-".
  std::string json;
  std::string csv;
  std::string html;  // a file
  std::string plot = "auto";
  std::string timing;
  bool dot = false;
  bool choose = false;             // of `lowerings`
  std::vector<std::string> files;  // of `merge`
  bool resume = false;
  std::string shard;  // "K/N"; empty: all points
  std::vector<std::string> only;
  std::vector<std::string> except;
  // Of `sweep` and `check`; `file` is the sweep, or the results.
  std::string jobs = "1";
  std::string progress = "auto";
  std::string baseline;
  std::string tolerance = "1%";
  std::string baseline_collective;  // of logs, as the next two
  std::string baseline_ranks;       // empty: the log says
  std::string baseline_time = "out-of-place";
  bool either_way = false;
  std::string shell;  // of `completions`
};

// Throws InputError for usage errors. Prints help, version or completions and
// returns false if that was asked for.
bool ParseCommandLine(int argc, char** argv, CliOptions& options);

SliceRequest SliceRequestOf(const CliOptions& options);
// --progress: whether lines on how far the work is may be written.
bool ShowsProgress(const CliOptions& options);

// Whether the table or the JSON names every link; a report always does.
bool ListsLinks(const CliOptions& options);

SimOptions SimOptionsOf(const CliOptions& options);

}  // namespace podsim

#endif  // PODSIM_CLI_OPTIONS_H_
