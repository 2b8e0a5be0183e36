#ifndef PODSIM_SCHEDULE_CHUNK_SPLIT_H_
#define PODSIM_SCHEDULE_CHUNK_SPLIT_H_

#include <span>
#include <vector>

#include "base/units.h"

namespace podsim {

// The only divisions of a payload. Parts add up to the whole.

// `parts` parts that differ by at most one byte; the first ones are larger.
std::vector<Bytes> SplitEvenly(Bytes total, int parts);

// Shares by largest remainder, lower part first on ties. `fractions` are >= 0
// and add up to 1.
std::vector<Bytes> SplitByFractions(Bytes total,
                                    std::span<const double> fractions);

// How one shard (the bytes of one owner) is cut into sub-chunks: into parts,
// each part into batches, each batch into two halves if `halves`. Sub-chunk
// index: (part * batches + batch) * (halves ? 2 : 1) + half. With `pieces`
// instead of batches: part k into pieces[k], numbered through.
struct ChunkSplit {
  int parts = 1;
  std::vector<double> fractions;  // empty: equal parts
  int batches = 1;
  bool halves = false;
  std::vector<int> pieces = {};

  int sub_chunks() const;
};

// Bytes of every sub-chunk of a shard.
std::vector<Bytes> SubChunkSizes(const ChunkSplit& split, Bytes shard);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_CHUNK_SPLIT_H_
