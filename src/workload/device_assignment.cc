#include "workload/device_assignment.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "topology/generation.h"

namespace podsim {
namespace {

constexpr std::string_view kFlag = "--device-assignment ";
constexpr std::string_view kMeshUtilsPrefix = "mesh_utils:";

DeviceAssignment ReadAssignmentFile(const std::string& path) {
  const JsonValue json = JsonValue::ReadFile(path);
  const JsonValue format = json.Get("format");
  if (format.AsString() != "podsim-device-assignment/1") {
    format.Fail("expected \"podsim-device-assignment/1\", got \"" +
                format.AsString() + "\"");
  }
  json.RejectUnknownKeys({"format", "chips"});
  const JsonValue chips = json.Get("chips");
  if (chips.Elements().empty()) chips.Fail("expected at least one chip");
  return {.kind = AssignmentKind::kFile,
          .chips = chips,
          .where = std::string(kFlag) + path};
}

Shape ParseMesh(const std::string& text, const std::string& where) {
  const auto mesh = ParseShape(text);
  if (!mesh || std::ranges::any_of(*mesh, [](int size) { return size < 1; })) {
    throw InputError(where,
                     "expected the logical mesh as sizes joined by x, "
                     "for example mesh_utils:16x8, got \"" +
                         text + "\"");
  }
  return *mesh;
}

// 2^30 or more: too many.
std::int64_t Product(const Shape& shape) {
  std::int64_t product = 1;
  for (const int size : shape) {
    product = std::min<std::int64_t>(product * size, 1 << 30);
  }
  return product;
}

// The legal shape of so many chips whose longest axis is shortest.
std::optional<Shape> LegalShapeOf(const Generation& generation, int chips) {
  if (chips > kMaxChips) return std::nullopt;
  const int axes = generation.axes;
  std::optional<Shape> best;
  for (int x = 1; x * x <= chips; ++x) {
    if (chips % x != 0 || (axes < 3 && x > 1)) continue;
    const int rest = chips / x;
    for (int y = x; y * y <= rest; ++y) {
      if (rest % y != 0 || (axes < 2 && y > 1)) continue;
      Shape shape = {x, y, rest / y};
      shape.erase(shape.begin(), shape.end() - axes);
      if (!IsLegal(generation, shape)) continue;
      if (!best || shape.back() < best->back()) best = shape;
    }
  }
  return best;
}

// Slices for --slice that have `devices` devices: of the same generation, of
// several such slices, or of v5p.
std::vector<std::string> SlicesOf(int devices, const Slice& slice) {
  std::vector<std::string> specs;
  for (const std::string& name : {slice.generation, std::string("v5p")}) {
    const auto& known = BuiltInGenerations();
    const auto generation = std::ranges::find(known, name, &Generation::name);
    const int per_chip = DevicesPerChip(name);
    if (generation == known.end() || devices % per_chip != 0) continue;
    if (const auto shape = LegalShapeOf(*generation, devices / per_chip)) {
      specs.push_back(name + ":" + ToText(*shape));
    } else if (const auto one = Product(slice.shape) * per_chip;
               name == slice.generation && !slice.shape.empty() &&
               devices % one == 0) {
      specs.push_back(std::to_string(devices / one) + "*" + name + ":" +
                      ToText(slice.shape));
    }
    if (slice.generation == "v5p") break;
  }
  return specs;
}

void RequireCount(const DeviceAssignment& spec, const Slice& slice, int devices,
                  int expected) {
  if (devices == expected) return;
  const int per_chip = DevicesPerChip(slice.generation);
  const int dead = slice.topology.chips() - slice.topology.live_chips();
  std::string what = "the module has " + std::to_string(devices) +
                     " devices, " + slice.spec + " has " +
                     std::to_string(slice.topology.chips()) + " chips";
  if (dead > 0) what += ", " + std::to_string(dead) + " of them dead";
  if (per_chip > 1) {
    what += " of " + std::to_string(per_chip) + " devices each, " +
            std::to_string(expected) + " together";
  }
  what += "; pass --slice with ";
  what += devices % per_chip == 0
              ? std::to_string(devices / per_chip) + " chips"
              : std::to_string(devices) + " devices";
  const std::vector<std::string> specs = SlicesOf(devices, slice);
  if (!specs.empty()) what += ", for example " + Join(specs, " or ");
  throw InputError(spec.where, what);
}

std::vector<ChipId> LiveChips(const Topology& topology) {
  std::vector<ChipId> live;
  for (int id = 0; id < topology.chips(); ++id) {
    if (topology.Live(ChipId(id))) live.emplace_back(id);
  }
  return live;
}

std::vector<ChipId> AssignIota(const Slice& slice, int devices, int replicas) {
  const std::vector<ChipId> live = LiveChips(slice.topology);
  const int per_chip = DevicesPerChip(slice.generation);
  const int partitions = devices / replicas;
  std::vector<ChipId> chips;
  for (int id = 0; id < devices; ++id) {
    const int replica = id / partitions;
    const int partition = id % partitions;
    chips.push_back(live[(partition * replicas + replica) / per_chip]);
  }
  return chips;
}

// The mesh of one slice: all of it, or its first axis without the slices.
Shape MeshOfOneSlice(const DeviceAssignment& spec, const Slice& slice,
                     int devices) {
  Shape mesh = spec.mesh;
  const int slices = slice.topology.slices();
  const std::int64_t size = Product(mesh);
  if (size * slices == devices) return mesh;
  if (size == devices && mesh[0] % slices == 0) {
    mesh[0] /= slices;
    return mesh;
  }
  std::string what = "the mesh " + ToText(mesh) + " has ";
  if (size == devices) {
    what += "a first axis of " + std::to_string(mesh[0]) +
            ", which the slices, outermost in it, do not divide: " +
            std::to_string(slices) + " slices";
  } else {
    what += std::to_string(size) + " entries, the module has " +
            std::to_string(devices) + " devices";
    if (slices > 1) {
      what += ", " + std::to_string(devices / slices) + " in each of " +
              std::to_string(slices) + " slices";
    }
  }
  throw InputError(spec.where, what +
                                   "; pass the shape given to JAX's "
                                   "create_device_mesh");
}

std::vector<ChipId> AssignMeshUtils(const DeviceAssignment& spec,
                                    const Slice& slice, int devices,
                                    int replicas) {
  const std::string remedy = "; pass iota or a podsim-device-assignment/1 file";
  if (slice.shape.empty()) {
    throw InputError(spec.where,
                     "the slice is a list of links without axes" + remedy);
  }
  if (slice.topology.live_chips() != slice.topology.chips()) {
    throw InputError(spec.where,
                     "the slice has dead chips, and JAX lays meshes over whole "
                     "slices only" +
                         remedy);
  }
  if (replicas != 1) {
    throw InputError(spec.where, "the module has " + std::to_string(replicas) +
                                     " replicas, and JAX's meshes are of "
                                     "partitions (replica_count=1)" +
                                     remedy);
  }
  const Shape mesh = MeshOfOneSlice(spec, slice, devices);
  const std::vector<int> order =
      MeshUtilsDevices(slice.generation, slice.shape, mesh, spec.where);
  const int per_chip = DevicesPerChip(slice.generation);
  const int chips_of_one = slice.topology.chips() / slice.topology.slices();
  std::vector<ChipId> chips;
  for (int k = 0; k < slice.topology.slices(); ++k) {
    for (const int device : order) {
      chips.emplace_back(k * chips_of_one + device / per_chip);
    }
  }
  return chips;
}

std::vector<ChipId> AssignListed(const JsonValue& list, const Slice& slice,
                                 int devices) {
  const Topology& topology = slice.topology;
  const int per_chip = DevicesPerChip(slice.generation);
  if (static_cast<int>(list.size()) != devices) {
    list.Fail("lists " + std::to_string(list.size()) +
              " chips, the module has " + std::to_string(devices) +
              " devices; list the chip of every one");
  }
  std::vector<int> used(topology.chips());
  std::vector<ChipId> chips;
  for (const JsonValue& entry : list.Elements()) {
    const ChipId chip(
        static_cast<std::uint32_t>(entry.AsInteger(0, topology.chips() - 1)));
    if (!topology.Live(chip)) {
      entry.Fail("chip " + entry.Excerpt() + " is dead; leave it out");
    }
    if (++used[chip.value()] > per_chip) {
      entry.Fail("chip " + entry.Excerpt() + " of " + slice.spec + " has " +
                 std::to_string(per_chip) +
                 (per_chip == 1 ? " device" : " devices") + " and stands " +
                 std::to_string(used[chip.value()]) +
                 " times; every chip has its place once per device");
    }
    chips.push_back(chip);
  }
  return chips;
}

}  // namespace

DeviceAssignment ParseDeviceAssignment(const std::string& text) {
  const std::string where = std::string(kFlag) + text;
  if (text == "iota") return {};
  if (text.starts_with(kMeshUtilsPrefix)) {
    return {.kind = AssignmentKind::kMeshUtils,
            .mesh = ParseMesh(text.substr(kMeshUtilsPrefix.size()), where),
            .where = where};
  }
  if (text.find_first_of("./") == std::string::npos) {
    throw InputError(where,
                     "expected iota, mesh_utils:SHAPE (for example "
                     "mesh_utils:16x8) or the path of a "
                     "podsim-device-assignment/1 file, got \"" +
                         text + "\"");
  }
  return ReadAssignmentFile(text);
}

int DevicesPerChip(const std::string& generation) {
  // JAX lists two devices per chip of these (jax-ml/jax,
  // tests/mesh_utils_test.py, 2026-08-08).
  const std::array<std::string_view, 3> two = {"v2", "v3", "v7x"};
  return std::ranges::find(two, generation) == two.end() ? 1 : 2;
}

std::vector<ChipId> AssignDevices(const DeviceAssignment& spec,
                                  const Slice& slice, int devices,
                                  int replicas) {
  if (devices < 1 || replicas < 1 || devices % replicas != 0) {
    throw InputError(spec.where,
                     "expected the devices to be replicas x partitions, got " +
                         std::to_string(devices) + " devices and " +
                         std::to_string(replicas) + " replicas");
  }
  RequireCount(spec, slice, devices,
               slice.topology.live_chips() * DevicesPerChip(slice.generation));
  switch (spec.kind) {
    case AssignmentKind::kIota:
      return AssignIota(slice, devices, replicas);
    case AssignmentKind::kMeshUtils:
      return AssignMeshUtils(spec, slice, devices, replicas);
    case AssignmentKind::kFile:
      return AssignListed(*spec.chips, slice, devices);
  }
  return {};
}

}  // namespace podsim
