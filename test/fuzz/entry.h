#ifndef PODSIM_TEST_FUZZ_ENTRY_H_
#define PODSIM_TEST_FUZZ_ENTRY_H_

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "test/fuzz/memory.h"

namespace podsim {

// What an entry defines: reads any bytes, checks what it read, and lets nothing
// but InputError end it.
void Fuzz(std::string_view text);

// The bytes of heap that reading a text may take: so many times its own, and
// 64 KiB for short ones.
inline constexpr std::size_t kHeapPerByte = 100;
inline constexpr std::size_t kHeapOfShort = std::size_t{64} << 10;
inline std::size_t MostHeap(std::string_view text) {
  return kHeapPerByte * text.size() + kHeapOfShort;
}

template <class Ask>
void AnswersOrRefuses(Ask ask) {
  try {
    ask();
  } catch (const InputError& error) {
    CHECK(error.what()[0] != 0);  // refused, with a reason
  }
}

// A file with these bytes, in memory, for readers that take a path; removed at
// the end.
class FuzzFile {
 public:
  FuzzFile(std::string_view text, const std::string& suffix)
      : path_("/dev/shm/podsim-fuzz-" + std::to_string(getpid()) + suffix) {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    CHECK(file.good()) << path_;
  }
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;
  ~FuzzFile() { unlink(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace podsim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  podsim::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}

#endif  // PODSIM_TEST_FUZZ_ENTRY_H_
