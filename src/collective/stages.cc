#include "collective/stages.h"

#include <algorithm>

#include "collective/exchange.h"
#include "collective/groups.h"
#include "collective/schedule_builder.h"
#include "collective/sub_grid.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

// One group.
class StagesGroup {
 public:
  StagesGroup(std::size_t g, const SubGrid& grid, int parts, int halves,
              const Topology& topology, ScheduleBuilder& builder)
      : g_(g),
        grid_(grid),
        halves_(halves),
        topology_(topology),
        builder_(builder),
        held_(parts, Held(grid.chips)) {}

  void Run(Bytes payload) {
    const std::vector<Bytes> blocks = SplitEvenly(payload, grid_.chips);
    for (int source = 0; source < grid_.chips; ++source) {
      for (int target = 0; target < grid_.chips; ++target) {
        if (source != target) AddBlock(source, target, blocks[target]);
      }
    }
    for (std::size_t part = 0; part < held_.size(); ++part) {
      for (int k = 0; k < grid_.axes(); ++k) {
        const int axis = (static_cast<int>(part) + k) % grid_.axes();
        held_[part] = RunStage(held_[part], axis);
      }
    }
  }

 private:
  // A part of a block; its halves are two chunks in a row.
  struct Piece {
    std::uint32_t chunk;
    int target;
  };
  using Held = std::vector<std::vector<Piece>>;  // where it is now: by rank

  void AddBlock(int source, int target, Bytes block) {
    const std::vector<Bytes> parts =
        SplitEvenly(block, static_cast<int>(held_.size()));
    for (std::size_t part = 0; part < parts.size(); ++part) {
      std::optional<std::uint32_t> first;
      for (const Bytes half : SplitEvenly(parts[part], halves_)) {
        const std::uint32_t chunk = builder_.AddChunk(g_, source, half, target);
        if (!first) first = chunk;
      }
      held_[part][source].push_back({*first, target});
    }
  }

  // Everything moves to the chip of its line with its target's coordinate; by
  // displacement, so that the order of issue is the same everywhere on a ring.
  Held RunStage(const Held& held, int axis) {
    Held moved(held.size());
    for (int rank = 0; rank < grid_.chips; ++rank) {
      std::vector<std::vector<Piece>> due(grid_.sizes[axis]);
      for (const Piece& piece : held[rank]) {
        due[grid_.Coordinate(piece.target, axis)].push_back(piece);
      }
      for (int by = 0; by < grid_.sizes[axis]; ++by) {
        const int to = (grid_.Coordinate(rank, axis) + by) % grid_.sizes[axis];
        const int next = grid_.At(rank, axis, to);
        if (next != rank) Send(rank, next, due[to]);
        moved[next].insert(moved[next].end(), due[to].begin(), due[to].end());
      }
    }
    return moved;
  }

  void Send(int from, int to, const std::vector<Piece>& pieces) {
    const std::vector<ChipId>& group = builder_.groups()[g_];
    const auto routes =
        RoutesOf(topology_, group[from], group[to], /*halves=*/true);
    const bool both = routes.size() == 1;
    for (std::size_t half = 0; half < routes.size(); ++half) {
      std::vector<std::uint32_t> chunks;
      for (const Piece& piece : pieces) {
        for (int k = 0; k < halves_; ++k) {
          if (!both && k != static_cast<int>(half)) continue;
          chunks.push_back(piece.chunk + static_cast<std::uint32_t>(k));
        }
      }
      builder_.Send({.from = group[from],
                     .to = group[to],
                     .chunks = chunks,
                     .mode = Mode::kCopy,
                     .route = routes[half]});
    }
  }

  std::size_t g_;
  const SubGrid& grid_;
  int halves_;
  const Topology& topology_;
  ScheduleBuilder& builder_;
  std::vector<Held> held_;  // by part
};

}  // namespace

std::optional<std::string> WhyNotStages(const Collective& collective,
                                        const Topology& topology,
                                        const LoweringSpec&) {
  return WhyNoSubGrid(collective, topology, "; use direct or bruck");
}

WholeSchedule BuildStages(const Collective& collective,
                          const Topology& topology, int parts) {
  const SubGrid grid = SubGridOf(collective, topology);
  const int halves = HasTies(collective, topology) ? 2 : 1;
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    StagesGroup(g, grid, parts, halves, topology, builder)
        .Run(collective.payload);
  }
  return std::move(builder).Finish();
}

std::uint64_t CountStages(const Collective& collective,
                          const Topology& topology, int parts) {
  const int halves = HasTies(collective, topology) ? 2 : 1;
  const std::uint64_t pieces = std::max(2, parts * halves);
  const std::uint64_t n = GroupSize(collective, topology);
  if (StagesAreSymmetric(collective, topology, parts)) {
    return pieces * n * ActiveAxes(collective, topology).size();
  }
  return pieces * topology.chips() * (n - 1);
}

// A stage waits for the one before, here from neighbour to neighbour. A message
// has P/n parts of blocks; of those to the neighbour around a ring of two only
// one half.
Seconds StagesTime(const Collective& collective, const Slice& slice,
                   int parts) {
  const std::int64_t payload = collective.payload.value();
  if (payload == 0) return Seconds(0);
  const SubGrid grid = SubGridOf(collective, slice.topology);
  double bytes = 0;
  for (const int axis : ActiveAxes(collective, slice.topology)) {
    const GridAxis& along = slice.topology.axes()[axis];
    const std::int64_t part = payload / grid.chips / parts;
    const std::int64_t sent = along.wrap && along.size == 2 ? part / 2 : part;
    bytes += static_cast<double>(sent) * (grid.chips / along.size);
  }
  return SequenceTime(slice, grid.axes(), bytes);
}

}  // namespace podsim
