#include "collective/greedy.h"

#include <array>
#include <catch2/catch.hpp>

#include "collective/groups.h"
#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7};

std::string Greedy(int sub_chunks) {
  return "greedy:sub_chunks=" + std::to_string(sub_chunks);
}

Slice MakeGreedySlice(const Slice& slice) {
  return MakeGridOf(
      slice.shape,
      [&] {
        std::vector<bool> wrap;
        for (const GridAxis& axis : slice.topology.axes()) {
          wrap.push_back(axis.wrap);
        }
        return wrap;
      }(),
      kRates);
}

TEST_CASE("greedy computes its collectives on every small slice",
          "[collective][property]") {
  int proved = 0;
  ForEachGridCollective(
      12, kLoweredKinds, [&](const Slice& grid, Collective collective) {
        const Slice slice = MakeGreedySlice(grid);
        const int n = GroupSize(collective, slice.topology);
        for (const std::int64_t payload : {0, 1, n - 1, n + 1, 1 << 20}) {
          collective.payload = Bytes(payload);
          for (const std::string& text : {std::string("greedy"), Greedy(3)}) {
            proved +=
                ProveWhereItApplies(slice, Spec(text), collective).has_value();
          }
        }
      });
  CHECK(proved > 2000);
}

TEST_CASE("greedy goes around random dead cables and chips",
          "[collective][property]") {
  Random random(7);
  int proved = 0;
  for (int round = 0; round < 90; ++round) {
    const Slice slice = RandomCutSlice(random, kRates);
    for (const CollectiveKind kind : kLoweredKinds) {
      CAPTURE(round);
      proved +=
          ProveWhereItApplies(slice, Spec("greedy"),
                              OnAllChips(kind, random.Between(0, 5000), slice))
              .has_value();
    }
  }
  CHECK(proved > 100);
}

TEST_CASE("greedy runs on twisted slices and lists of links", "[collective]") {
  const Slice twisted = MakeTwisted({4, 8}, kRates);
  Slice list = MakeMesh({2}, kRates);
  std::vector<Cable> cables;
  for (const auto& [a, b] :
       {std::pair(0, 1), std::pair(1, 2), std::pair(2, 0), std::pair(2, 3)}) {
    cables.push_back({ChipId(unsigned(a)), ChipId(unsigned(b)),
                      BytesPerSecond(1e9), Seconds(1e-6)});
  }
  list.topology = Topology::MakeExplicit(4, cables);
  for (const CollectiveKind kind : kLoweredKinds) {
    CHECK(ProveWhereItApplies(twisted, Spec("greedy"),
                              OnAllChips(kind, 32'000, twisted)));
    CHECK(ProveWhereItApplies(list, Spec("greedy"),
                              OnAllChips(kind, 1001, list)));
    // Any order of ranks.
    CHECK(ProveWhereItApplies(
        list, Spec(Greedy(2)),
        OnLists(kind, 1001, {{ChipId(2), ChipId(0), ChipId(3), ChipId(1)}})));
  }
}

TEST_CASE("without latencies greedy all-gather is near the corner chip's bound",
          "[collective]") {
  struct Row {
    Slice slice;
    int sub_chunks;
    int corner_links;
    double efficiency;
  };
  const Row rows[] = {{MakeMesh({3, 3}), 4, 2, 1.0},
                      {MakeMesh({4, 4}), 4, 2, 1.0},
                      {MakeMesh({4, 8}), 4, 2, 1.0},
                      {MakeMesh({2, 4}), 4, 2, 1.0},
                      {MakeGridOf({4, 4}, {true, false}), 4, 3, 1.0},
                      {MakeMesh({2, 2, 2}), 4, 3, 0.93},
                      {MakeMesh({2, 2, 2}), 8, 3, 0.98},
                      {MakeMesh({4, 4, 2}), 4, 3, 0.98}};
  for (const Row& row : rows) {
    CAPTURE(row.slice.spec, row.sub_chunks);
    const int n = row.slice.topology.chips();
    const double payload = 1000.0 * n * row.sub_chunks;
    const auto time = ProveWhereItApplies(
        row.slice, Spec(Greedy(row.sub_chunks)),
        OnAllChips(CollectiveKind::kAllGather,
                   static_cast<std::int64_t>(payload), row.slice));
    REQUIRE(time.has_value());
    const double bound = (n - 1.0) / n * payload / row.corner_links / 1e9;
    CHECK(bound / *time > row.efficiency - 0.006);
    CHECK(bound / *time < row.efficiency + 0.006);
  }
}

TEST_CASE("greedy takes its steps times (a + S/(PqB))", "[collective]") {
  const Slice slice = MakeMesh({3, 3}, kRates);
  for (const CollectiveKind kind : kLoweredKinds) {
    const Collective collective = OnAllChips(kind, 36'000, slice);
    const int steps = GreedySteps(collective, slice.topology, Spec(Greedy(4)));
    // 8 shards of 4 chunks over the 2 links of a corner.
    CHECK(steps == (kind == CollectiveKind::kAllReduce ? 32 : 16));
    CHECK(Near(
        ProveWhereItApplies(slice, Spec(Greedy(4)), collective).value_or(0),
        steps * (1.5e-6 + 1e-6)));
  }
}

TEST_CASE("greedy cuts shards only where that pays", "[collective]") {
  const auto text = [](const Slice& slice, std::int64_t payload) {
    const Collective collective =
        OnAllChips(CollectiveKind::kAllGather, payload, slice);
    return ToText(Resolve(Spec("greedy"), collective, slice), collective,
                  slice.topology);
  };
  // A byte each, then start-ups, then bandwidth.
  CHECK(text(MakeMesh({2, 2, 2}), 8) == "greedy:sub_chunks=1");
  CHECK(text(MakeMesh({2, 2, 2}, kRates), 800) == "greedy:sub_chunks=1");
  CHECK(text(MakeMesh({2, 2, 2}), 8000) == "greedy:sub_chunks=8");
  CHECK(text(MakeMesh({16, 16}), 1 << 30) == "greedy:sub_chunks=2");
}

TEST_CASE("greedy lowers 256 chips", "[collective]") {
  const Slice slice = MakeMesh({16, 16});
  const WholeSchedule whole =
      MakeWhole(slice, Spec(Greedy(2)),
                OnAllChips(CollectiveKind::kAllGather, 1 << 20, slice));
  CHECK(whole.schedule.transfers() == 2 * 256 * 255);
}

TEST_CASE("greedy says why it does not apply, and what does", "[collective]") {
  const auto reason = [](const Collective& collective, const Slice& slice) {
    return ReasonOf("greedy", collective, slice.topology);
  };
  const Slice mesh = MakeMesh({4, 4});
  CHECK(reason({.kind = CollectiveKind::kAllGather,
                .payload = Bytes(1),
                .axes = {0}},
               mesh) ==
        "its group must be all chips of one slice; use bucket-rotated or "
        "direct");
  CHECK(reason(OnLists(CollectiveKind::kAllGather, 1, {{ChipId(0), ChipId(1)}}),
               mesh) ==
        "its group must be all chips of one slice; use bucket-rotated or "
        "direct");
  const Slice large = MakeMesh({16, 17});
  CHECK(reason(OnAllChips(CollectiveKind::kAllGather, 1, large), large) ==
        "its rounds are searched for up to 256 chips only; use bucket-rotated "
        "or direct");
  Slice cut = MakeMesh({3});
  cut.topology.Kill(cut.topology.LinkAt(ChipId(1), 0, Sign::kPlus));
  CHECK(reason(OnAllChips(CollectiveKind::kAllGather, 1, cut), cut) ==
        "chips 0 and 2 cannot reach each other over links that it can use; "
        "use direct");
}

}  // namespace
}  // namespace podsim
