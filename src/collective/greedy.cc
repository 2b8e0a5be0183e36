#include "collective/greedy.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/check.h"
#include "collective/arcs.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/memo.h"
#include "collective/schedule_builder.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

constexpr int kMostMembers = 256;
// Up to here every q is tried, above the number of rounds is estimated.
constexpr int kMostTried = 64;
// Few enough transfers for `auto` to simulate what it chooses among.
constexpr std::int64_t kMostTransfers = 200'000;
constexpr int kSubChunks[] = {1, 2, 4, 8};
// Two numbers of sub-chunks are as good as each other.
constexpr double kTie = 1e-9;

// One transfer of an all-gather.
struct Move {
  Arc arc;
  std::uint32_t chunk = 0;  // owner * q + k
};
using Rounds = std::vector<std::vector<Move>>;

// Chunks, one bit each.
class ChunkSet {
 public:
  explicit ChunkSet(std::size_t chunks) : words_((chunks + 63) / 64) {}
  std::size_t words() const { return words_.size(); }
  std::uint64_t word(std::size_t w) const { return words_[w]; }
  void Insert(std::uint32_t chunk) { words_[chunk / 64] |= Bit(chunk); }
  void Erase(std::uint32_t chunk) { words_[chunk / 64] &= ~Bit(chunk); }

 private:
  static std::uint64_t Bit(std::uint32_t chunk) {
    return std::uint64_t{1} << chunk % 64;
  }
  std::vector<std::uint64_t> words_;
};

// Who has which chunk, and the chunks by their number of holders.
class Holdings {
 public:
  Holdings(int ranks, int sub_chunks)
      : chunks_(static_cast<std::size_t>(ranks) * sub_chunks),
        has_(ranks, ChunkSet(chunks_)),
        held_by_(ranks + 1, ChunkSet(chunks_)),
        holders_(chunks_, 1) {
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      has_[chunk / sub_chunks].Insert(chunk);
      held_by_[1].Insert(chunk);
    }
  }

  const std::vector<ChunkSet>& has() const { return has_; }

  // Of the chunks in `from` that the rank has not got those with the fewest
  // holders, and of these the smallest ((31 c + mix) mod 97, c).
  std::optional<std::uint32_t> Rarest(const ChunkSet& from, int rank,
                                      std::uint64_t mix) const {
    std::optional<std::uint32_t> best;
    for (std::size_t n = 1; n + 1 < held_by_.size() && !best; ++n) {
      std::uint64_t least = 0;
      for (std::size_t w = 0; w < from.words(); ++w) {
        std::uint64_t rest =
            from.word(w) & ~has_[rank].word(w) & held_by_[n].word(w);
        for (; rest != 0; rest &= rest - 1) {
          const auto chunk =
              static_cast<std::uint32_t>(w * 64 + std::countr_zero(rest));
          const std::uint64_t order = (31 * std::uint64_t{chunk} + mix) % 97;
          if (best && order >= least) continue;
          best = chunk;
          least = order;
        }
      }
    }
    return best;
  }

  void Give(std::uint32_t chunk, int rank) {
    has_[rank].Insert(chunk);
    held_by_[holders_[chunk]].Erase(chunk);
    held_by_[++holders_[chunk]].Insert(chunk);
  }

 private:
  std::size_t chunks_;
  std::vector<ChunkSet> has_;      // by rank
  std::vector<ChunkSet> held_by_;  // by number of holders
  std::vector<int> holders_;       // by chunk
};

// Arcs in the order in which they are served in a round: those towards chips
// with few links out first, then pseudo-random.
std::vector<Arc> InOrder(std::vector<Arc> arcs, const std::vector<int>& links,
                         std::uint64_t offset) {
  const auto key = [&](const Arc& arc) {
    const std::uint64_t mixed =
        (7919 * std::uint64_t{arc.link.value()} + 104729 * offset) % 1000003;
    return std::tuple(links[arc.to], mixed, arc.link.value());
  };
  std::sort(arcs.begin(), arcs.end(),
            [&](const Arc& a, const Arc& b) { return key(a) < key(b); });
  return arcs;
}

// Rounds in which every link carries at most one chunk: one that its source had
// before the round and that its target has not got, the rarest, then
// pseudo-random.
Rounds Synthesise(const std::vector<Arc>& arcs, int ranks, int sub_chunks) {
  std::vector<int> links(ranks);
  for (const Arc& arc : arcs) ++links[arc.from];
  Holdings holdings(ranks, sub_chunks);
  std::size_t missing =
      static_cast<std::size_t>(ranks) * sub_chunks * (ranks - 1);
  Rounds rounds;
  while (missing > 0) {
    const std::uint64_t offset = rounds.size() % arcs.size();
    const std::vector<ChunkSet> had = holdings.has();
    std::vector<Move> moves;
    for (const Arc& arc : InOrder(arcs, links, offset)) {
      const std::uint64_t mix = 17 * std::uint64_t{arc.link.value()} + offset;
      const auto chunk = holdings.Rarest(had[arc.from], arc.to, mix);
      if (!chunk) continue;
      holdings.Give(*chunk, arc.to);
      moves.push_back({arc, *chunk});
    }
    CHECK(!moves.empty()) << "chips that cannot reach each other";
    missing -= moves.size();
    rounds.push_back(std::move(moves));
  }
  return rounds;
}

std::vector<ChipId> Members(const Collective& collective,
                            const Topology& topology) {
  return GroupsOf(collective, topology)[0];
}

std::shared_ptr<const Rounds> RoundsOf(const Collective& collective,
                                       const Topology& topology,
                                       int sub_chunks) {
  thread_local Memo<Rounds> memo(/*most=*/8);
  const std::vector<ChipId> members = Members(collective, topology);
  const std::vector<Arc> arcs = ArcsOf(members, collective.kind, topology);
  const int ranks = static_cast<int>(members.size());
  std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(sub_chunks),
                                    static_cast<std::uint32_t>(ranks)};
  AppendKey(arcs, key);
  return memo.At(key, [&] { return Synthesise(arcs, ranks, sub_chunks); });
}

std::optional<std::string> WhyNotGreedy(const Collective& collective,
                                        const Topology& topology,
                                        const LoweringSpec&) {
  if (!IsAllChips(collective, topology)) {
    return "its group must be all chips of one slice; use bucket-rotated or "
           "direct";
  }
  if (topology.live_chips() > kMostMembers) {
    return "its rounds are searched for up to " + std::to_string(kMostMembers) +
           " chips only; use bucket-rotated or direct";
  }
  if (topology.healthy() && topology.is_grid()) return std::nullopt;
  const std::vector<ChipId> members = Members(collective, topology);
  const std::vector<Arc> arcs = ArcsOf(members, collective.kind, topology);
  const int ranks = static_cast<int>(members.size());
  for (const bool backwards : {false, true}) {
    if (const auto lost = FirstUnreached(arcs, ranks, 0, backwards)) {
      return "chips " + std::to_string(members[0].value()) + " and " +
             std::to_string(members[*lost].value()) +
             " cannot reach each other over links that it can use; use direct";
    }
  }
  return std::nullopt;
}

// Visits the moves in the order of the schedule: reduce-scatter is the
// all-gather with time and arrows reversed, all-reduce both.
template <class Visit>
void ForEachMove(const Rounds& rounds, CollectiveKind kind, Visit visit) {
  if (kind != CollectiveKind::kAllGather) {
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
      for (const Move& move : *round) visit(move, Mode::kReduce);
    }
  }
  if (kind == CollectiveKind::kReduceScatter) return;
  for (const auto& round : rounds) {
    for (const Move& move : round) visit(move, Mode::kCopy);
  }
}

WholeSchedule BuildGreedy(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  const std::vector<ChipId> members = builder.groups()[0];
  const auto ranks = static_cast<int>(members.size());
  const std::vector<Bytes> shards = SplitEvenly(collective.payload, ranks);
  for (int owner = 0; owner < ranks; ++owner) {
    for (const Bytes size : SplitEvenly(shards[owner], spec.sub_chunks)) {
      builder.AddChunk(0, owner, size);
    }
  }
  std::vector<std::optional<OpId>> last(topology.link_ids());
  const auto rounds = RoundsOf(collective, topology, spec.sub_chunks);
  ForEachMove(*rounds, collective.kind, [&](const Move& move, Mode mode) {
    const bool copy = mode == Mode::kCopy;
    const LinkId link = copy ? move.arc.link : topology.Reverse(move.arc.link);
    std::optional<OpId>& lane = last[link.value()];
    const auto op = builder.Send(
        {.from = members[copy ? move.arc.from : move.arc.to],
         .to = members[copy ? move.arc.to : move.arc.from],
         .chunks = {&move.chunk, 1},
         .mode = mode,
         .route = {&link, 1},
         .lane = static_cast<std::uint16_t>(link.value())},
        lane ? std::span<const OpId>(&*lane, 1) : std::span<const OpId>());
    if (op) lane = op;
  });
  return std::move(builder).Finish();
}

std::uint64_t CountGreedy(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec) {
  const auto n = static_cast<std::uint64_t>(GroupSize(collective, topology));
  return n * (n - 1) * spec.sub_chunks * PhasesOf(collective.kind);
}

// Arcs into the rank that has fewest.
int FewestInto(const std::vector<Arc>& arcs, int ranks) {
  std::vector<int> into(ranks);
  for (const Arc& arc : arcs) ++into[arc.to];
  return *std::min_element(into.begin(), into.end());
}

// In a phase every chip gets (a scatter: gives away) all chunks but its own
// over its links, each of which carries one transfer after the other. Both
// phases of an all-reduce together load all links by twice the sum of that.
Seconds GreedyTime(const Collective& collective, const Slice& slice,
                   const LoweringSpec& spec) {
  const std::vector<ChipId> members = Members(collective, slice.topology);
  const auto ranks = static_cast<std::int64_t>(members.size());
  const std::int64_t payload = collective.payload.value();
  if (ranks == 1 || payload == 0) return Seconds(0);
  const std::vector<Arc> arcs =
      ArcsOf(members, collective.kind, slice.topology);
  const double rate = slice.topology.base_bandwidth().value();
  const double start = slice.parameters.ici_message_overhead.value() +
                       slice.topology.base_latency().value();
  const bool all_sent = payload >= ranks * spec.sub_chunks;
  const double messages =
      all_sent ? static_cast<double>((ranks - 1) * spec.sub_chunks) : 0;
  const std::int64_t largest = (payload + ranks - 1) / ranks;
  const double busy =
      messages * start + static_cast<double>(payload - largest) / rate;
  double time = busy / FewestInto(arcs, static_cast<int>(ranks));
  if (collective.kind == CollectiveKind::kAllReduce) {
    time = std::max(time, 2 * busy * static_cast<double>(ranks) /
                              static_cast<double>(arcs.size()));
  }
  return Seconds(std::max(time, start));
}

// Rounds of q sub-chunks: as they are, or as many as the chip with fewest links
// needs.
double RoundsWith(int sub_chunks, const Collective& collective,
                  const Topology& topology) {
  const std::vector<ChipId> members = Members(collective, topology);
  const int ranks = static_cast<int>(members.size());
  if (ranks <= kMostTried) {
    return static_cast<double>(
        RoundsOf(collective, topology, sub_chunks)->size());
  }
  const int links =
      FewestInto(ArcsOf(members, collective.kind, topology), ranks);
  return ((ranks - 1) * sub_chunks + links - 1) / links;
}

// The q that makes rounds (a + S/(PqB)) smallest, among those that leave no
// chunk without bytes.
LoweringSpec ResolveGreedy(const LoweringSpec& spec,
                           const Collective& collective, const Slice& slice) {
  LoweringSpec resolved = spec;
  if (spec.sub_chunks > 0) return resolved;
  resolved.sub_chunks = 1;
  const std::int64_t ranks = GroupSize(collective, slice.topology);
  if (ranks == 1) return resolved;
  const double start = slice.parameters.ici_message_overhead.value() +
                       slice.topology.base_latency().value();
  const double shard = static_cast<double>(collective.payload.value()) /
                       static_cast<double>(ranks) /
                       slice.topology.base_bandwidth().value();
  std::optional<double> best;
  for (const int q : kSubChunks) {
    if (best && (collective.payload.value() < ranks * q ||
                 ranks * (ranks - 1) * q * PhasesOf(collective.kind) >
                     kMostTransfers)) {
      break;
    }
    const double time =
        RoundsWith(q, collective, slice.topology) * (start + shard / q);
    if (best && time >= *best * (1 - kTie)) continue;
    best = time;
    resolved.sub_chunks = q;
  }
  return resolved;
}

}  // namespace

int GreedySteps(const Collective& collective, const Topology& topology,
                const LoweringSpec& spec) {
  const auto rounds = RoundsOf(collective, topology, spec.sub_chunks);
  const std::size_t ranks = Members(collective, topology).size();
  const std::size_t chunks = ranks * spec.sub_chunks;
  std::vector<int> lane(topology.link_ids()), ready(ranks * chunks);
  int steps = 0;
  ForEachMove(*rounds, collective.kind, [&](const Move& move, Mode mode) {
    const bool copy = mode == Mode::kCopy;
    const LinkId link = copy ? move.arc.link : topology.Reverse(move.arc.link);
    const int from = copy ? move.arc.from : move.arc.to;
    const int to = copy ? move.arc.to : move.arc.from;
    const int end =
        1 + std::max(lane[link.value()], ready[from * chunks + move.chunk]);
    lane[link.value()] = end;
    int& written = ready[to * chunks + move.chunk];
    written = copy ? end : std::max(written, end);
    steps = std::max(steps, end);
  });
  return steps;
}

// All links carry what is rarest, round by round: for slices without a pattern
// that the other lowerings know.
Lowering GreedyLowering() {
  return {.name = "greedy",
          .help =
              "in every round every link carries the rarest chunk; any slice, "
              "also with dead cables and chips",
          .parameters = {"sub_chunks"},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                    CollectiveKind::kAllReduce},
          .preconditions = "all chips of one slice, at most 256",
          .time =
              "rounds (a + S/(PqB)), q sub-chunks, at least (P-1)q/links "
              "rounds",
          .source = "in the spirit of TACOS (Won et al. 2024)",
          .why_not = WhyNotGreedy,
          .build = BuildGreedy,
          .count = CountGreedy,
          .at_least = GreedyTime,
          .one_hop = true,
          .resolve = ResolveGreedy};
}

}  // namespace podsim
