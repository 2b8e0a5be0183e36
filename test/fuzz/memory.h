#ifndef PODSIM_TEST_FUZZ_MEMORY_H_
#define PODSIM_TEST_FUZZ_MEMORY_H_

#include <sanitizer/allocator_interface.h>

#include <cstddef>

#include "base/check.h"

namespace podsim {

// Bytes of blocks that live, and the most of them since a limit began; counted
// by hooks of the sanitizer's allocator, of the program's one thread.
struct HeapCount {
  std::size_t now = 0;
  std::size_t most = 0;
};
inline HeapCount heap_count;

// Fails where more bytes live at once than allowed, from its construction to
// its destruction.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t limit) : limit_(limit) {
    [[maybe_unused]] static const int installed =
        __sanitizer_install_malloc_and_free_hooks(
            [](const volatile void* block, std::size_t size) {
              (void)block;
              heap_count.now += size;
              if (heap_count.now > heap_count.most) {
                heap_count.most = heap_count.now;
              }
            },
            [](const volatile void* block) {
              const std::size_t size = __sanitizer_get_allocated_size(block);
              heap_count.now -= size < heap_count.now ? size : heap_count.now;
            });
    before_ = heap_count.now;
    heap_count.most = heap_count.now;
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() {
    const std::size_t used = heap_count.most - before_;
    CHECK(used <= limit_) << used << " bytes of heap, expected at most "
                          << limit_;
  }

 private:
  std::size_t limit_;
  std::size_t before_ = 0;
};

}  // namespace podsim

#endif  // PODSIM_TEST_FUZZ_MEMORY_H_
