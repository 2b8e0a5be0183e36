#include "schedule/chunk_split.h"

#include <catch2/catch.hpp>

#include "test/support/random_slices.h"

namespace podsim {
namespace {

std::vector<std::int64_t> Values(const std::vector<Bytes>& sizes) {
  std::vector<std::int64_t> values;
  for (const Bytes size : sizes) values.push_back(size.value());
  return values;
}

std::int64_t Sum(const std::vector<Bytes>& sizes) {
  std::int64_t sum = 0;
  for (const Bytes size : sizes) sum += size.value();
  return sum;
}

using List = std::vector<std::int64_t>;

TEST_CASE("an even split gives the first S mod k parts one byte more",
          "[schedule]") {
  const std::int64_t total =
      GENERATE(0, 1, 2, 5, 7, 8, 63, 64, 65, 1000003, std::int64_t{1} << 52);
  for (int parts = 1; parts <= 17; ++parts) {
    CAPTURE(total, parts);
    const List sizes = Values(SplitEvenly(Bytes(total), parts));
    REQUIRE(sizes.size() == static_cast<std::size_t>(parts));
    for (int k = 0; k < parts; ++k) {
      CHECK(sizes[static_cast<std::size_t>(k)] ==
            total / parts + (k < total % parts ? 1 : 0));
    }
  }
}

TEST_CASE("an even split of 5 bytes over 8 ranks leaves three empty",
          "[schedule]") {
  CHECK(Values(SplitEvenly(Bytes(5), 8)) == List{1, 1, 1, 1, 1, 0, 0, 0});
}

TEST_CASE("shares go to the largest remainders, lower parts first on ties",
          "[schedule]") {
  struct Row {
    std::int64_t total;
    std::vector<double> fractions;
    List expected;
  };
  const std::vector<Row> rows = {
      // 3.5 2.1 1.4: one byte is left, .5 is the largest remainder.
      {7, {0.5, 0.3, 0.2}, {4, 2, 1}},
      // 5.5 3.3 2.2: one byte is left again.
      {11, {0.5, 0.3, 0.2}, {6, 3, 2}},
      // 0.6 1.8 0.6: .8, then of the two .6 the lower part.
      {3, {0.2, 0.6, 0.2}, {1, 2, 0}},
      // Four times .5: two bytes for the first two.
      {2, {0.25, 0.25, 0.25, 0.25}, {1, 1, 0, 0}},
      {3, {0.25, 0.75}, {1, 2}},  // 0.75 2.25
      {1, {0.25, 0.75}, {0, 1}},
      {5, {0, 1}, {0, 5}},
      {5, {1, 0}, {5, 0}},
      {0, {0.4, 0.6}, {0, 0}},
      {9, {1}, {9}}};
  for (const Row& row : rows) {
    CAPTURE(row.total, row.fractions);
    CHECK(Values(SplitByFractions(Bytes(row.total), row.fractions)) ==
          row.expected);
  }
}

TEST_CASE("a split by random fractions rounds each share, and adds up",
          "[schedule][property]") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<double> fractions(static_cast<std::size_t>(random.Int(1, 5)));
    double sum = 0;
    for (double& share : fractions) {
      share = random.OneIn(5) ? 0.0 : random.Unit();
      sum += share;
    }
    if (sum == 0) fractions[0] = sum = 1;
    for (double& share : fractions) share /= sum;
    const std::int64_t total = random.OneIn(2)
                                   ? random.Between(0, 40)
                                   : random.Between(0, std::int64_t{1} << 40);
    CAPTURE(total, fractions);
    const std::vector<Bytes> sizes = SplitByFractions(Bytes(total), fractions);
    REQUIRE(sizes.size() == fractions.size());
    REQUIRE(Sum(sizes) == total);
    // Rounding of the products: 2^40 has 12 bits to spare in a double.
    constexpr double kSlack = 1e-3;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const double exact = fractions[k] * static_cast<double>(total);
      const auto size = static_cast<double>(sizes[k].value());
      REQUIRE(sizes[k].value() >= 0);
      REQUIRE(std::abs(size - exact) < 1 + kSlack);
      for (std::size_t j = 0; j < sizes.size(); ++j) {
        // Who was rounded up has no smaller remainder than who was not.
        const double other = fractions[j] * static_cast<double>(total);
        const bool up = size > exact;
        const bool down = static_cast<double>(sizes[j].value()) < other;
        if (up && down) {
          REQUIRE(exact - std::floor(exact) >=
                  other - std::floor(other) - kSlack);
        }
      }
    }
  }
}

TEST_CASE("equal fractions split like an even split", "[schedule]") {
  for (int parts = 1; parts <= 50; ++parts) {
    for (const std::int64_t total : {0, 1, 7, 48, 49, 50, 1000, 999983}) {
      CAPTURE(parts, total);
      const std::vector<double> fractions(static_cast<std::size_t>(parts),
                                          1.0 / parts);
      CHECK(Values(SplitByFractions(Bytes(total), fractions)) ==
            Values(SplitEvenly(Bytes(total), parts)));
    }
  }
}

TEST_CASE("a shard is cut into parts, parts into batches, batches into halves",
          "[schedule]") {
  // 11 = 6 + 5; 6 = 3 + 3, 5 = 3 + 2; 3 = 2 + 1, 2 = 1 + 1.
  const ChunkSplit split{
      .parts = 2, .fractions = {}, .batches = 2, .halves = true};
  CHECK(split.sub_chunks() == 8);
  CHECK(Values(SubChunkSizes(split, Bytes(11))) ==
        List{2, 1, 2, 1, 2, 1, 1, 1});
  // The first part of one byte: its first batch, its first half.
  CHECK(Values(SubChunkSizes(split, Bytes(1))) == List{1, 0, 0, 0, 0, 0, 0, 0});
  // By fractions 0.25, 0.75 of 10: 2.5 and 7.5, so 3 and 7; 7 = 3 + 2 + 2.
  CHECK(Values(SubChunkSizes({.parts = 2,
                              .fractions = {0.25, 0.75},
                              .batches = 3,
                              .halves = false},
                             Bytes(10))) == List{1, 1, 1, 3, 2, 2});
  CHECK(Values(SubChunkSizes({}, Bytes(10))) == List{10});
}

TEST_CASE("sub-chunks add up to their shard whatever the split",
          "[schedule][property]") {
  const int parts = GENERATE(1, 2, 3);
  const int batches = GENERATE(1, 2, 5);
  const bool halves = GENERATE(false, true);
  const bool unequal = GENERATE(false, true);
  ChunkSplit split{
      .parts = parts, .fractions = {}, .batches = batches, .halves = halves};
  if (unequal) {
    // 1 : 2 : 3.
    for (int k = 1; k <= parts; ++k) {
      split.fractions.push_back(k / (parts * (parts + 1) / 2.0));
    }
  }
  for (std::int64_t shard = 0; shard <= 70; ++shard) {
    CAPTURE(parts, batches, halves, unequal, shard);
    const std::vector<Bytes> sizes = SubChunkSizes(split, Bytes(shard));
    REQUIRE(sizes.size() == static_cast<std::size_t>(split.sub_chunks()));
    REQUIRE(Sum(sizes) == shard);
    if (unequal) continue;
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    REQUIRE(most->value() - least->value() <= 1);
  }
}

}  // namespace
}  // namespace podsim
