// Text workloads and systems of ASTRA-sim: real ones against what an
// independent reader found in them, and the order of the step they make.
#include "workload/astra.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text_file.h"
#include "test/support/error_of.h"
#include "test/support/temporary_file.h"

namespace podsim {
namespace {

using nlohmann::json;

std::string AstraName(CollectiveKind kind) {
  std::string name;
  for (const char c : std::string(ToText(kind))) {
    if (c != '-') name += static_cast<char>(std::toupper(c));
  }
  return name;
}

json FactsOf(const AstraText& text, AstraPhase AstraLayer::*phase) {
  json facts = {{"compute", 0}, {"comm", json::object()}};
  for (const AstraLayer& layer : text.layers) {
    const AstraPhase& found = layer.*phase;
    facts["compute"] = facts["compute"].get<std::int64_t>() + found.compute;
    if (!found.comm) continue;
    json& tally = facts["comm"][AstraName(*found.comm)];
    if (tally.is_null()) tally = json::object();
    tally["count"] = tally.value("count", 0) + 1;
    tally["bytes"] = tally.value("bytes", std::int64_t{0}) + found.bytes;
  }
  return facts;
}

TEST_CASE("text workloads have the facts of an independent reader",
          "[workload][astra]") {
  const char* corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: no real workloads are read");
    return;
  }
  const std::string folder = std::string(corpus) + "/astra/";
  const json expected = json::parse(ReadTextFile(folder + "expected.json"));
  REQUIRE(!expected.empty());
  for (const auto& [name, facts] : expected.items()) {
    CAPTURE(name);
    const AstraText text = ParseAstraText(ReadTextFile(folder + name), name);
    std::int64_t update = 0;
    std::set<int> columns;
    for (const AstraLayer& layer : text.layers) {
      update += layer.update;
      columns.insert(layer.columns);
    }
    CHECK(text.parallelism == facts["parallelism"]);
    CHECK(json(text.options) == facts["header_rest"]);
    // Both: ParseAstraText refuses a count that is not that of the rows.
    CHECK(text.layers.size() == facts["declared_layers"]);
    CHECK(text.layers.size() == facts["rows"]);
    CHECK(FactsOf(text, &AstraLayer::forward) == facts["by"]["fwd"]);
    CHECK(FactsOf(text, &AstraLayer::input_gradient) == facts["by"]["ig"]);
    CHECK(FactsOf(text, &AstraLayer::weight_gradient) == facts["by"]["wg"]);
    CHECK(update == facts["update_total"]);
    CHECK(json(columns) == facts["columns"]);
  }
}

const std::string kTorus =
    "topology: [Ring, Ring]\nnpus_count: [4, 2]\n"
    "bandwidth: [50, 50]\nlatency: [500, 500]\n";

AstraSystem SystemOf(const std::string& text) {
  return ReadAstraSystem(JsonValue::ParseText(text, "s.json"));
}

AstraSystem AllOf(const std::string& implementation) {
  const std::string list = "-implementation\": [\"" + implementation +
                           "\", \"" + implementation + "\"]";
  return SystemOf("{\"all-reduce" + list + ", \"all-gather" + list +
                  ", \"reduce-scatter" + list + ", \"all-to-all" + list + "}");
}

Workload StepOf(const std::string& text, const std::string& implementation,
                double scale = 1) {
  const TemporaryFile network("astra.yml", kTorus);
  WorkloadRequest request;
  request.slice.spec = network.path();
  return MakeAstraWorkload(ParseAstraText(text, "w.txt"), AllOf(implementation),
                           request, scale);
}

// "a.fwd +a.wg.comm (a.wg.comm)": issued ops, async ones with +, waits in
// brackets.
std::string OrderOf(const Workload& workload) {
  std::string order;
  for (const StepItem& item : workload.graph.items) {
    const StepOp& op = workload.graph.ops[*item.op];
    if (!order.empty()) order += " ";
    order += item.wait ? "(" + op.id + ")" : (op.async() ? "+" : "") + op.id;
  }
  return order;
}

TEST_CASE("DATA hides weight gradients behind the layers before",
          "[workload][astra]") {
  const Workload workload = StepOf(
      "DATA\n2\na -1 1 NONE 0 2 NONE 0 3 ALLREDUCE 8 4\n"
      "b -1 5 NONE 0 6 NONE 0 7 ALLREDUCE 16 8\n",
      "ring");
  CHECK(OrderOf(workload) ==
        "a.fwd b.fwd b.wg +b.wg.comm b.ig a.wg +a.wg.comm (b.wg.comm) b.update "
        "(a.wg.comm) a.update");
  const StepOp& comm = workload.graph.ops[3];
  CHECK(comm.collective->kind == CollectiveKind::kAllReduce);
  CHECK(comm.collective->payload == Bytes(16));
  CHECK(comm.collective->axes == std::vector<int>{0, 1});
  CHECK(comm.where == "w.txt:4:26");
  CHECK(workload.graph.ops[1].duration == Seconds(5e-9));
}

TEST_CASE("MODEL waits for activations and input gradients",
          "[workload][astra]") {
  CHECK(OrderOf(StepOf("MODEL\n2\na -1 1 ALLREDUCE 8 2 ALLREDUCE 8 3 NONE 0 0\n"
                       "b -1 5 ALLREDUCE 8 6 ALLREDUCE 8 7 NONE 0 0\n",
                       "ring")) ==
        "a.fwd a.fwd.comm b.fwd b.fwd.comm b.ig +b.ig.comm b.wg (b.ig.comm) "
        "a.ig +a.ig.comm a.wg (a.ig.comm)");
}

TEST_CASE("layers of one name are told apart, zeros are left out",
          "[workload][astra]") {
  CHECK(OrderOf(StepOf("MICRO\r\n2\t\t\r\n\r\na -1 0 ALLREDUCE 8 0 NONE 0 0 "
                       "NONE 0 0\r\na -1 7 ALLREDUCE 0 0 NONE 0 0 NONE 0 0",
                       "ring")) == "a.fwd.comm a#2.fwd");
}

TEST_CASE("who takes part follows the parallelism", "[workload][astra]") {
  struct Case {
    std::string parallelism;
    std::vector<int> forward;
    std::vector<int> weights;
  };
  const std::string group = "HYBRID_TRANSFORMER model_parallel_NPU_group: ";
  for (const Case& one :
       {Case{"MICRO", {0, 1}, {0, 1}}, Case{"HYBRID_DATA_MODEL", {1}, {0}},
        Case{"HYBRID_MODEL_DATA", {0}, {1}}, Case{group + "4", {0}, {1}}}) {
    CAPTURE(one.parallelism);
    const Workload workload = StepOf(
        one.parallelism + "\n1\na -1 0 ALLREDUCE 8 0 NONE 0 0 ALLREDUCE 8 0\n",
        "ring");
    REQUIRE(workload.graph.ops.size() == 2);
    CHECK(workload.graph.ops[0].collective->axes == one.forward);
    CHECK(workload.graph.ops[1].collective->axes == one.weights);
  }
  // Half of an axis: chips 0, 1 share a model; 0, 2, 4, 6 share data.
  const Workload workload =
      StepOf(group + "2\n1\na -1 0 ALLREDUCE 8 0 NONE 0 0 ALLREDUCE 8 0\n",
             "oneDirect");
  const auto& model = workload.graph.ops[0].collective->groups;
  const auto& data = workload.graph.ops[1].collective->groups;
  REQUIRE(model.size() == 4);
  CHECK(model[3] == std::vector<ChipId>{ChipId(6), ChipId(7)});
  REQUIRE(data.size() == 2);
  CHECK(data[1] ==
        std::vector<ChipId>{ChipId(1), ChipId(3), ChipId(5), ChipId(7)});
}

TEST_CASE("layers of HYBRID_CUSTOMIZED have their own parallelism",
          "[workload][astra]") {
  const Workload workload = StepOf(
      "HYBRID_CUSTOMIZED\n2\n"
      "a -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 8 0 HYBRID_MODEL_DATA\n"
      "b -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 8 0 DATA\n",
      "ring");
  REQUIRE(workload.graph.ops.size() == 2);
  CHECK(workload.graph.ops[0].collective->axes == std::vector<int>{0, 1});
  CHECK(workload.graph.ops[1].collective->axes == std::vector<int>{1});
}

TEST_CASE("the bytes of ALLGATHER are those of one NPU", "[workload][astra]") {
  const Workload workload = StepOf(
      "MICRO\n1\na -1 0 ALLGATHER 10 0 REDUCESCATTER 10 0 ALLTOALL 10 "
      "0\n",
      "ring");
  CHECK(workload.graph.ops[0].collective->payload == Bytes(80));
  CHECK(workload.graph.ops[1].collective->payload == Bytes(10));
  CHECK(workload.graph.ops[2].collective->payload == Bytes(10));
  CHECK(workload.warnings ==
        std::vector<std::string>{
            "s.json: /all-to-all-implementation/0: all-to-all runs as staged, "
            "which uses both ways round; see `podsim lowerings`"});
}

TEST_CASE("compute times scale: the text does not say their unit",
          "[workload][astra]") {
  const Workload workload =
      StepOf("DATA\n1\na -1 7 NONE 0 0 NONE 0 0 NONE 0 0\n", "ring", 1000);
  CHECK(workload.graph.ops[0].duration.value() == Approx(7e-6));
}

TEST_CASE("implementations of ASTRA-sim are lowerings", "[workload][astra]") {
  constexpr CollectiveKind kReduce = CollectiveKind::kAllReduce;
  constexpr CollectiveKind kExchange = CollectiveKind::kAllToAll;
  struct Case {
    std::string implementation;
    CollectiveKind kind;
    std::vector<int> axes;
    std::string spec;
  };
  for (const Case& one :
       {Case{"ring", kReduce, {1}, "bucket:axis_primitive=ring,batches=1"},
        Case{"ring", kReduce, {0, 1}, "bucket:axis_primitive=ring,batches=1"},
        Case{"ring", kExchange, {0}, "neighbor"},
        Case{"ring", kExchange, {0, 1}, "staged"},
        Case{"oneRing", kReduce, {0}, "bucket:axis_primitive=ring,batches=1"},
        Case{"direct", kReduce, {0}, "direct"},
        Case{"direct4", kReduce, {0}, "direct:window=4"},
        Case{"direct", kExchange, {0, 1}, "staged"},
        Case{"oneDirect", kReduce, {0, 1}, "direct"},
        Case{"oneDirect16", kExchange, {0, 1}, "direct:window=16"},
        Case{"halvingDoubling", kReduce, {1}, "halving-doubling"},
        Case{"oneHalvingDoubling", kReduce, {0, 1}, "halving-doubling"},
        Case{"doubleBinaryTree", kReduce, {0}, "double-binary-tree"}}) {
    CAPTURE(one.implementation, one.axes);
    CHECK(
        AstraLowering(AllOf(one.implementation), one.kind, one.axes, 2).text ==
        one.spec);
  }
  AstraSystem chunked = AllOf("ring");
  chunked.splits = 4;
  CHECK(AstraLowering(chunked, kReduce, {0}, 2).text ==
        "bucket:axis_primitive=ring,batches=4");
}

TEST_CASE("what a system wants and podsim does not do is a warning",
          "[workload][astra]") {
  const TemporaryFile network("astra_warn.yml", kTorus);
  WorkloadRequest request;
  request.slice.spec = network.path();
  AstraSystem system = AllOf("ring");
  system.baseline = true;
  const AstraText text = ParseAstraText(
      "MICRO\n1\na -1 0 ALLREDUCE 8 0 NONE 0 0 NONE 0 0\n", "w.txt");
  CHECK(MakeAstraWorkload(text, system, request, 1).warnings ==
        std::vector<std::string>{
            "s.json: /collective-optimization: baseline, an all-reduce of the "
            "whole payload in every dimension, is not modelled; runs as "
            "localBWAware"});
  AstraSystem direct = AllOf("oneDirect");
  direct.splits = 4;
  direct.splits_where = "s.json: /preferred-dataset-splits";
  CHECK(MakeAstraWorkload(text, direct, request, 1).warnings ==
        std::vector<std::string>{
            "s.json: /preferred-dataset-splits: only ring all-reduces, "
            "all-gathers and reduce-scatters are cut into chunks"});
}

TEST_CASE("every key of a system that does nothing is named",
          "[workload][astra]") {
  const AstraSystem system =
      SystemOf(R"({"scheduling-policy": "LIFO", "endpoint-delay": 10,
                   "peak-perf": 900, "replay-only": true,
                   "endpoint-dellay": 5, "frobnicate": [1]})");
  CHECK(system.endpoint_delay_ns == 10);
  CHECK(system.warnings ==
        std::vector<std::string>{
            "s.json: /endpoint-dellay: unknown key, ignored; did you mean "
            "\"endpoint-delay\"?",
            "s.json: /frobnicate: unknown key, ignored",
            "s.json: not modelled, ignored: scheduling-policy, peak-perf, "
            "replay-only"});
}

}  // namespace
}  // namespace podsim
