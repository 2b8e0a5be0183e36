#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "collective/groups.h"
#include "collective/out_trees.h"
#include "collective/torus_trees.h"
#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7};
constexpr std::array kRooted = {CollectiveKind::kBroadcast,
                                CollectiveKind::kReduce};

std::vector<ChipId> AllOf(const Slice& slice) {
  return GroupsOf(OnAllChips(CollectiveKind::kBroadcast, 1, slice),
                  slice.topology)[0];
}

// Checks that the trees span, from the root, over arcs that no two of them
// share; returns their number.
int CheckPacking(const Slice& slice, int root) {
  const std::vector<ChipId> group = AllOf(slice);
  const int ranks = static_cast<int>(group.size());
  const std::vector<Arc> arcs =
      ArcsOf(group, CollectiveKind::kBroadcast, slice.topology);
  const int most = MostOutTrees(arcs, ranks, root);
  std::set<int> used;
  const auto packed = PackOutTrees(arcs, ranks, root, most);
  for (const ArcTree& tree : packed.value()) {
    REQUIRE(tree[root] == -1);
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == root) continue;
      REQUIRE(arcs[tree[rank]].to == rank);
      REQUIRE(used.insert(tree[rank]).second);
    }
    // BreadthFirst checks that every rank is below the root.
    REQUIRE(BreadthFirst(MakeTree(tree, arcs, slice.topology), group).front() ==
            root);
  }
  return most;
}

TEST_CASE("edge-disjoint-trees computes its collectives on every small slice",
          "[collective][property]") {
  int proved = 0;
  ForEachGridCollective(
      9, kRooted, [&](const Slice& grid, Collective collective) {
        Slice slice = grid;
        slice.parameters.ici_message_overhead = Seconds(kRates.overhead);
        const int n = GroupSize(collective, slice.topology);
        const auto chips = static_cast<std::uint32_t>(slice.topology.chips());
        for (const std::uint32_t root : {0u, chips / 2, chips - 1}) {
          collective.root = ChipId(root);
          for (const std::int64_t payload : {0, 1, n - 1, n + 1, 1 << 20}) {
            collective.payload = Bytes(payload);
            for (const char* text :
                 {"edge-disjoint-trees:chunks=3", "edge-disjoint-trees:trees=1",
                  "edge-disjoint-trees:trees=2,chunks=2"}) {
              proved += ProveWhereItApplies(slice, Spec(text), collective)
                            .has_value();
            }
          }
        }
      });
  CHECK(proved > 2000);
}

TEST_CASE("as many trees as the chip with fewest links has, from every root",
          "[collective][property]") {
  for (const Shape& shape : AllShapes(16)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      int fewest = 0;  // links of a corner
      bool parallel = false;
      for (std::size_t a = 0; a < shape.size(); ++a) {
        fewest += wrap[a] ? 2 : 1;
        parallel |= wrap[a] && shape[a] == 2;
      }
      for (int root = 0; root < slice.topology.chips(); ++root) {
        CAPTURE(slice.spec, root);
        const int trees = CheckPacking(slice, root);
        // Two chips joined by two cables can have fewer links out together.
        REQUIRE((parallel ? trees <= fewest : trees == fewest));
      }
    }
  }
  CHECK(CheckPacking(MakeTorus({4, 4}), 0) == 4);
  CHECK(CheckPacking(MakeTorus({4, 4, 4}), 21) == 6);
  CHECK(CheckPacking(MakeTwisted({4, 8}), 3) == 4);
}

TEST_CASE("trees are packed around dead cables and chips",
          "[collective][property]") {
  Random random(11);
  int proved = 0;
  for (int round = 0; round < 80; ++round) {
    const Slice slice = RandomCutSlice(random, kRates);
    for (const CollectiveKind kind : kRooted) {
      CAPTURE(round);
      proved += ProveWhereItApplies(
                    slice, Spec("edge-disjoint-trees"),
                    OnAllChips(kind, random.Between(0, 100'000), slice))
                    .has_value();
    }
  }
  CHECK(proved > 60);
}

// Torus of unequal axes: 1 to 3 of them, `least` to `most` chips each.
Shape RandomTorus(Random& random, int least, int most) {
  Shape shape(static_cast<std::size_t>(random.Int(1, 3)));
  for (int& size : shape) size = random.Int(least, most);
  return shape;
}

// n_a - 1 along one axis and half around every other one, of the deepest tree.
int DepthOfTorus(const Shape& shape) {
  int deepest = 0;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    int depth = shape[a] - 1;
    for (std::size_t b = 0; b < shape.size(); ++b) {
      if (b != a) depth += shape[b] / 2;
    }
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

TEST_CASE("tori: the trees by rule span, and use every link into a chip once",
          "[collective][property]") {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    const Shape shape = RandomTorus(random, 3, 9);
    const Slice slice = MakeTorus(shape);
    const Collective collective =
        OnAllChips(CollectiveKind::kBroadcast, 1, slice);
    REQUIRE(AreTori(collective, slice.topology));
    const std::vector<ChipId> group = AllOf(slice);
    const int root = random.Int(0, slice.topology.chips() - 1);
    const int count = 2 * static_cast<int>(shape.size());
    CAPTURE(slice.spec, root);
    std::set<LinkId> used;
    int deepest = 0;
    for (const Tree& tree :
         TorusTrees(collective, slice.topology, group, root, count)) {
      // BreadthFirst checks that every rank is below the root.
      REQUIRE(BreadthFirst(tree, group).front() == root);
      deepest = std::max(deepest, Depth(tree.parent));
      for (int rank = 0; rank < slice.topology.chips(); ++rank) {
        if (rank == root) continue;
        REQUIRE(tree.down[rank].size() == 1);
        const LinkId link = tree.down[rank][0];
        REQUIRE(slice.topology.Source(link) == group[tree.parent[rank]]);
        REQUIRE(slice.topology.Target(link) == group[rank]);
        REQUIRE(used.insert(link).second);
        REQUIRE(tree.up[rank] ==
                std::vector<LinkId>{slice.topology.Reverse(link)});
      }
    }
    CHECK(static_cast<int>(used.size()) ==
          count * (slice.topology.chips() - 1));
    CHECK(deepest == DepthOfTorus(shape));
    CHECK(TorusDepth(collective, slice.topology, count) == deepest);
  }
}

TEST_CASE("edge-disjoint-trees on tori is proved from any root, on any groups",
          "[collective][property]") {
  Random random(6);
  for (int round = 0; round < 60; ++round) {
    const Shape shape = RandomTorus(random, 3, 6);
    const Slice slice = MakeTorus(shape, kRates);
    for (const CollectiveKind kind : kRooted) {
      const Collective collective{
          .kind = kind,
          .payload = Bytes(random.Between(0, 100'000)),
          .axes = random.Pick(AllAxisSubsets(shape.size())),
          .root = ChipId(static_cast<std::uint32_t>(
              random.Int(0, slice.topology.chips() - 1)))};
      CAPTURE(round, slice.spec, collective.root.value());
      for (const char* text :
           {"edge-disjoint-trees:chunks=5", "edge-disjoint-trees:trees=1"}) {
        CHECK(ProveWhereItApplies(slice, Spec(text), collective));
      }
    }
  }
}

TEST_CASE("edge-disjoint-trees: (e + k - 1)(a + S/(tkB))", "[collective]") {
  for (const Shape& shape :
       {Shape{5}, Shape{4, 4}, Shape{3, 7}, Shape{5, 4, 6}, Shape{4, 8, 8}}) {
    const Slice slice = MakeTorus(shape, kRates);
    const int trees = 2 * static_cast<int>(shape.size());
    for (const CollectiveKind kind : kRooted) {
      CAPTURE(slice.spec);
      const Collective collective = OnAllChips(kind, 480'000, slice);
      const LoweringSpec spec =
          Resolve(Spec("edge-disjoint-trees:chunks=10"), collective, slice);
      CHECK(spec.trees == trees);
      CHECK(Near(ProveWhereItApplies(slice, spec, collective).value_or(0),
                 (DepthOfTorus(shape) + 9) *
                     (1.5e-6 + 480'000.0 / (10 * trees) / 1e9)));
    }
  }
}

TEST_CASE("edge-disjoint-trees on large twisted and mixed slices",
          "[collective]") {
  struct Case {
    Slice slice;
    int trees;
    int deepest;  // once around every axis, twice where not all wrap
  };
  for (const Case& c :
       {Case{MakeTwisted({4, 4, 8}, kRates), 6, 14},
        Case{MakeTwisted({4, 8, 8}, kRates), 6, 18},
        Case{MakeGridOf({8, 16}, {false, true}, kRates), 3, 2 * 22},
        Case{MakeMesh({10, 12}, kRates), 2, 2 * 20}}) {
    CAPTURE(c.slice.spec);
    for (const CollectiveKind kind : kRooted) {
      Collective collective = OnAllChips(kind, 12'345, c.slice);
      collective.root = ChipId(37);
      const auto group = AllOf(c.slice);
      const int ranks = static_cast<int>(group.size());
      const std::vector<Arc> arcs = ArcsOf(group, kind, c.slice.topology);
      int depth = 0;
      const auto packed = PackOutTrees(arcs, ranks, 37, c.trees);
      for (const ArcTree& tree : packed.value()) {
        depth = std::max(depth,
                         Depth(MakeTree(tree, arcs, c.slice.topology).parent));
      }
      CHECK(depth <= c.deepest);
      CHECK(ProveWhereItApplies(c.slice, Spec("edge-disjoint-trees:chunks=7"),
                                collective));
      collective.payload = Bytes(std::int64_t{42'000} * c.trees);
      const LoweringSpec spec =
          Resolve(Spec("edge-disjoint-trees:chunks=7"), collective, c.slice);
      CHECK(spec.trees == c.trees);
      CHECK(Near(ProveWhereItApplies(c.slice, spec, collective).value_or(0),
                 (depth + 6) * (1.5e-6 + 6000 / 1e9)));
    }
  }
}

TEST_CASE("more trees than fit are not packed", "[collective]") {
  const Slice slice = MakeMesh({4, 4});
  const std::vector<Arc> arcs =
      ArcsOf(AllOf(slice), CollectiveKind::kBroadcast, slice.topology);
  CHECK(FewestArcsIn(arcs, 16, 5) == 2);
  CHECK(PackOutTrees(arcs, 16, 5, 2));
  CHECK_FALSE(PackOutTrees(arcs, 16, 5, 3));
}

TEST_CASE("edge-disjoint-trees takes lists of chips and of links",
          "[collective]") {
  const Slice mesh = MakeMesh({4, 2}, kRates);
  const std::vector<std::vector<ChipId>> halves = {
      {ChipId(5), ChipId(0), ChipId(1), ChipId(4)},
      {ChipId(2), ChipId(3), ChipId(6), ChipId(7)}};
  for (const CollectiveKind kind : kRooted) {
    CHECK(ProveWhereItApplies(mesh, Spec("edge-disjoint-trees"),
                              OnLists(kind, 4000, halves)));
  }
  Slice list = MakeMesh({2}, kRates);
  const Cable cable{.a = ChipId(0),
                    .b = ChipId(1),
                    .bandwidth = BytesPerSecond(1e9),
                    .latency = Seconds(1e-6)};
  list.topology = Topology::MakeExplicit(2, {cable, cable, cable});
  CHECK(CheckPacking(list, 1) == 3);
}

TEST_CASE("edge-disjoint-trees says why it does not apply, and what does",
          "[collective]") {
  const auto reason = [](const std::string& text, const Slice& slice) {
    return ReasonOf(text, OnAllChips(CollectiveKind::kBroadcast, 100, slice),
                    slice.topology);
  };
  CHECK(reason("edge-disjoint-trees", MakeMesh({32, 65})) ==
        "off healthy tori its trees are searched for up to 2048 chips only; "
        "use bfs-tree");
  CHECK(reason("edge-disjoint-trees", MakeTorus({32, 65})) == "applies");
  CHECK(reason("edge-disjoint-trees:trees=3", MakeMesh({4, 4})) ==
        "only 2 trees fit there, not 3; use trees=2 or fewer");
  CHECK(reason("edge-disjoint-trees:trees=2", MakeMesh({4})) ==
        "only 1 tree fits there, not 2; use trees=1 or fewer");
  Slice cut = MakeMesh({4});
  cut.topology.Kill(cut.topology.LinkAt(ChipId(1), 0, Sign::kPlus));
  CHECK(reason("edge-disjoint-trees", cut) ==
        "some chip is not connected to the root of its group through chips of "
        "the group; use binomial, whose messages pass through others");
}

}  // namespace
}  // namespace podsim
