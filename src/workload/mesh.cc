#include "workload/mesh.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "collective/groups.h"

namespace podsim {
namespace {

std::vector<std::string> AxisNames(const Topology& topology) {
  std::vector<std::string> names;
  for (std::size_t a = 0; a < topology.axes().size(); ++a) {
    names.push_back(AxisName(topology, static_cast<int>(a)));
  }
  return names;
}

std::optional<int> FindAxis(const Topology& topology, const std::string& name) {
  const std::vector<std::string> names = AxisNames(topology);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin());
}

std::string ToText(const AxisPart& part, const Topology& topology) {
  std::string text = AxisName(topology, part.axis);
  if (IsWhole(part, topology)) return text;
  text += ":" + std::to_string(part.size);
  if (part.stride > 1) text += "@" + std::to_string(part.stride);
  return text;
}

// "4", at least 1.
std::optional<int> ParseCount(std::string_view text) {
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end || count < 1) return std::nullopt;
  return count;
}

std::string DivisorsText(int number) {
  std::vector<std::string> divisors;
  for (int d = 1; d <= number; ++d) {
    if (number % d == 0) divisors.push_back(std::to_string(d));
  }
  return Join(divisors, ", ");
}

// `text` is AXIS:SIZE or AXIS:SIZE@STRIDE, the colon at `colon`.
AxisPart ParsePart(const JsonValue& json, int axis, std::size_t colon,
                   const Topology& topology) {
  const std::string& text = json.AsString();
  const std::string_view rest = std::string_view(text).substr(colon + 1);
  const auto at = rest.find('@');
  const auto size = ParseCount(rest.substr(0, at));
  const auto stride =
      at == rest.npos ? std::optional(1) : ParseCount(rest.substr(at + 1));
  if (!size || !stride) {
    json.Fail("\"" + text +
              "\" is no part of an axis; expected AXIS:SIZE, blocks of SIZE "
              "chips, for example x:4, or AXIS:SIZE@STRIDE, SIZE of every "
              "STRIDE-th chip, for example x:4@4");
  }
  const int length = topology.axes()[axis].size;
  const std::string of = " of axis " + AxisName(topology, axis) + " of " +
                         std::to_string(length) + " chips; expected one of ";
  if (length % *stride != 0) {
    json.Fail("the stride " + std::to_string(*stride) + " is no divisor" + of +
              DivisorsText(length));
  }
  if (length / *stride % *size != 0) {
    json.Fail("the size " + std::to_string(*size) + " times the stride " +
              std::to_string(*stride) + " is no divisor" + of +
              DivisorsText(length / *stride) + " as size");
  }
  return {.axis = axis, .size = *size, .stride = *stride};
}

// An axis of the slice or a part of one; nullopt: it has no such axis.
std::optional<AxisPart> ReadPart(const JsonValue& json,
                                 const Topology& topology) {
  const std::string& text = json.AsString();
  const auto colon = text.find(':');
  const auto axis = FindAxis(topology, text.substr(0, colon));
  if (!axis) return std::nullopt;
  if (colon != text.npos) return ParsePart(json, *axis, colon, topology);
  return AxisPart{.axis = *axis, .size = topology.axes()[*axis].size};
}

// Digits that say nothing about each other.
bool Apart(const AxisPart& a, const AxisPart& b) {
  if (a.axis != b.axis || a.size == 1 || b.size == 1) return true;
  const auto [low, high] =
      a.stride < b.stride ? std::tie(a, b) : std::tie(b, a);
  return high.stride % (low.size * low.stride) == 0;
}

[[noreturn]] void FailTwice(const AxisPart& part, const AxisPart& other,
                            const Topology& topology, const JsonValue& json) {
  if (IsWhole(part, topology) && IsWhole(other, topology)) {
    json.Fail("axis " + json.AsString() + " of the slice is used twice");
  }
  const std::string axis = AxisName(topology, part.axis);
  const int block = other.size * other.stride;
  const int blocks = topology.axes()[part.axis].size / block;
  std::string beside;
  if (blocks > 1) {
    beside = "; beside " + ToText(other, topology) + " goes " + axis + ":" +
             std::to_string(blocks) + "@" + std::to_string(block);
  }
  json.Fail("no part of an axis is used twice: " + ToText(part, topology) +
            " overlaps " + ToText(other, topology) + beside);
}

void AddPart(const AxisPart& part, const Topology& topology,
             const JsonValue& json, std::vector<AxisPart>& used) {
  const bool whole = IsWhole(part, topology);
  for (const AxisPart& other : used) {
    const bool same =
        other.axis == part.axis && whole && IsWhole(other, topology);
    if (same || !Apart(part, other)) FailTwice(part, other, topology, json);
  }
  used.push_back(part);
}

// In order, neighbouring parts of an axis joined.
std::vector<AxisPart> Joined(std::vector<AxisPart> parts,
                             const Topology& topology) {
  std::erase_if(parts, [&](const AxisPart& part) {
    return part.size == 1 && !IsWhole(part, topology);
  });
  std::ranges::sort(parts, {}, [](const AxisPart& part) {
    return std::tuple(part.axis, part.stride);
  });
  std::vector<AxisPart> joined;
  for (const AxisPart& part : parts) {
    if (!joined.empty() && joined.back().axis == part.axis &&
        joined.back().size * joined.back().stride == part.stride) {
      joined.back().size *= part.size;
    } else {
      joined.push_back(part);
    }
  }
  return joined;
}

// A part of the slice by its name, which the mesh does not have.
AxisPart SliceAxis(const JsonValue& json, const std::vector<MeshAxis>& mesh,
                   const Topology& topology) {
  if (const auto part = ReadPart(json, topology)) return *part;
  std::vector<std::string> known = AxisNames(topology);
  for (const MeshAxis& axis : mesh) known.push_back(axis.name);
  json.Fail("no axis \"" + json.AsString() + "\" in the mesh or the slice; " +
            (known.empty() ? "the slice is a list of links without axes"
                           : "known: " + Join(known, ", ")));
}

std::string ReadName(const JsonValue& json, const std::vector<MeshAxis>& mesh) {
  const std::string& name = json.AsString();
  if (name.empty()) json.Fail("must not be empty");
  if (std::ranges::find(mesh, name, &MeshAxis::name) != mesh.end()) {
    json.Fail("the mesh axis \"" + name + "\" stands twice");
  }
  return name;
}

// The chips of every sub-grid that the parts span, live ones, in order of ids.
std::vector<std::vector<ChipId>> GroupsAlong(const std::vector<AxisPart>& parts,
                                             const Topology& topology) {
  std::vector<std::vector<ChipId>> groups;
  std::vector<int> index(topology.chips(), -1);  // of the group, by first chip
  for (int id = 0; id < topology.chips(); ++id) {
    if (!topology.Live(ChipId(id))) continue;
    Coordinates at = topology.CoordinatesOf(ChipId(id));
    for (const auto& [axis, size, stride] : parts) {
      at[axis] -= at[axis] / stride % size * stride;
    }
    int& group = index[topology.ChipAt(at).value()];
    if (group < 0) {
      group = static_cast<int>(groups.size());
      groups.emplace_back();
    }
    groups[group].emplace_back(id);
  }
  return groups;
}

}  // namespace

bool IsWhole(const AxisPart& part, const Topology& topology) {
  return part.size == topology.axes()[part.axis].size;
}

std::vector<MeshAxis> ReadMesh(const JsonValue& json,
                               const Topology& topology) {
  std::vector<MeshAxis> mesh;
  std::vector<AxisPart> used;
  for (const JsonValue& entry : json.Elements()) {
    entry.RejectUnknownKeys({"name", "size", "on"});
    MeshAxis axis{.name = ReadName(entry.Get("name"), mesh), .on = {}};
    std::int64_t product = 1;
    std::vector<std::string> names;
    for (const JsonValue& on : entry.Get("on").Elements()) {
      const auto part = ReadPart(on, topology);
      if (!part) {
        const std::string& name = on.AsString();
        on.Fail("the slice has no axis \"" + name.substr(0, name.find(':')) +
                "\"; it has " + Join(AxisNames(topology), ", "));
      }
      AddPart(*part, topology, on, used);
      axis.on.push_back(*part);
      names.push_back(on.AsString());
      product *= part->size;
    }
    const JsonValue size = entry.Get("size");
    if (size.AsInteger(1, kMaxChips) != product) {
      size.Fail("expected " + std::to_string(product) +
                ", the number of chips along " + Join(names, ", ") + ", got " +
                size.Excerpt());
    }
    axis.on = Joined(std::move(axis.on), topology);
    mesh.push_back(std::move(axis));
  }
  return mesh;
}

std::vector<AxisPart> ReadAxis(const JsonValue& json,
                               const std::vector<MeshAxis>& mesh,
                               const Topology& topology) {
  const auto found = std::ranges::find(mesh, json.AsString(), &MeshAxis::name);
  if (found != mesh.end()) return found->on;
  return {SliceAxis(json, mesh, topology)};
}

std::vector<AxisPart> ReadAxes(const JsonValue& json,
                               const std::vector<MeshAxis>& mesh,
                               const Topology& topology) {
  const std::vector<JsonValue> entries = json.Elements();
  if (entries.empty()) json.Fail("expected at least one axis");
  std::vector<AxisPart> parts;
  for (const JsonValue& entry : entries) {
    for (const AxisPart& part : ReadAxis(entry, mesh, topology)) {
      AddPart(part, topology, entry, parts);
    }
  }
  return Joined(std::move(parts), topology);
}

void SetAxes(const std::vector<AxisPart>& parts, const Topology& topology,
             const std::string& where, Collective& collective) {
  const bool whole = std::ranges::all_of(
      parts, [&](const AxisPart& part) { return IsWhole(part, topology); });
  if (whole && !parts.empty()) {
    collective.axes.clear();
    for (const AxisPart& part : parts) collective.axes.push_back(part.axis);
    return;
  }
  std::vector<std::vector<ChipId>> groups = GroupsAlong(parts, topology);
  for (const auto& group : groups) {
    if (group.size() == groups[0].size() || TakesUnequalGroups(collective.kind))
      continue;
    throw InputError(where, "dead chips leave groups of " +
                                std::to_string(groups[0].size()) + " and of " +
                                std::to_string(group.size()) + " chips, and " +
                                "groups of " + ToText(collective.kind) +
                                " are equally large; list them in groups");
  }
  SetGroups(std::move(groups), topology, collective);
}

}  // namespace podsim
