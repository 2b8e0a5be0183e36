#include "collective/cycle.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "collective/groups.h"
#include "collective/schedule_builder.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

// Of EdgeDisjointWalks: chips visited in all candidates together.
constexpr std::int64_t kMostVisits = 20'000'000;

// The walk with the axes swapped.
PlaneWalk Transposed(PlaneWalk walk) {
  for (PlaneStep& step : walk) step.axis = 1 - step.axis;
  return walk;
}

// Chips of an a x b torus, x fastest, and its cables, named after the chip that
// they leave in + direction.
struct Plane {
  std::array<int, 2> size;

  int chips() const { return size[0] * size[1]; }
  int After(int chip, PlaneStep step) const {
    std::array<int, 2> at = {chip % size[0], chip / size[0]};
    const int by = step.sign == Sign::kPlus ? 1 : size[step.axis] - 1;
    at[step.axis] = (at[step.axis] + by) % size[step.axis];
    return at[0] + size[0] * at[1];
  }
  int Cable(int chip, PlaneStep step) const {
    const int from = step.sign == Sign::kPlus ? chip : After(chip, step);
    return 2 * from + step.axis;
  }
};

// Column x walks along y in direction signs[x].
PlaneWalk ColumnWalk(const Plane& plane, const std::vector<Sign>& signs) {
  PlaneWalk walk;
  for (const Sign sign : signs) {
    walk.insert(walk.end(), plane.size[1] - 1, {1, sign});
    walk.push_back({0, Sign::kPlus});
  }
  return walk;
}

// The cycle through chip 0 over unused cables, first towards its neighbour of
// the smaller id.
PlaneWalk WalkUnused(const Plane& plane, std::vector<bool> used) {
  constexpr std::array<PlaneStep, 4> kSteps = {{{0, Sign::kPlus},
                                                {0, Sign::kMinus},
                                                {1, Sign::kPlus},
                                                {1, Sign::kMinus}}};
  PlaneWalk walk;
  int chip = 0;
  do {
    std::optional<PlaneStep> next;
    for (const PlaneStep step : kSteps) {
      if (used[plane.Cable(chip, step)]) continue;
      if (!next || plane.After(chip, step) < plane.After(chip, *next)) {
        next = step;
      }
    }
    CHECK(next.has_value()) << "a chip with one unused cable";
    used[plane.Cable(chip, *next)] = true;
    chip = plane.After(chip, *next);
    walk.push_back(*next);
  } while (chip != 0);
  return walk;
}

// The two cycles of these signs; empty if either is none.
std::vector<PlaneWalk> TrySigns(const Plane& plane,
                                const std::vector<Sign>& signs) {
  PlaneWalk first = ColumnWalk(plane, signs);
  std::vector<bool> used(2 * plane.chips()), seen(plane.chips());
  int chip = 0;
  for (const PlaneStep step : first) {
    if (seen[chip]) return {};
    seen[chip] = true;
    used[plane.Cable(chip, step)] = true;
    chip = plane.After(chip, step);
  }
  if (chip != 0) return {};
  PlaneWalk second = WalkUnused(plane, used);
  if (static_cast<int>(second.size()) != plane.chips()) return {};
  return {std::move(first), std::move(second)};
}

// Fewest columns of sign - first, then the smallest set of them.
std::vector<PlaneWalk> SearchSigns(const Plane& plane) {
  const int columns = plane.size[0];
  std::int64_t visits = 0;
  for (int minus = 0; minus <= columns; ++minus) {
    // The signs add up to 0 modulo n_y, or the walk does not close.
    if ((columns - 2 * minus) % plane.size[1] != 0) continue;
    std::vector<Sign> signs(columns, Sign::kPlus);
    std::fill_n(signs.begin(), minus, Sign::kMinus);
    do {
      std::vector<PlaneWalk> walks = TrySigns(plane, signs);
      if (!walks.empty()) return walks;
      visits += plane.chips();
      if (visits > kMostVisits) return {};
    } while (std::prev_permutation(signs.begin(), signs.end()));
  }
  return {};
}

// The chips of every sub-grid of the two axes at coordinate 0 of both, dead
// ones too.
std::vector<ChipId> Corners(const std::vector<int>& axes,
                            const Topology& topology) {
  std::vector<ChipId> corners;
  for (int id = 0; id < topology.chips(); ++id) {
    const ChipId chip(static_cast<std::uint32_t>(id));
    const Coordinates at = topology.CoordinatesOf(chip);
    if (at[axes[0]] == 0 && at[axes[1]] == 0) corners.push_back(chip);
  }
  return corners;
}

// What every position of a cycle has: its chunks, and its last op each way.
struct Ring {
  const Cycle* cycle = nullptr;
  int tag = 0;
  std::vector<std::vector<std::uint32_t>> blocks;  // by position
  std::array<std::vector<std::optional<OpId>>, 2> last;
};

// One direction of one step of ring-short: every position sends the block that
// is `ahead` places on; half of it if that is half the way around.
void SendBlocks(Ring& ring, const std::vector<ChipId>& group, int direction,
                int ahead, bool half, Mode mode, ScheduleBuilder& builder) {
  const int n = static_cast<int>(ring.blocks.size());
  const std::vector<int>& ranks = ring.cycle->ranks;
  const auto& links =
      direction == 0 ? ring.cycle->forward : ring.cycle->backward;
  for (int i = 0; i < n; ++i) {
    std::span<const std::uint32_t> block = ring.blocks[(i + ahead + n) % n];
    if (half) block = block.subspan(direction, 1);
    std::optional<OpId>& last = ring.last[direction][i];
    const int to = (i + (direction == 0 ? 1 : n - 1)) % n;
    const auto op = builder.Send(
        {.from = group[ranks[i]],
         .to = group[ranks[to]],
         .chunks = block,
         .mode = mode,
         .route = {&links[i], 1},
         .lane = static_cast<std::uint16_t>(2 * ring.tag + direction)},
        last ? std::span<const OpId>(&*last, 1) : std::span<const OpId>());
    if (op) last = op;
  }
}

// All-gather: what came from s places behind; reduce-scatter: what has k places
// to go, the farthest first.
void RunPhase(Ring& ring, const std::vector<ChipId>& group, Mode mode,
              ScheduleBuilder& builder) {
  const int n = static_cast<int>(ring.blocks.size());
  for (int step = 0; step < n / 2; ++step) {
    const int hops = mode == Mode::kCopy ? step + 1 : n / 2 - step;
    const int ahead = mode == Mode::kCopy ? -step : hops;
    SendBlocks(ring, group, 0, ahead, 2 * hops == n, mode, builder);
    SendBlocks(ring, group, 1, -ahead, 2 * hops == n, mode, builder);
  }
}

// The rings of a group, its shards cut over them and in halves where n is even.
std::vector<Ring> MakeRings(std::size_t g, const Collective& collective,
                            const std::vector<Cycle>& cycles,
                            ScheduleBuilder& builder) {
  const int n = static_cast<int>(builder.groups()[g].size());
  const std::vector<Bytes> shards = SplitEvenly(collective.payload, n);
  std::vector<Ring> rings;
  for (std::size_t c = 0; c < cycles.size(); ++c) {
    const std::vector<std::optional<OpId>> none(n);
    rings.push_back({.cycle = &cycles[c],
                     .tag = static_cast<int>(c),
                     .blocks = std::vector<std::vector<std::uint32_t>>(n),
                     .last = {none, none}});
    for (int i = 0; i < n; ++i) {
      const int owner = cycles[c].ranks[i];
      const Bytes part =
          SplitEvenly(shards[owner], static_cast<int>(cycles.size()))[c];
      for (const Bytes size : SplitEvenly(part, n % 2 == 0 ? 2 : 1)) {
        rings[c].blocks[i].push_back(builder.AddChunk(g, owner, size));
      }
    }
  }
  return rings;
}

}  // namespace

PlaneWalk Snake(int a, int b) {
  if (b % 2 != 0) return a % 2 != 0 ? PlaneWalk() : Transposed(Snake(b, a));
  PlaneWalk walk = {{0, Sign::kPlus}};
  for (int y = 0; y < b; ++y) {
    if (y > 0) walk.push_back({1, Sign::kPlus});
    walk.insert(walk.end(), a - 2,
                {0, y % 2 == 0 ? Sign::kPlus : Sign::kMinus});
  }
  walk.push_back({0, Sign::kMinus});
  walk.insert(walk.end(), b - 1, {1, Sign::kMinus});
  return walk;
}

std::vector<PlaneWalk> EdgeDisjointWalks(int a, int b) {
  if (a % 2 != b % 2) return {};
  std::vector<PlaneWalk> walks = SearchSigns({.size = {a, b}});
  if (!walks.empty()) return walks;
  walks = SearchSigns({.size = {b, a}});
  // The second cycle starts towards the smaller id of the plane as it is.
  if (!walks.empty()) {
    const Plane plane{.size = {a, b}};
    std::vector<bool> used(2 * plane.chips());
    int chip = 0;
    walks[0] = Transposed(walks[0]);
    for (const PlaneStep step : walks[0]) {
      used[plane.Cable(chip, step)] = true;
      chip = plane.After(chip, step);
    }
    walks[1] = WalkUnused(plane, used);
  }
  return walks;
}

std::optional<std::string> WhyNotPlanes(const Collective& collective,
                                        const Topology& topology) {
  if (!topology.is_grid() || !collective.groups.empty()) {
    return "its groups must be the sub-grids of two axes; use greedy or direct";
  }
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty() || active.size() == 2) return std::nullopt;
  return "the group spans " + std::to_string(active.size()) +
         (active.size() == 1 ? " axis, not 2; use ring-short or line"
                             : " axes, not 2; use bucket-rotated or greedy");
}

std::optional<std::string> WhyBroken(const std::vector<PlaneWalk>& walks,
                                     const Collective& collective,
                                     const Topology& topology) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (topology.healthy() || active.empty()) return std::nullopt;
  for (ChipId chip : Corners(active, topology)) {
    for (const PlaneWalk& walk : walks) {
      for (const PlaneStep step : walk) {
        const LinkId link = topology.LinkAt(chip, active[step.axis], step.sign);
        if (!topology.Live(link) || !topology.Live(topology.Reverse(link))) {
          return "it needs link " + topology.NameOf(link) +
                 " both ways; use greedy, which goes around faults";
        }
        chip = topology.Target(link);
      }
    }
  }
  return std::nullopt;
}

std::vector<std::vector<Cycle>> FollowWalks(const std::vector<PlaneWalk>& walks,
                                            const Collective& collective,
                                            const Topology& topology) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  std::vector<std::vector<Cycle>> cycles;
  std::vector<int> rank_of(topology.chips());
  for (const auto& group : GroupsOf(collective, topology)) {
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      rank_of[group[rank].value()] = static_cast<int>(rank);
    }
    cycles.emplace_back();
    for (const PlaneWalk& walk : walks) {
      Cycle cycle;
      ChipId chip = group[0];
      for (const PlaneStep step : walk) {
        const LinkId link = topology.LinkAt(chip, active[step.axis], step.sign);
        cycle.ranks.push_back(rank_of[chip.value()]);
        cycle.forward.push_back(link);
        chip = topology.Target(link);
      }
      CHECK(chip == group[0]) << "an open walk";
      for (std::size_t i = 0; i < walk.size(); ++i) {
        const std::size_t before = (i + walk.size() - 1) % walk.size();
        cycle.backward.push_back(topology.Reverse(cycle.forward[before]));
      }
      cycles.back().push_back(std::move(cycle));
    }
  }
  return cycles;
}

WholeSchedule BuildCycles(const Collective& collective,
                          const Topology& topology,
                          const std::vector<PlaneWalk>& walks) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  const bool alone = ActiveAxes(collective, topology).empty();
  const auto cycles = FollowWalks(walks, collective, topology);
  for (std::size_t g = 0; g < cycles.size(); ++g) {
    if (alone) {
      builder.AddChunk(g, /*owner=*/0, collective.payload);
      continue;
    }
    const std::vector<ChipId> group = builder.groups()[g];
    for (Ring& ring : MakeRings(g, collective, cycles[g], builder)) {
      if (collective.kind != CollectiveKind::kAllGather) {
        RunPhase(ring, group, Mode::kReduce, builder);
      }
      if (collective.kind != CollectiveKind::kReduceScatter) {
        RunPhase(ring, group, Mode::kCopy, builder);
      }
    }
  }
  return std::move(builder).Finish();
}

std::uint64_t CountCycles(const Collective& collective,
                          const Topology& topology, int cycles) {
  const auto n = static_cast<std::uint64_t>(GroupSize(collective, topology));
  const std::uint64_t groups = static_cast<std::uint64_t>(topology.chips()) /
                               std::max<std::uint64_t>(n, 1);
  const int phases = PhasesOf(collective.kind);
  return groups * n * (n - n % 2) * cycles * phases;
}

// The links of a chip carry floor(n/2) transfers each per phase, one after the
// other. Of a gather it gets all shards but its own, of a scatter it sends
// them.
Seconds CyclesTime(const Collective& collective, const Slice& slice,
                   int cycles) {
  const std::int64_t n = GroupSize(collective, slice.topology);
  const std::int64_t payload = collective.payload.value();
  if (n == 1 || payload == 0) return Seconds(0);
  const std::int64_t pieces = n * cycles * (n % 2 == 0 ? 2 : 1);
  const std::int64_t steps = payload >= pieces ? n / 2 : 1;
  const std::int64_t links = 2 * cycles;
  const std::int64_t largest = (payload + n - 1) / n;
  const double start = slice.parameters.ici_message_overhead.value() +
                       slice.topology.base_latency().value();
  const double phase = static_cast<double>(steps) * start +
                       static_cast<double>(payload - largest) /
                           static_cast<double>(links) /
                           slice.topology.base_bandwidth().value();
  const bool twice = collective.kind == CollectiveKind::kAllReduce;
  return Seconds(twice ? 2 * phase : phase);
}

}  // namespace podsim
