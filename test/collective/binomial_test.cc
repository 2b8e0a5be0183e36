#include <array>
#include <bit>
#include <catch2/catch.hpp>

#include "collective/groups.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"
#include "topology/distance.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};

constexpr std::array kKinds = {CollectiveKind::kAllReduce,
                               CollectiveKind::kBroadcast,
                               CollectiveKind::kReduce};

int Phases(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce ? 2 : 1;
}

// ceil(log2 n)
int Rounds(int n) {
  int rounds = 0;
  while ((1 << rounds) < n) ++rounds;
  return rounds;
}

std::string FirstOf(const Violations& violations) {
  return violations.empty() ? "none" : violations.texts().front();
}

// Proved, and n-1 messages of the whole payload per group and phase.
void Prove(const Slice& slice, const Collective& collective) {
  CAPTURE(slice.spec, ToText(collective.kind), collective.axes,
          collective.payload.value(),
          collective.root ? int(collective.root->value()) : -1);
  const WholeSchedule whole = MakeWhole(slice, Spec("binomial"), collective);
  const Violations found =
      VerifyFull(whole.schedule, whole.meaning, slice.topology);
  CAPTURE(FirstOf(found));
  REQUIRE(found.empty());
  unsigned messages = 0;
  for (const auto& group : GroupsOf(collective, slice.topology)) {
    messages +=
        unsigned(Phases(collective.kind)) * (unsigned(group.size()) - 1);
  }
  if (collective.payload.value() == 0) messages = 0;
  REQUIRE(whole.schedule.transfers() == messages);
  for (std::uint32_t op = 0; op < whole.schedule.size(); ++op) {
    REQUIRE(whole.schedule.bytes(OpId(op)) == collective.payload);
  }
}

TEST_CASE("binomial: every grid of up to 12 chips, every group and root",
          "[collective][property]") {
  ForEachGridCollective(
      12, kKinds, [](const Slice& slice, Collective collective) {
        const int n = GroupSize(collective, slice.topology);
        for (const std::int64_t payload : {0, 1, n - 1, n, 1 << 20}) {
          collective.payload = Bytes(payload);
          Prove(slice, collective);
        }
        if (!IsRooted(collective.kind)) return;
        for (int root = 0; root < slice.topology.chips(); ++root) {
          collective.root = ChipId(unsigned(root));
          Prove(slice, collective);
        }
      });
}

TEST_CASE("binomial: groups given as lists, strided, shuffled and unequal",
          "[collective][property]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 24);
    const Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
    std::vector<ChipId> chips;
    for (int id = 0; id < slice.topology.chips(); ++id) {
      chips.emplace_back(unsigned(id));
    }
    random.Shuffle(chips);
    std::vector<std::vector<ChipId>> groups(
        std::size_t(random.Int(1, std::min(4, slice.topology.chips()))));
    for (std::size_t k = 0; k < chips.size(); ++k) {
      const std::size_t group =
          k < groups.size()
              ? k
              : std::size_t(random.Int(0, int(groups.size()) - 1));
      groups[group].push_back(chips[k]);
    }
    for (const CollectiveKind kind : kKinds) {
      std::optional<ChipId> root;
      if (IsRooted(kind)) root = groups[0][0];  // rank 0 is in every group
      Prove(slice, OnLists(kind, random.Pick({1, 5, 4096}), groups, root));
    }
  }
}

TEST_CASE("binomial: floor(log2 n) steps up, ceil(log2 n) down",
          "[collective]") {
  // Up, rank r sends once, after popcount(r) - 1 others on its longest chain;
  // the most bits below n are floor(log2 n). Down, the root sends to ranks 1,
  // 2, 4, .. < n, one after the other.
  const int n = GENERATE(range(1, 34));
  const Slice slice = MakeTorus({n}, kRates);
  const auto steps = [&](CollectiveKind kind) {
    return StepsOf(
        MakeWhole(slice, Spec("binomial"), OnAllChips(kind, 1000, slice))
            .schedule);
  };
  CAPTURE(n);
  int most_bits = 0;
  for (unsigned r = 0; r < unsigned(n); ++r) {
    most_bits = std::max(most_bits, std::popcount(r));
  }
  CHECK(steps(CollectiveKind::kReduce) == most_bits);
  CHECK(steps(CollectiveKind::kBroadcast) == Rounds(n));
  CHECK(steps(CollectiveKind::kAllReduce) == most_bits + Rounds(n));
}

TEST_CASE("binomial: the rounds of the definition, relative to the root",
          "[collective]") {
  const int n = GENERATE(2, 3, 5, 8, 11);
  for (int root = 0; root < n; ++root) {
    CAPTURE(n, root);
    const Slice slice = MakeMesh({n});
    Collective collective = OnAllChips(CollectiveKind::kBroadcast, 10, slice);
    collective.root = ChipId(unsigned(root));
    std::vector<std::pair<int, int>> sent, reduced, expected;
    int top = 1;
    while (2 * top < n) top *= 2;
    for (int stride = top; stride >= 1; stride /= 2) {
      for (int r = 0; r + stride < n; r += 2 * stride) {
        expected.emplace_back((r + root) % n, (r + stride + root) % n);
      }
    }
    const Schedule down =
        MakeWhole(slice, Spec("binomial"), collective).schedule;
    collective.kind = CollectiveKind::kReduce;
    const Schedule up = MakeWhole(slice, Spec("binomial"), collective).schedule;
    for (std::uint32_t op = 0; op < down.size(); ++op) {
      sent.emplace_back(down.src(OpId(op)).value(), down.dst(OpId(op)).value());
      reduced.emplace_back(up.dst(OpId(op)).value(), up.src(OpId(op)).value());
      CHECK(down.mode(OpId(op)) == Mode::kCopy);
      CHECK(up.mode(OpId(op)) == Mode::kReduce);
    }
    CHECK(sent == expected);
    std::sort(reduced.begin(), reduced.end());
    std::sort(expected.begin(), expected.end());
    CHECK(reduced == expected);
  }
}

TEST_CASE("binomial: sum of o + 2^k alpha + S/B on a line of 2^m chips",
          "[collective]") {
  const int rounds = GENERATE(range(1, 6));
  const int n = 1 << rounds;
  const std::int64_t payload = 1'000'000;
  const Slice slice = MakeMesh({n}, kRates);
  for (const CollectiveKind kind : kKinds) {
    CAPTURE(n, ToText(kind));
    const Schedule schedule =
        MakeWhole(slice, Spec("binomial"), OnAllChips(kind, payload, slice))
            .schedule;
    // The messages of a round, 2^k hops each, use different links.
    const double phase =
        rounds * (kRates.overhead + double(payload) / kRates.bandwidth) +
        (n - 1) * kRates.alpha;
    CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
               Phases(kind) * phase));
    std::int64_t hops = 0;
    for (const std::int64_t bytes : LinkBytes(schedule, slice.topology)) {
      hops += bytes / payload;
    }
    // Round k has n / 2^(k+1) messages of 2^k hops.
    CHECK(hops == Phases(kind) * rounds * (n / 2));
  }
}

TEST_CASE("binomial: no time beats the one that it claims",
          "[collective][property]") {
  const Lowering& row = *FindLowering("binomial");
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 1, 20);
    Slice slice = MakeGridOf(shape, RandomWrap(random, shape), kRates);
    if (random.OneIn(3) && slice.topology.chips() > 1) {
      slice.topology.Kill(
          ChipId(unsigned(random.Int(0, slice.topology.chips() - 1))));
    }
    Collective collective{.kind = random.Pick(kKinds),
                          .payload = Bytes(random.Int(0, 1 << 20)),
                          .axes = random.Pick(AllAxisSubsets(shape.size()))};
    if (WhyNot(Spec("binomial"), collective, slice.topology)) continue;
    CAPTURE(seed, slice.spec, ToText(collective.kind), collective.axes);
    const Schedule schedule =
        MakeWhole(slice, Spec("binomial"), collective).schedule;
    CHECK(RunPod(schedule, MakeNetwork(slice)).makespan >=
          row.at_least(collective, slice, Spec("binomial")).value() *
              (1 - 1e-9));
    if (collective.payload.value() > 0) {
      CHECK(schedule.transfers() ==
            row.count(collective, slice.topology, Spec("binomial")));
    }
  }
}

TEST_CASE("binomial goes around dead cables, not to other parts",
          "[collective]") {
  Slice ring = MakeTorus({6});
  const LinkId cut = ring.topology.LinkAt(ChipId(2), 0, Sign::kPlus);
  ring.topology.Kill(cut);
  ring.topology.Kill(ring.topology.Reverse(cut));
  for (const CollectiveKind kind : kKinds) {
    const Collective collective = OnAllChips(kind, 100, ring);
    CHECK_FALSE(WhyNot(Spec("binomial"), collective, ring.topology));
    Prove(ring, collective);
  }
  ring.topology.Kill(ring.topology.LinkAt(ChipId(4), 0, Sign::kPlus));
  CHECK(WhyNot(Spec("binomial"), OnAllChips(CollectiveKind::kReduce, 100, ring),
               ring.topology)
            .value_or("applies") ==
        "chips 0 and 3 cannot reach each other over ICI");
  CHECK(WhyNot(Spec("binomial"),
               OnAllChips(CollectiveKind::kAllGather, 100, ring), ring.topology)
            .value_or("applies") == "only for broadcast, reduce, all-reduce");
}

}  // namespace
}  // namespace podsim
