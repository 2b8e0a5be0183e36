// Collectives under the network models fifo and packet.
#include <catch2/catch.hpp>

#include "base/json_reader.h"
#include "engine/engine.h"
#include "sim/simulate.h"
#include "test/support/error_of.h"
#include "test/support/golden_case.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

NetworkModel Model(const std::string& text) {
  return ParseNetworkModel(text, "test");
}

SimOptions On(const std::string& network) {
  SimOptions options;
  options.network = Model(network);
  return options;
}

Comparison Compare(const Collective& collective, const Slice& slice,
                   const std::string& network) {
  PhaseTimes times;
  return CompareLowerings(collective, slice, On(network), times);
}

TEST_CASE("one hop without contention takes the oracle's time in any network",
          "[sim][network][oracle]") {
  std::size_t checked = 0;
  ForEachGoldenCase([&](const nlohmann::json& test) {
    if (!test["contention_free"].get<bool>() ||
        !test["single_hop"].get<bool>()) {
      return;
    }
    if (test["params"].contains("trees")) return;  // not those of our own
    CAPTURE(test["id"].get<std::string>());
    const Slice slice = MakeCaseSlice(test);
    const Schedule schedule =
        MakeWhole(slice, MakeCaseSpec(test), MakeCaseCollective(test, slice))
            .schedule;
    Network network = MakeNetwork(slice);
    for (const char* text :
         {"fifo", "packet:size=64KiB", "packet:size=64KiB,cut_through=false"}) {
      network.model = Model(text);
      CHECK(Near(RunCore(schedule, network).makespan,
                 test["time_s"].get<double>()));
    }
    ++checked;
  });
  CHECK(checked > 100);
}

TEST_CASE("where a closed form is given it is the time, in any network",
          "[sim][network]") {
  const char* network = GENERATE("fifo", "packet:size=16KiB",
                                 "packet:size=16KiB,cut_through=false");
  const Rates rates{.bandwidth = 90e9, .alpha = 1e-6, .overhead = 2e-7};
  int forms = 0;
  for (const Shape& shape : {Shape{8}, Shape{4, 4}, Shape{4, 4, 4}}) {
    for (const bool wrap : {true, false}) {
      const Slice slice =
          MakeGridOf(shape, std::vector<bool>(shape.size(), wrap), rates);
      for (const CollectiveKind kind : kLoweredKinds) {
        const Comparison comparison =
            Compare(OnAllChips(kind, 3 << 20, slice), slice, network);
        for (const Point& point : comparison.points) {
          CAPTURE(network, slice.spec, ToText(kind), *point.lowering);
          CHECK(point.network == ToText(Model(network)));
          CHECK_FALSE(point.fold);
          if (!point.closed_form_s) continue;
          CHECK(Near(*point.time_s, *point.closed_form_s));
          ++forms;
        }
      }
    }
  }
  CHECK(forms > 20);
}

TEST_CASE("a message over several hops has no closed form without cut-through",
          "[sim][network]") {
  const Slice slice = MakeGridOf(
      {8}, {false}, {.bandwidth = 90e9, .alpha = 1e-6, .overhead = 0});
  const Collective collective{.kind = CollectiveKind::kCollectivePermute,
                              .payload = Bytes(1 << 20),
                              .axes = {},
                              .pairs = {{ChipId(0), ChipId(3)}}};
  PhaseTimes times;
  const auto run = [&](const char* network) {
    return SimulateCollective(collective, slice, Spec("direct"), "test",
                              On(network), times);
  };
  const double bytes = double{1 << 20} / 90e9;
  const Point through = run("packet:size=1MiB");
  CHECK(Near(*through.time_s, 3e-6 + bytes));
  REQUIRE(through.closed_form_s);
  CHECK(Near(*through.closed_form_s, 3e-6 + bytes));
  const Point stored = run("packet:size=1MiB,cut_through=false");
  CHECK(Near(*stored.time_s, 3 * (1e-6 + bytes)));
  CHECK_FALSE(stored.closed_form_s);
  CHECK(ErrorOf([&] { run("fifo"); }) ==
        "--network fifo: op 0 sends over 3 hops; it serves transfers of one "
        "hop only; use --network packet or fluid, or another lowering");
}

TEST_CASE("no lowering beats its bound in any network, nor needs more links",
          "[sim][network][property]") {
  // A time below its bound would be an internal error.
  int points = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 12);
    const Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape),
                   {.bandwidth = random.Decades(9, 11),
                    .alpha = random.OneIn(3) ? 0 : random.Decades(-8, -5),
                    .overhead = random.OneIn(2) ? 0 : random.Decades(-8, -5)});
    const Collective collective =
        OnAllChips(random.Pick(GroupKinds()),
                   static_cast<std::int64_t>(random.Decades(2, 6)), slice);
    CAPTURE(slice.spec, ToText(collective.kind), collective.payload.value());
    for (const char* network :
         {"packet:size=1MiB", "packet:size=1KiB,cut_through=false"}) {
      for (const Point& point : Compare(collective, slice, network).points) {
        CHECK(*point.time_s >= *point.lower_bound_s * (1 - 1e-9) -
                                   double(point.group_size) /
                                       slice.parameters.ici_bandwidth.value());
        ++points;
      }
    }
  }
  CHECK(points > 50);
}

TEST_CASE("folding, the reference engine and too many packets are refused",
          "[sim][network]") {
  const Slice slice = MakeGridOf(
      {4}, {true}, {.bandwidth = 90e9, .alpha = 1e-6, .overhead = 0});
  const Collective collective =
      OnAllChips(CollectiveKind::kAllReduce, std::int64_t{1} << 32, slice);
  const auto refusal = [&](const SimOptions& options) {
    return ErrorOf([&] {
      PhaseTimes times;
      SimulateCollective(collective, slice, Spec("ring"), "test", options,
                         times);
    });
  };
  SimOptions options = On("fifo");
  options.fold = FoldMode::kOn;
  CHECK(refusal(options) ==
        "--fold on: cannot fold ring: --network fifo serves what arrives at "
        "once in the order of the ops, which differs from chip to chip; use "
        "--fold auto");
  options = On("packet");
  options.engine = EngineKind::kReference;
  CHECK(refusal(options) ==
        "--engine reference: stock SimGrid knows only --network fluid, got "
        "packet:size=4KiB,cut_through=true; use --engine pod");
  // 2 (n-1) S over all links, a byte each.
  CHECK(refusal(On("packet:size=1B")) ==
        "--network packet: packets of 1B go over 2.58e+10 links in all, more "
        "than the 2e+09 that this version simulates one by one; take larger "
        "packets (--network packet:size=1MiB), or --network fluid");
}

}  // namespace
}  // namespace podsim
