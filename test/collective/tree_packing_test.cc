#include "collective/tree_packing.h"

#include <catch2/catch.hpp>

#include "cost/bounds.h"
#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7};
constexpr Rates kIdeal{.bandwidth = 1e9, .alpha = 0, .overhead = 0};

constexpr CollectiveKind kTreeKinds[] = {
    CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
    CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
    CollectiveKind::kReduce};

TEST_CASE("tree-packing computes its collectives on every small slice",
          "[collective][property]") {
  CHECK(ProveOnGrids("tree-packing", 8) > 300);
  CHECK(ProveOnGrids(
            "tree-packing:chunks=5,sub_chunks=2,lat=2,window=3,passes=1", 6) >
        150);
  CHECK(ProveOnRandomSlices("tree-packing:chunks=7,roots=centre", 100) > 30);
}

TEST_CASE("tree-packing and detour go around random dead cables and chips",
          "[collective][property]") {
  Random random(11);
  int proved = 0;
  int detours = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const Slice slice = RandomCutSlice(random, kRates);
    for (const CollectiveKind kind : kTreeKinds) {
      const Collective collective =
          OnAllChips(kind, random.Between(0, 5000), slice);
      const auto time =
          ProveWhereItApplies(slice, Spec("tree-packing"), collective);
      if (!time) continue;
      ++proved;
      // Shards of unequal bytes may beat the bound by less than n bytes.
      CHECK(ComputeBounds(collective, slice).binding().time.value() <=
            *time * (1 + 1e-9) + 30 / kRates.bandwidth);
    }
    const Collective all =
        OnAllChips(CollectiveKind::kAllToAll, random.Between(0, 50'000), slice);
    const auto time = ProveWhereItApplies(slice, Spec("detour"), all);
    if (!time) continue;
    ++detours;
    CHECK(ComputeBounds(all, slice).binding().time.value() <=
          *time * (1 + 1e-9) + 30 * 30 / kRates.bandwidth);
  }
  CHECK(proved > 100);
  CHECK(detours > 20);
}

TEST_CASE("trees load no cable above the least possible on a mesh",
          "[collective]") {
  const Slice slice = MakeMesh({4, 4}, kIdeal);
  for (const CollectiveKind kind : kTreeKinds) {
    const Collective collective = OnAllChips(kind, 1 << 20, slice);
    const LoweringSpec spec = Resolve(
        Spec("tree-packing:chunks=256,sub_chunks=2"), collective, slice);
    const PackedLoad load = TreePackingLoad(collective, slice.topology, spec);
    CHECK(load.largest == load.target);
    CHECK(TreePackingRounds(collective, slice.topology, spec) >= load.target);
  }
}

TEST_CASE("one plan of tree-packing serves all payloads", "[collective]") {
  const Slice slice = MakeMesh({3, 5}, kIdeal);
  const LoweringSpec spec = Spec("tree-packing:chunks=64");
  const auto run = [&](std::int64_t payload) {
    const Collective collective =
        OnAllChips(CollectiveKind::kAllReduce, payload, slice);
    return MakeWhole(slice, spec, collective).schedule.transfers();
  };
  run(1 << 20);
  const std::uint64_t made = TreePackingPlansMade();
  run(1 << 24);
  run(1 << 28);
  CHECK(TreePackingPlansMade() == made);
}

TEST_CASE("without latencies default parameters come close to the bound",
          "[collective]") {
  const auto efficiency = [](const Slice& slice, const char* name,
                             CollectiveKind kind) {
    const Collective collective = OnAllChips(kind, 1 << 30, slice);
    const double bound =
        ComputeBounds(collective, slice).binding().time.value();
    return bound / Measure(slice, name, kind, 1 << 30).time;
  };
  Slice faulty = MakeTorus({4, 4}, kIdeal);
  const LinkId dead = faulty.topology.LinkAt(ChipId(0), 0, Sign::kPlus);
  faulty.topology.Kill(faulty.topology.Reverse(dead));
  faulty.topology.Kill(dead);
  for (const Slice& slice :
       {MakeMesh({4}, kIdeal), MakeMesh({2, 4}, kIdeal),
        MakeMesh({4, 4}, kIdeal), MakeMesh({2, 2, 4}, kIdeal), faulty}) {
    CAPTURE(slice.spec);
    for (const CollectiveKind kind : kTreeKinds) {
      const bool rooted = IsRooted(kind);
      CHECK(efficiency(slice, "tree-packing", kind) > (rooted ? 0.95 : 0.98));
    }
  }
  CHECK(efficiency(faulty, "detour", CollectiveKind::kAllToAll) > 0.98);
}

TEST_CASE("tree-packing and detour say why they do not apply", "[collective]") {
  Slice slice = MakeMesh({2, 2}, kRates);
  const Collective part{
      .kind = CollectiveKind::kAllReduce, .payload = Bytes(100), .axes = {0}};
  CHECK(WhyNotText("tree-packing", part, slice) ==
        "its group must be all chips of one slice; use bucket-rotated or "
        "direct");
  const Collective all = OnAllChips(CollectiveKind::kAllReduce, 100, slice);
  for (const int axis : {0, 1}) {
    const LinkId link = slice.topology.LinkAt(ChipId(0), axis, Sign::kPlus);
    slice.topology.Kill(slice.topology.Reverse(link));
    slice.topology.Kill(link);
  }
  CHECK(WhyNotText("tree-packing", all, slice) ==
        "chips 0 and 1 cannot reach each other over links that it can use; use "
        "direct or binomial");
  const Slice large = MakeTorus({12, 12}, kRates);
  const Collective exchange =
      OnAllChips(CollectiveKind::kAllToAll, 1 << 20, large);
  CHECK(WhyNotText("detour", exchange, large) ==
        "above 128 chips a pass of its search takes seconds; use direct, or "
        "say how many: passes=1");
  CHECK(WhyNotText("detour:passes=1", exchange, large) == "applies");
}

}  // namespace
}  // namespace podsim
