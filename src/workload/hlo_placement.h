#ifndef PODSIM_WORKLOAD_HLO_PLACEMENT_H_
#define PODSIM_WORKLOAD_HLO_PLACEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/collective.h"
#include "hlo/collectives.h"
#include "topology/slice.h"

namespace podsim {

// Lays the collectives of an HLO module over the chips of a slice.
class HloPlacement {
 public:
  // `chips`: by flattened device id. The slice must outlive it.
  HloPlacement(const Slice& slice, std::vector<ChipId> chips)
      : slice_(slice), chips_(std::move(chips)) {}

  // nullopt: no byte leaves a chip (groups of one, permutes onto oneself).
  // Ranks are in order of chip ids, which moves shards but no time. Where two
  // devices share a chip, a group has every chip once, and of groups with the
  // same chips one stays, with the bytes of all.
  std::optional<Collective> Place(const HloCollective& collective,
                                  const std::string& where) const;

 private:
  std::optional<Collective> PlaceGroups(const HloCollective& collective,
                                        Collective placed,
                                        const std::string& where) const;
  std::optional<Collective> PlacePairs(const HloCollective& collective,
                                       Collective placed,
                                       const std::string& where) const;
  ChipId ChipOf(int device, const std::string& where) const;

  const Slice& slice_;
  std::vector<ChipId> chips_;
};

// The kind that podsim simulates an HLO collective as: a ragged-all-to-all as
// an all-to-all of equal blocks, send as a collective-permute.
CollectiveKind KindOf(HloCollectiveKind kind);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_HLO_PLACEMENT_H_
