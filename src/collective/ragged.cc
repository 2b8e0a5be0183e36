#include "collective/direct.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/schedule_builder.h"

namespace podsim {
namespace {

// Every message in two halves at most.
std::uint64_t CountRagged(const Collective& collective,
                          const Topology& topology, const LoweringSpec&) {
  std::uint64_t messages = 0;
  for (std::size_t from = 0; from < collective.matrix.size(); ++from) {
    for (std::size_t to = 0; to < collective.matrix.size(); ++to) {
      if (from == to || collective.matrix[from][to].value() == 0) continue;
      ++messages;
    }
  }
  return 2 * messages * GroupsOf(collective, topology).size();
}

}  // namespace

// `direct` with bytes of its own for every pair: no forwarding, so a rank's
// messages cost it one start-up, and the fullest link decides the rest.
Lowering RaggedLowering() {
  return {
      .name = "ragged",
      .help = "one message per pair of its own bytes, all at once",
      .parameters = {"window", "far_first"},
      .kinds = {CollectiveKind::kRaggedAllToAll},
      .preconditions = "any groups of one size",
      .time = "about max(o + D alpha, o + alpha + load of the fullest link)",
      .source = "dimension-order routes, ties in halves",
      .why_not = WhyUnreachable,
      .build = BuildDirect,
      .count = CountRagged,
      .over_dcn = true};
}

}  // namespace podsim
