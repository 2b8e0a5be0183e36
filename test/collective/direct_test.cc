#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7};

const std::vector<CollectiveKind> kDirectKinds = {
    CollectiveKind::kAllToAll,      CollectiveKind::kAllGather,
    CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce,
    CollectiveKind::kGather,        CollectiveKind::kScatter};

TEST_CASE("direct and one-shot compute their collectives on every small slice",
          "[collective][property]") {
  ForEachGridCollective(
      9, kDirectKinds, [](const Slice& slice, Collective collective) {
        if (IsRooted(collective.kind)) {
          collective.root =
              ChipId(static_cast<std::uint32_t>(slice.topology.chips() - 1));
        }
        for (const std::int64_t payload : {0, 1, 7, 1000}) {
          collective.payload = Bytes(payload);
          for (const char* text : {"direct", "direct:window=2", "one-shot"}) {
            const LoweringSpec spec = Spec(text);
            if (WhyNot(spec, collective, slice.topology)) continue;
            CAPTURE(slice.spec, collective.axes, payload, text,
                    ToText(collective.kind));
            const WholeSchedule whole = MakeWhole(slice, spec, collective);
            const Violations violations =
                VerifyFull(whole.schedule, whole.meaning, slice.topology);
            CAPTURE(violations.empty() ? "" : violations.texts().front());
            REQUIRE(violations.empty());
            if (HasProgram(spec, collective, slice.topology)) continue;
            REQUIRE(whole.schedule.transfers() <=
                    CountSteps(spec, collective, slice.topology));
          }
        }
      });
}

TEST_CASE("direct goes around dead cables and over lists of chips",
          "[collective]") {
  Slice slice = MakeTorus({4, 4}, kRates);
  slice.topology.Kill(slice.topology.LinkAt(ChipId(0), 0, Sign::kPlus));
  for (const CollectiveKind kind : kDirectKinds) {
    for (const Collective& collective :
         {OnAllChips(kind, 1600, slice),
          OnLists(kind, 1600,
                  {{ChipId(5), ChipId(0), ChipId(3)},
                   {ChipId(15), ChipId(1), ChipId(8)}})}) {
      CAPTURE(ToText(kind));
      const WholeSchedule whole = MakeWhole(slice, Spec("direct"), collective);
      REQUIRE(
          VerifyFull(whole.schedule, whole.meaning, slice.topology).empty());
    }
  }
}

TEST_CASE(
    "without latencies direct all-to-all has the load of the longest axis",
    "[collective]") {
  // floor(n^2/4)/(2n) S/B on a ring, floor(n^2/4)/n S/B on a line.
  constexpr std::int64_t kPayload = 240'000;
  for (const auto& [slice, load] :
       {std::pair(MakeTorus({8}), 1.0), std::pair(MakeTorus({5}), 0.6),
        std::pair(MakeTorus({4, 6}), 0.75), std::pair(MakeMesh({5}), 1.2),
        std::pair(MakeMesh({3, 4}), 1.0)}) {
    CAPTURE(slice.spec);
    const Collective collective =
        OnAllChips(CollectiveKind::kAllToAll, kPayload, slice);
    const double time =
        RunPod(MakeWhole(slice, Spec("direct"), collective).schedule,
               MakeNetwork(slice))
            .makespan;
    CHECK(Near(time, load * kPayload / 1e9));
  }
}

TEST_CASE("a small one-shot all-reduce takes o and alpha per hop once",
          "[collective]") {
  // Ring of 8, 1 byte: the farthest of the messages, 4 hops; 7 chips' worth of
  // bytes over a link at 1 GB/s are at most 28 ns more.
  const Slice slice = MakeTorus({8}, kRates);
  const double time =
      RunPod(MakeWhole(slice, Spec("one-shot"),
                       OnAllChips(CollectiveKind::kAllReduce, 1, slice))
                 .schedule,
             MakeNetwork(slice))
          .makespan;
  CHECK(time >= 4.5e-6 + 1e-9);
  CHECK(time <= 4.5e-6 + 28e-9);
}

}  // namespace
}  // namespace podsim
