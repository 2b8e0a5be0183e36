#ifndef PODSIM_REPORT_PROGRESS_LINE_H_
#define PODSIM_REPORT_PROGRESS_LINE_H_

#include <chrono>
#include <cstddef>

#include "engine/engine.h"

namespace podsim {

// "podsim: 120 of 500 points, 2 failed, 38/s, 10 s left" on stderr, written
// over itself at most five times a second, and once more at the end. The rate
// is of the points that this run did.
class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Update(std::size_t done, std::size_t failed, std::size_t of);

 private:
  bool shown_;
  bool begun_ = false;
  std::size_t before_ = 0;  // done before the first update
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

// "podsim: 1234567 of 3538944 ops (34%), 123.4us simulated, 950123/s, 2 s left"
// on stderr, of an engine at work. Written over itself at most five times a
// second, from `quiet` seconds after its begin on.
class RunLine {
 public:
  RunLine(bool shown, double quiet) : shown_(shown), quiet_(quiet) {}
  ~RunLine();
  RunLine(const RunLine&) = delete;
  RunLine& operator=(const RunLine&) = delete;

  void Update(const RunProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  double quiet_;       // seconds
  bool open_ = false;  // the line has no end yet
  bool over_ = false;  // the run has ended: what comes is another
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_;
};

}  // namespace podsim

#endif  // PODSIM_REPORT_PROGRESS_LINE_H_
