#include "collective/cycle.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::vector<PlaneWalk> Walks(const Collective& collective,
                             const Topology& topology) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return {};
  return {
      Snake(topology.axes()[active[0]].size, topology.axes()[active[1]].size)};
}

std::optional<std::string> WhyNotHamiltonian(const Collective& collective,
                                             const Topology& topology,
                                             const LoweringSpec&) {
  if (const auto reason = WhyNotPlanes(collective, topology)) return reason;
  const std::vector<PlaneWalk> walks = Walks(collective, topology);
  if (!walks.empty() && walks[0].empty()) {
    return "both sides of the group are odd, and such a mesh has no "
           "Hamiltonian cycle; use hamiltonian-pair if both axes wrap, or "
           "bucket-rotated";
  }
  return WhyBroken(walks, collective, topology);
}

WholeSchedule BuildHamiltonian(const Collective& collective,
                               const Topology& topology, const LoweringSpec&) {
  return BuildCycles(collective, topology, Walks(collective, topology));
}

std::uint64_t CountHamiltonian(const Collective& collective,
                               const Topology& topology, const LoweringSpec&) {
  return CountCycles(collective, topology, /*cycles=*/1);
}

Seconds HamiltonianTime(const Collective& collective, const Slice& slice,
                        const LoweringSpec&) {
  return CyclesTime(collective, slice, /*cycles=*/1);
}

}  // namespace

// A snake through two axes makes a mesh one ring; ring-short runs around it.
Lowering HamiltonianLowering() {
  return {.name = "hamiltonian",
          .help = "one ring through all chips of two axes, the shorter way",
          .parameters = {},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                    CollectiveKind::kAllReduce},
          .preconditions = "two axes, one of even size",
          .time = "floor(P/2) a + (P-1)/(2P) S/B",
          .source = "snake order; a mesh with two odd sides has no such cycle",
          .why_not = WhyNotHamiltonian,
          .build = BuildHamiltonian,
          .count = CountHamiltonian,
          .at_least = HamiltonianTime,
          .one_hop = true,
          .attains = true};
}

}  // namespace podsim
