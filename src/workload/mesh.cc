#include "workload/mesh.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

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

void RequireUnused(int axis, std::vector<bool>& used, const JsonValue& json) {
  if (used[axis]) {
    json.Fail("axis " + json.AsString() + " of the slice is used twice");
  }
  used[axis] = true;
}

// An axis of the slice by its name, which the mesh does not have.
int SliceAxis(const JsonValue& json, const std::vector<MeshAxis>& mesh,
              const Topology& topology) {
  if (const auto axis = FindAxis(topology, json.AsString())) return *axis;
  std::vector<std::string> known = AxisNames(topology);
  for (const MeshAxis& axis : mesh) known.push_back(axis.name);
  json.Fail("no axis \"" + json.AsString() + "\" in the mesh or the slice; " +
            (known.empty() ? "the slice is a list of links without axes"
                           : "known: " + Join(known, ", ")));
}

}  // namespace

std::vector<MeshAxis> ReadMesh(const JsonValue& json,
                               const Topology& topology) {
  std::vector<MeshAxis> mesh;
  std::vector<bool> used(topology.axes().size());
  for (const JsonValue& entry : json.Elements()) {
    entry.RejectUnknownKeys({"name", "size", "on"});
    MeshAxis axis{.name = entry.Get("name").AsString(), .on = {}};
    if (axis.name.empty()) entry.Get("name").Fail("must not be empty");
    for (const MeshAxis& other : mesh) {
      if (other.name == axis.name) {
        entry.Get("name").Fail("the mesh axis \"" + axis.name +
                               "\" stands twice");
      }
    }
    std::int64_t product = 1;
    std::vector<std::string> names;
    for (const JsonValue& on : entry.Get("on").Elements()) {
      const std::string& name = on.AsString();
      if (name.find(':') != std::string::npos) {
        on.Fail("\"" + name +
                "\" is a part of an axis; this version lays mesh "
                "axes over whole axes of the slice only: " +
                Join(AxisNames(topology), ", "));
      }
      const auto found = FindAxis(topology, name);
      if (!found) {
        on.Fail("the slice has no axis \"" + name + "\"; it has " +
                Join(AxisNames(topology), ", "));
      }
      RequireUnused(*found, used, on);
      axis.on.push_back(*found);
      names.push_back(name);
      product *= topology.axes()[*found].size;
    }
    const JsonValue size = entry.Get("size");
    if (size.AsInteger(1, kMaxChips) != product) {
      size.Fail("expected " + std::to_string(product) +
                ", the number of chips along " + Join(names, ", ") + ", got " +
                size.Excerpt());
    }
    std::sort(axis.on.begin(), axis.on.end());
    mesh.push_back(std::move(axis));
  }
  return mesh;
}

std::vector<int> ReadAxis(const JsonValue& json,
                          const std::vector<MeshAxis>& mesh,
                          const Topology& topology) {
  const auto found = std::ranges::find(mesh, json.AsString(), &MeshAxis::name);
  const std::vector<int> axes =
      found != mesh.end() ? found->on
                          : std::vector{SliceAxis(json, mesh, topology)};
  return axes;
}

std::vector<int> ReadAxes(const JsonValue& json,
                          const std::vector<MeshAxis>& mesh,
                          const Topology& topology) {
  const std::vector<JsonValue> entries = json.Elements();
  if (entries.empty()) json.Fail("expected at least one axis");
  std::vector<int> axes;
  std::vector<bool> used(topology.axes().size());
  for (const JsonValue& entry : entries) {
    for (const int axis : ReadAxis(entry, mesh, topology)) {
      RequireUnused(axis, used, entry);
      axes.push_back(axis);
    }
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace podsim
