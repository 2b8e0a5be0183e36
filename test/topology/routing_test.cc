#include "topology/routing.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "test/topology/input.h"
#include "test/topology/reference_graph.h"

namespace podsim {
namespace {

constexpr TieRule kTies[] = {TieRule::kParity, TieRule::kPlus, TieRule::kMinus};

std::vector<std::string> NamesOf(const Topology& topology,
                                 const std::vector<LinkId>& route) {
  std::vector<std::string> names;
  for (const LinkId link : route) names.push_back(topology.NameOf(link));
  return names;
}

std::vector<std::string> RouteNames(const Topology& topology,
                                    const std::string& from,
                                    const std::string& to,
                                    TieRule tie = TieRule::kParity) {
  const auto route =
      Route(topology, *topology.FindChip(from), *topology.FindChip(to), tie);
  REQUIRE(route.has_value());
  return NamesOf(topology, *route);
}

// Fails unless every link is live and starts where the one before ends.
void RequirePath(const Topology& topology, const std::vector<LinkId>& route,
                 ChipId from, ChipId to) {
  ChipId chip = from;
  for (const LinkId link : route) {
    REQUIRE(topology.Live(link));
    REQUIRE(topology.Source(link) == chip);
    chip = topology.Target(link);
  }
  REQUIRE(chip == to);
}

std::vector<int> LoadsOf(const Topology& topology, TieRule tie) {
  std::vector<int> loads(topology.link_ids());
  for (int from = 0; from < topology.chips(); ++from) {
    for (int to = 0; to < topology.chips(); ++to) {
      const auto route = Route(topology, ChipId(from), ChipId(to), tie);
      REQUIRE(route.has_value());
      for (const LinkId link : *route) ++loads[link.value()];
    }
  }
  return loads;
}

std::vector<bool> Signs(const Topology& topology,
                        const std::vector<LinkId>& route) {
  std::vector<bool> signs;
  for (const LinkId link : route) {
    signs.push_back(topology.SignOf(link) == Sign::kPlus);
  }
  return signs;
}

TEST_CASE("a message to its own chip takes no link", "[topology]") {
  const Topology topology = Built(Torus({4, 4}));
  const auto route = Route(topology, ChipId(5), ChipId(5), TieRule::kParity);
  REQUIRE(route.has_value());
  CHECK(route->empty());
}

TEST_CASE("routes go along x, then y, then z, the shorter way", "[topology]") {
  const Topology topology = Built(Torus({8, 8, 8}));
  // x: 1 to 3, two ahead; y: 2 to 7, three back; z: 6 to 0, two ahead.
  CHECK(RouteNames(topology, "1,2,6", "3,7,0") ==
        std::vector<std::string>{"1,2,6:x+", "2,2,6:x+", "3,2,6:y-", "3,1,6:y-",
                                 "3,0,6:y-", "3,7,6:z+", "3,7,7:z+"});
  const Topology mesh = Built(Mesh({4, 4}));
  CHECK(RouteNames(mesh, "3,0", "0,1") ==
        std::vector<std::string>{"3,0:x-", "2,0:x-", "1,0:x-", "0,0:y+"});
}

TEST_CASE("half way round, even coordinates go + and odd ones -",
          "[topology]") {
  const Topology ring = Built(Torus({4}));
  CHECK(RouteNames(ring, "0", "2") == std::vector<std::string>{"0:x+", "1:x+"});
  CHECK(RouteNames(ring, "1", "3") == std::vector<std::string>{"1:x-", "0:x-"});
  CHECK(RouteNames(ring, "2", "0") == std::vector<std::string>{"2:x+", "3:x+"});
  CHECK(RouteNames(ring, "3", "1") == std::vector<std::string>{"3:x-", "2:x-"});
  // The coordinate on that axis decides: x = 1 is odd, y = 2 is even.
  const Topology torus = Built(Torus({4, 4}));
  CHECK(RouteNames(torus, "1,2", "3,0") ==
        std::vector<std::string>{"1,2:x-", "0,2:x-", "3,2:y+", "3,3:y+"});
}

TEST_CASE("half way round, the halves of a message go + and - on every axis",
          "[topology]") {
  const Topology torus = Built(Torus({4, 4}));
  CHECK(RouteNames(torus, "1,2", "3,0", TieRule::kPlus) ==
        std::vector<std::string>{"1,2:x+", "2,2:x+", "3,2:y+", "3,3:y+"});
  CHECK(RouteNames(torus, "1,2", "3,0", TieRule::kMinus) ==
        std::vector<std::string>{"1,2:x-", "0,2:x-", "3,2:y-", "3,1:y-"});
  // Without a tie the rule does not matter.
  for (const TieRule tie : kTies) {
    CHECK(RouteNames(torus, "1,2", "0,3", tie) ==
          std::vector<std::string>{"1,2:x-", "0,2:y+"});
  }
}

TEST_CASE("two parallel cables are a tie", "[topology]") {
  const Topology pair = Built(Torus({2}));
  CHECK(RouteNames(pair, "0", "1") == std::vector<std::string>{"0:x+"});
  CHECK(RouteNames(pair, "1", "0") == std::vector<std::string>{"1:x-"});
  CHECK(RouteNames(pair, "0", "1", TieRule::kMinus) ==
        std::vector<std::string>{"0:x-"});
  CHECK(RouteNames(pair, "1", "0", TieRule::kPlus) ==
        std::vector<std::string>{"1:x+"});
}

TEST_CASE("healthy grids route minimally, in dimension order, by the tie rule",
          "[topology][property]") {
  const std::uint32_t seed = GENERATE(31u, 32u);
  CAPTURE(seed);
  ShapeSource source(seed);
  for (int round = 0; round < 30; ++round) {
    GridShape shape = source.Draw(60);
    shape.twisted = false;
    CAPTURE(round, Described(shape));
    const Topology topology = Built(shape);
    const ReferenceGraph graph = ReferenceGrid(shape);
    for (int from = 0; from < Chips(shape); ++from) {
      const std::vector<int> hops = ReferenceHops(graph, from);
      for (int to = 0; to < Chips(shape); ++to) {
        for (const TieRule tie : kTies) {
          const auto route = Route(topology, ChipId(from), ChipId(to), tie);
          if (hops[to] < 0) {
            REQUIRE(!route.has_value());
            continue;
          }
          REQUIRE(route.has_value());
          REQUIRE(static_cast<int>(route->size()) == hops[to]);
          RequirePath(topology, *route, ChipId(from), ChipId(to));
          std::map<int, std::vector<LinkId>> by_axis;
          int last = 0;
          for (const LinkId link : *route) {
            REQUIRE(topology.AxisOf(link) >= last);
            last = topology.AxisOf(link);
            by_axis[last].push_back(link);
          }
          for (const auto& [axis, links] : by_axis) {
            const GridAxis& along = shape.axes[axis];
            const int n = along.size;
            const int at = topology.CoordinatesOf(ChipId(from))[axis];
            for (const LinkId link : links) {
              REQUIRE(topology.SignOf(link) == topology.SignOf(links[0]));
            }
            const bool tied =
                along.wrap && 2 * static_cast<int>(links.size()) == n;
            if (!tied) continue;
            const bool plus = tie == TieRule::kPlus ||
                              (tie == TieRule::kParity && at % 2 == 0);
            REQUIRE((topology.SignOf(links[0]) == Sign::kPlus) == plus);
          }
        }
      }
    }
  }
}

TEST_CASE(
    "uniform all-to-all in halves loads every link of an axis with "
    "P/n floor(n^2/4)/2 messages",
    "[topology][formula]") {
  const auto sizes =
      GENERATE(std::vector{2}, std::vector{3}, std::vector{4}, std::vector{5},
               std::vector{6}, std::vector{7}, std::vector{8}, std::vector{10},
               std::vector{16}, std::vector{2, 4}, std::vector{4, 4},
               std::vector{3, 5}, std::vector{4, 6}, std::vector{4, 8},
               std::vector{2, 3, 4}, std::vector{4, 4, 8});
  CAPTURE(sizes);
  const Topology topology = Built(Torus(sizes));
  const std::vector<int> plus = LoadsOf(topology, TieRule::kPlus);
  const std::vector<int> minus = LoadsOf(topology, TieRule::kMinus);
  // P^2 pairs travel P * P/n * floor(n^2/4) hops over the 2P links of the axis.
  // A message is half 0 by the + rule and half 1 by the - rule, so the sum
  // counts half messages.
  topology.ForEachLiveLink([&](LinkId link) {
    const int n = sizes[topology.AxisOf(link)];
    REQUIRE(plus[link.value()] + minus[link.value()] ==
            topology.chips() / n * (n * n / 4));
  });
}

TEST_CASE("the busiest link of a plain torus carries the table's load",
          "[topology][formula]") {
  // Dimension order, table of the TPU notes.
  const auto [sizes, load] = GENERATE(table<std::vector<int>, double>(
      {{{4, 8}, 32}, {{8, 16}, 256}, {{4, 4, 8}, 128}}));
  CAPTURE(sizes);
  const Topology topology = Built(Torus(sizes));
  const std::vector<int> plus = LoadsOf(topology, TieRule::kPlus);
  const std::vector<int> minus = LoadsOf(topology, TieRule::kMinus);
  double busiest = 0;
  for (std::size_t id = 0; id < plus.size(); ++id) {
    busiest = std::max(busiest, (plus[id] + minus[id]) / 2.0);
  }
  CHECK(busiest == load);
}

TEST_CASE("by parity the links of an even ring differ by at most one message",
          "[topology][formula]") {
  const int n = GENERATE(2, 4, 6, 8, 10, 12, 16);
  CAPTURE(n);
  const Topology ring = Built(Torus({n}));
  const std::vector<int> loads = LoadsOf(ring, TieRule::kParity);
  // Distances below n/2 put their sum on each link. Of the n/2 consecutive
  // sources whose way of n/2 hops passes a link, those of one parity count:
  // n/4, rounded up or down if n/2 is odd.
  const int shorter = (n / 2 - 1) * (n / 2) / 2;
  int total = 0;
  for (const int load : loads) {
    total += load;
    CHECK((load == shorter + n / 4 || load == shorter + (n / 2 + 1) / 2));
    if (n % 4 == 0) CHECK(load == n * n / 8);
  }
  CHECK(total == n * (n * n / 4));
}

TEST_CASE("always + loads a ring of four with half as much again",
          "[topology][formula]") {
  const Topology ring = Built(Torus({4}));
  const std::vector<int> loads = LoadsOf(ring, TieRule::kPlus);
  for (const LinkId link : {LinkId(0), LinkId(2), LinkId(4), LinkId(6)}) {
    CHECK(loads[link.value()] == 3);      // 1 + 2, where 2 is balanced
    CHECK(loads[link.value() + 1] == 1);  // minus
  }
}

TEST_CASE("link i of a line of n carries (i+1)(n-1-i) messages each way",
          "[topology][formula]") {
  const int n = GENERATE(2, 3, 7, 8);
  const int rows = 3;  // a wrapped axis beside: as many times its chips
  const Topology topology =
      Built({.axes = {{.size = n}, {.size = rows, .wrap = true}}});
  const std::vector<int> loads = LoadsOf(topology, TieRule::kParity);
  int busiest = 0;
  topology.ForEachLiveLink([&](LinkId link) {
    if (topology.AxisOf(link) != 0) return;
    const int at = topology.CoordinatesOf(topology.Source(link))[0];
    const int i = topology.SignOf(link) == Sign::kPlus ? at : at - 1;
    CHECK(loads[link.value()] == rows * (i + 1) * (n - 1 - i));
    busiest = std::max(busiest, loads[link.value()]);
  });
  CHECK(busiest == rows * (n / 2) * ((n + 1) / 2));
}

TEST_CASE("routes in halves depend on the displacement only",
          "[topology][property]") {
  const Topology topology = Built(Torus({4, 3, 2}));
  const auto moved = [&](ChipId chip, const Coordinates& by) {
    Coordinates at = topology.CoordinatesOf(chip);
    for (int a = 0; a < 3; ++a) {
      at[a] = (at[a] + by[a]) % topology.axes()[a].size;
    }
    return topology.ChipAt(at);
  };
  const auto signs = [&](ChipId from, const Coordinates& by, TieRule tie) {
    return Signs(topology, *Route(topology, from, moved(from, by), tie));
  };
  for (int displacement = 0; displacement < 24; ++displacement) {
    const Coordinates by = topology.CoordinatesOf(ChipId(displacement));
    for (int chip = 0; chip < 24; ++chip) {
      for (const TieRule tie : {TieRule::kPlus, TieRule::kMinus}) {
        CHECK(signs(ChipId(chip), by, tie) == signs(ChipId(0), by, tie));
      }
      // By parity, on the source's parity on each axis as well.
      Coordinates parity = topology.CoordinatesOf(ChipId(chip));
      for (int& at : parity) at %= 2;
      CHECK(signs(ChipId(chip), by, TieRule::kParity) ==
            signs(topology.ChipAt(parity), by, TieRule::kParity));
    }
  }
}

TEST_CASE("a message goes round a dead link the shortest way", "[topology]") {
  Topology ring = Built(Torus({6}));
  ring.Kill(*ring.FindLink("0:x+"));
  CHECK(RouteNames(ring, "0", "1") ==
        std::vector<std::string>{"0:x-", "5:x-", "4:x-", "3:x-", "2:x-"});
  // The other direction lives.
  CHECK(RouteNames(ring, "1", "0") == std::vector<std::string>{"1:x-"});

  Topology mesh = Built(Mesh({3, 3}));
  mesh.Kill(*mesh.FindLink("0,1:x+"));
  // y+ and y- are both three hops; + stands before -.
  CHECK(RouteNames(mesh, "0,1", "1,1") ==
        std::vector<std::string>{"0,1:y+", "0,2:x+", "1,2:y-"});
  Topology hole = Built(Mesh({3, 3}));
  hole.Kill(*hole.FindChip("1,1"));
  CHECK(RouteNames(hole, "0,1", "2,1") ==
        std::vector<std::string>{"0,1:y+", "0,2:x+", "1,2:x+", "2,2:y-"});
  // Of several shortest ways the one that leaves along x first.
  CHECK(RouteNames(hole, "0,0", "2,2") ==
        std::vector<std::string>{"0,0:x+", "1,0:x+", "2,0:y+", "2,1:y+"});
}

TEST_CASE("two parallel cables stand in for each other", "[topology]") {
  Topology pair = Built(Torus({2}));
  pair.Kill(*pair.FindLink("0:x+"));
  CHECK(RouteNames(pair, "0", "1") == std::vector<std::string>{"0:x-"});
}

TEST_CASE("where there is no way there is no route", "[topology]") {
  Topology line = Built(Mesh({4}));
  line.Kill(*line.FindLink("1:x+"));
  CHECK(!Route(line, ChipId(0), ChipId(3), TieRule::kParity));
  CHECK(Route(line, ChipId(3), ChipId(0), TieRule::kParity));
  Topology hole = Built(Torus({4}));
  hole.Kill(ChipId(1));
  CHECK(!Route(hole, ChipId(0), ChipId(1), TieRule::kParity));
  CHECK(!Route(hole, ChipId(1), ChipId(0), TieRule::kParity));
  // Without DCN the slices of a multislice are worlds apart.
  Topology slices = SliceOf("2*v4:2x2x1").topology;
  CHECK(!Route(slices, ChipId(0), ChipId(4), TieRule::kParity));
  CHECK(Route(slices, ChipId(4), ChipId(7), TieRule::kParity));
  slices.Kill(*slices.FindLink("0,0,0,0:x+"));
  CHECK(!Route(slices, ChipId(0), ChipId(4), TieRule::kParity));
  CHECK(Route(slices, ChipId(0), ChipId(3), TieRule::kParity));
}

TEST_CASE("to another slice a message takes the NICs of two hosts",
          "[topology]") {
  // Hosts of 2x4 chips, on 4x4 chips two of them side by side.
  Topology slices = SliceOf("3*v5e:4x4").topology;
  CHECK(RouteNames(slices, "1,3,0", "2,0,2") ==
        std::vector<std::string>{"0,0,0:dcn+", "2,0,2:dcn-"});
  CHECK(slices.hosts() == 6);
  CHECK(slices.port_ids() == slices.link_ids() + 12);
  for (std::uint32_t id = slices.link_ids(); id < slices.port_ids(); ++id) {
    CHECK(slices.FindLink(slices.NameOf(LinkId(id))) == LinkId(id));
    CHECK(slices.ChipsOf(LinkId(id)) == 8);
    // 25 Gbit/s per chip, and half of 10 us.
    CHECK(slices.Bandwidth(LinkId(id)).value() == Approx(25e9));
    CHECK(slices.Latency(LinkId(id)).value() == Approx(5e-6));
  }
  slices.Kill(*slices.FindLink("0,0,0:x+"));
  CHECK(RouteNames(slices, "0,0,0", "0,0,1") ==
        std::vector<std::string>{"0,0,0:dcn+", "0,0,1:dcn-"});
  // Hosts cut short by the border: 3 of 5 places along y hold 2, 2 and 1.
  SliceRequest request;
  request.spec = "2*ideal:2x5";
  request.sets = {"dcn.bandwidth=1GB/s", "host.chips=4"};
  const Topology cut = MakeSlice(request).topology;
  CHECK(cut.hosts() == 6);
  CHECK(cut.ChipsOf(*cut.FindLink("0,2,1:dcn-")) == 4);
  CHECK(cut.ChipsOf(*cut.FindLink("0,4,1:dcn-")) == 2);
  CHECK(cut.Bandwidth(*cut.FindLink("0,4,0:dcn+")).value() == 2e9);
  CHECK(!cut.FindLink("1,4,0:dcn+"));
}

TEST_CASE("a twisted torus takes the short way over its twist", "[topology]") {
  const Topology topology = Built(Torus({4, 8}, true));
  // 3,0:x+ ends at 0,4.
  CHECK(RouteNames(topology, "3,0", "0,4") ==
        std::vector<std::string>{"3,0:x+"});
  CHECK(RouteNames(topology, "0,0", "3,4") ==
        std::vector<std::string>{"0,0:x-"});
  // Four hops along x or along y: x stands first, + before -.
  CHECK(RouteNames(topology, "0,0", "0,4") ==
        std::vector<std::string>{"0,0:x+", "1,0:x+", "2,0:x+", "3,0:x+"});
}

TEST_CASE(
    "twisted or damaged slices take the shortest path that is smallest by "
    "axis, + before -",
    "[topology][property]") {
  const std::uint32_t seed = GENERATE(41u, 42u, 43u);
  CAPTURE(seed);
  ShapeSource source(seed);
  for (int round = 0; round < 30; ++round) {
    GridShape shape = source.Draw(64);
    if (Chips(shape) < 2) continue;
    CAPTURE(round, Described(shape));
    Topology topology = Built(shape);
    ReferenceGraph graph = ReferenceGrid(shape);
    const int faults = shape.twisted ? source.Below(3) : 1 + source.Below(6);
    int killed = 0;
    for (int k = 0; k < faults; ++k) {
      const int chip = source.Below(Chips(shape));
      auto& steps = graph[chip];
      if (steps.empty()) continue;
      const std::size_t at = source.Below(static_cast<int>(steps.size()));
      topology.Kill(
          topology.LinkAt(ChipId(chip), steps[at].axis,
                          steps[at].plus ? Sign::kPlus : Sign::kMinus));
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(at));
      ++killed;
    }
    if (!shape.twisted && killed == 0) continue;
    ReferenceGraph backward(graph.size());
    for (std::size_t chip = 0; chip < graph.size(); ++chip) {
      for (const ReferenceStep& step : graph[chip]) {
        backward[step.to].push_back(
            {static_cast<int>(chip), step.axis, step.plus});
      }
    }
    for (int to = source.Below(3); to < Chips(shape); to += 3) {
      const std::vector<int> left = ReferenceHops(backward, to);
      for (int from = source.Below(3); from < Chips(shape); from += 3) {
        const auto route =
            Route(topology, ChipId(from), ChipId(to), kTies[source.Below(3)]);
        REQUIRE(route.has_value() == (left[from] >= 0));
        if (!route) continue;
        // Steps of the reference stand in order of axis, + before -: the first
        // one that gets closer is the smallest.
        std::vector<LinkId> smallest;
        for (int chip = from; chip != to;) {
          for (const ReferenceStep& step : graph[chip]) {
            if (left[step.to] != left[chip] - 1) continue;
            smallest.push_back(
                topology.LinkAt(ChipId(chip), step.axis,
                                step.plus ? Sign::kPlus : Sign::kMinus));
            chip = step.to;
            break;
          }
        }
        REQUIRE(*route == smallest);
        RequirePath(topology, *route, ChipId(from), ChipId(to));
      }
    }
  }
}

TEST_CASE("a list of cables takes the shortest path that is smallest by link",
          "[topology][property]") {
  const std::uint32_t seed = GENERATE(51u, 52u);
  CAPTURE(seed);
  ShapeSource source(seed);
  const int chips = 20;
  std::vector<Cable> cables;
  ReferenceGraph graph(chips);
  const auto add = [&](int a, int b) {
    const int link = static_cast<int>(2 * cables.size());
    cables.push_back({.a = ChipId(a),
                      .b = ChipId(b),
                      .bandwidth = BytesPerSecond(1e9),
                      .latency = Seconds(0)});
    graph[a].push_back({b, link, true});
    graph[b].push_back({a, link + 1, true});
  };
  for (int chip = 1; chip < chips; ++chip) add(source.Below(chip), chip);
  for (int k = 0; k < 15; ++k) {
    const int a = source.Below(chips - 1);
    add(a, a + 1 + source.Below(chips - 1 - a));
  }
  const Topology topology = Topology::MakeExplicit(chips, cables);
  for (int to = 0; to < chips; ++to) {
    const std::vector<int> left = ReferenceHops(graph, to);  // both ways equal
    for (int from = 0; from < chips; ++from) {
      std::vector<LinkId> smallest;
      for (int chip = from; chip != to;) {
        for (const ReferenceStep& step : graph[chip]) {
          if (left[step.to] != left[chip] - 1) continue;
          smallest.push_back(LinkId(step.axis));  // here: the link's id
          chip = step.to;
          break;
        }
      }
      const auto route =
          Route(topology, ChipId(from), ChipId(to), TieRule::kParity);
      REQUIRE(route.has_value());
      REQUIRE(*route == smallest);
    }
  }
}

}  // namespace
}  // namespace podsim
