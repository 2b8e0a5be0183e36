#include <algorithm>
#include <map>
#include <tuple>

#include "collective/exchange.h"
#include "collective/fx_plan.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/schedule_builder.h"
#include "collective/sub_grid.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

bool HasCut(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce ||
         kind == CollectiveKind::kBroadcast;
}

std::vector<bool> RingsOf(const Collective& collective,
                          const Topology& topology) {
  std::vector<bool> rings;
  for (const int axis : ActiveAxes(collective, topology)) {
    const GridAxis& along = topology.axes()[axis];
    rings.push_back(along.wrap && along.size > 2);
  }
  return rings;
}

FxPlan PlanOf(const LoweringSpec& spec, const Collective& collective,
              const Topology& topology) {
  const SubGrid grid = SubGridOf(collective, topology);
  if (grid.axes() == 0) return {.parts = {{}}};
  FxPlan plan = MakeFxPlan(
      ParseFxText(spec.plan.empty() ? DefaultFxText(grid) : spec.plan, "plan"));
  // Only then everyone is reached once.
  if (collective.kind == CollectiveKind::kBroadcast) plan.anchored = true;
  return plan;
}

int MostRounds(const FxPlan& plan) {
  std::size_t most = 0;
  for (const FxPart& part : plan.parts) most = std::max(most, part.size());
  return static_cast<int>(most);
}

int CutOf(const LoweringSpec& spec, const FxPlan& plan) {
  return spec.cut < 0 ? MostRounds(plan) : spec.cut;
}

// One message of a round, or (to == from) an add at a chip.
struct Sent {
  int from;
  int to;
  int part;
  std::vector<std::uint32_t> chunks;
  Mode mode;
};

class FxGroup {
 public:
  FxGroup(std::size_t g, const FxPlan& plan, int cut, const SubGrid& grid,
          const std::vector<bool>& rings, const Topology& topology,
          ScheduleBuilder& builder)
      : g_(g), cut_(cut), grid_(grid), topology_(topology), builder_(builder) {
    for (const FxPart& part : plan.parts) {
      parts_.emplace_back(grid, rings, part, plan.anchored);
      rounds_ = std::max(rounds_, parts_.back().rounds());
    }
  }

  void AllGather(Bytes payload) {
    AddShards(payload);
    for (const auto& round : GatherRounds(rounds_)) {
      Emit(MessagesOf(round, Mode::kCopy, /*reversed=*/false));
    }
  }

  void ReduceScatter(Bytes payload) {
    AddShards(payload);
    const auto rounds = GatherRounds(rounds_);
    for (std::size_t j = rounds.size(); j-- > 0;) {
      Emit(MessagesOf(rounds[j], Mode::kReduce, /*reversed=*/true));
    }
  }

  void AllReduce(Bytes payload) {
    AddPieces(payload, /*levels=*/true);
    const auto rounds = GatherRounds(cut_);
    for (std::size_t j = rounds.size(); j-- > 0;) {
      Emit(MessagesOf(rounds[j], Mode::kReduce, /*reversed=*/true));
    }
    for (int j = cut_; j < rounds_; ++j) Emit(ExchangeRound(j));
    // Of the highest level.
    for (int k = 0; k < parts(); ++k) {
      const int top = std::max(0, parts_[k].rounds() - cut_);
      for (std::uint32_t& chunk : chunks_[k]) {
        chunk += static_cast<std::uint32_t>(top);
      }
    }
    for (const auto& round : rounds) {
      Emit(MessagesOf(round, Mode::kCopy, /*reversed=*/false));
    }
  }

  void AllToAll(Bytes payload) {
    const std::vector<Bytes> blocks = SplitEvenly(payload, grid_.chips);
    struct Piece {
      std::uint32_t chunk;
      int part, source, target, at;
    };
    std::vector<Piece> pieces;
    for (int u = 0; u < grid_.chips; ++u) {
      for (int v = 0; v < grid_.chips; ++v) {
        if (u == v) continue;
        const std::vector<Bytes> sizes = SplitEvenly(blocks[v], parts());
        for (int k = 0; k < parts(); ++k) {
          pieces.push_back({builder_.AddChunk(g_, u, sizes[k], v), k, u, v, u});
        }
      }
    }
    for (int j = 0; j < rounds_; ++j) {
      std::map<std::tuple<int, int, int>, std::vector<std::uint32_t>> merged;
      for (Piece& piece : pieces) {
        if (j >= parts_[piece.part].rounds()) continue;
        const int next =
            parts_[piece.part].NextOf(j, piece.at, piece.source, piece.target);
        if (next == piece.at) continue;
        merged[{piece.at, next, piece.part}].push_back(piece.chunk);
        piece.at = next;
      }
      std::vector<Sent> round;
      for (auto& [way, chunks] : merged) {
        const auto [from, to, part] = way;
        round.push_back({from, to, part, std::move(chunks), Mode::kCopy});
      }
      Emit(std::move(round));
    }
  }

  void Broadcast(Bytes payload) {
    AddPieces(payload, /*levels=*/false);
    const int root = builder_.root();
    std::vector<Sent> scattered;
    // Who has the piece of its own index, by part.
    std::vector<std::vector<int>> informed(parts());
    for (int k = 0; k < parts(); ++k) {
      for (int rank = 0; rank < grid_.chips; ++rank) {
        if (!SameSubGrid(k, root, rank)) continue;
        informed[k].push_back(rank);
        if (rank == root) continue;
        scattered.push_back({root, rank, k, {ChunkOf(k, rank)}, Mode::kCopy});
      }
    }
    Emit(std::move(scattered));
    for (int j = cut_; j < rounds_; ++j) {
      std::vector<Sent> round;
      for (int k = 0; k < parts(); ++k) {
        if (j >= parts_[k].rounds()) continue;
        const std::vector<int> senders = informed[k];
        for (const int from : senders) {
          for (const int to : parts_[k].PeersOf(j, from)) {
            if (to == from) continue;
            round.push_back({from, to, k, {ChunkOf(k, from)}, Mode::kCopy});
            informed[k].push_back(to);
          }
        }
      }
      Emit(std::move(round));
    }
    for (const auto& round : GatherRounds(cut_)) {
      std::vector<Sent> sent =
          MessagesOf(round, Mode::kCopy, /*reversed=*/false);
      std::erase_if(sent, [&](const Sent& s) { return s.to == root; });
      Emit(std::move(sent));
    }
  }

 private:
  // What `from` passes on to `to`: the shards of these owners.
  struct Passed {
    int from;
    int to;
    int part;
    std::vector<int> owners;
  };

  int parts() const { return static_cast<int>(parts_.size()); }

  // Chunks by part, then owner.
  void AddShards(Bytes payload) {
    chunks_.assign(parts_.size(), {});
    cut_ = rounds_;
    const std::vector<Bytes> shards = SplitEvenly(payload, grid_.chips);
    for (int owner = 0; owner < grid_.chips; ++owner) {
      const std::vector<Bytes> sizes = SplitEvenly(shards[owner], parts());
      for (int k = 0; k < parts(); ++k) {
        chunks_[k].push_back(builder_.AddChunk(g_, owner, sizes[k]));
      }
    }
  }

  // Chunks by part, then index in the sub-grid of the cut.
  void AddPieces(Bytes payload, bool levels) {
    chunks_.assign(parts_.size(), {});
    const std::vector<Bytes> shares = SplitEvenly(payload, parts());
    for (int k = 0; k < parts(); ++k) {
      const int n = parts_[k].ChipsOf(cut_);
      const std::vector<Bytes> sizes = SplitEvenly(shares[k], n);
      for (int index = 0; index < n; ++index) {
        chunks_[k].push_back(builder_.AddChunk(g_, index, sizes[index]));
        const int above = levels ? parts_[k].rounds() - cut_ : 0;
        for (int level = 0; level < above; ++level) builder_.AddLevel();
      }
    }
    index_.assign(parts_.size(), {});
    for (int k = 0; k < parts(); ++k) {
      for (int rank = 0; rank < grid_.chips; ++rank) {
        index_[k].push_back(parts_[k].IndexOf(rank, cut_));
      }
    }
  }

  // The chunk that a rank owns of a part.
  std::uint32_t ChunkOf(int part, int rank) const {
    return chunks_[part][index_.empty() ? rank : index_[part][rank]];
  }

  // Whether the first `cut_` rounds lead from one to the other.
  bool SameSubGrid(int part, int a, int b) const {
    return MoveTo(part, b, a) == a;
  }

  // `rank` with the coordinates of `like` on the axes of the cut.
  int MoveTo(int part, int rank, int like) const {
    int moved = rank;
    for (int a = 0; a < grid_.axes(); ++a) {
      const int there =
          grid_.At(rank, a, (grid_.Coordinate(rank, a) + 1) % grid_.sizes[a]);
      const bool used =
          parts_[part].IndexOf(there, cut_) != parts_[part].IndexOf(rank, cut_);
      if (used) moved = grid_.At(moved, a, grid_.Coordinate(like, a));
    }
    return moved;
  }

  // An all-gather by the first `cut` rounds: everyone passes on what it has and
  // the other one lacks, of several that could the lowest rank.
  std::vector<std::vector<Passed>> GatherRounds(int cut) const {
    std::vector<std::vector<Passed>> rounds(cut);
    for (int k = 0; k < parts(); ++k) {
      const int n = grid_.chips;
      std::vector<std::vector<int>> held(n);
      std::vector<std::vector<bool>> has(n, std::vector<bool>(n));
      for (int rank = 0; rank < n; ++rank) {
        held[rank] = {rank};
        has[rank][rank] = true;
      }
      for (int j = 0; j < std::min(cut, parts_[k].rounds()); ++j) {
        const std::size_t first = rounds[j].size();
        for (int u = 0; u < n; ++u) {
          for (const int v : parts_[k].PeersOf(j, u)) {
            if (v == u) continue;
            Passed passed{u, v, k, {}};
            for (const int owner : held[u]) {
              if (has[v][owner]) continue;
              has[v][owner] = true;
              passed.owners.push_back(owner);
            }
            if (!passed.owners.empty()) rounds[j].push_back(std::move(passed));
          }
        }
        for (std::size_t i = first; i < rounds[j].size(); ++i) {
          const Passed& passed = rounds[j][i];
          held[passed.to].insert(held[passed.to].end(), passed.owners.begin(),
                                 passed.owners.end());
        }
      }
    }
    return rounds;
  }

  std::vector<Sent> MessagesOf(const std::vector<Passed>& round, Mode mode,
                               bool reversed) const {
    std::vector<Sent> sent;
    for (const Passed& passed : round) {
      Sent message{reversed ? passed.to : passed.from,
                   reversed ? passed.from : passed.to,
                   passed.part,
                   {},
                   mode};
      for (const int owner : passed.owners) {
        message.chunks.push_back(ChunkOf(passed.part, owner));
      }
      std::sort(message.chunks.begin(), message.chunks.end());
      sent.push_back(std::move(message));
    }
    return sent;
  }

  // Everyone adds its sum so far into the next level at its peers.
  std::vector<Sent> ExchangeRound(int round) const {
    std::vector<Sent> sent;
    for (int k = 0; k < parts(); ++k) {
      if (round >= parts_[k].rounds()) continue;
      for (int from = 0; from < grid_.chips; ++from) {
        const std::uint32_t chunk =
            ChunkOf(k, from) + static_cast<std::uint32_t>(round - cut_);
        for (const int to : parts_[k].PeersOf(round, from)) {
          sent.push_back({from, to, k, {chunk}, Mode::kAccumulate});
        }
      }
    }
    return sent;
  }

  // The displacement as one number, the first axis fastest.
  int DisplacementOf(const Sent& sent) const {
    int number = 0;
    for (int a = grid_.axes(); a-- > 0;) {
      const int n = grid_.sizes[a];
      const int by =
          grid_.Coordinate(sent.to, a) - grid_.Coordinate(sent.from, a);
      number = number * n + (by + n) % n;
    }
    return number;
  }

  // By source, the farthest first; then by part and displacement.
  void Emit(std::vector<Sent> round) {
    const std::vector<ChipId>& group = builder_.groups()[g_];
    struct Ordered {
      int from, near, part, by;
      std::size_t sent;
      bool operator<(const Ordered& other) const {
        return std::tie(from, near, part, by) <
               std::tie(other.from, other.near, other.part, other.by);
      }
    };
    std::vector<std::vector<LinkId>> routes(round.size());
    std::vector<Ordered> order;
    for (std::size_t i = 0; i < round.size(); ++i) {
      const Sent& sent = round[i];
      if (sent.from != sent.to) {
        routes[i] = RouteOf(topology_, group[sent.from], group[sent.to]);
      }
      order.push_back({sent.from, -static_cast<int>(routes[i].size()),
                       sent.part, DisplacementOf(sent), i});
    }
    std::sort(order.begin(), order.end());
    for (const Ordered& next : order) {
      const Sent& sent = round[next.sent];
      if (sent.from == sent.to) {
        builder_.Accumulate(group[sent.from], sent.chunks[0]);
        continue;
      }
      builder_.Send({.from = group[sent.from],
                     .to = group[sent.to],
                     .chunks = sent.chunks,
                     .mode = sent.mode,
                     .route = routes[next.sent]});
    }
  }

  std::size_t g_;
  int cut_;
  const SubGrid& grid_;
  const Topology& topology_;
  ScheduleBuilder& builder_;
  std::vector<FxGeometry> parts_;
  int rounds_ = 0;                                  // of the longest part
  std::vector<std::vector<std::uint32_t>> chunks_;  // by part
  std::vector<std::vector<int>> index_;             // by part, rank
};

WholeSchedule BuildFx(const Collective& collective, const Topology& topology,
                      const LoweringSpec& spec) {
  const SubGrid grid = SubGridOf(collective, topology);
  const FxPlan plan = PlanOf(spec, collective, topology);
  const std::vector<bool> rings = RingsOf(collective, topology);
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    FxGroup group(g, plan, CutOf(spec, plan), grid, rings, topology, builder);
    switch (collective.kind) {
      case CollectiveKind::kAllReduce:
        group.AllReduce(collective.payload);
        break;
      case CollectiveKind::kAllGather:
        group.AllGather(collective.payload);
        break;
      case CollectiveKind::kReduceScatter:
        group.ReduceScatter(collective.payload);
        break;
      case CollectiveKind::kBroadcast:
        group.Broadcast(collective.payload);
        break;
      default:
        group.AllToAll(collective.payload);
    }
  }
  return std::move(builder).Finish();
}

std::optional<std::string> WhyNotFxHere(const Collective& collective,
                                        const Topology& topology,
                                        const LoweringSpec& spec) {
  if (const auto reason =
          WhyNoSubGrid(collective, topology, "; use direct or binomial")) {
    return reason;
  }
  if (topology.twisted() || !topology.healthy()) {
    return "it needs a slice without twists and dead links; use direct or "
           "bfs-tree";
  }
  if (spec.cut >= 0 && !HasCut(collective.kind)) {
    return "cut is for all-reduce and broadcast only; leave it out";
  }
  const SubGrid grid = SubGridOf(collective, topology);
  if (grid.axes() == 0) return std::nullopt;
  if (!spec.plan.empty()) {
    if (const auto reason = WhyNotFx(ParseFxText(spec.plan, "plan"), grid)) {
      return reason;
    }
  }
  if (spec.cut < 0) return std::nullopt;
  return WhyNotCut(PlanOf(spec, collective, topology), spec.cut, grid);
}

LoweringSpec ResolveFx(const LoweringSpec& spec, const Collective& collective,
                       const Slice& slice) {
  LoweringSpec resolved = spec;
  const SubGrid grid = SubGridOf(collective, slice.topology);
  if (spec.plan.empty() && grid.axes() > 0) resolved.plan = DefaultFxText(grid);
  if (HasCut(collective.kind)) {
    resolved.cut = CutOf(spec, PlanOf(spec, collective, slice.topology));
  }
  return resolved;
}

// Messages of the rounds in both phases, and the chunks they carry.
std::uint64_t CountFx(const Collective& collective, const Topology& topology,
                      const LoweringSpec& spec) {
  const FxPlan plan = PlanOf(spec, collective, topology);
  const auto n = static_cast<std::uint64_t>(GroupSize(collective, topology));
  const bool reduces = collective.kind == CollectiveKind::kAllReduce;
  const int cut = HasCut(collective.kind) ? CutOf(spec, plan) : 0;
  std::uint64_t messages = 0, moves = 0;  // of a chip
  for (const FxPart& part : plan.parts) {
    std::uint64_t shares = 1;  // that the rounds before the cut make
    for (std::size_t j = 0; j < part.size(); ++j) {
      std::uint64_t peers = 1;
      for (const FxFactor& factor : part[j]) {
        peers *= static_cast<std::uint64_t>(factor.radix);
      }
      const bool before_cut = static_cast<int>(j) < cut;
      if (before_cut) shares *= peers;
      // Scattered and gathered.
      messages += reduces && before_cut ? 2 * peers : peers;
    }
    if (HasCut(collective.kind)) {
      moves += 2 * (shares - 1);
    } else if (collective.kind == CollectiveKind::kAllToAll) {
      moves += (n - 1) * std::max<std::uint64_t>(1, part.size());
    } else {
      moves += n - 1;
    }
  }
  const auto chips = static_cast<std::uint64_t>(topology.chips());
  return CountMerged(chips * messages, chips * moves);
}

// Every chip depends on every other one, half of every axis away at least.
Seconds FxTime(const Collective& collective, const Slice& slice,
               const LoweringSpec&) {
  const int n = GroupSize(collective, slice.topology);
  if (n == 1 || collective.payload.value() < n) return Seconds(0);
  int hops = 0;
  for (const int axis : ActiveAxes(collective, slice.topology)) {
    hops += slice.topology.axes()[axis].size / 2;
  }
  return slice.parameters.ici_message_overhead +
         hops * slice.topology.base_latency();
}

}  // namespace

// Between one message per chip and log2 P rounds: a few rounds, each the
// product of some peers along some axes, the farthest first.
Lowering FxLowering() {
  return {.name = "fx",
          .help =
              "rounds of messages to a few peers per axis, the farthest first; "
              "sums grow from round to round",
          .parameters = {"plan", "cut"},
          .kinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                    CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                    CollectiveKind::kBroadcast},
          .preconditions =
              "any axes, wrapped or not; plan: radices that multiply to the "
              "axes, such as 2.4/8:L*2; cut: rounds of whole axes",
          .time =
              "per round about max(o + alpha h_max, k g + o + alpha h_min) + "
              "load S/B; one phase of D hops with cut=0",
          .source =
              "Bruck et al. 1997; one-shot, direct and recursive "
              "doubling are plans of it",
          .why_not = WhyNotFxHere,
          .build = BuildFx,
          .count = CountFx,
          .at_least = FxTime,
          .few_dates = true,
          .resolve = ResolveFx};
}

}  // namespace podsim
