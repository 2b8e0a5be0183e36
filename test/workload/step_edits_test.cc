// What the command line changes of a step, its memory, and its loops written
// out.
#include <catch2/catch.hpp>

#include "base/json_reader.h"
#include "step/executions.h"
#include "test/support/error_of.h"
#include "workload/step_edits.h"
#include "workload/workload.h"

namespace podsim {
namespace {

StepGraph Read(const std::string& ops, const std::string& more = "") {
  return ReadWorkload(
             JsonValue::ParseText(
                 R"({"format": "podsim-workload/1", "slice": "ideal:4")" +
                     more + R"(, "ops": [)" + ops + "]}",
                 "step.json"),
             {})
      .graph;
}

std::string Gather(const std::string& id, const std::string& more = "") {
  return R"({"id": ")" + id +
         R"(", "collective": "all-gather", "bytes": "1MB")" + more + "}";
}

std::string Compute(const std::string& id, const std::string& more = "") {
  return R"({"id": ")" + id + R"(", "compute": {"duration": "1us"})" + more +
         "}";
}

// "g start, c, g wait": the items of one list.
std::string Text(const StepGraph& graph, const std::vector<StepItem>& items) {
  std::string text;
  for (const StepItem& item : items) {
    if (!text.empty()) text += ", ";
    if (!item.op) {
      text +=
          std::to_string(item.repeat) + " x (" + Text(graph, item.body) + ")";
      continue;
    }
    const StepOp& op = graph.ops[*item.op];
    text += op.id;
    if (item.wait) text += " wait";
    if (!item.wait && op.async()) text += " start";
  }
  return text;
}

TEST_CASE("async collectives are made sync where they are issued",
          "[workload][step]") {
  StepGraph graph =
      Read(Gather("g", R"(, "async": true)") + ", " + Compute("c") + ", " +
           Compute("d", R"(, "after": ["g"])"));
  CHECK(Text(graph, graph.items) == "g start, c, g wait, d");
  MakeAllSync(graph);
  CHECK(Text(graph, graph.items) == "g, c, d");
}

TEST_CASE("sync collectives are made async until they are needed",
          "[workload][step]") {
  StepGraph graph =
      Read(Gather("g") + ", " + Compute("c") + R"(, {"id": "loop", "repeat": 3,
      "ops": [)" +
           Gather("h") + ", " + Compute("d", R"(, "after": ["g"])") + "]}, " +
           Compute("e"));
  MakeAllAsync(graph);
  CHECK(Text(graph, graph.items) ==
        "g start, c, g wait, 3 x (h start, d, h wait), e");
}

TEST_CASE("op times come from a CSV file", "[workload][step]") {
  StepGraph graph =
      Read(Compute("c") + ", " + Compute("d") + ", " + Gather("g"));
  std::vector<std::string> warnings;
  SetOpTimes("name,seconds\nc,2.5e-3\n\"e\",1\n", "t.csv", graph, warnings);
  CHECK(graph.ops[0].duration.value() == 2.5e-3);
  CHECK(graph.ops[1].duration.value() == 1e-6);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "t.csv: 1 of 2 names are no computes of this step and left out; the "
        "first is e");
  const auto error = [&](const std::string& csv) {
    return ErrorOf([&] { SetOpTimes(csv, "t.csv", graph, warnings); });
  };
  CHECK(error("c\n") == "t.csv:1: expected name,seconds, got \"c\"");
  CHECK(error("c,1\nc,2\n") == "t.csv:2: the op c stands twice");
  CHECK(error("c,fast\n").starts_with("t.csv:1: "));
  CHECK(error("c,-1\n").starts_with("t.csv:1: "));
  CHECK(error("x,1\n").starts_with(
      "t.csv: no name is that of a compute of this step; the first is x"));
}

TEST_CASE("buffers live until they are freed", "[workload][memory]") {
  const StepGraph graph = Read(
      Compute("a", R"(, "memory": {"alloc": "5GB"})") + ", " +
          Gather("g", R"(, "async": true, "memory": {"alloc": "7GB", "free":
          ["a"]})") +
          ", " + Compute("b") + ", " +
          Compute("c", R"(, "after": ["g"], "memory": {"alloc": "1GB"})") +
          R"(, {"id": "loop", "repeat": 9, "ops": [)" +
          Compute("d", R"(, "memory": {"alloc": "3GB"})") + "]}, " +
          Compute("e"),
      R"(, "memory": {"resident": "10GB"})");
  REQUIRE(graph.memory);
  // The gather reads `a` until its wait.
  const auto live = [&](int op) { return *graph.ops[op].live; };
  CHECK(live(0) == Bytes(15'000'000'000));
  CHECK(live(1) == Bytes(22'000'000'000));
  CHECK(live(2) == Bytes(22'000'000'000));
  CHECK(live(3) == Bytes(18'000'000'000));
  CHECK(live(4) == Bytes(21'000'000'000));
  CHECK(live(5) == Bytes(18'000'000'000));
  CHECK(graph.memory->peak == Bytes(22'000'000'000));
  CHECK(graph.memory->at == "g");
  REQUIRE(graph.memory->live.size() == 3);
  CHECK(graph.memory->live[0].name == "resident");
  CHECK(graph.memory->live[1].name == "g");
  CHECK(graph.memory->live[2].name == "a");
  CHECK(ErrorOf([] {
          Read(Compute("a") + ", " +
               Compute("b", R"(, "memory": {"free": ["a"]})"));
        }) ==
        "step.json: /ops/1/memory/free/0: expected the id of an earlier op of "
        "the same list that has \"alloc\", got \"a\"");
}

TEST_CASE("loops are written out with what each run needs",
          "[workload][step]") {
  const StepGraph graph =
      Read(Compute("a") + R"(, {"id": "loop", "repeat": 2, "ops": [)" +
           Gather("g", R"(, "async": true)") + ", " +
           Compute("b", R"(, "after": ["a", "g"])") + "]}, " +
           Compute("c", R"(, "after": ["loop"])"));
  const std::vector<StepRun> runs = WriteOut(graph, 100);
  // a, (g, wait, b) twice, c
  REQUIRE(runs.size() == 8);
  CHECK(runs[2].kind == ExecutionKind::kWait);
  CHECK(runs[2].started == 1);
  CHECK(runs[3].deps == std::vector<std::uint32_t>{0, 2});
  CHECK(runs[5].started == 4);
  CHECK(runs[6].deps == std::vector<std::uint32_t>{0, 5});
  CHECK(runs[7].deps == std::vector<std::uint32_t>{6});
  CHECK_THROWS(WriteOut(graph, 7));
}

}  // namespace
}  // namespace podsim
