// libFuzzer entry, run by scripts/fuzz.sh: any bytes are a trace whose nodes
// have types and places, or an InputError.
//
// Modules: base workload/read_chakra.cc workload/chakra_json.cc
#include "test/fuzz/entry.h"
#include "workload/chakra.h"

namespace podsim {

void Fuzz(std::string_view bytes) {
  const MemoryLimit limit(MostHeap(bytes));
  AnswersOrRefuses([&] {
    const ChakraTrace trace = ParseChakra(bytes, "fuzz.0.et");
    for (const ChakraNode& node : trace.nodes) {
      CHECK(node.type != ChakraNodeType::kInvalid);
      CHECK(!node.where.empty());
      CHECK(node.comm_size.value_or(0) >= 0);
    }
  });
}

}  // namespace podsim
