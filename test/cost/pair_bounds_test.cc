// Bounds of a ragged all-to-all.
#include <catch2/catch.hpp>
#include <map>

#include "collective/byte_matrix.h"
#include "cost/bounds.h"
#include "engine/engine.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};

std::map<std::string, double> BoundsOf(const Collective& collective,
                                       const Slice& slice) {
  std::map<std::string, double> bounds;
  for (const BoundComponent& bound :
       ComputeBounds(collective, slice).components) {
    bounds[bound.name] = bound.time.value();
  }
  return bounds;
}

// All chips, some axes, or two lists; some slices twisted or with a fault.
struct Case {
  Slice slice;
  Collective collective;
};
Case RandomCase(Random& random) {
  const bool twisted = random.OneIn(5);
  const Shape shape = twisted ? random.Pick({Shape{2, 4}, Shape{2, 2, 4}})
                              : RandomShape(random, 2, 16);
  Slice slice = twisted ? MakeTwisted(shape, kRates)
                        : MakeGridOf(shape, RandomWrap(random, shape), kRates);
  if (!twisted && random.OneIn(3)) {
    const int axis = random.Int(0, int(shape.size()) - 1);
    const LinkId link = slice.topology.LinkAt(ChipId(0), axis, Sign::kPlus);
    if (slice.topology.Exists(link)) slice.topology.Degrade(link, 0.5);
  }
  Collective collective{.kind = CollectiveKind::kAllToAll,
                        .payload = Bytes(720'720),
                        .axes = AllAxes(slice.topology)};
  if (!twisted && random.OneIn(2)) {
    collective.axes = random.Pick(AllAxisSubsets(shape.size()));
  } else if (random.OneIn(3)) {
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
  return {std::move(slice), std::move(collective)};
}

TEST_CASE("an equal matrix has the bounds of all-to-all", "[cost][property]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const auto [slice, plain] = RandomCase(random);
    Collective ragged = plain;
    ragged.kind = CollectiveKind::kRaggedAllToAll;
    const int n = RanksOfMatrix(ragged, slice.topology, "test");
    SetMatrix(MakeMatrix({}, n, n * plain.payload), slice.topology, "test",
              ragged);
    const auto expected = BoundsOf(plain, slice);
    for (const auto& [name, seconds] : BoundsOf(ragged, slice)) {
      CAPTURE(seed, slice.spec, n, name);
      REQUIRE(expected.contains(name));
      CHECK(Near(seconds, expected.at(name)));
    }
  }
}

TEST_CASE("no ragged all-to-all beats its bounds", "[cost][property]") {
  double nearest = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    auto [slice, collective] = RandomCase(random);
    collective.kind = CollectiveKind::kRaggedAllToAll;
    const int n = RanksOfMatrix(collective, slice.topology, "test");
    const auto ranks = std::size_t(n);
    ByteMatrix matrix(ranks, std::vector<Bytes>(ranks));
    for (auto& row : matrix) {
      for (Bytes& bytes : row) {
        bytes = Bytes(random.OneIn(3) ? 0 : random.Int(1, 1'000'000));
      }
    }
    SetMatrix(std::move(matrix), slice.topology, "test", collective);
    const Schedule schedule =
        MakeWhole(slice, Spec("ragged"), collective).schedule;
    const double time = RunPod(schedule, MakeNetwork(slice)).makespan;
    const double bound =
        ComputeBounds(collective, slice).binding().time.value();
    CAPTURE(seed, slice.spec, n);
    CHECK(time >= bound * (1 - 1e-9));
    if (time > 0) nearest = std::max(nearest, bound / time);
  }
  CHECK(nearest > 0.99);
}

TEST_CASE("rows and columns bound a ragged all-to-all", "[cost]") {
  // Ring of 4: 100 kB each from 1, 2, 3 to 0, whose two links take 45 GB/s.
  const Slice ring = MakeTorus({4}, kRates);
  Collective collective{
      .kind = CollectiveKind::kRaggedAllToAll, .payload = {}, .axes = {0}};
  ByteMatrix matrix(4, std::vector<Bytes>(4));
  for (std::size_t from = 1; from < 4; ++from) matrix[from][0] = Bytes(100'000);
  SetMatrix(matrix, ring.topology, "test", collective);
  const auto in = BoundsOf(collective, ring);
  CHECK(Near(in.at("chip"), 1.3e-6 + 300e3 / 90e9));
  CHECK(Near(in.at("slab:x"), 1.3e-6 + 300e3 / 90e9));
  // 1 + 2 + 1 hops over 8 links.
  CHECK(Near(in.at("distance"), 1.3e-6 + 400e3 / (8 * 45e9)));
  CHECK(Near(in.at("latency"), 0.3e-6 + 2e-6));
  SetMatrix(Transposed(matrix), ring.topology, "test", collective);
  CHECK(BoundsOf(collective, ring) == in);
  // What stays where it is costs nothing.
  ByteMatrix diagonal(4, std::vector<Bytes>(4));
  diagonal[2][2] = Bytes(1);
  SetMatrix(diagonal, ring.topology, "test", collective);
  CHECK(BoundsOf(collective, ring) ==
        std::map<std::string, double>{{"none", 0}});
}

}  // namespace
}  // namespace podsim
