#include "collective/cycle.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

constexpr int kCycles = 2;

std::vector<PlaneWalk> Walks(const Collective& collective,
                             const Topology& topology) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return {};
  return EdgeDisjointWalks(topology.axes()[active[0]].size,
                           topology.axes()[active[1]].size);
}

std::optional<std::string> WhyNotPair(const Collective& collective,
                                      const Topology& topology,
                                      const LoweringSpec&) {
  if (const auto reason = WhyNotPlanes(collective, topology)) return reason;
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return std::nullopt;
  if (topology.twisted()) {
    return "the slice is twisted; use it without :twisted, or hamiltonian";
  }
  for (const int axis : active) {
    if (topology.axes()[axis].wrap) continue;
    return "axis " + AxisName(topology, axis) +
           " does not wrap; use hamiltonian or bucket-rotated";
  }
  if (topology.axes()[active[0]].size % 2 !=
      topology.axes()[active[1]].size % 2) {
    return "one axis is even and one odd; use hamiltonian or bucket-rotated";
  }
  const std::vector<PlaneWalk> walks = Walks(collective, topology);
  if (walks.empty()) {
    return "no such cycles were found; use hamiltonian or bucket-rotated";
  }
  return WhyBroken(walks, collective, topology);
}

WholeSchedule BuildPair(const Collective& collective, const Topology& topology,
                        const LoweringSpec&) {
  return BuildCycles(collective, topology, Walks(collective, topology));
}

std::uint64_t CountPair(const Collective& collective, const Topology& topology,
                        const LoweringSpec&) {
  return CountCycles(collective, topology, kCycles);
}

Seconds PairTime(const Collective& collective, const Slice& slice,
                 const LoweringSpec&) {
  return CyclesTime(collective, slice, kCycles);
}

}  // namespace

// Two rings that share no cable and leave none of a torus idle, half of every
// shard around each.
Lowering HamiltonianPairLowering() {
  return {
      .name = "hamiltonian-pair",
      .help = "two rings through all chips of a 2D torus that share no cable",
      .parameters = {},
      .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                CollectiveKind::kAllReduce},
      .preconditions = "two wrapped axes, both even or both odd",
      .time = "floor(P/2) a + (P-1)/(4P) S/B",
      .source =
          "Kotzig 1973 proves that the cycles exist; optimal in bandwidth",
      .why_not = WhyNotPair,
      .build = BuildPair,
      .count = CountPair,
      .at_least = PairTime,
      .one_hop = true,
      .attains = true};
}

}  // namespace podsim
