#include "topology/distance.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "test/topology/input.h"
#include "test/topology/reference_graph.h"

namespace podsim {
namespace {

// A ring or line of n: hops over all n^2 ordered pairs.
double PairHops(const GridAxis& axis) {
  double sum = 0;
  for (int from = 0; from < axis.size; ++from) {
    for (int to = 0; to < axis.size; ++to) {
      const int ahead = std::abs(to - from);
      sum += axis.wrap ? std::min(ahead, axis.size - ahead) : ahead;
    }
  }
  return sum;
}

// Over ordered pairs of different chips of one group, hops >= 0.
DistanceSummary BruteForce(const ReferenceGraph& graph,
                           const std::vector<int>& group) {
  DistanceSummary summary;
  double sum = 0, pairs = 0;
  for (std::size_t from = 0; from < graph.size(); ++from) {
    const std::vector<int> hops = ReferenceHops(graph, static_cast<int>(from));
    for (std::size_t to = 0; to < graph.size(); ++to) {
      if (to == from || group[from] < 0 || group[from] != group[to]) continue;
      if (hops[to] < 0) continue;
      summary.diameter = std::max(summary.diameter, hops[to]);
      sum += hops[to];
      pairs += 1;
    }
  }
  if (pairs > 0) summary.mean_hops = sum / pairs;
  return summary;
}

std::vector<int> GroupsAlong(const GridShape& shape,
                             const std::vector<int>& axes) {
  std::vector<int> group(Chips(shape));
  for (int chip = 0; chip < Chips(shape); ++chip) {
    int rest = chip, stride = 1;
    for (int a = 0; a < static_cast<int>(shape.axes.size()); ++a) {
      const bool along = std::find(axes.begin(), axes.end(), a) != axes.end();
      if (!along) group[chip] += rest % shape.axes[a].size * stride;
      rest /= shape.axes[a].size;
      stride *= shape.axes[a].size;
    }
  }
  return group;
}

// The same fault in both: links by (chip, axis, sign), chips by id.
struct Damaged {
  Topology topology;
  ReferenceGraph graph;
  std::vector<bool> dead;
};

Damaged Damage(const GridShape& shape, ShapeSource& source, int faults) {
  Damaged damaged{Built(shape), ReferenceGrid(shape),
                  std::vector<bool>(Chips(shape))};
  for (int k = 0; k < faults; ++k) {
    const int chip = source.Below(Chips(shape));
    if (source.Chance(6)) {
      damaged.topology.Kill(ChipId(chip));
      damaged.dead[chip] = true;
      continue;
    }
    auto& steps = damaged.graph[chip];
    if (steps.empty()) continue;
    const ReferenceStep step =
        steps[source.Below(static_cast<int>(steps.size()))];
    damaged.topology.Kill(damaged.topology.LinkAt(
        ChipId(chip), step.axis, step.plus ? Sign::kPlus : Sign::kMinus));
    std::erase_if(steps, [&](const ReferenceStep& other) {
      return other.axis == step.axis && other.plus == step.plus;
    });
  }
  for (std::size_t chip = 0; chip < damaged.graph.size(); ++chip) {
    if (damaged.dead[chip]) damaged.graph[chip].clear();
    std::erase_if(damaged.graph[chip], [&](const ReferenceStep& step) {
      return damaged.dead[step.to];
    });
  }
  return damaged;
}

struct TableRow {
  std::vector<int> sizes;
  int plain_diameter;
  double plain_mean;
  int twisted_diameter;
  double twisted_mean;
  double twisted_load;  // unit messages on the busiest link, at least
};

// Table of twisted tori of the TPU notes: breadth-first search over the
// neighbour rule of the ISCA 2023 paper, three decimals.
const std::vector<TableRow>& TwistTable() {
  static const std::vector<TableRow> rows = {
      {{4, 8}, 6, 3.097, 4, 2.710, 21},
      {{8, 16}, 12, 6.047, 8, 5.354, 170},
      {{4, 4, 8}, 8, 4.031, 6, 3.465, 73 + 1.0 / 3},
      {{4, 8, 8}, 10, 5.020, 6, 4.329, 184},
      {{8, 8, 16}, 16, 8.008, 12, 6.976, 1189 + 1.0 / 3},
      {{8, 16, 16}, 20, 10.005, 12, 8.723, 2976}};
  return rows;
}

TEST_CASE("diameters and mean hops of plain and twisted tori match the table",
          "[topology][formula]") {
  for (const TableRow& row : TwistTable()) {
    CAPTURE(row.sizes);
    const DistanceSummary plain = SummariseDistances(Built(Torus(row.sizes)));
    CHECK(plain.diameter == row.plain_diameter);
    CHECK(std::abs(plain.mean_hops - row.plain_mean) <= 0.0005);
    const DistanceSummary twisted =
        SummariseDistances(Built(Torus(row.sizes, true)));
    CHECK(twisted.diameter == row.twisted_diameter);
    CHECK(std::abs(twisted.mean_hops - row.twisted_mean) <= 0.0005);
    // The least load is the hops from one chip over its 2d links.
    const double chips = Chips(Torus(row.sizes));
    const double links = 2.0 * static_cast<double>(row.sizes.size());
    CHECK(twisted.mean_hops * (chips - 1) / links == Approx(row.twisted_load));
  }
}

TEST_CASE("the order of its axes changes no distance of a twisted torus",
          "[topology][property]") {
  const DistanceSummary first =
      SummariseDistances(Built(Torus({4, 4, 8}, true)));
  for (const auto& sizes : {std::vector{4, 8, 4}, std::vector{8, 4, 4}}) {
    const DistanceSummary turned =
        SummariseDistances(Built(Torus(sizes, true)));
    CHECK(turned.diameter == first.diameter);
    CHECK(turned.mean_hops == Approx(first.mean_hops));
  }
}

TEST_CASE("a ring of n has diameter n/2 and mean floor(n^2/4)/(n-1)",
          "[topology][formula]") {
  const int n = GENERATE(2, 3, 4, 5, 8, 17, 64);
  const DistanceSummary ring = SummariseDistances(Built(Torus({n})));
  CHECK(ring.diameter == n / 2);
  CHECK(ring.mean_hops == Approx(n * n / 4 / double(n - 1)));
}

TEST_CASE("a line of n has diameter n-1 and mean (n+1)/3",
          "[topology][formula]") {
  const int n = GENERATE(2, 3, 4, 5, 8, 17, 64);
  const DistanceSummary line = SummariseDistances(Built(Mesh({n})));
  CHECK(line.diameter == n - 1);
  CHECK(line.mean_hops == Approx((n + 1) / 3.0));
}

TEST_CASE("distances of a full pod add up over its axes",
          "[topology][formula]") {
  // 16x24x24: floor(n^2/4) = 64, 144, 144; each once per chip of the others.
  const double chips = 16 * 24 * 24;
  const double sum = chips / 16 * 64 + 2 * chips / 24 * 144;
  const DistanceSummary pod =
      SummariseDistances(SliceOf("v7x:16x24x24").topology);
  CHECK(pod.diameter == 8 + 12 + 12);
  CHECK(pod.mean_hops == Approx(sum / (chips - 1)));
}

TEST_CASE("one chip has no distances", "[topology]") {
  const DistanceSummary alone = SummariseDistances(Built(Mesh({1, 1})));
  CHECK(alone.diameter == 0);
  CHECK(alone.mean_hops == 0);
}

TEST_CASE("slices of a multislice are as far across as one slice",
          "[topology]") {
  const DistanceSummary one = SummariseDistances(SliceOf("v5e:8x16").topology);
  // 7 + 8 hops; a line of 8 and a ring of 16.
  CHECK(one.diameter == 15);
  const double sum = 16 * 16 * PairHops({.size = 8}) +
                     8 * 8 * PairHops({.size = 16, .wrap = true});
  CHECK(one.mean_hops == Approx(sum / (128 * 127)));
  Slice three = SliceOf("3*v5e:8x16");
  CHECK(SummariseDistances(three.topology).diameter == 15);
  CHECK(SummariseDistances(three.topology).mean_hops == Approx(one.mean_hops));
  // Slices meet over DCN only.
  const std::vector<int> hops = HopsFrom(three.topology, ChipId(130));
  for (int chip = 0; chip < 384; ++chip) {
    CHECK((hops[chip] == kUnreachable) == (chip / 128 != 1));
  }
  // A slower link damages the slice, but moves no chip.
  three.topology.Degrade(LinkId(0), 0.5);
  CHECK(SummariseDistances(three.topology).diameter == 15);
  CHECK(SummariseDistances(three.topology).mean_hops == Approx(one.mean_hops));
}

TEST_CASE("hops equal those of a brute-force search", "[topology][property]") {
  const std::uint32_t seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  ShapeSource source(seed);
  for (int round = 0; round < 40; ++round) {
    const GridShape shape = source.Draw(250);
    const int faults = round % 2 == 0 ? 0 : source.Below(12);
    CAPTURE(round, Described(shape), faults);
    const Damaged slice = Damage(shape, source, faults);
    for (int from = 0; from < Chips(shape); from += 1 + source.Below(4)) {
      std::vector<int> expected = slice.dead[from]
                                      ? std::vector<int>(Chips(shape), -1)
                                      : ReferenceHops(slice.graph, from);
      REQUIRE(HopsFrom(slice.topology, ChipId(from)) == expected);
    }
  }
}

TEST_CASE("summaries equal those over all pairs", "[topology][property]") {
  const std::uint32_t seed = GENERATE(4u, 5u, 6u);
  CAPTURE(seed);
  ShapeSource source(seed);
  for (int round = 0; round < 40; ++round) {
    const GridShape shape = source.Draw(150);
    const int faults = round % 2 == 0 ? 0 : source.Below(8);
    CAPTURE(round, Described(shape), faults);
    const Damaged slice = Damage(shape, source, faults);
    const DistanceSummary all = SummariseDistances(slice.topology);
    const DistanceSummary expected =
        BruteForce(slice.graph, std::vector<int>(Chips(shape), 0));
    REQUIRE(all.diameter == expected.diameter);
    REQUIRE(all.mean_hops == Approx(expected.mean_hops));

    std::vector<int> group(Chips(shape));
    for (int& g : group) g = source.Below(4) - 1;
    const DistanceSummary some = SummariseDistances(slice.topology, group);
    const DistanceSummary of_groups = BruteForce(slice.graph, group);
    REQUIRE(some.diameter == of_groups.diameter);
    REQUIRE(some.mean_hops == Approx(of_groups.mean_hops));
  }
}

TEST_CASE("groups along axes are summarised over the whole slice",
          "[topology][property]") {
  const std::uint32_t seed = GENERATE(7u, 8u, 9u);
  CAPTURE(seed);
  ShapeSource source(seed);
  for (int round = 0; round < 40; ++round) {
    const GridShape shape = source.Draw(150);
    const int faults = round % 4 == 3 ? source.Below(5) : 0;
    std::vector<int> axes;
    for (int a = 0; a < static_cast<int>(shape.axes.size()); ++a) {
      if (source.Chance(2)) axes.push_back(a);
    }
    CAPTURE(round, Described(shape), faults, axes);
    const Damaged slice = Damage(shape, source, faults);
    const DistanceSummary found = SummariseAxisGroups(slice.topology, axes);
    const DistanceSummary expected =
        BruteForce(slice.graph, GroupsAlong(shape, axes));
    REQUIRE(found.diameter == expected.diameter);
    REQUIRE(found.mean_hops == Approx(expected.mean_hops));
  }
}

TEST_CASE("a short axis of a twisted torus is a line of its members",
          "[topology]") {
  // Four chips on the short axis of 4x8: going round leads to y + 4, which is
  // as far again; so they are 1, 2 and 3 apart: mean (n+1)/3.
  const DistanceSummary line =
      SummariseAxisGroups(Built(Torus({4, 8}, true)), {0});
  CHECK(line.diameter == 3);
  CHECK(line.mean_hops == Approx(5.0 / 3));
  // The long axis closes on itself: a ring of 8, mean 16/7.
  const DistanceSummary ring =
      SummariseAxisGroups(Built(Torus({4, 8}, true)), {1});
  CHECK(ring.diameter == 4);
  CHECK(ring.mean_hops == Approx(16.0 / 7));
}

TEST_CASE("a search over one-way links counts the way of each pair",
          "[topology]") {
  // A ring of 4 without 0 -> 1: that pair is 3 apart, and 0 -> 2 still 2.
  Topology ring = Built(Torus({4}));
  ring.Kill(*ring.FindLink("0:x+"));
  CHECK(HopsFrom(ring, ChipId(0)) == std::vector<int>{0, 3, 2, 1});
  CHECK(HopsFrom(ring, ChipId(1)) == std::vector<int>{1, 0, 1, 2});
  // Only 0 -> 1 gets longer: 4 pairs of 2, 8 of 1, plus 2.
  CHECK(SummariseDistances(ring).diameter == 3);
  CHECK(SummariseDistances(ring).mean_hops == Approx(18.0 / 12));
}

TEST_CASE("connected slices pass", "[topology]") {
  Topology ring = Built(Torus({6}));
  ring.Kill(*ring.FindLink("0:x+"));
  ring.Kill(*ring.FindLink("1:x-"));
  CHECK_NOTHROW(RequireConnected(ring, "here"));
  Topology corner = Built(Mesh({4}));
  corner.Kill(ChipId(0));
  CHECK_NOTHROW(RequireConnected(corner, "here"));
  CHECK_NOTHROW(RequireConnected(SliceOf("2*v5e:2x2").topology, "here"));
}

TEST_CASE("chips that are cut off are named", "[topology]") {
  const auto error = [](const Topology& topology) {
    return ErrorOf([&] { RequireConnected(topology, "here"); });
  };
  Topology line = Built(Mesh({4}));
  line.Kill(ChipId(1));
  CHECK(error(line) ==
        "here: the slice is disconnected: chip (0) cannot reach, or be reached "
        "from, 2 chips: (2) (3); repair a link or mark those chips dead "
        "(chip:...)");
  // One way is not enough, in either direction.
  for (const char* link : {"2:x+", "3:x-"}) {
    CAPTURE(link);
    Topology one_way = Built(Mesh({4}));
    one_way.Kill(*one_way.FindLink(link));
    CHECK(error(one_way) ==
          "here: the slice is disconnected: chip (0) cannot reach, or be "
          "reached from, 1 chip: (3); repair a link or mark those chips dead "
          "(chip:...)");
  }
  // At most ten are named.
  Topology long_line = Built(Mesh({14, 1}));
  long_line.Kill(*long_line.FindLink("1,0:x+"));
  CHECK(error(long_line) ==
        "here: the slice is disconnected: chip (0,0) cannot reach, or be "
        "reached from, 12 chips: (2,0) (3,0) (4,0) (5,0) (6,0) (7,0) (8,0) "
        "(9,0) (10,0) (11,0) ...; repair a link or mark those chips dead "
        "(chip:...)");
  // The first live chip of the slice that is broken, not of another one.
  Topology slices = Built({.axes = {{.size = 3}, {.size = 3, .ici = false}}});
  slices.Kill(*slices.FindLink("1,1:x+"));
  slices.Kill(*slices.FindLink("1,2:x+"));
  CHECK(error(slices) ==
        "here: the slice is disconnected: chip (0,1) cannot reach, or be "
        "reached from, 1 chip: (2,1); repair a link or mark those chips dead "
        "(chip:...)");
  Topology dead = Built(Mesh({2}));
  dead.Kill(ChipId(0));
  dead.Kill(ChipId(1));
  CHECK(error(dead) == "here: every chip is dead");
}

}  // namespace
}  // namespace podsim
