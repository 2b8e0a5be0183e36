#include "schedule/instantiate.h"

#include "base/check.h"
#include "schedule/displacer.h"

namespace podsim {
namespace {

// How many ranks of a box have the larger of the two shard sizes: prefix sums
// of "rank < payload mod n" over the chips, and the box cut where it wraps.
class LargerShards {
 public:
  LargerShards(const Program& program, const Topology& topology,
               std::int64_t larger_ranks)
      : topology_(topology), cut_(!program.blocks.empty()) {
    if (larger_ranks == 0) return;
    for (int a = 0; a < static_cast<int>(topology.axes().size()); ++a) {
      lengths_.push_back(BlockLength(program, topology, a));
    }
    std::uint32_t stride = 1;
    for (const GridAxis& axis : topology.axes()) {
      strides_.push_back(stride);
      stride *= axis.size + 1;
    }
    sums_.assign(stride, 0);
    for (int id = 0; id < topology.chips(); ++id) {
      const Coordinates at = topology.CoordinatesOf(ChipId(id));
      const int rank = RankAt(program, topology, at);
      if (rank < larger_ranks) sums_[IndexAfter(at)] = 1;
      larger_.push_back(rank < larger_ranks);
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
    const Coordinates at = topology_.CoordinatesOf(base);
    std::uint32_t first = 0;  // index of the block
    for (std::size_t a = 0; cut_ && a < strides_.size(); ++a) {
      first += (at[a] - at[a] % lengths_[a]) * strides_[a];
    }
    return CountFrom(box, at, 0, first);
  }

  bool Has(ChipId chip) const {
    return !larger_.empty() && larger_[chip.value()];
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

  // Inclusion-exclusion axis by axis, inside the block; `index` collects the
  // corner.
  std::int64_t CountFrom(const OwnerBox& box, const Coordinates& base,
                         std::size_t axis, std::uint32_t index) const {
    if (axis == strides_.size()) return sums_[index];
    const int size = lengths_[axis];
    const int lo = ((base[axis] + box.lo[axis]) % size + size) % size;
    const int hi = lo + box.len[axis];
    const auto to = [&](int coordinate) {
      return CountFrom(box, base, axis + 1,
                       index + coordinate * strides_[axis]);
    };
    if (hi <= size) return to(hi) - to(lo);
    const std::int64_t around = to(size) - to(lo) + to(hi - size);
    return cut_ ? around - to(0) : around;
  }

  const Topology& topology_;
  bool cut_;                  // into blocks
  std::vector<int> lengths_;  // of blocks
  std::vector<std::uint32_t> strides_;
  std::vector<std::int64_t> sums_;
  std::vector<bool> larger_;  // by chip; empty: none
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
      : program_(program),
        axes_(topology.axes().size()),
        larger_(program, topology,
                payload.value() % GroupSize(program, topology)),
        displacer_(topology, program.blocks) {
    const std::int64_t n = GroupSize(program, topology);
    equal_ = payload.value() % n == 0;
    small_ = SubChunkSizes(program.split, SmallShard(program, payload, n));
    large_ = SubChunkSizes(
        program.split, SmallShard(program, payload, n) + Bytes(equal_ ? 0 : 1));
    CHECK(equal_ || program.targets.empty()) << "blocks of unequal sizes";
    for (const ProgramPattern& pattern : program.patterns) {
      per_owner_.push_back(pattern.is_list() ? OfList(pattern)
                                             : OfBox(pattern));
    }
    for (const Bytes size : small_) any_zero_ |= size.value() == 0;
    for (const Bytes size : large_) any_zero_ |= size.value() == 0;
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
                  ChipId base) {
    const PerOwner& owner = per_owner_[index];
    std::int64_t bytes = owner.volume * owner.small;
    if (equal_ || owner.small == owner.large) return bytes;
    if (!pattern.is_list()) {
      return bytes +
             larger_.Count(pattern.owners, base) * (owner.large - owner.small);
    }
    displacer_.MoveTo(base);
    for (std::uint32_t k = pattern.first_item; k < pattern.end_item; ++k) {
      const ChunkItem& item = program_.items[k];
      const std::int64_t more =
          large_[item.sub_chunk].value() - small_[item.sub_chunk].value();
      if (more != 0 && larger_.Has(displacer_.At(item.owner))) bytes += more;
    }
    return bytes;
  }

 private:
  // Bytes of one owner, of the smaller and the larger shards; of a list, of all
  // its owners (volume 1).
  struct PerOwner {
    std::int64_t volume, small, large;
  };

  // What a rank owns, cut by program.split: a shard, or the blocks for others.
  static Bytes SmallShard(const Program& program, Bytes payload,
                          std::int64_t n) {
    return Bytes(payload.value() / n * BlocksOf(program));
  }

  PerOwner OfBox(const ProgramPattern& pattern) const {
    const auto [first, count] = SubChunkRange(program_.split, pattern);
    PerOwner owner{Volume(pattern.owners, axes_), 0, 0};
    for (int k = first; k < first + count; ++k) {
      owner.small += small_[k].value();
      owner.large += large_[k].value();
    }
    return owner;
  }

  PerOwner OfList(const ProgramPattern& pattern) const {
    PerOwner owner{1, 0, 0};
    for (std::uint32_t k = pattern.first_item; k < pattern.end_item; ++k) {
      owner.small += small_[program_.items[k].sub_chunk].value();
      owner.large += large_[program_.items[k].sub_chunk].value();
    }
    return owner;
  }

  const Program& program_;
  std::size_t axes_;
  std::vector<Bytes> small_, large_;  // sub-chunks of the two sizes of shards
  LargerShards larger_;
  Displacer displacer_;
  std::vector<PerOwner> per_owner_;
  bool equal_ = true;
  bool any_zero_ = false;
};

}  // namespace

int BlocksOf(const Program& program) {
  return program.targets.empty() ? 1 : program.split.parts;
}

bool SendsWholeGroups(const Program& program, const Topology& topology) {
  if (!program.targets.empty() || program.split.parts != 1) return false;
  for (const ProgramPattern& pattern : program.patterns) {
    if (pattern.is_list() || pattern.half != Half::kBoth) return false;
    for (const int axis : program.group_axes) {
      if (pattern.owners.len[axis] != BlockLength(program, topology, axis)) {
        return false;
      }
    }
  }
  return true;
}

int GroupSize(const Program& program, const Topology& topology) {
  int size = 1;
  for (const int a : program.group_axes) {
    size *= MembersAlong(program, topology, a);
  }
  return size;
}

Schedule Instantiate(const Program& program, const Topology& topology,
                     const Fold& fold, Bytes payload) {
  const FoldedGrid grid(topology, fold);
  const Placement placement(program, grid);
  PatternBytes sizes(program, topology, payload);
  CHECK(sizes.equal() || !FoldsAnything(topology, fold) ||
        SendsWholeGroups(program, topology))
      << "folded with unequal shards";
  Schedule schedule;
  schedule.SetBlocks(program.blocks);
  schedule.Reserve(placement.slots(), 2 * placement.slots());
  for (const ProgramPattern& pattern : program.patterns) {
    if (pattern.is_list()) {
      schedule.AddItems(std::span(program.items)
                            .subspan(pattern.first_item,
                                     pattern.end_item - pattern.first_item));
      continue;
    }
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
  const auto op_at = [&](std::uint32_t slot) {
    return OpId(op_of.empty() ? slot : op_of[slot]);
  };
  std::vector<Placement::Wait> waits;
  std::vector<OpId> after;
  std::vector<LinkId> route;
  // nullopt: a transfer of no bytes.
  const auto add = [&](std::uint32_t id,
                       std::uint32_t site) -> std::optional<OpId> {
    const ProgramStep& step = program.steps[id];
    std::int64_t bytes = 0;
    std::uint32_t scratch = kNoOp;
    if (IsTransfer(step)) {
      bytes = sizes.Of(program.patterns[step.pattern.value()],
                       step.pattern.value(), ChipId(site));
      if (bytes == 0) return std::nullopt;
    } else if (step.kind == StepKind::kLocal) {
      scratch = placement.SlotOf(step.detail,
                                 placement.SourceOfArrival(step.detail, site));
      if (!emitted(scratch)) return std::nullopt;
    }
    placement.WaitsOf(id, site, emitted, waits);
    after.clear();
    for (const Placement::Wait& wait : waits) after.push_back(op_at(wait.slot));
    if (step.kind == StepKind::kCompute) {
      const bool joins = program.durations[step.detail].value() == 0;
      if (joins && after.empty()) return std::nullopt;
      return schedule.AddCompute(ChipId(site), program.durations[step.detail],
                                 after);
    }
    if (step.kind == StepKind::kLocal) {
      return schedule.AddLocal(ChipId(site), schedule.chunks(op_at(scratch)),
                               op_at(scratch), Seconds(0), after);
    }
    const Transfer transfer{.src = ChipId(site),
                            .dst = ChipId(placement.Target(id, site)),
                            .chunks = {step.pattern, ChipId(site)},
                            .bytes = Bytes(bytes),
                            .mode = step.mode,
                            .lane = step.lane};
    if (step.kind == StepKind::kHop) {
      return schedule.Add(transfer, grid.LinkAt(site, step.axis, step.sign),
                          after);
    }
    placement.RouteOf(id, site, route);
    return schedule.Add(transfer, route, after);
  };
  for (std::uint32_t id = 0; id < program.steps.size(); ++id) {
    for (std::uint32_t k = 0; k < placement.SitesOf(id); ++k) {
      const std::optional<OpId> op = add(id, placement.SiteOf(id, k));
      if (op && !op_of.empty()) {
        op_of[placement.FirstSlot(id) + k] = op->value();
      }
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
  const auto sizes_of = [&](Bytes shard) {
    return SubChunkSizes(program.split,
                         Bytes(shard.value() * BlocksOf(program)));
  };
  const std::vector<Bytes> sizes[2] = {sizes_of(shards.back()),
                                       sizes_of(shards.front())};
  for (int id = 0; id < topology.chips(); ++id) {
    const ChipId chip(id);
    Coordinates at = topology.CoordinatesOf(chip);
    for (const int a : program.group_axes) {
      at[a] -=
          PlaceAlong(program, topology, a, at[a]) * StrideAlong(program, a);
    }
    std::uint32_t& group = group_of_first[topology.ChipAt(at).value()];
    if (group == UINT32_MAX) {
      group = static_cast<std::uint32_t>(meaning.groups.size());
      meaning.groups.emplace_back();
    }
    const auto rank = static_cast<std::uint32_t>(meaning.groups[group].size());
    meaning.groups[group].push_back(chip);
    const std::vector<Bytes>& own =
        sizes[shards[rank] != shards.back() ? 1 : 0];
    for (std::size_t q = 0; q < own.size(); ++q) {
      Chunk chunk{.group = group,
                  .owner = rank,
                  .bytes = own[q],
                  .contributor = chip,
                  .receiver = chip};
      if (program.flow.all_contribute) chunk.contributor.reset();
      if (program.flow.all_receive) chunk.receiver.reset();
      if (!program.targets.empty()) {
        chunk.receiver =
            TranslateInside(chip, program.targets[q], topology, program.blocks);
      }
      meaning.chunks.push_back(chunk);
    }
  }
  return meaning;
}

}  // namespace podsim
