#include <algorithm>
#include <array>

#include "base/check.h"
#include "collective/groups.h"
#include "collective/stages.h"
#include "collective/sub_grid.h"

namespace podsim {
namespace {

// The steps of one chip. A block is named by the displacement from its source
// to its target, as a rank of the sub-grid: 1 .. P-1.
class StagesEmitter {
 public:
  StagesEmitter(const Collective& collective, const Topology& topology,
                int parts)
      : active_(ActiveAxes(collective, topology)),
        grid_(SubGridOf(collective, topology)),
        parts_(parts),
        halves_(HasTies(collective, topology) ? 2 : 1),
        builder_(Split(), FlowOf(collective.kind), collective.axes, Targets()) {
  }

  Program Emit() && {
    for (int part = 0; part < parts_; ++part) {
      std::vector<int> order(active_.size());
      for (int k = 0; k < grid_.axes(); ++k) {
        order[k] = (part + k) % grid_.axes();
      }
      arrivals_ = {};
      for (int stage = 0; stage < grid_.axes(); ++stage) {
        EmitStage(part, order, stage);
      }
    }
    return std::move(builder_).Build();
  }

 private:
  ChunkSplit Split() const {
    ChunkSplit split{
        .parts = grid_.chips - 1, .fractions = {}, .halves = halves_ == 2};
    split.pieces.assign(grid_.chips - 1, parts_);
    return split;
  }

  Coordinates At(int displacement) const {
    Coordinates hops{};
    for (int k = 0; k < grid_.axes(); ++k) {
      hops[active_[k]] = grid_.Coordinate(displacement, k);
    }
    return hops;
  }

  std::vector<Coordinates> Targets() const {
    std::vector<Coordinates> targets;
    for (int block = 1; block < grid_.chips; ++block) {
      targets.insert(targets.end(), parts_ * halves_, At(block));
    }
    return targets;
  }

  // A message to every chip of the line, or two to the one half a ring away.
  void EmitStage(int part, const std::vector<int>& order, int stage) {
    const int axis = order[stage];
    const int size = grid_.sizes[axis];
    std::array<std::vector<After>, 2> sent;  // by half; both of whole ones
    for (int by = 1; by < size; ++by) {
      const std::vector<int> blocks = BlocksOf(order, stage, by);
      const bool tied = 2 * by == size;
      for (int half = 0; half < (tied ? 2 : 1); ++half) {
        Coordinates way{};
        way[active_[axis]] =
            2 * by < size || (tied && half == 0) ? by : by - size;
        const int first = tied ? half : 0;
        const int last = tied ? half : halves_ - 1;
        const StepId step = Send(
            way, Items(blocks, part, order, stage, first, last), first, last);
        for (int k = first; k <= last; ++k) sent[k].push_back({step, true});
      }
    }
    for (int half = 0; half < halves_; ++half) {
      arrivals_[half].insert(arrivals_[half].end(), sent[half].begin(),
                             sent[half].end());
    }
  }

  // Whatever still has to go `by` along the axis of the stage: any way along
  // the others.
  std::vector<int> BlocksOf(const std::vector<int>& order, int stage,
                            int by) const {
    std::vector<int> blocks;
    for (int block = 1; block < grid_.chips; ++block) {
      if (grid_.Coordinate(block, order[stage]) == by) blocks.push_back(block);
    }
    return blocks;
  }

  // A block that is here has come from where it would have gone on the axes
  // that are done.
  std::vector<ChunkItem> Items(const std::vector<int>& blocks, int part,
                               const std::vector<int>& order, int stage,
                               int first, int last) const {
    std::vector<ChunkItem> items;
    for (const int block : blocks) {
      ChunkItem item;
      for (int k = 0; k < stage; ++k) {
        const int size = grid_.sizes[order[k]];
        item.owner[active_[order[k]]] = static_cast<std::int16_t>(
            (size - grid_.Coordinate(block, order[k])) % size);
      }
      for (int half = first; half <= last; ++half) {
        item.sub_chunk = static_cast<std::uint16_t>(
            ((block - 1) * parts_ + part) * halves_ + half);
        items.push_back(item);
      }
    }
    return items;
  }

  // When all that it carries has come: what came in the stages before.
  StepId Send(const Coordinates& way, const std::vector<ChunkItem>& items,
              int first, int last) {
    std::vector<After> after = arrivals_[first];
    if (last != first) {
      after.insert(after.end(), arrivals_[last].begin(), arrivals_[last].end());
    }
    std::sort(after.begin(), after.end(),
              [](const After& a, const After& b) { return a.step < b.step; });
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return builder_.SendFar(kNoLane, way, builder_.Pattern(items), Mode::kCopy,
                            after);
  }

  std::vector<int> active_;
  SubGrid grid_;
  int parts_;
  int halves_;
  ProgramBuilder builder_;
  std::array<std::vector<After>, 2> arrivals_;  // of this part, by half
};

}  // namespace

bool StagesAreSymmetric(const Collective& collective, const Topology& topology,
                        int parts) {
  if (!AllAlike(collective, topology)) return false;
  const std::int64_t chips = GroupSize(collective, topology);
  const int halves = HasTies(collective, topology) ? 2 : 1;
  return chips > 1 && chips * parts * halves <= UINT16_MAX &&
         collective.payload.value() % chips == 0;
}

Program EmitStages(const Collective& collective, const Topology& topology,
                   int parts) {
  return StagesEmitter(collective, topology, parts).Emit();
}

}  // namespace podsim
