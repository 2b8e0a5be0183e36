#ifndef PODSIM_REPORT_PROGRESS_LINE_H_
#define PODSIM_REPORT_PROGRESS_LINE_H_

#include <chrono>
#include <cstddef>

namespace podsim {

// "podsim: 120 of 500 points, 2 failed" on stderr, written over itself at most
// five times a second, and once more at the end.
class ProgressLine {
 public:
  ProgressLine(bool shown, std::size_t total) : shown_(shown), total_(total) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Update(std::size_t done, std::size_t failed);

 private:
  bool shown_;
  std::size_t total_;
  bool begun_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace podsim

#endif  // PODSIM_REPORT_PROGRESS_LINE_H_
