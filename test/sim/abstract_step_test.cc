// Steps in the abstract mode, and why they take as long as they do.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "base/json_reader.h"
#include "sim/explain.h"
#include "sim/simulate.h"
#include "test/support/random_slices.h"
#include "workload/workload.h"

namespace podsim {
namespace {

Workload Read(const std::string& text) {
  return ReadWorkload(JsonValue::ParseText(text, "step.json"), {});
}

std::string Step(const std::string& slice, const std::string& ops,
                 const std::string& more = "") {
  return R"({"format": "podsim-workload/1", "slice": ")" + slice + "\"" + more +
         R"(, "ops": [)" + ops + "]}";
}

StepResult Run(const Workload& workload, StepMode mode,
               const std::string& network = "fluid") {
  SimOptions options;
  options.step_mode = mode;
  options.network = ParseNetworkModel(network, "");
  PhaseTimes times;
  return SimulateStep(workload, options, times);
}

// Computes, and gathers of pairs: one transfer each way. Some async, in loops.
class PairsText {
 public:
  explicit PairsText(Random& random) : random_(random) {}

  std::string List(int depth) {
    std::string text;
    std::string flying;
    const int count = random_.Int(2, 6);
    for (int k = 0; k < count; ++k) {
      text += (k > 0 ? ", " : "") + Op(depth, flying);
    }
    return text;
  }

 private:
  std::string Op(int depth, std::string& flying) {
    const std::string id = "op" + std::to_string(next_++);
    const std::string head = R"({"id": ")" + id + "\", ";
    if (depth > 0 && random_.OneIn(4)) {
      return head + R"("repeat": )" + std::to_string(random_.Int(1, 6)) +
             R"(, "ops": [)" + List(depth - 1) + "]}";
    }
    std::string after;
    if (!flying.empty() && random_.OneIn(2)) {
      after = R"(, "after": [")" + flying + "\"]";
      flying.clear();
    }
    if (random_.OneIn(3)) {
      return head + R"("compute": {"duration": ")" +
             std::to_string(random_.Int(0, 40)) + R"(us"})" + after + "}";
    }
    const bool async = !random_.OneIn(3);
    if (async) flying = id;
    return head + R"("collective": "all-gather", "bytes": ")" +
           std::to_string(random_.Int(0, 30) * 100000) +
           R"(B", "lowering": "line", "axes": [")" +
           random_.Pick<std::string>({"x", "y"}) + "\"]" +
           (async ? R"(, "async": true)" : "") + after + "}";
  }

  Random& random_;
  int next_ = 0;
};

TEST_CASE("where links are plain queues both step modes agree",
          "[sim][step][property]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const std::string text =
        Step(random.Pick<std::string>({"ideal:2x2", "ideal:2x2x2"}),
             PairsText(random).List(2));
    CAPTURE(seed, text);
    const Workload workload = Read(text);
    const StepResult engine = Run(workload, StepMode::kEngine, "fifo");
    const StepResult abstract = Run(workload, StepMode::kAbstract, "fifo");
    const double makespan = *engine.makespan_s;
    const auto same = [&](const std::optional<double>& a,
                          const std::optional<double>& b) {
      CHECK(std::abs(*a - *b) <= 1e-9 * makespan);
    };
    same(engine.makespan_s, abstract.makespan_s);
    same(engine.compute_s, abstract.compute_s);
    same(engine.exposed_communication_s, abstract.exposed_communication_s);
    same(engine.overlapped_communication_s,
         abstract.overlapped_communication_s);
    REQUIRE(engine.collectives.size() == abstract.collectives.size());
    for (std::size_t k = 0; k < engine.collectives.size(); ++k) {
      same(engine.collectives[k].exposed_s, abstract.collectives[k].exposed_s);
      same(engine.collectives[k].flight_s, abstract.collectives[k].flight_s);
    }
    double path = 0;
    for (const auto& [kind, seconds] : PathByKind(abstract)) path += seconds;
    same(path, abstract.makespan_s);
    CHECK(abstract.lower_bound_s <= makespan * (1 + 1e-9));
  }
}

// A ring of 4 with alpha 1 us: an all-gather of 400 kB takes 3 steps of 1 us
// and 50 kB each way (ring-short) ... any lowering: latency + work.
const std::string kGather =
    R"({"id": "g", "collective": "all-gather", "bytes": "36MB", "axes": ["x"],
        "lowering": "ring")";

TEST_CASE("a gather beside a compute is exposed as far as it is longer",
          "[sim][step]") {
  // ring: 3 steps of 9 MB at 100 GB/s and 1 us each.
  const double gather = 3 * (9e6 / 100e9 + 1e-6);
  for (const int micros : {10, 200, 272, 274, 500}) {
    const Workload workload =
        Read(Step("ideal:4",
                  kGather + R"(, "async": true}, {"id": "c", "compute":
        {"duration": ")" +
                      std::to_string(micros) + R"(us"}}, {"id": "d",
        "compute": {"duration": "50us"}, "after": ["g"]})",
                  R"(, "parameters": {"ici.hop_latency": "1us"})"));
    const StepResult step = Run(workload, StepMode::kAbstract);
    const double compute = micros * 1e-6;
    CHECK(*step.makespan_s ==
          Approx(std::max(gather, compute) + 50e-6).epsilon(1e-9));
    CHECK(*step.exposed_communication_s ==
          Approx(std::max(0.0, gather - compute)).margin(1e-15));
    const auto kinds = PathByKind(step);
    if (gather > compute) {
      CHECK(kinds.at("latency") == Approx(3e-6).epsilon(1e-9));
      CHECK(kinds.at("transfer") == Approx(gather - 3e-6).epsilon(1e-9));
      CHECK(kinds.at("compute") == Approx(50e-6).epsilon(1e-9));
    } else {
      CHECK(kinds.at("compute") == Approx(compute + 50e-6).epsilon(1e-9));
    }
  }
}

TEST_CASE("collectives on the SparseCore run one at a time", "[sim][step]") {
  // Along different axes, so that only the unit is in the way.
  const auto text = [](const std::string& mode) {
    return Step("ideal:4x4",
                R"({"id": "a", "collective": "collective-permute",
                    "bytes": "10MB", "shift": {"axis": "x", "by": 1},
                    "lowering": "direct", "mode": ")" +
                    mode + R"("},
                   {"id": "b", "collective": "collective-permute",
                    "bytes": "10MB", "shift": {"axis": "y", "by": 1},
                    "lowering": "direct", "mode": ")" +
                    mode + R"("},
                   {"id": "c", "compute": {"duration": "1us"},
                    "after": ["a", "b"]})");
  };
  for (const StepMode mode : {StepMode::kAbstract, StepMode::kEngine}) {
    CHECK(*Run(Read(text("async")), mode).makespan_s ==
          Approx(101e-6).epsilon(1e-9));
    CHECK(*Run(Read(text("sparsecore")), mode).makespan_s ==
          Approx(201e-6).epsilon(1e-9));
  }
}

TEST_CASE("copies run one after the other beside the core", "[sim][step]") {
  // 100 MB at 100 GB/s each; the computes do not touch the memory.
  const Workload workload =
      Read(Step("ideal:4", R"({"id": "a", "copy": {"bytes": "100MB"}},
                    {"id": "b", "copy": {"bytes": "100MB"}},
                    {"id": "c", "compute": {"duration": "500us"}},
                    {"id": "d", "compute": {"duration": "300us"}, "after": ["a"]},
                    {"id": "e", "compute": {"duration": "100us"}, "after": ["b"]})",
                R"(, "parameters": {"hbm.bandwidth": "100GB/s"})"));
  for (const StepMode mode : {StepMode::kAbstract, StepMode::kEngine}) {
    const StepResult step = Run(workload, mode);
    CHECK(*step.makespan_s == Approx(2100e-6).epsilon(1e-9));
    CHECK(*step.exposed_communication_s == Approx(1200e-6).epsilon(1e-9));
  }
}

TEST_CASE("a fused collective takes a tenth of the TensorCore", "[sim][step]") {
  // 36 MB: 270 us of work while a compute of 1 ms runs at 9/10 or more.
  const Workload workload =
      Read(Step("ideal:4", kGather + R"(, "mode": "async_fused"},
           {"id": "c", "compute": {"duration": "1000us"}})"));
  const StepResult step = Run(workload, StepMode::kAbstract);
  // Max-min of speeds: both rise until 1 s + 0.1 s = 1.
  const double speed = 1 / 1.1;
  const double lost = 270e-6 / speed * (1 - speed);
  CHECK(*step.makespan_s == Approx(1000e-6 + lost).epsilon(1e-9));
  CHECK(*step.interference_s == Approx(lost).epsilon(1e-9));
}

const WhatIfRung& RungOf(const Explanation& explanation,
                         const std::string& gain) {
  for (const WhatIfRung& rung : explanation.rungs) {
    if (rung.gain_named == gain) return rung;
  }
  FAIL(gain);
  return explanation.rungs[0];
}

Explanation ExplainText(const std::string& text) {
  const Workload workload = Read(text);
  PhaseTimes times;
  return Explain(workload, SimOptions(), times);
}

TEST_CASE("what-ifs of a sync gather follow the formula", "[sim][explain]") {
  const double latency = 3e-6, work = 270e-6, compute = 400e-6;
  const Explanation explanation = ExplainText(
      Step("ideal:4x4",
           kGather + R"(}, {"id": "c", "compute": {"duration": "400us"}})",
           R"(, "parameters": {"ici.hop_latency": "1us"})"));
  const double all = latency + work + compute;
  const auto check = [&](const std::string& gain, double makespan) {
    CAPTURE(gain);
    const WhatIfRung& rung = RungOf(explanation, gain);
    CHECK(rung.makespan_s == Approx(makespan).epsilon(1e-9));
    CHECK(rung.gain_s == Approx(all - makespan).margin(1e-15));
  };
  CHECK(*explanation.step.makespan_s == Approx(all).epsilon(1e-9));
  check("latency", work + compute);
  check("ici:x", latency + compute);
  check("ici", latency + compute);
  check("contention", all);
  check("scheduling", compute);
  check("hbm", all);
  check("compute", all);  // a duration of its own
  check("communication", compute);
  CHECK(RungOf(explanation, "ici:x").cumulative_makespan_s.value() ==
        Approx(compute).epsilon(1e-9));
  // Scheduling gains 273 us, the axis 270.
  CHECK(explanation.bottleneck == "scheduling");
  CHECK(explanation.second == "ici:x");
  REQUIRE(explanation.exposed.size() == 1);
  CHECK(explanation.exposed[0].exposed_s ==
        Approx(latency + work).epsilon(1e-9));
  CHECK_FALSE(explanation.exposed[0].required_bytes_per_s);
}

TEST_CASE("a step without exposed communication is bound by its computes",
          "[sim][explain]") {
  const std::string parameters =
      R"(, "parameters": {"chip.flops.bf16": "100TFLOP/s",
          "hbm.bandwidth": "1TB/s"})";
  const auto label = [&](const std::string& work) {
    return ExplainText(Step("ideal:4",
                            R"({"id": "c", "compute": )" + work + "}",
                            parameters))
        .bottleneck;
  };
  CHECK(label(R"({"flops": "1TFLOP", "hbm": "1GB"})") == "compute");
  CHECK(label(R"({"flops": "0.1TFLOP", "hbm": "9GB"})") == "hbm");
}

TEST_CASE("a step that waits for a copy is bound by its memory",
          "[sim][explain]") {
  const Explanation explanation =
      ExplainText(Step("ideal:4", R"({"id": "a", "copy": {"bytes": "1GB"}},
                         {"id": "c", "compute": {"flops": "1GFLOP"},
                          "after": ["a"]})",
                       R"(, "parameters": {"chip.flops.bf16": "100TFLOP/s",
               "hbm.bandwidth": "1TB/s"})"));
  CHECK(*explanation.step.makespan_s == Approx(1010e-6).epsilon(1e-9));
  CHECK(RungOf(explanation, "hbm").makespan_s == Approx(10e-6).epsilon(1e-9));
  CHECK(RungOf(explanation, "communication").gain_s == 0);
  CHECK(explanation.bottleneck == "hbm");
}

TEST_CASE("MFU is the product of its parts", "[sim][explain]") {
  const Explanation explanation =
      ExplainText(Step("ideal:4", kGather + R"(, "async": true},
      {"id": "c", "compute": {"flops": "10GFLOP", "hbm": "1GB"}},
      {"id": "d", "compute": {"flops": "20GFLOP"}, "after": ["g"]})",
                       R"(, "parameters": {"chip.flops.bf16": "100TFLOP/s",
          "hbm.bandwidth": "2TB/s"})"));
  const StepEfficiency& efficiency = explanation.efficiency;
  // 1 GB at 2 TB/s is longer than 10 GFLOP at 100 TFLOP/s.
  CHECK(*efficiency.mfu ==
        Approx(300e-6 / *explanation.step.makespan_s).epsilon(1e-9));
  CHECK(*efficiency.kernels == Approx(300.0 / 700).epsilon(1e-9));
  CHECK(*efficiency.kernels * efficiency.hiding * efficiency.schedule ==
        Approx(*efficiency.mfu).epsilon(1e-9));
}

}  // namespace
}  // namespace podsim
