// libFuzzer entry, run by scripts/fuzz.sh: any bytes are a trace whose nodes
// have types and places, or an InputError.
//
// Modules: base workload/read_chakra.cc workload/chakra_json.cc
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "test/fuzz/memory.h"
#include "workload/chakra.h"

namespace podsim {
namespace {

// Reading takes at most so many times the file's bytes of heap; 64 KiB more
// for short ones.
constexpr std::size_t kHeapPerByte = 100;
constexpr std::size_t kHeapOfShort = std::size_t{64} << 10;

void Fuzz(std::string_view bytes) {
  const MemoryLimit limit(kHeapPerByte * bytes.size() + kHeapOfShort);
  try {
    const ChakraTrace trace = ParseChakra(bytes, "fuzz.0.et");
    for (const ChakraNode& node : trace.nodes) {
      CHECK(node.type != ChakraNodeType::kInvalid);
      CHECK(!node.where.empty());
      CHECK(node.comm_size.value_or(0) >= 0);
    }
  } catch (const InputError&) {
    // Refused.
  }
}

}  // namespace
}  // namespace podsim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  podsim::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
