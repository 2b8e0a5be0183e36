// libFuzzer entry, run by scripts/fuzz.sh: any text is a podsim-workload/1
// document whose times are numbers, or an InputError.
//
// Modules: base topology workload/workload_json.cc
// Built: workload hlo step cost collective schedule
// Seeds: workloads test/data/examples
#include <cmath>

#include "base/json_reader.h"
#include "test/fuzz/entry.h"
#include "workload/workload.h"

namespace podsim {

void Fuzz(std::string_view text) {
  AnswersOrRefuses([&] {
    const JsonValue json = [&] {
      const MemoryLimit limit(MostHeap(text));
      return JsonValue::ParseText(std::string(text), "fuzz.json");
    }();
    const Workload workload = ReadWorkload(json, {});
    CHECK(!workload.graph.ops.empty());
    for (const StepOp& op : workload.graph.ops) {
      CHECK(std::isfinite(op.duration.value()) && op.duration >= Seconds(0));
      CHECK(op.hbm >= Bytes(0)) << op.id;
      CHECK(!op.collective || op.collective->payload >= Bytes(0)) << op.id;
    }
    for (const std::int64_t count : CountExecutions(workload.graph)) {
      CHECK(count >= 0);
    }
  });
}

}  // namespace podsim
