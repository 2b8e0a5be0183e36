// Chakra traces as JSON: of the feeder, and of chakra_jsonizer, which writes
// the metadata and each node by protobuf's rules for JSON, one after another.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/text_file.h"
#include "test/support/error_of.h"
#include "workload/chakra.h"

namespace podsim {
namespace {

const std::string kMetadata = R"({
  "version": "0.0.4",
  "attr": [{"name": "schema", "stringVal": "1.0.2-chakra.0.0.4"}]
})";

// Every number as protobuf prints it: those of 64 bits are texts.
const std::string kCollective = R"({
  "id": "18446744073709551615",
  "name": "a } \" { brace",
  "type": "COMM_COLL_NODE",
  "ctrlDeps": ["1"],
  "dataDeps": ["0", "2"],
  "durationMicros": "28",
  "attr": [
    {"name": "is_cpu_op", "boolVal": false},
    {"name": "comm_type", "int64Val": "2"},
    {"name": "comm_size", "uint64Val": "1048576"},
    {"name": "comm_tag", "sint32Val": -3},
    {"name": "num_ops", "doubleVal": 2.5e9},
    {"name": "pg_name", "stringVal": "7"},
    {"name": "involved_dim", "boolList": {"values": [true, false]}},
    {"name": "seq_id", "uint64Val": "18446744073709551615"}
  ]
})";

TEST_CASE("protobuf's JSON is read as chakra_jsonizer writes it",
          "[workload][chakra]") {
  const std::string text =
      kMetadata + "{\"type\": \"COMP_NODE\"}\n" + kCollective;
  CHECK(IsChakraJson(text));
  const ChakraTrace trace = ParseChakra(text, "x.json");
  CHECK(trace.version == "0.0.4");
  REQUIRE(trace.nodes.size() == 2);
  CHECK(trace.nodes[0].id == 0);  // left out
  CHECK(trace.nodes[0].type == ChakraNodeType::kComp);
  const ChakraNode& node = trace.nodes[1];
  CHECK(node.id == UINT64_MAX);
  CHECK(node.name == "a } \" { brace");
  CHECK(node.type == ChakraNodeType::kCommColl);
  CHECK(node.ctrl_deps == std::vector<std::uint64_t>{1});
  CHECK(node.data_deps == std::vector<std::uint64_t>{0, 2});
  CHECK(node.duration_us == 28);
  CHECK_FALSE(node.is_cpu_op);
  CHECK(node.comm_type == 2);
  CHECK(node.comm_size == 1048576);
  CHECK(node.comm_tag == -3);
  CHECK(node.num_ops == 2500000000);
  CHECK(node.pg_name == "7");
  CHECK(node.involved_dim == std::vector<bool>{true, false});
  CHECK(node.where == "x.json: object 3");
}

TEST_CASE("keys of protobuf's JSON may be those of the schema",
          "[workload][chakra]") {
  CHECK(ParseChakra(R"({"attr": [{"name": "schema", "stringVal": "1.0.2"}]}
                       {"type": "COMP_NODE"})",
                    "x.json")
            .version == "1.0.2");
  // Of a writer that keeps the names of fields; numbers may be numbers.
  const ChakraTrace trace = ParseChakra(
      R"({} {"id": 5, "type": 7, "data_deps": [4], "duration_micros": 9,
             "attr": [{"name": "comm_size", "int64_val": 8}]})",
      "x.json");
  REQUIRE(trace.nodes.size() == 1);
  CHECK(trace.nodes[0].id == 5);
  CHECK(trace.nodes[0].type == ChakraNodeType::kCommColl);
  CHECK(trace.nodes[0].data_deps == std::vector<std::uint64_t>{4});
  CHECK(trace.nodes[0].duration_us == 9);
  CHECK(trace.nodes[0].comm_size == 8);
}

TEST_CASE("JSON is a trace by its keys, not by its name",
          "[workload][chakra]") {
  CHECK(IsChakraJson("{\"workload_graph\": []}"));
  CHECK(IsChakraJson("{} {}"));
  CHECK(IsChakraJson("{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": []}"));
  for (const char* text :
       {"", "[]", "{}", "{", "{\"version\": \"0.0.4\"}",
        "{\"format\": \"podsim-workload/1\", \"workload_graph\": []}",
        "{} trailing", "{\"format\": \"podsim-schedule/1\"} {}",
        "{\"ops\": []} {}"}) {
    CAPTURE(text);
    CHECK_FALSE(IsChakraJson(text));
  }
}

TEST_CASE("bad JSON of traces is refused at its pointer",
          "[workload][chakra]") {
  struct Bad {
    std::string text;
    std::string message;
  };
  for (const Bad& bad : std::vector<Bad>{
           {"{}", "x.json: missing key \"workload_graph\""},
           {R"({"workload_graph": {}})",
            "x.json: /workload_graph: expected an array, got {}"},
           {R"({"workload_graph": [{"NodeType": 4}]})",
            "x.json: /workload_graph/0: missing key \"Id\""},
           {R"({"workload_graph": [{"Id": 1, "NodeType": 0}]})",
            "x.json: /workload_graph/0/NodeType: expected an integer from 1 to "
            "7, got 0"},
           {R"({"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": -1}]})",
            "x.json: /workload_graph/0/runtime: expected an integer of at "
            "least 0, got -1"},
           {R"({"workload_graph": [{"Id": 1, "NodeType": 4},
                                   {"Id": 1, "NodeType": 4}]})",
            "x.json: /workload_graph/1: the id 1 stands twice"},
           {R"({"workload_graph": [{"Id": 1, "NodeType": 4, "pg_name": 0}]})",
            "x.json: /workload_graph/0/pg_name: expected a string, got 0"},
           {R"({} {"id": "1"})", "x.json: object 2: the node has no type"},
           {R"({} {"type": "COMP"})",
            "x.json: object 2: /type: unknown node type \"COMP\"; expected "
            "METADATA_NODE, MEM_LOAD_NODE, MEM_STORE_NODE, COMP_NODE, "
            "COMM_SEND_NODE, COMM_RECV_NODE, COMM_COLL_NODE"},
           {R"({} {"type": "COMP_NODE", "id": "one"})",
            "x.json: object 2: /id: expected an integer of 64 bits, got "
            "\"one\""},
           {R"({} {"type": "COMP_NODE", "id": "18446744073709551616"})",
            "x.json: object 2: /id: expected an integer of 64 bits, got "
            "\"18446744073709551616\""},
           {R"({} {"type": "COMP_NODE", "dataDeps": [1.5]})",
            "x.json: object 2: /dataDeps/0: expected an integer of 64 bits, "
            "got 1.5"},
           {R"({} {"type": "COMP_NODE", "dataDep": []})",
            "x.json: object 2: /dataDep: unknown key; did you mean "
            "\"dataDeps\"? (known: id, name, type, ctrlDeps, ctrl_deps, "
            "dataDeps, data_deps, startTimeMicros, start_time_micros, "
            "durationMicros, duration_micros, inputs, outputs, attr)"},
           {R"({} {"type": "COMM_COLL_NODE",
                  "attr": [{"name": "comm_size", "int64Val": "-1"}]})",
            "x.json: object 2: /attr/0: comm_size must not be negative, got "
            "-1"},
           {R"({} {"type": "COMM_COLL_NODE",
                  "attr": [{"name": "comm_size", "stringVal": "1"}]})",
            "x.json: object 2: /attr/0: expected a number as comm_size"},
           {R"({"schema": "1.0.2-chakra.0.0.4", "nodes": []})",
            "x.json: is a PyTorch execution trace, which has to be converted: "
            "chakra_converter PyTorch"},
       }) {
    CAPTURE(bad.text);
    CHECK(ErrorOf([&] { ParseChakra(bad.text, "x.json"); }) == bad.message);
  }
}

TEST_CASE("a real trace of the feeder is read", "[workload][chakra]") {
  const char* corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: no real traces are read");
    return;
  }
  const std::string path =
      std::string(corpus) + "/chakra/json/small_chakra.0.json";
  CHECK(IsChakraFile(path));
  // As the file says: 7 nodes, 5 of the CPU; runtimes 318, 28, 4, 85, 79, 28
  // and 153 us. The broadcast's kernel has neither comm_type nor comm_size.
  const ChakraTrace trace = ParseChakra(ReadTextFile(path), path);
  REQUIRE(trace.nodes.size() == 7);
  std::uint64_t micros = 0;
  int of_cpu = 0;
  for (const ChakraNode& node : trace.nodes) {
    micros += node.duration_us;
    of_cpu += node.is_cpu_op ? 1 : 0;
  }
  CHECK(micros == 318 + 28 + 4 + 85 + 79 + 28 + 153);
  CHECK(of_cpu == 5);
  CHECK(trace.nodes[5].type == ChakraNodeType::kCommColl);
  CHECK(trace.nodes[5].data_deps == std::vector<std::uint64_t>{432, 216, 217});
  CHECK_FALSE(trace.nodes[5].comm_type);
}

}  // namespace
}  // namespace podsim
