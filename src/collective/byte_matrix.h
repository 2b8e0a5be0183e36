#ifndef PODSIM_COLLECTIVE_BYTE_MATRIX_H_
#define PODSIM_COLLECTIVE_BYTE_MATRIX_H_

#include <cstdint>
#include <string>

#include "base/json_reader.h"
#include "collective/collective.h"

namespace podsim {

// What the ranks of a ragged-all-to-all send each other: read or made up.

// A named matrix. Every rank has an equal part of the bytes to send (they
// differ by at most one byte), the diagonal included.
enum class DistributionName {
  kEqual,    // the same to every rank: an all-to-all
  kUniform,  // a random weight for every pair
  kZipf,     // all ranks prefer the same ranks, in an order drawn at random
};

struct Distribution {
  DistributionName name = DistributionName::kEqual;
  double skew = 1;         // zipf: the k-th rank in the order weighs k^-skew
  std::uint64_t seed = 0;  // uniform, zipf
};

// "zipf:skew=1.1,seed=7", "equal". Throws InputError{where, ..}.
Distribution ParseDistribution(const std::string& text,
                               const std::string& where);
// {"name": "zipf", "skew": 1.1, "seed": 7}, with "bytes", which is not read.
Distribution ReadDistribution(const JsonValue& json);

// The n x n matrix of a distribution, the same on every machine. Its entries
// add up to `sum`. Weights are whole numbers: `uniform` draws 1..2^20, row by
// row; `zipf` shuffles the ranks (Fisher-Yates from the last) and gives the
// k-th of them round(2^20 k^-skew), at least 1. Numbers are drawn from
// splitmix64 started at `seed`. Rank i sends to rank j the difference of the
// whole parts of the row's bytes times the share of the weights up to j, with
// and without j.
ByteMatrix MakeMatrix(const Distribution& distribution, int n, Bytes sum);

// [["0B", "1KiB"], ["2KiB", "0B"]].
ByteMatrix ReadMatrix(const JsonValue& json);

ByteMatrix Transposed(const ByteMatrix& matrix);

// The ranks of the groups, which must be equally many: of groups of all chips
// dead ones may leave some short. Throws InputError{where, ..}.
int RanksOfMatrix(const Collective& collective, const Topology& topology,
                  const std::string& where);

// Sets matrix and payload. Throws InputError{where, ..} unless the matrix has a
// row per rank.
void SetMatrix(ByteMatrix matrix, const Topology& topology,
               const std::string& where, Collective& collective);

// Throws InputError{where, ..} for a kind that has no matrix.
void RejectMatrix(CollectiveKind kind, const std::string& where);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_BYTE_MATRIX_H_
