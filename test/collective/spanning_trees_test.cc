#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "collective/cable_trees.h"
#include "collective/groups.h"
#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7};
constexpr CollectiveKind kKind = CollectiveKind::kAllReduce;

// The packing, checked: every tree spans, and no cable is in more than `copies`
// of them. Its depth; nullopt: so many do not fit.
std::optional<int> PackAndCheck(const Slice& slice, int count, int copies) {
  const std::vector<ChipId> group =
      GroupsOf(OnAllChips(kKind, 1, slice), slice.topology)[0];
  const int ranks = static_cast<int>(group.size());
  const std::vector<Arc> arcs = ArcsOf(group, kKind, slice.topology);
  const std::vector<CableArcs> cables = CablesOf(arcs, slice.topology);
  REQUIRE(2 * cables.size() == arcs.size());
  std::vector<int> cable_of(arcs.size());
  for (std::size_t c = 0; c < cables.size(); ++c) {
    REQUIRE(arcs[cables[c].back].link ==
            slice.topology.Reverse(arcs[cables[c].there].link));
    cable_of[cables[c].there] = cable_of[cables[c].back] = static_cast<int>(c);
  }
  const auto packed = PackCableTrees(arcs, cables, ranks, count, copies);
  if (!packed) return std::nullopt;
  REQUIRE(static_cast<int>(packed->size()) == count);
  std::map<int, int> uses;
  int depth = 0;
  for (const ArcTree& tree : *packed) {
    std::set<int> own;
    for (int rank = 0; rank < ranks; ++rank) {
      if (tree[rank] < 0) continue;
      REQUIRE(arcs[tree[rank]].to == rank);
      REQUIRE(own.insert(cable_of[tree[rank]]).second);
      REQUIRE(++uses[cable_of[tree[rank]]] <= copies);
    }
    REQUIRE(static_cast<int>(own.size()) == ranks - 1);
    const Tree made = MakeTree(tree, arcs, slice.topology);
    // BreadthFirst checks that every rank is below the root.
    BreadthFirst(made, group);
    depth = std::max(depth, Depth(made.parent));
  }
  return depth;
}

std::string Resolved(const std::string& text, const Slice& slice,
                     std::int64_t payload) {
  const Collective collective = OnAllChips(kKind, payload, slice);
  return ToText(Resolve(Spec(text), collective, slice), collective,
                slice.topology);
}

TEST_CASE("spanning-trees computes all-reduce on every small slice",
          "[collective][property]") {
  int proved = 0;
  ForEachGridCollective(
      9, std::array{kKind}, [&](const Slice& grid, Collective collective) {
        Slice slice = grid;
        slice.parameters.ici_message_overhead = Seconds(kRates.overhead);
        const int n = GroupSize(collective, slice.topology);
        for (const std::int64_t payload : {0, 1, n - 1, n + 1, 1 << 20}) {
          collective.payload = Bytes(payload);
          for (const char* text :
               {"spanning-trees:chunks=3", "spanning-trees:trees=2,chunks=2",
                "spanning-trees:edge_copies=1,chunks=4"}) {
            proved +=
                ProveWhereItApplies(slice, Spec(text), collective).has_value();
          }
        }
      });
  CHECK(proved > 1000);
}

TEST_CASE("packings reach the cables there are", "[collective]") {
  // t (P-1) of m C cables: 120 of 120, 12 of 12, 35 of 36.
  CHECK(PackAndCheck(MakeMesh({4, 4}), 8, 5));
  CHECK(PackAndCheck(MakeMesh({2, 2}), 4, 3));
  CHECK(PackAndCheck(MakeMesh({2, 2, 2}), 5, 3));
  CHECK(PackAndCheck(MakeTorus({4, 4}), 2, 1));
  CHECK(PackAndCheck(MakeTorus({3, 3}), 2, 1));
  CHECK(PackAndCheck(MakeTorus({4, 4, 4}), 3, 1));
  CHECK(PackAndCheck(MakeTwisted({4, 8}), 2, 1));
  CHECK_FALSE(PackAndCheck(MakeMesh({4, 4}), 2, 1));
  CHECK_FALSE(PackAndCheck(MakeMesh({2, 2}), 3, 2));
}

TEST_CASE("every mesh has the most trees that its cables allow",
          "[collective][property]") {
  // The partition into single chips is the tightest on healthy meshes.
  for (const Shape& shape : AllShapes(16)) {
    const Slice slice = MakeMesh(shape);
    int cables = 0;
    slice.topology.ForEachLiveLink([&](LinkId) { ++cables; });
    cables /= 2;
    const int edges = slice.topology.chips() - 1;
    for (const int copies : {1, 2, 3}) {
      CAPTURE(slice.spec, copies);
      CHECK(PackAndCheck(slice, copies * cables / edges, copies));
      CHECK_FALSE(PackAndCheck(slice, copies * cables / edges + 1, copies));
    }
  }
}

TEST_CASE("trees of cables are packed around faults",
          "[collective][property]") {
  Random random(13);
  int proved = 0;
  for (int round = 0; round < 120; ++round) {
    const Slice slice = RandomCutSlice(random, kRates);
    CAPTURE(round);
    proved +=
        ProveWhereItApplies(slice, Spec("spanning-trees"),
                            OnAllChips(kKind, random.Between(0, 50'000), slice))
            .has_value();
  }
  CHECK(proved > 30);
}

TEST_CASE("the most trees per copy are taken, in the fewest copies",
          "[collective]") {
  CHECK(Resolved("spanning-trees:chunks=4", MakeMesh({4, 4}), 1 << 20) ==
        "spanning-trees:chunks=4,trees=8,edge_copies=5");
  CHECK(Resolved("spanning-trees:chunks=4", MakeMesh({2, 2}), 1 << 20) ==
        "spanning-trees:chunks=4,trees=4,edge_copies=3");
  CHECK(Resolved("spanning-trees:chunks=4", MakeTorus({4, 4, 4}), 1 << 20) ==
        "spanning-trees:chunks=4,trees=3,edge_copies=1");
  CHECK(Resolved("spanning-trees:chunks=4,edge_copies=2", MakeMesh({4, 4}),
                 1 << 20) == "spanning-trees:chunks=4,trees=3,edge_copies=2");
  CHECK(Resolved("spanning-trees:chunks=4,trees=3", MakeMesh({4, 4}),
                 1 << 20) == "spanning-trees:chunks=4,trees=3,edge_copies=2");
  // Few start-ups for few bytes.
  CHECK(Resolved("spanning-trees:trees=1,edge_copies=1",
                 MakeMesh({2, 2}, kRates),
                 100) == "spanning-trees:chunks=1,trees=1,edge_copies=1");
}

TEST_CASE("spanning-trees: (2e + k - 1)(a + S/(tkB)) without shared cables",
          "[collective]") {
  constexpr std::int64_t kPayload = 96'000;
  const Slice slice = MakeTorus({4, 4}, kRates);
  const int depth = PackAndCheck(slice, 2, 1).value_or(0);
  CHECK(Near(ProveWhereItApplies(slice, Spec("spanning-trees:chunks=16"),
                                 OnAllChips(kKind, kPayload, slice))
                 .value_or(0),
             (2 * depth + 15) * (1.5e-6 + kPayload / 32 / 1e9)));
}

TEST_CASE("on meshes spanning-trees come near the bound of all links",
          "[collective]") {
  // 2 (P-1) S over all links, without start-ups.
  for (const Slice& slice :
       {MakeMesh({4, 4}), MakeMesh({3, 3}), MakeMesh({2, 2, 2}),
        MakeMesh({8, 8}), MakeMesh({4, 4, 4})}) {
    constexpr double kPayload = 64e6;
    int links = 0;
    slice.topology.ForEachLiveLink([&](LinkId) { ++links; });
    const double bound =
        2 * (slice.topology.chips() - 1) * kPayload / links / 1e9;
    const auto time = ProveWhereItApplies(
        slice, Spec("spanning-trees"),
        OnAllChips(kKind, static_cast<std::int64_t>(kPayload), slice));
    REQUIRE(time.has_value());
    CAPTURE(slice.spec, bound / *time);
    CHECK(bound / *time > 0.8);
  }
}

TEST_CASE("spanning-trees says why it does not apply, and what does",
          "[collective]") {
  const auto reason = [](const std::string& text, const Slice& slice) {
    return ReasonOf(text, OnAllChips(kKind, 100, slice), slice.topology);
  };
  CHECK(reason("spanning-trees", MakeTorus({4, 4, 5})) ==
        "its trees are searched for up to 64 chips only; use bfs-tree or "
        "greedy");
  CHECK(reason("spanning-trees:trees=2,edge_copies=1", MakeMesh({4, 4})) ==
        "2 trees do not fit with edge_copies=1; leave out trees for as many as "
        "fit, or edge_copies for as many as they need");
  Slice cut = MakeMesh({4});
  cut.topology.Kill(cut.topology.LinkAt(ChipId(1), 0, Sign::kPlus));
  CHECK(reason("spanning-trees", cut) ==
        "a group is not connected through cables between its chips; use "
        "binomial, whose messages pass through others");
}

}  // namespace
}  // namespace podsim
