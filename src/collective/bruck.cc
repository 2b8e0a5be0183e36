#include <algorithm>

#include "collective/exchange.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

class BruckGroup {
 public:
  BruckGroup(std::size_t g, Bytes payload, const Topology& topology,
             ScheduleBuilder& builder)
      : g_(g),
        group_(builder.groups()[g]),
        shards_(SplitEvenly(payload, size())),
        topology_(topology),
        builder_(builder) {}

  // In the step of `apart` ranks, a rank has the shards of that many owners
  // from its own on, and sends them backwards.
  void AllGather() {
    std::vector<std::uint32_t> chunks;
    for (int owner = 0; owner < size(); ++owner) {
      chunks.push_back(builder_.AddChunk(g_, owner, shards_[owner]));
    }
    for (int apart = 1; apart < size(); apart *= 2) {
      for (int rank = 0; rank < size(); ++rank) {
        std::vector<std::uint32_t> sent;
        for (int k = 0; k < std::min(apart, size() - apart); ++k) {
          sent.push_back(chunks[Wrap(rank + k)]);
        }
        Send(rank, Wrap(rank - apart), sent);
      }
    }
  }

  // A block moves in the steps of the bits of its displacement, the lowest
  // first.
  void AllToAll() {
    const std::uint32_t first = AddBlocks();
    const auto blocks = static_cast<std::uint32_t>(size() - 1);
    for (int bit = 1; bit < size(); bit *= 2) {
      for (int rank = 0; rank < size(); ++rank) {
        std::vector<std::uint32_t> sent;
        for (int apart = bit; apart < size(); ++apart) {
          if ((apart & bit) == 0) continue;
          const int source = Wrap(rank - (apart & (bit - 1)));
          sent.push_back(first + static_cast<std::uint32_t>(source) * blocks +
                         static_cast<std::uint32_t>(apart - 1));
        }
        Send(rank, Wrap(rank + bit), sent);
      }
    }
  }

 private:
  int size() const { return static_cast<int>(group_.size()); }
  int Wrap(int rank) const { return (rank + size()) % size(); }

  // Those of source 0 first, each by displacement.
  std::uint32_t AddBlocks() {
    std::optional<std::uint32_t> first;
    for (int source = 0; source < size(); ++source) {
      for (int apart = 1; apart < size(); ++apart) {
        const int target = Wrap(source + apart);
        const std::uint32_t block =
            builder_.AddChunk(g_, source, shards_[target], target);
        if (!first) first = block;
      }
    }
    return first.value_or(0);
  }

  void Send(int from, int to, const std::vector<std::uint32_t>& chunks) {
    SendRouted(builder_, topology_,
               {.from = group_[from],
                .to = group_[to],
                .chunks = chunks,
                .mode = Mode::kCopy,
                .route = {}});
  }

  std::size_t g_;
  const std::vector<ChipId>& group_;
  std::vector<Bytes> shards_;
  const Topology& topology_;
  ScheduleBuilder& builder_;
};

WholeSchedule BuildBruck(const Collective& collective, const Topology& topology,
                         const LoweringSpec&) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    BruckGroup group(g, collective.payload, topology, builder);
    if (collective.kind == CollectiveKind::kAllGather) {
      group.AllGather();
    } else {
      group.AllToAll();
    }
  }
  return std::move(builder).Finish();
}

// ceil(log2 n)
int Steps(int n) { return n == 1 ? 0 : Log2(n - 1) + 1; }

// Of an all-to-all every move of a block counts, which is what building costs.
std::uint64_t CountBruck(const Collective& collective, const Topology& topology,
                         const LoweringSpec&) {
  std::uint64_t count = 0;
  for (const auto& group : GroupsOf(collective, topology)) {
    const std::uint64_t n = group.size();
    const std::uint64_t steps = Steps(static_cast<int>(n));
    count += collective.kind == CollectiveKind::kAllToAll
                 ? n * std::max<std::uint64_t>(1, n / 2) * steps
                 : CountMerged(n * steps, n * (n - 1));
  }
  return count;
}

// With m = floor(log2 n) the first m steps wait for each other. Messages are 1,
// 2, 4, .. shards of an all-gather, and at least 2^(m-1) blocks of an
// all-to-all, those of the displacements below 2^m.
Seconds BruckTime(const Collective& collective, const Slice& slice,
                  const LoweringSpec&) {
  const std::int64_t payload = collective.payload.value();
  if (payload == 0) return Seconds(0);
  const int n = GroupSize(collective, slice.topology);
  const int steps = Log2(n);
  const double blocks = collective.kind == CollectiveKind::kAllGather
                            ? (1 << steps) - 1.0
                            : steps * 0.5 * (1 << steps);
  return SequenceTime(slice, steps, blocks * static_cast<double>(payload / n));
}

}  // namespace

// The fewest steps for any n. Rank distances ignore the slice: poor on rings,
// where most messages share links.
Lowering BruckLowering() {
  return {.name = "bruck",
          .help =
              "merged messages to ranks 1, 2, 4, .. apart: ceil(log2 n) per "
              "chip",
          .parameters = {},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kAllToAll},
          .preconditions = "any groups",
          .time = "at least floor(log2 n) a + (n-1)/n S/B, n = 2^m",
          .source = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
          .why_not = WhyUnreachable,
          .build = BuildBruck,
          .count = CountBruck,
          .at_least = BruckTime,
          .over_dcn = true};
}

}  // namespace podsim
