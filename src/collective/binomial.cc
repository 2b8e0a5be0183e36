#include <bit>

#include "base/check.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/tree.h"
#include "topology/routing.h"

namespace podsim {
namespace {

// One group: ranks relative to the root, the whole payload as one chunk.
class BinomialBuilder {
 public:
  BinomialBuilder(const std::vector<ChipId>& group, int root, ChunkSet chunk,
                  Bytes bytes, const Topology& topology, Schedule& schedule)
      : group_(group),
        root_(root),
        chunk_(chunk),
        bytes_(bytes),
        topology_(topology),
        schedule_(schedule),
        wrote_(group.size()),
        lane_(group.size()) {}

  void Reduce() {
    for (int stride = 1; stride < size(); stride *= 2) {
      for (int r = stride; r < size(); r += 2 * stride) {
        const OpId op = Send(r, r - stride, Mode::kReduce);
        wrote_[r - stride].push_back(op);
      }
    }
  }

  void Broadcast() {
    for (int stride = Rounded() / 2; stride >= 1; stride /= 2) {
      for (int r = 0; r + stride < size(); r += 2 * stride) {
        wrote_[r + stride] = {Send(r, r + stride, Mode::kCopy)};
      }
    }
  }

 private:
  int size() const { return static_cast<int>(group_.size()); }
  int Rounded() const {  // up to a power of two
    return static_cast<int>(std::bit_ceil(group_.size()));
  }
  ChipId ChipOf(int relative) const {
    return group_[(relative + root_) % size()];
  }

  // Waits for all that wrote the payload at `from`, and for its last message.
  OpId Send(int from, int to, Mode mode) {
    std::vector<OpId> after = wrote_[from];
    if (lane_[from]) after.push_back(*lane_[from]);
    const auto route =
        Route(topology_, ChipOf(from), ChipOf(to), TieRule::kParity);
    CHECK(route.has_value());
    lane_[from] = schedule_.Add({.src = ChipOf(from),
                                 .dst = ChipOf(to),
                                 .chunks = chunk_,
                                 .bytes = bytes_,
                                 .mode = mode},
                                *route, after);
    return *lane_[from];
  }

  const std::vector<ChipId>& group_;
  int root_;
  ChunkSet chunk_;
  Bytes bytes_;
  const Topology& topology_;
  Schedule& schedule_;
  std::vector<std::vector<OpId>> wrote_;   // by relative rank
  std::vector<std::optional<OpId>> lane_;  // its last message
};

std::optional<std::string> WhyNotBinomial(const Collective& collective,
                                          const Topology& topology,
                                          const LoweringSpec&) {
  return WhyUnreachable(collective, topology);
}

// reduce: r with r mod 2s = s sends to r - s, s = 1, 2, 4, ..; broadcast: the
// same backwards; all-reduce: both, with rank 0 as the root.
WholeSchedule BuildBinomial(const Collective& collective,
                            const Topology& topology, const LoweringSpec&) {
  std::vector<std::vector<ChipId>> groups = GroupsOf(collective, topology);
  const int root = RootRank(collective, groups);
  WholeSchedule whole{.schedule = {},
                      .meaning = MeaningWithoutChunks(collective, groups)};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const ChipId root_chip = groups[g][root];
    Chunk chunk{.group = static_cast<std::uint32_t>(g),
                .owner = static_cast<std::uint32_t>(root),
                .bytes = collective.payload,
                .contributor = {},
                .receiver = {}};
    if (collective.kind == CollectiveKind::kBroadcast) {
      chunk.contributor = root_chip;
    }
    if (collective.kind == CollectiveKind::kReduce) chunk.receiver = root_chip;
    whole.meaning.chunks.push_back(chunk);
    if (collective.payload.value() == 0) continue;
    const ChunkRun run{static_cast<std::uint32_t>(g), 1};
    const ChunkSet chunks{whole.schedule.AddRuns({&run, 1}), root_chip};
    BinomialBuilder builder(groups[g], root, chunks, collective.payload,
                            topology, whole.schedule);
    if (collective.kind != CollectiveKind::kBroadcast) builder.Reduce();
    if (collective.kind != CollectiveKind::kReduce) builder.Broadcast();
  }
  return whole;
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
          .why_not = WhyNotBinomial,
          .build = BuildBinomial,
          .count = CountBinomial,
          .at_least = BinomialTime};
}

}  // namespace podsim
