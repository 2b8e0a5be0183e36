// libFuzzer entry, run by scripts/fuzz.sh: any bytes are a trace whose nodes
// have types and places, or an InputError.
//
// Modules: base workload/read_chakra.cc workload/chakra_json.cc
// Modules: workload/chakra_attribute.cc workload/chakra_groups.cc
// Modules: workload/gunzip.cc
#include "test/fuzz/entry.h"
#include "workload/chakra.h"
#include "workload/gunzip.h"

namespace podsim {

namespace {

constexpr std::size_t kMostUnpacked = std::size_t{1} << 20;

void FuzzTrace(std::string_view bytes) {
  const MemoryLimit limit(MostHeap(bytes));
  AnswersOrRefuses([&] {
    IsChakraJson(std::string(bytes));
    const ChakraTrace trace = ParseChakra(bytes, "fuzz.0.et");
    for (const ChakraNode& node : trace.nodes) {
      CHECK(node.type != ChakraNodeType::kInvalid);
      CHECK(!node.where.empty());
      CHECK(node.comm_size.value_or(0) >= 0);
    }
  });
}

}  // namespace

void Fuzz(std::string_view bytes) {
  if (!IsGzip(bytes)) return FuzzTrace(bytes);
  AnswersOrRefuses([&] {
    const std::string text = Gunzip(bytes, kMostUnpacked, "fuzz.0.et");
    CHECK(text.size() <= kMostUnpacked);
    if (!IsGzip(text)) FuzzTrace(text);
  });
}

}  // namespace podsim
