#include "report/progress_line.h"

#include <cmath>
#include <iostream>

#include "base/text.h"

namespace podsim {
namespace {

constexpr std::chrono::milliseconds kPause(200);
// The rest of the line.
constexpr char kClear[] = "\033[K";

}  // namespace

void ProgressLine::Update(std::size_t done, std::size_t failed,
                          std::size_t of) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!begun_) {
    before_ = done;
    start_ = now;
  } else if (done < of && now - last_ < kPause) {
    return;
  }
  begun_ = true;
  last_ = now;
  std::string text = std::to_string(done) + " of " + std::to_string(of) +
                     " points, " + std::to_string(failed) + " failed";
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (done > before_ && done < of && elapsed > 0) {
    const double rate = static_cast<double>(done - before_) / elapsed;
    text += ", " + Significant(rate, 3) + "/s, " +
            Fixed(static_cast<double>(of - done) / rate, 0) + " s left";
  }
  std::cerr << "\rpodsim: " << text << kClear << std::flush;
}

ProgressLine::~ProgressLine() {
  if (begun_) std::cerr << std::endl;
}

void RunLine::Update(const RunProgress& progress) {
  if (!shown_ || progress.ops == 0) return;
  const Clock::time_point now = Clock::now();
  if (over_) start_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const bool last = progress.ended == progress.ops;
  over_ = last;
  if (elapsed < quiet_ || (open_ && !last && now - last_ < kPause)) return;
  last_ = now;
  open_ = !last;
  const double ended = static_cast<double>(progress.ended);
  const double ops = static_cast<double>(progress.ops);
  std::string text = std::to_string(progress.ended) + " of " +
                     std::to_string(progress.ops) + " ops (" +
                     Fixed(std::floor(100 * ended / ops), 0) + "%), " +
                     Significant(1e6 * progress.date, 4) + "us simulated";
  if (ended > 0 && elapsed > 0) {
    text += ", " + Fixed(ended / elapsed, 0) + "/s, " +
            Fixed(elapsed * (ops - ended) / ended, 0) + " s left";
  }
  std::cerr << "\rpodsim: " << text << kClear << (last ? "\n" : "")
            << std::flush;
}

RunLine::~RunLine() {
  if (open_) std::cerr << std::endl;
}

}  // namespace podsim
