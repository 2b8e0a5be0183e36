#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr auto kAllGather = CollectiveKind::kAllGather;
constexpr auto kAllToAll = CollectiveKind::kAllToAll;

TEST_CASE("bruck: every grid of up to 12 chips, every group",
          "[collective][property]") {
  CHECK(ProveOnGrids("bruck", 12) > 1000);
}

TEST_CASE("bruck: lists of chips, faults", "[collective][property]") {
  for (const CollectiveKind kind : {kAllGather, kAllToAll}) {
    CHECK(ProveOnLists("bruck", kind, /*unequal=*/false, 200) == 200);
  }
  CHECK(ProveOnRandomSlices("bruck", 400) > 300);
}

TEST_CASE("bruck: ceil(log2 n) messages per rank", "[collective]") {
  const int n = GENERATE(range(1, 34));
  int steps = 0;
  while ((1 << steps) < n) ++steps;
  const Slice slice = MakeTorus({n});
  CAPTURE(n);
  for (const CollectiveKind kind : {kAllGather, kAllToAll}) {
    CHECK(int(Measure(slice, "bruck", kind, 1000).transfers) == n * steps);
  }
}

TEST_CASE("bruck: its times on a ring of 2^m chips", "[collective]") {
  // At distance k every link of one direction carries k messages; at n/2 the
  // two directions share them, n/4 each. They are k shards of an all-gather,
  // n/2 blocks of an all-to-all. The sum of k is n/2 - 1 before, of k^2 (n^2/4
  // - 1)/3.
  const int rounds = GENERATE(range(2, 6));
  const double n = 1 << rounds;
  const std::int64_t payload = 1 << 20;
  const Slice slice = MakeTorus({1 << rounds}, kTestRates);
  const double shard = double(payload) / n / kTestRates.bandwidth;
  const double start_ups =
      rounds * kTestRates.overhead + (n - 1) * kTestRates.alpha;
  CAPTURE(n);
  CHECK(Near(Measure(slice, "bruck", kAllGather, payload).time,
             start_ups + ((n * n / 4 - 1) / 3 + n * n / 8) * shard));
  CHECK(Near(Measure(slice, "bruck", kAllToAll, payload).time,
             start_ups + ((n / 2 - 1) * n / 2 + n * n / 8) * shard));
}

TEST_CASE("bruck: a block moves in the steps of the bits of its displacement",
          "[collective]") {
  const int n = GENERATE(2, 5, 8, 11);
  const Slice slice = MakeTorus({n});
  const WholeSchedule whole =
      MakeWhole(slice, Spec("bruck"), OnAllChips(kAllToAll, n * 8, slice));
  std::vector<unsigned> moved(whole.meaning.chunks.size());
  for (std::uint32_t op = 0; op < whole.schedule.size(); ++op) {
    const unsigned from = whole.schedule.src(OpId(op)).value();
    const unsigned to = whole.schedule.dst(OpId(op)).value();
    for (const std::uint32_t chunk :
         ChunkIdsOf(whole.schedule, OpId(op), slice.topology, 1)) {
      const unsigned by = (to + unsigned(n) - from) % unsigned(n);
      CHECK((by & (by - 1)) == 0);  // one bit
      CHECK(by > moved[chunk]);     // in ascending order
      moved[chunk] += by;
    }
  }
  for (std::size_t c = 0; c < moved.size(); ++c) {
    const Chunk& chunk = whole.meaning.chunks[c];
    CHECK(moved[c] ==
          (chunk.receiver->value() + unsigned(n) - chunk.owner) % unsigned(n));
  }
}

TEST_CASE("bruck: why it does not apply", "[collective]") {
  Slice line = MakeMesh({4});
  CHECK(WhyNotText("bruck", OnAllChips(CollectiveKind::kAllReduce, 1, line),
                   line) == "only for all-gather, all-to-all");
  line.topology.Kill(line.topology.LinkAt(ChipId(1), 0, Sign::kPlus));
  CHECK(WhyNotText("bruck", OnAllChips(kAllToAll, 100, line), line) ==
        "chips 0 and 2 cannot reach each other over ICI");
}

}  // namespace
}  // namespace podsim
