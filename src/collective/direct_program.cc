#include "collective/direct_program.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace podsim {
namespace {

ChunkItem ItemOf(const Coordinates& owner, std::size_t sub_chunk) {
  CHECK(sub_chunk <= UINT16_MAX) << sub_chunk << " sub-chunks";
  ChunkItem item{.sub_chunk = static_cast<std::uint16_t>(sub_chunk)};
  for (int a = 0; a < kMaxAxes; ++a) {
    item.owner[a] = static_cast<std::int16_t>(owner[a]);
  }
  return item;
}

class DirectEmitter {
 public:
  DirectEmitter(ChunkSplit split, const Collective& collective,
                std::vector<Coordinates> targets, int window)
      : builder_(std::move(split), FlowOf(collective.kind), collective.axes,
                 std::move(targets)),
        window_(window) {}

  // Every chip's blocks, numbered as the sub-chunks are.
  void AllToAll(const std::vector<Displacement>& displacements) {
    std::size_t next = 0;
    for (const Displacement& displacement : displacements) {
      for (const Coordinates& way : displacement.ways) {
        const ChunkItem item = ItemOf(Coordinates{}, next++);
        Send(way, {&item, 1}, Mode::kCopy, {});
      }
    }
  }

  // To every other chip what it owns (sums), or what I own. `pieces` of a
  // shard: as many as the displacement with the most ways has.
  std::vector<After> Shards(const std::vector<Displacement>& displacements,
                            int pieces, Mode mode,
                            const std::vector<After>& after) {
    std::vector<After> arrivals;
    for (const Displacement& displacement : displacements) {
      const Coordinates owner =
          mode == Mode::kReduce ? displacement.to : Coordinates{};
      std::vector<ChunkItem> items;
      for (int k = 0; k < pieces; ++k) items.push_back(ItemOf(owner, k));
      const bool whole = displacement.ways.size() == 1;
      CHECK(whole || static_cast<int>(displacement.ways.size()) == pieces);
      for (std::size_t k = 0; k < displacement.ways.size(); ++k) {
        const std::span<const ChunkItem> sent =
            whole ? std::span<const ChunkItem>(items)
                  : std::span<const ChunkItem>(items).subspan(k, 1);
        arrivals.push_back(
            {Send(displacement.ways[k], sent, mode, after), true});
      }
    }
    return arrivals;
  }

  // One op that stands for all of these.
  std::vector<After> Join(const std::vector<After>& after) {
    if (after.empty()) return {};
    return {{builder_.Compute(kNoLane, Seconds(0), after), false}};
  }

  Program Build() && { return std::move(builder_).Build(); }

 private:
  StepId Send(const Coordinates& way, std::span<const ChunkItem> items,
              Mode mode, std::vector<After> after) {
    if (window_ > 0 && sent_.size() >= static_cast<std::size_t>(window_)) {
      after.push_back(
          {sent_[sent_.size() - static_cast<std::size_t>(window_)], false});
    }
    sent_.push_back(
        builder_.SendFar(kNoLane, way, builder_.Pattern(items), mode, after));
    return sent_.back();
  }

  ProgramBuilder builder_;
  int window_;
  std::vector<StepId> sent_;
};

}  // namespace

std::vector<Displacement> ShortestWays(const Lattice& lattice,
                                       const Topology& topology) {
  const std::vector<int> active = AxesOf(lattice, topology);
  std::vector<Displacement> displacements;
  Coordinates to{};
  const auto next = [&] {
    for (const int axis : active) {
      to[axis] += lattice.strides[axis];
      if (to[axis] < topology.axes()[axis].size) return true;
      to[axis] = 0;
    }
    return false;
  };
  while (next()) {
    Coordinates plus{}, minus{};
    for (const int axis : active) {
      const int size = topology.axes()[axis].size;
      plus[axis] = 2 * to[axis] <= size ? to[axis] : to[axis] - size;
      minus[axis] = 2 * to[axis] < size ? to[axis] : to[axis] - size;
    }
    Displacement& displacement = displacements.emplace_back();
    displacement = {.to = to, .ways = {plus}};
    if (minus != plus) displacement.ways.push_back(minus);
  }
  return displacements;
}

// Breadth first: the ways to a chip are those to its neighbours one level
// nearer, one hop longer.
std::vector<Displacement> AllMinimalWays(const Topology& topology) {
  std::vector<std::set<Coordinates>> ways(topology.chips());
  std::vector<int> level_of(topology.chips(), -1);
  level_of[0] = 0;
  ways[0].insert(Coordinates{});
  std::vector<ChipId> queue = {ChipId(0)};
  for (std::size_t k = 0; k < queue.size(); ++k) {
    const ChipId chip = queue[k];
    for (int axis = 0; axis < topology.ici_axes(); ++axis) {
      for (const int sign : {1, -1}) {
        Coordinates hop{};
        hop[axis] = sign;
        const ChipId to = topology.Translate(chip, hop);
        int& level = level_of[to.value()];
        if (level < 0) {
          level = level_of[chip.value()] + 1;
          queue.push_back(to);
        }
        if (level != level_of[chip.value()] + 1) continue;
        for (Coordinates way : ways[chip.value()]) {
          way[axis] += sign;
          ways[to.value()].insert(way);
        }
      }
    }
  }
  std::vector<Displacement> displacements;
  for (int id = 1; id < topology.chips(); ++id) {
    if (level_of[id] < 0) continue;  // another slice
    displacements.push_back({.to = topology.CoordinatesOf(ChipId(id)),
                             .ways = Ways(ways[id].rbegin(), ways[id].rend())});
  }
  return displacements;
}

Program EmitDirect(const Collective& collective,
                   const std::vector<Displacement>& displacements, int window) {
  ChunkSplit split{.fractions = {}};
  if (collective.kind == CollectiveKind::kAllToAll) {
    std::vector<Coordinates> targets;
    for (const Displacement& displacement : displacements) {
      split.pieces.push_back(static_cast<int>(displacement.ways.size()));
      targets.insert(targets.end(), displacement.ways.size(), displacement.to);
    }
    split.parts = std::max(1, static_cast<int>(displacements.size()));
    DirectEmitter emitter(split, collective, std::move(targets), window);
    emitter.AllToAll(displacements);
    return std::move(emitter).Build();
  }
  int pieces = 1;
  for (const Displacement& displacement : displacements) {
    pieces = std::max(pieces, static_cast<int>(displacement.ways.size()));
  }
  split.pieces = {pieces};
  DirectEmitter emitter(split, collective, {}, window);
  std::vector<After> ready;
  if (collective.kind != CollectiveKind::kAllGather) {
    ready = emitter.Shards(displacements, pieces, Mode::kReduce, {});
  }
  if (collective.kind == CollectiveKind::kAllReduce) {
    ready = emitter.Join(ready);
  }
  if (collective.kind != CollectiveKind::kReduceScatter) {
    emitter.Shards(displacements, pieces, Mode::kCopy, ready);
  }
  return std::move(emitter).Build();
}

}  // namespace podsim
