#include "topology/fold.h"

#include <catch2/catch.hpp>
#include <map>

#include "test/topology/reference_graph.h"

namespace podsim {
namespace {

// Coordinates modulo the periods, numbered x fastest.
std::uint32_t ClassOf(const Topology& topology, const Fold& fold, ChipId chip) {
  const Coordinates at = topology.CoordinatesOf(chip);
  int site = 0;
  for (std::size_t a = fold.periods.size(); a-- > 0;) {
    site = site * fold.periods[a] + at[a] % fold.periods[a];
  }
  return static_cast<std::uint32_t>(site);
}

// Every chip, and every link, falls on the class that the grid says.
void RequireQuotient(const Topology& topology, const Fold& fold) {
  const FoldedGrid grid(topology, fold);
  std::map<std::uint32_t, std::vector<ChipId>> members;
  for (int chip = 0; chip < topology.chips(); ++chip) {
    const std::uint32_t site = ClassOf(topology, fold, ChipId(chip));
    REQUIRE(grid.SiteAt(topology.CoordinatesOf(ChipId(chip))) == site);
    members[site].push_back(ChipId(chip));
  }
  REQUIRE(members.size() == grid.sites());
  for (const auto& [site, chips] : members) {
    REQUIRE(chips.size() == grid.chips_per_site());
    // The smallest coordinates, and so the smallest id.
    REQUIRE(grid.Representative(site) == chips.front());
    REQUIRE(grid.SiteAt(grid.CoordinatesOf(site)) == site);
    for (int a = 0; a < grid.axes(); ++a) {
      const int at = topology.CoordinatesOf(chips.front())[a];
      REQUIRE(grid.CoordinatesOf(site)[a] == at);
      REQUIRE(grid.CoordinateOf(site, a) == static_cast<std::uint32_t>(at));
      REQUIRE(grid.period(a) == fold.periods[a]);
    }
  }
  topology.ForEachLiveLink([&](LinkId link) {
    const std::uint32_t site = ClassOf(topology, fold, topology.Source(link));
    const int axis = topology.AxisOf(link);
    const Sign sign = topology.SignOf(link);
    REQUIRE(grid.Neighbour(site, axis, sign) ==
            ClassOf(topology, fold, topology.Target(link)));
    const LinkId folded = grid.LinkAt(site, axis, sign);
    REQUIRE(folded.value() < grid.link_ids());
    const LinkId member = grid.Representative(folded);
    REQUIRE(topology.Source(member) == grid.Representative(site));
    REQUIRE(topology.AxisOf(member) == axis);
    REQUIRE(topology.SignOf(member) == sign);
    REQUIRE(topology.Exists(member));
  });
}

TEST_CASE("periods of the axis sizes fold nothing", "[topology]") {
  const Topology topology = Built(Torus({4, 3, 2}));
  const Fold fold = NoFold(topology);
  CHECK(fold.periods == std::vector<int>{4, 3, 2});
  CHECK(!FoldsAnything(topology, fold));
  CHECK(FoldsAnything(topology, {.periods = {4, 3, 1}}));
  const FoldedGrid grid(topology, fold);
  CHECK(grid.sites() == 24);
  CHECK(grid.chips_per_site() == 1);
  CHECK(grid.link_ids() == topology.link_ids());
  for (int chip = 0; chip < 24; ++chip) {
    const auto site = static_cast<std::uint32_t>(chip);
    CHECK(grid.Representative(site) == ChipId(chip));
    for (int axis = 0; axis < 3; ++axis) {
      for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
        CHECK(grid.Neighbour(site, axis, sign) ==
              topology.Neighbour(ChipId(chip), axis, sign)->value());
        CHECK(grid.LinkAt(site, axis, sign) ==
              topology.LinkAt(ChipId(chip), axis, sign));
      }
    }
  }
}

TEST_CASE("period 1 on every axis is one chip whose links end where they start",
          "[topology]") {
  const Topology topology = Built(Torus({16, 20, 28}));
  const FoldedGrid grid(topology, {.periods = {1, 1, 1}});
  CHECK(grid.sites() == 1);
  CHECK(grid.chips_per_site() == 8960);
  CHECK(grid.link_ids() == 6);
  for (int axis = 0; axis < 3; ++axis) {
    CHECK(grid.Neighbour(0, axis, Sign::kPlus) == 0);
    CHECK(grid.Neighbour(0, axis, Sign::kMinus) == 0);
  }
  CHECK(grid.Representative(0u) == ChipId(0));
}

TEST_CASE("links wrap onto the classes", "[topology]") {
  // 4x6 with periods 2 and 3: classes (x mod 2, y mod 3).
  const Topology topology = Built(Torus({4, 6}));
  const FoldedGrid grid(topology, {.periods = {2, 3}});
  CHECK(grid.sites() == 6);
  CHECK(grid.chips_per_site() == 4);
  const std::uint32_t site = grid.SiteAt({3, 5});
  CHECK(site == 1 + 2 * 2);
  CHECK(grid.CoordinatesOf(site) == Coordinates{1, 2, 0, 0});
  CHECK(grid.Neighbour(site, 0, Sign::kPlus) == grid.SiteAt({0, 2}));
  CHECK(grid.Neighbour(site, 0, Sign::kMinus) == grid.SiteAt({0, 2}));
  CHECK(grid.Neighbour(site, 1, Sign::kPlus) == grid.SiteAt({1, 0}));
  CHECK(grid.Neighbour(site, 1, Sign::kMinus) == grid.SiteAt({1, 1}));
  // (1,2) of the slice is chip 9.
  CHECK(grid.Representative(site) == ChipId(9));
}

TEST_CASE("a fold of wrapped axes is the quotient of the slice",
          "[topology][property]") {
  const std::uint32_t seed = GENERATE(61u, 62u);
  CAPTURE(seed);
  ShapeSource source(seed);
  for (int round = 0; round < 60; ++round) {
    GridShape shape = source.Draw(400);
    shape.twisted = false;
    if (source.Chance(3)) shape.axes.push_back({.size = 2, .ici = false});
    const Topology topology = Built(shape);
    Fold fold = NoFold(topology);
    for (std::size_t a = 0; a < fold.periods.size(); ++a) {
      if (!shape.axes[a].wrap && shape.axes[a].ici) continue;
      do {
        fold.periods[a] = 1 + source.Below(shape.axes[a].size);
      } while (shape.axes[a].size % fold.periods[a] != 0);
    }
    CAPTURE(round, Described(shape), fold.periods);
    RequireQuotient(topology, fold);
  }
}

TEST_CASE("periods that divide the short axis fold a twisted torus too",
          "[topology][property]") {
  // The twist shifts by a multiple of the short size, which is 0 modulo them.
  const auto sizes = GENERATE(std::vector{4, 8}, std::vector{4, 4, 8},
                              std::vector{4, 8, 8}, std::vector{8, 4, 4});
  const int period = GENERATE(1, 2, 4);
  CAPTURE(sizes, period);
  RequireQuotient(Built(Torus(sizes, true)),
                  {.periods = std::vector<int>(sizes.size(), period)});
}

}  // namespace
}  // namespace podsim
