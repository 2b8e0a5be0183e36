#ifndef PODSIM_REPORT_NCCL_LOG_H_
#define PODSIM_REPORT_NCCL_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podsim {

// A number as printed: it was within `half` of the value, half a unit of the
// last digit.
struct PrintedNumber {
  double value = 0;
  double half = 0;
};

// Three columns of a row: out-of-place or in-place.
struct LoggedTime {
  PrintedNumber us;
  PrintedNumber algbw;  // GB/s, GB = 1e9
  PrintedNumber busbw;
};

struct LoggedRow {
  int line = 0;
  std::int64_t bytes = 0;  // S
  std::int64_t count = 0;  // elements: of S, or of S / ranks
  int element_bytes = 0;
  std::string redop;        // "" unless printed whole
  std::optional<int> root;  // -1: the benchmark has none
  // nullopt: other text is glued onto the row there, or it ends early.
  std::optional<LoggedTime> out_of_place;
  std::optional<LoggedTime> in_place;
  std::string glued;  // that text
};

// The log of one benchmark, as nccl-tests and rccl-tests print it: comments
// that begin with '#', a table, and lines of other programs between them.
struct NcclLog {
  std::string path;
  std::string benchmark;  // "all_gather"; "" if no line names one
  // What the log says of the ranks, best first: lines of devices or of NCCL
  // INFO; the product of nThreads, nGpus and nRanks, which are those of one
  // process and may be fewer.
  std::optional<int> ranks;
  bool has_in_place = false;
  std::vector<LoggedRow> rows;
};

// Whether a text that is no podsim-result/1 is such a log: a line begins with
// '#'.
bool IsNcclLog(std::string_view text);

// Throws InputError with file and line: no table, units other than (B), (us)
// and (GB/s), an element type or number that cannot be, wrong values counted,
// two benchmarks.
NcclLog ReadNcclLog(const std::string& text, const std::string& path);

}  // namespace podsim

#endif  // PODSIM_REPORT_NCCL_LOG_H_
