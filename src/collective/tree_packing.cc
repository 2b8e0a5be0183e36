#include "collective/tree_packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/check.h"
#include "collective/groups.h"
#include "collective/list_schedule.h"
#include "collective/lowerings.h"
#include "collective/memo.h"
#include "collective/out_trees.h"
#include "collective/packed_trees.h"
#include "collective/schedule_builder.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

constexpr int kMostMembers = 256;
// About a second of planning.
constexpr std::int64_t kMostTransfers = 300'000;
// Of what is asked for by number: some ten seconds.
constexpr std::int64_t kMostAsked = 4'000'000;
constexpr int kPasses = 2;
// Ranks times chunks up to which three ways to place the roots are tried.
constexpr std::int64_t kMostTried = 40'000;
constexpr int kSubChunks[] = {1, 2, 3, 4, 6, 8, 12};
// A number of chunks must be so much better than a smaller one.
constexpr double kWorth = 0.003;
// Chunks of an estimate in flight, rounds: powers of two share plans.
constexpr int kMostLat = 16;

bool IsScatter(CollectiveKind kind) {
  return kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllGather;
}
// Planned with time and arrows reversed.
bool IsReversed(CollectiveKind kind) {
  return kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}
bool IsAllReduce(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce;
}

// One collective's group as a graph.
struct Packing {
  std::vector<std::vector<ChipId>> groups;
  PackedGraph graph;
  int root = 0;  // rank
};

Packing PackingOf(const Collective& collective, const Topology& topology) {
  Packing packing;
  packing.groups = GroupsOf(collective, topology);
  const int ranks = static_cast<int>(packing.groups[0].size());
  packing.graph = MakePackedGraph(
      ArcsOf(packing.groups[0], collective.kind, topology), ranks, topology);
  if (IsRooted(collective.kind)) {
    packing.root = RootRank(collective, packing.groups);
  }
  return packing;
}

int ChunksOf(CollectiveKind kind, const LoweringSpec& spec, int ranks) {
  return IsScatter(kind) ? spec.sub_chunks * ranks : spec.chunks;
}

// ---- the least load -----------------------------------------------------

// The fewest arcs into a rank, and out of one.
int FewestArcs(const PackedGraph& graph, bool into) {
  std::vector<int> arcs(static_cast<std::size_t>(graph.ranks));
  for (const Arc& arc : graph.arcs) ++arcs[into ? arc.to : arc.from];
  return *std::min_element(arcs.begin(), arcs.end());
}

// Chunks that the fullest link carries at least, per chunk of the collective.
double LeastLoad(CollectiveKind kind, const PackedGraph& graph, int root) {
  const double n = graph.ranks;
  if (IsScatter(kind)) {
    return std::max((n - 1) / n / FewestArcs(graph, /*into=*/true),
                    1 / n / FewestArcs(graph, /*into=*/false));
  }
  const double cut = MostOutTrees(graph.arcs, graph.ranks, root);
  if (!IsAllReduce(kind)) return 1 / cut;
  // A tree has n-1 of the cables.
  return std::max(1 / cut,
                  2 * (n - 1) / static_cast<double>(graph.arcs.size()));
}

// As b grows with nothing else: remembered, since sweeps ask again and again.
double LeastLoadOf(CollectiveKind kind, const Packing& packing) {
  thread_local Memo<double> memo(/*most=*/32);
  std::vector<std::uint32_t> key = {
      static_cast<std::uint32_t>(kind),
      static_cast<std::uint32_t>(packing.root),
      static_cast<std::uint32_t>(packing.graph.ranks)};
  AppendKey(packing.graph.arcs, key);
  return *memo.At(key,
                  [&] { return LeastLoad(kind, packing.graph, packing.root); });
}

std::int64_t TargetOf(CollectiveKind kind, const Packing& packing, int chunks) {
  return static_cast<std::int64_t>(
      std::ceil(chunks * LeastLoadOf(kind, packing) - 1e-9));
}

// ---- the plan -----------------------------------------------------------

struct PlannedOp {
  std::uint32_t chunk = 0;
  std::uint32_t arc = 0;  // that the transfer goes along
  Mode mode = Mode::kCopy;
};
struct Plan {
  std::vector<std::uint32_t> roots;  // ranks, by chunk
  std::vector<PlannedOp> ops;        // in the order in which they are emitted
  std::uint32_t rounds = 0;
  std::int64_t load = 0;
};

std::vector<std::uint32_t> Centre(const PackedGraph& graph) {
  std::vector<int> farthest;
  for (int rank = 0; rank < graph.ranks; ++rank) {
    farthest.push_back(Eccentricity(graph, rank));
  }
  const int least = *std::min_element(farthest.begin(), farthest.end());
  std::vector<std::uint32_t> centre;
  for (int rank = 0; rank < graph.ranks; ++rank) {
    if (farthest[rank] == least) {
      centre.push_back(static_cast<std::uint32_t>(rank));
    }
  }
  return centre;
}

std::vector<std::uint32_t> RootsOf(CollectiveKind kind, const Packing& packing,
                                   Roots roots, int chunks) {
  if (IsRooted(kind)) {
    return std::vector<std::uint32_t>(static_cast<std::size_t>(chunks),
                                      static_cast<std::uint32_t>(packing.root));
  }
  const auto n = static_cast<std::size_t>(packing.graph.ranks);
  const std::vector<std::uint32_t> centre =
      roots == Roots::kAll || IsScatter(kind) ? std::vector<std::uint32_t>()
                                              : Centre(packing.graph);
  std::vector<std::uint32_t> chosen;
  for (std::size_t j = 0; j < static_cast<std::size_t>(chunks); ++j) {
    const bool mix = roots == Roots::kMix && !IsScatter(kind);
    const std::size_t at = mix ? j / 2 : j;
    if (centre.empty() || (mix && j % 2 == 0)) {
      chosen.push_back(static_cast<std::uint32_t>(at * StrideOf(n) % n));
    } else {
      chosen.push_back(centre[at * StrideOf(centre.size()) % centre.size()]);
    }
  }
  return chosen;
}

// The transfers of all trees, to be scheduled. Of one tree in growth order; the
// key says that chunk j is due when 0.8 j/N of the target has passed, plus its
// place in its chain, and that who has more below goes first.
class OpsMaker {
 public:
  OpsMaker(const PackedGraph& graph, const PackedTrees& trees,
           std::int64_t target, bool both_ways)
      : graph_(graph), trees_(trees), target_(target), both_ways_(both_ways) {
    ops_.links = static_cast<std::uint32_t>(graph.arcs.size());
  }

  RoundOps Make() {
    for (std::size_t j = 0; j < trees_.roots.size(); ++j) AddTree(j);
    return std::move(ops_);
  }
  const std::vector<PlannedOp>& planned() const { return planned_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void AddTree(std::size_t j) {
    const auto ranks = static_cast<std::size_t>(graph_.ranks);
    const auto tree = trees_.Tree(j, graph_.ranks);
    depth_.assign(ranks, 0);
    height_.assign(ranks, 0);
    children_.resize(ranks);
    for (auto& list : children_) list.clear();
    int deepest = 0;
    for (const std::uint32_t arc : tree) {
      const Arc& edge = graph_.arcs[arc];
      depth_[edge.to] = depth_[edge.from] + 1;
      deepest = std::max(deepest, depth_[edge.to]);
    }
    for (std::size_t k = tree.size(); k-- > 0;) {
      const Arc& edge = graph_.arcs[tree[k]];
      height_[edge.from] = std::max(height_[edge.from], height_[edge.to] + 1);
    }
    const int above = both_ways_ ? deepest : 0;
    up_.assign(ranks, kNone);
    down_.assign(ranks, kNone);
    if (both_ways_) {
      for (std::size_t k = tree.size(); k-- > 0;) AddUp(j, tree[k], deepest);
    }
    for (const std::uint32_t arc : tree) AddDown(j, arc, above);
  }

  void AddUp(std::size_t j, std::uint32_t arc, int deepest) {
    const Arc& edge = graph_.arcs[arc];
    for (const std::uint32_t op : children_[edge.to]) ops_.before.push_back(op);
    up_[edge.to] =
        Add(j, static_cast<std::uint32_t>(graph_.reverse[arc]), Mode::kReduce,
            deepest - depth_[edge.to], height_[edge.to]);
    children_[edge.from].push_back(up_[edge.to]);
  }

  void AddDown(std::size_t j, std::uint32_t arc, int above) {
    const Arc& edge = graph_.arcs[arc];
    if (depth_[edge.from] > 0) {
      ops_.before.push_back(down_[edge.from]);
    } else if (both_ways_) {
      for (const std::uint32_t op : children_[edge.from]) {
        ops_.before.push_back(op);
      }
    }
    down_[edge.to] =
        Add(j, arc, Mode::kCopy, above + depth_[edge.to] - 1, height_[edge.to]);
  }

  std::uint32_t Add(std::size_t j, std::uint32_t arc, Mode mode, int place,
                    int height) {
    const auto chunks = static_cast<std::int64_t>(trees_.roots.size());
    const std::int64_t due = 4 * static_cast<std::int64_t>(j) * target_ +
                             5 * chunks * std::int64_t{place};
    ops_.link.push_back(arc);
    ops_.key.push_back(due * graph_.ranks - height);
    ops_.first.push_back(static_cast<std::uint32_t>(ops_.before.size()));
    planned_.push_back({static_cast<std::uint32_t>(j), arc, mode});
    return static_cast<std::uint32_t>(planned_.size() - 1);
  }

  const PackedGraph& graph_;
  const PackedTrees& trees_;
  std::int64_t target_;
  bool both_ways_;
  RoundOps ops_;
  std::vector<PlannedOp> planned_;
  std::vector<int> depth_, height_;                   // by rank
  std::vector<std::uint32_t> up_, down_;              // ops, by rank
  std::vector<std::vector<std::uint32_t>> children_;  // their ups, by rank
};

std::uint64_t& PlansMade() {
  thread_local std::uint64_t made = 0;
  return made;
}

Plan MakePlan(const Collective& collective, const Topology& topology,
              const Packing& packing, const LoweringSpec& spec) {
  ++PlansMade();
  const CollectiveKind kind = collective.kind;
  const PackedGraph& graph = packing.graph;
  const int chunks = ChunksOf(kind, spec, graph.ranks);
  const std::int64_t target = TargetOf(kind, packing, chunks);
  const PackedTrees trees =
      PackTrees(graph, RootsOf(kind, packing, spec.roots, chunks), target,
                spec.slack, IsAllReduce(kind));
  OpsMaker maker(graph, trees, target, IsAllReduce(kind));
  const RoundOps ops = maker.Make();
  Rounds rounds = ListSchedule(ops, spec.lat, spec.passes);
  Plan plan{.roots = trees.roots,
            .ops = {},
            .rounds = rounds.count,
            .load = LargestLoad(graph, trees, IsAllReduce(kind))};
  const bool reversed = IsReversed(kind);
  // Ids of links that transfers take, which order those of a round.
  std::vector<std::uint32_t> link;
  for (const Arc& arc : graph.arcs) {
    link.push_back((reversed ? topology.Reverse(arc.link) : arc.link).value());
  }
  std::vector<std::uint32_t> order(ops.link.size());
  for (std::uint32_t op = 0; op < order.size(); ++op) order[op] = op;
  if (reversed) {
    for (std::uint32_t& start : rounds.start) start = rounds.count - 1 - start;
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(rounds.start[a], link[ops.link[a]]) <
           std::pair(rounds.start[b], link[ops.link[b]]);
  });
  for (const std::uint32_t op : order) {
    plan.ops.push_back(maker.planned()[op]);
    if (reversed) plan.ops.back().mode = Mode::kReduce;
  }
  return plan;
}

// Of a resolved spec. Independent of the payload and the window.
std::shared_ptr<const Plan> PlanOf(const Collective& collective,
                                   const Topology& topology,
                                   const Packing& packing,
                                   const LoweringSpec& spec) {
  thread_local Memo<Plan> memo(/*most=*/24);
  std::vector<std::uint32_t> key = {
      static_cast<std::uint32_t>(collective.kind),
      static_cast<std::uint32_t>(packing.root),
      static_cast<std::uint32_t>(packing.graph.ranks),
      static_cast<std::uint32_t>(
          ChunksOf(collective.kind, spec, packing.graph.ranks)),
      static_cast<std::uint32_t>(spec.roots),
      static_cast<std::uint32_t>(spec.slack),
      static_cast<std::uint32_t>(spec.lat),
      static_cast<std::uint32_t>(spec.passes)};
  AppendKey(packing.graph.arcs, key);
  return memo.At(key,
                 [&] { return MakePlan(collective, topology, packing, spec); });
}

// ---- the row ------------------------------------------------------------

std::uint64_t CountTransfers(CollectiveKind kind, int ranks,
                             const LoweringSpec& spec) {
  const auto per_chunk = static_cast<std::uint64_t>(ranks - 1);
  return per_chunk * ChunksOf(kind, spec, ranks) * (IsAllReduce(kind) ? 2 : 1);
}

std::uint64_t CountTreePacking(const Collective& collective,
                               const Topology& topology,
                               const LoweringSpec& spec) {
  return CountTransfers(collective.kind, GroupSize(collective, topology), spec);
}

std::optional<std::string> WhyNotTreePacking(const Collective& collective,
                                             const Topology& topology,
                                             const LoweringSpec& spec) {
  if (!IsAllChips(collective, topology)) {
    return "its group must be all chips of one slice; use bucket-rotated or "
           "direct";
  }
  if (topology.live_chips() > kMostMembers) {
    return "its trees are packed for up to " + std::to_string(kMostMembers) +
           " chips only; use bucket-rotated, direct or bfs-tree";
  }
  const std::vector<std::vector<ChipId>> groups =
      GroupsOf(collective, topology);
  const std::vector<ChipId>& members = groups[0];
  const int ranks = static_cast<int>(members.size());
  const std::vector<Arc> arcs = ArcsOf(members, collective.kind, topology);
  const int root = IsRooted(collective.kind) ? RootRank(collective, groups) : 0;
  for (const bool backwards : {false, true}) {
    if (backwards && IsRooted(collective.kind)) break;
    if (const auto lost = FirstUnreached(arcs, ranks, root, backwards)) {
      return "chips " + std::to_string(members[root].value()) + " and " +
             std::to_string(members[*lost].value()) +
             " cannot reach each other over links that it can use; use direct "
             "or binomial";
    }
  }
  const auto transfers = CountTransfers(collective.kind, ranks, spec);
  if (transfers > kMostAsked) {
    return "it would have " + std::to_string(transfers) +
           " transfers, and plans up to " + std::to_string(kMostAsked) +
           "; use fewer chunks";
  }
  return std::nullopt;
}

WholeSchedule BuildTreePacking(const Collective& collective,
                               const Topology& topology,
                               const LoweringSpec& spec) {
  const Packing packing = PackingOf(collective, topology);
  ScheduleBuilder builder(collective, packing.groups);
  const std::vector<ChipId>& members = packing.groups[0];
  const int ranks = packing.graph.ranks;
  if (ranks == 1) {
    builder.AddChunk(0, 0, collective.payload);
    return std::move(builder).Finish();
  }
  const auto plan = PlanOf(collective, topology, packing, spec);
  const bool scatter = IsScatter(collective.kind);
  const std::vector<Bytes> shards =
      SplitEvenly(collective.payload, scatter ? ranks : spec.chunks);
  for (std::size_t j = 0; j < plan->roots.size(); ++j) {
    const auto owner = static_cast<int>(plan->roots[j]);
    builder.AddChunk(0, owner,
                     scatter ? SplitEvenly(shards[owner],
                                           spec.sub_chunks)[j / members.size()]
                             : shards[j]);
  }
  const auto window = static_cast<std::size_t>(spec.window);
  std::vector<std::vector<OpId>> sent(topology.link_ids());
  const bool reversed = IsReversed(collective.kind);
  for (const PlannedOp& op : plan->ops) {
    const Arc& arc = packing.graph.arcs[op.arc];
    const LinkId link = reversed ? topology.Reverse(arc.link) : arc.link;
    std::vector<OpId>& lane = sent[link.value()];
    const bool waits = lane.size() >= window;
    const auto id = builder.Send(
        {.from = members[reversed ? arc.to : arc.from],
         .to = members[reversed ? arc.from : arc.to],
         .chunks = {&op.chunk, 1},
         .mode = op.mode,
         .route = {&link, 1},
         .lane = static_cast<std::uint16_t>(link.value())},
        waits ? std::span<const OpId>(&lane[lane.size() - window], 1)
              : std::span<const OpId>());
    if (id) lane.push_back(*id);
  }
  return std::move(builder).Finish();
}

// What the links must carry at least, and with one transfer at a time the
// start-ups of as many.
Seconds TreePackingTime(const Collective& collective, const Slice& slice,
                        const LoweringSpec& spec) {
  const Topology& topology = slice.topology;
  const Packing packing = PackingOf(collective, topology);
  const PackedGraph& graph = packing.graph;
  const std::int64_t payload = collective.payload.value();
  if (graph.ranks == 1 || payload == 0) return Seconds(0);
  double alpha = std::numeric_limits<double>::infinity();
  double rate = 0;  // of the fastest link
  for (const Arc& arc : graph.arcs) {
    for (const LinkId link : {arc.link, topology.Reverse(arc.link)}) {
      if (!topology.Live(link)) continue;
      alpha = std::min(alpha, topology.Latency(link).value());
      rate = std::max(rate, topology.Bandwidth(link).value());
    }
  }
  const double start = slice.parameters.ici_message_overhead.value() + alpha;
  const int chunks = ChunksOf(collective.kind, spec, graph.ranks);
  // Of shards the poorest chip may own the largest.
  const double bytes = static_cast<double>(
      IsScatter(collective.kind) ? payload / graph.ranks * graph.ranks
                                 : payload);
  const double load = LeastLoadOf(collective.kind, packing);
  const double messages =
      spec.window == 1 && payload >= chunks ? std::floor(load * chunks) : 1;
  return Seconds(std::max(1.0, messages) * start + load * bytes / rate);
}

// ---- parameters ---------------------------------------------------------

double StartUp(const Slice& slice) {
  return slice.parameters.ici_message_overhead.value() +
         slice.topology.base_latency().value();
}

// About the seconds of so many chunks.
class Estimate {
 public:
  Estimate(const Collective& collective, const Packing& packing,
           const Slice& slice)
      : kind_(collective.kind),
        load_(LeastLoadOf(collective.kind, packing)),
        start_(StartUp(slice)),
        flow_(static_cast<double>(collective.payload.value()) /
              slice.topology.base_bandwidth().value()),
        hops_(Eccentricity(packing.graph, packing.root)) {}

  double Time(int chunks, int lat, int window) const {
    const double rounds =
        std::ceil(chunks * load_ - 1e-9) + Extra() + Latency() * lat;
    return rounds * (start_ / window + flow_ / chunks);
  }
  // Rounds that a chunk's start-up lasts, as a power of two.
  int Lat(int chunks) const {
    if (start_ == 0) return 0;
    int lat = 1;
    while (lat < kMostLat && lat * flow_ < start_ * chunks) lat *= 2;
    return lat;
  }

 private:
  // Rounds that the fullest link is idle: at the end and at the beginning.
  double Extra() const {
    if (IsAllReduce(kind_)) return 1.4 * hops_;
    return IsRooted(kind_) ? hops_ + 2 : 1 + hops_ / 8.0;
  }
  // Hops one after another while links idle.
  double Latency() const { return IsScatter(kind_) ? hops_ / 2.0 : hops_; }

  CollectiveKind kind_;
  double load_;
  double start_;  // s
  double flow_;   // s, of the payload over one link
  double hops_;
};

// The fewest chunks whose estimate is about the best.
int BestCount(const Collective& collective, const LoweringSpec& spec,
              const Estimate& estimate, int ranks) {
  const bool scatter = IsScatter(collective.kind);
  std::vector<int> counts;
  if (scatter) {
    counts.assign(std::begin(kSubChunks), std::end(kSubChunks));
  } else {
    for (int n = 1; n <= 2 * kMostChunks; n *= 2) counts.push_back(n);
  }
  int best = 0;
  double least = 0;
  for (const int count : counts) {
    LoweringSpec tried = spec;
    (scatter ? tried.sub_chunks : tried.chunks) = count;
    const int chunks = ChunksOf(collective.kind, tried, ranks);
    if (best > 0 && (chunks > collective.payload.value() ||
                     CountTransfers(collective.kind, ranks, tried) >
                         static_cast<std::uint64_t>(kMostTransfers))) {
      break;
    }
    const int lat = spec.lat >= 0 ? spec.lat : estimate.Lat(chunks);
    const double time = std::min(estimate.Time(chunks, 0, 1),
                                 estimate.Time(chunks, lat, 2 * lat + 2));
    if (best > 0 && time > least * (1 - kWorth)) continue;
    best = count;
    least = time;
  }
  return best;
}

void ResolveWindow(const Estimate& estimate, int chunks, LoweringSpec& spec) {
  if (spec.lat < 0) {
    const int lat = estimate.Lat(chunks);
    const int window = spec.window > 0 ? spec.window : 2 * lat + 2;
    const bool wins = estimate.Time(chunks, lat, window) <
                      estimate.Time(chunks, 0, std::max(1, spec.window));
    spec.lat = wins ? lat : 0;
  }
  if (spec.window == 0) spec.window = spec.lat == 0 ? 1 : 2 * spec.lat + 2;
}

// Where roots make a difference: the fewest rounds, the first on ties.
void ResolveRoots(const Collective& collective, const Topology& topology,
                  const Packing& packing, LoweringSpec& spec) {
  struct Choice {
    Roots roots;
    int slack;
  };
  std::vector<Choice> choices = {
      {Roots::kMix, 0}, {Roots::kMix, 1}, {Roots::kAll, 0}};
  const auto ranks = static_cast<std::int64_t>(packing.graph.ranks);
  const bool is_tree =
      static_cast<std::int64_t>(packing.graph.arcs.size()) == 2 * (ranks - 1);
  if (is_tree) choices = {{Roots::kCentre, 0}};
  if (ranks * spec.chunks >= kMostTried) choices = {{Roots::kAll, 0}};
  if (!IsAllReduce(collective.kind)) choices = {{Roots::kAll, 0}};
  std::optional<LoweringSpec> best;
  std::uint32_t fewest = 0;
  for (const Choice& choice : choices) {
    LoweringSpec tried = spec;
    if (spec.roots == Roots::kBest) tried.roots = choice.roots;
    if (spec.slack < 0) tried.slack = choice.slack;
    if (choices.size() == 1) {
      best = tried;
      break;
    }
    // Payloads differ in `lat` and share the choice.
    LoweringSpec counted = tried;
    counted.lat = 0;
    const std::uint32_t rounds =
        PlanOf(collective, topology, packing, counted)->rounds;
    if (best && rounds >= fewest) continue;
    best = tried;
    fewest = rounds;
  }
  spec = *best;
}

LoweringSpec ResolveTreePacking(const LoweringSpec& spec,
                                const Collective& collective,
                                const Slice& slice) {
  LoweringSpec resolved = spec;
  if (spec.passes < 0) resolved.passes = kPasses;
  const Packing packing = PackingOf(collective, slice.topology);
  const int ranks = packing.graph.ranks;
  const bool scatter = IsScatter(collective.kind);
  // The one that does not apply.
  (scatter ? resolved.chunks : resolved.sub_chunks) = 1;
  int& count = scatter ? resolved.sub_chunks : resolved.chunks;
  if (ranks == 1) {
    count = std::max(1, count);
    resolved.lat = std::max(0, spec.lat);
    resolved.window = std::max(1, spec.window);
    resolved.slack = std::max(0, spec.slack);
    if (spec.roots == Roots::kBest) resolved.roots = Roots::kAll;
    return resolved;
  }
  const Estimate estimate(collective, packing, slice);
  if (count == 0) count = BestCount(collective, resolved, estimate, ranks);
  ResolveWindow(estimate, ChunksOf(collective.kind, resolved, ranks), resolved);
  ResolveRoots(collective, slice.topology, packing, resolved);
  return resolved;
}

}  // namespace

std::uint32_t TreePackingRounds(const Collective& collective,
                                const Topology& topology,
                                const LoweringSpec& spec) {
  const Packing packing = PackingOf(collective, topology);
  if (packing.graph.ranks == 1) return 0;
  return PlanOf(collective, topology, packing, spec)->rounds;
}

PackedLoad TreePackingLoad(const Collective& collective,
                           const Topology& topology, const LoweringSpec& spec) {
  const Packing packing = PackingOf(collective, topology);
  if (packing.graph.ranks == 1) return {};
  const int chunks = ChunksOf(collective.kind, spec, packing.graph.ranks);
  return {.largest = PlanOf(collective, topology, packing, spec)->load,
          .target = TargetOf(collective.kind, packing, chunks)};
}

std::uint64_t TreePackingPlansMade() { return PlansMade(); }

// One spanning tree per chunk, trees that load all cables alike, and a schedule
// packed from the end: on meshes, mixed slices and around faults it comes close
// to the bound, for many chunks.
Lowering TreePackingLowering() {
  return {
      .name = "tree-packing",
      .help =
          "one spanning tree per chunk, all cables loaded alike, scheduled "
          "from both ends; any slice, also with dead cables and chips",
      .parameters = {"chunks", "sub_chunks", "roots", "slack", "lat", "window",
                     "passes"},
      .kinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
                CollectiveKind::kReduce},
      .preconditions = "all chips of one slice, at most 256",
      .time =
          "(M + F)(a + S/(NB)), N chunks, M on the fullest link, F about "
          "1.4 diameters",
      .source = "Tutte, Nash-Williams 1961; forward-backward list scheduling",
      .why_not = WhyNotTreePacking,
      .build = BuildTreePacking,
      .count = CountTreePacking,
      .at_least = TreePackingTime,
      .one_hop = true,
      .resolve = ResolveTreePacking};
}

}  // namespace podsim
