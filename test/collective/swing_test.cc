#include "test/support/prove_whole.h"

namespace podsim {
namespace {

constexpr auto kAllReduce = CollectiveKind::kAllReduce;
constexpr auto kAllGather = CollectiveKind::kAllGather;

int Phases(CollectiveKind kind) { return kind == kAllReduce ? 2 : 1; }

TEST_CASE("swing: every grid of up to 16 chips, every group",
          "[collective][property]") {
  CHECK(ProveOnGrids("swing", 16) > 1000);
  CHECK(ProveOnGrids("swing:ports=1", 16) > 1000);
}

TEST_CASE("swing: rings of 32 and 64, tori, faults", "[collective][property]") {
  const std::string spec = GENERATE("swing", "swing:ports=1");
  for (const Shape& shape : {Shape{32}, {64}, {8, 4}, {2, 16}, {4, 2, 8}}) {
    for (const CollectiveKind kind : FindLowering("swing")->kinds) {
      const Slice slice = MakeTorus(shape, kTestRates);
      ProveWhole(slice, Spec(spec), OnAllChips(kind, 4099, slice));
    }
  }
  CHECK(ProveOnRandomSlices(spec, 1000) > 100);
  const Slice twisted = MakeTwisted({4, 8}, kTestRates);
  ProveWhole(twisted, Spec(spec), OnAllChips(kAllReduce, 4099, twisted));
}

TEST_CASE("swing: ports x log2 P messages per chip and phase", "[collective]") {
  for (const Shape& shape : {Shape{4}, {16}, {4, 8}, {2, 4, 4}}) {
    const Slice slice = MakeTorus(shape);
    const int chips = ChipsOf(shape);
    int steps = 0;
    while ((1 << steps) < chips) ++steps;
    const int ports = 2 * int(shape.size());
    for (const CollectiveKind kind : FindLowering("swing")->kinds) {
      CAPTURE(slice.spec, ToText(kind));
      const std::int64_t payload = 1 << 16;
      CHECK(int(Measure(slice, "swing", kind, payload).transfers) ==
            Phases(kind) * ports * chips * steps);
      CHECK(int(Measure(slice, "swing:ports=1", kind, payload).transfers) ==
            Phases(kind) * chips * steps);
    }
  }
}

TEST_CASE("swing: 2d a + (P-1)/(2dP) S/B on tori of 4, the bound",
          "[collective]") {
  // Every step is one hop, and the 2d copies use different links. With one port
  // each chip uses one link at a time.
  const int d = GENERATE(1, 2, 3);
  const Slice slice = MakeTorus(Shape(std::size_t(d), 4), kTestRates);
  const double chips = slice.topology.chips();
  const std::int64_t payload = 6 * 64 * 1024;
  const double full = double(payload) / kTestRates.bandwidth;
  const double start_ups = 2 * d * (kTestRates.overhead + kTestRates.alpha);
  for (const CollectiveKind kind : FindLowering("swing")->kinds) {
    CAPTURE(d, ToText(kind));
    CHECK(Near(
        Measure(slice, "swing", kind, payload).time,
        Phases(kind) * (start_ups + (chips - 1) / (2 * d * chips) * full)));
    CHECK(Near(Measure(slice, "swing:ports=1", kind, payload).time,
               Phases(kind) * (start_ups + (chips - 1) / chips * full)));
  }
}

TEST_CASE("swing: hops of 1, 1, 3, 5, 11, 21, .. on every axis",
          "[collective]") {
  // Without bandwidth limits: the sum over the steps of o + |rho| alpha.
  struct Row {
    Shape shape;
    int steps;
    int hops;
  };
  const Row rows[] = {{{2}, 1, 1},      {{4}, 2, 2},      {{8}, 3, 5},
                      {{16}, 4, 10},    {{32}, 5, 21},    {{64}, 6, 42},
                      {{8, 8}, 6, 10},  {{4, 16}, 6, 12}, {{16, 16}, 8, 20},
                      {{2, 4, 8}, 6, 8}};
  const Rates rates{.bandwidth = 1e30, .alpha = 1e-6, .overhead = 3e-7};
  for (const Row& row : rows) {
    const Slice slice = MakeTorus(row.shape, rates);
    CAPTURE(slice.spec);
    for (const std::string spec : {"swing", "swing:ports=1"}) {
      CHECK(Near(Measure(slice, spec, kAllGather, 1 << 16).time,
                 row.steps * rates.overhead + row.hops * rates.alpha));
    }
  }
}

TEST_CASE("swing: both ports of every axis by default", "[collective]") {
  const Slice slice = MakeTorus({4, 1, 8});
  const auto text = [&](std::vector<int> axes) {
    const Collective collective{
        .kind = kAllGather, .payload = Bytes(64), .axes = std::move(axes)};
    return ToText(Resolve(Spec("swing"), collective, slice), collective,
                  slice.topology);
  };
  CHECK(text({0, 1, 2}) == "swing:ports=4");
  CHECK(text({2}) == "swing:ports=2");
  CHECK(text({1}) == "swing:ports=1");
}

TEST_CASE("swing: why it does not apply", "[collective]") {
  const Slice slice = MakeTorus({4, 8});
  const Collective all = OnAllChips(kAllGather, 100, slice);
  CHECK(WhyNotText("swing", all, slice) == "applies");
  CHECK(WhyNotText("swing:ports=4", all, slice) == "applies");
  CHECK(WhyNotText("swing:ports=2", all, slice) ==
        "ports=2 is neither one nor both of every axis; use ports=1 or "
        "ports=4");
  CHECK(WhyNotText("swing",
                   OnLists(kAllGather, 100,
                           {{ChipId(0), ChipId(1), ChipId(2), ChipId(5)}}),
                   slice) ==
        "its groups must be all chips or the sub-grids of some axes, and these "
        "lists are neither; use direct");
  const Slice six = MakeTorus({4, 6});
  CHECK(WhyNotText("swing", OnAllChips(kAllReduce, 100, six), six) ==
        "axis y has 6 chips, which is no power of two; use "
        "recursive-doubling or direct");
  Slice faulty = MakeTorus({4, 4});
  faulty.topology.Kill(ChipId(5));
  CHECK(WhyNotText("swing", OnAllChips(kAllGather, 100, faulty), faulty) ==
        "chip 1,1 is dead, and the groups must be whole sub-grids; use "
        "direct");
}

}  // namespace
}  // namespace podsim
