// Ragged all-to-all and its byte matrices.
#include <catch2/catch.hpp>
#include <numeric>

#include "collective/byte_matrix.h"
#include "collective/groups.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};

Collective Ragged(ByteMatrix matrix, const Slice& slice,
                  std::vector<int> axes) {
  Collective collective{.kind = CollectiveKind::kRaggedAllToAll,
                        .payload = {},
                        .axes = std::move(axes)};
  SetMatrix(std::move(matrix), slice.topology, "test", collective);
  return collective;
}

ByteMatrix RandomMatrix(Random& random, int n) {
  const auto ranks = std::size_t(n);
  ByteMatrix matrix(ranks, std::vector<Bytes>(ranks));
  for (auto& row : matrix) {
    for (Bytes& bytes : row) {
      bytes = Bytes(random.OneIn(3) ? 0 : random.Int(1, 100'000));
    }
  }
  return matrix;
}

double TimeOf(const Slice& slice, const std::string& spec,
              const Collective& collective) {
  const WholeSchedule whole = MakeWhole(slice, Spec(spec), collective);
  return RunPod(whole.schedule, MakeNetwork(slice)).makespan;
}

std::int64_t SumOf(const std::vector<Bytes>& row) {
  std::int64_t sum = 0;
  for (const Bytes bytes : row) sum += bytes.value();
  return sum;
}

TEST_CASE("an equal matrix takes the time of direct all-to-all",
          "[collective][property]") {
  for (const Shape& shape : AllShapes(16)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap, kRates);
      for (const auto& axes : AllAxisSubsets(shape.size())) {
        CAPTURE(slice.spec, axes);
        const Collective plain{.kind = CollectiveKind::kAllToAll,
                               .payload = Bytes(720'720),
                               .axes = axes};
        const int n = GroupSize(plain, slice.topology);
        const Collective ragged =
            Ragged(MakeMatrix({}, n, n * plain.payload), slice, axes);
        for (const char* window : {"window=0", "window=2"}) {
          CHECK(Near(TimeOf(slice, std::string("ragged:") + window, ragged),
                     TimeOf(slice, std::string("direct:") + window, plain),
                     1e-12));
        }
      }
    }
  }
}

TEST_CASE("ragged all-to-alls of random matrices are proved",
          "[collective][property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 24);
    Slice slice = MakeGridOf(shape, RandomWrap(random, shape), kRates);
    if (random.OneIn(4)) {
      slice.topology.Kill(slice.topology.LinkAt(ChipId(0), 0, Sign::kPlus));
    }
    Collective collective{.kind = CollectiveKind::kRaggedAllToAll,
                          .payload = {},
                          .axes = random.Pick(AllAxisSubsets(shape.size()))};
    if (random.OneIn(3)) {
      // Two groups of any chips.
      std::vector<ChipId> chips;
      for (int id = 0; id < slice.topology.chips(); ++id) {
        chips.emplace_back(std::uint32_t(id));
      }
      random.Shuffle(chips);
      const auto half = std::ptrdiff_t(chips.size() / 2);
      collective.axes.clear();
      collective.groups = {{chips.begin(), chips.begin() + half},
                           {chips.begin() + half, chips.begin() + 2 * half}};
    }
    const int n = RanksOfMatrix(collective, slice.topology, "test");
    SetMatrix(RandomMatrix(random, n), slice.topology, "test", collective);
    const LoweringSpec spec = Spec(random.Pick({"ragged", "ragged:window=3"}));
    if (WhyNot(spec, collective, slice.topology)) continue;
    CAPTURE(seed, slice.spec, n);
    const WholeSchedule whole = MakeWhole(slice, spec, collective);
    const Violations found =
        VerifyFull(whole.schedule, whole.meaning, slice.topology);
    CAPTURE(found.empty() ? "" : found.texts().front());
    REQUIRE(found.empty());
    // Every byte leaves once, but for the diagonal.
    std::int64_t off_diagonal = collective.payload.value();
    for (std::size_t k = 0; k < collective.matrix.size(); ++k) {
      off_diagonal -= collective.matrix[k][k].value();
    }
    std::int64_t sent = 0;
    for (std::uint32_t op = 0; op < whole.schedule.size(); ++op) {
      REQUIRE(whole.schedule.bytes(OpId(op)).value() > 0);
      sent += whole.schedule.bytes(OpId(op)).value();
    }
    const auto groups = GroupsOf(collective, slice.topology).size();
    CHECK(sent == std::int64_t(groups) * off_diagonal);
    CHECK(whole.schedule.transfers() <=
          FindLowering("ragged")->count(collective, slice.topology, spec));
  }
}

TEST_CASE("one pair alone takes o + h alpha + bytes/B, split over tied ways",
          "[collective]") {
  const Slice ring = MakeTorus({6}, kRates);
  ByteMatrix matrix(6, std::vector<Bytes>(6));
  matrix[0][2] = Bytes(450'000);
  CHECK(Near(TimeOf(ring, "ragged", Ragged(matrix, ring, {0})),
             3e-7 + 2e-6 + 1e-5));
  matrix[0][2] = Bytes(0);
  matrix[0][3] = Bytes(450'000);
  CHECK(Near(TimeOf(ring, "ragged", Ragged(matrix, ring, {0})),
             3e-7 + 3e-6 + 0.5e-5));
  matrix[0][3] = Bytes(0);
  matrix[1][1] = Bytes(450'000);
  CHECK(TimeOf(ring, "ragged", Ragged(matrix, ring, {0})) == 0);
}

TEST_CASE("distributions give every rank its part of the sum",
          "[collective][property]") {
  for (const char* text : {"equal", "uniform:seed=5", "zipf:skew=1.1,seed=7",
                           "zipf:skew=0", "zipf:skew=16"}) {
    for (const int n : {1, 2, 7, 64}) {
      for (const std::int64_t sum :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{1'000'003},
            std::int64_t{1} << 62}) {
        CAPTURE(text, n, sum);
        const ByteMatrix matrix =
            MakeMatrix(ParseDistribution(text, "test"), n, Bytes(sum));
        std::int64_t left = sum;
        for (const auto& row : matrix) {
          CHECK((SumOf(row) == sum / n || SumOf(row) == sum / n + 1));
          left -= SumOf(row);
        }
        CHECK(left == 0);
      }
    }
  }
}

// The numbers of splitmix64 are those of its authors' C code; from them by hand
// (in exact rational arithmetic).
TEST_CASE("zipf weights fall as k^-skew over shuffled ranks", "[collective]") {
  const int n = 5;
  const ByteMatrix matrix = MakeMatrix(
      ParseDistribution("zipf:skew=1,seed=1", ""), n, Bytes(n * 1'370'000));
  // 1 + 1/2 + .. + 1/5 = 137/60: 600,000, 300,000, .. 120,000 but for the
  // rounding of weights and bytes.
  std::vector<Bytes> row = matrix[0];
  for (const auto& other : matrix) CHECK(other == row);
  std::sort(row.begin(), row.end());
  for (int k = 1; k <= n; ++k) {
    CHECK(std::abs(row[std::size_t(n - k)].value() - 600'000 / k) <= 2);
  }
  CHECK(
      MakeMatrix(ParseDistribution("zipf:skew=0,seed=1", ""), n, Bytes(500)) ==
      MakeMatrix(ParseDistribution("equal", ""), n, Bytes(500)));
}

TEST_CASE("combining is dispatching transposed", "[collective]") {
  Random random(3);
  const ByteMatrix matrix = RandomMatrix(random, 6);
  const ByteMatrix transposed = Transposed(matrix);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) CHECK(transposed[j][i] == matrix[i][j]);
  }
  CHECK(Transposed(transposed) == matrix);
}

TEST_CASE("ragged says why it does not apply", "[collective]") {
  Slice line = MakeMesh({4});
  const Collective collective = Ragged(MakeMatrix({}, 4, Bytes(64)), line, {0});
  const auto reason = [&](const char* spec) {
    return WhyNot(Spec(spec), collective, line.topology).value_or("applies");
  };
  CHECK(reason("ragged") == "applies");
  CHECK(reason("direct").starts_with("only for "));
  line.topology.Kill(line.topology.LinkAt(ChipId(1), 0, Sign::kPlus));
  CHECK(reason("ragged") == "chips 0 and 2 cannot reach each other over ICI");
}

}  // namespace
}  // namespace podsim
