#include <algorithm>
#include <set>

#include "collective/balanced_trees.h"
#include "collective/exchange.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotBfb(const Collective& collective,
                                     const Topology& topology,
                                     const LoweringSpec&) {
  for (const int axis : ActiveAxes(collective, topology)) {
    if (topology.axes()[axis].wrap) continue;
    return "axis " + AxisName(topology, axis) + " (" +
           std::to_string(topology.axes()[axis].size) +
           " chips) does not wrap; use bucket-rotated:fractions=balanced or "
           "greedy";
  }
  return std::nullopt;
}

int SubChunksOf(const LoweringSpec& spec, const Collective& collective,
                const Topology& topology) {
  if (spec.sub_chunks > 0) return spec.sub_chunks;
  const auto d = static_cast<int>(ActiveAxes(collective, topology).size());
  return std::max(1, 2 * d);
}

LoweringSpec ResolveBfb(const LoweringSpec& spec, const Collective& collective,
                        const Slice& slice) {
  LoweringSpec resolved = spec;
  resolved.sub_chunks = SubChunksOf(spec, collective, slice.topology);
  return resolved;
}

// The steps of one phase, by level (nearest first) and generator; nullopt where
// nothing travels.
using PhaseSteps = std::vector<std::vector<std::optional<StepId>>>;

class BfbEmitter {
 public:
  BfbEmitter(const BalancedTrees& trees, const Topology& topology,
             ProgramBuilder& builder)
      : trees_(trees), builder_(builder) {
    for (const auto& jobs : trees.levels) {
      auto& by_generator = entering_.emplace_back(trees.count());
      for (const TreeJob& job : jobs) {
        by_generator[job.generator].push_back(
            {topology.CoordinatesOf(job.at), job.sub_chunk});
      }
    }
  }

  // From the farthest level to the nearest: a chip at displacement v sends its
  // sum for the owner back over the link that v is entered by.
  PhaseSteps Scatter() {
    PhaseSteps steps = NoSteps();
    for (std::size_t level = trees_.levels.size(); level-- > 0;) {
      for (int g = 0; g < trees_.count(); ++g) {
        std::vector<After> waits;
        for (int from = 0; from < trees_.count(); ++from) {
          if (level + 1 < trees_.levels.size() && Feeds(level + 1, from, g) &&
              steps[level + 1][from]) {
            waits.push_back({*steps[level + 1][from], true});
          }
        }
        const Generator& link = trees_.generators[g];
        steps[level][g] = Send(level, g, Coordinates{}, g ^ 1, link.axis,
                               Opposite(link.sign), Mode::kReduce, waits);
      }
    }
    return steps;
  }

  // From the nearest level on: every displacement gets its sub-chunks over the
  // links chosen for it, all chips at once. `sums`: the scatter before it.
  void Gather(const PhaseSteps* sums) {
    PhaseSteps steps = NoSteps();
    for (std::size_t level = 0; level < trees_.levels.size(); ++level) {
      for (int g = 0; g < trees_.count(); ++g) {
        std::vector<After> waits;
        for (int from = 0; from < trees_.count(); ++from) {
          if (level > 0 && Feeds(level, g, from)) {
            waits.push_back({*steps[level - 1][from], true});
          } else if (level == 0 && sums != nullptr && (*sums)[0][from] &&
                     ShareSubChunk(g, from)) {
            waits.push_back({*(*sums)[0][from], true});
          }
        }
        const Generator& link = trees_.generators[g];
        steps[level][g] = Send(level, g, link.hop, g, link.axis, link.sign,
                               Mode::kCopy, waits);
      }
    }
  }

 private:
  // A sub-chunk that arrives at a displacement.
  struct Entering {
    Coordinates at;
    int sub_chunk;
  };

  PhaseSteps NoSteps() const {
    return PhaseSteps(trees_.levels.size(),
                      std::vector<std::optional<StepId>>(trees_.count()));
  }

  bool Feeds(std::size_t level, int to, int from) const {
    return trees_.feeds[level][to * trees_.count() + from];
  }

  // Whether two links carry the same sub-chunk of a neighbour's shard.
  bool ShareSubChunk(int a, int b) const {
    std::set<int> of_a;
    for (const Entering& job : entering_[0][a]) of_a.insert(job.sub_chunk);
    return std::any_of(
        entering_[0][b].begin(), entering_[0][b].end(),
        [&](const Entering& job) { return of_a.count(job.sub_chunk) > 0; });
  }

  // One message with the sub-chunks that enter level `level` by generator g;
  // their owners are `ahead` - v away from the sender.
  std::optional<StepId> Send(std::size_t level, int g, const Coordinates& ahead,
                             int lane, int axis, Sign sign, Mode mode,
                             const std::vector<After>& waits) {
    std::vector<ChunkItem> items;
    items.reserve(entering_[level][g].size());
    for (const Entering& job : entering_[level][g]) {
      ChunkItem item{.sub_chunk = static_cast<std::uint16_t>(job.sub_chunk)};
      for (int a = 0; a < kMaxAxes; ++a) {
        item.owner[a] = static_cast<std::int16_t>(ahead[a] - job.at[a]);
      }
      items.push_back(item);
    }
    if (items.empty()) return std::nullopt;
    return builder_.Send(lane, axis, sign, builder_.Pattern(items), mode,
                         waits);
  }

  const BalancedTrees& trees_;
  ProgramBuilder& builder_;
  std::vector<std::vector<std::vector<Entering>>> entering_;  // [level][link]
};

// Every shard is broadcast along translated copies of one set of breadth-first
// trees whose edges are spread evenly over the 2d links of a chip, so that in
// every step all links of all chips carry the same number of sub-chunks.
Program LowerBfb(const Collective& collective, const Topology& topology,
                 const LoweringSpec& spec) {
  const int sub_chunks = SubChunksOf(spec, collective, topology);
  const BalancedTrees trees =
      MakeBalancedTrees(collective, topology, sub_chunks);
  ChunkSplit split{.parts = sub_chunks, .fractions = {}};
  ProgramBuilder builder(split, FlowOf(collective.kind), collective.axes);
  BfbEmitter emitter(trees, topology, builder);
  std::optional<PhaseSteps> sums;
  if (collective.kind != CollectiveKind::kAllGather) sums = emitter.Scatter();
  if (collective.kind != CollectiveKind::kReduceScatter) {
    emitter.Gather(sums ? &*sums : nullptr);
  }
  return std::move(builder).Build();
}

std::uint64_t CountBfb(const Collective& collective, const Topology& topology,
                       const LoweringSpec&) {
  std::uint64_t diameter = 0, links = 0;
  for (const int axis : ActiveAxes(collective, topology)) {
    diameter += topology.axes()[axis].size / 2;
    links += 2;
  }
  const int phases = PhasesOf(collective.kind);
  return diameter * links * phases;
}

// Level after level, each of which starts once; its sub-chunks at best evenly
// on all links.
Seconds BfbLeast(const Collective& collective, const Slice& slice,
                 const LoweringSpec& spec) {
  const Topology& topology = slice.topology;
  const std::vector<int> active = ActiveAxes(collective, topology);
  const std::int64_t n = GroupSize(collective, topology);
  const std::int64_t sub_chunks = SubChunksOf(spec, collective, topology);
  const std::int64_t sub_chunk = collective.payload.value() / (n * sub_chunks);
  if (active.empty() || sub_chunk == 0) return Seconds(0);
  int levels = 0;
  for (const int axis : active) levels += topology.axes()[axis].size / 2;
  if (topology.twisted()) levels = 1;  // fewer, it is not known how many
  const double on_a_link = static_cast<double>((n - 1) * sub_chunks) /
                           static_cast<double>(2 * active.size());
  const int phases = PhasesOf(collective.kind);
  return SequenceTime(slice, phases * levels,
                      phases * on_a_link * static_cast<double>(sub_chunk));
}

}  // namespace

// Optimal in bandwidth and in steps wherever all levels balance, which they do
// on every torus tried, plain or twisted, of equal axes or not, except with a
// wrapped axis of two chips.
Lowering BfbLowering() {
  return {
      .name = "bfb",
      .help = "breadth-first trees from every chip, balanced over all links",
      .parameters = {"sub_chunks"},
      .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                CollectiveKind::kAllReduce},
      .preconditions = "wrapped axes; also all axes of a twisted slice",
      .time = "D a + (P-1)/(2dP) S/B where all levels balance",
      .source =
          "Zhao et al., arXiv 2202.03356; Johnsson & Ho, IEEE Trans. "
          "Computers 1989",
      .why_not = WhyNotBfb,
      .lower = LowerBfb,
      .count = CountBfb,
      .at_least = BfbLeast,
      .one_hop = true,
      .twists = true,
      .resolve = ResolveBfb};
}

}  // namespace podsim
