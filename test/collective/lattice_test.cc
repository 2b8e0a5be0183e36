// Groups of chips equally far apart: recognised, lowered as one program.
#include "collective/lattice.h"

#include "collective/direct_program.h"
#include "schedule/placement.h"
#include "test/support/prove_whole.h"
#include "topology/fold.h"

namespace podsim {
namespace {

using Lists = std::vector<std::vector<ChipId>>;

// The chips whose coordinates are the same modulo the strides.
Lists ApartBy(const std::vector<int>& strides, const Topology& topology) {
  std::vector<std::vector<ChipId>> by_rest;
  std::vector<Coordinates> rests;
  for (int id = 0; id < topology.chips(); ++id) {
    Coordinates rest = topology.CoordinatesOf(ChipId(id));
    for (std::size_t a = 0; a < strides.size(); ++a) rest[a] %= strides[a];
    const auto found = std::find(rests.begin(), rests.end(), rest);
    const auto k = static_cast<std::size_t>(found - rests.begin());
    if (found == rests.end()) {
      rests.push_back(rest);
      by_rest.emplace_back();
    }
    by_rest[k].emplace_back(id);
  }
  return by_rest;
}

Collective ApartCollective(CollectiveKind kind, std::int64_t payload,
                           const std::vector<int>& strides,
                           const Slice& slice) {
  return OnLists(kind, payload, ApartBy(strides, slice.topology));
}

TEST_CASE("pairs half a ring apart are a lattice", "[collective]") {
  const Slice slice = MakeTorus({4, 4, 8});
  Lists pairs;
  for (unsigned id = 0; id < 64; ++id) {
    pairs.push_back({ChipId(id), ChipId(id + 64)});
  }
  const auto lattice =
      LatticeOf(OnLists(CollectiveKind::kAllReduce, 8, pairs), slice.topology);
  REQUIRE(lattice);
  CHECK(lattice->strides == std::vector<int>{4, 4, 4});
  CHECK(AxesOf(*lattice, slice.topology) == std::vector<int>{2});
  CHECK(HasTies(*lattice, slice.topology));
}

TEST_CASE("lists that are no lattice are told apart", "[collective]") {
  const auto is = [](const Lists& groups, const Slice& slice) {
    return LatticeOf(OnLists(CollectiveKind::kAllReduce, 8, groups),
                     slice.topology)
        .has_value();
  };
  const auto list = [](std::initializer_list<unsigned> ids) {
    std::vector<ChipId> chips;
    for (const unsigned id : ids) chips.emplace_back(id);
    return chips;
  };
  const Slice ring = MakeTorus({6});
  CHECK(is({list({0, 2, 4}), list({1, 3, 5})}, ring));
  CHECK(is({list({1, 4}), list({0, 3}), list({2, 5})}, ring));
  CHECK_FALSE(is({list({0, 2, 4}), list({1, 5, 3})}, ring));  // ranks
  CHECK_FALSE(is({list({0, 2, 4})}, ring));                   // left out
  CHECK_FALSE(is({list({0, 1, 2}), list({3, 4, 5})}, ring));  // no strides
  CHECK_FALSE(is({list({0, 2}), list({1, 3}), list({4, 5})}, ring));
  CHECK_FALSE(is({list({0, 2, 4}), list({1, 3, 5})}, MakeMesh({6})));
  Slice faulty = MakeTorus({6});
  faulty.topology.Degrade(LinkId(0), 0.5);
  CHECK_FALSE(is({list({0, 2, 4}), list({1, 3, 5})}, faulty));
}

TEST_CASE("direct on lattices is proved by replay and by orbit, and folds",
          "[collective][property]") {
  struct Case {
    Shape shape;
    std::vector<int> strides;
  };
  int proofs = 0;
  for (const Case& c : {Case{{6}, {2}}, Case{{6}, {3}}, Case{{8}, {2}},
                        Case{{4, 6}, {2, 3}}, Case{{4, 4}, {1, 2}},
                        Case{{4, 4}, {4, 2}}, Case{{2, 4, 4}, {2, 2, 4}}}) {
    const Slice slice = MakeTorus(c.shape, kTestRates);
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
          CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll}) {
      Collective collective = ApartCollective(kind, 0, c.strides, slice);
      const int n = GroupSize(collective, slice.topology);
      collective.payload = Bytes(1000 * n);
      CAPTURE(slice.spec, c.strides, ToText(kind));
      const LoweringSpec spec = Spec("direct:ties=halves");
      REQUIRE(HasProgram(spec, collective, slice.topology));
      const Lowered lowered = LowerOn(slice, spec, collective);
      CHECK(VerifyOrbit(lowered.program, slice.topology).empty());
      const Violations found =
          VerifyFull(lowered.schedule, lowered.meaning, slice.topology);
      CAPTURE(FirstOf(found));
      CHECK(found.empty());
      CHECK(lowered.meaning.groups == collective.groups);
      const Fold fold{PeriodsOf(lowered.program, slice.topology)};
      CHECK(fold.periods == std::vector<int>(c.shape.size(), 1));
      const Schedule folded = Instantiate(lowered.program, slice.topology, fold,
                                          collective.payload);
      const FoldedGrid grid(slice.topology, fold);
      CHECK(Near(RunPod(folded, MakeNetwork(slice, grid)).makespan,
                 RunPod(lowered.schedule, MakeNetwork(slice)).makespan));
      ++proofs;
    }
    // Shards of two sizes: the ranks below the rest have one byte more.
    Collective uneven =
        ApartCollective(CollectiveKind::kAllGather, 0, c.strides, slice);
    uneven.payload = Bytes(1000 * GroupSize(uneven, slice.topology) + 1);
    const Lowered lowered = LowerOn(slice, Spec("direct:ties=halves"), uneven);
    CHECK(
        VerifyFull(lowered.schedule, lowered.meaning, slice.topology).empty());
  }
  CHECK(proofs == 28);
}

// S/2 goes each way round to the other one: S/4 over every link there and, as
// all do so, from four chips: S B^-1 in each of two phases.
TEST_CASE("pairs half a ring of 8 apart take two phases of S/B",
          "[collective][formula]") {
  const Slice slice =
      MakeTorus({8}, {.bandwidth = 1e9, .alpha = 1e-6, .overhead = 3e-7});
  const Collective collective =
      ApartCollective(CollectiveKind::kAllReduce, 1 << 20, {4}, slice);
  const Lowered lowered =
      LowerOn(slice, Spec("direct:ties=halves"), collective);
  // Each link carries a quarter of S of every one of 4 chips, each phase.
  CHECK(RunPod(lowered.schedule, MakeNetwork(slice)).makespan ==
        Approx(2 * (3e-7 + 4e-6 + (1 << 20) / 1e9)).epsilon(1e-9));
}

}  // namespace
}  // namespace podsim
