#include "cost/closed_form.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "collective/balanced_trees.h"
#include "collective/block_view.h"
#include "collective/direct_program.h"
#include "collective/greedy.h"
#include "collective/groups.h"
#include "topology/distance.h"

namespace podsim {
namespace {

// Loads closer than this (relative) are equal.
constexpr double kBalanced = 1e-12;

struct Link {
  double start_up;  // a = o + alpha, seconds
  double rate;      // B, bytes/s
};

// All-gather of `payload` bytes in the end along one axis.
double AxisTime(const GridAxis& axis, AxisPrimitive primitive, double payload,
                const Link& link) {
  const double n = axis.size;
  if (!axis.wrap || primitive == AxisPrimitive::kRing) {
    return (n - 1) * (link.start_up + payload / (n * link.rate));
  }
  if (primitive == AxisPrimitive::kSplit) {
    return (n - 1) * (link.start_up + payload / (2 * n * link.rate));
  }
  return std::floor(n / 2) * link.start_up +
         (n - 1) / (2 * n) * payload / link.rate;
}

// All-gather over DCN of shards of so many bytes: a ring of the slices.
double DcnTime(int slices, double shard, const Dcn& dcn, const Slice& slice) {
  return (slices - 1) * (slice.parameters.ici_message_overhead.value() +
                         dcn.latency.value() + shard / dcn.bandwidth.value());
}

bool NeedsHalves(const GridAxis& axis, AxisPrimitive primitive) {
  return axis.wrap &&
         (primitive == AxisPrimitive::kSplit ||
          (primitive == AxisPrimitive::kShort && axis.size % 2 == 0));
}

// The primitive that a lowering runs on each axis; nullopt: no formula known.
std::optional<AxisPrimitive> PrimitiveOf(const LoweringSpec& spec) {
  if (spec.name == "ring") return AxisPrimitive::kRing;
  if (spec.name == "ring-split") return AxisPrimitive::kSplit;
  if (spec.name == "ring-short") return AxisPrimitive::kShort;
  if (spec.name == "line" || spec.name == "bucket" ||
      spec.name == "bucket-rotated" || spec.name == "hierarchical") {
    return spec.axis_primitive;
  }
  return std::nullopt;
}

// Wrapped, or one cable: all chips are done with an axis at once.
bool EqualRings(const std::vector<int>& active, const Topology& topology) {
  for (const int a : active) {
    const GridAxis& axis = topology.axes()[a];
    const GridAxis& first = topology.axes()[active[0]];
    if (axis.size != first.size || axis.wrap != first.wrap ||
        (!axis.wrap && axis.size > 2)) {
      return false;
    }
  }
  return true;
}

bool EqualFractions(const LoweringSpec& spec) {
  return std::adjacent_find(spec.fractions.begin(), spec.fractions.end(),
                            std::not_equal_to<>()) == spec.fractions.end();
}

bool Mixed(const std::vector<int>& active, const Topology& topology) {
  for (const int axis : active) {
    if (topology.axes()[axis].wrap != topology.axes()[active[0]].wrap) {
      return true;
    }
  }
  return false;
}

// One message on an idle slice: o + h alpha + S/B.
std::optional<Seconds> LonePairTime(const Collective& collective,
                                    const Slice& slice) {
  const std::vector<ChipPair> pairs = PairsOf(collective, slice.topology);
  if (pairs.size() > 1) return std::nullopt;
  if (pairs.empty() || collective.payload.value() == 0) return Seconds(0);
  const int hops = HopsFrom(slice.topology, pairs[0].from)[pairs[0].to.value()];
  return slice.parameters.ici_message_overhead +
         hops * slice.parameters.ici_hop_latency +
         collective.payload / slice.parameters.ici_bandwidth +
         slice.parameters.collective_launch;
}

// Without start-up an all-to-all takes the load of its fullest link where links
// and messages are alike along every axis: floor(n^2/4)/(2n) S/B of the longest
// wrapped axis, floor(n/2) ceil(n/2)/n S/B of a line. Max-min sharing can miss
// that on slices of three axes that mix both.
std::optional<Seconds> DirectForm(const LoweringSpec& spec,
                                  const Collective& collective,
                                  const Slice& slice) {
  if (collective.kind == CollectiveKind::kCollectivePermute) {
    return LonePairTime(collective, slice);
  }
  const Topology& topology = slice.topology;
  const std::vector<int> active = ActiveAxes(collective, topology);
  const std::int64_t n = GroupSize(collective, topology);
  const bool posted_at_once =
      spec.window == 0 && slice.parameters.ici_message_overhead.value() == 0 &&
      slice.parameters.ici_hop_latency.value() == 0;
  const bool alike = collective.payload.value() % (2 * n) == 0 &&
                     !topology.twisted() &&
                     (active.size() <= 2 || !Mixed(active, topology));
  if (collective.kind != CollectiveKind::kAllToAll || !posted_at_once ||
      !alike) {
    return std::nullopt;
  }
  double load = 0;
  for (const int axis : active) {
    const double size = topology.axes()[axis].size;
    load = std::max(load, topology.axes()[axis].wrap
                              ? std::floor(size * size / 4) / (2 * size)
                              : std::floor(size * size / 4) / size);
  }
  return Seconds(load * static_cast<double>(collective.payload.value()) /
                 slice.parameters.ici_bandwidth.value()) +
         slice.parameters.collective_launch;
}

// Without start-up all messages flow at once, over links that are all as full.
std::optional<Seconds> DirectTwistedForm(const LoweringSpec& spec,
                                         const Collective& collective,
                                         const Slice& slice) {
  const std::vector<Displacement> displacements =
      AllMinimalWays(slice.topology);
  const std::int64_t n = GroupSize(collective, slice.topology);
  if (spec.window > 0 || slice.parameters.ici_message_overhead.value() != 0 ||
      slice.parameters.ici_hop_latency.value() != 0) {
    return std::nullopt;
  }
  const std::int64_t block = collective.payload.value() / n;
  // Bytes over the links of every axis, + and -, of one chip's messages.
  std::array<double, kMaxAxes> plus{}, minus{};
  for (const Displacement& displacement : displacements) {
    const auto ways = static_cast<std::int64_t>(displacement.ways.size());
    if (block % ways != 0) return std::nullopt;
    for (const Coordinates& way : displacement.ways) {
      for (int axis = 0; axis < kMaxAxes; ++axis) {
        const double hops = static_cast<double>(block / ways) * way[axis];
        (hops > 0 ? plus : minus)[axis] += std::abs(hops);
      }
    }
  }
  // Else sharing is not the same on all links.
  for (int axis = 0; axis < slice.topology.ici_axes(); ++axis) {
    if (std::abs(plus[axis] - plus[0]) > kBalanced * plus[0] ||
        std::abs(minus[axis] - plus[0]) > kBalanced * plus[0]) {
      return std::nullopt;
    }
  }
  return Seconds(plus[0] / slice.parameters.ici_bandwidth.value()) +
         slice.parameters.collective_launch;
}

// Products of c seconds beside ring steps of x = a + S/(nB).
std::optional<Seconds> WindowedMatmulForm(const LoweringSpec& spec,
                                          const Collective& collective,
                                          const Slice& slice) {
  const std::int64_t ranks = GroupSize(collective, slice.topology);
  if (collective.payload.value() % (2 * ranks) != 0) return std::nullopt;
  const double n = static_cast<double>(ranks);
  const double start = slice.parameters.ici_message_overhead.value() +
                       slice.parameters.ici_hop_latency.value();
  const double shard = static_cast<double>(collective.payload.value()) /
                       (n * slice.parameters.ici_bandwidth.value());
  const double x = start + shard;
  const double c = spec.step_compute.value();
  double time = 0;
  if (collective.payload.value() == 0) {
    time = n * c;  // nothing is sent
  } else if (collective.kind == CollectiveKind::kReduceScatter) {
    if (spec.bidirectional) return std::nullopt;
    time = c + (n - 1) * std::max(c, x);
  } else if (!spec.bidirectional) {
    time = std::max(n * c, (n - 1) * x + c);
  } else {
    // The pair at distance k arrives at k x; both halves of the farthest, if
    // there is one, half a shard later than the pair before it.
    time = n * c;
    for (int k = 1; k <= (ranks - 1) / 2; ++k) {
      time = std::max(time, k * x + (n + 1 - 2 * k) * c);
    }
    if (ranks % 2 == 0) {
      time = std::max(time, (n / 2 - 1) * x + start + shard / 2 + c);
    }
  }
  return Seconds(time) + slice.parameters.collective_launch;
}

// One step per level, as long as its fullest link; all levels in turn.
std::optional<Seconds> BfbTime(const LoweringSpec& spec,
                               const Collective& collective,
                               const Slice& slice) {
  const Topology& topology = slice.topology;
  const std::int64_t n = GroupSize(collective, topology);
  const int sub_chunks = Resolve(spec, collective, slice).sub_chunks;
  if (collective.payload.value() % (n * sub_chunks) != 0) return std::nullopt;
  const BalancedTrees trees =
      MakeBalancedTrees(collective, topology, sub_chunks);
  const double start = slice.parameters.ici_message_overhead.value() +
                       slice.parameters.ici_hop_latency.value();
  const double per_sub_chunk = static_cast<double>(collective.payload.value()) /
                               (static_cast<double>(n * sub_chunks) *
                                slice.parameters.ici_bandwidth.value());
  double time = 0;
  for (std::size_t level = 0; level < trees.levels.size(); ++level) {
    time += start + trees.MostOf(level) * per_sub_chunk;
  }
  if (collective.kind == CollectiveKind::kAllReduce) time *= 2;
  return Seconds(time) + slice.parameters.collective_launch;
}

// Of a pipeline along a line, whose links nothing else uses.
std::optional<Seconds> PathTime(const LoweringSpec& spec,
                                const Collective& collective,
                                const Slice& slice) {
  if (spec.name != "line-middle" && spec.name != "chain") return std::nullopt;
  if (GroupSize(collective, slice.topology) == 1) return Seconds(0);
  if (spec.chunks == 0 || collective.payload.value() % spec.chunks != 0) {
    return std::nullopt;
  }
  if (collective.payload.value() == 0) return Seconds(0);
  return FindLowering(spec.name)->at_least(collective, slice, spec) +
         slice.parameters.collective_launch;
}

// Around Hamiltonian cycles, of chunks that are all equal.
std::optional<Seconds> CyclesForm(const LoweringSpec& spec,
                                  const Collective& collective,
                                  const Slice& slice) {
  const std::int64_t n = GroupSize(collective, slice.topology);
  const std::int64_t cycles = spec.name == "hamiltonian-pair" ? 2 : 1;
  const std::int64_t pieces = n * cycles * (n % 2 == 0 ? 2 : 1);
  if (n == 1 || collective.payload.value() == 0) return Seconds(0);
  if (collective.payload.value() % pieces != 0) return std::nullopt;
  return FindLowering(spec.name)->at_least(collective, slice, spec) +
         slice.parameters.collective_launch;
}

bool LiveLinksAlike(const Topology& topology) {
  bool alike = true;
  topology.ForEachLiveLink([&](LinkId link) {
    alike &= topology.Bandwidth(link) == topology.base_bandwidth() &&
             topology.Latency(link) == topology.base_latency();
  });
  return alike;
}

// Steps of equal chunks; dead cables do not matter.
std::optional<Seconds> GreedyForm(const LoweringSpec& spec,
                                  const Collective& collective,
                                  const Slice& slice) {
  const std::int64_t pieces =
      std::int64_t{GroupSize(collective, slice.topology)} * spec.sub_chunks;
  if (pieces == 0 || collective.payload.value() % pieces != 0 ||
      !LiveLinksAlike(slice.topology)) {
    return std::nullopt;
  }
  if (collective.payload.value() == 0) return Seconds(0);
  const int steps = GreedySteps(collective, slice.topology, spec);
  if (steps == 0) return Seconds(0);
  const double chunk = static_cast<double>(collective.payload.value()) /
                       static_cast<double>(pieces) /
                       slice.topology.base_bandwidth().value();
  return Seconds(steps * (slice.parameters.ici_message_overhead.value() +
                          slice.topology.base_latency().value() + chunk)) +
         slice.parameters.collective_launch;
}

// Of equal chunks over trees that share no link.
std::optional<Seconds> TreesForm(const LoweringSpec& spec,
                                 const Collective& collective,
                                 const Slice& slice) {
  const std::int64_t pieces = std::int64_t{spec.trees} * spec.chunks;
  if (GroupSize(collective, slice.topology) == 1) return Seconds(0);
  if (pieces == 0 || collective.payload.value() % pieces != 0 ||
      !LiveLinksAlike(slice.topology)) {
    return std::nullopt;
  }
  if (collective.payload.value() == 0) return Seconds(0);
  return FindLowering(spec.name)->at_least(collective, slice, spec) +
         slice.parameters.collective_launch;
}

}  // namespace

std::optional<Seconds> ClosedForm(const LoweringSpec& spec,
                                  const Collective& collective,
                                  const Slice& slice) {
  const Topology& topology = slice.topology;
  if (slice.parameters.ici_issue.value() > 0 ||
      slice.parameters.ici_window > 0) {
    return std::nullopt;
  }
  if (FindLowering(spec.name)->build == nullptr) {
    if (const auto view = BlockViewOf(collective, topology)) {
      return ClosedForm(spec, view->collective, SliceOf(*view, slice));
    }
  }
  if (spec.name == "edge-disjoint-trees" ||
      (spec.name == "spanning-trees" && spec.edge_copies == 1)) {
    return TreesForm(spec, collective, slice);
  }
  if (spec.name == "greedy") return GreedyForm(spec, collective, slice);
  if (!topology.is_grid() || !topology.healthy() ||
      !collective.groups.empty()) {
    return std::nullopt;
  }
  if (spec.name == "direct") return DirectForm(spec, collective, slice);
  if (spec.name == "hamiltonian" || spec.name == "hamiltonian-pair") {
    return CyclesForm(spec, collective, slice);
  }
  if (FindLowering(spec.name)->lower == nullptr) {
    return PathTime(spec, collective, slice);
  }
  const std::int64_t n = GroupSize(collective, topology);
  if (spec.name == "windowed-matmul") {
    return WindowedMatmulForm(spec, collective, slice);
  }
  if (n == 1 || collective.payload.value() == 0) return Seconds(0);
  if (spec.name == "direct-twisted") {
    return DirectTwistedForm(spec, collective, slice);
  }
  if (spec.name == "bfb") return BfbTime(spec, collective, slice);
  if (spec.batches != 1) return std::nullopt;
  const std::vector<int> active = ActiveAxes(collective, topology);
  const bool rotated =
      spec.name == "bucket-rotated" || spec.name == "hierarchical";
  const std::int64_t parts =
      rotated ? std::max<std::int64_t>(1, static_cast<int>(active.size())) : 1;
  const bool balanced = spec.balanced && !EqualRings(active, topology);
  if (parts > 1 &&
      (balanced || !EqualFractions(spec) || !EqualRings(active, topology))) {
    return std::nullopt;
  }
  const std::optional<AxisPrimitive> primitive = PrimitiveOf(spec);
  if (!primitive) return std::nullopt;
  std::int64_t granules = n * parts;
  for (const int axis : active) {
    if (NeedsHalves(topology.axes()[axis], *primitive)) {
      granules = 2 * n * parts;
    }
  }
  if (collective.payload.value() % granules != 0) return std::nullopt;
  const Link link{slice.parameters.ici_message_overhead.value() +
                      slice.parameters.ici_hop_latency.value(),
                  slice.parameters.ici_bandwidth.value()};
  double held = static_cast<double>(collective.payload.value()) /
                static_cast<double>(n * parts);
  double time = 0;
  if (SpansSlices(collective, topology)) {
    const int slices = topology.slices();
    time = DcnTime(slices, held * static_cast<double>(parts), *topology.dcn(),
                   slice);
    held *= slices;
  }
  for (const int axis : active) {
    held *= topology.axes()[axis].size;
    time += AxisTime(topology.axes()[axis], *primitive, held, link);
  }
  if (collective.kind == CollectiveKind::kAllReduce) time *= 2;
  return Seconds(time) + slice.parameters.collective_launch;
}

}  // namespace podsim
