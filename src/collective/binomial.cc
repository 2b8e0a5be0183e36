#include <bit>

#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/schedule_builder.h"
#include "collective/tree.h"

namespace podsim {
namespace {

// One group: ranks relative to the root, the whole payload as one chunk.
class BinomialGroup {
 public:
  BinomialGroup(const std::vector<ChipId>& group, std::uint32_t chunk,
                const Topology& topology, ScheduleBuilder& builder)
      : group_(group),
        chunk_(chunk),
        topology_(topology),
        builder_(builder),
        last_(group.size()) {}

  void Reduce() {
    for (int stride = 1; stride < size(); stride *= 2) {
      for (int r = stride; r < size(); r += 2 * stride) {
        Send(r, r - stride, Mode::kReduce);
      }
    }
  }

  void Broadcast() {
    const auto rounded = static_cast<int>(std::bit_ceil(group_.size()));
    for (int stride = rounded / 2; stride >= 1; stride /= 2) {
      for (int r = 0; r + stride < size(); r += 2 * stride) {
        Send(r, r + stride, Mode::kCopy);
      }
    }
  }

 private:
  int size() const { return static_cast<int>(group_.size()); }
  ChipId ChipOf(int relative) const {
    return group_[(relative + builder_.root()) % size()];
  }

  // One lane per chip: a message waits for the one before.
  void Send(int from, int to, Mode mode) {
    std::vector<OpId> after;
    if (last_[from]) after.push_back(*last_[from]);
    const std::vector<LinkId> route =
        RouteOf(topology_, ChipOf(from), ChipOf(to));
    last_[from] = builder_.Send({.from = ChipOf(from),
                                 .to = ChipOf(to),
                                 .chunks = {&chunk_, 1},
                                 .mode = mode,
                                 .route = route},
                                after);
  }

  const std::vector<ChipId>& group_;
  std::uint32_t chunk_;
  const Topology& topology_;
  ScheduleBuilder& builder_;
  std::vector<std::optional<OpId>> last_;  // its last message, by relative rank
};

// reduce: r with r mod 2s = s sends to r - s, s = 1, 2, 4, ..; broadcast: the
// same backwards; all-reduce: both, with rank 0 as the root.
WholeSchedule BuildBinomial(const Collective& collective,
                            const Topology& topology, const LoweringSpec&) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    const std::uint32_t chunk =
        builder.AddChunk(g, builder.root(), collective.payload);
    BinomialGroup group(builder.groups()[g], chunk, topology, builder);
    if (collective.kind != CollectiveKind::kBroadcast) group.Reduce();
    if (collective.kind != CollectiveKind::kReduce) group.Broadcast();
  }
  return std::move(builder).Finish();
}

std::uint64_t CountBinomial(const Collective& collective,
                            const Topology& topology, const LoweringSpec&) {
  return CountPipeline(collective, topology, /*trees=*/1, /*chunks=*/1);
}

// Down, the root sends ceil(log2 n) times, one after the other. Up, every rank
// sends once: the longest chain has a message per bit of its first rank, and
// the most bits below n are floor(log2 n).
Seconds BinomialTime(const Collective& collective, const Slice& slice,
                     const LoweringSpec&) {
  const auto n = static_cast<unsigned>(GroupSize(collective, slice.topology));
  int messages = 0;
  if (collective.kind != CollectiveKind::kReduce) {
    messages += static_cast<int>(std::bit_width(n - 1));
  }
  if (collective.kind != CollectiveKind::kBroadcast) {
    messages += static_cast<int>(std::bit_width(n)) - 1;
  }
  if (collective.payload.value() == 0) return Seconds(0);
  return messages * (slice.parameters.ici_message_overhead +
                     slice.topology.base_latency() +
                     collective.payload / slice.topology.base_bandwidth());
}

}  // namespace

Lowering BinomialLowering() {
  return {.name = "binomial",
          .help =
              "a binomial tree over the ranks: ceil(log2 n) rounds of the "
              "whole payload",
          .parameters = {},
          .kinds = {CollectiveKind::kBroadcast, CollectiveKind::kReduce,
                    CollectiveKind::kAllReduce},
          .preconditions = "any groups",
          .time = "at least ceil(log2 n)(a + S/B)",
          .source = "Chan, Heimlich, Purkayastha, van de Geijn 2007",
          .why_not = WhyUnreachable,
          .build = BuildBinomial,
          .count = CountBinomial,
          .at_least = BinomialTime,
          .over_dcn = true};
}

}  // namespace podsim
