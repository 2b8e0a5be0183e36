#include <algorithm>
#include <bit>

#include "collective/exchange.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/sub_grid.h"
#include "schedule/chunk_split.h"
#include "topology/distance.h"

namespace podsim {
namespace {

// The best: all links of a chip busy from the first step on.
int AllPorts(const Collective& collective, const Topology& topology) {
  const auto d = static_cast<int>(ActiveAxes(collective, topology).size());
  return std::max(1, 2 * d);
}

int PortsOf(const LoweringSpec& spec, const Collective& collective,
            const Topology& topology) {
  return spec.ports == 0 ? AllPorts(collective, topology) : spec.ports;
}

LoweringSpec ResolveSwing(const LoweringSpec& spec,
                          const Collective& collective, const Slice& slice) {
  LoweringSpec resolved = spec;
  resolved.ports = PortsOf(spec, collective, slice.topology);
  return resolved;
}

std::optional<std::string> WhyNotSwing(const Collective& collective,
                                       const Topology& topology,
                                       const LoweringSpec& spec) {
  const std::string instead = collective.kind == CollectiveKind::kAllReduce
                                  ? "; use recursive-doubling or direct"
                                  : "; use direct";
  if (const auto reason = WhyNoSubGrid(collective, topology, instead)) {
    return reason;
  }
  const std::vector<int> active = ActiveAxes(collective, topology);
  for (const int axis : active) {
    const int size = topology.axes()[axis].size;
    if (std::has_single_bit(static_cast<unsigned>(size))) continue;
    return "axis " + AxisName(topology, axis) + " has " + std::to_string(size) +
           " chips, which is no power of two" + instead;
  }
  const int all = AllPorts(collective, topology);
  if (spec.ports > 1 && spec.ports != all && !active.empty()) {
    return "ports=" + std::to_string(spec.ports) +
           " is neither one nor both of every axis; use ports=1 or ports=" +
           std::to_string(all);
  }
  return std::nullopt;
}

// How one copy goes: step s exchanges along `axis`, whose step `round` it is.
struct Step {
  int axis;
  int round;
};

// The axes in turn, from the copy's own on, as long as they have rounds left.
std::vector<Step> StepsOf(const SubGrid& grid, int first_axis) {
  const int total = Log2(grid.chips);
  std::vector<Step> steps;
  for (int round = 0; static_cast<int>(steps.size()) < total; ++round) {
    for (int k = 0; k < grid.axes(); ++k) {
      const int axis = (first_axis + k) % grid.axes();
      if (round < Log2(grid.sizes[axis])) steps.push_back({axis, round});
    }
  }
  return steps;
}

// Even coordinates swing by rho = 1, -1, 3, -5, 11, .. = (1 - (-2)^(j+1)) / 3,
// odd ones by -rho; mirrored the other way round.
int PeerOf(const SubGrid& grid, int rank, const Step& step, bool mirrored) {
  int power = -2;
  for (int j = 0; j < step.round; ++j) power *= -2;
  const int rho = (1 - power) / 3;
  const int from = grid.Coordinate(rank, step.axis);
  const int size = grid.sizes[step.axis];
  const bool plus = (from % 2 == 0) != mirrored;
  const int to = ((from + (plus ? rho : -rho)) % size + size) % size;
  return grid.At(rank, step.axis, to);
}

// One of the copies: an exchange with all its steps, on its share of every
// shard.
class Copy {
 public:
  Copy(const SubGrid& grid, int first_axis, bool mirrored) {
    std::vector<std::vector<int>> last(grid.chips);
    for (int rank = 0; rank < grid.chips; ++rank) last[rank] = {rank};
    reach_ = {last};
    const std::vector<Step> steps = StepsOf(grid, first_axis);
    for (std::size_t s = steps.size(); s-- > 0;) {
      std::vector<int> peers(grid.chips);
      for (int rank = 0; rank < grid.chips; ++rank) {
        peers[rank] = PeerOf(grid, rank, steps[s], mirrored);
      }
      reach_.insert(reach_.begin(), Join(reach_.front(), peers));
      peers_.insert(peers_.begin(), std::move(peers));
    }
  }

  std::size_t steps() const { return peers_.size(); }
  int peer(std::size_t step, int rank) const { return peers_[step][rank]; }
  // The ranks that `rank` reaches through the peers of the steps from `step`
  // on, ascending.
  const std::vector<int>& reach(std::size_t step, int rank) const {
    return reach_[step][rank];
  }

 private:
  static std::vector<std::vector<int>> Join(
      const std::vector<std::vector<int>>& reach,
      const std::vector<int>& peers) {
    std::vector<std::vector<int>> joined(reach.size());
    for (std::size_t rank = 0; rank < reach.size(); ++rank) {
      std::set_union(reach[rank].begin(), reach[rank].end(),
                     reach[peers[rank]].begin(), reach[peers[rank]].end(),
                     std::back_inserter(joined[rank]));
    }
    return joined;
  }

  std::vector<std::vector<int>> peers_;               // by step, rank
  std::vector<std::vector<std::vector<int>>> reach_;  // by step, rank
};

// What the copies of one group send.
class SwingGroup {
 public:
  SwingGroup(std::size_t g, Bytes payload, int copies, const Topology& topology,
             ScheduleBuilder& builder)
      : group_(builder.groups()[g]),
        topology_(topology),
        builder_(builder),
        chunks_(copies) {
    const auto n = static_cast<int>(group_.size());
    const std::vector<Bytes> shards = SplitEvenly(payload, n);
    for (int rank = 0; rank < n; ++rank) {
      const std::vector<Bytes> shares = SplitEvenly(shards[rank], copies);
      for (int copy = 0; copy < copies; ++copy) {
        chunks_[copy].push_back(builder.AddChunk(g, rank, shares[copy]));
      }
    }
  }

  void ReduceScatter(const Copy& copy, int index) {
    for (std::size_t s = 0; s < copy.steps(); ++s) {
      for (int rank = 0; rank < size(); ++rank) {
        const int peer = copy.peer(s, rank);
        Send(rank, peer, index, copy.reach(s + 1, peer), Mode::kReduce);
      }
    }
  }

  void AllGather(const Copy& copy, int index) {
    for (std::size_t s = copy.steps(); s-- > 0;) {
      for (int rank = 0; rank < size(); ++rank) {
        Send(rank, copy.peer(s, rank), index, copy.reach(s + 1, rank),
             Mode::kCopy);
      }
    }
  }

 private:
  int size() const { return static_cast<int>(group_.size()); }

  void Send(int from, int to, int copy, const std::vector<int>& owners,
            Mode mode) {
    std::vector<std::uint32_t> chunks;
    for (const int owner : owners) chunks.push_back(chunks_[copy][owner]);
    SendRouted(builder_, topology_,
               {.from = group_[from],
                .to = group_[to],
                .chunks = chunks,
                .mode = mode,
                .route = {},
                .lane = static_cast<std::uint16_t>(copy)});
  }

  const std::vector<ChipId>& group_;
  const Topology& topology_;
  ScheduleBuilder& builder_;
  std::vector<std::vector<std::uint32_t>> chunks_;  // by copy, owner
};

WholeSchedule BuildSwing(const Collective& collective, const Topology& topology,
                         const LoweringSpec& spec) {
  const SubGrid grid = SubGridOf(collective, topology);
  const int ports = PortsOf(spec, collective, topology);
  std::vector<Copy> copies;
  for (int k = 0; k < ports; ++k) {
    const int axes = std::max(1, grid.axes());
    copies.emplace_back(grid, k % axes, /*mirrored=*/k >= axes);
  }
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    SwingGroup group(g, collective.payload, ports, topology, builder);
    for (int k = 0; k < ports; ++k) {
      if (collective.kind != CollectiveKind::kAllGather) {
        group.ReduceScatter(copies[k], k);
      }
      if (collective.kind != CollectiveKind::kReduceScatter) {
        group.AllGather(copies[k], k);
      }
    }
  }
  return std::move(builder).Finish();
}

// All bytes of a copy in every step: both partners add, into the next level.
void Exchange(std::size_t g, const std::vector<Copy>& copies, Bytes payload,
              const Topology& topology, ScheduleBuilder& builder) {
  const std::vector<ChipId>& group = builder.groups()[g];
  const std::size_t steps = copies[0].steps();
  std::vector<std::uint32_t> chunks;  // by copy, level 0
  for (const Bytes share :
       SplitEvenly(payload, static_cast<int>(copies.size()))) {
    chunks.push_back(builder.AddChunk(g, /*owner=*/0, share));
    for (std::size_t s = 0; s < steps; ++s) builder.AddLevel();
  }
  for (std::size_t s = 0; s < steps; ++s) {
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const std::uint32_t chunk = chunks[k] + static_cast<std::uint32_t>(s);
      for (std::size_t rank = 0; rank < group.size(); ++rank) {
        const int peer = copies[k].peer(s, static_cast<int>(rank));
        SendRouted(builder, topology,
                   {.from = group[rank],
                    .to = group[peer],
                    .chunks = {&chunk, 1},
                    .mode = Mode::kAccumulate,
                    .route = {}});
        builder.Accumulate(group[rank], chunk);
      }
    }
  }
}

WholeSchedule BuildSwingExchange(const Collective& collective,
                                 const Topology& topology,
                                 const LoweringSpec& spec) {
  const SubGrid grid = SubGridOf(collective, topology);
  std::vector<Copy> copies;
  for (int k = 0; k < PortsOf(spec, collective, topology); ++k) {
    const int axes = std::max(1, grid.axes());
    copies.emplace_back(grid, k % axes, /*mirrored=*/k >= axes);
  }
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    Exchange(g, copies, collective.payload, topology, builder);
  }
  return std::move(builder).Finish();
}

std::uint64_t CountSwingExchange(const Collective& collective,
                                 const Topology& topology,
                                 const LoweringSpec& spec) {
  const auto messages =
      static_cast<std::uint64_t>(PortsOf(spec, collective, topology) *
                                 Log2(GroupSize(collective, topology)));
  return messages * static_cast<std::uint64_t>(topology.chips());
}

// Each step waits for the one before, and moves the share of a copy.
Seconds SwingExchangeTime(const Collective& collective, const Slice& slice,
                          const LoweringSpec& spec) {
  const int steps = Log2(GroupSize(collective, slice.topology));
  if (collective.payload.value() == 0 || steps == 0) return Seconds(0);
  const int ports = PortsOf(spec, collective, slice.topology);
  const auto share = static_cast<double>(collective.payload.value() / ports);
  return SequenceTime(slice, steps, steps * share);
}

std::uint64_t CountSwing(const Collective& collective, const Topology& topology,
                         const LoweringSpec& spec) {
  const std::uint64_t per_rank = static_cast<std::uint64_t>(
      PhasesOf(collective.kind) * PortsOf(spec, collective, topology));
  const int n = GroupSize(collective, topology);
  const std::uint64_t ranks = topology.chips();
  return CountMerged(ranks * per_rank * Log2(n), ranks * per_rank * (n - 1));
}

// What all copies together send along an axis, evenly over its links.
double MeanLinkBytes(const SubGrid& grid, const GridAxis& along, int axis,
                     int ports, double share) {
  double byte_hops = 0;  // of one line of the axis
  for (int k = 0; k < ports; ++k) {
    const std::vector<Step> steps = StepsOf(grid, k % grid.axes());
    double owners = grid.chips;
    for (const Step& step : steps) {
      owners /= 2;  // of a message
      if (step.axis != axis) continue;
      for (int from = 0; from < along.size; ++from) {
        const int rank = from * grid.strides[axis];
        const int peer =
            PeerOf(grid, rank, step, /*mirrored=*/k >= grid.axes());
        byte_hops += owners * share *
                     HopsAlong(along, from, grid.Coordinate(peer, axis));
      }
    }
  }
  return byte_hops / (2 * (along.wrap ? along.size : along.size - 1));
}

// Links carry all that is sent, at best evenly. And each step waits for the one
// before: the shard of rank 0 moves in all of them, in messages of 1, 2, 4, ..
// shares.
Seconds SwingTime(const Collective& collective, const Slice& slice,
                  const LoweringSpec& spec) {
  const std::int64_t payload = collective.payload.value();
  const int n = GroupSize(collective, slice.topology);
  if (payload == 0 || n == 1) return Seconds(0);
  const int ports = PortsOf(spec, collective, slice.topology);
  const int phases = PhasesOf(collective.kind);
  const auto share = static_cast<double>(payload / n / ports);
  const Seconds steps =
      SequenceTime(slice, phases * Log2(n), phases * (n - 1.0) * share);
  if (slice.topology.twisted()) return steps;  // there are shorter ways
  const SubGrid grid = SubGridOf(collective, slice.topology);
  const std::vector<int> active = ActiveAxes(collective, slice.topology);
  double busiest = 0;
  for (int k = 0; k < grid.axes(); ++k) {
    const GridAxis& along = slice.topology.axes()[active[k]];
    busiest =
        std::max(busiest, phases * MeanLinkBytes(grid, along, k, ports, share));
  }
  return std::max(steps, SequenceTime(slice, 1, busiest));
}

}  // namespace

// Recursive halving and doubling whose partners stay near on a ring: 1, 1, 3,
// 5, 11, .. hops apart, on both sides of a chip in turn. With all ports, 2d
// copies start on different axes and directions.
Lowering SwingLowering() {
  return {.name = "swing",
          .help =
              "halves swapped with partners 1, 1, 3, 5, 11, .. hops apart, "
              "sides and axes in turn",
          .parameters = {"ports"},
          .kinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                    CollectiveKind::kReduceScatter},
          .preconditions = "axes of 2^m chips",
          .time = "at least 2 log2 P a + (P-1)/(dP) S/B; that on axes of 4",
          .source = "De Sensi, Bonato, Saam, Hoefler 2024",
          .why_not = WhyNotSwing,
          .build = BuildSwing,
          .count = CountSwing,
          .at_least = SwingTime,
          .few_dates = true,
          .resolve = ResolveSwing};
}

// Half the start-ups of swing, and all bytes in each: small payloads only.
Lowering SwingExchangeLowering() {
  return {.name = "swing-exchange",
          .help =
              "running sums swapped with partners 1, 1, 3, 5, 11, .. hops "
              "apart, sides and axes in turn",
          .parameters = {"ports"},
          .kinds = {CollectiveKind::kAllReduce},
          .preconditions = "axes of 2^m chips",
          .time = "at least log2 P (o + S/(2dB)) + alpha sum of hops",
          .source = "De Sensi, Bonato, Saam, Hoefler 2024, latency-optimal",
          .why_not = WhyNotSwing,
          .build = BuildSwingExchange,
          .count = CountSwingExchange,
          .at_least = SwingExchangeTime,
          .few_dates = true,
          .resolve = ResolveSwing};
}

}  // namespace podsim
