#include "schedule/chunk_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace podsim {

std::vector<Bytes> SplitEvenly(Bytes total, int parts) {
  CHECK(parts >= 1 && total.value() >= 0);
  const std::int64_t low = total.value() / parts;
  const std::int64_t larger = total.value() % parts;
  std::vector<Bytes> sizes;
  for (int k = 0; k < parts; ++k)
    sizes.emplace_back(low + (k < larger ? 1 : 0));
  return sizes;
}

std::vector<Bytes> SplitByFractions(Bytes total,
                                    std::span<const double> fractions) {
  std::vector<Bytes> sizes;
  std::vector<double> remainders;
  std::int64_t left = total.value();
  for (const double fraction : fractions) {
    const double exact = fraction * static_cast<double>(total.value());
    const double whole = std::floor(exact);
    sizes.emplace_back(static_cast<std::int64_t>(whole));
    remainders.push_back(exact - whole);
    left -= sizes.back().value();
  }
  std::vector<std::size_t> order(fractions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return remainders[a] > remainders[b];
  });
  // Rounding of the products can leave one byte too many as well.
  for (std::size_t k = 0; left > 0; k = (k + 1) % order.size(), --left) {
    sizes[order[k]] += Bytes(1);
  }
  for (std::size_t k = order.size(); left < 0 && k-- > 0;) {
    if (sizes[order[k]].value() == 0) continue;
    sizes[order[k]] = sizes[order[k]] - Bytes(1);
    ++left;
  }
  CHECK(left == 0) << "fractions do not add up to 1";
  return sizes;
}

int ChunkSplit::sub_chunks() const {
  const int whole = pieces.empty()
                        ? parts * batches
                        : std::accumulate(pieces.begin(), pieces.end(), 0);
  return halves ? 2 * whole : whole;
}

std::vector<Bytes> SubChunkSizes(const ChunkSplit& split, Bytes shard) {
  const std::vector<Bytes> parts =
      split.fractions.empty() ? SplitEvenly(shard, split.parts)
                              : SplitByFractions(shard, split.fractions);
  CHECK(split.pieces.empty() || split.pieces.size() == parts.size());
  std::vector<Bytes> sizes;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const int pieces = split.pieces.empty() ? split.batches : split.pieces[k];
    for (const Bytes piece : SplitEvenly(parts[k], pieces)) {
      if (!split.halves) {
        sizes.push_back(piece);
        continue;
      }
      for (const Bytes half : SplitEvenly(piece, 2)) sizes.push_back(half);
    }
  }
  return sizes;
}

}  // namespace podsim
