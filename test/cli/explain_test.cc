// podsim explain: every sample is explained, and its numbers add up.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using nlohmann::ordered_json;

constexpr double kSlack = 1e-9;

double SumOf(const ordered_json& list, const std::string& key) {
  double sum = 0;
  for (const ordered_json& entry : list) {
    if (entry.contains(key)) sum += entry[key].get<double>();
  }
  return sum;
}

std::vector<std::string> KeysOf(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

void CheckStep(const ordered_json& step) {
  const double makespan = step["makespan_s"];
  const auto equal = [&](double value) {
    return Approx(value).epsilon(0).margin(kSlack * makespan);
  };
  CHECK(makespan == equal(step["compute_s"].get<double>() +
                          step["interference_s"].get<double>() +
                          step["exposed_communication_s"].get<double>() +
                          step["idle_s"].get<double>()));
  CHECK(makespan == equal(SumOf(step["critical_path"], "seconds")));
  double kinds = 0;
  for (const ordered_json& seconds : step["critical_path_kinds"]) {
    kinds += seconds.get<double>();
  }
  CHECK(makespan == equal(kinds));
  for (const ordered_json& seconds : step["bounds"]) {
    CHECK(seconds.get<double>() <= makespan * (1 + kSlack));
  }
  // Copies too are communication of the step.
  for (const auto& [key, whole] :
       {std::pair("exposed_s", "exposed_communication_s"),
        std::pair("overlapped_s", "overlapped_communication_s")}) {
    CAPTURE(key);
    CHECK(step[whole].get<double>() == equal(SumOf(step["collectives"], key) +
                                             SumOf(step["computes"], key)));
    CHECK(SumOf(step["groups"], key) == equal(SumOf(step["collectives"], key)));
  }
}

void CheckExplanation(const ordered_json& json) {
  CHECK(KeysOf(json) == Words("format version parameters makespan_s bottleneck "
                              "second reason what_if exposed efficiency step"));
  CHECK(json["format"] == "podsim-explanation/1");
  const double makespan = json["makespan_s"];
  for (const ordered_json& rung : json["what_if"]) {
    CAPTURE(rung["change"]);
    CHECK(KeysOf(rung) == Words("change gain_named makespan_s gain_s gain "
                                "cumulative_makespan_s"));
    CHECK(rung["gain_s"].get<double>() ==
          Approx(makespan - rung["makespan_s"].get<double>())
              .epsilon(0)
              .margin(kSlack * makespan));
  }
  for (const ordered_json& entry : json["exposed"]) {
    CHECK(KeysOf(entry) ==
          Words("id collective group executions payload_bytes transfer_s "
                "queue_s exposed_s overlapped_s slack_s required_bytes_per_s"));
  }
  const ordered_json& parts = json["efficiency"];
  CHECK(KeysOf(parts) ==
        Words("mfu kernels hiding schedule compute overlap memory"));
  if (!parts["mfu"].is_null()) {
    CHECK(parts["mfu"].get<double>() == Approx(parts["kernels"].get<double>() *
                                               parts["hiding"].get<double>() *
                                               parts["schedule"].get<double>())
                                            .epsilon(kSlack));
  }
  CHECK(json["step"]["makespan_s"] == makespan);
  CheckStep(json["step"]);
}

TEST_CASE("every sample is explained and adds up", "[cli][explain]") {
  const std::string file = GENERATE(
      "all_reduce_microbenchmark.json", "fsdp_two_layers.json",
      "gradient_buckets.json", "moe_dispatch_combine.json",
      "multislice_data_parallel.json", "tensor_in_blocks.json",
      "tensor_parallel_layer.json", "hlo/async_pairs.hlo --slice v5p:4x4x4",
      "hlo/collective_matmul.hlo --slice v5p:4x4x4",
      "hlo/fsdp_layer_loop.hlo --slice v5p:4x4x4",
      "hlo/moe_all_to_all.hlo --slice v5e:4x4",
      "hlo/multislice_dp.hlo --slice 2*v5e:4x4",
      "hlo/nested_loops.hlo --slice v5p:4x4x4",
      "hlo/pipeline_send_recv.hlo --slice v5e:4x4",
      "hlo/tp_sequence_parallel.hlo --slice v5e:4x4");
  CAPTURE(file);
  const Outcome run = Podsim(Words("explain workloads/" + file + " --json -"));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CheckExplanation(ordered_json::parse(run.out));
}

TEST_CASE("faster links gain something or nothing", "[cli][explain]") {
  // Alone its gathers take longer if only one axis is infinitely fast.
  const Outcome run = Podsim(
      Words("explain workloads/hlo/fsdp_layer_loop.hlo --slice v5p:4x4x4 "
            "--json -"));
  REQUIRE(run.status == 0);
  const ordered_json json = ordered_json::parse(run.out);
  for (const ordered_json& rung : json["what_if"]) {
    CAPTURE(rung["change"]);
    CHECK(rung["gain"].get<double>() >= -kSlack);
  }
}

TEST_CASE("what overlaps of a copy is told", "[cli][explain]") {
  // 819 MB at 819 GB/s take 1 ms, of which a compute of 10 us hides 10 us.
  const TemporaryFolder folder;
  folder.Write("w.json", R"({"format": "podsim-workload/1", "slice": "v5e:4x4",
      "ops": [{"id": "copy", "copy": {"bytes": "819MB"}},
              {"id": "work", "compute": {"duration": "10us"}}]})");
  for (const char* mode : {"engine", "abstract"}) {
    CAPTURE(mode);
    const ordered_json step = PodsimJson(
        Words(std::string("simulate w.json --json - --step-mode ") + mode),
        folder.path())["points"][0];
    CheckStep(step);
    CHECK(step["computes"][0]["exposed_s"].get<double>() == Approx(990e-6));
    CHECK(step["computes"][0]["overlapped_s"].get<double>() == Approx(10e-6));
  }
}

TEST_CASE("what the abstract mode has not is refused", "[cli][explain]") {
  const auto check = [](const std::string& line, const std::string& message) {
    CAPTURE(line);
    const Outcome run = Podsim(Words(line));
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Catch::Contains(message));
  };
  const std::string file = "workloads/fsdp_two_layers.json ";
  const std::string abstract = "simulate " + file + "--step-mode abstract ";
  const std::string fault = "--fault link:0,0,0:x+=50%@5us";
  check("explain " + file + fault, "know no dates of faults");
  check(abstract + fault, "know no dates of faults");
  check(abstract + "--top 3", "--top: ");
  check(abstract + "--trace t.json", "--trace: ");
  check("explain " + file + "--engine bound", "--engine: ");
  check("explain " + file + "--trip-count 3", "--trip-count: ");
  check("explain " + file + "--step-mode abstract", "unknown flag");
  check("explain workloads/hlo/async_pairs.hlo", "pass --slice");
}

}  // namespace
}  // namespace podsim
