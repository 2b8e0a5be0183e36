#ifndef PODSIM_COLLECTIVE_SCHEDULE_BUILDER_H_
#define PODSIM_COLLECTIVE_SCHEDULE_BUILDER_H_

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/lowering.h"

namespace podsim {

// Builds schedules without symmetry by the common rules: chunks of no bytes are
// dropped, a transfer without any left is not made, and it waits for all that
// wrote what it reads at its source (of sums: all adds so far).
class ScheduleBuilder {
 public:
  // The meaning lists the groups; chunks are added one by one.
  ScheduleBuilder(CollectiveMeaning meaning, const Topology& topology);

  // Of the group, for this owner; who contributes and receives follows from the
  // kind. `target`: rank, of the kinds whose chunks have one.
  std::uint32_t AddChunk(std::uint32_t group, std::uint32_t owner, Bytes bytes,
                         std::optional<std::uint32_t> target = {});

  // nullopt: nothing to send. `after`: waits besides those for data.
  std::optional<OpId> Send(ChipId from, ChipId to,
                           std::span<const std::uint32_t> chunks, Mode mode,
                           std::span<const LinkId> route,
                           std::span<const OpId> after = {});
  // Adds what a scratch transfer left at its destination.
  OpId AddScratch(OpId transfer, std::span<const OpId> after);

  Bytes BytesOf(std::span<const std::uint32_t> chunks) const;
  WholeSchedule Finish() &&;

 private:
  std::vector<OpId>& Writers(ChipId chip, std::uint32_t chunk) {
    return writers_[std::uint64_t{chip.value()} << 32 | chunk];
  }

  WholeSchedule whole_;
  std::vector<std::vector<std::uint32_t>> scratch_;  // chunks, by op
  std::unordered_map<std::uint64_t, std::vector<OpId>> writers_;
};

// Who contributes to and who must receive a chunk of this kind; nullopt: all.
struct ChunkParties {
  std::optional<ChipId> contributor;
  std::optional<ChipId> receiver;
};
ChunkParties PartiesOf(CollectiveKind kind, ChipId root, ChipId owner,
                       ChipId target);

// The routes of one message between ranks: one, or where an axis is tied (half
// of an even ring away) and `halves` asks for it, two of half the bytes each: +
// on all tied axes and - on all of them, which is translation invariant and
// balanced. Otherwise ties go by parity.
std::vector<std::vector<LinkId>> RoutesOf(const Topology& topology, ChipId from,
                                          ChipId to, bool halves);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_SCHEDULE_BUILDER_H_
