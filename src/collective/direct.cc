#include <algorithm>
#include <map>

#include "base/check.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "topology/routing.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotDirect(const Collective& collective,
                                        const Topology& topology,
                                        const LoweringSpec&) {
  if (topology.healthy() && topology.slices() == 1) return std::nullopt;
  for (const ChipPair& pair : PairsOf(collective, topology)) {
    if (Route(topology, pair.from, pair.to, TieRule::kParity)) continue;
    return "chip " + std::to_string(pair.from.value()) + " cannot reach chip " +
           std::to_string(pair.to.value()) + " over ICI";
  }
  return std::nullopt;
}

// One message per pair, all at once, on the minimal route.
WholeSchedule BuildDirect(const Collective& collective,
                          const Topology& topology, const LoweringSpec&) {
  auto groups = GroupsOf(collective, topology);
  std::vector<std::uint32_t> rank_of(topology.chips());
  for (std::uint32_t rank = 0; rank < groups[0].size(); ++rank) {
    rank_of[groups[0][rank].value()] = rank;
  }
  WholeSchedule whole{
      .schedule = {},
      .meaning = MeaningWithoutChunks(collective, std::move(groups))};
  for (const ChipPair& pair : PairsOf(collective, topology)) {
    const auto route = Route(topology, pair.from, pair.to, TieRule::kParity);
    CHECK(route.has_value());
    const ChunkRun run{static_cast<std::uint32_t>(whole.meaning.chunks.size()),
                       1};
    whole.meaning.chunks.push_back({.group = 0,
                                    .owner = rank_of[pair.from.value()],
                                    .bytes = collective.payload,
                                    .contributor = pair.from,
                                    .receiver = pair.to});
    if (collective.payload.value() == 0) continue;
    whole.schedule.Add(
        {.src = pair.from,
         .dst = pair.to,
         .chunks = {whole.schedule.AddRuns({&run, 1}), pair.from},
         .bytes = collective.payload},
        *route, {});
  }
  return whole;
}

std::uint64_t CountDirect(const Collective& collective,
                          const Topology& topology, const LoweringSpec&) {
  return PairsOf(collective, topology).size();
}

// One message of one hop.
Seconds DirectTime(const Collective& collective, const Slice& slice,
                   const LoweringSpec&) {
  if (PairsOf(collective, slice.topology).empty()) return Seconds(0);
  return slice.parameters.ici_message_overhead + slice.topology.base_latency() +
         collective.payload / slice.topology.base_bandwidth();
}

}  // namespace

Lowering DirectLowering() {
  return {.name = "direct",
          .help = "one message per pair on its minimal route, all at once",
          .parameters = {},
          .kinds = {CollectiveKind::kCollectivePermute},
          .preconditions = "any slice",
          .time =
              "o + h alpha + min(k, n-k) S/B for a shift by k, h hops; half of "
              "the S/B at k = n/2",
          .source = "dimension-order routes, ties by parity",
          .why_not = WhyNotDirect,
          .build = BuildDirect,
          .count = CountDirect,
          .at_least = DirectTime};
}

}  // namespace podsim
