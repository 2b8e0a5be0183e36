#include "topology/generation.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "topology/embedded_generations.h"

namespace podsim {
namespace {

constexpr int kMaxChips = 1 << 24;

std::vector<int> ReadSizes(const JsonValue& json, int axes) {
  if (static_cast<int>(json.size()) != axes) {
    json.Fail("expected " + std::to_string(axes) +
              " sizes, one per axis, got " + json.Excerpt());
  }
  std::vector<int> sizes;
  for (const JsonValue& size : json.Elements()) {
    sizes.push_back(static_cast<int>(size.AsInteger(1, kMaxChips)));
  }
  return sizes;
}

void ReadShapes(const JsonValue& json, Generation& generation) {
  json.RejectUnknownKeys({"rule", "max_chips", "warn_above_chips", "shapes",
                          "wrap_size", "max_shape", "source", "note"});
  const std::string rule = json.Get("rule").AsString();
  if (json.Find("source"))
    generation.shape_source = json.Get("source").AsString();
  if (const auto most = json.Find("max_chips")) {
    generation.max_chips = static_cast<int>(most->AsInteger(1, kMaxChips));
  }
  if (const auto warn = json.Find("warn_above_chips")) {
    generation.warn_above_chips =
        static_cast<int>(warn->AsInteger(1, kMaxChips));
  }
  if (rule == "cubes") {
    generation.rule = ShapeRule::kCubes;
    json.Get("max_chips");
  } else if (rule == "listed") {
    generation.rule = ShapeRule::kListed;
    for (const JsonValue& shape : json.Get("shapes").Elements()) {
      generation.shapes.push_back(ReadSizes(shape, generation.axes));
      std::ranges::sort(generation.shapes.back());  // either order
    }
    generation.wrap_size =
        static_cast<int>(json.Get("wrap_size").AsInteger(1, kMaxChips));
  } else if (rule == "grid") {
    generation.rule = ShapeRule::kGrid;
    generation.max_shape = ReadSizes(json.Get("max_shape"), generation.axes);
  } else if (rule == "any") {
    generation.rule = ShapeRule::kAny;
  } else {
    json.Get("rule").Fail("expected cubes, listed, grid or any, got \"" + rule +
                          "\"");
  }
}

void ReadParameters(const JsonValue& json, Generation& generation) {
  for (const std::string& key : json.Keys()) {
    const JsonValue fact = json.Get(key);
    fact.RejectUnknownKeys({"value", "source", "confidence", "note"});
    const JsonValue value = fact.Get("value");
    SetParameter(generation.parameters, key, value.AsString(), value.where());
    generation.facts.push_back({key, value.AsString(),
                                fact.Get("source").AsString(),
                                fact.Get("confidence").AsString()});
  }
}

}  // namespace

Generation ReadGeneration(const JsonValue& json) {
  json.RejectUnknownKeys({"format", "name", "description", "estimated", "axes",
                          "shapes", "hosts", "parameters"});
  const JsonValue format = json.Get("format");
  if (format.AsString() != "podsim-generation/1") {
    format.Fail("expected \"podsim-generation/1\", got \"" + format.AsString() +
                "\"");
  }
  Generation generation;
  generation.name = json.Get("name").AsString();
  if (const auto text = json.Find("description")) {
    generation.description = text->AsString();
  }
  if (const auto estimated = json.Find("estimated")) {
    generation.estimated = estimated->AsBool();
  }
  generation.axes = static_cast<int>(json.Get("axes").AsInteger(1, 3));
  ReadShapes(json.Get("shapes"), generation);
  if (const auto hosts = json.Find("hosts")) {
    generation.host_shape = ReadSizes(hosts->Get("shape"), generation.axes);
  }
  ReadParameters(json.Get("parameters"), generation);
  if (generation.parameters.ici_bandwidth.value() <= 0) {
    json.Get("parameters").Fail("missing key \"ici.bandwidth\"");
  }
  return generation;
}

const std::vector<Generation>& BuiltInGenerations() {
  static const std::vector<Generation> generations = [] {
    std::vector<Generation> all;
    for (const EmbeddedFile& file : EmbeddedGenerations()) {
      all.push_back(ReadGeneration(JsonValue::ParseText(
          std::string(file.text), std::string(file.name))));
    }
    return all;
  }();
  return generations;
}

Generation FindGeneration(const std::string& name, const std::string& where) {
  if (name.ends_with(".json")) {
    return ReadGeneration(JsonValue::ReadFile(name));
  }
  std::vector<std::string> known;
  for (const EmbeddedFile& file : EmbeddedGenerations()) {
    const std::string_view stem = file.name.substr(file.name.rfind('/') + 1);
    known.emplace_back(stem.substr(0, stem.size() - 5));
    if (known.back() == name) {
      return ReadGeneration(
          JsonValue::ParseText(std::string(file.text), std::string(file.name)));
    }
  }
  throw InputError(where, "unknown generation \"" + name +
                              "\"; did you mean \"" + Nearest(name, known) +
                              "\"? (known: " + Join(known, ", ") + ")");
}

}  // namespace podsim
