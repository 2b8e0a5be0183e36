#include "report/progress_line.h"

#include <iostream>

namespace podsim {

void ProgressLine::Update(std::size_t done, std::size_t failed) {
  constexpr std::chrono::milliseconds kPause(200);
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (begun_ && done < total_ && now - last_ < kPause) return;
  begun_ = true;
  last_ = now;
  std::cerr << "\rpodsim: " << done << " of " << total_ << " points, " << failed
            << " failed" << std::flush;
}

ProgressLine::~ProgressLine() {
  if (begun_) std::cerr << std::endl;
}

}  // namespace podsim
