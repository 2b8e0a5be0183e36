// libFuzzer entry, run by scripts/fuzz.sh: any text is a podsim-sweep/1
// document with points, or an InputError.
//
// Modules: base sim/sweep_json.cc
// Built: sim engine workload hlo step cost collective schedule topology
// Seeds: test/baselines test/data/examples
#include "base/json_reader.h"
#include "sim/sweep.h"
#include "test/fuzz/entry.h"

namespace podsim {

void Fuzz(std::string_view text) {
  AnswersOrRefuses([&] {
    const JsonValue json = [&] {
      const MemoryLimit limit(MostHeap(text));
      return JsonValue::ParseText(std::string(text), "fuzz.json");
    }();
    CHECK(!ReadSweep(json).empty());
  });
}

}  // namespace podsim
