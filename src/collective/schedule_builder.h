#ifndef PODSIM_COLLECTIVE_SCHEDULE_BUILDER_H_
#define PODSIM_COLLECTIVE_SCHEDULE_BUILDER_H_

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/lowering.h"
#include "schedule/chunk_parties.h"

namespace podsim {

// What a transfer of a ScheduleBuilder carries, and how.
struct Message {
  ChipId from;
  ChipId to;
  std::span<const std::uint32_t> chunks;
  Mode mode = Mode::kCopy;
  std::span<const LinkId> route;
  std::uint16_t lane = 0;
};

// Builds schedules without symmetry by the common rules: chunks of no bytes are
// dropped, a transfer without any left is not made, and it waits for all that
// wrote what it reads at its source (of sums: all adds so far). Nobody passes a
// chunk on from where it is due in the end.
class ScheduleBuilder {
 public:
  ScheduleBuilder(const Collective& collective,
                  std::vector<std::vector<ChipId>> groups);

  const std::vector<std::vector<ChipId>>& groups() const {
    return whole_.meaning.groups;
  }
  int root() const { return static_cast<int>(root_); }  // rank; 0 if none

  // Owner and target are ranks of the group; the target matters for the kinds
  // that have one.
  std::uint32_t AddChunk(std::size_t group, int owner, Bytes bytes,
                         int target = 0);
  // The next level of the last chunk.
  std::uint32_t AddLevel();

  // nullopt: nothing to send. `after`: what it waits for besides data.
  std::optional<OpId> Send(const Message& message,
                           std::span<const OpId> after = {});
  // Adds what a scratch transfer left at its destination.
  OpId AddScratch(OpId transfer, std::span<const OpId> after);

  // Adds the chip's own chunk into its next level, when it is complete.
  void Accumulate(ChipId chip, std::uint32_t chunk);

  WholeSchedule Finish() &&;

 private:
  // What has written a chunk at a chip since it was last overwritten: a list in
  // pool_, newest first.
  struct Writer {
    OpId op;
    std::uint32_t next;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t NewestOf(ChipId chip, std::uint32_t chunk) const;
  void SetNewest(ChipId chip, std::uint32_t chunk, std::uint32_t newest);
  void AddWriter(ChipId chip, std::uint32_t chunk, OpId op, bool overwrites);
  void AddWriters(ChipId chip, std::uint32_t chunk,
                  std::vector<OpId>& waits) const;
  PatternId PatternOf(std::span<const std::uint32_t> chunks);

  const KindParties* kind_;
  std::uint32_t root_ = 0;
  WholeSchedule whole_;
  // Chunks of the scratch transfers, by op.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> scratch_;
  std::vector<std::uint32_t> rank_of_;  // by chip
  // The newest writer, by chunk, then by rank. A chunk with one target passes
  // few chips, and there are many such chunks: by (chunk, rank).
  std::vector<std::vector<std::uint32_t>> writers_;
  std::unordered_map<std::uint64_t, std::uint32_t> targeted_writers_;
  std::vector<Writer> pool_;
  std::vector<std::optional<PatternId>> alone_;  // patterns of single chunks
};

// The routes of one message: one, or where an axis is tied (half of an even
// ring away) and `halves` asks for it, two of half the bytes each: + on all
// tied axes and - on all of them, which is translation invariant and balanced.
// Otherwise ties go by parity.
std::vector<std::vector<LinkId>> RoutesOf(const Topology& topology, ChipId from,
                                          ChipId to, bool halves);

// The route by parity of ties; there is one (CHECK).
std::vector<LinkId> RouteOf(const Topology& topology, ChipId from, ChipId to);

// Seconds that minimal routes keep the links of some axis busy, on average,
// when every chip sends `block` bytes to every other of its group; 0 where
// routes may leave the axes (lists, faults, twists).
double MeanLinkTime(const Collective& collective, const Slice& slice,
                    double block);

// Why some chips of a group cannot reach each other; nullopt: they all can.
// The spec does not matter: a `why_not` of the table.
std::optional<std::string> WhyUnreachable(const Collective& collective,
                                          const Topology& topology,
                                          const LoweringSpec& spec = {});

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_SCHEDULE_BUILDER_H_
