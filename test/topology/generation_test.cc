#include "topology/generation.h"

#include <catch2/catch.hpp>

#include "test/support/temporary_file.h"
#include "test/topology/input.h"

namespace podsim {
namespace {

// A small generation file with one value or object replaced.
std::string File(const std::string& old = "", const std::string& fresh = "") {
  std::string text = R"({
    "format": "podsim-generation/1", "name": "tiny", "axes": 2,
    "shapes": {"rule": "grid", "max_shape": [3, 5], "source": "a test"},
    "hosts": {"shape": [1, 2], "source": "a test"},
    "parameters": {
      "ici.bandwidth": {"value": "10GB/s", "source": "a test", "confidence": "none"},
      "ici.hop_latency": {"value": "2us", "source": "a test", "confidence": "none"}
    }
  })";
  if (!old.empty()) {
    const auto at = text.find(old);
    REQUIRE(at != std::string::npos);
    text.replace(at, old.size(), fresh);
  }
  return text;
}

std::string FileError(const std::string& old, const std::string& fresh) {
  return ErrorOf([&] {
    ReadGeneration(JsonValue::ParseText(File(old, fresh), "tiny.json"));
  });
}

TEST_CASE("the built-in generations are v2 to v7x, 8t and ideal",
          "[topology]") {
  std::vector<std::string> names;
  for (const Generation& generation : BuiltInGenerations()) {
    names.push_back(generation.name);
    CHECK(FindGeneration(generation.name, "").name == generation.name);
    // Only 8t is a guess.
    CHECK(generation.estimated == (generation.name == "8t"));
  }
  CHECK(names == std::vector<std::string>{"v2", "v3", "v4", "v5e", "v5p", "v6e",
                                          "v7x", "8t", "ideal"});
}

struct Numbers {
  std::string name;
  int axes;
  int pod_chips;        // 0: by the sides of the pod
  double raw_GB_per_s;  // one link, one way
  double hbm_GB_per_s;
  double hbm_GiB;
  double bf16_TFLOP_per_s;
  double dcn_Gbit_per_s;  // per chip; 0: not published
};

TEST_CASE(
    "usable link rate is 0.90 of raw, and memory, compute and DCN are "
    "those of the TPU tables",
    "[topology]") {
  const std::vector<Numbers> table = {
      {"v2", 2, 0, 62, 700, 16, 46, 0},
      {"v3", 2, 0, 70, 900, 32, 123, 0},
      {"v4", 3, 4096, 50, 1200, 32, 275, 0},
      {"v5e", 2, 0, 50, 819, 16, 197, 25},
      {"v5p", 3, 8960, 100, 2765, 95, 459, 50},
      {"v6e", 2, 0, 100, 1638, 32, 918, 100},
      {"v7x", 3, 9216, 100, 7380, 192, 2307, 100}};
  for (const Numbers& row : table) {
    CAPTURE(row.name);
    const Generation generation = FindGeneration(row.name, "");
    const Parameters& parameters = generation.parameters;
    CHECK(generation.axes == row.axes);
    if (row.pod_chips > 0) CHECK(generation.max_chips == row.pod_chips);
    CHECK(parameters.ici_bandwidth.value() ==
          Approx(0.90 * row.raw_GB_per_s * 1e9));
    CHECK(parameters.ici_hop_latency.value() == 1e-6);
    CHECK(parameters.ici_message_overhead.value() == 0);
    CHECK(parameters.ici_issue.value() == 0);
    CHECK(parameters.ici_window == 0);
    // Fitted on v7x, none published elsewhere.
    CHECK(parameters.collective_launch.value() ==
          (row.name == "v7x" ? 15e-6 : 0));
    CHECK(parameters.hbm_bandwidth.value().value() ==
          Approx(row.hbm_GB_per_s * 1e9));
    CHECK(static_cast<double>(parameters.hbm_capacity.value().value()) ==
          row.hbm_GiB * 1024 * 1024 * 1024);
    CHECK(parameters.chip_flops.at("bf16").value() ==
          Approx(row.bf16_TFLOP_per_s * 1e12));
    CHECK(parameters.dcn_bandwidth.has_value() == (row.dcn_Gbit_per_s > 0));
    if (parameters.dcn_bandwidth) {
      CHECK(parameters.dcn_bandwidth->value() ==
            Approx(row.dcn_Gbit_per_s * 1e9 / 8));
    }
  }
}

TEST_CASE("8t has a pod of 9600 chips and is marked estimated", "[topology]") {
  const Generation generation = FindGeneration("8t", "");
  CHECK(generation.estimated);
  CHECK(generation.axes == 3);
  CHECK(generation.max_chips == 9600);
  // 216 GB and 6528 GB/s: the TPU tables.
  CHECK(generation.parameters.hbm_capacity.value().value() == 216000000000);
  CHECK(generation.parameters.hbm_bandwidth.value().value() == 6528e9);
}

TEST_CASE("ideal has links of 100 GB/s and costs nothing else", "[topology]") {
  const Generation ideal = FindGeneration("ideal", "");
  CHECK(ideal.max_chips == 1 << 24);
  CHECK(ideal.parameters.ici_bandwidth.value() == 100e9);
  CHECK(ideal.parameters.ici_hop_latency.value() == 0);
  CHECK(ideal.parameters.ici_message_overhead.value() == 0);
  CHECK(ideal.parameters.collective_launch.value() == 0);
  CHECK(!ideal.parameters.hbm_bandwidth);
  CHECK(ideal.parameters.chip_flops.empty());
}

TEST_CASE("a warning stands above the largest job of v5p only", "[topology]") {
  for (const Generation& generation : BuiltInGenerations()) {
    CAPTURE(generation.name);
    CHECK(generation.warn_above_chips == (generation.name == "v5p" ? 6144 : 0));
  }
}

TEST_CASE("hosts are blocks of 2x2x1 or 2x4", "[topology]") {
  for (const char* name : {"v4", "v5p", "v7x"}) {
    const Generation generation = FindGeneration(name, "");
    CHECK(generation.host_shape == std::vector<int>{2, 2, 1});
    CHECK(generation.parameters.host_chips == 4);
  }
  for (const char* name : {"v5e", "v6e"}) {
    const Generation generation = FindGeneration(name, "");
    CHECK(generation.host_shape == std::vector<int>{2, 4});
    CHECK(generation.parameters.host_chips == 8);
  }
}

TEST_CASE("every number of a generation has its source", "[topology]") {
  for (const Generation& generation : BuiltInGenerations()) {
    CAPTURE(generation.name);
    CHECK(!generation.shape_source.empty());
    CHECK(!generation.facts.empty());
    for (const GenerationParameter& fact : generation.facts) {
      CAPTURE(fact.key);
      CHECK(!fact.value.empty());
      CHECK(!fact.source.empty());
      CHECK(!fact.confidence.empty());
    }
  }
}

TEST_CASE("a generation file is used when it is named", "[topology]") {
  const TemporaryFile file("tiny.json", File());
  const Generation generation = FindGeneration(file.path(), "--slice");
  CHECK(generation.name == "tiny");
  CHECK(generation.max_shape == std::vector<int>{3, 5});
  CHECK(generation.parameters.ici_hop_latency.value() == 2e-6);
  const Slice slice = SliceOf(file.path() + ":2x5");
  CHECK(slice.topology.chips() == 10);
  CHECK(!slice.topology.axes()[0].wrap);
  CHECK(slice.topology.axes()[1].wrap);  // spans the pod
  CHECK(slice.parameters.ici_bandwidth.value() == 10e9);
  // The canonical spec can be read again.
  CHECK(slice.spec == file.path() + ":2x5");
  CHECK(SliceError(file.path() + ":4x5") ==
        "--slice: tiny has no slice of shape 4x5; legal shapes near it: 3x5");
}

TEST_CASE("listed shapes of a file hold in either order", "[topology]") {
  const TemporaryFile file(
      "listed.json",
      File(R"("rule": "grid", "max_shape": [3, 5])",
           R"("rule": "listed", "shapes": [[1, 1], [6, 2]], "wrap_size": 6)"));
  CHECK(SliceOf(file.path() + ":2x6").topology.axes()[1].wrap);
  CHECK(SliceOf(file.path() + ":6x2").topology.axes()[0].wrap);
  CHECK(SliceError(file.path() + ":6x6") ==
        "--slice: tiny has no slice of shape 6x6; legal shapes near it: 2x6, "
        "6x2, 1x1");
}

struct BadFile {
  std::string old;
  std::string fresh;
  std::string message;
};

TEST_CASE("a bad generation file says where and what", "[topology]") {
  const std::vector<BadFile> table = {
      {R"("podsim-generation/1")", R"("podsim-generation/2")",
       "tiny.json: /format: expected \"podsim-generation/1\", got "
       "\"podsim-generation/2\""},
      {R"("name": "tiny", )", "", "tiny.json: missing key \"name\""},
      {R"("axes": 2)", R"("axes": 4)",
       "tiny.json: /axes: expected an integer from 1 to 3, got 4"},
      {R"("axes": 2)", R"("axis": 2)",
       "tiny.json: /axis: unknown key; did you mean \"axes\"? (known: format, "
       "name, description, estimated, axes, shapes, hosts, parameters)"},
      {R"("grid")", R"("torus")",
       "tiny.json: /shapes/rule: expected cubes, listed, grid or any, got "
       "\"torus\""},
      {R"([3, 5])", R"([3, 5, 7])",
       "tiny.json: /shapes/max_shape: expected 2 sizes, one per axis, got "
       "[3,5,7]"},
      {R"([3, 5])", R"([3])",
       "tiny.json: /shapes/max_shape: expected 2 sizes, one per axis, got [3]"},
      {R"([3, 5])", R"([3, 0])",
       "tiny.json: /shapes/max_shape/1: expected an integer from 1 to "
       "16777216, got 0"},
      {R"("max_shape": [3, 5], )", "",
       "tiny.json: /shapes: missing key \"max_shape\""},
      {R"("rule": "grid", "max_shape": [3, 5])", R"("rule": "cubes")",
       "tiny.json: /shapes: missing key \"max_chips\""},
      {R"([1, 2])", R"([1, 2, 1])",
       "tiny.json: /hosts/shape: expected 2 sizes, one per axis, got [1,2,1]"},
      {R"("10GB/s")", R"("10GBps")",
       "tiny.json: /parameters/ici.bandwidth/value: \"10GBps\" is ambiguous; "
       "write \"10GB/s\" or \"10Gbit/s\""},
      {R"("10GB/s")", "10",
       "tiny.json: /parameters/ici.bandwidth/value: expected a string, got 10"},
      {R"("10GB/s", "source": "a test",)", R"("10GB/s",)",
       "tiny.json: /parameters/ici.bandwidth: missing key \"source\""},
      {R"("ici.bandwidth": {"value": "10GB/s")",
       R"("ici.message_overhead": {"value": "1us")",
       "tiny.json: /parameters: missing key \"ici.bandwidth\""}};
  for (const BadFile& row : table) {
    CHECK(FileError(row.old, row.fresh) == row.message);
  }
}

TEST_CASE("an unknown generation is refused with the known ones",
          "[topology]") {
  CHECK(ErrorOf([] { FindGeneration("v5x", "--slice"); }) ==
        "--slice: unknown generation \"v5x\"; did you mean \"v5e\"? (known: "
        "v2, v3, v4, v5e, v5p, v6e, v7x, 8t, ideal)");
  CHECK(ErrorOf([] { FindGeneration("no-such.json", "--slice"); }) ==
        "no-such.json: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace podsim
