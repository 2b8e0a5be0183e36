// Chakra traces as JSON: that which its feeder reads, and protobuf's own, which
// chakra_jsonizer writes.
#include <charconv>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "workload/chakra.h"
#include "workload/chakra_attribute.h"

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

ChakraNode ReadFeederNode(const JsonValue& json) {
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
  if (const auto group = json.Find("pg_name")) node.pg_name = group->AsString();
  return node;
}

// --- Protobuf's JSON: keys in lowerCamelCase or as in the schema, integers of
// 64 bits as texts, values of 0 left out.

std::optional<JsonValue> FindField(const JsonValue& json, const char* camel,
                                   const char* snake) {
  auto value = json.Find(camel);
  return value ? value : json.Find(snake);
}

template <class Integer>
Integer ReadInteger(const JsonValue& json) {
  Integer value = 0;
  const std::string text = json.is_string() ? json.AsString() : json.Text();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end) return value;
  json.Fail("expected an integer of 64 bits, got " + json.Excerpt());
}

std::uint64_t ReadUnsigned(const std::optional<JsonValue>& json) {
  return json ? ReadInteger<std::uint64_t>(*json) : 0;
}

std::vector<std::uint64_t> ReadDeps(const std::optional<JsonValue>& json) {
  std::vector<std::uint64_t> ids;
  if (!json) return ids;
  for (const JsonValue& id : json->Elements()) {
    ids.push_back(ReadInteger<std::uint64_t>(id));
  }
  return ids;
}

ChakraNodeType ReadType(const JsonValue& json) {
  if (json.is_number()) {
    return static_cast<ChakraNodeType>(json.AsInteger(1, 7));
  }
  std::vector<std::string> names;
  for (int type = 1; type <= 7; ++type) {
    names.push_back(ToText(static_cast<ChakraNodeType>(type)) +
                    std::string("_NODE"));
    if (json.AsString() == names.back()) {
      return static_cast<ChakraNodeType>(type);
    }
  }
  json.Fail("unknown node type " + json.Excerpt() + "; expected " +
            Join(names, ", "));
}

// "int64Val": the oneof of AttributeProto.
ChakraAttribute ReadAttribute(const JsonValue& json) {
  ChakraAttribute attribute;
  if (const auto name = json.Find("name")) attribute.name = name->AsString();
  for (const std::string& key : json.Keys()) {
    const JsonValue value = json.Get(key);
    if (key == "doubleVal" || key == "double_val" || key == "floatVal" ||
        key == "float_val") {
      // Protobuf writes "NaN" and "Infinity" as texts.
      if (value.is_number()) attribute.real = value.AsNumber();
    } else if (key == "boolVal" || key == "bool_val") {
      attribute.number = value.AsBool() ? 1 : 0;
    } else if (key == "stringVal" || key == "string_val") {
      attribute.text = value.AsString();
    } else if (key == "boolList" || key == "bool_list") {
      const auto values = value.Find("values");
      if (!values) continue;
      for (const JsonValue& entry : values->Elements()) {
        attribute.bools.push_back(entry.AsBool());
      }
    } else if (key == "uint64Val" || key == "uint64_val" ||
               key == "fixed64Val" || key == "fixed64_val") {
      attribute.number =
          static_cast<std::int64_t>(ReadInteger<std::uint64_t>(value));
    } else if (key.find("int") != std::string::npos ||
               key.find("fixed") != std::string::npos) {
      if (key.ends_with("Val") || key.ends_with("_val")) {
        attribute.number = ReadInteger<std::int64_t>(value);
      }
    }
  }
  return attribute;
}

ChakraNode ReadProtobufNode(const JsonValue& json) {
  json.RejectUnknownKeys({"id", "name", "type", "ctrlDeps", "ctrl_deps",
                          "dataDeps", "data_deps", "startTimeMicros",
                          "start_time_micros", "durationMicros",
                          "duration_micros", "inputs", "outputs", "attr"});
  ChakraNode node;
  node.where = json.where();
  node.id = ReadUnsigned(json.Find("id"));
  if (const auto name = json.Find("name")) node.name = name->AsString();
  const auto type = json.Find("type");
  if (!type) json.Fail("the node has no type");
  node.type = ReadType(*type);
  node.ctrl_deps = ReadDeps(FindField(json, "ctrlDeps", "ctrl_deps"));
  node.data_deps = ReadDeps(FindField(json, "dataDeps", "data_deps"));
  node.duration_us =
      ReadUnsigned(FindField(json, "durationMicros", "duration_micros"));
  if (node.type == ChakraNodeType::kMetadata) {
    const auto inputs = json.Find("inputs");
    const auto values = inputs ? inputs->Find("values") : std::nullopt;
    if (values) node.inputs = values->AsString();
  }
  const auto attributes = json.Find("attr");
  if (!attributes) return node;
  for (const JsonValue& attribute : attributes->Elements()) {
    ApplyAttribute(
        ReadAttribute(attribute), [&] { return attribute.where(); }, node);
  }
  return node;
}

// The objects of a text that holds one after another; what is not closed, or
// is no object, is the last.
std::vector<std::string_view> SplitObjects(std::string_view text,
                                           std::size_t most) {
  std::vector<std::string_view> objects;
  std::size_t begin = 0, depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size() && objects.size() < most; ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && depth > 0 && --depth == 0) {
      objects.push_back(text.substr(begin, at + 1 - begin));
      begin = at + 1;
    }
  }
  const bool blank =
      text.find_first_not_of(" \t\r\n", begin) == std::string_view::npos;
  if (!blank && objects.size() < most) objects.push_back(text.substr(begin));
  return objects;
}

bool IsObject(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

bool IsMetadata(const JsonValue& json) {
  for (const std::string& key : json.Keys()) {
    if (key != "version" && key != "attr") return false;
  }
  return true;
}

bool IsPytorch(const JsonValue& json) {
  return json.Find("nodes") && json.Find("schema");
}

ChakraTrace ReadFeeder(const JsonValue& json, const std::string& file) {
  ChakraTrace trace{.file = file, .version = {}, .nodes = {}};
  for (const JsonValue& node : json.Get("workload_graph").Elements()) {
    trace.nodes.push_back(ReadFeederNode(node));
  }
  return trace;
}

}  // namespace

bool IsChakraJson(const std::string& text) {
  const auto objects = SplitObjects(text, 2);
  if (objects.empty()) return false;
  try {
    const JsonValue first = JsonValue::ParseText(std::string(objects[0]), "");
    if (!first.is_object() || first.Find("format")) return false;
    return first.Find("workload_graph") || IsPytorch(first) ||
           (objects.size() > 1 && IsObject(objects[1]) && IsMetadata(first));
  } catch (const InputError&) {
    return false;
  }
}

ChakraTrace ParseChakraJson(const std::string& text, const std::string& file) {
  const auto objects = SplitObjects(text, text.size());
  const JsonValue first = JsonValue::ParseText(
      objects.size() > 1 ? std::string(objects[0]) : text, file);
  if (IsPytorch(first)) {
    first.Fail(
        "is a PyTorch execution trace, which has to be converted: "
        "chakra_converter PyTorch");
  }
  if (objects.size() == 1 || !IsMetadata(first)) {
    if (objects.size() > 1) JsonValue::ParseText(text, file);  // says where
    return ReadFeeder(first, file);
  }
  ChakraTrace trace{.file = file, .version = {}, .nodes = {}};
  if (const auto version = first.Find("version")) {
    trace.version = version->AsString();
  }
  const auto attributes = first.Find("attr");
  if (trace.version.empty() && attributes) {
    for (const JsonValue& json : attributes->Elements()) {
      const ChakraAttribute attribute = ReadAttribute(json);
      if (attribute.name == "schema") trace.version = attribute.text;
    }
  }
  for (std::size_t k = 1; k < objects.size(); ++k) {
    trace.nodes.push_back(ReadProtobufNode(JsonValue::ParseText(
        std::string(objects[k]), file + ": object " + std::to_string(k + 1))));
  }
  return trace;
}

}  // namespace podsim
