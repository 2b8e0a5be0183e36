// libFuzzer entry, run by scripts/fuzz.sh: any text is a network of ASTRA-sim,
// or an InputError; as a slice it is a torus, or refused.
//
// Modules: base topology
// Seeds: workloads/astra
#include "test/fuzz/entry.h"
#include "topology/astra_network.h"

namespace podsim {

void Fuzz(std::string_view text) {
  AnswersOrRefuses([&] {
    const AstraNetwork network = ParseAstraNetwork(text, "fuzz.yml");
    CHECK(!network.dimensions.empty());
    int chips = 1;
    for (const AstraDimension& dimension : network.dimensions) {
      CHECK(dimension.gib_per_s > 0 && dimension.latency_ns >= 0);
    }
    SliceRequest request;
    request.spec = "fuzz.yml";
    const Slice slice = MakeAstraSlice(network, request);
    for (const AstraDimension& dimension : network.dimensions) {
      chips *= dimension.npus;
    }
    CHECK(slice.topology.chips() == chips);
    CHECK(slice.topology.plain());
  });
}

}  // namespace podsim
