// Groups of a mesh (XLA hlo/ir/mesh_and_axis.h): axes may be cut, 'a':(p)s is
// the part of size s of a = p x s x rest.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "hlo/attributes.h"
#include "hlo/group_text.h"
#include "hlo/module.h"

namespace podsim {
namespace {

struct MeshAxis {
  std::string name;
  int size = 1;
};

// A grouped part of an axis: a = before x size x rest.
struct AxisPart {
  std::size_t at = 0;  // where it stands
  std::size_t axis = 0;
  int before = 1;
  int size = 1;
};

struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<int> devices;  // axes in order, the last one fastest
};

std::string ReadAxisName(HloLexer& lexer) {
  const char next = lexer.Peek();
  if (next == '\'' || next == '"') return Unquoted(lexer.String());
  return std::string(lexer.Word("the name of an axis"));
}

int ReadSize(HloLexer& lexer) {
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::int64_t size = lexer.Integer("the size of an axis");
  if (size < 1 || size > kMaxHloDevices) {
    lexer.Fail(at, "size " + std::to_string(size) + ", expected 1 to 131072");
  }
  return static_cast<int>(size);
}

std::vector<MeshAxis> ReadAxes(HloLexer& lexer) {
  std::vector<MeshAxis> axes;
  lexer.Expect('[', "before the axes of a mesh");
  if (lexer.Accept(']')) return axes;
  do {
    lexer.SkipSpace();
    const std::size_t at = lexer.at();
    std::string name = ReadAxisName(lexer);
    if (std::ranges::find(axes, name, &MeshAxis::name) != axes.end()) {
      lexer.Fail(at, "axis '" + name + "' stands twice");
    }
    lexer.Expect('=', "after the name of an axis");
    axes.push_back({std::move(name), ReadSize(lexer)});
  } while (lexer.Accept(','));
  lexer.Expect(']', "or ',' after an axis");
  return axes;
}

// (3,1,0,2) or ([4,2]T(1,0))
std::vector<int> ReadDeviceIds(HloLexer& lexer) {
  lexer.Expect('(', "before device ids");
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  std::vector<int> ids;
  if (lexer.Peek() == '[') {
    const std::vector<int> dimensions = ReadDimensionList(lexer);
    const std::vector<int> order = ReadOrder(lexer, dimensions.size());
    ProductOf(lexer, at, dimensions);
    ids = TransposedIota(dimensions, order);
  } else {
    do {
      const std::size_t id_at = lexer.at();
      const std::int64_t id = lexer.Integer("a device id");
      if (id < 0 || id >= kMaxHloDevices) {
        lexer.Fail(id_at,
                   "id " + std::to_string(id) + ", expected 0 to 131071");
      }
      ids.push_back(static_cast<int>(id));
    } while (lexer.Accept(','));
  }
  lexer.Expect(')', "or ',' after device ids");
  return ids;
}

Mesh ReadMesh(HloLexer& lexer) {
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  Mesh mesh;
  mesh.axes = ReadAxes(lexer);
  std::vector<int> sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
  const int devices = ProductOf(lexer, at, sizes);
  if (lexer.Accept(',')) {
    lexer.Expect("device_ids", "after the axes of a mesh");
    lexer.Expect('=', "after device_ids");
    lexer.SkipSpace();
    const std::size_t ids_at = lexer.at();
    mesh.devices = ReadDeviceIds(lexer);
    if (mesh.devices.size() != static_cast<std::size_t>(devices)) {
      lexer.Fail(ids_at, std::to_string(mesh.devices.size()) +
                             " device ids in a mesh of " +
                             std::to_string(devices));
    }
    return mesh;
  }
  mesh.devices.resize(static_cast<std::size_t>(devices));
  std::iota(mesh.devices.begin(), mesh.devices.end(), 0);
  return mesh;
}

// By name, or by number where no axis has it as name.
std::size_t FindAxis(HloLexer& lexer, std::size_t at, const std::string& name,
                     const std::vector<MeshAxis>& axes) {
  const auto found = std::ranges::find(axes, name, &MeshAxis::name);
  if (found != axes.end()) {
    return static_cast<std::size_t>(found - axes.begin());
  }
  const auto index = ParseWholeInteger(name);
  if (index && *index >= 0 && *index < static_cast<std::int64_t>(axes.size())) {
    return static_cast<std::size_t>(*index);
  }
  std::vector<std::string> names;
  for (const MeshAxis& axis : axes) names.push_back(axis.name);
  lexer.Fail(at, "no axis '" + Shortened(name, 40) +
                     "' in the mesh (axes: " + Join(names, ", ") + ")");
}

AxisPart ReadPart(HloLexer& lexer, const std::vector<MeshAxis>& axes) {
  lexer.SkipSpace();
  AxisPart part;
  part.at = lexer.at();
  part.axis = FindAxis(lexer, part.at, ReadAxisName(lexer), axes);
  part.size = axes[part.axis].size;
  if (!lexer.Accept(':')) return part;
  lexer.Expect('(', "before the size in front of a part of an axis");
  part.before = ReadSize(lexer);
  lexer.Expect(')', "after the size in front of a part of an axis");
  part.size = ReadSize(lexer);
  const std::int64_t block = std::int64_t{1} * part.before * part.size;
  if (axes[part.axis].size % block != 0) {
    lexer.Fail(part.at, "(" + std::to_string(part.before) + ")" +
                            std::to_string(part.size) +
                            " is no part of an axis of size " +
                            std::to_string(axes[part.axis].size));
  }
  return part;
}

std::vector<AxisPart> ReadParts(HloLexer& lexer,
                                const std::vector<MeshAxis>& axes) {
  std::vector<AxisPart> parts;
  lexer.Expect('{', "before the grouped axes");
  if (lexer.Accept('}')) return parts;
  do {
    parts.push_back(ReadPart(lexer, axes));
  } while (lexer.Accept(','));
  lexer.Expect('}', "or ',' after a grouped axis");
  return parts;
}

// The products of leading sizes at which an axis is cut, 1 and its size
// included, in increasing order.
std::vector<int> CutsOf(HloLexer& lexer, std::size_t axis, int size,
                        const std::vector<AxisPart>& parts) {
  std::vector<int> cuts = {1, size};
  for (const AxisPart& part : parts) {
    if (part.axis != axis) continue;
    cuts.push_back(part.before);
    cuts.push_back(part.before * part.size);
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    if (cuts[i] % cuts[i - 1] == 0) continue;
    lexer.Fail(parts.front().at, "parts of an axis that cut it after " +
                                     std::to_string(cuts[i - 1]) + " and " +
                                     std::to_string(cuts[i]) +
                                     " do not fit together");
  }
  return cuts;
}

// The mesh with every axis cut at its parts.
struct CutMesh {
  std::vector<int> sizes;
  std::vector<std::size_t> axis;  // of each piece
  std::vector<int> before;        // product of the pieces before it on its axis
};

CutMesh Cut(HloLexer& lexer, const std::vector<MeshAxis>& axes,
            const std::vector<AxisPart>& parts) {
  CutMesh cut;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::vector<int> cuts = CutsOf(lexer, axis, axes[axis].size, parts);
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      cut.sizes.push_back(cuts[i] / cuts[i - 1]);
      cut.axis.push_back(axis);
      cut.before.push_back(cuts[i - 1]);
    }
  }
  return cut;
}

bool Covers(const AxisPart& part, const CutMesh& cut, std::size_t piece) {
  return cut.axis[piece] == part.axis && cut.before[piece] >= part.before &&
         cut.before[piece] < part.before * part.size;
}

// Pieces that no part covers, then those of the parts in the order listed.
std::vector<int> GroupedLast(HloLexer& lexer, const CutMesh& cut,
                             const std::vector<AxisPart>& parts) {
  std::vector<int> grouped;
  std::vector<bool> used(cut.sizes.size(), false);
  for (const AxisPart& part : parts) {
    for (std::size_t piece = 0; piece < cut.sizes.size(); ++piece) {
      if (!Covers(part, cut, piece)) continue;
      if (used[piece]) lexer.Fail(part.at, "a part of an axis is used twice");
      used[piece] = true;
      grouped.push_back(static_cast<int>(piece));
    }
  }
  std::vector<int> order;
  for (std::size_t piece = 0; piece < used.size(); ++piece) {
    if (!used[piece]) order.push_back(static_cast<int>(piece));
  }
  order.insert(order.end(), grouped.begin(), grouped.end());
  return order;
}

// maximal_mesh[device_id=3]: one group of this device.
std::vector<std::vector<int>> ReadMaximalMesh(HloLexer& lexer) {
  lexer.Expect('[', "after maximal_mesh");
  lexer.Expect("device_id", "in a maximal mesh");
  lexer.Expect('=', "after device_id");
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::int64_t id = lexer.Integer("a device id");
  if (id < 0 || id >= kMaxHloDevices) {
    lexer.Fail(at, "id " + std::to_string(id) + ", expected 0 to 131071");
  }
  lexer.Expect(']', "after the device id");
  if (lexer.Accept('{')) lexer.Expect('}', "as a maximal mesh has no axes");
  return {{static_cast<int>(id)}};
}

}  // namespace

std::vector<std::vector<int>> ReadMeshGroups(HloLexer& lexer) {
  if (lexer.AcceptWord("maximal_mesh")) return ReadMaximalMesh(lexer);
  lexer.Expect("mesh", "before its axes");
  const Mesh mesh = ReadMesh(lexer);
  const std::vector<AxisPart> parts = ReadParts(lexer, mesh.axes);
  const CutMesh cut = Cut(lexer, mesh.axes, parts);
  int members = 1;
  for (const AxisPart& part : parts) {
    if (part.size > kMaxHloDevices / members) {
      lexer.Fail(part.at, "a part of an axis is used twice");
    }
    members *= part.size;
  }
  const std::vector<int> order = GroupedLast(lexer, cut, parts);
  return CutIntoGroups(Transposed(mesh.devices, cut.sizes, order), members);
}

}  // namespace podsim
