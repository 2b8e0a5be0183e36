#include "collective/direct.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "base/check.h"
#include "collective/direct_program.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/schedule_builder.h"
#include "schedule/chunk_split.h"
#include "topology/distance.h"
#include "topology/routing.h"

namespace podsim {
namespace {

bool HalvesOnly(const Collective& collective) {
  return collective.kind == CollectiveKind::kAllToAll ||
         collective.kind == CollectiveKind::kRaggedAllToAll;
}

Ties TiesOf(const Collective& collective, const LoweringSpec& spec) {
  if (spec.ties != Ties::kDefault) return spec.ties;
  return HalvesOnly(collective) ? Ties::kHalves : Ties::kParity;
}

int HopsOf(const Displacement& displacement) {
  int hops = 0;
  for (const int along : displacement.ways[0]) hops += std::abs(along);
  return hops;
}

// Whether every chip sends the same, seen from itself: all axes wrap, messages
// of tied ways are cut in halves, and the blocks of an all-to-all are equal.
// (The window counts messages by rank, which is the same on one axis only.)
bool IsSymmetric(const Collective& collective, const Topology& topology,
                 const LoweringSpec& spec) {
  switch (collective.kind) {
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      break;
    case CollectiveKind::kAllReduce:
      // The program has one more op, at which all sums have arrived.
      if (spec.ties != Ties::kHalves) return false;
      break;
    default:
      return false;
  }
  const auto lattice = LatticeOf(collective, topology);
  if (!lattice) return false;
  if (HasTies(*lattice, topology) &&
      TiesOf(collective, spec) == Ties::kParity) {
    return false;
  }
  if (spec.window > 0 && AxesOf(*lattice, topology).size() > 1) return false;
  return collective.kind != CollectiveKind::kAllToAll ||
         collective.payload.value() % GroupSize(collective, topology) == 0;
}

Program LowerDirect(const Collective& collective, const Topology& topology,
                    const LoweringSpec& spec) {
  const auto lattice = LatticeOf(collective, topology);
  CHECK(lattice) << "direct: groups that differ from chip to chip";
  std::vector<Displacement> displacements = ShortestWays(*lattice, topology);
  if (spec.far_first) {
    std::ranges::stable_sort(displacements, std::greater<>(), &HopsOf);
  }
  if (collective.groups.empty()) {
    return EmitDirect(collective, displacements, spec.window);
  }
  Collective along = collective;  // what the displacements are along
  along.groups.clear();
  along.axes = AxesOf(*lattice, topology);
  Program program = EmitDirect(along, displacements, spec.window);
  program.strides = lattice->strides;
  return program;
}

LoweringSpec ResolveDirect(const LoweringSpec& spec,
                           const Collective& collective, const Slice&) {
  LoweringSpec resolved = spec;
  resolved.ties = TiesOf(collective, spec);
  return resolved;
}

std::optional<std::string> WhyNotDirect(const Collective& collective,
                                        const Topology& topology,
                                        const LoweringSpec& spec) {
  if (collective.kind != CollectiveKind::kCollectivePermute) {
    if (spec.ties == Ties::kHalves && !HalvesOnly(collective) &&
        !IsSymmetric(collective, topology, spec)) {
      return "ties=halves needs groups along wrapped axes of a healthy slice, "
             "or lists of chips equally far apart on them; use ties=parity";
    }
    return WhyUnreachable(collective, topology);
  }
  if (topology.healthy()) return std::nullopt;
  for (const ChipPair& pair : PairsOf(collective, topology)) {
    if (Route(topology, pair.from, pair.to, TieRule::kParity)) continue;
    return "chip " + std::to_string(pair.from.value()) + " cannot reach chip " +
           std::to_string(pair.to.value()) + " over ICI";
  }
  return std::nullopt;
}

// Messages of all chips, each on its minimal route, all posted at once or, with
// a window of w, the i-th of a chip when its (i-w)-th has ended.
class DirectBuilder {
 public:
  DirectBuilder(const Collective& collective, const Topology& topology,
                const LoweringSpec& spec)
      : collective_(collective),
        topology_(topology),
        window_(spec.window),
        far_first_(spec.far_first),
        halves_(TiesOf(collective, spec) == Ties::kHalves),
        builder_(collective, GroupsOf(collective, topology)),
        sent_(topology.chips()) {}

  WholeSchedule Build() && {
    if (collective_.kind == CollectiveKind::kCollectivePermute) {
      Permute();
      return std::move(builder_).Finish();
    }
    for (std::size_t g = 0; g < builder_.groups().size(); ++g) {
      const int n = static_cast<int>(builder_.groups()[g].size());
      if (collective_.kind == CollectiveKind::kRaggedAllToAll) {
        AllToAll(g, n, [&](int from, int to) {
          return collective_.matrix[from][to];
        });
        continue;
      }
      const std::vector<Bytes> shards = SplitEvenly(collective_.payload, n);
      if (collective_.kind == CollectiveKind::kAllToAll) {
        AllToAll(g, n, [&](int, int to) { return shards[to]; });
        continue;
      }
      std::vector<std::uint32_t> chunks;
      for (int owner = 0; owner < n; ++owner) {
        chunks.push_back(builder_.AddChunk(g, owner, shards[owner]));
      }
      Shards(g, n, chunks);
    }
    return std::move(builder_).Finish();
  }

 private:
  void Permute() {
    std::vector<int> rank_of(topology_.chips());
    for (std::size_t rank = 0; rank < builder_.groups()[0].size(); ++rank) {
      rank_of[builder_.groups()[0][rank].value()] = static_cast<int>(rank);
    }
    for (const ChipPair& pair : PairsOf(collective_, topology_)) {
      const std::uint32_t chunk =
          builder_.AddChunk(0, rank_of[pair.from.value()], collective_.payload,
                            rank_of[pair.to.value()]);
      Send(pair.from, pair.to, chunk, Mode::kCopy,
           RouteOf(topology_, pair.from, pair.to));
    }
  }

  // Rank i sends its block for j to j, in the order of displacements; what is
  // half an even ring away in two halves, one each way round.
  template <class BytesOf>
  void AllToAll(std::size_t g, int n, BytesOf bytes_of) {
    const auto& group = builder_.groups()[g];
    ForEachPair(g, n, [&](int rank, int to) {
      const Bytes block = bytes_of(rank, to);
      const auto routes = RoutesOf(topology_, group[rank], group[to], halves_);
      const std::vector<Bytes> parts =
          SplitEvenly(block, static_cast<int>(routes.size()));
      for (std::size_t half = 0; half < routes.size(); ++half) {
        const std::uint32_t chunk =
            builder_.AddChunk(g, static_cast<std::uint32_t>(rank), parts[half],
                              static_cast<std::uint32_t>(to));
        Send(group[rank], group[to], chunk, Mode::kCopy, routes[half]);
      }
    });
  }

  // Every shard to whom it is due: of an all-reduce first as a sum to its
  // owner, and when all have arrived there, from there to everyone.
  void Shards(std::size_t g, int n, const std::vector<std::uint32_t>& chunks) {
    const CollectiveKind kind = collective_.kind;
    const bool sums = kind == CollectiveKind::kAllReduce ||
                      kind == CollectiveKind::kReduceScatter;
    std::vector<std::vector<OpId>> arrived(builder_.groups()[g].size());
    if (sums) {
      ForEachPair(g, n, [&](int from, int to) {
        SendShard(g, from, to, chunks[to], Mode::kReduce, {}, &arrived[to]);
      });
    }
    if (kind == CollectiveKind::kReduceScatter) return;
    ForEachPair(g, n, [&](int from, int to) {
      if (kind == CollectiveKind::kGather && to != builder_.root()) return;
      if (kind == CollectiveKind::kScatter && from != builder_.root()) return;
      const std::uint32_t chunk =
          kind == CollectiveKind::kScatter ? chunks[to] : chunks[from];
      SendShard(g, from, to, chunk, Mode::kCopy, arrived[from], nullptr);
    });
  }

  // Every rank and every other one, all ranks in turn: by how far the other one
  // comes after it or, with far_first, by hops.
  template <class Visit>
  void ForEachPair(std::size_t g, int n, Visit visit) const {
    std::vector<std::vector<int>> others(n);
    for (int rank = 0; rank < n; ++rank) {
      for (int apart = 1; apart < n; ++apart) {
        others[rank].push_back((rank + apart) % n);
      }
      if (!far_first_) continue;
      const std::vector<ChipId>& group = builder_.groups()[g];
      const std::vector<int> hops = HopsFrom(topology_, group[rank]);
      std::ranges::stable_sort(others[rank], std::greater<>(), [&](int other) {
        return hops[group[other].value()];
      });
    }
    for (int k = 0; k + 1 < n; ++k) {
      for (int rank = 0; rank < n; ++rank) visit(rank, others[rank][k]);
    }
  }

  void SendShard(std::size_t g, int from, int to, std::uint32_t chunk,
                 Mode mode, const std::vector<OpId>& after,
                 std::vector<OpId>* arrived) {
    const ChipId src = builder_.groups()[g][from];
    const ChipId dst = builder_.groups()[g][to];
    const auto op =
        Send(src, dst, chunk, mode, RouteOf(topology_, src, dst), after);
    if (op && arrived != nullptr) arrived->push_back(*op);
  }

  std::optional<OpId> Send(ChipId from, ChipId to, std::uint32_t chunk,
                           Mode mode, const std::vector<LinkId>& route,
                           std::vector<OpId> after = {}) {
    auto& sent = sent_[from.value()];
    if (window_ > 0 && sent.size() >= static_cast<std::size_t>(window_)) {
      after.push_back(sent[sent.size() - static_cast<std::size_t>(window_)]);
    }
    const auto op = builder_.Send({.from = from,
                                   .to = to,
                                   .chunks = {&chunk, 1},
                                   .mode = mode,
                                   .route = route},
                                  after);
    if (op) sent.push_back(*op);
    return op;
  }

  const Collective& collective_;
  const Topology& topology_;
  int window_;
  bool far_first_;
  bool halves_;  // of all-to-all messages whose ways are tied
  ScheduleBuilder builder_;
  std::vector<std::vector<OpId>> sent_;  // by chip
};

std::uint64_t CountDirect(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec) {
  if (IsSymmetric(collective, topology, spec)) {
    return 4 * static_cast<std::uint64_t>(GroupSize(collective, topology));
  }
  if (collective.kind == CollectiveKind::kCollectivePermute) {
    return PairsOf(collective, topology).size();
  }
  std::uint64_t messages = 0;
  for (const auto& group : GroupsOf(collective, topology)) {
    const std::uint64_t n = group.size();
    messages += IsRooted(collective.kind) ? n - 1 : n * (n - 1);
  }
  // Tied messages come in halves, at most all of them.
  const int most_halves = collective.kind == CollectiveKind::kAllToAll    ? 2
                          : collective.kind == CollectiveKind::kAllReduce ? 2
                                                                          : 1;
  return most_halves * messages;
}

// One hop, and the load of the links.
Seconds DirectTime(const Collective& collective, const Slice& slice,
                   const LoweringSpec&) {
  const bool permute = collective.kind == CollectiveKind::kCollectivePermute;
  if (permute ? PairsOf(collective, slice.topology).empty()
              : GroupSize(collective, slice.topology) == 1) {
    return Seconds(0);
  }
  if (collective.payload.value() == 0) return Seconds(0);
  const Seconds start =
      slice.parameters.ici_message_overhead + slice.topology.base_latency();
  if (permute || IsRooted(collective.kind)) return start;
  const auto block = static_cast<double>(collective.payload.value() /
                                         GroupSize(collective, slice.topology));
  const int phases = PhasesOf(collective.kind);
  return phases * (start + Seconds(MeanLinkTime(collective, slice, block)));
}

}  // namespace

WholeSchedule BuildDirect(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec) {
  return DirectBuilder(collective, topology, spec).Build();
}

// One message per pair of chips, and no forwarding: o once, alpha per hop. The
// link loads of an all-to-all are optimal on tori and meshes of any shape: max
// over the axes of floor(n^2/4)/(2n) S/B on a wrapped one.
Lowering DirectLowering() {
  return {.name = "direct",
          .help = "one message per pair on its minimal route, all at once",
          .parameters = {"ties", "window", "far_first"},
          .kinds = {CollectiveKind::kAllToAll, CollectiveKind::kAllGather,
                    CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce,
                    CollectiveKind::kGather, CollectiveKind::kScatter,
                    CollectiveKind::kCollectivePermute},
          .preconditions = "any groups",
          .time =
              "about max(o + D alpha, o + alpha + load), load = "
              "floor(n^2/4)/(2n) S/B of the longest wrapped axis",
          .source =
              "dimension-order routes; ties in halves (all-to-all) or by "
              "parity",
          .why_not = WhyNotDirect,
          .lower = LowerDirect,
          .is_symmetric = IsSymmetric,
          .build = BuildDirect,
          .count = CountDirect,
          .at_least = DirectTime,
          .over_dcn = true,
          .resolve = ResolveDirect};
}

}  // namespace podsim
