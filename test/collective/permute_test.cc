// Collective-permute: direct and split-shift.
#include <catch2/catch.hpp>
#include <map>

#include "collective/groups.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"
#include "topology/distance.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};

Collective Shift(int axis, int by, std::int64_t payload) {
  return {.kind = CollectiveKind::kCollectivePermute,
          .payload = Bytes(payload),
          .axes = {},
          .shift = AxisShift{axis, by}};
}

Collective Pairs(std::vector<ChipPair> pairs, std::int64_t payload) {
  return {.kind = CollectiveKind::kCollectivePermute,
          .payload = Bytes(payload),
          .axes = {},
          .pairs = std::move(pairs)};
}

std::string Reason(const std::string& spec, const Collective& collective,
                   const Topology& topology) {
  return WhyNot(Spec(spec), collective, topology).value_or("applies");
}

std::string FirstOf(const Violations& violations) {
  return violations.empty() ? "none" : violations.texts().front();
}

TEST_CASE("every shift on every grid of up to 12 chips is proved",
          "[collective][property]") {
  int direct = 0, split = 0;
  for (const Shape& shape : AllShapes(12)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const int n = shape[a];
        for (int by = wrap[a] ? 1 : 1 - n; by < n; ++by) {
          if (by == 0) continue;
          for (const std::int64_t payload : {0, 1, n - 1, n, 1 << 20}) {
            const Collective shift = Shift(axis, by, payload);
            for (const char* name : {"direct", "split-shift"}) {
              if (WhyNot(Spec(name), shift, slice.topology)) continue;
              CAPTURE(slice.spec, axis, by, payload, name);
              const WholeSchedule whole = MakeWhole(slice, Spec(name), shift);
              const Violations found =
                  VerifyFull(whole.schedule, whole.meaning, slice.topology);
              CAPTURE(FirstOf(found));
              REQUIRE(found.empty());
              ++(std::string(name) == "direct" ? direct : split);
              // Over the end of an unwrapped axis nothing is sent.
              const int lines = slice.topology.chips() / n;
              const int pairs = lines * (wrap[a] ? n : n - std::abs(by));
              if (payload == 0) {
                REQUIRE(whole.schedule.size() == 0);
              } else if (std::string(name) == "direct") {
                REQUIRE(whole.schedule.transfers() == unsigned(pairs));
              }
            }
          }
        }
      }
    }
  }
  CHECK(direct > 1000);
  CHECK(split > 500);
}

TEST_CASE("direct: a shift by k takes o + h alpha + h S/B, h = min(k, n-k)",
          "[collective]") {
  const int n = GENERATE(range(2, 14));
  const std::int64_t payload = 1'000'003;
  const Slice slice = MakeTorus({n}, kRates);
  for (int by = 1; by < n; ++by) {
    CAPTURE(n, by);
    const Schedule schedule =
        MakeWhole(slice, Spec("direct"), Shift(0, by, payload)).schedule;
    const int hops = std::min(by, n - by);
    const auto bytes = LinkBytes(schedule, slice.topology);
    std::int64_t busiest = 0;
    for (const std::int64_t load : bytes) busiest = std::max(busiest, load);
    const double time = RunPod(schedule, MakeNetwork(slice)).makespan;
    if (2 * by != n) {
      // All go the same way: every link of that direction has `hops` messages.
      for (std::uint32_t link = 0; link < bytes.size(); ++link) {
        const bool plus = slice.topology.SignOf(LinkId(link)) == Sign::kPlus;
        REQUIRE(bytes[link] == (plus == (2 * by < n) ? hops * payload : 0));
      }
      CHECK(Near(time, kRates.overhead + hops * kRates.alpha +
                           hops * double(payload) / kRates.bandwidth));
      continue;
    }
    // Even chips go +, odd ones -: the link from position i has the even
    // sources among the n/2 positions up to i, ceil(n/4) of them at most.
    CHECK(busiest == (n / 2 + 1) / 2 * payload);
    CHECK(Near(time, kRates.overhead + hops * kRates.alpha +
                         (n / 2 + 1) / 2 * double(payload) / kRates.bandwidth));
  }
}

TEST_CASE("split-shift: k(n-k)/n S on every link of the axis", "[collective]") {
  const int n = GENERATE(range(2, 14));
  const std::int64_t share = 70'001;
  const std::int64_t payload = n * share;
  const Slice slice = MakeGridOf({n, 3}, {true, false}, kRates);
  for (int by = 1; by < n; ++by) {
    CAPTURE(n, by);
    const Schedule schedule =
        MakeWhole(slice, Spec("split-shift"), Shift(0, by, payload)).schedule;
    CHECK(schedule.transfers() == unsigned(3 * 2 * n));
    // (n-k)/n S of k sources forward, k/n S of n-k sources backward.
    const auto bytes = LinkBytes(schedule, slice.topology);
    for (std::uint32_t link = 0; link < bytes.size(); ++link) {
      const bool along = slice.topology.AxisOf(LinkId(link)) == 0;
      REQUIRE(bytes[link] == (along ? by * (n - by) * share : 0));
    }
    // Each way all messages of a link flow together for k(n-k)/n S/B; the
    // longer way starts last.
    const double flow = by * (n - by) * double(share) / kRates.bandwidth;
    CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
               kRates.overhead + std::max(by, n - by) * kRates.alpha + flow));
  }
}

TEST_CASE("split-shift sends what largest remainders leave, and no empty part",
          "[collective]") {
  const int n = 5;
  const Slice slice = MakeTorus({n});
  for (int by = 1; by < n; ++by) {
    for (std::int64_t payload = 0; payload < 12; ++payload) {
      CAPTURE(by, payload);
      // Forward (n-k)/n of the bytes, rounded to the nearest (n is odd: no
      // tie).
      const std::int64_t forward = (2 * payload * (n - by) + n) / (2 * n);
      const Schedule schedule =
          MakeWhole(slice, Spec("split-shift"), Shift(0, by, payload)).schedule;
      const int parts = (forward > 0) + (forward < payload);
      CHECK(schedule.transfers() == unsigned(n * parts));
      const auto bytes = LinkBytes(schedule, slice.topology);
      for (std::uint32_t link = 0; link < bytes.size(); ++link) {
        const bool plus = slice.topology.SignOf(LinkId(link)) == Sign::kPlus;
        REQUIRE(bytes[link] ==
                (plus ? by * forward : (n - by) * (payload - forward)));
      }
    }
  }
}

TEST_CASE("direct: random pairs are proved, each on a minimal route",
          "[collective][property]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 24);
    Slice slice = MakeGridOf(shape, RandomWrap(random, shape), kRates);
    if (random.OneIn(3)) {
      slice.topology.Kill(slice.topology.LinkAt(ChipId(0), 0, Sign::kPlus));
    }
    std::vector<std::uint32_t> to;
    for (int id = 0; id < slice.topology.chips(); ++id)
      to.push_back(unsigned(id));
    random.Shuffle(to);
    std::vector<ChipPair> pairs;
    unsigned other = 0;
    for (std::uint32_t id = 0; id < to.size(); ++id) {
      if (random.OneIn(4)) continue;
      pairs.push_back({ChipId(id), ChipId(to[id])});
      other += to[id] != id ? 1 : 0;
    }
    if (pairs.empty()) continue;
    const std::int64_t payload = random.Pick({1, 17, 1 << 20});
    const Collective permute = Pairs(pairs, payload);
    if (WhyNot(Spec("direct"), permute, slice.topology)) continue;
    CAPTURE(seed, slice.spec);
    const WholeSchedule whole = MakeWhole(slice, Spec("direct"), permute);
    const Violations found =
        VerifyFull(whole.schedule, whole.meaning, slice.topology);
    CAPTURE(FirstOf(found));
    REQUIRE(found.empty());
    // A chip that keeps its own bytes sends nothing.
    REQUIRE(whole.schedule.transfers() == other);
    for (std::uint32_t op = 0; op < whole.schedule.size(); ++op) {
      const int hops = HopsFrom(
          slice.topology,
          whole.schedule.src(OpId(op)))[whole.schedule.dst(OpId(op)).value()];
      REQUIRE(int(whole.schedule.route(OpId(op)).size()) == hops);
      REQUIRE(whole.schedule.bytes(OpId(op)) == Bytes(payload));
    }
  }
}

TEST_CASE("one pair takes o + h alpha + S/B", "[collective]") {
  const Slice slice = MakeMesh({3, 4}, kRates);
  const Collective permute = Pairs({{ChipId(0), ChipId(11)}}, 450'000);
  const Schedule schedule = MakeWhole(slice, Spec("direct"), permute).schedule;
  // (0,0) to (2,3): 5 hops; 450 kB at 45 GB/s.
  CHECK(
      Near(RunPod(schedule, MakeNetwork(slice)).makespan, 3e-7 + 5e-6 + 1e-5));
}

TEST_CASE("the shift to the same chip in pairs is the same permute",
          "[collective]") {
  const Slice slice = MakeGridOf({4, 3}, {true, false}, kRates);
  for (int axis = 0; axis < 2; ++axis) {
    const Collective shift = Shift(axis, 1, 12345);
    const Collective pairs = Pairs(PairsOf(shift, slice.topology), 12345);
    const Schedule a = MakeWhole(slice, Spec("direct"), shift).schedule;
    const Schedule b = MakeWhole(slice, Spec("direct"), pairs).schedule;
    REQUIRE(a.size() == b.size());
    CHECK(LinkBytes(a, slice.topology) == LinkBytes(b, slice.topology));
  }
}

TEST_CASE("a permute says why a lowering does not apply", "[collective]") {
  const Slice torus = MakeTorus({4, 8});
  const Slice mesh = MakeMesh({4, 8});
  const Collective shift = Shift(1, 3, 64);
  CHECK(Reason("direct", shift, torus.topology) == "applies");
  CHECK(Reason("split-shift", shift, torus.topology) == "applies");
  CHECK(Reason("split-shift", Pairs({{ChipId(0), ChipId(1)}}, 64),
               torus.topology) ==
        "it needs a shift along an axis, not pairs; use direct");
  CHECK(Reason("split-shift", shift, mesh.topology) ==
        "axis y does not wrap; use direct");
  const Slice twisted = MakeTwisted({4, 8});
  CHECK(Reason("split-shift", shift, twisted.topology) ==
        "on a twisted slice an axis is no ring; use direct");
  Slice broken = MakeTorus({4, 8});
  broken.topology.Kill(broken.topology.LinkAt(ChipId(0), 0, Sign::kPlus));
  CHECK(Reason("split-shift", shift, broken.topology) ==
        "it needs every link of the axis, and some are dead or slow; use "
        "direct");
  CHECK(Reason("direct", shift, broken.topology) == "applies");
  for (const char* name : {"ring", "bfs-tree", "binomial", "chain"}) {
    CAPTURE(name);
    CHECK(Reason(name, shift, torus.topology).starts_with("only for "));
  }
  for (const CollectiveKind kind : GroupKinds()) {
    CHECK(Reason("split-shift", OnAllChips(kind, 64, torus), torus.topology) ==
          "only for collective-permute");
  }
}

TEST_CASE("direct needs a way between the chips of a pair", "[collective]") {
  // A line cut in two.
  Slice slice = MakeMesh({4});
  const LinkId cut = slice.topology.LinkAt(ChipId(1), 0, Sign::kPlus);
  slice.topology.Kill(cut);
  const Collective across =
      Pairs({{ChipId(0), ChipId(1)}, {ChipId(1), ChipId(3)}}, 64);
  CHECK(Reason("direct", across, slice.topology) ==
        "chip 1 cannot reach chip 3 over ICI");
  CHECK(Reason("direct", Pairs({{ChipId(0), ChipId(1)}}, 64), slice.topology) ==
        "applies");
  // One way only.
  const Collective back = Pairs({{ChipId(3), ChipId(1)}}, 64);
  CHECK(Reason("direct", back, slice.topology) == "applies");
  slice.topology.Kill(slice.topology.Reverse(cut));
  CHECK(Reason("direct", back, slice.topology) ==
        "chip 3 cannot reach chip 1 over ICI");
}

TEST_CASE("no direct permute beats the time that it claims",
          "[collective][property]") {
  const Lowering& row = *FindLowering("direct");
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 16);
    const Slice slice = MakeGridOf(shape, RandomWrap(random, shape), kRates);
    int axis = 0;
    while (shape[std::size_t(axis)] == 1) ++axis;
    const Collective shift =
        Shift(axis, random.Int(1, shape[std::size_t(axis)] - 1),
              random.Int(1, 1 << 20));
    CAPTURE(seed, slice.spec);
    const Schedule schedule = MakeWhole(slice, Spec("direct"), shift).schedule;
    CHECK(schedule.transfers() ==
          row.count(shift, slice.topology, Spec("direct")));
    CHECK(RunPod(schedule, MakeNetwork(slice)).makespan >=
          row.at_least(shift, slice, Spec("direct")).value() * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace podsim
