// Process groups of Chakra traces: where they are listed, and which ranks meet.
#include <catch2/catch.hpp>

#include "test/support/error_of.h"
#include "workload/chakra_lower.h"

namespace podsim {
namespace {

using Ranks = std::vector<std::int64_t>;

SliceRequest OnSlice(const char* spec) {
  SliceRequest request;
  request.spec = spec;
  request.spec_where = "--slice";
  return request;
}

// A trace whose only collective has these keys.
ChakraTrace TraceWith(int rank, const std::string& keys) {
  return ParseChakra(
      "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"comm_size\": 64, " +
          keys + "}]}",
      "a." + std::to_string(rank) + ".json");
}

std::vector<ChakraTrace> TracesWith(const std::vector<std::string>& keys) {
  std::vector<ChakraTrace> traces;
  for (const std::string& of_rank : keys) {
    traces.push_back(TraceWith(static_cast<int>(traces.size()), of_rank));
  }
  return traces;
}

Collective CollectiveOf(const std::vector<ChakraTrace>& traces,
                        const std::vector<ChakraGroup>& groups) {
  const Workload workload = MakeChakraWorkload(
      traces, {.slice = OnSlice("ideal:4"), .lowerings = {}}, groups);
  REQUIRE(workload.graph.ops.size() == 1);
  return *workload.graph.ops[0].collective;
}

std::string ErrorOfGroups(const std::vector<std::string>& keys,
                          const std::vector<ChakraGroup>& groups) {
  return ErrorOf([&] { CollectiveOf(TracesWith(keys), groups); });
}

ChakraGroup Group(const std::string& name, const Ranks& ranks) {
  return {.name = name, .ranks = ranks, .where = "groups.json: /" + name};
}

std::vector<std::vector<int>> IdsOf(const Collective& collective) {
  std::vector<std::vector<int>> ids;
  for (const auto& group : collective.groups) {
    ids.emplace_back();
    for (const ChipId chip : group) {
      ids.back().push_back(static_cast<int>(chip.value()));
    }
  }
  return ids;
}

const std::string kGather = R"("comm_type": 2)";
const std::string kSum = R"("comm_type": 0)";
std::string In(const std::string& kind, const std::string& group) {
  return kind + R"(, "pg_name": ")" + group + "\"";
}

TEST_CASE("metadata nodes list process groups", "[workload][chakra]") {
  // As PyTorch's converter leaves them: JSON in a list of texts.
  const std::string values =
      R"(['[{"pg_name": "0", "pg_desc": "default_pg", "ranks": []},)"
      R"( {"pg_name": "3", "ranks": [2, 0]}]'])";
  std::string escaped;
  for (const char c : values) escaped += c == '"' ? "\\\"" : std::string(1, c);
  // id 1, type METADATA, inputs {values}, lengths of one byte each.
  const std::string inputs =
      std::string("\x0a") + static_cast<char>(values.size()) + values;
  REQUIRE(inputs.size() < 126);
  const std::string node = std::string("\x08\x01\x18\x01\x42") +
                           static_cast<char>(inputs.size()) + inputs;
  // Two bytes of length: node.size() is 128 or more.
  const std::string wire =
      node.size() < 128
          ? std::string(1, '\0') + static_cast<char>(node.size()) + node
          : std::string(1, '\0') +
                static_cast<char>((node.size() & 0x7f) | 0x80) +
                static_cast<char>(node.size() >> 7) + node;
  for (const std::string& bytes :
       {wire, "{} {\"type\": \"METADATA_NODE\", \"inputs\": {\"values\": \"" +
                  escaped + "\"}}"}) {
    CAPTURE(bytes);
    const ChakraTrace trace = ParseChakra(bytes, "x.et");
    REQUIRE(trace.groups.size() == 2);
    CHECK(trace.groups[0].name == "0");
    CHECK(trace.groups[0].ranks.empty());
    CHECK(trace.groups[1].name == "3");
    CHECK(trace.groups[1].ranks == Ranks{2, 0});
  }
  CHECK(ParseChakraGroups(R"(["[{\"pg_name\": \"1\", \"ranks\": [1]}]"])", "x")
            .at(0)
            .ranks == Ranks{1});
  CHECK(ParseChakraGroups("[1, 2]", "x").empty());
  CHECK(ErrorOf([] { ParseChakraGroups(R"([{"pg_name": "1"}])", "x"); }) ==
        "x: inputs: /0: missing key \"ranks\"");
  CHECK(ErrorOf([] {
          ParseChakraGroups(R"([{"pg_name": "1", "ranks": [-1]}])", "x");
        }) ==
        "x: inputs: /0/ranks/0: expected an integer from 0 to 16777215, got "
        "-1");
}

TEST_CASE("ranks of a process group meet", "[workload][chakra]") {
  const std::vector<ChakraGroup> groups = {Group("1", {0, 3}),
                                           Group("2", {2, 1})};
  const Collective gather =
      CollectiveOf(TracesWith({In(kGather, "1"), In(kGather, "2"),
                               In(kGather, "2"), In(kGather, "1")}),
                   groups);
  CHECK(IdsOf(gather) == std::vector<std::vector<int>>{{0, 3}, {2, 1}});
  CHECK(gather.payload == Bytes(2 * 64));  // two shards

  // Groups that every trace lists itself come before those of the file.
  std::vector<ChakraTrace> traces =
      TracesWith(std::vector<std::string>(4, In(kSum, "1")));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const auto first = static_cast<std::int64_t>(rank - rank % 2);
    traces[rank].groups = {Group("1", {first, first + 1})};
  }
  CHECK(IdsOf(CollectiveOf(traces, groups)) ==
        std::vector<std::vector<int>>{{0, 1}, {2, 3}});

  // All ranks: "", "0", and a list of all.
  for (const char* name : {"", "0", "9"}) {
    const Collective sum =
        CollectiveOf(TracesWith(std::vector<std::string>(4, In(kSum, name))),
                     {Group("9", {0, 1, 2, 3})});
    CHECK(sum.groups.empty());
    CHECK(sum.axes == std::vector<int>{0});
  }
  // Unequal groups where every member has all the bytes.
  CHECK(IdsOf(CollectiveOf(TracesWith({In(kSum, "a"), In(kSum, "b"),
                                       In(kSum, "b"), In(kSum, "b")}),
                           {Group("a", {0}), Group("b", {1, 2, 3})})) ==
        std::vector<std::vector<int>>{{0}, {1, 2, 3}});
}

TEST_CASE("a broadcast in groups has its root at one rank of each",
          "[workload][chakra]") {
  const std::vector<ChakraGroup> groups = {Group("1", {0, 1}),
                                           Group("2", {2, 3})};
  const auto from = [](const std::string& group, const std::string& source) {
    return In(R"("comm_type": 5)", group) + ", \"comm_src\": " + source;
  };
  CHECK(CollectiveOf(TracesWith({from("1", "1"), from("1", "1"), from("2", "3"),
                                 from("2", "3")}),
                     groups)
            .root == ChipId(1));
  CHECK(ErrorOfGroups(
            {from("1", "1"), from("1", "1"), from("2", "2"), from("2", "2")},
            groups) ==
        "a.2.json: /workload_graph/0: expected comm_src 3, rank 1 of its group "
        "as in that of rank 0, got 2");
}

TEST_CASE("process groups that do not fit are refused", "[workload][chakra]") {
  const std::vector<std::string> all(4, In(kSum, "1"));
  struct Bad {
    std::vector<std::string> keys;
    std::vector<ChakraGroup> groups;
    std::string message;
  };
  const std::string node = "json: /workload_graph/0: ";
  for (const Bad& bad : std::vector<Bad>{
           {all,
            {},
            "a.0." + node +
                "process group \"1\" is not known: no METADATA node lists it; "
                "say its ranks in a file: --process-groups FILE"},
           {all,
            {Group("1", {0, 4})},
            "groups.json: /1: rank 4 of process group \"1\" is no rank; there "
            "are 4"},
           {all,
            {Group("1", {0, 0})},
            "groups.json: /1: rank 0 of process group \"1\" stands twice"},
           {all,
            {Group("1", {0, 1})},
            "a.2." + node +
                "process group \"1\" of rank 2 has rank 0, which is in another "
                "group here"},
           {all,
            {Group("1", {1, 2})},
            "a.0." + node +
                "process group \"1\" of rank 0 does not have that rank"},
           {{In(kSum, "1"), In(kSum, "2"), In(kSum, "2"), In(kSum, "2")},
            {Group("1", {0, 1}), Group("2", {2, 3})},
            "a.1." + node +
                "process group \"2\" of rank 1 is not that of rank 0, which "
                "counts it in"},
           {{In(kGather, "1"), In(kGather, "2"), In(kGather, "2"),
             In(kGather, "2")},
            {Group("1", {0}), Group("2", {1, 2, 3})},
            "a.1." + node +
                "has a process group of 3 ranks, that of rank 0 has 1; groups "
                "of all-gather are equally large"},
       }) {
    CAPTURE(bad.message);
    CHECK(ErrorOfGroups(bad.keys, bad.groups) == bad.message);
  }
  std::vector<ChakraTrace> traces =
      TracesWith({In(kSum, "1"), In(kSum, "1"), In(kSum, "2"), In(kSum, "2")});
  for (ChakraTrace& trace : traces) trace.nodes[0].involved_dim = {false, true};
  CHECK(ErrorOf([&] {
          CollectiveOf(traces, {Group("1", {0, 1}), Group("2", {2, 3})});
        }) == "a.0." + node +
                  "names a process group and, in involved_dim, axes; expected "
                  "one of the two");
}

}  // namespace
}  // namespace podsim
