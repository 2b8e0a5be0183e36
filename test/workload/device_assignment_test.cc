#include "workload/device_assignment.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "test/support/temporary_file.h"
#include "test/topology/input.h"

namespace podsim {
namespace {

std::vector<int> Ids(const std::vector<ChipId>& chips) {
  std::vector<int> ids;
  for (const ChipId chip : chips) {
    ids.push_back(static_cast<int>(chip.value()));
  }
  return ids;
}

std::vector<int> Assigned(const std::string& spec, const std::string& slice,
                          int devices, int replicas = 1) {
  return Ids(AssignDevices(ParseDeviceAssignment(spec), SliceOf(slice), devices,
                           replicas));
}

std::string AssignError(const std::string& spec, const std::string& slice,
                        int devices, int replicas = 1) {
  return ErrorOf([&] { Assigned(spec, slice, devices, replicas); });
}

std::vector<int> Iota(int count) {
  std::vector<int> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::string FileText(const std::string& chips) {
  return R"({"format": "podsim-device-assignment/1", "chips": [)" + chips +
         "]}";
}

TEST_CASE("iota goes x-fastest over the slice, slices one after the other",
          "[workload]") {
  CHECK(Assigned("iota", "v5p:4x4x4", 64) == Iota(64));
  CHECK(Assigned("iota", "2*v5e:4x4", 32) == Iota(32));
  CHECK(DeviceAssignment().kind == AssignmentKind::kIota);
}

TEST_CASE("two devices share a chip of v2, v3 and v7x", "[workload]") {
  for (const char* slice : {"v2:2x2", "v3:2x2", "v7x:2x2x1"}) {
    CAPTURE(slice);
    CHECK(Assigned("iota", slice, 8) ==
          std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
    CHECK(Assigned("mesh_utils:8", slice, 8) ==
          std::vector<int>{0, 0, 1, 1, 3, 3, 2, 2});
  }
}

TEST_CASE("iota of several replicas puts replicas of a partition side by side",
          "[workload]") {
  // Flattened id 4r + p runs on device 2p + r (XLA's ComputationPlacer).
  CHECK(Assigned("iota", "v5e:2x4", 8, 2) ==
        std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7});
  CHECK(Assigned("iota", "v5e:2x4", 8, 8) == Iota(8));
  // Two devices a chip: 0 4 | 1 5 | 2 6 | 3 7.
  CHECK(Assigned("iota", "v3:2x2", 8, 2) ==
        std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3});
}

TEST_CASE("iota leaves dead chips out", "[workload]") {
  const Slice slice = SliceOf("v5p:2x2x2", {}, {"chip:1,0,0"});
  CHECK(Ids(AssignDevices({}, slice, 7)) ==
        std::vector<int>{0, 2, 3, 4, 5, 6, 7});
  CHECK(ErrorOf([&] { AssignDevices({}, slice, 8); })
            .starts_with("--device-assignment iota: the module has 8 devices, "
                         "v5p:2x2x2 has 8 chips, 1 of them dead; "));
}

TEST_CASE("mesh_utils computes these by hand", "[workload]") {
  // 2x2x4 as 4x4: the last axis takes x and y (2 * 2), the first z; the array
  // is z outermost, then x, then y: chip x + 2y + 4z.
  CHECK(MeshUtilsDevices("v4", {2, 2, 4}, {4, 4}, "w") ==
        std::vector<int>{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15});
  // 2x2x4 as 16: x outermost, z innermost.
  CHECK(MeshUtilsDevices("v4", {2, 2, 4}, {16}, "w") ==
        std::vector<int>{0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15});
  // 4x2x1 as 2x4: the last takes x with z of size 1, the first y.
  CHECK(MeshUtilsDevices("v4", {4, 2, 1}, {2, 4}, "w") == Iota(8));
  // As 4x2: y (and z) first, then x: the columns.
  CHECK(MeshUtilsDevices("v4", {4, 2, 1}, {4, 2}, "w") ==
        std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7});
  // 4x4x4 as 4x16: the last takes x and y, the first z.
  const std::vector<int> cube = MeshUtilsDevices("v5p", {4, 4, 4}, {4, 16}, "");
  CHECK(std::vector<int>(cube.begin(), cube.begin() + 18) ==
        std::vector<int>{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                         16, 20});
  // Axes of size 1 take nothing where no axis of size 1 is left.
  CHECK(MeshUtilsDevices("v4", {2, 2, 4}, {1, 4, 1, 4}, "w") ==
        MeshUtilsDevices("v4", {2, 2, 4}, {4, 4}, "w"));
  // The cores of a v7x chip are an axis of their own, after z: as 64x2 it is
  // the last one, chips in the order x, y, z.
  const std::vector<int> cores =
      MeshUtilsDevices("v7x", {4, 4, 4}, {64, 2}, "w");
  CHECK(std::vector<int>(cores.begin(), cores.begin() + 6) ==
        std::vector<int>{0, 1, 32, 33, 64, 65});
}

// JAX's rule once more, without its data structures: every subset of axes as a
// bit mask, sorted the way itertools.combinations lists them. Then the chip of
// every mesh coordinate by taking the coordinate apart. Empty: refused.
std::vector<int> NaiveOrder(const std::vector<int>& physical,
                            const std::vector<int>& device_stride,
                            const std::vector<int>& mesh) {
  const int axes = static_cast<int>(physical.size());
  std::vector<std::vector<int>> subsets;
  for (int mask = 1; mask < 1 << axes; ++mask) {
    subsets.emplace_back();
    for (int axis = 0; axis < axes; ++axis) {
      if ((mask >> axis & 1) != 0) subsets.back().push_back(axis);
    }
  }
  std::sort(subsets.begin(), subsets.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  std::vector<bool> used(axes);
  std::vector<std::vector<int>> taken(mesh.size());
  for (std::size_t back = 1; back <= mesh.size(); ++back) {
    const std::size_t logical = mesh.size() - back;
    const auto found = std::ranges::find_if(subsets, [&](const auto& subset) {
      int product = 1;
      for (const int axis : subset) {
        if (used[axis]) return false;
        product *= physical[axis];
      }
      return product == mesh[logical];
    });
    if (found == subsets.end()) {
      if (mesh[logical] > 1) return {};
      continue;
    }
    taken[logical] = *found;
    for (const int axis : *found) used[axis] = true;
  }
  int count = 1;
  for (const int size : mesh) count *= size;
  std::vector<int> order(count);
  for (int flat = 0; flat < count; ++flat) {
    int rest = flat;
    for (std::size_t back = 1; back <= mesh.size(); ++back) {
      const std::size_t logical = mesh.size() - back;
      int along = rest % mesh[logical];
      rest /= mesh[logical];
      for (auto axis = taken[logical].rbegin(); axis != taken[logical].rend();
           ++axis) {
        order[flat] += along % physical[*axis] * device_stride[*axis];
        along /= physical[*axis];
      }
    }
  }
  return order;
}

// `count` as a product of random factors.
Shape RandomMesh(int count, std::mt19937& random) {
  Shape mesh;
  while (count > 1) {
    std::vector<int> divisors;
    for (int d = 1; d <= count; ++d) {
      if (count % d == 0) divisors.push_back(d);
    }
    mesh.push_back(divisors[random() % divisors.size()]);
    count /= mesh.back();
  }
  if (mesh.empty()) mesh = {1};
  std::shuffle(mesh.begin(), mesh.end(), random);
  return mesh;
}

TEST_CASE("mesh_utils gives what JAX's greedy rule, told otherwise, gives",
          "[workload]") {
  std::mt19937 random(20261203);
  int given = 0;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const int sizes[] = {1, 2, 3, 4, 4, 6, 8};
    Shape shape;
    for (int axis = 0; axis < 3; ++axis) {
      shape.push_back(sizes[random() % std::size(sizes)]);
    }
    // v4 has no small slices of their own; v7x only of up to 32 devices.
    const bool two = random() % 3 == 0;
    std::vector<int> physical = shape;
    std::vector<int> stride = {1, shape[0], shape[0] * shape[1]};
    if (two) {
      for (int& step : stride) step *= 2;
      physical.push_back(2);
      stride.push_back(1);
    }
    int count = 1;
    for (const int size : physical) count *= size;
    if (two && count <= 32) continue;
    const Shape mesh = RandomMesh(count, random);
    CAPTURE(round, two, ToText(shape), ToText(mesh));
    const std::vector<int> expected = NaiveOrder(physical, stride, mesh);
    std::vector<int> order;
    const std::string error = ErrorOf([&] {
      order = MeshUtilsDevices(two ? "v7x" : "v4", shape, mesh, "w");
    });
    CHECK(order == expected);
    CHECK((error == "no error") == !expected.empty());
    ++(expected.empty() ? refused : given);
    std::sort(order.begin(), order.end());
    if (!order.empty()) CHECK(order == Iota(count));
  }
  CHECK(given > 500);
  CHECK(refused > 500);
}

// Every device is a neighbour, or on the chip, of the one before it, around.
void CheckRing(const std::string& spec, const std::string& slice_spec,
               int devices) {
  CAPTURE(spec, slice_spec);
  const Slice slice = SliceOf(slice_spec);
  const std::vector<ChipId> order =
      AssignDevices(ParseDeviceAssignment(spec), slice, devices);
  for (int k = 0; k < devices; ++k) {
    const ChipId from = order[k];
    const ChipId to = order[(k + 1) % devices];
    CAPTURE(k, from.value(), to.value());
    bool beside = from == to;
    for (int axis = 0; axis < static_cast<int>(slice.shape.size()); ++axis) {
      for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
        beside |= slice.topology.Neighbour(from, axis, sign) == to;
      }
    }
    CHECK(beside);
  }
}

TEST_CASE("small slices are ordered along a ring", "[workload]") {
  for (const std::string generation : {"v5e", "v6e"}) {
    CheckRing("mesh_utils:4", generation + ":2x2", 4);
    CheckRing("mesh_utils:2x2", generation + ":2x2", 4);
    CheckRing("mesh_utils:8", generation + ":4x2", 8);
    CheckRing("mesh_utils:16", generation + ":4x4", 16);
    CheckRing("mesh_utils:1x16x1", generation + ":4x4", 16);
  }
  CheckRing("mesh_utils:8", "v5p:2x2x2", 8);
  CheckRing("mesh_utils:2x4", "v5p:2x2x2", 8);
  CheckRing("mesh_utils:8", "v2:2x2", 8);
  CheckRing("mesh_utils:8", "v3:2x2", 8);
  CheckRing("mesh_utils:8", "v7x:2x2x1", 8);
  CheckRing("mesh_utils:8", "v7x:1x2x2", 8);
}

TEST_CASE("small slices have the orders of JAX's source", "[workload]") {
  CHECK(MeshUtilsDevices("v5e", {2, 2}, {4}, "w") ==
        std::vector<int>{0, 1, 3, 2});
  // Positions in the list by z, y, x whichever axis is longer.
  for (const Shape& shape : {Shape{2, 4}, Shape{4, 2}}) {
    CHECK(MeshUtilsDevices("v6e", shape, {2, 4}, "w") ==
          std::vector<int>{0, 1, 2, 3, 7, 6, 5, 4});
  }
  const std::vector<int> ring = {0,  1,  2,  3,  7,  6,  5, 9,
                                 10, 11, 15, 14, 13, 12, 8, 4};
  CHECK(MeshUtilsDevices("v5e", {4, 4}, {16}, "w") == ring);
  CHECK(MeshUtilsDevices("v5e", {4, 4}, {1, 16}, "w") == ring);
  // Not where several axes share the chips: the last one takes x, innermost.
  CHECK(MeshUtilsDevices("v5e", {4, 4}, {4, 4}, "w") == Iota(16));
  CHECK(MeshUtilsDevices("v5p", {2, 2, 2}, {2, 4}, "w") ==
        std::vector<int>{0, 1, 3, 2, 6, 7, 5, 4});
  // v4 has none: 2x2x2 as 8 is x outermost.
  CHECK(MeshUtilsDevices("v4", {2, 2, 2}, {8}, "w") ==
        std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7});
  // v7x up to 32 devices: every block of 8 around.
  CHECK(MeshUtilsDevices("v7x", {2, 2, 2}, {4, 4}, "w") ==
        std::vector<int>{0, 1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 11, 14, 15, 12, 13});
  CHECK(MeshUtilsDevices("v7x", {2, 2, 4}, {32}, "w")[31] == 29);
  // A longer x: the rule. 8x2 on 4x2x1 and 2 cores: the last axis takes y and
  // z, the first combination of two with product 2; the first x and cores.
  CHECK(MeshUtilsDevices("v7x", {4, 2, 1}, {8, 2}, "w") ==
        std::vector<int>{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15});
}

TEST_CASE("mesh_utils of several slices puts one after the other",
          "[workload]") {
  const std::vector<int> one = Assigned("mesh_utils:4x4", "v5e:4x4", 16);
  std::vector<int> two = one;
  for (const int chip : one) two.push_back(16 + chip);
  CHECK(Assigned("mesh_utils:4x4", "2*v5e:4x4", 32) == two);
  CHECK(Assigned("mesh_utils:8x4", "2*v5e:4x4", 32) == two);
  CHECK(AssignError("mesh_utils:1x32", "2*v5e:4x4", 32) ==
        "--device-assignment mesh_utils:1x32: the mesh 1x32 has a first axis "
        "of 1, which the slices, outermost in it, do not divide: 2 slices; "
        "pass the shape given to JAX's create_device_mesh");
  // 2x16: one axis takes all chips of a slice, around its ring.
  const std::vector<int> rings = Assigned("mesh_utils:2x16", "2*v5e:4x4", 32);
  CHECK(std::vector<int>(rings.begin() + 16, rings.begin() + 24) ==
        std::vector<int>{16, 17, 18, 19, 23, 22, 21, 25});
  CHECK(AssignError("mesh_utils:4x2", "2*v5e:4x4", 32) ==
        "--device-assignment mesh_utils:4x2: the mesh 4x2 has 8 entries, the "
        "module has 32 devices, 16 in each of 2 slices; pass the shape given "
        "to JAX's create_device_mesh");
}

TEST_CASE("a file lists the chip of every device", "[workload]") {
  const TemporaryFile four("assignment-four.json", FileText("2, 0, 3, 1"));
  CHECK(Assigned(four.path(), "v5e:2x2", 4) == std::vector<int>{2, 0, 3, 1});
  const TemporaryFile two("assignment-two.json", FileText("0, 1, 0, 1"));
  CHECK(Assigned(two.path(), "v3:2x1", 4) == std::vector<int>{0, 1, 0, 1});
}

TEST_CASE("bad device assignments are refused with the place and the remedy",
          "[workload]") {
  const std::string flag = "--device-assignment ";
  CHECK(AssignError("iota", "v5e:4x4", 128) ==
        flag +
            "iota: the module has 128 devices, v5e:4x4 has 16 chips; pass "
            "--slice with 128 chips, for example v5e:8x16 or v5p:4x4x8");
  CHECK(AssignError("iota", "v5e:16x16", 512) ==
        flag +
            "iota: the module has 512 devices, v5e:16x16 has 256 chips; "
            "pass --slice with 512 chips, for example 2*v5e:16x16 or "
            "v5p:8x8x8");
  CHECK(AssignError("mesh_utils:8", "v5p:4x4x4", 8) ==
        flag +
            "mesh_utils:8: the module has 8 devices, v5p:4x4x4 has 64 "
            "chips; pass --slice with 8 chips, for example v5p:2x2x2");
  CHECK(AssignError("iota", "v7x:4x4x4", 64) ==
        flag +
            "iota: the module has 64 devices, v7x:4x4x4 has 64 chips of 2 "
            "devices each, 128 together; pass --slice with 32 chips, for "
            "example v7x:2x4x4 or v5p:4x4x4");
  CHECK(AssignError("iota", "v7x:2x2x1", 7) ==
        flag +
            "iota: the module has 7 devices, v7x:2x2x1 has 4 chips of 2 "
            "devices each, 8 together; pass --slice with 7 devices");
  CHECK(AssignError("iota", "v5e:4x4", 16, 3) ==
        flag +
            "iota: expected the devices to be replicas x partitions, got 16 "
            "devices and 3 replicas");
  CHECK(AssignError("mesh_utils:2x8", "v5e:4x4", 16) ==
        flag +
            "mesh_utils:2x8: no whole axes of the slice make up axis 1 (8) "
            "of the mesh 2x8; left: x=4, y=4. JAX refuses this mesh too, "
            "unless allow_split_physical_axes=True, which is not modelled: "
            "list the chips of mesh.devices.flat in a "
            "podsim-device-assignment/1 file and pass that");
  CHECK(AssignError("mesh_utils:2x8x4", "v5p:4x4x4", 64)
            .find("axis 1 (8) of the mesh 2x8x4; left: y=4, z=4. ") !=
        std::string::npos);
  CHECK(AssignError("mesh_utils:4x8", "v5e:4x4", 16) ==
        flag +
            "mesh_utils:4x8: the mesh 4x8 has 32 entries, the module has 16 "
            "devices; pass the shape given to JAX's create_device_mesh");
  CHECK(AssignError("mesh_utils:4x4", "v5e:4x4", 16, 2) ==
        flag +
            "mesh_utils:4x4: the module has 2 replicas, and JAX's meshes "
            "are of partitions (replica_count=1); pass iota or a "
            "podsim-device-assignment/1 file");
  CHECK(AssignError("mesh_utils:8", "topologies/ring-of-8-uneven.json", 8) ==
        flag +
            "mesh_utils:8: the slice is a list of links without axes; pass "
            "iota or a podsim-device-assignment/1 file");
  for (const std::string bad : {"mesh_utils:", "mesh_utils:4x", "mesh_utils:0",
                                "mesh_utils:4*4", "mesh_utils:-4"}) {
    CHECK(AssignError(bad, "v5e:4x4", 16) ==
          flag + bad +
              ": expected the logical mesh as sizes joined by x, for example "
              "mesh_utils:16x8, got \"" +
              bad.substr(11) + "\"");
  }
  CHECK(AssignError("mesh_utils:99999999999x99999999999", "v5e:4x4", 16) !=
        "no error");
  CHECK(AssignError("itoa", "v5e:4x4", 16) ==
        flag +
            "itoa: expected iota, mesh_utils:SHAPE (for example "
            "mesh_utils:16x8) or the path of a podsim-device-assignment/1 "
            "file, got \"itoa\"");
  CHECK(AssignError("no/such.json", "v5e:4x4", 16).find("no/such.json") !=
        std::string::npos);
}

TEST_CASE("bad device assignment files are refused at the pointer",
          "[workload]") {
  const auto error = [](const std::string& text, const std::string& slice,
                        int devices) {
    const TemporaryFile file("assignment-bad.json", text);
    const std::string what = AssignError(file.path(), slice, devices);
    return what.starts_with(file.path()) ? what.substr(file.path().size())
                                         : what;
  };
  CHECK(
      error(R"({"format": "podsim-topology/1", "chips": [0]})", "v5e:1x1", 1) ==
      ": /format: expected \"podsim-device-assignment/1\", got "
      "\"podsim-topology/1\"");
  CHECK(error(R"({"format": "podsim-device-assignment/1", "chip": [0]})",
              "v5e:1x1", 1)
            .starts_with(": /chip: unknown key"));
  CHECK(error(FileText(""), "v5e:1x1", 1) ==
        ": /chips: expected at least one chip");
  CHECK(error(FileText("0, 1, 2"), "v5e:2x2", 4) ==
        ": /chips: lists 3 chips, the module has 4 devices; list the chip of "
        "every one");
  CHECK(error(FileText("0, 1, 2, 2"), "v5e:2x2", 4) ==
        ": /chips/3: chip 2 of v5e:2x2 has 1 device and stands 2 times; every "
        "chip has its place once per device");
  CHECK(error(FileText("0, 1, 1, 1"), "v3:2x1", 4) ==
        ": /chips/3: chip 1 of v3:2x1 has 2 devices and stands 3 times; every "
        "chip has its place once per device");
  CHECK(error(FileText("0, 1, 2, 4"), "v5e:2x2", 4)
            .starts_with(": /chips/3: expected "));
  CHECK(error(FileText("0, 1, 2, \"3\""), "v5e:2x2", 4)
            .starts_with(": /chips/3: expected "));
}

}  // namespace
}  // namespace podsim
