#ifndef PODSIM_BASE_JSON_READER_H_
#define PODSIM_BASE_JSON_READER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace podsim {

// A value inside a JSON document that knows its file and its JSON pointer, so
// that every error reads "file: /pointer: what". All readers throw InputError.
// Copies are cheap and keep the document alive.
class JsonValue {
 public:
  // Reads a file ("-" is not special). Syntax errors carry line and column;
  // a key that stands twice in one object, nesting deeper than 64 levels and
  // numbers outside double range are errors.
  static JsonValue ReadFile(const std::string& path);
  static JsonValue ParseText(const std::string& text, const std::string& file);

  const std::string& file() const;
  // "file: /pointer" of this value.
  std::string where() const;
  // Throws InputError at this value.
  [[noreturn]] void Fail(const std::string& what) const;

  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_null() const;

  // Objects. Get throws when the key is missing; Find does not.
  JsonValue Get(const std::string& key) const;
  std::optional<JsonValue> Find(const std::string& key) const;
  std::vector<std::string> Keys() const;
  // Throws at the first key that is not in `known`, naming the nearest one.
  void RejectUnknownKeys(std::initializer_list<const char*> known) const;
  void RejectUnknownKeys(std::span<const std::string> known) const;

  // Arrays.
  std::vector<JsonValue> Elements() const;
  std::size_t size() const;  // of an array or object

  // Scalars; the type is checked.
  const std::string& AsString() const;
  bool AsBool() const;
  std::int64_t AsInteger(std::int64_t min, std::int64_t max) const;
  double AsNumber() const;  // finite

  // Strings with units ("64MiB"); a bare number is an error that says so.
  Bytes AsBytes() const;
  Seconds AsDuration() const;
  BytesPerSecond AsBandwidth() const;
  Flops AsFlops() const;
  FlopsPerSecond AsFlopRate() const;

  // The value as compact JSON text.
  std::string Text() const;
  // The same, shortened to 60 characters.
  std::string Excerpt() const;

 private:
  struct Document;
  JsonValue(std::shared_ptr<const Document> document,
            const nlohmann::ordered_json* node)
      : document_(std::move(document)), node_(node) {}
  const nlohmann::ordered_json& Require(bool holds, const char* type) const;
  const std::string& QuantityText(const char* example) const;

  std::shared_ptr<const Document> document_;
  const nlohmann::ordered_json* node_;
};

}  // namespace podsim

#endif  // PODSIM_BASE_JSON_READER_H_
