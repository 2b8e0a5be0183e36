// The JSON that Chakra's feeder reads.
#include "base/json_reader.h"
#include "workload/chakra.h"

namespace podsim {
namespace {

std::vector<std::uint64_t> ReadIds(const JsonValue& node, const char* key) {
  std::vector<std::uint64_t> ids;
  if (const auto list = node.Find(key)) {
    for (const JsonValue& id : list->Elements()) {
      ids.push_back(static_cast<std::uint64_t>(id.AsInteger(0, INT64_MAX)));
    }
  }
  return ids;
}

std::optional<std::int64_t> ReadNumber(const JsonValue& node, const char* key,
                                       std::int64_t min = 0) {
  const auto value = node.Find(key);
  if (!value) return std::nullopt;
  return value->AsInteger(min, INT64_MAX);
}

ChakraNode ReadNode(const JsonValue& json) {
  ChakraNode node;
  node.where = json.where();
  node.id = static_cast<std::uint64_t>(json.Get("Id").AsInteger(0, INT64_MAX));
  if (const auto name = json.Find("Name")) node.name = name->AsString();
  node.type = static_cast<ChakraNodeType>(json.Get("NodeType").AsInteger(1, 7));
  node.ctrl_deps = ReadIds(json, "ctrlDeps");
  node.data_deps = ReadIds(json, "data_deps");
  node.duration_us =
      static_cast<std::uint64_t>(ReadNumber(json, "runtime").value_or(0));
  if (const auto cpu = json.Find("is_cpu_op")) node.is_cpu_op = cpu->AsBool();
  node.num_ops = ReadNumber(json, "num_ops");
  node.tensor_size = ReadNumber(json, "tensor_size");
  node.comm_type = ReadNumber(json, "comm_type");
  node.comm_size = ReadNumber(json, "comm_size");
  node.comm_src = ReadNumber(json, "comm_src");
  node.comm_dst = ReadNumber(json, "comm_dst");
  node.comm_tag = ReadNumber(json, "comm_tag", INT64_MIN).value_or(0);
  return node;
}

}  // namespace

ChakraTrace ParseChakraJson(const std::string& text, const std::string& file) {
  const JsonValue json = JsonValue::ParseText(text, file);
  if (json.Find("nodes") && json.Find("schema")) {
    json.Fail(
        "is a PyTorch execution trace, which has to be converted: "
        "chakra_converter PyTorch");
  }
  ChakraTrace trace{.file = file, .version = {}, .nodes = {}};
  for (const JsonValue& node : json.Get("workload_graph").Elements()) {
    trace.nodes.push_back(ReadNode(node));
  }
  return trace;
}

}  // namespace podsim
