#include "topology/topology.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "test/topology/reference_graph.h"

namespace podsim {
namespace {

constexpr Sign kSigns[] = {Sign::kPlus, Sign::kMinus};

Topology ExplicitRing(int chips) {
  std::vector<Cable> cables;
  for (int chip = 0; chip < chips; ++chip) {
    cables.push_back({.a = ChipId(chip),
                      .b = ChipId((chip + 1) % chips),
                      .bandwidth = BytesPerSecond(90e9),
                      .latency = Seconds(1e-6)});
  }
  return Topology::MakeExplicit(chips, cables);
}

int LiveLinks(const Topology& topology) {
  int count = 0;
  topology.ForEachLiveLink([&](LinkId) { ++count; });
  return count;
}

// Shapes that between them have sizes 1 and 2, odd and even ones, wraps and
// meshes, twists, and a multislice.
std::vector<GridShape> ManyShapes() {
  std::vector<GridShape> shapes = {Torus({1}),
                                   Torus({2}),
                                   Torus({5}),
                                   Torus({2, 2, 2}),
                                   Torus({4, 1, 3}),
                                   Torus({4, 4, 4}),
                                   Mesh({1, 1, 1}),
                                   Mesh({2}),
                                   Mesh({7}),
                                   Mesh({2, 2, 1}),
                                   Mesh({3, 4, 2}),
                                   Torus({2, 4}, true),
                                   Torus({4, 8}, true),
                                   Torus({6, 3}, true),
                                   Torus({4, 4, 8}, true),
                                   Torus({4, 8, 8}, true),
                                   Torus({8, 4, 4}, true),
                                   {.axes = {{.size = 4, .wrap = true},
                                             {.size = 3},
                                             {.size = 2, .wrap = true}}},
                                   {.axes = {{.size = 4, .wrap = true},
                                             {.size = 3},
                                             {.size = 3, .ici = false}}},
                                   {.axes = {{.size = 4, .wrap = true},
                                             {.size = 8, .wrap = true},
                                             {.size = 2, .ici = false}},
                                    .twisted = true}};
  ShapeSource source(20);
  for (int k = 0; k < 30; ++k) shapes.push_back(source.Draw(400));
  return shapes;
}

TEST_CASE("chips are numbered x fastest", "[topology]") {
  const Topology topology = Built(Mesh({3, 4, 5}));
  CHECK(topology.chips() == 60);
  // id = x + X (y + Y z): 1 + 3 (2 + 4 * 3) = 43.
  CHECK(topology.ChipAt({1, 2, 3}) == ChipId(43));
  CHECK(topology.CoordinatesOf(ChipId(43)) == Coordinates{1, 2, 3, 0});
  int id = 0;
  for (int z = 0; z < 5; ++z) {
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 3; ++x) {
        CHECK(topology.ChipAt({x, y, z}) == ChipId(id));
        CHECK(topology.CoordinatesOf(ChipId(id)) == Coordinates{x, y, z, 0});
        ++id;
      }
    }
  }
}

TEST_CASE("chips of a multislice are numbered slice after slice",
          "[topology]") {
  const Topology topology =
      Built({.axes = {{.size = 4}, {.size = 3}, {.size = 5, .ici = false}}});
  CHECK(topology.slices() == 5);
  CHECK(topology.ici_axes() == 2);
  CHECK(topology.chips() == 60);
  // id = slice * P + local, with local = 3 + 4 * 2 = 11 and P = 12.
  CHECK(topology.ChipAt({3, 2, 4}) == ChipId(4 * 12 + 11));
  CHECK(AxisName(topology, 0) == "x");
  CHECK(AxisName(topology, 1) == "y");
  CHECK(AxisName(topology, 2) == "dcn");
  CHECK(Built(Mesh({2, 2, 2})).slices() == 1);
  CHECK(AxisName(Built(Mesh({2, 2, 2})), 2) == "z");
}

TEST_CASE("link id is (chip * axes + axis) * 2, one more for minus",
          "[topology]") {
  const Topology topology = Built(Torus({3, 4, 5}));
  // Chip (1,2,3) is 43; y- is (43 * 3 + 1) * 2 + 1 = 261.
  const LinkId link = topology.LinkAt(ChipId(43), 1, Sign::kMinus);
  CHECK(link == LinkId(261));
  CHECK(topology.Source(link) == ChipId(43));
  CHECK(topology.AxisOf(link) == 1);
  CHECK(topology.SignOf(link) == Sign::kMinus);
  CHECK(topology.NameOf(link) == "1,2,3:y-");
  CHECK(topology.Target(link) == topology.ChipAt({1, 1, 3}));
  CHECK(topology.link_ids() == 60 * 3 * 2);
}

TEST_CASE("neighbours follow the rules of shape, wrap and twist",
          "[topology][property]") {
  for (const GridShape& shape : ManyShapes()) {
    CAPTURE(Described(shape));
    const Topology topology = Built(shape);
    const ReferenceGraph graph = ReferenceGrid(shape);
    REQUIRE(topology.chips() == static_cast<int>(graph.size()));
    for (int chip = 0; chip < topology.chips(); ++chip) {
      std::map<std::pair<int, bool>, int> expected;
      for (const ReferenceStep& step : graph[chip]) {
        expected[{step.axis, step.plus}] = step.to;
      }
      for (int axis = 0; axis < topology.ici_axes(); ++axis) {
        for (const Sign sign : kSigns) {
          const auto found = expected.find({axis, sign == Sign::kPlus});
          const LinkId link = topology.LinkAt(ChipId(chip), axis, sign);
          const auto neighbour = topology.Neighbour(ChipId(chip), axis, sign);
          REQUIRE(neighbour.has_value() == (found != expected.end()));
          REQUIRE(topology.Exists(link) == neighbour.has_value());
          REQUIRE(topology.Live(link) == neighbour.has_value());
          if (!neighbour) continue;
          REQUIRE(neighbour->value() ==
                  static_cast<std::uint32_t>(found->second));
          REQUIRE(topology.Target(link) == *neighbour);
        }
      }
    }
  }
}

TEST_CASE("the two links of a cable are each other's reverse",
          "[topology][property]") {
  for (const GridShape& shape : ManyShapes()) {
    CAPTURE(Described(shape));
    const Topology topology = Built(shape);
    topology.ForEachLiveLink([&](LinkId link) {
      const LinkId back = topology.Reverse(link);
      REQUIRE(topology.Exists(back));
      REQUIRE(back != link);
      REQUIRE(topology.Reverse(back) == link);
      REQUIRE(topology.Source(back) == topology.Target(link));
      REQUIRE(topology.Target(back) == topology.Source(link));
      REQUIRE(topology.AxisOf(back) == topology.AxisOf(link));
      REQUIRE(topology.SignOf(back) == Opposite(topology.SignOf(link)));
    });
  }
  const Topology ring = ExplicitRing(5);
  ring.ForEachLiveLink([&](LinkId link) {
    const LinkId back = ring.Reverse(link);
    REQUIRE(back != link);
    REQUIRE(ring.Reverse(back) == link);
    REQUIRE(ring.Source(back) == ring.Target(link));
    REQUIRE(ring.Target(back) == ring.Source(link));
  });
}

TEST_CASE("an axis of n > 1 has 2P links if it wraps and 2P(n-1)/n if not",
          "[topology][property]") {
  for (const GridShape& shape : ManyShapes()) {
    CAPTURE(Described(shape));
    int expected = 0;
    for (const GridAxis& axis : shape.axes) {
      if (!axis.ici || axis.size == 1) continue;
      const int lines = Chips(shape) / axis.size;
      expected += 2 * lines * (axis.wrap ? axis.size : axis.size - 1);
    }
    CHECK(LiveLinks(Built(shape)) == expected);
  }
}

TEST_CASE("an axis of one chip has no links, wrapped or not", "[topology]") {
  const bool wrap = GENERATE(false, true);
  const Topology topology =
      Built({.axes = {{.size = 3, .wrap = true}, {.size = 1, .wrap = wrap}}});
  for (int chip = 0; chip < 3; ++chip) {
    for (const Sign sign : kSigns) {
      CHECK(!topology.Neighbour(ChipId(chip), 1, sign));
      CHECK(!topology.Exists(topology.LinkAt(ChipId(chip), 1, sign)));
    }
  }
  CHECK(LiveLinks(topology) == 6);
}

TEST_CASE("an axis of two chips is one cable", "[topology]") {
  const Topology topology = Built(Mesh({2}));
  const LinkId there = topology.LinkAt(ChipId(0), 0, Sign::kPlus);
  const LinkId back = topology.LinkAt(ChipId(1), 0, Sign::kMinus);
  CHECK(topology.Live(there));
  CHECK(topology.Live(back));
  CHECK(topology.Reverse(there) == back);
  CHECK(!topology.Exists(topology.LinkAt(ChipId(0), 0, Sign::kMinus)));
  CHECK(!topology.Exists(topology.LinkAt(ChipId(1), 0, Sign::kPlus)));
}

TEST_CASE("a wrapped axis of two chips is two parallel cables", "[topology]") {
  const Topology topology = Built(Torus({2}));
  // Link + and link - of chip 0 both end at chip 1, and conversely.
  for (const int chip : {0, 1}) {
    for (const Sign sign : kSigns) {
      CHECK(topology.Neighbour(ChipId(chip), 0, sign) == ChipId(1 - chip));
    }
  }
  const LinkId first = topology.LinkAt(ChipId(0), 0, Sign::kPlus);
  const LinkId second = topology.LinkAt(ChipId(0), 0, Sign::kMinus);
  CHECK(topology.Reverse(first) == topology.LinkAt(ChipId(1), 0, Sign::kMinus));
  CHECK(topology.Reverse(second) == topology.LinkAt(ChipId(1), 0, Sign::kPlus));
}

TEST_CASE("the wrap of a short axis shifts the long ones of a twisted torus",
          "[topology]") {
  // Leaving axis a adds size[a] to every coordinate, each modulo its own size.
  const Topology flat = Built(Torus({4, 8}, true));
  const auto at = [](const Topology& topology, Coordinates chip, int axis,
                     Sign sign) {
    return topology.CoordinatesOf(
        *topology.Neighbour(topology.ChipAt(chip), axis, sign));
  };
  // (3+1-4, 1+4); back: (0-1+4, 6+4-8).
  CHECK(at(flat, {3, 1}, 0, Sign::kPlus) == Coordinates{0, 5});
  CHECK(at(flat, {0, 6}, 0, Sign::kMinus) == Coordinates{3, 2});
  // Leaving y adds 8: nothing modulo 4.
  CHECK(at(flat, {2, 7}, 1, Sign::kPlus) == Coordinates{2, 0});
  CHECK(at(flat, {2, 0}, 1, Sign::kMinus) == Coordinates{2, 7});
  // Inside the axis nothing is shifted.
  CHECK(at(flat, {1, 1}, 0, Sign::kPlus) == Coordinates{2, 1});

  const Topology one_long = Built(Torus({4, 4, 8}, true));
  CHECK(at(one_long, {3, 2, 5}, 0, Sign::kPlus) == Coordinates{0, 2, 1});
  CHECK(at(one_long, {3, 3, 5}, 1, Sign::kPlus) == Coordinates{3, 0, 1});
  CHECK(at(one_long, {3, 3, 7}, 2, Sign::kPlus) == Coordinates{3, 3, 0});

  const Topology two_long = Built(Torus({4, 8, 8}, true));
  CHECK(at(two_long, {3, 1, 2}, 0, Sign::kPlus) == Coordinates{0, 5, 6});
  CHECK(at(two_long, {3, 7, 2}, 1, Sign::kPlus) == Coordinates{3, 0, 2});

  // The axes in another order.
  const Topology turned = Built(Torus({8, 4, 4}, true));
  CHECK(at(turned, {6, 1, 0}, 2, Sign::kMinus) == Coordinates{2, 1, 3});
}

TEST_CASE("a short axis of a twisted torus closes after two rounds",
          "[topology]") {
  const Topology topology = Built(Torus({4, 8}, true));
  ChipId chip(0);
  std::set<ChipId> seen;
  do {
    seen.insert(chip);
    chip = *topology.Neighbour(chip, 0, Sign::kPlus);
  } while (chip != ChipId(0));
  CHECK(seen.size() == 8);  // 2 * 4
}

TEST_CASE("every name finds its chip or link again", "[topology][property]") {
  for (const GridShape& shape : ManyShapes()) {
    CAPTURE(Described(shape));
    const Topology topology = Built(shape);
    for (int chip = 0; chip < topology.chips(); ++chip) {
      REQUIRE(topology.FindChip(topology.NameOf(ChipId(chip))) == ChipId(chip));
    }
    topology.ForEachLiveLink([&](LinkId link) {
      REQUIRE(topology.FindLink(topology.NameOf(link)) == link);
    });
  }
}

TEST_CASE("names have as many coordinates as the slice has axes",
          "[topology]") {
  CHECK(Built(Mesh({9})).NameOf(ChipId(7)) == "7");
  CHECK(Built(Mesh({2, 4, 4})).NameOf(ChipId(3)) == "1,1,0");
  const Topology line = Built(Mesh({9}));
  CHECK(line.NameOf(line.LinkAt(ChipId(7), 0, Sign::kMinus)) == "7:x-");
  const Topology pair =
      Built({.axes = {{.size = 4}, {.size = 2, .ici = false}}});
  CHECK(pair.NameOf(ChipId(6)) == "2,1");
}

TEST_CASE("what names no chip or link is not found", "[topology]") {
  const Topology topology = Built(Mesh({4, 4, 4}));
  for (const char* name :
       {"", "7", "1,2", "1,2,3,0", "4,0,0", "0,0,4", "-1,0,0", "a,b,c", "1,,3",
        "1, 2,3", "1,2,3 ", "1,2,3:x+", "99999999999,0,0", "1.5,0,0"}) {
    CAPTURE(name);
    CHECK(!topology.FindChip(name));
  }
  for (const char* name :
       {"", "1,2,3", "1,2,3:", "1,2,3:x", "1,2,3:+", "1,2,3:w+", "1,2,3:X+",
        "1,2,3:x*", "1,2,3:x+ ", "1,2,9:x+", "1,2:x+", "1,2,3:x++", "0-1",
        // The mesh ends there.
        "3,0,0:x+", "0,0,0:z-"}) {
    CAPTURE(name);
    CHECK(!topology.FindLink(name));
  }
  const Topology pair =
      Built({.axes = {{.size = 4}, {.size = 2, .ici = false}}});
  for (const char* name : {"1:x+", "1,1:dcn+", "1,1:y+", "1,2:x+"}) {
    CAPTURE(name);
    CHECK(!pair.FindLink(name));
  }
}

TEST_CASE("a list of cables keeps their ends, order and speeds", "[topology]") {
  const Topology topology =
      Topology::MakeExplicit(3, {{.a = ChipId(2),
                                  .b = ChipId(0),
                                  .bandwidth = BytesPerSecond(45e9),
                                  .latency = Seconds(2e-6)},
                                 {.a = ChipId(0),
                                  .b = ChipId(1),
                                  .bandwidth = BytesPerSecond(90e9),
                                  .latency = Seconds(1e-6)}});
  CHECK(!topology.is_grid());
  CHECK(!topology.twisted());
  CHECK(topology.slices() == 1);
  CHECK(topology.chips() == 3);
  CHECK(topology.link_ids() == 4);
  // Cable k has links 2k (a to b) and 2k+1 (b to a).
  CHECK(topology.Source(LinkId(0)) == ChipId(2));
  CHECK(topology.Target(LinkId(0)) == ChipId(0));
  CHECK(topology.Source(LinkId(1)) == ChipId(0));
  CHECK(topology.Target(LinkId(1)) == ChipId(2));
  CHECK(topology.NameOf(LinkId(0)) == "2-0");
  CHECK(topology.NameOf(LinkId(1)) == "0-2");
  CHECK(topology.NameOf(LinkId(2)) == "0-1");
  CHECK(topology.NameOf(LinkId(3)) == "1-0");
  CHECK(topology.NameOf(ChipId(2)) == "2");
  for (std::uint32_t id = 0; id < 4; ++id) {
    CHECK(topology.FindLink(topology.NameOf(LinkId(id))) == LinkId(id));
    CHECK(topology.Bandwidth(LinkId(id)).value() == (id < 2 ? 45e9 : 90e9));
    CHECK(topology.Latency(LinkId(id)).value() == (id < 2 ? 2e-6 : 1e-6));
  }
  CHECK(topology.FindChip("2") == ChipId(2));
  for (const char* name : {"1-2", "0-0", "0", "0-1-2", "0:x+", "3-0", ""}) {
    CAPTURE(name);
    CHECK(!topology.FindLink(name));
  }
  for (const char* name : {"3", "-1", "0,0", "", "0-1"}) {
    CAPTURE(name);
    CHECK(!topology.FindChip(name));
  }
  CHECK(topology.healthy());
  CHECK(!topology.uniform());
  CHECK(ExplicitRing(4).uniform());
}

TEST_CASE("the links from a chip are those with it as their source",
          "[topology][property]") {
  std::vector<Topology> topologies = {ExplicitRing(6)};
  for (const GridShape& shape : ManyShapes())
    topologies.push_back(Built(shape));
  for (Topology& topology : topologies) {
    if (topology.link_ids() > 3) topology.Kill(LinkId(3));
    std::map<std::uint32_t, std::vector<LinkId>> expected, found;
    topology.ForEachLiveLink([&](LinkId link) {
      expected[topology.Source(link).value()].push_back(link);
    });
    for (int chip = 0; chip < topology.chips(); ++chip) {
      topology.ForEachLiveLinkFrom(ChipId(chip), [&](LinkId link) {
        found[static_cast<std::uint32_t>(chip)].push_back(link);
      });
    }
    CHECK(found == expected);
  }
}

TEST_CASE("all links of a grid are as fast as built", "[topology]") {
  const Topology topology = Topology::MakeGrid(
      {{.size = 4, .wrap = true}}, false, BytesPerSecond(45e9), Seconds(5e-7));
  topology.ForEachLiveLink([&](LinkId link) {
    CHECK(topology.Bandwidth(link).value() == 45e9);
    CHECK(topology.Latency(link).value() == 5e-7);
  });
  CHECK(topology.base_bandwidth().value() == 45e9);
  CHECK(topology.base_latency().value() == 5e-7);
  CHECK(topology.healthy());
  CHECK(topology.uniform());
}

TEST_CASE("a killed link is dead in its direction only", "[topology]") {
  Topology topology = Built(Torus({4, 4}));
  const LinkId link = *topology.FindLink("1,2:x+");
  topology.Kill(link);
  CHECK(!topology.Live(link));
  CHECK(topology.Exists(link));
  CHECK(topology.Live(topology.Reverse(link)));
  CHECK(topology.Neighbour(topology.Source(link), 0, Sign::kPlus) ==
        topology.ChipAt({2, 2}));
  CHECK(LiveLinks(topology) == 2 * 2 * 16 - 1);
  CHECK(!topology.healthy());
  CHECK(!topology.uniform());
  CHECK(topology.live_chips() == 16);
}

TEST_CASE("a killed chip takes its links with it", "[topology]") {
  Topology topology = Built(Torus({4, 4}));
  const ChipId chip = *topology.FindChip("1,2");
  topology.Kill(chip);
  topology.Kill(chip);  // a second time changes nothing
  CHECK(!topology.Live(chip));
  CHECK(topology.live_chips() == 15);
  // Four cables, both directions.
  CHECK(LiveLinks(topology) == 2 * 2 * 16 - 8);
  topology.ForEachLiveLink([&](LinkId link) {
    CHECK(topology.Source(link) != chip);
    CHECK(topology.Target(link) != chip);
  });
  CHECK(topology.Exists(*topology.FindLink("1,2:x+")));
}

TEST_CASE("a degraded link keeps its share of the rate", "[topology]") {
  Topology topology = Built(Torus({4, 4}));
  const LinkId link = *topology.FindLink("1,2:x+");
  topology.Degrade(link, 0.25);
  CHECK(topology.Live(link));
  CHECK(topology.Bandwidth(link).value() == Approx(25e9));
  CHECK(topology.Bandwidth(topology.Reverse(link)).value() == 100e9);
  CHECK(topology.Latency(link).value() == 1e-6);
  CHECK(!topology.uniform());
  CHECK(LiveLinks(topology) == 2 * 2 * 16);
}

TEST_CASE("no rate brings a dead link back", "[topology]") {
  Topology first = Built(Torus({4}));
  first.Kill(LinkId(0));
  first.Degrade(LinkId(0), 0.5);
  CHECK(!first.Live(LinkId(0)));
  Topology second = Built(Torus({4}));
  second.Degrade(LinkId(0), 0.5);
  second.Kill(LinkId(0));
  CHECK(!second.Live(LinkId(0)));
}

}  // namespace
}  // namespace podsim
