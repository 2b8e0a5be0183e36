// Sweeps and checks through the command line.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using nlohmann::ordered_json;

std::string Sweep(const std::string& keys) {
  return R"({"format": "podsim-sweep/1", )" + keys + "}";
}

// 4 rings of 4 and 8, all-gather and all-reduce.
const std::string kSmall = Sweep(R"("collective": ["all-gather", "all-reduce"],
    "slice": ["ideal:4", "ideal:8"], "bytes": ["1MB", "4MB"],
    "lowering": "ring", "set": {"ici.hop_latency": "1us"})");

ordered_json ReadJson(const TemporaryFolder& folder, const std::string& name) {
  return ordered_json::parse(folder.Read(name));
}

// Replaces the first `from` in the file.
void Replace(const TemporaryFolder& folder, const std::string& name,
             const std::string& from, const std::string& to) {
  std::string text = folder.Read(name);
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  folder.Write(name, text.replace(at, from.size(), to));
}

TEST_CASE("a sweep gives each point the time of its formula", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", kSmall);
  const Outcome outcome =
      Podsim({"sweep", "s.json", "-o", "r.json"}, folder.path());
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "");
  CHECK(outcome.err == "");
  const ordered_json result = ReadJson(folder, "r.json");
  CHECK(result["format"] == "podsim-result/1");
  REQUIRE(result["points"].size() == 8);
  for (const ordered_json& point : result["points"]) {
    // Ring of n chips at B = 100 GB/s, alpha = 1 us, payload S:
    //   all-gather (n-1)(alpha + S/(nB)), all-reduce twice that.
    const double n = point["group_size"];
    const double payload = point["payload_bytes"];
    const double rounds = point["collective"] == "all-reduce" ? 2 : 1;
    CHECK(point["time_s"].get<double>() ==
          Approx(rounds * (n - 1) * (1e-6 + payload / (n * 100e9)))
              .epsilon(1e-9));
    CHECK(point["parameters"]["ici.hop_latency_s"] == 1e-6);
  }
  CHECK(result["points"][0]["request"] ==
        "all-gather slice=ideal:4 bytes=1000000 lowering=ring "
        "ici.hop_latency=1us");
}

TEST_CASE("a point of a sweep has the keys of the same collective alone",
          "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", Sweep(R"("collective": "all-reduce",
      "slice": "v5p:4x4x4", "bytes": "1MiB")"));
  REQUIRE(Podsim({"sweep", "s.json", "-o", "r.json"}, folder.path()).status ==
          0);
  const ordered_json alone = PodsimJson(
      Words("collective all-reduce --slice v5p:4x4x4 --bytes 1MiB --json -"));
  ordered_json expected = {
      {"request", "all-reduce slice=v5p:4x4x4 bytes=1048576 lowering=auto"},
      {"parameters", alone["parameters"]}};
  expected.update(alone["points"][0]);
  expected.erase("links");  // too much for a row
  const ordered_json result = ReadJson(folder, "r.json");
  CHECK(result["version"] == alone["version"]);
  CHECK(result["points"][0] == expected);
}

TEST_CASE("a workload is a flat row with one time", "[cli]") {
  const TemporaryFolder folder;
  const std::string file =
      std::string(PODSIM_SOURCE_DIR) + "/workloads/fsdp_two_layers.json";
  folder.Write("s.json", Sweep(R"("workload": ")" + file + "\""));
  REQUIRE(Podsim({"sweep", "s.json", "-o", "r.json"}, folder.path()).status ==
          0);
  const ordered_json point = ReadJson(folder, "r.json")["points"][0];
  ordered_json step =
      PodsimJson({"simulate", file, "--json", "-"})["points"][0];
  CHECK(point["time_s"] == step["makespan_s"]);
  CHECK(point["workload"] == file);
  step.erase("critical_path");
  step.erase("collectives");
  step.erase("computes");
  step.erase("links");
  for (const auto& [key, value] : step.items()) CHECK(point[key] == value);
}

TEST_CASE("500 points are byte for byte the same for any number of jobs",
          "[cli]") {
  const TemporaryFolder folder;
  // 2 x 125 x 2 points, half of which fail.
  folder.Write("s.json", Sweep(R"("collective": ["all-gather", "all-reduce"],
      "slice": ["ideal:2", "ideal:0"], "bytes": ")" +
                               [] {
                                 std::string list = "1B";
                                 for (int size = 2; size <= 125; ++size) {
                                   list += "," + std::to_string(size) + "B";
                                 }
                                 return list;
                               }() +
                               R"(", "lowering": "line")"));
  std::string first;
  for (const std::string jobs : {"1", "2", "4"}) {
    const Outcome outcome =
        Podsim({"sweep", "s.json", "--jobs", jobs}, folder.path());
    CHECK(outcome.status == 1);
    CHECK(outcome.err ==
          "podsim: 250 of 500 points failed, first: all-gather slice=ideal:0 "
          "bytes=1 lowering=line: slice: expected an axis of at least 1 chip, "
          "got 0 in 0\n");
    if (first.empty()) first = outcome.out;
    CHECK(outcome.out == first);
  }
  CHECK(std::count(first.begin(), first.end(), '\n') == 501);
}

TEST_CASE("a point that fails is a row with an error, and exit status 1",
          "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", Sweep(R"("collective": "all-reduce",
      "slice": ["v5e:5x5", "v5e:4x4"], "bytes": "1MiB",
      "lowering": ["ring", "bucket"], "axes": [null, "w"])"));
  const Outcome outcome = Podsim(
      {"sweep", "s.json", "-o", "r.json", "--max-memory", "1B"}, folder.path());
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.err, StartsWith("podsim: 8 of 8 points failed, first: "));
  const ordered_json points = ReadJson(folder, "r.json")["points"];
  REQUIRE(points.size() == 8);
  for (const ordered_json& point : points) {
    CHECK(point["collective"] == "all-reduce");
    CHECK(point["payload_bytes"] == 1 << 20);
    CHECK_FALSE(point.contains("time_s"));
    CHECK_FALSE(point.contains("parameters"));
  }
  const auto error = [&](int k) { return points[k]["error"]; };
  CHECK(error(0) ==
        "slice: v5e has no slice of shape 5x5; legal shapes near it: 4x4, 2x4, "
        "4x2, 4x8, 8x4, 2x2");
  CHECK(error(4) ==
        "lowering: ring does not apply to all-reduce here: the group spans 2 "
        "axes; use bucket:axis_primitive=ring or "
        "bucket-rotated:axis_primitive=ring");
  CHECK_THAT(error(5).get<std::string>(), Contains("--max-memory"));
  CHECK(error(6) == "axes: no axis \"w\" in this slice; it has x,y");
  // The CSV says the same.
  const Outcome csv = Podsim({"sweep", "s.json"}, folder.path());
  CHECK(csv.status == 1);
  CHECK_THAT(csv.out, Contains(",0.1.0,\"axes: no axis \"\"w\"\" in this "
                               "slice; it has x,y\"\n"));
}

TEST_CASE("progress and warnings go to stderr, each warning once", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", Sweep(R"("collective": "all-reduce",
      "slice": "8t:2x2x1", "bytes": "1KiB,2KiB")"));
  const Outcome off = Podsim({"sweep", "s.json"}, folder.path());
  const std::string warning =
      "podsim: warning: the numbers of 8t are estimates, see `podsim "
      "generations`\n";
  CHECK(off.status == 0);
  CHECK(off.err == warning);
  const Outcome on =
      Podsim({"sweep", "s.json", "--progress", "on"}, folder.path());
  CHECK(on.out == off.out);
  CHECK_THAT(on.err, StartsWith("\rpodsim: 0 of 2 points, 0 failed\033[K\r"));
  CHECK_THAT(on.err,
             Contains("\rpodsim: 2 of 2 points, 0 failed\033[K\n" + warning));
}

TEST_CASE("a run says how far it is if asked, and not in its result", "[cli]") {
  const std::vector<std::string> command = {
      "collective", "all-reduce", "--slice",    "ideal:4",
      "--bytes",    "1KiB",       "--lowering", "ring"};
  const Outcome off = Podsim(command);
  CHECK(off.err.empty());
  std::vector<std::string> shown = command;
  shown.insert(shown.end(), {"--progress", "on"});
  const Outcome on = Podsim(shown);
  CHECK(on.out == off.out);
  std::vector<std::string> empty = shown;
  empty[5] = "0B";
  CHECK(Podsim(empty).err.empty());  // nothing runs
  // 2 x 3 steps of 4 chips, folded: one chip of each step.
  CHECK_THAT(on.err, StartsWith("\rpodsim: "));
  CHECK_THAT(on.err, Contains("6 of 6 ops (100%), "));
  CHECK_THAT(on.err, EndsWith(" 0 s left\033[K\n"));
}

TEST_CASE("check passes equal results, as JSON, CSV or both", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", kSmall);
  for (const std::string name : {"r.json", "r.csv"}) {
    REQUIRE(Podsim({"sweep", "s.json", "-o", name}, folder.path()).status == 0);
  }
  for (const std::string results : {"r.json", "r.csv"}) {
    for (const std::string baseline : {"r.json", "r.csv"}) {
      const Outcome outcome = Podsim(
          {"check", results, baseline, "--tolerance", "0%", "--either-way"},
          folder.path());
      CHECK(outcome.status == 0);
      CHECK(outcome.err == "");
      CHECK(outcome.out ==
            "8 points: 8 within 0%, 0 slower, 0 missing, 0 new\n");
    }
  }
}

TEST_CASE("check names a time that grew, with old, new and ratio", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", kSmall);
  REQUIRE(Podsim({"sweep", "s.json", "-o", "old.json"}, folder.path()).status ==
          0);
  ordered_json result = ReadJson(folder, "old.json");
  // all-gather of 1 MB on 4 chips: 3 (1 + 2.5) us = 10.5 us.
  result["points"][0]["time_s"] = 21e-6;
  folder.Write("new.json", result.dump());
  const Outcome slower =
      Podsim({"check", "new.json", "old.json"}, folder.path());
  CHECK(slower.status == 1);
  CHECK(slower.out ==
        "slower: all-gather slice=ideal:4 bytes=1000000 lowering=ring "
        "ici.hop_latency=1us: 10.5 us -> 21 us (x2)\n"
        "8 points: 7 within 1%, 1 slower, 0 missing, 0 new\n");
  CHECK(Podsim({"check", "new.json", "old.json", "--tolerance", "100.1%"},
               folder.path())
            .status == 0);
  const Outcome faster =
      Podsim({"check", "old.json", "new.json"}, folder.path());
  CHECK(faster.status == 0);
  CHECK(faster.out ==
        "8 points: 7 within 1%, 0 slower, 1 faster, 0 missing, 0 new\n");
  CHECK(Podsim({"check", "old.json", "new.json", "--either-way"}, folder.path())
            .status == 1);
  result["points"].erase(0);
  folder.Write("less.json", result.dump());
  const Outcome missing =
      Podsim({"check", "less.json", "old.json"}, folder.path());
  CHECK(missing.status == 1);
  CHECK_THAT(missing.out, StartsWith("missing: all-gather slice=ideal:4 "));
  const Outcome added =
      Podsim({"check", "old.json", "less.json"}, folder.path());
  CHECK(added.status == 0);
  CHECK_THAT(added.out, StartsWith("new: all-gather slice=ideal:4 "));
}

TEST_CASE("check refuses results of another version or other parameters",
          "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", kSmall);
  for (const std::string name : {"old.json", "new.json", "other.csv"}) {
    REQUIRE(Podsim({"sweep", "s.json", "-o", name}, folder.path()).status == 0);
  }
  const std::string remedy =
      " (and 7 more points); the times do not compare. If the change is meant, "
      "record the baseline anew in the same commit\n";
  const std::string point =
      "refused: all-gather slice=ideal:4 bytes=1000000 lowering=ring "
      "ici.hop_latency=1us: ";
  Replace(folder, "new.json", "\"version\": \"0.1.0\"", "\"version\": \"9\"");
  const Outcome version =
      Podsim({"check", "new.json", "old.json"}, folder.path());
  CHECK(version.status == 1);
  CHECK(version.out == point +
                           "the version is 9 in new.json and 0.1.0 in "
                           "old.json" +
                           remedy);
  Replace(folder, "other.csv", "ici.hop_latency_s=1e-06",
          "ici.hop_latency_s=2e-06");
  const Outcome parameter =
      Podsim({"check", "other.csv", "old.json"}, folder.path());
  CHECK(parameter.status == 1);
  CHECK(parameter.out ==
        point +
            "ici.hop_latency_s is 2e-06 in other.csv and 1e-06 in old.json; "
            "the times do not compare. If the change is meant, record the "
            "baseline anew in the same commit\n");
}

TEST_CASE("check compares what the other commands write", "[cli]") {
  const TemporaryFolder folder;
  const std::string run =
      "collective all-reduce --slice v5e:4x8 --bytes 1KiB,1MiB ";
  REQUIRE(
      Podsim(Words(run + "--json a.json --csv a.csv"), folder.path()).status ==
      0);
  const Outcome outcome = Podsim({"check", "a.json", "a.csv"}, folder.path());
  CHECK(outcome.status == 0);
  CHECK(outcome.out ==
        "note: a.csv does not say its version and parameters: they were not "
        "compared\n2 points: 2 within 1%, 0 slower, 0 missing, 0 new\n");
  const std::string step = "workloads/fsdp_two_layers.json";
  REQUIRE(Podsim({"simulate", step, "--json",
                  (folder.path() / "step.json").string()})
              .status == 0);
  CHECK(Podsim({"check", "step.json", "step.json"}, folder.path()).out ==
        "1 point: 1 within 1%, 0 slower, 0 missing, 0 new\n");
}

}  // namespace
}  // namespace podsim
