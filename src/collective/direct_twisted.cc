#include "collective/direct_program.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotDirectTwisted(const Collective& collective,
                                               const Topology& topology,
                                               const LoweringSpec&) {
  if (!topology.twisted()) return "the slice is not twisted; use direct";
  const auto axes = static_cast<int>(ActiveAxes(collective, topology).size());
  if (axes != topology.ici_axes()) {
    return "the group is not all chips of a twisted slice; use direct";
  }
  const std::int64_t n = GroupSize(collective, topology);
  if (collective.payload.value() % n != 0) {
    return "the " + std::to_string(n) +
           " ranks do not divide the payload; use one that they divide, or "
           "direct";
  }
  return std::nullopt;
}

// Dimension order would lose what the twist gains. All minimal counts of hops
// per axis, each with an equal share of the bytes, load all links of all axes
// alike on every shape tried; then the load is the mean distance, the least
// possible.
Program LowerDirectTwisted(const Collective& collective,
                           const Topology& topology, const LoweringSpec& spec) {
  return EmitDirect(collective, AllMinimalWays(topology), spec.window);
}

std::uint64_t CountDirectTwisted(const Collective& collective,
                                 const Topology& topology,
                                 const LoweringSpec&) {
  // Few displacements have more than four minimal counts of hops.
  return 4 * static_cast<std::uint64_t>(GroupSize(collective, topology));
}

}  // namespace

Lowering DirectTwistedLowering() {
  return {.name = "direct-twisted",
          .help = "direct, spread over all minimal routes of a twisted torus",
          .parameters = {"window"},
          .kinds = {CollectiveKind::kAllToAll},
          .preconditions = "all chips of a twisted slice, n divides S",
          .time =
              "about max(o + D alpha, o + alpha + load), load = mean hops of "
              "all pairs x (n-1)/(2dn) S/B",
          .source =
              "Camara et al., IEEE TPDS 2010; Jouppi et al., TPU v4, ISCA 2023",
          .why_not = WhyNotDirectTwisted,
          .lower = LowerDirectTwisted,
          .count = CountDirectTwisted,
          .twists = true};
}

}  // namespace podsim
