#include <algorithm>

#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/schedule_builder.h"

namespace podsim {
namespace {

// Everyone sends everything to everyone, into scratch, and adds what arrives
// when all it sends itself has left (it must not send a partial sum).
WholeSchedule BuildOneShot(const Collective& collective,
                           const Topology& topology, const LoweringSpec&) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    const std::vector<ChipId>& group = builder.groups()[g];
    const std::uint32_t chunk =
        builder.AddChunk(g, /*owner=*/0, collective.payload);
    const auto n = static_cast<int>(group.size());
    std::vector<std::vector<OpId>> sent(group.size()), arrived(group.size());
    for (int apart = 1; apart < n; ++apart) {
      for (int rank = 0; rank < n; ++rank) {
        const int to = (rank + apart) % n;
        const std::vector<LinkId> route =
            RouteOf(topology, group[rank], group[to]);
        const auto op = builder.Send({.from = group[rank],
                                      .to = group[to],
                                      .chunks = {&chunk, 1},
                                      .mode = Mode::kScratch,
                                      .route = route});
        if (!op) continue;
        sent[rank].push_back(*op);
        arrived[to].push_back(*op);
      }
    }
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      for (const OpId transfer : arrived[rank]) {
        builder.AddScratch(transfer, sent[rank]);
      }
    }
  }
  return std::move(builder).Finish();
}

std::uint64_t CountOneShot(const Collective& collective,
                           const Topology& topology, const LoweringSpec&) {
  std::uint64_t messages = 0;
  for (const auto& group : GroupsOf(collective, topology)) {
    messages += std::uint64_t{group.size()} * (group.size() - 1);
  }
  return messages;
}

Seconds OneShotTime(const Collective& collective, const Slice& slice,
                    const LoweringSpec&) {
  if (GroupSize(collective, slice.topology) == 1) return Seconds(0);
  if (collective.payload.value() == 0) return Seconds(0);
  const double load = MeanLinkTime(
      collective, slice, static_cast<double>(collective.payload.value()));
  const Seconds one_link = collective.payload / slice.topology.base_bandwidth();
  return slice.parameters.ici_message_overhead + slice.topology.base_latency() +
         std::max(one_link, Seconds(load));
}

}  // namespace

// The fewest start-ups: one message deep, at n times the traffic.
Lowering OneShotLowering() {
  return {.name = "one-shot",
          .help = "everyone sends everything to everyone and adds",
          .parameters = {},
          .kinds = {CollectiveKind::kAllReduce},
          .preconditions = "any groups",
          .time = "about max(o + D alpha, o + alpha + n load)",
          .source = "the latency-optimal all-reduce; small payloads only",
          .why_not = WhyUnreachable,
          .build = BuildOneShot,
          .count = CountOneShot,
          .at_least = OneShotTime,
          .few_dates = true,
          .over_dcn = true};
}

}  // namespace podsim
