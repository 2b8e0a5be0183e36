#include <catch2/catch.hpp>
#include <set>

#include "collective/cycle.h"
#include "collective/groups.h"
#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7};

TEST_CASE("hamiltonian computes its collectives on every small slice",
          "[collective][property]") {
  CHECK(ProveOnGrids("hamiltonian", 18) > 500);
}

TEST_CASE("the snake is a cycle over links of every mesh with an even side",
          "[collective][property]") {
  for (int a = 2; a <= 9; ++a) {
    for (int b = 2; b <= 9; ++b) {
      CAPTURE(a, b);
      const PlaneWalk walk = Snake(a, b);
      CHECK(walk.empty() == (a * b % 2 != 0));
      if (walk.empty()) continue;
      const Slice slice = MakeMesh({a, b});
      const Collective collective =
          OnAllChips(CollectiveKind::kAllGather, 1, slice);
      // FollowWalks checks that it ends where it begins.
      const Cycle cycle = FollowWalks({walk}, collective, slice.topology)[0][0];
      const std::set<int> ranks(cycle.ranks.begin(), cycle.ranks.end());
      CHECK(cycle.ranks.size() == static_cast<std::size_t>(a * b));
      CHECK(ranks.size() == static_cast<std::size_t>(a * b));
      for (const LinkId link : cycle.forward) {
        CHECK(slice.topology.Live(link));
      }
    }
  }
}

TEST_CASE("the snake returns along the first column, or the first row",
          "[collective]") {
  const auto ranks = [](const Shape& shape) {
    const Slice slice = MakeMesh(shape);
    return FollowWalks({Snake(shape[0], shape[1])},
                       OnAllChips(CollectiveKind::kAllGather, 1, slice),
                       slice.topology)[0][0]
        .ranks;
  };
  CHECK(ranks({2, 2}) == std::vector<int>{0, 1, 3, 2});
  CHECK(ranks({3, 4}) ==
        std::vector<int>{0, 1, 2, 5, 4, 7, 8, 11, 10, 9, 6, 3});
  CHECK(ranks({2, 3}) == std::vector<int>{0, 2, 4, 5, 3, 1});
  CHECK(ranks({4, 3}) ==
        std::vector<int>{0, 4, 8, 9, 5, 6, 10, 11, 7, 3, 2, 1});
}

TEST_CASE("hamiltonian: floor(P/2) a + (P-1)/(2P) S/B, all planes at once",
          "[collective]") {
  constexpr std::int64_t kPayload = 96'000;
  const Slice slice = MakeMesh({4, 2, 3}, kRates);
  for (const std::vector<int>& axes :
       {std::vector<int>{0, 1}, std::vector<int>{0, 2}}) {
    const int n = axes[1] == 1 ? 8 : 12;
    const Collective collective{.kind = CollectiveKind::kAllGather,
                                .payload = Bytes(kPayload),
                                .axes = axes};
    CAPTURE(axes);
    CHECK(Near(
        ProveWhereItApplies(slice, Spec("hamiltonian"), collective).value_or(0),
        n / 2 * 1.5e-6 + (n - 1) / (2.0 * n) * kPayload / 1e9));
  }
}

TEST_CASE("hamiltonian says why it does not apply, and what does",
          "[collective]") {
  const auto reason = [](const Slice& slice) {
    return ReasonOf("hamiltonian",
                    OnAllChips(CollectiveKind::kAllGather, 100, slice),
                    slice.topology);
  };
  CHECK(reason(MakeMesh({3, 5})) ==
        "both sides of the group are odd, and such a mesh has no Hamiltonian "
        "cycle; use hamiltonian-pair if both axes wrap, or bucket-rotated");
  CHECK(reason(MakeTorus({8})) ==
        "the group spans 1 axis, not 2; use ring-short or line");
  CHECK(reason(MakeTorus({2, 2, 2})) ==
        "the group spans 3 axes, not 2; use bucket-rotated or greedy");
  CHECK(reason(MakeTwisted({4, 8})) == "applies");
  Slice slice = MakeTorus({4, 4});
  // A cable that the snake does not use, then one that it does.
  slice.topology.Kill(slice.topology.LinkAt(ChipId(3), 0, Sign::kPlus));
  CHECK(reason(slice) == "applies");
  slice.topology.Kill(slice.topology.LinkAt(ChipId(1), 0, Sign::kMinus));
  CHECK(reason(slice) ==
        "it needs link 0,0:x+ both ways; use greedy, which goes around faults");
}

}  // namespace
}  // namespace podsim
