// libFuzzer entry, run by scripts/fuzz.sh: the files that stand beside a step.
// Any text is a device assignment, or op times, or an InputError.
//
// Modules: base workload/device_assignment.cc workload/step_edits.cc
// Built: workload hlo step cost collective schedule topology base
// Seeds: test/data/step_files
#include <cmath>

#include "test/fuzz/entry.h"
#include "workload/device_assignment.h"
#include "workload/step_edits.h"

namespace podsim {
namespace {

void FuzzAssignment(std::string_view text, const Slice& slice) {
  const FuzzFile file(text, ".json");
  AnswersOrRefuses([&] {
    const MemoryLimit limit(MostHeap(text));
    const int devices =
        slice.topology.live_chips() * DevicesPerChip(slice.generation);
    const std::vector<ChipId> chips =
        AssignDevices(ParseDeviceAssignment(file.path()), slice, devices);
    CHECK(static_cast<int>(chips.size()) == devices);
  });
}

void FuzzOpTimes(std::string_view text) {
  StepGraph graph;
  graph.ops.resize(2);
  graph.ops[0].id = "forward";
  graph.ops[1].id = "gradient, first";
  std::vector<std::string> warnings;
  AnswersOrRefuses([&] {
    const MemoryLimit limit(MostHeap(text));
    SetOpTimes(text, "fuzz.csv", graph, warnings);
  });
  for (const StepOp& op : graph.ops) {
    CHECK(std::isfinite(op.duration.value()) && op.duration >= Seconds(0));
  }
}

Slice SliceOf(const std::string& spec) {
  SliceRequest request;
  request.spec = spec;
  return MakeSlice(request);
}

}  // namespace

void Fuzz(std::string_view text) {
  static const Slice four = SliceOf("v5e:2x2");
  static const Slice two_cores = SliceOf("v7x:2x2x1");
  FuzzAssignment(text, four);
  FuzzAssignment(text, two_cores);
  FuzzOpTimes(text);
}

}  // namespace podsim
