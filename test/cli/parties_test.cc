// Groups, roots, shifts and pairs on the command line and in workloads, and the
// reference engine, with times that a pencil gives too.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using nlohmann::ordered_json;

constexpr double kMicro = 1e-6;

// 100 GB/s links and 1 us per hop.
const std::string kHardware = " --set ici.hop_latency=1us --json -";

ordered_json Point(const std::string& command, const std::string& file = "") {
  const TemporaryFolder folder;
  folder.Write("f.json", file);
  return PodsimJson(Words(command + kHardware), folder.path())["points"][0];
}

TEST_CASE("a chain from the root takes a step per hop", "[cli]") {
  // From chip 1 of a line of 4 the farthest is 2 hops away; 100 kB take 1 us.
  const ordered_json point = Point(
      "collective broadcast --slice ideal:4:mesh --bytes 100kB --root 1 "
      "--lowering chain:chunks=1");
  CHECK(point["time_s"].get<double>() == Approx(2 * 2 * kMicro));
  CHECK(point["group"] == "all root=1");
  // The end of the line: 2 hops, then all bytes by its one link.
  CHECK(point["bound"] == "front");
  CHECK(point["lower_bound_s"].get<double>() == Approx((2 + 1) * kMicro));
}

TEST_CASE("two groups of every second chip run at once", "[cli]") {
  // Binomial over 2 ranks each: one message of 2 hops there and one back, half
  // of a ring away: + from even and - from odd chips, so nothing is shared.
  const ordered_json point = Point(
      "collective all-reduce --slice ideal:4 --bytes 100kB --groups f.json "
      "--lowering binomial",
      "[[0, 2], [1, 3]]");
  CHECK(point["time_s"].get<double>() == Approx(2 * 3 * kMicro));
  CHECK(point["group"] == "groups=[[0, 2], [1, 3]]");
  CHECK(point["group_size"] == 2);
}

TEST_CASE("lists that are the lines of an axis are that axis", "[cli]") {
  const ordered_json lists = Point(
      "collective all-gather --slice ideal:2x2:mesh --bytes 100kB --groups "
      "f.json",
      "[[0, 1], [2, 3]]");
  const ordered_json axes = Point(
      "collective all-gather --slice ideal:2x2:mesh --bytes 100kB "
      "--axes x");
  CHECK(lists == axes);
}

TEST_CASE("halves of a ring are lines of their own", "[cli]") {
  // 3 steps of 1 us and 25 kB over 100 GB/s.
  const ordered_json point = Point(
      "collective all-gather --slice ideal:8 --bytes 100kB --groups f.json "
      "--lowering line",
      "[[4, 5, 6, 7], [0, 1, 2, 3]]");
  CHECK(point["time_s"].get<double>() == Approx(3 * 1.25 * kMicro));
  CHECK(point["closed_form_s"].get<double>() == Approx(3 * 1.25 * kMicro));
  CHECK(point["fold"] == ordered_json::array({4}));
  CHECK(point["group_size"] == 4);
}

TEST_CASE("a schedule on blocks is written and proved again", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("f.json",
               "[[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, "
               "14, 15]]");
  const Outcome written = Podsim(
      Words("lower all-reduce --slice ideal:4x4 --bytes 1001B --groups f.json "
            "--lowering bucket-rotated:batches=2 -o s.json"),
      folder.path());
  REQUIRE(written.status == 0);
  const Outcome proved = Podsim(Words("verify s.json"), folder.path());
  CAPTURE(proved.out, proved.err);
  CHECK(proved.status == 0);
}

TEST_CASE("a shift sends everyone's payload on", "[cli]") {
  // By 1: one hop, 1 + 1 us. By -1 the same.
  for (const char* by : {"1", "-1"}) {
    const ordered_json point =
        Point(std::string("collective collective-permute --slice ideal:5 "
                          "--bytes 100kB --lowering direct --shift x:") +
              by);
    CHECK(point["time_s"].get<double>() == Approx(2 * kMicro));
    CHECK(point["transfers"] == 5);
  }
}

TEST_CASE("a pair takes its hops and its bytes", "[cli]") {
  const ordered_json point = Point(
      "collective collective-permute --slice ideal:4x4:mesh --bytes 100kB "
      "--pairs f.json",
      "[[0, 15], [3, 3]]");
  CHECK(point["time_s"].get<double>() == Approx((6 + 1) * kMicro));
  CHECK(point["closed_form_s"].get<double>() == Approx((6 + 1) * kMicro));
  CHECK(point["transfers"] == 1);
}

TEST_CASE("workloads say groups, roots, shifts and pairs too", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("w.json", R"({"format": "podsim-workload/1",
      "slice": "ideal:4:mesh", "parameters": {"ici.hop_latency": "1us"},
      "ops": [
        {"id": "b", "collective": "broadcast", "bytes": "100kB", "root": 1,
         "lowering": "chain:chunks=1"},
        {"id": "g", "collective": "all-reduce", "bytes": "100kB",
         "groups": [[0, 1], [3, 2]], "lowering": "binomial"},
        {"id": "s", "collective": "collective-permute", "bytes": "100kB",
         "shift": {"axis": "x", "by": 1}, "lowering": "direct"},
        {"id": "p", "collective": "collective-permute", "bytes": "100kB",
         "pairs": [[0, 3]]}]})");
  const ordered_json step =
      PodsimJson(Words("simulate w.json --json -"), folder.path())["points"][0];
  const double alone[] = {4, 4, 2, 4};  // us
  for (std::size_t k = 0; k < 4; ++k) {
    CAPTURE(k);
    CHECK(step["collectives"][k]["time_s"].get<double>() ==
          Approx(alone[k] * kMicro));
  }
}

TEST_CASE("the reference engine prints what the pod engine prints", "[cli]") {
  for (const char* command :
       {"collective all-reduce --slice v5e:4x4 --bytes 1MiB",
        "collective all-to-all --slice v5p:2x2x4 --bytes 1MiB",
        "collective broadcast --slice v5e:4x4 --bytes 64KiB --root 5",
        "simulate workloads/tensor_parallel_layer.json"}) {
    CAPTURE(command);
    const std::string json = std::string(command) + " --json -";
    ordered_json pod = PodsimJson(Words(json))["points"][0];
    ordered_json reference =
        PodsimJson(Words(json + " --engine reference"))["points"][0];
    const char* time = pod.contains("time_s") ? "time_s" : "makespan_s";
    CHECK(reference["engine"] == "reference");
    CHECK(reference[time].get<double>() ==
          Approx(pod[time].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("traces and busiest links come with a run", "[cli]") {
  const TemporaryFolder folder;
  const Outcome outcome = Podsim(
      Words("collective all-gather --slice ideal:4 --bytes 400kB --lowering "
            "ring --trace t.json --trace-chips 0,2 --top 1"),
      folder.path());
  REQUIRE(outcome.status == 0);
  // 3 shards of 100 kB over every + link.
  CHECK(outcome.out.find("0:x+") != std::string::npos);
  CHECK(outcome.out.find("300000") != std::string::npos);
  std::ifstream file(folder.path() / "t.json");
  const auto trace = ordered_json::parse(file);
  std::vector<std::string> chips;
  for (const ordered_json& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") chips.push_back(event["args"]["name"]);
  }
  CHECK(chips == std::vector<std::string>{"TPU 0 (0)", "TPU 2 (2)"});
}

TEST_CASE("the trace of a step has its memory and its length", "[cli]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "step.json")
      << R"({"format": "podsim-workload/1", "slice": "ideal:4",
  "memory": {"resident": "1GB"}, "name": "two",
  "ops": [{"id": "a", "compute": {"duration": "10us"},
           "memory": {"alloc": "2GB"}},
          {"id": "b", "compute": {"duration": "20us"},
           "memory": {"alloc": "4GB", "free": ["a"]}},
          {"id": "c", "compute": {"duration": "5us"}}]})";
  const Outcome outcome =
      Podsim(Words("simulate step.json --trace t.json --trace-chips 0"),
             folder.path());
  REQUIRE(outcome.status == 0);
  std::ifstream file(folder.path() / "t.json");
  std::vector<std::pair<double, double>> live;  // us, bytes
  const auto trace = ordered_json::parse(file);
  for (const ordered_json& event : trace["traceEvents"]) {
    if (event["name"] == "HBM") {
      live.emplace_back(event["ts"], event["args"]["live bytes"]);
    }
    if (event["name"] == "two") CHECK(event["dur"] == 35);
  }
  CHECK(live ==
        std::vector<std::pair<double, double>>{{0, 3e9}, {10, 7e9}, {30, 5e9}});
}

}  // namespace
}  // namespace podsim
