// libFuzzer entry, run by scripts/fuzz.sh: any text is a podsim-topology/1
// file, or an InputError.
//
// Modules: base topology
// Seeds: topologies
#include "test/fuzz/entry.h"
#include "topology/slice.h"

namespace podsim {

void Fuzz(std::string_view text) {
  const FuzzFile file(text, ".json");
  AnswersOrRefuses([&] {
    SliceRequest request;
    request.spec = file.path();
    const Slice slice = MakeSlice(request);
    CHECK(slice.topology.chips() >= 1);
    CHECK(slice.topology.live_chips() <= slice.topology.chips());
  });
}

}  // namespace podsim
