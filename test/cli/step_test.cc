// Makespans of workloads that a pencil gives too.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using nlohmann::ordered_json;

constexpr double kMicro = 1e-6;

// The step of a workload on `slice` with these ops and more keys.
ordered_json Step(const std::string& slice, const std::string& ops,
                  const std::string& more = "", const std::string& flags = "") {
  const TemporaryFolder folder;
  folder.Write("w.json", R"({"format": "podsim-workload/1", "slice": ")" +
                             slice + "\", " + more + "\"ops\": [" + ops + "]}");
  return PodsimJson(Words("simulate w.json --json - " + flags),
                    folder.path())["points"][0];
}

void CheckSeconds(const ordered_json& found, double expected) {
  REQUIRE(found.is_number());
  if (expected == 0) {
    CHECK(found == 0);
  } else {
    CHECK(found.get<double>() == Approx(expected).epsilon(1e-9));
  }
}

std::string Compute(const std::string& id, const std::string& duration) {
  return R"({"id": ")" + id + R"(", "compute": {"duration": ")" + duration +
         "\"}}";
}

std::string Sum(const std::string& id, const std::string& kind,
                const std::string& bytes, const std::string& axis,
                const std::string& lowering) {
  return R"({"id": ")" + id + R"(", "collective": ")" + kind +
         R"(", "bytes": ")" + bytes + R"(", "axes": [")" + axis +
         R"("], "lowering": ")" + lowering + "\"}";
}

constexpr char kOneMicrosecond[] =
    R"("parameters": {"ici.hop_latency": "1us"}, )";

TEST_CASE("blocks of several lengths fold to what all of them divide",
          "[cli]") {
  // Lines of n chips: (n - 1)(1 us + 120 kB / (n 100 GB/s)).
  const std::string four =
      R"({"id": "a", "collective": "all-gather", "bytes": "120kB",
          "lowering": "line", "groups": [[0, 1, 2, 3], [4, 5, 6, 7],
          [8, 9, 10, 11], [12, 13, 14, 15], [16, 17, 18, 19],
          [20, 21, 22, 23]]}, )";
  const std::string six =
      R"({"id": "b", "collective": "all-gather", "bytes": "120kB",
          "lowering": "line", "groups": [[0, 1, 2, 3, 4, 5],
          [6, 7, 8, 9, 10, 11], [12, 13, 14, 15, 16, 17],
          [18, 19, 20, 21, 22, 23]]})";
  const double seconds = (3 * 1.3 + 5 * 1.2) * kMicro;
  const ordered_json folded = Step("ideal:24", four + six, kOneMicrosecond);
  CHECK(folded["fold"] == ordered_json::array({12}));
  CheckSeconds(folded["makespan_s"], seconds);
  CheckSeconds(
      Step("ideal:24", four + six, kOneMicrosecond, "--fold off")["makespan_s"],
      seconds);
}

TEST_CASE("a mesh axis over blocks takes lines inside them", "[cli]") {
  // x:4 of a ring of 8: as the blocks of 4 above.
  const ordered_json step =
      Step("ideal:8", Sum("a", "all-gather", "120kB", "m", "line"),
           std::string(kOneMicrosecond) +
               R"("mesh": [{"name": "m", "size": 4, "on": ["x:4"]}], )");
  CHECK(step["fold"] == ordered_json::array({4}));
  CheckSeconds(step["makespan_s"], 3 * 1.3 * kMicro);
}

TEST_CASE("a step takes the sum of its computes and closed forms", "[cli]") {
  // ideal: 100 GB/s; alpha 1us. Rings of n = 4:
  //   all-gather of 4 MB:  (n-1)(alpha + S/(nB))  = 3 (1 + 10) us  =  33 us
  //   all-reduce of 8 MB: 2(n-1)(alpha + S/(nB))  = 6 (1 + 20) us  = 126 us
  const ordered_json step =
      Step("ideal:4x4",
           Compute("a", "10us") + "," +
               Sum("gather", "all-gather", "4MB", "x", "ring") + "," +
               Compute("b", "20us") + "," +
               Sum("reduce", "all-reduce", "8MB", "y", "ring"),
           kOneMicrosecond);
  CheckSeconds(step["makespan_s"], (10 + 33 + 20 + 126) * kMicro);
  CheckSeconds(step["compute_s"], 30 * kMicro);
  CheckSeconds(step["exposed_communication_s"], (33 + 126) * kMicro);
  CheckSeconds(step["idle_s"], 0);
  CheckSeconds(step["interference_s"], 0);
  // Nothing overlaps: everything is on the critical path.
  const std::vector<std::tuple<std::string, std::string, double>> path = {
      {"a", "compute", 10},       {"gather", "latency", 3},
      {"gather", "transfer", 30}, {"b", "compute", 20},
      {"reduce", "latency", 6},   {"reduce", "transfer", 120}};
  REQUIRE(step["critical_path"].size() == path.size());
  for (std::size_t k = 0; k < path.size(); ++k) {
    const auto& [op, kind, micros] = path[k];
    CHECK(step["critical_path"][k]["op"] == op);
    CHECK(step["critical_path"][k]["kind"] == kind);
    CheckSeconds(step["critical_path"][k]["seconds"], micros * kMicro);
  }
  CheckSeconds(step["critical_path_kinds"]["transfer"], 150 * kMicro);
  CheckSeconds(step["collectives"][0]["exposed_s"], 33 * kMicro);
  CheckSeconds(step["collectives"][1]["exposed_s"], 126 * kMicro);
}

TEST_CASE("a step folded, unfolded and on a larger cube takes equally long",
          "[cli]") {
  const std::string ops = Compute("a", "10us") + "," +
                          Sum("g", "all-gather", "4MB", "x", "ring-short");
  const double folded = Step("v5p:4x4x4", ops)["makespan_s"];
  // ring-short of 4: 2 (1us) + 3/8 * 4MB / 90GB/s.
  CheckSeconds(folded, (10 + 2 + 3.0 / 8 * 4e6 / 90e9 / kMicro) * kMicro);
  CheckSeconds(Step("v5p:4x4x4", ops, "", "--fold off")["makespan_s"], folded);
  CheckSeconds(Step("v5p:4x4x8", ops)["makespan_s"], folded);
}

TEST_CASE("the engine says that it runs fused collectives as async", "[cli]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "step.json")
      << R"({"format": "podsim-workload/1", "slice": "ideal:4", "ops": [
             {"id": "g", "collective": "all-gather", "bytes": "4MB",
              "mode": "async_fused"}]})";
  const auto warning = [&](const std::string& flags) {
    return Podsim(Words("simulate step.json " + flags), folder.path()).err;
  };
  CHECK(warning("") ==
        "podsim: warning: step.json: /ops/0: async_fused runs as async in "
        "--step-mode engine, without taking a share of the TensorCore; use "
        "--step-mode abstract\n");
  CHECK(warning("--step-mode abstract").empty());
}

TEST_CASE("a scalar does not keep a step from folding", "[cli]") {
  const std::string ops =
      Sum("gather", "all-gather", "64MB", "x", "ring") + "," +
      R"({"id": "loss", "collective": "all-reduce", "bytes": "4B"})";
  const ordered_json folded = Step("v5p:8x8x8", ops);
  CHECK(folded["fold"] == std::vector<int>{1, 1, 1});
  CHECK(folded["collectives"][1]["lowering"] == "axis-exchange");
  const ordered_json free = Step("v5p:8x8x8", ops, "", "--fold off");
  CHECK(free["fold"].is_null());
  const double makespan = free["makespan_s"];
  CHECK(folded["makespan_s"].get<double>() <= makespan * 1.001);
  // Where nothing else folds, what is fastest is taken.
  const ordered_json alone =
      Step("v5p:8x8x8",
           R"({"id": "loss", "collective": "all-reduce", "bytes": "64KiB"})");
  CHECK(alone["collectives"][0]["lowering"] != "axis-exchange");
}

TEST_CASE("a repeat takes its body as often as it says", "[cli]") {
  // 3 (10 + 2 (33 + 5)) us and 1 us after it.
  const std::string inner = R"({"id": "inner", "repeat": 2, "ops": [)" +
                            Sum("gather", "all-gather", "4MB", "x", "ring") +
                            "," + Compute("b", "5us") + "]}";
  const ordered_json step =
      Step("ideal:4x4",
           R"({"id": "outer", "repeat": 3, "ops": [)" + Compute("a", "10us") +
               "," + inner + R"(]}, {"id": "end", "after": ["outer"],
                                     "compute": {"duration": "1us"}})",
           kOneMicrosecond);
  CheckSeconds(step["makespan_s"], (3 * (10 + 2 * (33 + 5)) + 1) * kMicro);
  CheckSeconds(step["compute_s"], (3 * (10 + 2 * 5) + 1) * kMicro);
  CHECK(step["collectives"][0]["executions"] == 6);
  CheckSeconds(step["collectives"][0]["exposed_s"], 6 * 33 * kMicro);
  CheckSeconds(step["collectives"][0]["time_s"], 33 * kMicro);
}

TEST_CASE("each collective on v7x is launched once, an empty one is not",
          "[cli]") {
  // 15us + 3 (1us + 3.6MB / (4 * 90GB/s)) = 15 + 3 * 11 = 48 us, twice.
  const std::string gather = Sum("g", "all-gather", "3.6MB", "x", "ring");
  const std::string loop =
      R"({"id": "l", "repeat": 2, "ops": [)" + gather + "]}";
  CheckSeconds(Step("v7x:4x4x4", loop)["makespan_s"], 2 * 48 * kMicro);
  CheckSeconds(Step("v7x:4x4x4", loop, "", "--ideal")["makespan_s"],
               2 * 30 * kMicro);
  const std::string empty = Sum("e", "all-gather", "0B", "x", "ring");
  CheckSeconds(Step("v7x:4x4x4", empty + "," + gather)["makespan_s"],
               48 * kMicro);
}

TEST_CASE("a compute takes its flops or its memory traffic, the longer",
          "[cli]") {
  // v5p: 459 TFLOP/s bf16, 918 TFLOP/s int8, 2765 GB/s.
  const auto op = [](const std::string& work) {
    return R"({"id": "c", "compute": {)" + work + "}}";
  };
  const auto makespan = [&](const std::string& work) -> ordered_json {
    return Step("v5p:4x4x4", op(work))["makespan_s"];
  };
  CheckSeconds(makespan(R"("flops": "4.59TFLOP", "hbm": "2.765GB")"), 10e-3);
  CheckSeconds(makespan(R"("flops": "459GFLOP", "hbm": "27.65GB")"), 10e-3);
  CheckSeconds(makespan(R"("flops": "4.59TFLOP", "dtype": "int8")"), 5e-3);
  CheckSeconds(makespan(R"("hbm": "2765MB")"), 1e-3);
  CheckSeconds(makespan(R"("duration": "0s")"), 0);
  CheckSeconds(Step("v5p:4x4x4", op(R"("flops": "1TFLOP")"), "",
                    "--set chip.flops=100TFLOP/s")["makespan_s"],
               10e-3);
}

TEST_CASE("a chip that is early waits for the others, and that is idle time",
          "[cli]") {
  // Two rows of two chips, joined by one cable each; that of the second row has
  // half the rate. Gathering 2 MB along x moves 1 MB each way: 1 + 10 us in the
  // first row, 1 + 20 us in the second. Gathering 4 MB along y moves 2 MB,
  // 1 + 20 us, and joins the rows: it starts when the second row is there.
  // Chip 0 is one of those that end last: 10 of its 42 us were waiting.
  const ordered_json step =
      Step("ideal:2x2",
           Sum("row", "all-gather", "2MB", "x", "line") + "," +
               Sum("column", "all-gather", "4MB", "y", "line"),
           kOneMicrosecond, "--fault link:0,1:x+=50%");
  CheckSeconds(step["makespan_s"], (21 + 21) * kMicro);
  CheckSeconds(step["exposed_communication_s"], (11 + 21) * kMicro);
  CheckSeconds(step["idle_s"], 10 * kMicro);
  CheckSeconds(step["collectives"][0]["exposed_s"], 11 * kMicro);
  CheckSeconds(step["collectives"][1]["exposed_s"], 21 * kMicro);
}

TEST_CASE("the date of a fault counts from the start of the step", "[cli]") {
  // A compute of 10 us, then 1 MB each way: 1 + 10 us. The cable is half as
  // fast from 16 us on: half of the bytes take 10 us. Alone a collective knows
  // nothing of it.
  const ordered_json step =
      Step("ideal:2",
           Compute("c", "10us") + "," +
               Sum("gather", "all-gather", "2MB", "x", "line"),
           kOneMicrosecond, "--fault link:0:x+=50%@16us");
  CheckSeconds(step["makespan_s"], (10 + 1 + 5 + 10) * kMicro);
  CheckSeconds(step["lower_bound_s"], (10 + 11) * kMicro);
  CheckSeconds(step["collectives"][0]["time_s"], 11 * kMicro);
  CHECK(step["fold"].is_null());
}

TEST_CASE("the date of a fault of a collective counts the launch too",
          "[cli]") {
  // 5 us of launch, 1 us of latency, 5 us at full rate, 10 us at half of it.
  const ordered_json point = PodsimJson(
      Words("collective all-gather --slice ideal:2 --bytes 2MB --lowering line "
            "--set collective.launch=5us --set ici.hop_latency=1us "
            "--fault link:0:x+=50%@11us --json -"))["points"][0];
  CheckSeconds(point["time_s"], (5 + 1 + 5 + 10) * kMicro);
  CheckSeconds(point["lower_bound_s"], 11 * kMicro);
  CHECK(point["closed_form_s"].is_null());
  CHECK(point["fold"].is_null());
}

TEST_CASE("auto does not know what will happen", "[cli]") {
  const auto point = [](const std::string& flags) {
    return PodsimJson(
        Words("collective all-reduce --slice v5e:4x4 --bytes 1MiB --json - " +
              flags))["points"][0];
  };
  const ordered_json before = point("");
  const ordered_json dated = point("--fault link:0,0:x+=10%@5us");
  CHECK(dated["lowering"] == before["lowering"]);
  CHECK(dated["lower_bound_s"] == before["lower_bound_s"]);
  CHECK(dated["time_s"] > before["time_s"]);
  CHECK(before.contains("runner_up"));
  CHECK(!dated.contains("runner_up"));
  // After the end it changes nothing.
  CheckSeconds(point("--fault link:0,0:x+@1s")["time_s"],
               before["time_s"].get<double>());
}

TEST_CASE("on a line the ends finish last, and the next op starts where it can",
          "[cli]") {
  // All-gather on a line of n = 5 chips, step u = alpha + S/(nB) = 1 + 10 us.
  // The link into an end carries n-1 = 4 shards: 4u; the busiest link at the
  // middle chip carries 3, so it ends after 3u. All chips then compute 7us.
  const std::string gather = Sum("g", "all-gather", "5MB", "x", "line");
  const ordered_json one =
      Step("ideal:5:mesh", gather + "," + Compute("c", "7us"), kOneMicrosecond);
  CheckSeconds(one["makespan_s"], (4 * 11 + 7) * kMicro);
  // A column of two: the middle column goes on along y one step earlier than
  // the others, which do not wait for it: 4u + 1us + 2 MB/B in the end.
  const ordered_json two =
      Step("ideal:5x2:mesh",
           gather + "," + Sum("column", "all-gather", "4MB", "y", "line"),
           kOneMicrosecond);
  CheckSeconds(two["makespan_s"], (4 * 11 + 21) * kMicro);
  CheckSeconds(two["idle_s"], 0);
}

// A gather of 33 us on every line along x.
const char kGather[] =
    R"({"id": "g", "collective": "all-gather", "bytes": "4MB",
        "axes": ["x"], "lowering": "ring", "async": true})";

TEST_CASE("an async gather hides behind a shorter compute", "[cli]") {
  // The core computes 10 us, then waits at the end of the list for the rest.
  const ordered_json step =
      Step("ideal:4x4", std::string(kGather) + "," + Compute("c", "10us"),
           kOneMicrosecond);
  CheckSeconds(step["makespan_s"], 33 * kMicro);
  CheckSeconds(step["compute_s"], 10 * kMicro);
  CheckSeconds(step["exposed_communication_s"], 23 * kMicro);
  CheckSeconds(step["overlapped_communication_s"], 10 * kMicro);
  CheckSeconds(step["collectives"][0]["total_s"], 33 * kMicro);
  CHECK(step["collectives"][0]["async"] == true);
}

TEST_CASE("an async gather that ends with the compute has exposed nothing",
          "[cli]") {
  const ordered_json step =
      Step("ideal:4x4", std::string(kGather) + "," + Compute("c", "33us"),
           kOneMicrosecond);
  CheckSeconds(step["makespan_s"], 33 * kMicro);
  CheckSeconds(step["exposed_communication_s"], 0);
  CheckSeconds(step["overlapped_communication_s"], 33 * kMicro);
}

TEST_CASE("the wait stands before the first op that names the async one",
          "[cli]") {
  // c runs beside the gather, d only after it: 33 + 5 us.
  const std::string d =
      R"({"id": "d", "compute": {"duration": "5us"}, "after": ["g"]})";
  const ordered_json step = Step(
      "ideal:4x4", std::string(kGather) + "," + Compute("c", "10us") + "," + d,
      kOneMicrosecond);
  CheckSeconds(step["makespan_s"], 38 * kMicro);
  CheckSeconds(step["exposed_communication_s"], 23 * kMicro);
}

TEST_CASE("in a loop every iteration waits for its own async ops", "[cli]") {
  // 3 x (max(33, 10) + 5) us, the 5 us after the wait.
  const std::string d =
      R"({"id": "d", "compute": {"duration": "5us"}, "after": ["g"]})";
  const ordered_json step =
      Step("ideal:4x4",
           R"({"id": "loop", "repeat": 3, "ops": [)" + std::string(kGather) +
               "," + Compute("c", "10us") + "," + d + "]}",
           kOneMicrosecond);
  CheckSeconds(step["makespan_s"], 114 * kMicro);
  CheckSeconds(step["overlapped_communication_s"], 30 * kMicro);
}

TEST_CASE("two equal async gathers on the same links end together", "[cli]") {
  // Shared evenly, each of the 3 steps takes 1 us + 2 x 10 us.
  std::string other = kGather;
  other.replace(other.find("\"g\""), 3, "\"h\"");
  const ordered_json step =
      Step("ideal:4x4", std::string(kGather) + "," + other, kOneMicrosecond);
  CheckSeconds(step["makespan_s"], 63 * kMicro);
  CheckSeconds(step["collectives"][0]["exposed_s"], 63 * kMicro);
  CheckSeconds(step["collectives"][1]["exposed_s"], 0);
  CheckSeconds(step["collectives"][1]["overlapped_s"], 63 * kMicro);
}

TEST_CASE("memory traffic of a gather slows a compute beside it", "[cli]") {
  // Every chip reads 100 GB/s for its + link and writes 100 GB/s from its -
  // link while a step of the ring moves bytes: 3 x (1 us + 10 us). Of 800 GB/s
  // a quarter is taken, so a compute of 80 us that needs all of it loses a
  // quarter of 30 us: 87.5 us.
  const std::string c = R"({"id": "c", "compute": {"hbm": "64MB"}})";
  const ordered_json step = Step(
      "ideal:4x4", std::string(kGather) + "," + c,
      R"("parameters": {"ici.hop_latency": "1us", "hbm.bandwidth": "800GB/s"},)");
  CheckSeconds(step["compute_s"], 80 * kMicro);
  CheckSeconds(step["interference_s"], 7.5 * kMicro);
  CheckSeconds(step["makespan_s"], 87.5 * kMicro);
  CheckSeconds(step["computes"][0]["interference_s"], 7.5 * kMicro);
}

}  // namespace
}  // namespace podsim
