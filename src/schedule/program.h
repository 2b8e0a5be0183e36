#ifndef PODSIM_SCHEDULE_PROGRAM_H_
#define PODSIM_SCHEDULE_PROGRAM_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "schedule/chunk_split.h"
#include "topology/topology.h"

namespace podsim {

// What a transfer does to the chunks at its destination.
enum class Mode : std::uint8_t {
  kCopy,        // replaces them
  kReduce,      // adds to them on arrival
  kScratch,     // leaves them alone until a Local adds the arrived bytes
  kAccumulate,  // adds chunk c to chunk c+1, the next level of its bytes
};

enum class Half : std::uint8_t { kFirst, kSecond, kBoth };

// Chunk owners as displacements from the sending chip: on axis a, the len[a]
// coordinates from lo[a] on, cyclically.
struct OwnerBox {
  std::array<int, kMaxAxes> lo{};
  std::array<int, kMaxAxes> len = {1, 1, 1, 1};

  bool operator==(const OwnerBox&) const = default;
};

// One chunk: of the owner at a displacement from the sending chip (around as if
// all axes wrapped), one sub-chunk.
struct ChunkItem {
  std::array<std::int16_t, kMaxAxes> owner{};
  std::uint16_t sub_chunk = 0;

  Coordinates displacement() const {
    Coordinates hops{};
    for (int a = 0; a < kMaxAxes; ++a) hops[a] = owner[a];
    return hops;
  }
};

// The chunks of one transfer: of every owner in the box, one (part, batch),
// both halves or one; or a list of items.
struct ProgramPattern {
  OwnerBox owners;
  int part = 0;  // part * batches + batch
  Half half = Half::kBoth;
  std::uint32_t first_item = 0;  // into Program::items, if any
  std::uint32_t end_item = 0;

  bool is_list() const { return first_item != end_item; }
};

// A dependence inside a Program: on this chip's own op of an earlier step, or
// on the transfer of that step that arrives at this chip. Where that
// transfer does not exist (no such coordinate, zero bytes) there is no
// dependence.
struct After {
  StepId step;
  bool arrival = false;

  bool operator==(const After&) const = default;
};

inline constexpr std::uint32_t kNoStep = UINT32_MAX;
inline constexpr int kNoLane = UINT16_MAX;  // ordered by its waits alone

// A transfer over one hop or several; an add of what a scratch transfer of an
// earlier step has left here; or a compute.
enum class StepKind : std::uint8_t { kHop, kFar, kLocal, kCompute };

// One op that every chip does, or every chip at one coordinate of one axis.
struct ProgramStep {
  std::uint16_t lane;
  std::uint8_t axis;  // of a hop
  Sign sign;          // of a hop
  Mode mode;
  StepKind kind;
  // Into Program::routes or durations; of a local: the scratch step.
  std::uint32_t detail;
  PatternId pattern;
  std::int8_t where_axis = -1;  // -1: every chip
  std::int32_t where_coordinate = 0;
  std::uint32_t lane_previous = kNoStep;  // on the same chips
  // Range of Program::after; the first `own_after` of them are not implied by
  // the previous step of the lane.
  std::uint32_t first_after = 0;
  std::uint32_t own_after = 0;
  std::uint32_t end_after = 0;
};

// Who has a contribution to a chunk before, and who must have the full sum (of
// all contributions) after. (Of an all-to-all: Program::targets.)
struct ChunkFlow {
  bool all_contribute = false;  // else the owner only
  bool all_receive = false;     // else the owner only
};

inline bool IsTransfer(const ProgramStep& step) {
  return step.kind == StepKind::kHop || step.kind == StepKind::kFar;
}

// A collective as the steps of one chip, in coordinates relative to that chip.
// Groups are the sub-grids spanned by `group_axes`, all at once, or blocks or
// lattices of them; the owner of shard i of a group is its rank i (increasing
// chip id).
struct Program {
  std::vector<ProgramStep> steps;
  std::vector<ProgramPattern> patterns;
  std::vector<ChunkItem> items;
  // Hops of far steps: x first, then y, ..; to another slice: over DCN at once.
  std::vector<Coordinates> routes;
  std::vector<Seconds> durations;  // of computes
  std::vector<After> after;
  ChunkSplit split;
  ChunkFlow flow;
  std::vector<int> group_axes;
  // Not empty: an all-to-all. Every chip owns split.parts blocks of S/n; where
  // their sub-chunks are due, as displacements.
  std::vector<Coordinates> targets;
  // Not empty: chips in a row, by axis, that one block has; they divide the
  // sizes. Owners, targets and coordinates of Where are then those inside the
  // block of a chip, displacements go around in it, and groups are the parts of
  // sub-grids inside one block. Of a plain slice only; links are those of the
  // slice, but none between two blocks is used (StaysInBlocks).
  std::vector<int> blocks = {};
  // Not empty: by axis, how far apart the chips of a group are; they divide the
  // sizes. Groups are then lattices: the chips of a sub-grid that come so far
  // after one another. Displacements are in chips, and all patterns are lists.
  std::vector<int> strides = {};
};

// Chips in a row that displacements along the axis go around in.
inline int BlockLength(const Program& program, const Topology& topology,
                       int axis) {
  return program.blocks.empty() ? topology.axes()[axis].size
                                : program.blocks[axis];
}

// Whether the axis has several blocks.
inline bool IsCut(const Program& program, const Topology& topology, int axis) {
  return BlockLength(program, topology, axis) < topology.axes()[axis].size;
}

inline int StrideAlong(const Program& program, int axis) {
  return program.strides.empty() ? 1 : program.strides[axis];
}

// Members of a group along one of its axes.
inline int MembersAlong(const Program& program, const Topology& topology,
                        int axis) {
  return BlockLength(program, topology, axis) / StrideAlong(program, axis);
}

// Which of those a chip is, by its coordinate, from 0.
inline int PlaceAlong(const Program& program, const Topology& topology,
                      int axis, int coordinate) {
  return coordinate % BlockLength(program, topology, axis) /
         StrideAlong(program, axis);
}

// The rank of a chip in its group.
inline int RankAt(const Program& program, const Topology& topology,
                  const Coordinates& at) {
  int rank = 0;
  for (std::size_t k = program.group_axes.size(); k-- > 0;) {
    const int axis = program.group_axes[k];
    rank = rank * MembersAlong(program, topology, axis) +
           PlaceAlong(program, topology, axis, at[axis]);
  }
  return rank;
}

// Calls visit(ChipId) for every member of the group of a chip, ranks ascending.
template <class Visit>
void ForEachMember(const Program& program, const Topology& topology,
                   ChipId chip, Visit visit) {
  const Coordinates at = topology.CoordinatesOf(chip);
  std::array<std::uint32_t, kMaxAxes> apart{};  // ids of neighbours in a group
  std::uint32_t below = 1;
  for (std::size_t a = 0; a < topology.axes().size(); ++a) {
    apart[a] = below * StrideAlong(program, static_cast<int>(a));
    below *= topology.axes()[a].size;
  }
  std::uint32_t first = chip.value();
  for (const int axis : program.group_axes) {
    first -= PlaceAlong(program, topology, axis, at[axis]) * apart[axis];
  }
  const auto walk = [&](const auto& self, std::size_t axes,
                        std::uint32_t id) -> void {
    if (axes == 0) {
      visit(ChipId(id));
      return;
    }
    const int axis = program.group_axes[axes - 1];
    const int members = MembersAlong(program, topology, axis);
    for (int k = 0; k < members; ++k, id += apart[axis]) {
      self(self, axes - 1, id);
    }
  };
  walk(walk, program.group_axes.size(), first);
}

// Whether the step sends nothing from block to block.
bool StaysInBlocks(const Program& program, const ProgramStep& step,
                   const Topology& topology);

// Builds a Program step by step. A lane is FIFO per chip: a step also waits for
// the previous step of its lane on the same chip. The steps of one lane are all
// everywhere, or all at coordinates of one axis.
class ProgramBuilder {
 public:
  ProgramBuilder(ChunkSplit split, ChunkFlow flow, std::vector<int> group_axes,
                 std::vector<Coordinates> targets = {});

  PatternId Pattern(const OwnerBox& owners, int part, Half half);
  PatternId Pattern(std::span<const ChunkItem> items);  // at least one
  // The following steps exist only at this coordinate of the axis.
  void Where(int axis, int coordinate);
  void Everywhere();
  StepId Send(int lane, int axis, Sign sign, PatternId pattern, Mode mode,
              std::span<const After> after);
  // So many hops along every axis, x first, then y, ..: around if it wraps,
  // else tied to a coordinate (Where) that has so many before or behind it; or
  // over DCN so many slices on, around.
  StepId SendFar(int lane, const Coordinates& hops, PatternId pattern,
                 Mode mode, std::span<const After> after);
  // Adds what arrived here by the scratch step, which it waits for.
  StepId AddArrived(StepId scratch, std::span<const After> after);
  StepId Compute(int lane, Seconds duration, std::span<const After> after);
  Program Build() &&;

 private:
  using LaneKey = std::pair<int, std::pair<int, int>>;  // lane, (axis, coord.)

  StepId Append(ProgramStep step, std::span<const After> after);

  Program program_;
  int where_axis_ = -1;
  int where_coordinate_ = 0;
  std::map<LaneKey, std::uint32_t> last_in_lane_;
  std::map<int, int> where_axis_of_lane_;
};

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_PROGRAM_H_
