// libFuzzer entry, run by scripts/fuzz.sh: any text is a system of ASTRA-sim
// whose collectives are lowerings, or an InputError.
//
// Modules: base topology workload/astra_system.cc collective/lowering_spec.cc
// Built: workload hlo step cost collective schedule
// Seeds: workloads/astra
#include "test/fuzz/entry.h"
#include "workload/astra.h"
#include "workload/lowering_choice.h"

namespace podsim {

void Fuzz(std::string_view text) {
  AnswersOrRefuses([&] {
    const AstraSystem system = [&] {
      const MemoryLimit limit(MostHeap(text));
      return ReadAstraSystem(
          JsonValue::ParseText(std::string(text), "fuzz.json"));
    }();
    CHECK(system.splits >= 1 && system.endpoint_delay_ns >= 0);
    for (const auto& [kind, list] : system.implementations) {
      CHECK(!list.empty());
      const CollectiveKind asked = kind;
      for (const std::vector<int>& axes :
           {std::vector<int>{0}, std::vector<int>{0, 1}}) {
        AnswersOrRefuses([&] {
          const auto lowering = AstraLowering(system, asked, axes, 2);
          // Never refused: what it names is in the table.
          const auto spec = ParseLoweringSpec(lowering.text, lowering.where);
          CHECK(FindLowering(spec.name) != nullptr) << lowering.text;
        });
      }
    }
  });
}

}  // namespace podsim
