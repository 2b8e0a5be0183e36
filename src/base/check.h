#ifndef PODSIM_BASE_CHECK_H_
#define PODSIM_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace podsim::internal {

// Prints the message when the full expression ends, then aborts.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    text_ << file << ':' << line << ": " << condition << " does not hold. ";
  }
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure() {
    std::fprintf(stderr, "podsim: internal error: %s\n", text_.str().c_str());
    std::abort();
  }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

}  // namespace podsim::internal

// For our own bugs only: CHECK(a == b) << "context". Input is checked with
// InputError. Active in every build type.
#define CHECK(condition)      \
  if (condition) [[likely]] { \
  } else                      \
    ::podsim::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#endif  // PODSIM_BASE_CHECK_H_
