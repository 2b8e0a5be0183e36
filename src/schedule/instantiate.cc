#include "schedule/instantiate.h"

#include "base/check.h"

namespace podsim {
namespace {

// How many ranks of a box have the larger of the two shard sizes: prefix sums
// of "rank < payload mod n" over the chips, and the box cut where it wraps.
class LargerShards {
 public:
  LargerShards(const Topology& topology, const std::vector<int>& group_axes,
               std::int64_t larger_ranks)
      : topology_(topology) {
    if (larger_ranks == 0) return;
    std::uint32_t stride = 1;
    for (const GridAxis& axis : topology.axes()) {
      strides_.push_back(stride);
      stride *= axis.size + 1;
    }
    sums_.assign(stride, 0);
    for (int id = 0; id < topology.chips(); ++id) {
      const Coordinates at = topology.CoordinatesOf(ChipId(id));
      std::int64_t rank = 0;
      for (std::size_t a = group_axes.size(); a-- > 0;) {
        rank = rank * topology.axes()[group_axes[a]].size + at[group_axes[a]];
      }
      if (rank < larger_ranks) sums_[IndexAfter(at)] = 1;
    }
    for (std::size_t a = 0; a < strides_.size(); ++a) {
      for (std::uint32_t i = strides_[a]; i < sums_.size(); ++i) {
        const bool first = i / strides_[a] % (topology.axes()[a].size + 1) == 0;
        if (!first) sums_[i] += sums_[i - strides_[a]];
      }
    }
  }

  std::int64_t Count(const OwnerBox& box, ChipId base) const {
    if (sums_.empty()) return 0;
    Coordinates lo = topology_.CoordinatesOf(base);
    return CountFrom(box, lo, 0);
  }

 private:
  // Index of the prefix sum that includes this coordinate.
  std::uint32_t IndexAfter(const Coordinates& at) const {
    std::uint32_t index = 0;
    for (std::size_t a = 0; a < strides_.size(); ++a) {
      index += (at[a] + 1) * strides_[a];
    }
    return index;
  }

  // Inclusion-exclusion axis by axis; `index` collects the corner.
  std::int64_t CountFrom(const OwnerBox& box, const Coordinates& base,
                         std::size_t axis, std::uint32_t index = 0) const {
    if (axis == strides_.size()) return sums_[index];
    const int size = topology_.axes()[axis].size;
    const int lo = ((base[axis] + box.lo[axis]) % size + size) % size;
    const int hi = lo + box.len[axis];
    const auto to = [&](int coordinate) {
      return CountFrom(box, base, axis + 1,
                       index + coordinate * strides_[axis]);
    };
    if (hi <= size) return to(hi) - to(lo);
    return to(size) - to(lo) + to(hi - size);
  }

  const Topology& topology_;
  std::vector<std::uint32_t> strides_;
  std::vector<std::int64_t> sums_;
};

std::int64_t Volume(const OwnerBox& box, std::size_t axes) {
  std::int64_t volume = 1;
  for (std::size_t a = 0; a < axes; ++a) volume *= box.len[a];
  return volume;
}

// Bytes of every pattern at every chip.
class PatternBytes {
 public:
  PatternBytes(const Program& program, const Topology& topology, Bytes payload)
      : axes_(topology.axes().size()),
        larger_(topology, program.group_axes,
                payload.value() % GroupSize(program, topology)) {
    const std::int64_t n = GroupSize(program, topology);
    const Bytes shard(payload.value() / n);
    equal_ = payload.value() % n == 0;
    const std::vector<Bytes> small = SubChunkSizes(program.split, shard);
    const std::vector<Bytes> large =
        SubChunkSizes(program.split, shard + Bytes(equal_ ? 0 : 1));
    for (const ProgramPattern& pattern : program.patterns) {
      const auto [first, count] = SubChunkRange(program.split, pattern);
      std::int64_t of_small = 0, of_large = 0;
      for (int k = first; k < first + count; ++k) {
        of_small += small[k].value();
        of_large += large[k].value();
      }
      per_owner_.push_back({Volume(pattern.owners, axes_), of_small, of_large});
    }
    for (const Bytes size : small) any_zero_ |= size.value() == 0;
    for (const Bytes size : large) any_zero_ |= size.value() == 0;
  }

  static std::pair<int, int> SubChunkRange(const ChunkSplit& split,
                                           const ProgramPattern& pattern) {
    if (!split.halves) return {pattern.part, 1};
    if (pattern.half == Half::kBoth) return {2 * pattern.part, 2};
    return {2 * pattern.part + (pattern.half == Half::kSecond ? 1 : 0), 1};
  }

  bool equal() const { return equal_; }
  bool any_zero() const { return any_zero_; }

  // `base` matters only where shards differ.
  std::int64_t Of(const ProgramPattern& pattern, std::size_t index,
                  ChipId base) const {
    const PerOwner& owner = per_owner_[index];
    std::int64_t bytes = owner.volume * owner.small;
    if (!equal_ && owner.small != owner.large) {
      bytes +=
          larger_.Count(pattern.owners, base) * (owner.large - owner.small);
    }
    return bytes;
  }

 private:
  struct PerOwner {
    std::int64_t volume, small, large;
  };
  std::size_t axes_;
  LargerShards larger_;
  std::vector<PerOwner> per_owner_;
  bool equal_ = true;
  bool any_zero_ = false;
};

}  // namespace

int GroupSize(const Program& program, const Topology& topology) {
  int size = 1;
  for (const int a : program.group_axes) size *= topology.axes()[a].size;
  return size;
}

Schedule Instantiate(const Program& program, const Topology& topology,
                     const Fold& fold, Bytes payload) {
  const FoldedGrid grid(topology, fold);
  const Placement placement(program, grid);
  const PatternBytes sizes(program, topology, payload);
  CHECK(sizes.equal() || !FoldsAnything(topology, fold))
      << "folded with unequal shards";
  Schedule schedule;
  schedule.Reserve(placement.slots(), 2 * placement.slots());
  for (const ProgramPattern& pattern : program.patterns) {
    const auto [first, count] =
        PatternBytes::SubChunkRange(program.split, pattern);
    schedule.AddPattern({.owners = pattern.owners,
                         .first_sub_chunk = static_cast<std::uint32_t>(first),
                         .sub_chunks = static_cast<std::uint32_t>(count)});
  }
  // Slots and op ids are the same numbers unless some transfer has no bytes.
  std::vector<std::uint32_t> op_of;
  if (sizes.any_zero()) op_of.assign(placement.slots(), kNoOp);
  const auto emitted = [&](std::uint32_t slot) {
    return op_of.empty() || op_of[slot] != kNoOp;
  };
  std::vector<Placement::Wait> waits;
  std::vector<OpId> after;
  for (std::uint32_t id = 0; id < program.steps.size(); ++id) {
    const ProgramStep& step = program.steps[id];
    const ProgramPattern& pattern = program.patterns[step.pattern.value()];
    for (std::uint32_t k = 0; k < placement.SitesOf(id); ++k) {
      const std::uint32_t site = placement.SiteOf(id, k);
      const std::int64_t bytes =
          sizes.Of(pattern, step.pattern.value(), ChipId(site));
      if (bytes == 0) continue;
      placement.WaitsOf(id, site, emitted, waits);
      after.clear();
      for (const Placement::Wait& wait : waits) {
        after.emplace_back(op_of.empty() ? wait.slot : op_of[wait.slot]);
      }
      const OpId op =
          schedule.Add(Transfer{.src = ChipId(site),
                                .dst = ChipId(placement.Target(id, site)),
                                .chunks = {step.pattern, ChipId(site)},
                                .bytes = Bytes(bytes),
                                .mode = step.mode,
                                .lane = step.lane},
                       grid.LinkAt(site, step.axis, step.sign), after);
      if (!op_of.empty()) op_of[placement.FirstSlot(id) + k] = op.value();
    }
  }
  return schedule;
}

CollectiveMeaning MeaningOf(const Program& program, const Topology& topology,
                            const std::string& kind, Bytes payload) {
  CollectiveMeaning meaning{
      .kind = kind, .payload = payload, .groups = {}, .root = {}, .chunks = {}};
  const int n = GroupSize(program, topology);
  const std::vector<Bytes> shards = SplitEvenly(payload, n);
  std::vector<std::uint32_t> group_of_first(topology.chips(), UINT32_MAX);
  meaning.chunks.reserve(static_cast<std::size_t>(topology.chips()) *
                         program.split.sub_chunks());
  std::vector<Bytes> sizes[2] = {SubChunkSizes(program.split, shards.back()),
                                 SubChunkSizes(program.split, shards.front())};
  for (int id = 0; id < topology.chips(); ++id) {
    const ChipId chip(id);
    Coordinates at = topology.CoordinatesOf(chip);
    for (const int a : program.group_axes) at[a] = 0;
    std::uint32_t& group = group_of_first[topology.ChipAt(at).value()];
    if (group == UINT32_MAX) {
      group = static_cast<std::uint32_t>(meaning.groups.size());
      meaning.groups.emplace_back();
    }
    const auto rank = static_cast<std::uint32_t>(meaning.groups[group].size());
    meaning.groups[group].push_back(chip);
    const bool larger = shards[rank] != shards.back();
    for (const Bytes size : sizes[larger ? 1 : 0]) {
      Chunk chunk{.group = group,
                  .owner = rank,
                  .bytes = size,
                  .contributor = chip,
                  .receiver = chip};
      if (program.flow.all_contribute) chunk.contributor.reset();
      if (program.flow.all_receive) chunk.receiver.reset();
      meaning.chunks.push_back(chunk);
    }
  }
  return meaning;
}

}  // namespace podsim
