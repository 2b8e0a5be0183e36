#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "collective/groups.h"
#include "collective/out_trees.h"
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
  for (const ArcTree& tree : PackOutTrees(arcs, ranks, root, most)) {
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

TEST_CASE("the trees of a torus grow by depth, then link", "[collective]") {
  const Slice slice = MakeTorus({4, 4});
  const std::vector<Arc> arcs =
      ArcsOf(AllOf(slice), CollectiveKind::kBroadcast, slice.topology);
  const ArcTree first = PackOutTrees(arcs, 16, 0, 4)[0];
  std::vector<int> parents;
  for (const int arc : first) parents.push_back(arc < 0 ? -1 : arcs[arc].from);
  CHECK(parents ==
        std::vector<int>{-1, 0, 1, 2, 5, 1, 2, 3, 4, 5, 6, 8, 13, 1, 2, 12});
}

TEST_CASE("edge-disjoint-trees: (e + k - 1)(a + S/(tkB))", "[collective]") {
  const Slice slice = MakeTorus({4, 4}, kRates);
  for (const CollectiveKind kind : kRooted) {
    const Collective collective = OnAllChips(kind, 160'000, slice);
    const LoweringSpec spec =
        Resolve(Spec("edge-disjoint-trees:chunks=10"), collective, slice);
    CHECK(spec.trees == 4);
    const std::vector<Arc> arcs = ArcsOf(AllOf(slice), kind, slice.topology);
    int depth = 0;
    for (const ArcTree& tree : PackOutTrees(arcs, 16, 0, 4)) {
      depth =
          std::max(depth, Depth(MakeTree(tree, arcs, slice.topology).parent));
    }
    CHECK(Near(ProveWhereItApplies(slice, spec, collective).value_or(0),
               (depth + 9) * (1.5e-6 + 160'000 / 40 / 1e9)));
  }
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
  CHECK(reason("edge-disjoint-trees", MakeTorus({4, 4, 5})) ==
        "its trees are searched for up to 64 chips only; use bfs-tree");
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
