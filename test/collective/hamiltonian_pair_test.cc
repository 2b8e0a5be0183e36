#include <catch2/catch.hpp>
#include <set>

#include "collective/cycle.h"
#include "collective/groups.h"
#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7};

std::vector<Cycle> PairOn(const Slice& slice) {
  const std::vector<PlaneWalk> walks =
      EdgeDisjointWalks(slice.shape[0], slice.shape[1]);
  return FollowWalks(walks, OnAllChips(CollectiveKind::kAllGather, 1, slice),
                     slice.topology)[0];
}

TEST_CASE("hamiltonian-pair computes its collectives on every small slice",
          "[collective][property]") {
  CHECK(ProveOnGrids("hamiltonian-pair", 18) > 200);
}

TEST_CASE("the pair: two cycles of all chips that use every cable once",
          "[collective][property]") {
  for (int a = 3; a <= 16; ++a) {
    for (int b = 3; b <= 16; ++b) {
      CAPTURE(a, b);
      if (a % 2 != b % 2) {
        CHECK(EdgeDisjointWalks(a, b).empty());
        continue;
      }
      const auto chips = static_cast<std::size_t>(a * b);
      const Slice slice = MakeTorus({a, b});
      const std::vector<Cycle> cycles = PairOn(slice);
      REQUIRE(cycles.size() == 2);
      std::set<LinkId> links;
      for (const Cycle& cycle : cycles) {
        CHECK(cycle.ranks[0] == 0);
        CHECK(std::set<int>(cycle.ranks.begin(), cycle.ranks.end()).size() ==
              chips);
        links.insert(cycle.forward.begin(), cycle.forward.end());
        links.insert(cycle.backward.begin(), cycle.backward.end());
      }
      CHECK(links.size() == 4 * chips);
    }
  }
}

TEST_CASE("the pair takes the first sign vector that works", "[collective]") {
  const std::vector<Cycle> square = PairOn(MakeTorus({3, 3}));
  CHECK(square[0].ranks == std::vector<int>{0, 3, 6, 7, 1, 4, 5, 8, 2});
  CHECK(square[1].ranks == std::vector<int>{0, 1, 2, 5, 3, 4, 7, 8, 6});
  // Columns cannot close on 3x5; rows do, one of them backwards.
  const std::vector<Cycle> wide = PairOn(MakeTorus({3, 5}));
  CHECK(wide[0].ranks ==
        std::vector<int>{0, 2, 1, 4, 5, 3, 6, 7, 8, 11, 9, 10, 13, 14, 12});
  CHECK(wide[1].ranks[1] == 1);
}

TEST_CASE("hamiltonian-pair: floor(P/2) a + (P-1)/(4P) S/B, on planes too",
          "[collective]") {
  constexpr std::int64_t kPayload = 96'000;
  const Slice slice = MakeTorus({4, 4, 2}, kRates);
  const Collective collective{.kind = CollectiveKind::kAllReduce,
                              .payload = Bytes(kPayload),
                              .axes = {0, 1}};
  CHECK(Near(ProveWhereItApplies(slice, Spec("hamiltonian-pair"), collective)
                 .value_or(0),
             2 * (8 * 1.5e-6 + 15 / 64.0 * kPayload / 1e9)));
}

TEST_CASE("hamiltonian-pair says why it does not apply, and what does",
          "[collective]") {
  const auto reason = [](const Slice& slice) {
    return ReasonOf("hamiltonian-pair",
                    OnAllChips(CollectiveKind::kAllGather, 100, slice),
                    slice.topology);
  };
  CHECK(reason(MakeTorus({3, 4})) ==
        "one axis is even and one odd; use hamiltonian or bucket-rotated");
  CHECK(reason(MakeGridOf({4, 4}, {true, false})) ==
        "axis y does not wrap; use hamiltonian or bucket-rotated");
  CHECK(reason(MakeTwisted({4, 8})) ==
        "the slice is twisted; use it without :twisted, or hamiltonian");
  CHECK(reason(MakeTorus({8})) ==
        "the group spans 1 axis, not 2; use ring-short or line");
  Slice slice = MakeTorus({4, 4});
  slice.topology.Kill(ChipId(5));
  CHECK(reason(slice).find("use greedy, which goes around faults") !=
        std::string::npos);
}

}  // namespace
}  // namespace podsim
