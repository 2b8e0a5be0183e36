#include "schedule/chunk_parties.h"

#include <algorithm>

namespace podsim {
namespace {

constexpr KindParties kKinds[] = {
    {"all-reduce", Party::kAll, Party::kAll},
    {"all-gather", Party::kOwner, Party::kAll},
    {"reduce-scatter", Party::kAll, Party::kOwner},
    {"all-to-all", Party::kOwner, Party::kTarget},
    {"ragged-all-to-all", Party::kOwner, Party::kTarget},
    {"collective-permute", Party::kOwner, Party::kTarget},
    {"broadcast", Party::kRoot, Party::kAll},
    {"reduce", Party::kAll, Party::kRoot},
    {"gather", Party::kOwner, Party::kRoot},
    {"scatter", Party::kRoot, Party::kOwner},
};

}  // namespace

std::span<const KindParties> AllKindParties() { return kKinds; }

const KindParties* FindKindParties(const std::string& kind) {
  for (const KindParties& row : kKinds) {
    if (kind == row.kind) return &row;
  }
  return nullptr;
}

std::optional<std::uint32_t> RankOf(
    ChipId chip, const std::vector<std::vector<ChipId>>& groups) {
  for (const auto& group : groups) {
    const auto found = std::find(group.begin(), group.end(), chip);
    if (found != group.end()) {
      return static_cast<std::uint32_t>(found - group.begin());
    }
  }
  return std::nullopt;
}

Chunk MakeChunk(const KindParties& kind, const std::vector<ChipId>& members,
                std::uint32_t group, std::uint32_t owner, Bytes bytes,
                std::uint32_t root, std::uint32_t target) {
  const auto chip_of = [&](Party party) -> std::optional<ChipId> {
    switch (party) {
      case Party::kAll:
        return std::nullopt;
      case Party::kOwner:
        return members[owner];
      case Party::kTarget:
        return members[target];
      case Party::kRoot:
        return members[root];
    }
    return std::nullopt;
  };
  return {.group = group,
          .owner = owner,
          .bytes = bytes,
          .contributor = chip_of(kind.contributor),
          .receiver = chip_of(kind.receiver)};
}

}  // namespace podsim
