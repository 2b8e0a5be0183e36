#include "test/support/prove_whole.h"

#include "cost/bounds.h"
#include "cost/closed_form.h"

namespace podsim {
namespace {

constexpr double kDcn = 5e9;          // bytes/s per chip
constexpr double kDcnLatency = 8e-6;  // seconds

Slice MakeSlices(const Shape& shape, const std::vector<bool>& wrap, int slices,
                 std::array<int, 3> host = {1, 1, 1}) {
  return MakeSlices(MakeGridOf(shape, wrap, kTestRates), slices, kDcn,
                    kDcnLatency, host);
}

double TimeOf(const Slice& slice, const Lowered& lowered) {
  return RunPod(lowered.schedule, MakeNetwork(slice)).makespan;
}

TEST_CASE("hierarchical: proved on several slices of every small grid",
          "[collective][property]") {
  int proved = 0;
  for (const Shape& shape : AllShapes(12)) {
    for (const auto& wrap : AllWraps(shape)) {
      for (const int slices : {2, 3, 4}) {
        const Slice slice = MakeSlices(shape, wrap, slices);
        for (auto axes : AllAxisSubsets(shape.size())) {
          axes.push_back(static_cast<int>(shape.size()));
          for (const CollectiveKind kind : kLoweredKinds) {
            Collective collective{
                .kind = kind, .payload = Bytes(0), .axes = axes};
            const int n = GroupSize(collective, slice.topology);
            const int batches = 1 + proved % 3;
            for (const int payload : {1, n + 1, 100 * n}) {
              collective.payload = Bytes(payload);
              LoweringSpec spec = Spec("hierarchical");
              spec.batches = batches;
              CAPTURE(slice.spec, slices, axes, ToText(kind), payload, batches);
              const Lowered lowered = LowerOn(slice, spec, collective);
              const Violations found =
                  VerifyFull(lowered.schedule, lowered.meaning, slice.topology);
              CAPTURE(FirstOf(found));
              REQUIRE(found.empty());
              ++proved;
            }
          }
        }
      }
    }
  }
  CHECK(proved > 2000);
}

TEST_CASE("hierarchical: the time of its formula, folded as unfolded",
          "[collective]") {
  const auto [n, axes, slices] = GENERATE(
      table<int, int, int>({{4, 1, 2}, {5, 1, 3}, {4, 2, 2}, {3, 2, 4}}));
  const Shape shape(axes, n);
  const double chips = std::pow(n, axes);
  // Twice the phases of an all-gather: 2d links of a torus, then one NIC.
  const double payload = 2 * axes * chips * slices * 1000;
  const double h = n / 2;
  const double ici =
      axes * h * (kTestRates.overhead + kTestRates.alpha) +
      (chips - 1) / chips * payload / (2 * axes * kTestRates.bandwidth);
  const double dcn = (slices - 1) * (kTestRates.overhead + kDcnLatency +
                                     payload / (chips * slices) / kDcn);
  // Chips of a host use its NIC at the same time: each has its share.
  for (const int host : {1, n}) {
    Slice slice =
        MakeSlices(shape, std::vector<bool>(axes, true), slices, {host, 1, 1});
    for (const CollectiveKind kind : kLoweredKinds) {
      const Collective collective =
          OnAllChips(kind, static_cast<std::int64_t>(payload), slice);
      const Lowered lowered = LowerOn(slice, Spec("hierarchical"), collective);
      const double expected =
          (kind == CollectiveKind::kAllReduce ? 2 : 1) * (ici + dcn);
      CAPTURE(n, axes, slices, host, ToText(kind));
      CHECK(Near(TimeOf(slice, lowered), expected));
      const auto closed = ClosedForm(
          Resolve(Spec("hierarchical"), collective, slice), collective, slice);
      REQUIRE(closed.has_value());
      CHECK(Near(closed->value(), expected));
      CHECK(VerifyOrbit(lowered.program, slice.topology).empty());
      const Fold fold{std::vector<int>(axes + 1, 1)};
      const FoldedGrid grid(slice.topology, fold);
      const Schedule folded = Instantiate(lowered.program, slice.topology, fold,
                                          collective.payload);
      CHECK(Near(RunPod(folded, MakeNetwork(slice, grid)).makespan, expected));
    }
  }
}

TEST_CASE("hierarchical: batches hide ICI behind DCN", "[collective]") {
  const Slice slice = MakeSlices({4, 4}, {true, true}, 2);
  const std::int64_t payload = std::int64_t{64} << 20;
  const Collective collective =
      OnAllChips(CollectiveKind::kAllReduce, payload, slice);
  const auto time = [&](const std::string& spec) {
    return TimeOf(slice, LowerOn(slice, Spec(spec), collective));
  };
  const double one = time("hierarchical");
  const double many = time("hierarchical:batches=16");
  const double bound = ComputeBounds(collective, slice).binding().time.value();
  CHECK(many < one);
  CHECK(many >= bound);
}

TEST_CASE("messages to other slices: all-to-all and permute over DCN",
          "[collective]") {
  // Without start-up every chip's NIC share carries its blocks for the m - 1
  // other slices, which takes longer than ICI here.
  const Slice slice =
      MakeSlices(MakeMesh({2, 2}, {.bandwidth = kTestRates.bandwidth}), 3, kDcn,
                 /*dcn_latency=*/0, {2, 1, 1});
  const double payload = 12000;
  const Collective exchange =
      OnAllChips(CollectiveKind::kAllToAll, 12000, slice);
  const double expected = payload * 8 / 12 / kDcn;
  const WholeSchedule whole = MakeWhole(slice, Spec("direct"), exchange);
  CHECK(VerifyFull(whole.schedule, whole.meaning, slice.topology).empty());
  CHECK(Near(RunPod(whole.schedule, MakeNetwork(slice)).makespan, expected));
  const Bounds bounds = ComputeBounds(exchange, slice);
  CHECK(bounds.binding().name == "dcn");
  CHECK(Near(bounds.binding().time.value(), expected));
  // A pipeline stage hands on its activations: one chip has the whole NIC of
  // its host of two.
  const Collective pair{.kind = CollectiveKind::kCollectivePermute,
                        .payload = Bytes(10000),
                        .axes = AllAxes(slice.topology),
                        .pairs = {{ChipId(0), ChipId(4)}}};
  const WholeSchedule sent = MakeWhole(slice, Spec("direct"), pair);
  CHECK(VerifyFull(sent.schedule, sent.meaning, slice.topology).empty());
  CHECK(Near(RunPod(sent.schedule, MakeNetwork(slice)).makespan,
             10000 / (2 * kDcn)));
}

TEST_CASE("over DCN: every lowering that goes there is proved, no bound beaten",
          "[collective][property]") {
  int proved = 0;
  for (const Lowering& row : Lowerings()) {
    if (!row.over_dcn) continue;
    for (const CollectiveKind kind : row.kinds) {
      if (kind == CollectiveKind::kRaggedAllToAll) continue;
      for (const int slices : {2, 3}) {
        for (const Shape& shape : {Shape{1}, Shape{2, 2}, Shape{3, 2}}) {
          const Slice slice = MakeSlices(
              shape, std::vector<bool>(shape.size(), false), slices, {1, 2, 1});
          Collective collective = OnAllChips(kind, 6000, slice);
          if (IsRooted(kind)) collective.root = ChipId(1);
          const LoweringSpec spec = Spec(row.name);
          if (WhyNot(spec, collective, slice.topology)) continue;
          CAPTURE(row.name, ToText(kind), slices, shape);
          const WholeSchedule whole = MakeWhole(slice, spec, collective);
          const Violations found =
              VerifyFull(whole.schedule, whole.meaning, slice.topology);
          CAPTURE(FirstOf(found));
          REQUIRE(found.empty());
          const double time =
              RunPod(whole.schedule, MakeNetwork(slice)).makespan;
          for (const auto& bound :
               ComputeBounds(collective, slice).components) {
            CAPTURE(bound.name, bound.time.value(), time);
            CHECK(bound.time.value() <= time * (1 + 1e-9));
          }
          ++proved;
        }
      }
    }
  }
  CHECK(proved > 80);
}

TEST_CASE("a route over DCN is out of one host and into another",
          "[collective]") {
  const Slice slice = MakeSlices({4}, {true}, 2, {2, 1, 1});
  const Collective collective =
      OnAllChips(CollectiveKind::kAllGather, 800, slice);
  Lowered lowered = LowerOn(slice, Spec("hierarchical"), collective);
  const Topology& topology = slice.topology;
  Schedule wrong;
  for (const SchedulePattern& pattern : lowered.schedule.patterns()) {
    if (!pattern.relative) {
      wrong.AddPattern(pattern);
    } else {
      wrong.AddItems(lowered.schedule.items(pattern));
    }
  }
  for (std::uint32_t id = 0; id < lowered.schedule.size(); ++id) {
    const OpId op(id);
    std::vector<LinkId> route(lowered.schedule.route(op).begin(),
                              lowered.schedule.route(op).end());
    // Into the host of a chip that is not the destination.
    if (topology.IsPort(route[0])) route[1] = topology.PortIn(ChipId(0));
    wrong.Add({.src = lowered.schedule.src(op),
               .dst = lowered.schedule.dst(op),
               .chunks = lowered.schedule.chunks(op),
               .bytes = lowered.schedule.bytes(op),
               .mode = lowered.schedule.mode(op)},
              route, lowered.schedule.after(op));
  }
  const Violations found = VerifyFull(wrong, lowered.meaning, topology);
  REQUIRE(!found.empty());
  CHECK(found.texts().front() ==
        "op 0: a route over DCN is 0,0:dcn+, then 0,1:dcn-, from one slice to "
        "another");
}

TEST_CASE("hierarchical: why it does not apply", "[collective]") {
  const Slice one = MakeTorus({4, 4});
  CHECK(ReasonOf("hierarchical",
                 OnAllChips(CollectiveKind::kAllReduce, 100, one),
                 one.topology) == "no group spans slices; use bucket-rotated");
  const Slice two = MakeSlices({4}, {true}, 2);
  CHECK(ReasonOf("ring-short", OnAllChips(CollectiveKind::kAllReduce, 100, two),
                 two.topology) ==
        "some group spans slices, and its messages go over ICI only; use "
        "hierarchical, direct or binomial");
  const Collective inside{
      .kind = CollectiveKind::kAllReduce, .payload = Bytes(100), .axes = {0}};
  CHECK(ReasonOf("ring-short", inside, two.topology) == "applies");
}

}  // namespace
}  // namespace podsim
