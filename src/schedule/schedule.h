#ifndef PODSIM_SCHEDULE_SCHEDULE_H_
#define PODSIM_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "schedule/displacer.h"
#include "schedule/program.h"

namespace podsim {

enum class OpKind : std::uint8_t { kTransfer, kLocal, kCompute };

// First chunk and how many.
struct ChunkRun {
  std::uint32_t first;
  std::uint32_t count;
};

// Appends one chunk, or `count` from it on; joins what follows on.
void AppendRun(std::vector<ChunkRun>& runs, std::uint32_t first,
               std::uint32_t count = 1);

// The chunks of an op: a pattern of the Schedule, seen from `base`.
struct ChunkSet {
  PatternId pattern;
  ChipId base;
};

// Owners in a cyclic box relative to the base, sub-chunks
// [first_sub_chunk, first_sub_chunk + sub_chunks) of each; or items relative to
// the base; or runs of chunk ids.
struct SchedulePattern {
  OwnerBox owners;
  std::uint32_t first_sub_chunk = 0;
  std::uint32_t sub_chunks = 0;
  std::uint32_t first_run = 0;  // into runs, or items if relative
  std::uint32_t end_run = 0;
  bool relative = false;  // items
};

struct Transfer {
  ChipId src;
  ChipId dst;
  ChunkSet chunks;  // seen from src, or runs
  Bytes bytes;
  Mode mode = Mode::kCopy;
  std::uint16_t lane = 0;  // informative: order is in the dependences
};

// A DAG of transfers, local adds and computes in flat arrays. An op depends
// only on older ops, so op ids are a topological order and cycles cannot be
// written. Full pods need millions of ops: 32 bytes each, and 4 per dependence.
// Chips and links are those of the slice, or the sites of a fold.
class Schedule {
 public:
  OpId Add(const Transfer& transfer, LinkId link, std::span<const OpId> after);
  OpId Add(const Transfer& transfer, std::span<const LinkId> route,
           std::span<const OpId> after);
  // Adds what the transfer `scratch_of` left in scratch, in `duration`.
  OpId AddLocal(ChipId chip, ChunkSet chunks, OpId scratch_of, Seconds duration,
                std::span<const OpId> after);
  // Adds the chip's own chunks, each into its next level, in no time.
  OpId AddAccumulate(ChipId chip, ChunkSet chunks, std::span<const OpId> after);
  // `hbm`: bytes of memory traffic, for engines that let transfers disturb it.
  OpId AddCompute(ChipId chip, Seconds duration, std::span<const OpId> after,
                  Bytes hbm = Bytes(0));

  PatternId AddPattern(const SchedulePattern& pattern);
  PatternId AddRuns(std::span<const ChunkRun> runs);
  PatternId AddItems(std::span<const ChunkItem> items);
  void Reserve(std::uint64_t ops, std::uint64_t waits);
  // Program::blocks, which boxes and items go around in.
  void SetBlocks(std::vector<int> blocks) { blocks_ = std::move(blocks); }
  const std::vector<int>& blocks() const { return blocks_; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }
  std::uint32_t transfers() const { return transfers_; }
  bool one_hop() const { return one_hop_; }  // every transfer is

  OpKind kind(OpId op) const { return ops_[op.value()].kind; }
  ChipId src(OpId op) const { return ops_[op.value()].src; }  // or its chip
  ChipId dst(OpId op) const { return ops_[op.value()].dst; }
  Bytes bytes(OpId op) const { return Bytes(ops_[op.value()].bytes.value()); }
  Mode mode(OpId op) const { return ops_[op.value()].mode; }
  std::uint16_t lane(OpId op) const { return ops_[op.value()].lane; }
  // Seen from the chip that sends them.
  ChunkSet chunks(OpId op) const {
    const bool scratch =
        kind(op) == OpKind::kLocal && mode(op) != Mode::kAccumulate;
    return {ops_[op.value()].pattern, src(scratch ? scratch_of(op) : op)};
  }
  // Links of a transfer in order; at least one.
  std::span<const LinkId> route(OpId op) const;
  // Of a local op that does not accumulate: the transfer whose scratch it adds.
  OpId scratch_of(OpId op) const {
    return OpId(ops_[op.value()].route.value());
  }
  // Of a local or compute op.
  Seconds duration(OpId op) const;
  Bytes hbm(OpId op) const;  // of a compute
  std::span<const OpId> after(OpId op) const {
    return std::span(after_).subspan(
        first_after_[op.value()],
        first_after_[op.value() + 1] - first_after_[op.value()]);
  }

  const std::vector<SchedulePattern>& patterns() const { return patterns_; }
  std::span<const ChunkRun> runs(const SchedulePattern& pattern) const {
    return std::span(runs_).subspan(pattern.first_run,
                                    pattern.end_run - pattern.first_run);
  }
  std::span<const ChunkItem> items(const SchedulePattern& pattern) const {
    return std::span(items_).subspan(pattern.first_run,
                                     pattern.end_run - pattern.first_run);
  }

 private:
  // In halves, which ask for no padding.
  class Halves {
   public:
    explicit Halves(std::int64_t value)
        : low_(static_cast<std::uint32_t>(value)),
          high_(static_cast<std::uint32_t>(value >> 32)) {}
    std::int64_t value() const {
      return static_cast<std::int64_t>(std::uint64_t{high_} << 32 | low_);
    }

   private:
    std::uint32_t low_, high_;
  };
  struct Op {
    Halves bytes;  // of a compute or local: index into durations_
    ChipId src, dst;
    // One hop: the link; more: index into routes_; of a local: its transfer.
    LinkId route;
    PatternId pattern;
    std::uint16_t lane;
    Mode mode;
    OpKind kind;
  };

  OpId Append(const Op& op, std::span<const OpId> after);
  bool IsPlaced(PatternId pattern) const;  // from a chip: no runs

  std::vector<Op> ops_;
  std::vector<std::uint32_t> first_after_ = {0};
  std::vector<OpId> after_;
  std::vector<SchedulePattern> patterns_;
  std::vector<ChunkRun> runs_;
  std::vector<ChunkItem> items_;
  std::vector<int> blocks_;
  std::vector<std::uint32_t> hops_;  // of op, only when some route is longer
  std::vector<LinkId> routes_;
  std::vector<Seconds> durations_;
  std::vector<Bytes> hbm_;  // like durations_
  std::uint32_t transfers_ = 0;
  bool one_hop_ = true;
};

// One indivisible byte range of a collective. nullopt: every member of the
// group.
struct Chunk {
  std::uint32_t group = 0;
  std::uint32_t owner = 0;  // rank; the source rank of an all-to-all
  Bytes bytes;
  std::optional<ChipId> contributor;  // who has it before
  std::optional<ChipId> receiver;     // who must have the full sum after
  // Of several accumulators of the same bytes, consecutive chunks: only level 0
  // is anywhere before, only the highest is due. The others start at zero: they
  // may be added to while empty, not read.
  std::uint32_t level = 0;
};

// What a schedule must compute, as data.
struct CollectiveMeaning {
  std::string kind;  // "all-reduce"
  Bytes payload;     // nccl S
  std::vector<std::vector<ChipId>> groups;
  std::optional<std::uint32_t> root;  // chip id
  std::vector<Chunk> chunks;

  // Whether the next chunk is the next level of this one.
  bool HasNextLevel(std::size_t chunk) const {
    return chunk + 1 < chunks.size() &&
           chunks[chunk + 1].level == chunks[chunk].level + 1;
  }
};

// Calls visit(first, count) for the runs of chunk ids of a chunk set.
// `topology` places box patterns: chunk id = owner chip * sub_chunks_per_owner
// + sub-chunk.
template <class Visit>
void ForEachRun(const Schedule& schedule, ChunkSet set,
                const Topology& topology, std::uint32_t sub_chunks_per_owner,
                Visit visit);

// `kCut`: whether there are blocks.
template <bool kCut, class Visit>
void ForEachOwnerOf(const OwnerBox& box, ChipId base, const Topology& topology,
                    std::span<const int> blocks, Visit visit) {
  const Coordinates at = topology.CoordinatesOf(base);
  const auto& axes = topology.axes();
  // From the last axis to the first; `chip` collects the coordinates.
  const auto walk = [&](const auto& self, std::size_t axis,
                        std::uint32_t chip) -> void {
    const int size = axes[axis].size;
    const int length = kCut ? blocks[axis] : size;
    const int first = kCut ? at[axis] - at[axis] % length : 0;  // of the block
    int owner = (at[axis] + box.lo[axis]) % length;
    if (owner < 0) owner += length;
    for (int k = 0; k < box.len[axis]; ++k) {
      const std::uint32_t next = chip * size + first + owner;
      if (axis == 0) {
        visit(ChipId(next));
      } else {
        self(self, axis - 1, next);
      }
      if (++owner == length) owner = 0;
    }
  };
  walk(walk, axes.size() - 1, 0);
}

// Calls visit(ChipId) for the owners of a box around `base`, cyclically inside
// its block if there are blocks (Program::blocks).
template <class Visit>
void ForEachOwner(const OwnerBox& box, ChipId base, const Topology& topology,
                  std::span<const int> blocks, Visit visit) {
  if (blocks.empty()) {
    ForEachOwnerOf<false>(box, base, topology, blocks, visit);
  } else {
    ForEachOwnerOf<true>(box, base, topology, blocks, visit);
  }
}

template <class Visit>
void ForEachRun(const Schedule& schedule, ChunkSet set,
                const Topology& topology, std::uint32_t sub_chunks_per_owner,
                Visit visit) {
  const SchedulePattern& pattern = schedule.patterns()[set.pattern.value()];
  if (pattern.relative) {
    Displacer displacer(topology, schedule.blocks());
    displacer.MoveTo(set.base);
    for (const ChunkItem& item : schedule.items(pattern)) {
      const ChipId owner = displacer.At(item.owner);
      visit(owner.value() * sub_chunks_per_owner + item.sub_chunk, 1u);
    }
    return;
  }
  if (pattern.sub_chunks == 0) {
    for (const ChunkRun& run : schedule.runs(pattern)) {
      visit(run.first, run.count);
    }
    return;
  }
  ForEachOwner(
      pattern.owners, set.base, topology, schedule.blocks(), [&](ChipId owner) {
        visit(owner.value() * sub_chunks_per_owner + pattern.first_sub_chunk,
              pattern.sub_chunks);
      });
}

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_SCHEDULE_H_
