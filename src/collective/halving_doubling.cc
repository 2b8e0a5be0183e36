#include <algorithm>
#include <bit>

#include "collective/exchange.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotHalving(const Collective& collective,
                                         const Topology& topology,
                                         const LoweringSpec&) {
  if (collective.kind != CollectiveKind::kAllReduce) {
    for (const auto& group : GroupsOf(collective, topology)) {
      if (std::has_single_bit(group.size())) continue;
      return std::string(ToText(collective.kind)) +
             " needs groups of 2, 4, 8, .. chips, and one has " +
             std::to_string(group.size()) + "; use direct" +
             (collective.kind == CollectiveKind::kAllGather ? " or bruck" : "");
    }
  }
  return WhyUnreachable(collective, topology);
}

// One group: p' active ranks, chunk c of active rank c.
class HalvingGroup {
 public:
  HalvingGroup(std::size_t g, Bytes payload, bool far_first,
               const Topology& topology, ScheduleBuilder& builder)
      : g_(g), topology_(topology), builder_(builder) {
    const std::vector<ChipId>& group = builder.groups()[g];
    const std::vector<int> ranks = ActiveRanks(static_cast<int>(group.size()));
    const std::vector<Bytes> sizes =
        SplitEvenly(payload, static_cast<int>(ranks.size()));
    for (std::size_t c = 0; c < ranks.size(); ++c) {
      active_.push_back(group[ranks[c]]);
      chunks_.push_back(builder.AddChunk(g, ranks[c], sizes[c]));
    }
    for (unsigned bit = 1; bit < active_.size(); bit *= 2) {
      bits_.push_back(bit);
    }
    if (far_first) std::reverse(bits_.begin(), bits_.end());
  }

  void AllReduce() {
    FoldIn(builder_, topology_, g_, chunks_);
    ReduceScatter();
    AllGather();
    FoldOut(builder_, topology_, g_, chunks_);
  }

  // After the rounds of some bits a rank still keeps the chunks that agree with
  // it on those. It sends on the half that is its partner's.
  void ReduceScatter() {
    unsigned agreed = 0;
    for (const unsigned bit : bits_) {
      agreed |= bit;
      ForEachRank([&](unsigned i) {
        Send(i, i ^ bit, ChunksAgreeing(i ^ bit, agreed), Mode::kReduce);
      });
    }
  }

  // The same backwards: a rank sends all it has.
  void AllGather() {
    unsigned agreed = static_cast<unsigned>(active_.size()) - 1;
    for (std::size_t k = bits_.size(); k-- > 0;) {
      const unsigned bit = bits_[k];
      ForEachRank([&](unsigned i) {
        Send(i, i ^ bit, ChunksAgreeing(i, agreed), Mode::kCopy);
      });
      agreed &= ~bit;
    }
  }

 private:
  template <class Visit>
  void ForEachRank(Visit visit) {
    for (unsigned i = 0; i < active_.size(); ++i) visit(i);
  }

  std::vector<std::uint32_t> ChunksAgreeing(unsigned rank, unsigned bits) {
    std::vector<std::uint32_t> found;
    for (unsigned c = 0; c < chunks_.size(); ++c) {
      if (((c ^ rank) & bits) == 0) found.push_back(chunks_[c]);
    }
    return found;
  }

  void Send(unsigned from, unsigned to,
            const std::vector<std::uint32_t>& chunks, Mode mode) {
    SendRouted(builder_, topology_,
               {.from = active_[from],
                .to = active_[to],
                .chunks = chunks,
                .mode = mode,
                .route = {}});
  }

  std::size_t g_;
  const Topology& topology_;
  ScheduleBuilder& builder_;
  std::vector<ChipId> active_;
  std::vector<std::uint32_t> chunks_;
  std::vector<unsigned> bits_;  // in the order of the reduce-scatter
};

WholeSchedule BuildHalving(const Collective& collective,
                           const Topology& topology, const LoweringSpec& spec) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    HalvingGroup group(g, collective.payload, spec.far_first, topology,
                       builder);
    switch (collective.kind) {
      case CollectiveKind::kAllGather:
        group.AllGather();
        break;
      case CollectiveKind::kReduceScatter:
        group.ReduceScatter();
        break;
      default:
        group.AllReduce();
    }
  }
  return std::move(builder).Finish();
}

std::uint64_t CountHalving(const Collective& collective,
                           const Topology& topology, const LoweringSpec&) {
  const std::uint64_t phases = PhasesOf(collective.kind);
  std::uint64_t messages = 0;
  std::uint64_t moves = 0;
  for (const auto& group : GroupsOf(collective, topology)) {
    const std::uint64_t rounds = Log2(static_cast<int>(group.size()));
    const std::uint64_t active = std::uint64_t{1} << rounds;
    const std::uint64_t folds = 2 * (group.size() - active);
    messages += phases * active * rounds + folds;
    moves += phases * active * (active - 1) + folds * active;
  }
  return CountMerged(messages, moves);
}

// Each round waits for the one before: chunk 0 moves in all of them. Where
// every chunk has bytes, messages are 1, 2, 4, .. chunks long, and the folds
// come before and after.
Seconds HalvingTime(const Collective& collective, const Slice& slice,
                    const LoweringSpec&) {
  const std::int64_t payload = collective.payload.value();
  if (payload == 0) return Seconds(0);
  const int n = GroupSize(collective, slice.topology);
  const int active = 1 << Log2(n);
  int messages = PhasesOf(collective.kind) * Log2(n);
  double bytes = PhasesOf(collective.kind) * (active - 1.0) *
                 static_cast<double>(payload / active);
  if (n != active && payload >= active) {
    messages += 2;
    bytes += 2 * static_cast<double>(payload);
  }
  return SequenceTime(slice, messages, bytes);
}

}  // namespace

// With the nearest first, the largest messages go to the nearest partners: on a
// ring far better than the classic order, which far_first=true is.
Lowering HalvingDoublingLowering() {
  return {.name = "halving-doubling",
          .help =
              "ranks 1, 2, 4, .. apart swap halves of what they keep, then "
              "gather backwards",
          .parameters = {"far_first"},
          .kinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                    CollectiveKind::kReduceScatter},
          .preconditions = "any groups; of 2^m chips but for all-reduce",
          .time = "at least 2 log2 n a + 2(n-1)/n S/B",
          .source = "Rabenseifner 2004",
          .why_not = WhyNotHalving,
          .build = BuildHalving,
          .count = CountHalving,
          .at_least = HalvingTime,
          .over_dcn = true};
}

}  // namespace podsim
