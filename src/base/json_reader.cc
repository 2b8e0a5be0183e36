#include "base/json_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "base/text_file.h"

namespace podsim {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kExcerptLength = 60;

// One step of a JSON pointer (RFC 6901), as it stands in a JSON string, so that
// a control character in a key does not reach the terminal.
std::string PointerStep(const std::string& key) {
  std::string step = "/";
  for (const char c : key) {
    step += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  const std::string quoted = ordered_json(step).dump();
  return quoted.substr(1, quoted.size() - 2);
}

// The JSON pointer of `node` inside `tree`. A search, so that values need not
// carry their paths: only an error asks for one.
std::optional<std::string> FindPointer(const ordered_json& tree,
                                       const ordered_json* node) {
  if (&tree == node) return "";
  if (const auto* object = tree.get_ptr<const ordered_json::object_t*>()) {
    for (const auto& [key, child] : *object) {
      if (auto rest = FindPointer(child, node)) return PointerStep(key) + *rest;
    }
  }
  if (const auto* array = tree.get_ptr<const ordered_json::array_t*>()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (auto rest = FindPointer((*array)[i], node)) {
        return PointerStep(std::to_string(i)) + *rest;
      }
    }
  }
  return std::nullopt;
}

std::string Where(const std::string& file, const std::string& pointer) {
  return pointer.empty() ? file : file + ": " + pointer;
}

// Builds the tree from the parser's events and rejects what nlohmann lets pass:
// keys that stand twice (it keeps the last) and nesting that would overflow the
// stack of a recursive reader.
class TreeBuilder : public nlohmann::json_sax<ordered_json> {
 public:
  TreeBuilder(const std::string& text, const std::string& file,
              ordered_json& root)
      : text_(text), file_(file), root_(root) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(std::int64_t value) override { return Add(value); }
  bool number_unsigned(std::uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string&) override {
    return Add(value);
  }
  bool string(std::string& value) override { return Add(std::move(value)); }
  // Not in a text.
  bool binary(ordered_json::binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    return Open(ordered_json::object());
  }
  bool start_array(std::size_t) override { return Open(ordered_json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& name) override {
    if (!open_.back().keys.insert(name).second) {
      FailAt(open_.back().node, PointerStep(name), "the key stands twice");
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      FailAt(Insert(nullptr), "",
             "number out of range: " + Shortened(token, kExcerptLength));
    }
    throw InputError(file_ + ":" + LineAndColumn(position),
                     WithoutPreamble(error.what(), token));
  }

 private:
  struct Container {
    ordered_json* node;
    std::unordered_set<std::string> keys;
  };

  ordered_json* Insert(ordered_json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    ordered_json& parent = *open_.back().node;
    if (auto* array = parent.get_ptr<ordered_json::array_t*>()) {
      return &array->emplace_back(std::move(value));
    }
    // Not operator[], which compares with all the keys before.
    auto& object = parent.get_ref<ordered_json::object_t&>();
    return &object.emplace_back(std::move(key_), std::move(value)).second;
  }

  bool Add(ordered_json value) {
    Insert(std::move(value));
    return true;
  }

  bool Open(ordered_json container) {
    constexpr std::size_t kMaxDepth = 64;
    ordered_json* node = Insert(std::move(container));
    if (open_.size() == kMaxDepth) {
      FailAt(node, "", "nested deeper than 64 levels");
    }
    open_.push_back({node, {}});
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  [[noreturn]] void FailAt(const ordered_json* node, const std::string& step,
                           const std::string& what) const {
    throw InputError(Where(file_, FindPointer(root_, node).value() + step),
                     what);
  }

  // `position` counts the bytes read, the offending one included.
  std::string LineAndColumn(std::size_t position) const {
    const std::size_t bytes_before = position == 0 ? 0 : position - 1;
    const std::string_view text = text_;
    const std::string_view before = text.substr(0, bytes_before);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    const std::size_t column = 1 + before.size() - line_start;
    return std::to_string(line) + ":" + std::to_string(column);
  }

  // Removes "[json.exception...] parse error at line 1, column 2: ", which our
  // line and column replace, and the text last read, which may be long and need
  // not be UTF-8.
  static std::string WithoutPreamble(std::string what,
                                     const std::string& token) {
    what.erase(0, what.find(": ") + 2);
    const std::string last_read = "; last read: '" + token + "'";
    const std::size_t at = what.find(last_read);
    if (at != std::string::npos) what.erase(at, last_read.size());
    return what;
  }

  const std::string& text_;
  const std::string& file_;
  ordered_json& root_;
  std::vector<Container> open_;
  std::string key_;
};

void CheckEncoding(const std::string& text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw InputError(file, "empty file");
  }
  // nlohmann takes a zero byte for the end of the input.
  if (text.find('\0') != std::string::npos) {
    throw InputError(file, "contains a zero byte, expected UTF-8 text");
  }
}

std::string IntegerRange(std::int64_t min, std::int64_t max) {
  std::string text = "expected an integer";
  if (max < std::numeric_limits<std::int64_t>::max()) {
    return text + " from " + std::to_string(min) + " to " + std::to_string(max);
  }
  if (min == std::numeric_limits<std::int64_t>::min()) return text;
  return text + " of at least " + std::to_string(min);
}

std::optional<std::int64_t> IntegerOf(const ordered_json& node) {
  if (node.is_number_unsigned() &&
      node.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  if (!node.is_number_integer()) return std::nullopt;
  return node.get<std::int64_t>();
}

// "; write 3" for 3.0, which is a number all right, but not written as an
// integer.
std::string IntegerHint(const ordered_json& node, std::int64_t min,
                        std::int64_t max) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (!node.is_number_float()) return "";
  const double value = node.get<double>();
  if (value != std::floor(value) || std::abs(value) > kExact) return "";
  const auto integer = static_cast<std::int64_t>(value);
  if (integer < min || integer > max) return "";
  return "; write " + std::to_string(integer);
}

std::string UnknownKeyMessage(const std::string& key,
                              std::span<const std::string> known) {
  const auto similar = Similar(key, known);
  const std::string hint =
      similar ? "; did you mean \"" + *similar + "\"?" : "";
  const std::string list = known.empty() ? "none" : Join(known, ", ");
  return "unknown key" + hint + " (known: " + list + ")";
}

// Parses the text of `value`. where() is a search, so it is left to the bad
// case.
template <class Quantity>
Quantity ParseAt(const JsonValue& value,
                 Quantity (*parse)(std::string_view, const std::string&),
                 const std::string& text) {
  try {
    return parse(text, "");
  } catch (const InputError& error) {
    value.Fail(error.what());
  }
}

}  // namespace

struct JsonValue::Document {
  explicit Document(std::string name) : file(std::move(name)) {}
  std::string file;
  ordered_json root;
};

JsonValue JsonValue::ReadFile(const std::string& path) {
  return ParseText(ReadTextFile(path), path);
}

JsonValue JsonValue::ParseText(const std::string& text,
                               const std::string& file) {
  CheckEncoding(text, file);
  auto document = std::make_shared<Document>(file);
  TreeBuilder builder(text, file, document->root);
  ordered_json::sax_parse(text, &builder);
  const ordered_json* root = &document->root;
  return JsonValue(std::move(document), root);
}

const std::string& JsonValue::file() const { return document_->file; }

std::string JsonValue::where() const {
  return Where(file(), FindPointer(document_->root, node_).value());
}

void JsonValue::Fail(const std::string& what) const {
  throw InputError(where(), what);
}

bool JsonValue::is_object() const { return node_->is_object(); }
bool JsonValue::is_array() const { return node_->is_array(); }
bool JsonValue::is_string() const { return node_->is_string(); }
bool JsonValue::is_number() const { return node_->is_number(); }
bool JsonValue::is_null() const { return node_->is_null(); }

JsonValue JsonValue::Get(const std::string& key) const {
  std::optional<JsonValue> value = Find(key);
  if (!value) Fail("missing key \"" + key + "\"");
  return *std::move(value);
}

std::optional<JsonValue> JsonValue::Find(const std::string& key) const {
  const ordered_json& object = Require(is_object(), "an object");
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  return JsonValue(document_, &*found);
}

std::vector<std::string> JsonValue::Keys() const {
  std::vector<std::string> keys;
  const ordered_json& object = Require(is_object(), "an object");
  for (const auto& [key, value] :
       object.get_ref<const ordered_json::object_t&>()) {
    keys.push_back(key);
  }
  return keys;
}

void JsonValue::RejectUnknownKeys(
    std::initializer_list<const char*> known) const {
  RejectUnknownKeys(std::vector<std::string>(known.begin(), known.end()));
}

void JsonValue::RejectUnknownKeys(std::span<const std::string> known) const {
  const ordered_json& object = Require(is_object(), "an object");
  for (const auto& [key, value] :
       object.get_ref<const ordered_json::object_t&>()) {
    if (std::ranges::find(known, key) == known.end()) {
      JsonValue(document_, &value).Fail(UnknownKeyMessage(key, known));
    }
  }
}

std::vector<JsonValue> JsonValue::Elements() const {
  std::vector<JsonValue> elements;
  elements.reserve(Require(is_array(), "an array").size());
  for (const ordered_json& element : *node_) {
    elements.push_back(JsonValue(document_, &element));
  }
  return elements;
}

std::size_t JsonValue::size() const {
  return Require(is_array() || is_object(), "an array or an object").size();
}

const std::string& JsonValue::AsString() const {
  return Require(is_string(), "a string").get_ref<const std::string&>();
}

bool JsonValue::AsBool() const {
  return Require(node_->is_boolean(), "true or false").get<bool>();
}

std::int64_t JsonValue::AsInteger(std::int64_t min, std::int64_t max) const {
  const std::optional<std::int64_t> value = IntegerOf(*node_);
  if (!value || *value < min || *value > max) {
    Fail(IntegerRange(min, max) + ", got " + Excerpt() +
         IntegerHint(*node_, min, max));
  }
  return *value;
}

double JsonValue::AsNumber() const {
  return Require(is_number(), "a number").get<double>();
}

Bytes JsonValue::AsBytes() const {
  return ParseAt(*this, ParseBytes, QuantityText("64MiB"));
}

Seconds JsonValue::AsDuration() const {
  return ParseAt(*this, ParseDuration, QuantityText("1us"));
}

BytesPerSecond JsonValue::AsBandwidth() const {
  return ParseAt(*this, ParseBandwidth, QuantityText("90GB/s"));
}

Flops JsonValue::AsFlops() const {
  return ParseAt(*this, ParseFlops, QuantityText("8TFLOP"));
}

FlopsPerSecond JsonValue::AsFlopRate() const {
  return ParseAt(*this, ParseFlopRate, QuantityText("459TFLOP/s"));
}

std::string JsonValue::Text() const { return node_->dump(); }

std::string JsonValue::Excerpt() const {
  return Shortened(Text(), kExcerptLength);
}

const ordered_json& JsonValue::Require(bool holds, const char* type) const {
  if (!holds) Fail(std::string("expected ") + type + ", got " + Excerpt());
  return *node_;
}

const std::string& JsonValue::QuantityText(const char* example) const {
  const std::string type =
      std::string("a string with a unit such as \"") + example + '"';
  return Require(is_string(), type.c_str()).get_ref<const std::string&>();
}

}  // namespace podsim
