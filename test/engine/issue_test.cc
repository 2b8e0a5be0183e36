// The issue cost and the window: formulas, laws on random DAGs under every
// network model, and golden times.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>

#include "cost/bounds.h"
#include "cost/closed_form.h"
#include "engine/engine.h"
#include "schedule/placement.h"
#include "schedule/verifier.h"
#include "test/support/golden_case.h"
#include "test/support/issue.h"
#include "test/support/lowered.h"
#include "test/support/networks.h"
#include "topology/distance.h"

namespace podsim {
namespace {

const std::vector<NetworkModel> kModels = {
    {},
    {.kind = NetworkKind::kFifo},
    {.kind = NetworkKind::kPacket, .packet = 1 << 20}};

Slice With(Slice slice, double issue, int window = 0) {
  slice.parameters.ici_issue = Seconds(issue);
  slice.parameters.ici_window = window;
  return slice;
}

double TimeOf(const Slice& slice, const std::string& lowering,
              const Collective& collective) {
  const LoweringSpec spec = Resolve(Spec(lowering), collective, slice);
  return RunPod(MakeWhole(slice, spec, collective).schedule, MakeNetwork(slice))
      .makespan;
}

// ---- formulas -----------------------------------------------------------

TEST_CASE("the i-th message of a chip starts up after i g", "[engine][issue]") {
  for (const NetworkModel& model : kModels) {
    CAPTURE(ToText(model));
    Network network = Bare(100, model);
    network.message_overhead = 0.25;
    network.hop_latency = 0.5;
    network.issue = 0.125;
    DagBuilder dag;
    for (std::uint32_t link = 0; link < 100; ++link) dag.Send({link}, 1000);
    const Timeline timeline = RunPod(dag.schedule(), network);
    for (std::uint32_t op = 0; op < 100; ++op) {
      CAPTURE(op);
      CHECK(Near(timeline.start[op], (op + 1) * 0.125));
      CHECK(Near(timeline.end[op], (op + 1) * 0.125 + 0.25 + 0.5 + 1));
    }
  }
}

// Farthest first, a chip with hops h_1 >= h_2 >= .. is done at max over i of
// i g + o + h_i alpha, but for what the bytes take.
TEST_CASE("direct posts the farthest first if asked to", "[engine][issue]") {
  const double issue = 2e-7, alpha = 1e-6, overhead = 5e-7, rate = 90e9;
  const std::int64_t shard = 8;  // bytes
  for (const Shape& shape : {Shape{8}, Shape{4, 4}, Shape{3, 5}, Shape{2, 4}}) {
    for (const bool wrap : {true, false}) {
      const Slice slice = With(
          MakeGridOf(shape, std::vector<bool>(shape.size(), wrap),
                     {.bandwidth = rate, .alpha = alpha, .overhead = overhead}),
          issue);
      const int n = slice.topology.chips();
      double latest = 0;
      for (int chip = 0; chip < n; ++chip) {
        std::vector<int> hops = HopsFrom(slice.topology, ChipId(chip));
        std::sort(hops.rbegin(), hops.rend());
        for (int i = 0; i + 1 < n; ++i) {
          latest =
              std::max(latest, (i + 1) * issue + overhead + hops[i] * alpha);
        }
      }
      const Collective collective =
          OnAllChips(CollectiveKind::kAllGather, n * shard, slice);
      const double bytes = n * (n - 1) * shard / rate;  // all over one link
      const double time =
          TimeOf(slice, "direct:ties=parity,far_first=true", collective);
      CAPTURE(shape, wrap);
      CHECK(time >= latest);
      CHECK(time <= latest + bytes);
      CHECK(TimeOf(slice, "direct:ties=parity", collective) > latest + bytes);
    }
  }
}

TEST_CASE("farthest first, direct is fx in one round of all axes",
          "[engine][issue]") {
  const std::vector<std::pair<Shape, std::string>> plans = {
      {{8}, "8"}, {{4, 4}, "4/4:L"}, {{3, 5}, "3/5:L"}, {{2, 2, 3}, "2/2/3:L"}};
  for (const auto& [shape, plan] : plans) {
    const Slice slice =
        With(MakeGridOf(shape, std::vector<bool>(shape.size(), false),
                        {.bandwidth = 90e9, .alpha = 1e-6, .overhead = 5e-7}),
             2e-7);
    for (const CollectiveKind kind :
         {CollectiveKind::kAllGather, CollectiveKind::kAllToAll}) {
      const Collective collective =
          OnAllChips(kind, slice.topology.chips() * 96, slice);
      CAPTURE(plan, ToText(kind));
      CHECK(
          TimeOf(slice, "direct:ties=parity,far_first=true", collective) ==
          Approx(TimeOf(slice, "fx:plan=" + plan, collective)).epsilon(1e-12));
    }
  }
}

TEST_CASE("who is ready first is issued first, whatever its id; then by id",
          "[engine][issue]") {
  // Ready: op 2 at 0.5, op 3 at 0.25, op 4 at 0, op 5 at 0.5. From 0 on op 4,
  // from 1 on op 3, from 2 on op 2, from 3 on op 5.
  for (const NetworkModel& model : kModels) {
    CAPTURE(ToText(model));
    Network network = Bare(4, model);
    network.issue = 1;
    DagBuilder dag;
    const OpId late = dag.Compute(0.5), early = dag.Compute(0.25);
    dag.Send({0}, 100, {late});
    dag.Send({1}, 100, {early});
    dag.Send({2}, 100);
    dag.Send({3}, 100, {late});
    const Timeline timeline = RunPod(dag.schedule(), network);
    const std::vector<double> starts = {0, 0, 3, 2, 1, 4};
    for (std::size_t op = 0; op < starts.size(); ++op) {
      CAPTURE(op);
      CHECK(Near(timeline.start[op], starts[op]));
    }
  }
}

TEST_CASE("two that become ready in one batch are issued by id",
          "[engine][issue]") {
  // Ops 0 and 1 both end at 1; op 0 releases op 3 before op 1 releases op 2.
  Network network = Bare(4);
  network.issue = 1;
  DagBuilder dag;
  const OpId one = dag.Compute(1), other = dag.Compute(1);
  dag.Send({0}, 1000, {other});
  dag.Send({1}, 1000, {one});
  const Timeline timeline = RunPod(dag.schedule(), network);
  CHECK(Near(timeline.start[2], 2));
  CHECK(Near(timeline.start[3], 3));
}

TEST_CASE("messages over DCN are not issued", "[engine][issue]") {
  Network network = Bare(4);
  network.issue = 1;
  network.window = 1;
  network.first_port = 2;
  DagBuilder dag;
  dag.Send({2, 3}, 1000);
  dag.Send({0}, 1000);
  dag.Send({2, 3}, 1000);
  const Timeline timeline = RunPod(dag.schedule(), network);
  CHECK(timeline.start == std::vector<double>{0, 1, 0});
}

TEST_CASE("a ring takes g more per step", "[engine][issue]") {
  // ring: (n-1)(g + o + alpha + S/(nB)).
  const int n = GENERATE(3, 4, 8, 13);
  const double g = GENERATE(1e-9, 2e-7, 5e-6);
  CAPTURE(n, g);
  const Slice slice = With(
      MakeTorus({n}, {.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7}), g);
  const Collective gather =
      OnAllChips(CollectiveKind::kAllGather, std::int64_t{1000} * n, slice);
  CHECK(Near(TimeOf(slice, "ring", gather), (n - 1) * (g + 2.5e-6)));
  CHECK(!ClosedForm(Spec("ring"), gather, slice));
}

TEST_CASE("a direct all-to-all takes at least (P-1) g + o + alpha",
          "[engine][issue]") {
  const Shape shape = GENERATE(Shape{5}, Shape{3, 4}, Shape{4, 4, 2});
  const Slice slice = With(
      MakeTorus(shape, {.bandwidth = 1e11, .alpha = 1e-6, .overhead = 2e-6}),
      1e-5);
  const int chips = slice.topology.chips();
  const Collective collective = OnAllChips(
      CollectiveKind::kAllToAll, std::int64_t{64} * chips * chips, slice);
  const double least = (chips - 1) * 1e-5 + 3e-6;
  for (const char* lowering : {"direct", "direct:window=2"}) {
    CHECK(TimeOf(slice, lowering, collective) >= least);
  }
}

// ---- laws ---------------------------------------------------------------

TEST_CASE("every message starts up when its chip has issued it",
          "[engine][issue][property]") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    Random random(12'000'000 + seed);
    const int hops = random.OneIn(2) ? 1 : random.Int(2, 6);
    RandomDag dag = MakeIssuingDag(random, hops);
    if (hops == 1 && random.OneIn(3)) {
      dag.network.model.kind = NetworkKind::kFifo;
    } else if (random.OneIn(3)) {
      dag.network.model = {.kind = NetworkKind::kPacket,
                           .packet = 1 << 24,
                           .cut_through = random.OneIn(2)};
    }
    CAPTURE(ToText(dag.network.model));
    const Timeline timeline = RunPod(dag.schedule, dag.network);
    const std::vector<double> starts =
        IssueDates(dag.schedule, dag.network, timeline);
    for (std::uint32_t op = 0; op < dag.schedule.size(); ++op) {
      CAPTURE(op, timeline.start[op], starts[op]);
      REQUIRE(Near(timeline.start[op], starts[op]));
    }
    const Timeline core = RunCore(dag.schedule, dag.network);
    REQUIRE(core.start == timeline.start);
    REQUIRE(core.end == timeline.end);
  }
}

// The schedule with the waits of the window written down.
Schedule WriteWindow(const Schedule& schedule, std::size_t window) {
  Schedule written;
  written.AddPattern({});
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::vector<OpId>> sent;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    std::vector<OpId> after(schedule.after(op).begin(),
                            schedule.after(op).end());
    if (schedule.kind(op) == OpKind::kTransfer) {
      auto& lane = sent[{schedule.src(op).value(), schedule.lane(op)}];
      if (lane.size() >= window) after.push_back(lane[lane.size() - window]);
      lane.push_back(op);
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    AppendLike(schedule, op, schedule.src(op), schedule.lane(op), after,
               written);
  }
  return written;
}

TEST_CASE("a window is the same as its waits written down, bit by bit",
          "[engine][issue][property]") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Random random(13'000'000 + seed);
    const int hops = random.OneIn(2) ? 1 : random.Int(2, 6);
    RandomDag dag = MakeIssuingDag(random, hops);
    if (random.OneIn(2)) dag.network.issue = 0;
    if (hops == 1 && random.OneIn(2)) {
      dag.network.model.kind = NetworkKind::kFifo;
    }
    dag.network.window = static_cast<std::uint32_t>(random.Int(1, 4));
    const Schedule written = WriteWindow(dag.schedule, dag.network.window);
    const Timeline found = RunPod(dag.schedule, dag.network);
    dag.network.window = 0;
    const Timeline expected = RunPod(written, dag.network);
    REQUIRE(found.start == expected.start);
    REQUIRE(found.end == expected.end);
  }
}

TEST_CASE("ici.window=w is window=w of a direct all-to-all along a line",
          "[engine][issue]") {
  const int n = GENERATE(4, 5, 8);
  const int window = GENERATE(1, 2, 3);
  const bool wrap = GENERATE(false, true);
  const double g = GENERATE(0.0, 2e-7);
  CAPTURE(n, window, wrap, g);
  const Slice slice =
      With(MakeGridOf({n}, {wrap}, {.bandwidth = 1e9, .alpha = 1e-6}), g);
  const Collective collective =
      OnAllChips(CollectiveKind::kAllToAll, std::int64_t{2000} * n * n, slice);
  CHECK(Near(
      TimeOf(With(slice, g, window), "direct", collective),
      TimeOf(slice, "direct:window=" + std::to_string(window), collective)));
}

TEST_CASE("with issue cost and window a fold dates ops as the whole does",
          "[engine][issue][fold]") {
  const Shape shape = GENERATE(Shape{8}, Shape{4, 4}, Shape{3, 4, 2});
  const int window = GENERATE(0, 1, 3);
  const Slice slice = With(
      MakeTorus(shape, {.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7}),
      3e-7, window);
  const Topology& topology = slice.topology;
  int folded = 0;
  for (const CollectiveKind kind :
       {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllReduce, CollectiveKind::kAllToAll}) {
    const Collective collective =
        OnAllChips(kind, std::int64_t{720} * topology.chips(), slice);
    for (const LoweringSpec& candidate : SpecsToCompare()) {
      if (WhyNot(candidate, collective, topology)) continue;
      const LoweringSpec spec = Resolve(candidate, collective, slice);
      if (!HasProgram(spec, collective, topology)) continue;
      CAPTURE(ToText(spec, collective, topology), ToText(kind));
      const Program program = Lower(spec, collective, topology);
      Fold fold = NoFold(topology);
      for (std::size_t a = 0; a < shape.size(); ++a) {
        if (InvariantAlong(program, topology, static_cast<int>(a))) {
          fold.periods[a] = 1;
        }
      }
      if (!FoldsAnything(topology, fold)) continue;
      ++folded;
      const FoldedGrid grid(topology, fold);
      const double whole =
          RunPod(Instantiate(program, topology, NoFold(topology),
                             collective.payload),
                 MakeNetwork(slice))
              .makespan;
      CHECK(
          Near(RunPod(Instantiate(program, topology, fold, collective.payload),
                      MakeNetwork(slice, grid))
                   .makespan,
               whole));
      CHECK(whole >= ComputeBounds(collective, slice).binding().time.value() *
                         (1 - 1e-9));
    }
  }
  CHECK(folded > 10);
}

// ---- golden times -------------------------------------------------------

// Where the order of the messages of a chip, and so who waits for the issue
// unit, is not that of the golden case: ours are by displacement, theirs by
// rank.
bool OrdersOtherwise(const Slice& slice, const LoweringSpec& spec,
                     const Collective& collective) {
  return spec.name == "direct" &&
         ActiveAxes(collective, slice.topology).size() > 1 &&
         HasProgram(Resolve(spec, collective, slice), collective,
                    slice.topology);
}

// Its messages and bytes, and that it computes the collective.
void CheckTraffic(const nlohmann::json& test, const WholeSchedule& whole,
                  const Topology& topology) {
  const Schedule& schedule = whole.schedule;
  std::map<std::uint32_t, std::int64_t> loads;
  std::int64_t byte_hops = 0, most = 0;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    if (schedule.kind(OpId(id)) != OpKind::kTransfer) continue;
    for (const LinkId link : schedule.route(OpId(id))) {
      const std::int64_t bytes = schedule.bytes(OpId(id)).value();
      byte_hops += bytes;
      most = std::max(most, loads[link.value()] += bytes);
    }
  }
  CHECK(schedule.transfers() == test["transfers"].get<std::uint32_t>());
  CHECK(byte_hops == test["byte_hops"].get<std::int64_t>());
  CHECK(most == test["max_link_bytes"].get<std::int64_t>());
  CHECK(VerifyFull(schedule, whole.meaning, topology).texts() ==
        std::vector<std::string>{});
}

TEST_CASE("golden times with issue cost", "[engine][issue][golden]") {
  std::ifstream file(PODSIM_TEST_DATA "/golden_latency.json");
  const auto golden = nlohmann::json::parse(file);
  int checked = 0;
  for (const nlohmann::json& test : golden["cases"]) {
    if (!IsInTable(test)) continue;
    CAPTURE(test["id"].get<std::string>(), test["algorithm"],
            test["collective"], test["topology"].dump(), test["params"].dump());
    const Slice slice =
        With(MakeCaseSlice(test), test["issue_s"].get<double>());
    const LoweringSpec spec = MakeCaseSpec(test);
    const Collective collective = MakeCaseCollective(test, slice);
    if (OrdersOtherwise(slice, spec, collective)) continue;
    const WholeSchedule whole = MakeWhole(slice, spec, collective);
    const double time = RunPod(whole.schedule, MakeNetwork(slice)).makespan;
    if (spec.name == "fx" || spec.name == "swing-exchange") {
      CheckTraffic(test, whole, slice.topology);
    }
    CHECK(Near(time, test["time_s"].get<double>()));
    // Our bound is one of theirs.
    CHECK(ComputeBounds(collective, slice).binding().time.value() <=
          time * (1 + 1e-9));
    ++checked;
  }
  CHECK(checked > 380);
}

}  // namespace
}  // namespace podsim
