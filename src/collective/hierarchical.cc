#include "collective/axis_stage.h"
#include "collective/groups.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotHierarchical(const Collective& collective,
                                              const Topology& topology,
                                              const LoweringSpec& spec) {
  if (!SpansSlices(collective, topology)) {
    return "no group spans slices; use bucket-rotated";
  }
  return WhyNotRotated(collective, topology, spec);
}

// The steps inside the slices, and a ring over them, for each batch.
std::uint64_t CountHierarchical(const Collective& collective,
                                const Topology& topology,
                                const LoweringSpec& spec) {
  LoweringSpec inside = spec;
  inside.name = "bucket-rotated";
  const std::uint64_t rings =
      static_cast<std::uint64_t>(PhasesOf(collective.kind)) * spec.batches;
  return CountSteps(inside, collective, topology) +
         rings * (topology.slices() - 1);
}

}  // namespace

// Over DCN goes only what must: every chip's share of the sum of its slice. So
// a reduce-scatter inside every slice, the same on all links of ICI, an
// all-reduce of every share over the slices, and an all-gather back. In several
// batches the slow part of one goes on beside the fast parts of others.
Lowering HierarchicalLowering() {
  return {.name = "hierarchical",
          .help =
              "inside every slice as bucket-rotated, over DCN a ring of the "
              "slices",
          .parameters = {"axis_primitive", "batches", "fractions"},
          .kinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                    CollectiveKind::kReduceScatter},
          .preconditions =
              "groups that span slices, along axes that are rings "
              "or lines inside them",
          .time =
              "m slices, equal wrapped axes: (P-1)/P S/(dB) + 2(m-1)/m "
              "S/(P B_dcn) + 2(sum h_j a + (m-1)(o + dcn.latency))",
          .source =
              "hierarchical all-reduce of multislice XLA; NCCL 2.x trees "
              "of nodes",
          .why_not = WhyNotHierarchical,
          .lower = EmitRotated,
          .count = CountHierarchical,
          .over_dcn = true};
}

}  // namespace podsim
