// Reader of Chakra execution traces: protobuf's wire format, as far as the
// schema of Chakra needs it.
#include <bit>
#include <charconv>
#include <filesystem>
#include <limits>
#include <unordered_set>

#include "base/error.h"
#include "base/text_file.h"
#include "workload/chakra.h"
#include "workload/chakra_attribute.h"
#include "workload/gunzip.h"

namespace podsim {
namespace {

// A field of a message: varints and fixed numbers in `number`, else `bytes`.
struct WireField {
  std::uint32_t number = 0;
  int wire = 0;
  std::uint64_t value = 0;
  std::string_view bytes = {};
};

// Reads values from [at, end) of a file.
class Wire {
 public:
  Wire(std::string_view data, std::size_t begin, std::size_t end,
       const std::string& file)
      : data_(data), at_(begin), end_(end), file_(file) {}

  bool done() const { return at_ >= end_; }
  std::size_t at() const { return at_; }

  [[noreturn]] void Fail(std::size_t at, const std::string& what) const {
    throw InputError(file_, "byte " + std::to_string(at) + ": " + what);
  }

  std::uint64_t Varint() {
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (done()) Fail(begin, "the number is cut off");
      const auto byte = static_cast<unsigned char>(data_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    Fail(begin, "expected a varint of at most 10 bytes");
  }

  std::uint64_t Fixed(std::size_t size) {
    const std::string_view bytes = Take(size);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i]))
               << (8 * i);
    }
    return value;
  }

  std::string_view Take(std::uint64_t size) {
    if (size > end_ - at_) {
      Fail(at_, "expected " + std::to_string(size) + " more bytes, found " +
                    std::to_string(end_ - at_));
    }
    const std::string_view bytes = data_.substr(at_, size);
    at_ += size;
    return bytes;
  }

  // The message of `size` bytes that begins here.
  Wire Message(std::uint64_t size) {
    const std::size_t begin = at_;
    Take(size);
    return {data_, begin, at_, file_};
  }
  Wire Inside(std::string_view bytes) const {
    const auto begin = static_cast<std::size_t>(bytes.data() - data_.data());
    return {data_, begin, begin + bytes.size(), file_};
  }

  WireField Next() {
    const std::size_t begin = at_;
    const std::uint64_t key = Varint();
    WireField field;
    field.wire = static_cast<int>(key & 7);
    if (key >> 3 == 0 || key >> 3 > (1u << 29) - 1) {
      Fail(begin, "expected a field of a message, got number " +
                      std::to_string(key >> 3));
    }
    field.number = static_cast<std::uint32_t>(key >> 3);
    switch (field.wire) {
      case 0:
        field.value = Varint();
        break;
      case 1:
        field.value = Fixed(8);
        break;
      case 2:
        field.bytes = Take(Varint());
        break;
      case 5:
        field.value = Fixed(4);
        break;
      default:
        Fail(begin, "expected a wire type 0, 1, 2 or 5, got " +
                        std::to_string(field.wire));
    }
    return field;
  }

 private:
  std::string_view data_;
  std::size_t at_;
  std::size_t end_;
  const std::string& file_;
};

// Packed or one by one.
void AppendIds(const Wire& in, const WireField& field,
               std::vector<std::uint64_t>& ids) {
  if (field.wire != 2) {
    ids.push_back(field.value);
    return;
  }
  for (Wire list = in.Inside(field.bytes); !list.done();) {
    ids.push_back(list.Varint());
  }
}

std::int64_t ZigZag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^
         -static_cast<std::int64_t>(value & 1);
}

// The oneof of AttributeProto: each type, then the list of it.
void SetValue(const Wire& in, const WireField& field,
              ChakraAttribute& attribute) {
  switch (field.number) {
    case 3:
      attribute.real = std::bit_cast<double>(field.value);
      break;
    case 5:
      attribute.real =
          std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
      break;
    case 15:
    case 17:
      attribute.number = ZigZag(field.value);
      break;
    case 23:
      attribute.number =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(field.value));
      break;
    case 7:
    case 9:
    case 11:
    case 13:
    case 19:
    case 21:
    case 25:
    case 27:
      attribute.number = static_cast<std::int64_t>(field.value);
      break;
    case 28: {
      std::vector<std::uint64_t> values;
      for (Wire list = in.Inside(field.bytes); !list.done();) {
        AppendIds(list, list.Next(), values);
      }
      for (const std::uint64_t value : values) {
        attribute.bools.push_back(value != 0);
      }
      break;
    }
    case 29:
      attribute.text = field.bytes;
      break;
    default:
      break;  // what no attribute that we know has
  }
}

ChakraAttribute ReadAttribute(Wire in) {
  ChakraAttribute attribute;
  while (!in.done()) {
    const WireField field = in.Next();
    if (field.number == 1) {
      attribute.name = field.bytes;
    } else {
      SetValue(in, field, attribute);
    }
  }
  return attribute;
}

constexpr std::size_t kMostUnpacked = std::size_t{1} << 32;  // of a gzip file

ChakraNode ReadNode(Wire in, const std::string& file) {
  ChakraNode node;
  const std::size_t begin = in.at();
  node.where = file + ": byte " + std::to_string(begin);
  std::string_view values;
  while (!in.done()) {
    const WireField field = in.Next();
    switch (field.number) {
      case 1:
        node.id = field.value;
        break;
      case 2:
        node.name = field.bytes;
        break;
      case 3:
        if (field.value == 0 || field.value > 7) {
          in.Fail(begin, "expected a node type from 1 to 7, got " +
                             std::to_string(field.value));
        }
        node.type = static_cast<ChakraNodeType>(field.value);
        break;
      case 4:
        AppendIds(in, field, node.ctrl_deps);
        break;
      case 5:
        AppendIds(in, field, node.data_deps);
        break;
      case 7:
        node.duration_us = field.value;
        break;
      case 8:  // IOInfo: values, shapes, types
        for (Wire inputs = in.Inside(field.bytes); !inputs.done();) {
          const WireField part = inputs.Next();
          if (part.number == 1) values = part.bytes;
        }
        break;
      case 10:
        if (field.wire == 2) {
          ApplyAttribute(
              ReadAttribute(in.Inside(field.bytes)),
              [&] { return file + ": byte " + std::to_string(in.at()); }, node);
        }
        break;
      default:
        break;  // start time, outputs
    }
  }
  if (node.type == ChakraNodeType::kInvalid) {
    in.Fail(begin, "the node has no type");
  }
  if (node.type == ChakraNodeType::kMetadata) node.inputs = values;
  return node;
}

ChakraTrace ParseProtobuf(std::string_view bytes, const std::string& file) {
  ChakraTrace trace{.file = file, .version = {}, .nodes = {}};
  Wire in(bytes, 0, bytes.size(), file);
  if (in.done()) in.Fail(0, "is empty, expected a Chakra trace");
  std::string schema;
  for (Wire metadata = in.Message(in.Varint()); !metadata.done();) {
    const WireField field = metadata.Next();
    if (field.number == 1) trace.version = field.bytes;
    if (field.number != 2 || field.wire != 2) continue;
    const ChakraAttribute attribute = ReadAttribute(in.Inside(field.bytes));
    if (attribute.name == "schema") schema = attribute.text;
  }
  if (trace.version.empty()) trace.version = schema;
  while (!in.done()) {
    trace.nodes.push_back(ReadNode(in.Message(in.Varint()), file));
  }
  return trace;
}

void CheckIds(const ChakraTrace& trace) {
  std::unordered_set<std::uint64_t> ids;
  for (const ChakraNode& node : trace.nodes) {
    if (ids.insert(node.id).second) continue;
    throw InputError(node.where,
                     "the id " + std::to_string(node.id) + " stands twice");
  }
}

// "a.12.et" -> "a."; empty if it is not of that form.
std::string PrefixOf(const std::string& path, const std::string& suffix) {
  if (!path.ends_with(suffix)) return "";
  const std::string stem = path.substr(0, path.size() - suffix.size());
  const auto digits = stem.find_last_not_of("0123456789");
  if (digits == std::string::npos || digits + 1 == stem.size() ||
      stem[digits] != '.') {
    return "";
  }
  return stem.substr(0, digits + 1);
}

constexpr char kProtobufSuffix[] = ".et";
constexpr char kJsonSuffix[] = ".json";

}  // namespace

const char* ToText(ChakraNodeType type) {
  constexpr const char* kNames[] = {"INVALID",   "METADATA", "MEM_LOAD",
                                    "MEM_STORE", "COMP",     "COMM_SEND",
                                    "COMM_RECV", "COMM_COLL"};
  return kNames[static_cast<int>(type)];
}

const char* ChakraCommName(std::int64_t comm_type) {
  constexpr const char* kNames[] = {
      "ALL_REDUCE", "REDUCE",         "ALL_GATHER",
      "GATHER",     "SCATTER",        "BROADCAST",
      "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK",
      "BARRIER"};
  return comm_type >= 0 && comm_type < 10 ? kNames[comm_type] : nullptr;
}

ChakraTrace ParseChakra(std::string_view bytes, const std::string& file) {
  if (IsGzip(bytes)) {
    const std::string text = Gunzip(bytes, kMostUnpacked, file);
    if (IsGzip(text)) {
      throw InputError(file, "is compressed twice; unpack it once: gunzip");
    }
    return ParseChakra(text, file);
  }
  const auto first = bytes.find_first_not_of(" \t\r\n");
  // A metadata message of 123 bytes ('{') goes on with a tag, never with text.
  const bool json = first != std::string_view::npos && bytes[first] == '{' &&
                    bytes.find_first_of("\"}", first + 1) ==
                        bytes.find_first_not_of(" \t\r\n", first + 1);
  ChakraTrace trace = json ? ParseChakraJson(std::string(bytes), file)
                           : ParseProtobuf(bytes, file);
  CheckIds(trace);
  for (const ChakraNode& node : trace.nodes) {
    for (ChakraGroup& group : ParseChakraGroups(node.inputs, node.where)) {
      trace.groups.push_back(std::move(group));
    }
  }
  return trace;
}

bool IsChakraName(const std::string& path) {
  return path.ends_with(kProtobufSuffix);
}

bool IsChakraFile(const std::string& path) {
  if (!path.ends_with(kJsonSuffix)) return IsChakraName(path);
  const std::string text = ReadTextFile(path);
  return IsGzip(text) || IsChakraJson(text);
}

std::vector<ChakraTrace> ReadChakra(const std::string& path) {
  const std::string suffix =
      path.ends_with(kJsonSuffix) ? kJsonSuffix : kProtobufSuffix;
  const std::string prefix = PrefixOf(path, suffix);
  if (prefix.empty()) {
    throw InputError(path,
                     "expected the name of the first rank: PREFIX.0" + suffix);
  }
  std::vector<ChakraTrace> traces;
  std::string file = prefix + "0" + suffix;
  std::error_code ignored;
  do {
    traces.push_back(ParseChakra(ReadTextFile(file), file));
    file = prefix + std::to_string(traces.size()) + suffix;
  } while (std::filesystem::exists(file, ignored));
  return traces;
}

}  // namespace podsim
