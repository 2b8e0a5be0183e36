// The result JSON and CSV: every key of a right type, numbers that agree with
// each other, equal bytes on a second run; and schedules that go out and in.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using nlohmann::ordered_json;

constexpr double kExact = 1e-12;  // relative; a few roundings

enum class Type { kText, kNumber, kCount, kBool, kArray, kObject, kNull };

bool Is(const ordered_json& value, Type type) {
  switch (type) {
    case Type::kText:
      return value.is_string();
    case Type::kNumber:
      return value.is_number();
    case Type::kCount:
      return value.is_number_integer() && value >= 0;
    case Type::kBool:
      return value.is_boolean();
    case Type::kArray:
      return value.is_array();
    case Type::kObject:
      return value.is_object();
    case Type::kNull:
      return value.is_null();
  }
  return false;
}

struct Key {
  const char* name;
  std::vector<Type> types;
};

void CheckKeys(const ordered_json& object, const std::vector<Key>& keys) {
  for (const Key& key : keys) {
    CAPTURE(key.name);
    REQUIRE(object.contains(key.name));
    const ordered_json& value = object[key.name];
    CAPTURE(value.dump());
    CHECK(std::any_of(key.types.begin(), key.types.end(),
                      [&](Type type) { return Is(value, type); }));
  }
}

// A point of any engine.
void CheckPointKeys(const ordered_json& point) {
  CheckKeys(point,
            {{"collective", {Type::kText}},
             {"lowering", {Type::kText, Type::kNull}},
             {"slice", {Type::kText}},
             {"shape", {Type::kArray, Type::kNull}},
             {"generation", {Type::kText}},
             {"group_size", {Type::kCount}},
             {"payload_bytes", {Type::kCount}},
             {"time_s", {Type::kNumber, Type::kNull}},
             {"lower_bound_s", {Type::kNumber}},
             {"bound", {Type::kText}},
             {"bounds", {Type::kObject}},
             {"closed_form_s", {Type::kNumber, Type::kNull}},
             {"efficiency", {Type::kNumber, Type::kNull}},
             {"algbw_bytes_per_s", {Type::kNumber, Type::kNull}},
             {"busbw_bytes_per_s", {Type::kNumber, Type::kNull}},
             {"transfers", {Type::kCount, Type::kNull}},
             {"byte_hops", {Type::kCount, Type::kNull}},
             {"max_link_bytes", {Type::kCount, Type::kNull}},
             {"engine", {Type::kText}},
             {"network", {Type::kText}},
             {"fold", {Type::kArray, Type::kNull}},
             {"verified", {Type::kObject}},
             {"busiest_link", {Type::kText, Type::kNull}},
             {"busiest_link_utilisation", {Type::kNumber, Type::kNull}}});
  CheckKeys(point["verified"], {{"ok", {Type::kBool, Type::kNull}},
                                {"method", {Type::kText}},
                                {"reason", {Type::kText, Type::kNull}}});
  double largest = 0;
  for (const auto& [name, seconds] : point["bounds"].items()) {
    CAPTURE(name);
    REQUIRE(seconds.is_number());
    largest = std::max(largest, seconds.get<double>());
  }
  CHECK(point["lower_bound_s"] == largest);
  CHECK(point["bounds"][point["bound"].get<std::string>()] == largest);
}

// nccl-tests, doc/PERFORMANCE.md.
double BusFactor(const ordered_json& point) {
  const double n = point["group_size"];
  const double once = (n - 1) / n;
  return point["collective"] == "all-reduce" ? 2 * once : once;
}

// A point with a simulated time.
void CheckTimedPoint(const ordered_json& point) {
  CheckPointKeys(point);
  const double time = point["time_s"];
  CHECK(point["efficiency"].get<double>() ==
        Approx(point["lower_bound_s"].get<double>() / time).epsilon(kExact));
  CHECK(point["efficiency"] <= 1.0);
  const double algbw = point["algbw_bytes_per_s"];
  CHECK(algbw ==
        Approx(point["payload_bytes"].get<double>() / time).epsilon(kExact));
  CHECK(point["busbw_bytes_per_s"].get<double>() ==
        Approx(algbw * BusFactor(point)).epsilon(kExact));
  if (!point["closed_form_s"].is_null()) {
    CHECK(time == Approx(point["closed_form_s"].get<double>()).epsilon(1e-9));
  }
  CHECK(point["verified"]["ok"] == true);
  CHECK(point["busiest_link_utilisation"] > 0);
  CHECK(point["busiest_link_utilisation"] <= 1 + 1e-9);
}

void CheckResultKeys(const ordered_json& result) {
  CheckKeys(result, {{"format", {Type::kText}},
                     {"version", {Type::kText}},
                     {"parameters", {Type::kObject}},
                     {"points", {Type::kArray}},
                     {"not_applicable", {Type::kArray}}});
  CHECK(result["format"] == "podsim-result/1");
  CheckKeys(result["parameters"],
            {{"ici.bandwidth_bytes_per_s", {Type::kNumber}},
             {"ici.hop_latency_s", {Type::kNumber}},
             {"ici.message_overhead_s", {Type::kNumber}},
             {"ici.issue_s", {Type::kNumber}},
             {"ici.window", {Type::kCount}},
             {"collective.launch_s", {Type::kNumber}},
             {"hbm.bandwidth_bytes_per_s", {Type::kNumber, Type::kNull}},
             {"hbm.capacity_bytes", {Type::kCount, Type::kNull}},
             {"chip.flops.bf16_flop_per_s", {Type::kNumber, Type::kNull}},
             {"dcn.bandwidth_bytes_per_s", {Type::kNumber, Type::kNull}},
             {"dcn.latency_s", {Type::kNumber, Type::kNull}},
             {"host.chips", {Type::kCount, Type::kNull}}});
}

// No dates, hosts, users, paths or wall times: two runs print the same bytes.
void CheckRepeatable(const std::string& command) {
  CAPTURE(command);
  CHECK(Podsim(Words(command)).out == Podsim(Words(command)).out);
}

TEST_CASE("collectives report every key, and numbers that agree", "[cli]") {
  const std::string command = GENERATE(
      as<std::string>(),
      "collective all-reduce --bytes 64MiB --slice v5p:4x4x4 --json -",
      "collective all-gather --bytes 1KiB..1MiB --slice v5e:16x16 --json -",
      "collective reduce-scatter --bytes 1001B --slice v5e:4x8 --axes y "
      "--json -",
      "collective all-reduce --bytes 6000B --slice ideal:3x5 --fold off "
      "--json -",
      "collective all-gather --bytes 1MB --slice v7x:2x2x2 --json -");
  CAPTURE(command);
  const ordered_json result = PodsimJson(Words(command));
  CheckResultKeys(result);
  REQUIRE_FALSE(result["points"].empty());
  for (const ordered_json& point : result["points"]) CheckTimedPoint(point);
  CHECK(result["not_applicable"].empty());
  CheckRepeatable(command);
}

TEST_CASE("an override is in the parameters and in the time", "[cli]") {
  // Ring all-gather of 4 chips: 3 (o + alpha + S / (4B)), launch on top:
  // 3 (1us + 2us + 1MB / 50GB/s) + 7us = 3 * 23us + 7us = 76us.
  const ordered_json result = PodsimJson(Words(
      "collective all-gather --bytes 4MB --slice ideal:4 --lowering ring "
      "--set ici.bandwidth=50GB/s --set ici.hop_latency=2us "
      "--set ici.message_overhead=1us --set collective.launch=7us --json -"));
  CHECK(result["parameters"]["ici.bandwidth_bytes_per_s"] == 50e9);
  CHECK(result["parameters"]["ici.hop_latency_s"] == 2e-6);
  CHECK(result["parameters"]["ici.message_overhead_s"] == 1e-6);
  CHECK(result["parameters"]["collective.launch_s"] == 7e-6);
  CHECK(result["points"][0]["time_s"].get<double>() ==
        Approx(76e-6).epsilon(kExact));
  // --ideal takes the latencies away, and --set wins over it: 3 * 20us + 7us.
  const ordered_json ideal = PodsimJson(
      Words("collective all-gather --bytes 4MB --slice ideal:4 --lowering ring "
            "--ideal --set ici.bandwidth=50GB/s --set collective.launch=7us "
            "--json -"));
  CHECK(ideal["points"][0]["time_s"].get<double>() ==
        Approx(67e-6).epsilon(kExact));
}

TEST_CASE("compare sorts by time and gives a reason for the others", "[cli]") {
  const std::string command =
      "compare all-reduce --bytes 64MiB --slice v5p:4x4x8 --json -";
  const ordered_json result = PodsimJson(Words(command));
  CheckResultKeys(result);
  double before = 0;
  for (const ordered_json& point : result["points"]) {
    CheckTimedPoint(point);
    CHECK(point["time_s"] >= before * (1 - 1e-8));
    before = point["time_s"];
  }
  CHECK(result["points"].size() > 1);
  CHECK_FALSE(result["not_applicable"].empty());
  for (const ordered_json& entry : result["not_applicable"]) {
    CheckKeys(entry, {{"lowering", {Type::kText}}, {"reason", {Type::kText}}});
  }
  // The fastest is what `auto` takes.
  const ordered_json chosen = PodsimJson(
      Words("collective all-reduce --bytes 64MiB --slice v5p:4x4x8 --json -"));
  CHECK(chosen["points"][0]["time_s"].get<double>() <=
        result["points"][0]["time_s"].get<double>() * (1 + 1e-9));
  CheckRepeatable(command);
}

TEST_CASE("the bound engine knows no times, and the same bounds", "[cli]") {
  const std::string command =
      "collective all-reduce --bytes 64MiB --slice v5p:4x4x8 --json -";
  const ordered_json result = PodsimJson(Words(command + " --engine bound"));
  CheckResultKeys(result);
  const ordered_json& point = result["points"][0];
  CheckPointKeys(point);
  CHECK(point["engine"] == "bound");
  for (const char* key : {"time_s", "efficiency", "algbw_bytes_per_s",
                          "busbw_bytes_per_s", "busiest_link"}) {
    CAPTURE(key);
    CHECK(point[key].is_null());
  }
  const ordered_json timed = PodsimJson(Words(command))["points"][0];
  CHECK(point["bounds"] == timed["bounds"]);
  CHECK(point["lower_bound_s"] == timed["lower_bound_s"]);
}

TEST_CASE("a simulated schedule reports every key", "[cli]") {
  const std::string command =
      "simulate test/data/broken_schedules/valid-short-ar.json --json -";
  const ordered_json result = PodsimJson(Words(command));
  CheckResultKeys(result);
  REQUIRE(result["points"].size() == 1);
  CheckTimedPoint(result["points"][0]);
  CHECK(result["points"][0]["lowering"].is_null());
  CHECK(result["points"][0]["fold"].is_null());
  CHECK(result["points"][0]["verified"]["method"] == "replay");
  CheckRepeatable(command);
}

TEST_CASE("a step reports every key, and parts that add up", "[cli]") {
  const std::string file =
      GENERATE(as<std::string>(), "workloads/fsdp_two_layers.json",
               "workloads/tensor_parallel_layer.json",
               "workloads/all_reduce_microbenchmark.json");
  const std::string command = "simulate " + file + " --json -";
  CAPTURE(command);
  const ordered_json result = PodsimJson(Words(command));
  CheckResultKeys(result);
  REQUIRE(result["points"].size() == 1);
  const ordered_json& step = result["points"][0];
  CheckKeys(step, {{"makespan_s", {Type::kNumber}},
                   {"compute_s", {Type::kNumber}},
                   {"interference_s", {Type::kNumber}},
                   {"exposed_communication_s", {Type::kNumber}},
                   {"idle_s", {Type::kNumber}},
                   {"overlapped_communication_s", {Type::kNumber}},
                   {"peak_hbm_bytes", {Type::kCount, Type::kNull}},
                   {"lower_bound_s", {Type::kNumber}},
                   {"critical_path", {Type::kArray}},
                   {"collectives", {Type::kArray}}});
  const double makespan = step["makespan_s"];
  double parts = 0;
  for (const char* part :
       {"compute_s", "interference_s", "exposed_communication_s", "idle_s"}) {
    CHECK(step[part] >= 0);
    parts += step[part].get<double>();
  }
  CHECK(parts == Approx(makespan).epsilon(1e-9));
  CHECK(step["lower_bound_s"] <= makespan * (1 + 1e-9));
  double path = 0;
  for (const ordered_json& entry : step["critical_path"]) {
    CheckKeys(entry, {{"op", {Type::kText}},
                      {"kind", {Type::kText}},
                      {"seconds", {Type::kNumber}}});
    path += entry["seconds"].get<double>();
  }
  CHECK(path == Approx(makespan).epsilon(1e-9));
  double exposed = 0;
  for (const ordered_json& entry : step["collectives"]) {
    CheckKeys(entry, {{"id", {Type::kText}},
                      {"executions", {Type::kCount}},
                      {"exposed_s", {Type::kNumber}}});
    CheckTimedPoint(entry);
    exposed += entry["exposed_s"].get<double>();
  }
  CHECK(exposed ==
        Approx(step["exposed_communication_s"].get<double>()).epsilon(1e-9));
  CheckRepeatable(command);
}

TEST_CASE("the bound engine leaves the times of a step open", "[cli]") {
  const std::string command =
      "simulate workloads/fsdp_two_layers.json --json -";
  const ordered_json bound =
      PodsimJson(Words(command + " --engine bound"))["points"][0];
  for (const char* key :
       {"makespan_s", "compute_s", "idle_s", "exposed_communication_s"}) {
    CHECK(bound[key].is_null());
  }
  CHECK(bound["lower_bound_s"] ==
        PodsimJson(Words(command))["points"][0]["lower_bound_s"]);
}

// Fields of one CSV line; quoted ones may hold commas.
std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

TEST_CASE("the CSV has the numbers of the JSON", "[cli]") {
  const std::string command =
      "compare all-gather --bytes 1MiB,1001B --slice v5e:4x8 ";
  const ordered_json result = PodsimJson(Words(command + "--json -"));
  const Outcome csv = Podsim(Words(command + "--csv -"));
  REQUIRE(csv.status == 0);
  std::istringstream lines(csv.out);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = Fields(line);
  for (const ordered_json& point : result["points"]) {
    REQUIRE(std::getline(lines, line));
    const std::vector<std::string> fields = Fields(line);
    REQUIRE(fields.size() == header.size());
    for (std::size_t k = 0; k < header.size(); ++k) {
      CAPTURE(header[k]);
      if (header[k] == "fold") continue;  // "1x1" in the CSV, [1, 1] in JSON
      if (header[k] == "verified") {
        CHECK(fields[k] == point["verified"]["method"]);
        continue;
      }
      REQUIRE(point.contains(header[k]));
      const ordered_json& value = point[header[k]];
      if (value.is_number()) {
        CHECK(std::stod(fields[k]) == value.get<double>());
      } else {
        CHECK(fields[k] == (value.is_null() ? "" : value.get<std::string>()));
      }
    }
  }
  CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE("the timing goes to its file and not into the result", "[cli]") {
  const TemporaryFolder folder;
  const std::string command =
      "collective all-reduce --bytes 64MiB --slice v5p:4x4x4 --json -";
  const Outcome timed =
      Podsim(Words(command + " --timing timing.json"), folder.path());
  CHECK(timed.status == 0);
  CHECK(timed.out == Podsim(Words(command)).out);
  const ordered_json timing = ordered_json::parse(folder.Read("timing.json"));
  CheckKeys(timing,
            {{"user_s", {Type::kObject}}, {"peak_bytes", {Type::kCount}}});
  CheckKeys(timing["user_s"], {{"lower", {Type::kNumber}},
                               {"verify", {Type::kNumber}},
                               {"build", {Type::kNumber}},
                               {"engine", {Type::kNumber}},
                               {"report", {Type::kNumber}}});
  CHECK(timing["peak_bytes"] > 1 << 20);
}

TEST_CASE("a schedule written by lower is proved and takes the same time",
          "[cli]") {
  const std::string collective = GENERATE(
      as<std::string>(), "all-reduce --bytes 1MiB --slice v5p:4x4x4",
      "all-reduce --bytes 1001B --slice v5e:2x4 --lowering bucket",
      "all-gather --bytes 96KiB --slice v5e:16x16 --axes x "
      "--lowering ring-short",
      "reduce-scatter --bytes 12345B --slice v5e:4x8 --axes y --lowering line",
      "reduce-scatter --bytes 1MiB --slice v4:4x4x8:twisted --axes z "
      "--lowering ring",
      "all-reduce --bytes 999B --slice ideal:3x5 --lowering "
      "bucket-rotated:axis_primitive=ring,fractions=0.25/0.75,batches=2",
      "all-gather --bytes 1MiB --slice v7x:2x2x1 --lowering bucket",
      "all-gather --bytes 0B --slice ideal:4 --lowering ring");
  CAPTURE(collective);
  const TemporaryFolder folder;
  const Outcome lowered =
      Podsim(Words("lower " + collective + " -o s.json"), folder.path());
  REQUIRE(lowered.err == "");
  REQUIRE(lowered.status == 0);
  CHECK(Podsim(Words("lower " + collective + " -o -")).out ==
        folder.Read("s.json"));
  CHECK(Podsim(Words("verify s.json"), folder.path()).status == 0);
  const ordered_json from_file =
      PodsimJson(Words("simulate s.json --json -"), folder.path())["points"][0];
  const ordered_json direct = PodsimJson(
      Words("collective " + collective + " --fold off --json -"))["points"][0];
  CHECK(from_file["time_s"].get<double>() ==
        Approx(direct["time_s"].get<double>()).epsilon(1e-9));
  for (const char* key :
       {"collective", "slice", "group_size", "payload_bytes", "transfers",
        "byte_hops", "max_link_bytes", "lower_bound_s", "bound"}) {
    CAPTURE(key);
    CHECK(from_file[key] == direct[key]);
  }
}

}  // namespace
}  // namespace podsim
