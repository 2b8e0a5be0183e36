#ifndef PODSIM_SCHEDULE_INSTANTIATE_H_
#define PODSIM_SCHEDULE_INSTANTIATE_H_

#include <string>

#include "schedule/placement.h"
#include "schedule/schedule.h"

namespace podsim {

// Whether every message carries the chunks of all owners of its group: then it
// has S bytes wherever it is sent, however S divides.
bool SendsWholeGroups(const Program& program, const Topology& topology);

// Places the program on every chip (NoFold) or on one chip per class. Ops are
// ordered step by step, sites ascending; without `where` and zero-byte chunks
// op id = step * sites + site. Zero-byte transfers are not emitted. When
// anything is folded, unless whole groups are sent, and for all-to-all, the
// number of ranks must divide `payload` (CHECK).
Schedule Instantiate(const Program& program, const Topology& topology,
                     const Fold& fold, Bytes payload);

// Chips of one group (the product of the group's axes).
int GroupSize(const Program& program, const Topology& topology);

// Shares of S/n that a chip owns: one shard, or the blocks of an all-to-all.
int BlocksOf(const Program& program);

// The meaning of the unfolded schedule: groups, chunks and their owners. Chunk
// id = owner chip * split.sub_chunks() + sub-chunk.
CollectiveMeaning MeaningOf(const Program& program, const Topology& topology,
                            const std::string& kind, Bytes payload);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_INSTANTIATE_H_
