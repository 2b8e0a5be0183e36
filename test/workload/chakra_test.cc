// Chakra traces: real ones against what an independent reader found in them,
// and bytes written by hand.
#include "workload/chakra.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text_file.h"
#include "test/support/error_of.h"
#include "workload/chakra_lower.h"
#include "workload/gunzip.h"

namespace podsim {
namespace {

using nlohmann::json;

// The types of the attributes that our reader takes, told by the key of the
// value (field << 3 | wire type) that follows each name.
json AttributeTypesOf(const std::string& bytes) {
  json types = json::object();
  for (const std::string name :
       {"is_cpu_op", "num_ops", "tensor_size", "comm_type", "comm_size",
        "comm_src", "comm_dst", "comm_tag", "pg_name", "involved_dim"}) {
    const std::string field =
        std::string("\x0a") + static_cast<char>(name.size()) + name;
    for (auto at = bytes.find(field); at != std::string::npos;
         at = bytes.find(field, at + 1)) {
      const std::string value = bytes.substr(at + field.size());
      const std::string type = value.starts_with("\xd8\x01")   ? "bool"
                               : value.starts_with(9 << 3)     ? "int64"
                               : value.starts_with(13 << 3)    ? "uint64"
                               : value.starts_with(7 << 3)     ? "int32"
                               : value.starts_with("\xea\x01") ? "string"
                                                               : "other";
      json& known = types[name];
      if (std::find(known.begin(), known.end(), type) == known.end()) {
        known.push_back(type);
      }
    }
  }
  return types;
}

TEST_CASE("chakra traces have the facts of an independent reader",
          "[workload][chakra]") {
  const char* corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: no real traces are read");
    return;
  }
  const std::string folder = std::string(corpus) + "/chakra/";
  const json expected = json::parse(ReadTextFile(folder + "expected.json"));
  for (const auto& [name, facts] : expected.items()) {
    CAPTURE(name);
    const ChakraTrace trace = ParseChakra(ReadTextFile(folder + name), name);
    json types = json::object();
    std::map<std::string, std::pair<int, std::int64_t>> tallies;
    std::size_t data_deps = 0, ctrl_deps = 0;
    std::uint64_t micros = 0;
    for (const ChakraNode& node : trace.nodes) {
      const std::string type = ToText(node.type);
      types[type] = types.value(type, 0) + 1;
      data_deps += node.data_deps.size();
      ctrl_deps += node.ctrl_deps.size();
      micros += node.duration_us;
      if (!node.comm_type) continue;
      auto& tally = tallies[ChakraCommName(*node.comm_type)];
      ++tally.first;
      tally.second += node.comm_size.value_or(0);
    }
    json collectives = json::object();
    for (const auto& [kind, tally] : tallies) {
      collectives[kind] = {{"count", tally.first}, {"bytes", tally.second}};
    }
    CHECK(trace.version == facts["global_version"]);
    CHECK(trace.nodes.size() == facts["nodes"]);
    CHECK(types == facts["by_type"]);
    CHECK(collectives == facts["collectives"]);
    CHECK(data_deps == facts["data_deps"]);
    CHECK(ctrl_deps == facts["ctrl_deps"]);
    CHECK(micros == facts["total_duration_micros"]);

    json messages = json::object();
    for (const ChakraNode& node : trace.nodes) {
      if (node.type != ChakraNodeType::kCommSend &&
          node.type != ChakraNodeType::kCommRecv) {
        continue;
      }
      const char* type = ToText(node.type);
      messages[type] =
          messages.value(type, std::int64_t{0}) + node.comm_size.value_or(0);
    }
    CHECK(messages == facts["p2p_bytes"]);
    // The metadata is its version only, a field of two bytes more.
    REQUIRE(facts["global_attrs"].empty());
    const std::string bytes = ReadTextFile(folder + name);
    CHECK(static_cast<std::size_t>(bytes[0]) == trace.version.size() + 2);
    CHECK(AttributeTypesOf(bytes) == facts["attr_types"]);
  }
}

std::string ErrorOfBytes(const std::string& bytes) {
  return ErrorOf([&] { ParseChakra(bytes, "x.et"); });
}

// Metadata without fields, then a node of these bytes.
std::string OneNode(const std::string& node) {
  return std::string("\0", 1) + static_cast<char>(node.size()) + node;
}

TEST_CASE("chakra nodes are read from the wire format", "[workload][chakra]") {
  // id 300, type COMP, data_deps {1, 2} packed, duration 7.
  const ChakraTrace trace = ParseChakra(
      OneNode("\x08\xac\x02\x18\x04\x2a\x02\x01\x02\x38\x07"), "x.et");
  REQUIRE(trace.nodes.size() == 1);
  CHECK(trace.nodes[0].id == 300);
  CHECK(trace.nodes[0].type == ChakraNodeType::kComp);
  CHECK(trace.nodes[0].data_deps == std::vector<std::uint64_t>{1, 2});
  CHECK(trace.nodes[0].duration_us == 7);
  CHECK(ErrorOf([&] { DataDeps(trace); }) ==
        "x.et: byte 2: data_deps names node 1, which the trace does not have");
}

TEST_CASE("chakra traces may be gzip files", "[workload][chakra]") {
  // The node above, as gzip -n -9 packs it.
  const std::string plain =
      OneNode("\x08\xac\x02\x18\x04\x2a\x02\x01\x02\x38\x07");
  constexpr char kPacked[] =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x63\xe0\xe6\x58"
      "\xc3\x24\xc1\xa2\xc5\xc4\xc8\x64\xc1\x0e\x00\xfe\x20\x92"
      "\xec\x0d\x00\x00\x00";
  const std::string packed(kPacked, sizeof(kPacked) - 1);
  CHECK(IsGzip(packed));
  CHECK_FALSE(IsGzip(plain));
  CHECK(Gunzip(packed, 13, "x.et") == plain);
  CHECK(Gunzip(packed + packed, 26, "x.et") == plain + plain);  // RFC 1952, 2.2
  CHECK(ParseChakra(packed, "x.et").nodes.at(0).id == 300);

  const auto error = [](const std::string& bytes, std::size_t most) {
    return ErrorOf([&] { Gunzip(bytes, most, "x.et"); });
  };
  CHECK(error(packed, 12) == "x.et: unpacks to more than 12 bytes");
  for (std::size_t size = 2; size < packed.size(); ++size) {
    CHECK(error(packed.substr(0, size), 13) ==
          "x.et: the gzip data is cut off at byte " + std::to_string(size));
  }
  // 33 bytes, the last 4 their size, the 4 before the sum; a member begins with
  // two bytes that name gzip.
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 8] ^= 1;
  CHECK(error(wrong_sum, 13) ==
        "x.et: byte 29: the gzip data is damaged: incorrect data check");
  CHECK(error(packed + "more", 13) ==
        "x.et: byte 35: the gzip data is damaged: incorrect header check");
}

// A node of type COMM_COLL with an attribute of this name, whose value is
// `value`: key and bytes.
std::string OneAttribute(const std::string& name, const std::string& value) {
  const std::string attribute =
      std::string("\x0a") + static_cast<char>(name.size()) + name + value;
  return OneNode(std::string("\x18\x07\x52") +
                 static_cast<char>(attribute.size()) + attribute);
}

TEST_CASE("numbers of chakra attributes may be of any type",
          "[workload][chakra]") {
  // 5 in each type of the oneof of AttributeProto: its field, wire type 0
  // (varint), 1 (8 bytes) or 5 (4 bytes), and the bytes.
  const std::string zeros(7, '\0');
  const std::string eight = "\x05" + zeros;
  const std::string four = eight.substr(0, 4);
  const auto key = [](int field, int wire) {
    const int value = field << 3 | wire;
    return value < 128 ? std::string(1, static_cast<char>(value))
                       : std::string{static_cast<char>((value & 0x7f) | 0x80),
                                     static_cast<char>(value >> 7)};
  };
  for (const std::string& value :
       {key(3, 1) + std::string("\0\0\0\0\0\0\x14\x40", 8),  // double
        key(5, 5) + std::string("\0\0\xa0\x40", 4),          // float
        key(7, 0) + "\x05", key(9, 0) + "\x05", key(11, 0) + "\x05",
        key(13, 0) + "\x05", key(15, 0) + "\x0a", key(17, 0) + "\x0a",
        key(19, 5) + four, key(21, 1) + eight, key(23, 5) + four,
        key(25, 1) + eight}) {
    CAPTURE(static_cast<int>(static_cast<unsigned char>(value[0])));
    CHECK(ParseChakra(OneAttribute("comm_size", value), "x.et")
              .nodes.at(0)
              .comm_size == 5);
  }
}

TEST_CASE("bad chakra traces are refused at their byte", "[workload][chakra]") {
  struct Bad {
    std::string bytes;
    std::string message;
  };
  const std::string zero(1, '\0');
  for (const Bad& bad : std::vector<Bad>{
           {"", "byte 0: is empty, expected a Chakra trace"},
           {"\x1f\x8b\x08", "the gzip data is cut off at byte 3"},
           {"\x1f\x8b\x07\x01",
            "byte 4: the gzip data is damaged: unknown compression method"},
           {"\x05\x0a", "byte 1: expected 5 more bytes, found 1"},
           {"\x80", "byte 0: the number is cut off"},
           {zero + "\x80", "byte 1: the number is cut off"},
           {zero + std::string(10, '\xff'),
            "byte 1: expected a varint of at most 10 bytes"},
           {zero + "\x03\x18\x04", "byte 2: expected 3 more bytes, found 2"},
           {"\x01\x0a", "byte 2: the number is cut off"},
           {OneNode("\x08\x01"), "byte 2: the node has no type"},
           {OneNode(std::string("\x18\0", 2)),
            "byte 2: expected a node type from 1 to 7, got 0"},
           {OneNode("\x18\x09"),
            "byte 2: expected a node type from 1 to 7, got 9"},
           {OneNode("\x0b"),
            "byte 2: expected a wire type 0, 1, 2 or 5, got 3"},
           {OneNode("\x0f"),
            "byte 2: expected a wire type 0, 1, 2 or 5, got 7"},
           {OneNode(std::string("\0\x01", 2)),
            "byte 2: expected a field of a message, got number 0"},
           {OneNode("\x12\x05name"), "byte 4: expected 5 more bytes, found 4"},
           {OneNode("\x2a\x02\x01\x80"), "byte 5: the number is cut off"},
           {OneNode("\x39\x01\x02"), "byte 3: expected 8 more bytes, found 2"},
           {OneNode("\x18\x04") + "\x02\x18\x04",
            "byte 5: the id 0 stands twice"},
           {OneAttribute("comm_size", "\xea\x01\x01x"),
            "byte 21: expected a number as comm_size"},
           // int64 -1
           {OneAttribute("comm_size",
                         "\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            "byte 28: comm_size must not be negative, got -1"},
           // double 1e300
           {OneAttribute("num_ops",
                         std::string("\x19\x9c\x75\0\x88\x3c\xe4\x37\x7e", 9)),
            "byte 24: expected a number as num_ops"},
       }) {
    CAPTURE(bad.message);
    CHECK(ErrorOfBytes(bad.bytes) == "x.et: " + bad.message);
  }
}

ChakraTrace TraceOf(const std::string& nodes, const std::string& file) {
  return ParseChakra("{\"workload_graph\": [" + nodes + "]}", file);
}

SliceRequest OnSlice(const char* spec) {
  SliceRequest request;
  request.spec = spec;
  request.spec_where = "--slice";
  return request;
}

TEST_CASE("sends and receives become transfers", "[workload][chakra]") {
  const std::string compute = R"({"Id": 1, "NodeType": 4, "runtime": 3},)";
  const std::string send = R"({"Id": 2, "NodeType": 5, "data_deps": [1],
    "comm_size": 64, "comm_src": 0, "comm_dst": 1, "comm_tag": 9})";
  const std::string receive = R"({"Id": 5, "NodeType": 6, "comm_size": 64,
    "comm_src": 0, "comm_dst": 1, "comm_tag": 9})";
  const ChakraTrace first = TraceOf(compute + send, "a.0.et");
  const ScheduleFile file = MakeChakraSchedule(
      {first, TraceOf(receive, "a.1.et")}, OnSlice("ideal:2"));
  REQUIRE(file.schedule.size() == 2);
  CHECK(file.schedule.duration(OpId(0)).value() == Approx(3e-6));
  CHECK(file.schedule.bytes(OpId(1)) == Bytes(64));
  CHECK(file.schedule.dst(OpId(1)) == ChipId(1));
  REQUIRE(file.schedule.after(OpId(1)).size() == 1);
  CHECK(
      ErrorOf([&] {
        MakeChakraSchedule({first, TraceOf("", "a.1.et")}, OnSlice("ideal:2"));
      }).find("no rank has the partner of COMM_SEND") != std::string::npos);
  CHECK(ErrorOf([&] {
          MakeChakraSchedule({first}, OnSlice("ideal:2"));
        }).find("expected a trace per chip of ideal:2, 2, found 1") !=
        std::string::npos);
}

TEST_CASE("chakra collectives become a step", "[workload][chakra]") {
  const std::string nodes = R"({"Id": 7, "NodeType": 4, "runtime": 3,
    "data_deps": [8]}, {"Id": 8, "NodeType": 7, "comm_type": 2,
    "comm_size": 100})";
  const ChakraTrace trace = TraceOf(nodes, "a.0.et");
  const Workload workload = MakeChakraWorkload(
      {trace, trace}, {.slice = OnSlice("ideal:2"), .lowerings = {}});
  // The gather, its wait, the compute; S of an all-gather is n shards.
  REQUIRE(workload.graph.ops.size() == 2);
  CHECK(workload.graph.ops[0].collective->payload == Bytes(200));
  REQUIRE(workload.graph.items.size() == 3);
  CHECK(workload.graph.items[1].wait);
  const ChakraTrace other =
      TraceOf(R"({"Id": 7, "NodeType": 7, "comm_type": 0, "comm_size": 100})",
              "a.1.et");
  const auto refuses = [](const ChakraTrace& a, const ChakraTrace& b) {
    return ErrorOf([&] {
      MakeChakraWorkload({a, b},
                         {.slice = OnSlice("ideal:2"), .lowerings = {}});
    });
  };
  CHECK(refuses(trace, other).find("only traces alike on every rank") !=
        std::string::npos);
  const ChakraTrace untyped = TraceOf(R"({"Id": 1, "NodeType": 7})", "a.0.et");
  CHECK(refuses(untyped, untyped).find("has no comm_type") !=
        std::string::npos);
  const ChakraTrace circle =
      TraceOf(R"({"Id": 1, "NodeType": 4, "data_deps": [1]})", "a.0.et");
  CHECK(refuses(circle, circle).find("waits in a circle") != std::string::npos);
}

Workload StepOf(const std::string& nodes, const char* slice, int ranks) {
  return MakeChakraWorkload(
      std::vector<ChakraTrace>(ranks, TraceOf(nodes, "a.0.et")),
      {.slice = OnSlice(slice), .lowerings = {}});
}

TEST_CASE("chakra broadcasts have a root", "[workload][chakra]") {
  const Workload first =
      StepOf(R"({"Id": 1, "NodeType": 7, "comm_type": 5, "comm_size": 100})",
             "ideal:4", 4);
  const Collective& broadcast = *first.graph.ops.at(0).collective;
  CHECK(broadcast.kind == CollectiveKind::kBroadcast);
  CHECK(broadcast.payload == Bytes(100));
  CHECK_FALSE(broadcast.root);  // rank 0
  const Workload other = StepOf(
      R"({"Id": 1, "NodeType": 7, "comm_type": 5, "comm_size": 100,
          "comm_src": 2})",
      "ideal:4", 4);
  CHECK(other.graph.ops.at(0).collective->root == ChipId(2));
  CHECK(ErrorOf([&] {
          StepOf(R"({"Id": 1, "NodeType": 7, "comm_type": 5, "comm_size": 1,
                     "comm_src": 4})",
                 "ideal:4", 4);
        }) ==
        "a.0.et: /workload_graph/0: comm_src: expected a live chip from 0 to "
        "3, got 4");
}

TEST_CASE("chakra computes and memory accesses take their roofline",
          "[workload][chakra]") {
  // v5e (topologies/v5e.json): 197 TFLOP/s bf16, HBM of 819 GB/s.
  const std::string nodes = R"(
    {"Id": 1, "NodeType": 2, "tensor_size": 819000},
    {"Id": 2, "NodeType": 4, "num_ops": 197000000, "tensor_size": 1,
     "data_deps": [1]},
    {"Id": 3, "NodeType": 4, "num_ops": 1, "tensor_size": 1638000,
     "data_deps": [2]},
    {"Id": 4, "NodeType": 4, "num_ops": 197000000, "runtime": 5,
     "data_deps": [3]},
    {"Id": 5, "NodeType": 3, "tensor_size": 2457000, "data_deps": [4]})";
  const double seconds[] = {1e-6, 1e-6, 2e-6, 5e-6, 3e-6};
  const Workload step = StepOf(nodes, "v5e:2x2", 4);
  REQUIRE(step.graph.ops.size() == 5);
  for (int op = 0; op < 5; ++op) {
    CAPTURE(op);
    CHECK(step.graph.ops[op].duration.value() == Approx(seconds[op]));
    CHECK(step.graph.ops[op].copy == (op == 0 || op == 4));
  }
  // Beside messages: the same times in the schedule.
  const std::string message = R"(, {"Id": 9, "NodeType": 5, "comm_size": 8,
    "comm_dst": 1, "data_deps": [5]})";
  const std::string receive =
      R"({"Id": 9, "NodeType": 6, "comm_size": 8, "comm_src": 0})";
  std::vector<ChakraTrace> traces(4, TraceOf("", "a.et"));
  traces[0] = TraceOf(nodes + message, "a.0.et");
  traces[1] = TraceOf(receive, "a.1.et");
  const ScheduleFile file = MakeChakraSchedule(traces, OnSlice("v5e:2x2"));
  REQUIRE(file.schedule.size() == 6);
  for (std::uint32_t op = 0; op < 5; ++op) {
    CHECK(file.schedule.duration(OpId(op)).value() == Approx(seconds[op]));
  }
  CHECK(file.schedule.bytes(OpId(5)) == Bytes(8));
  CHECK(ErrorOf([&] {
          StepOf(R"({"Id": 1, "Name": "w", "NodeType": 2})", "v5e:2x2", 4);
        }) == "a.0.et: /workload_graph/0: MEM_LOAD \"w\" has no tensor_size");
}

}  // namespace
}  // namespace podsim
