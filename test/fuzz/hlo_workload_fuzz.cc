// libFuzzer entry, run by scripts/fuzz.sh: of any HLO text a step on a slice
// with as many devices, or an InputError. A step's times are numbers, and its
// items name its ops.
//
// Modules: base topology hlo workload collective/groups.cc step/step_graph.cc
// Built: step cost collective schedule
#include <cmath>
#include <string>
#include <vector>

#include "hlo/parser.h"
#include "hlo/replica_groups.h"
#include "test/fuzz/entry.h"
#include "workload/hlo_workload.h"

namespace podsim {
namespace {

// A slice of so many devices; of others the mapping is refused. Two devices
// share a chip of v7x.
std::string SliceOf(int devices, bool shared) {
  switch (devices) {
    case 1:
      return "v5e:1x1";
    case 2:
      return shared ? "v7x:1x1x1" : "v5e:1x2";
    case 4:
      return shared ? "v7x:2x1x1" : "v5e:2x2";
    case 8:
      return shared ? "v7x:2x2x1" : "2*v5e:2x2";
    case 16:
      return shared ? "v7x:2x2x2" : "v5e:4x4";
    case 32:
      return "2*v5e:4x4";
    case 64:
      return "v5p:4x4x4";
    default:
      return "v5e:2x2";
  }
}

void CheckItems(const std::vector<StepItem>& items, std::size_t ops) {
  for (const StepItem& item : items) {
    CHECK(!item.op || *item.op < ops);
    CHECK(item.repeat >= 1);
    CheckItems(item.body, ops);
  }
}

void CheckStep(const Workload& workload) {
  const StepGraph& graph = workload.graph;
  CHECK(!graph.ops.empty());
  for (const StepOp& op : graph.ops) {
    CHECK(std::isfinite(op.duration.value())) << op.id;
    CHECK(op.duration >= Seconds(0)) << op.id;
    CHECK(op.hbm >= Bytes(0)) << op.id;
    CHECK(!op.collective || op.collective->payload >= Bytes(0)) << op.id;
  }
  CheckItems(graph.items, graph.ops.size());
  for (const std::int64_t count : CountExecutions(graph)) CHECK(count >= 0);
}

}  // namespace

void Fuzz(std::string_view text) {
  AnswersOrRefuses([&] {
    for (const HloModule& module : ParseHlo(text, "fuzz.hlo")) {
      HloRequest request;
      request.slice.spec =
          SliceOf(InferDevices(module).devices(), text.size() % 2 == 0);
      request.slice.spec_where = "--slice";
      CheckStep(MakeHloWorkload(module, request));
    }
  });
}

}  // namespace podsim
