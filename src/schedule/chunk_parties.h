#ifndef PODSIM_SCHEDULE_CHUNK_PARTIES_H_
#define PODSIM_SCHEDULE_CHUNK_PARTIES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace podsim {

// Who contributes to a chunk, or must receive it.
enum class Party { kAll, kOwner, kTarget, kRoot };

// What a kind of collective says of its chunks.
struct KindParties {
  const char* kind;  // "all-reduce"
  Party contributor;
  Party receiver;

  bool rooted() const {
    return contributor == Party::kRoot || receiver == Party::kRoot;
  }
  bool targeted() const { return receiver == Party::kTarget; }
};

// Every kind whose meaning a schedule can have.
std::span<const KindParties> AllKindParties();
// nullptr: no such kind.
const KindParties* FindKindParties(const std::string& kind);

// The rank of a chip in its group; nullopt: in none.
std::optional<std::uint32_t> RankOf(
    ChipId chip, const std::vector<std::vector<ChipId>>& groups);

// A chunk of group number `group`, whose chips are `members`; `root` and
// `target` are ranks and matter for kinds that have them.
Chunk MakeChunk(const KindParties& kind, const std::vector<ChipId>& members,
                std::uint32_t group, std::uint32_t owner, Bytes bytes,
                std::uint32_t root, std::uint32_t target);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_CHUNK_PARTIES_H_
