// Reader of podsim-topology/1 files.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/json_reader.h"
#include "topology/fault.h"
#include "topology/slice.h"

namespace podsim {
namespace {

std::vector<SliceRequest::Override> ReadOverrides(const JsonValue& json) {
  std::vector<SliceRequest::Override> overrides;
  if (const auto parameters = json.Find("parameters")) {
    for (const std::string& key : parameters->Keys()) {
      const JsonValue value = parameters->Get(key);
      overrides.push_back({key, value.AsString(), value.where()});
    }
  }
  return overrides;
}

Slice ReadGrid(const JsonValue& json, const SliceRequest& request) {
  GridRequest grid;
  const JsonValue generation = json.Get("generation");
  grid.generation = generation.AsString();
  grid.generation_where = generation.where();
  const JsonValue shape = json.Get("shape");
  grid.shape_where = shape.where();
  for (const JsonValue& size : shape.Elements()) {
    grid.shape.push_back(static_cast<int>(size.AsInteger(1, 1 << 30)));
    grid.axis_where.push_back(size.where());
  }
  if (grid.shape.empty()) shape.Fail("expected at least one axis");
  if (const auto twisted = json.Find("twisted")) {
    grid.twisted = twisted->AsBool();
    grid.twisted_where = twisted->where();
  }
  if (const auto slices = json.Find("slices")) {
    grid.slices = static_cast<int>(slices->AsInteger(1, kMaxChips));
    grid.slices_where = slices->where();
  }
  if (const auto wrap = json.Find("wrap")) {
    if (wrap->size() != grid.shape.size()) {
      wrap->Fail("expected " + std::to_string(grid.shape.size()) +
                 " entries, one per axis of the shape, got " +
                 std::to_string(wrap->size()));
    }
    for (const JsonValue& entry : wrap->Elements()) {
      grid.wrap.push_back(entry.AsBool());
    }
  }
  return MakeGridSlice(grid, request, ReadOverrides(json));
}

ChipId ReadEnd(const JsonValue& json, int chips) {
  return ChipId(static_cast<std::uint32_t>(json.AsInteger(0, chips - 1)));
}

Cable ReadCable(const JsonValue& json, int chips, const Parameters& parameters,
                bool ideal) {
  const std::vector<JsonValue> entry = json.Elements();
  if (entry.size() < 2 || entry.size() > 3) {
    json.Fail(
        "expected [chip, chip] or [chip, chip, {\"bandwidth\", "
        "\"latency\"}], got " +
        json.Excerpt());
  }
  Cable cable{.a = ReadEnd(entry[0], chips),
              .b = ReadEnd(entry[1], chips),
              .bandwidth = parameters.ici_bandwidth,
              .latency = parameters.ici_hop_latency};
  if (cable.a == cable.b) {
    json.Fail("a cable must join two different chips, got " + json.Excerpt());
  }
  if (entry.size() == 3) {
    entry[2].RejectUnknownKeys({"bandwidth", "latency"});
    if (const auto rate = entry[2].Find("bandwidth")) {
      cable.bandwidth = rate->AsBandwidth();
    }
    if (const auto latency = entry[2].Find("latency"); latency) {
      const Seconds own = latency->AsDuration();
      if (!ideal) cable.latency = own;
    }
  }
  return cable;
}

Slice ReadExplicit(const JsonValue& json, const SliceRequest& request) {
  for (const char* key : {"shape", "wrap", "twisted", "slices"}) {
    if (const auto extra = json.Find(key)) {
      extra->Fail("a topology with \"links\" has no \"" + std::string(key) +
                  "\"; remove one of them");
    }
  }
  const JsonValue name = json.Get("generation");
  const Generation generation = FindGeneration(name.AsString(), name.where());
  Parameters parameters = generation.parameters;
  ApplyOverrides(parameters, request, ReadOverrides(json));
  const int chips = static_cast<int>(json.Get("chips").AsInteger(1, kMaxChips));
  std::vector<Cable> cables;
  std::set<std::pair<ChipId, ChipId>> seen;
  int own_speed = 0;
  for (const JsonValue& entry : json.Get("links").Elements()) {
    cables.push_back(ReadCable(entry, chips, parameters, request.ideal));
    own_speed += entry.size() == 3 ? 1 : 0;
    const auto [low, high] = std::minmax(cables.back().a, cables.back().b);
    if (!seen.insert({low, high}).second) {
      entry.Fail("the cable " + std::to_string(low.value()) + "-" +
                 std::to_string(high.value()) +
                 " stands twice; give one cable the sum of the bandwidths");
    }
  }
  std::vector<std::string> warnings = GenerationWarnings(generation);
  for (const std::string& set : request.sets) {
    if (own_speed == 0 || (!set.starts_with("ici.bandwidth=") &&
                           !set.starts_with("ici.hop_latency="))) {
      continue;
    }
    warnings.push_back("--set " + set + " does not change the " +
                       std::to_string(own_speed) +
                       " cables of the file that state their own speed");
  }
  return Slice{.spec = request.spec,
               .generation = generation.name,
               .shape = {},
               .topology = Topology::MakeExplicit(chips, std::move(cables)),
               .parameters = parameters,
               .warnings = std::move(warnings)};
}

}  // namespace

Slice ReadTopologyFile(const SliceRequest& request) {
  const JsonValue json = JsonValue::ReadFile(request.spec);
  const JsonValue format = json.Get("format");
  if (format.AsString() != "podsim-topology/1") {
    format.Fail("expected \"podsim-topology/1\", got \"" + format.AsString() +
                "\"");
  }
  json.RejectUnknownKeys({"format", "name", "generation", "shape", "wrap",
                          "twisted", "slices", "chips", "links", "parameters",
                          "faults", "source"});
  Slice slice = json.Find("links") || json.Find("chips")
                    ? ReadExplicit(json, request)
                    : ReadGrid(json, request);
  slice.spec = request.spec;
  if (const auto faults = json.Find("faults")) {
    for (const JsonValue& fault : faults->Elements()) {
      ApplyFault(fault.AsString(), fault.where(), slice.topology);
    }
  }
  return slice;
}

}  // namespace podsim
