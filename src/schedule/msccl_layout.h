#ifndef PODSIM_SCHEDULE_MSCCL_LAYOUT_H_
#define PODSIM_SCHEDULE_MSCCL_LAYOUT_H_

#include <string>
#include <vector>

#include "schedule/chunk_parties.h"
#include "schedule/schedule.h"

namespace podsim {

// Where a chunk lies in the payload, in MSCCL's chunks.
struct MscclUnits {
  int first = 0;
  int count = 0;
};

// The payload in MSCCL's chunks: a shard or block has as many as all of them
// can be cut into, and each chunk of ours has one or several.
struct MscclLayout {
  std::vector<MscclUnits>
      of;            // by chunk; of all-to-all: in the buffer of its owner
  int per_part = 1;  // of a shard or block
  std::vector<Bytes> sizes;
};

// `rank_of`: by chip. Throws InputError{where, ..} for shards or blocks that
// are cut differently, which MSCCL cannot say.
MscclLayout MakeMscclLayout(const CollectiveMeaning& meaning,
                            const KindParties& kind,
                            const std::vector<std::uint32_t>& rank_of,
                            const std::string& where);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_MSCCL_LAYOUT_H_
