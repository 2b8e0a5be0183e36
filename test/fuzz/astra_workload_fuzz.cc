// libFuzzer entry, run by scripts/fuzz.sh: any text is a workload of ASTRA-sim
// with numbers in their ranges, or an InputError; as a step on a small torus
// its ops are in order, or it is refused.
//
// Modules: base topology workload/astra_text.cc workload/astra_system.cc
// Modules: workload/astra_workload.cc
// Built: workload hlo step cost collective schedule
// Seeds: workloads/astra
#include <cmath>

#include "test/fuzz/entry.h"
#include "workload/astra.h"

namespace podsim {
namespace {

constexpr char kNetwork[] =
    "topology: [Ring, Ring]\nnpus_count: [4, 2]\nbandwidth: [50, 50]\n"
    "latency: [500, 500]\n";

}  // namespace

void Fuzz(std::string_view text) {
  AnswersOrRefuses([&] {
    const AstraText read = [&] {
      const MemoryLimit limit(MostHeap(text));
      return ParseAstraText(text, "fuzz.txt");
    }();
    CHECK(!read.layers.empty());
    const FuzzFile network(kNetwork, ".yml");
    WorkloadRequest request;
    request.slice.spec = network.path();
    for (const char* kind :
         {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"}) {
      request.lowerings.push_back(std::string(kind) + "=auto");
    }
    const Workload workload = MakeAstraWorkload(read, {}, request, 1);
    for (std::uint32_t id = 0; id < workload.graph.ops.size(); ++id) {
      const StepOp& op = workload.graph.ops[id];
      CHECK(std::isfinite(op.duration.value()) && op.duration >= Seconds(0));
      CHECK(!op.collective || op.collective->payload > Bytes(0)) << op.id;
      for (const std::uint32_t dep : op.deps) CHECK(dep < id) << op.id;
    }
  });
}

}  // namespace podsim
