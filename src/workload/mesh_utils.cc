// The order of devices that JAX's mesh_utils.create_device_mesh gives.
#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "workload/device_assignment.h"

namespace podsim {
namespace {

// Rings through all chips of small slices, as positions in the list of devices
// sorted by z, y, x. Source: jax-ml/jax, jax/_src/mesh_utils.py (2026-08-08).
constexpr int kTwoByTwo[] = {0, 1, 3, 2};
constexpr int kTwoByFour[] = {0, 1, 2, 3, 7, 6, 5, 4};
constexpr int kFourByFour[] = {0,  1,  2,  3,  7,  6,  5, 9,
                               10, 11, 15, 14, 13, 12, 8, 4};
constexpr int kCube[] = {0, 1, 3, 2, 6, 7, 5, 4};  // 2x2x2
// Two devices per chip: the four chips of a tray around.
constexpr int kTray[] = {0, 1, 2, 3, 6, 7, 4, 5};
constexpr int kMostTrayDevices = 32;  // of v7x

int Product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
}

Shape WithoutOnes(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

// The ring again and again until `count` devices are listed.
std::vector<int> Repeated(std::span<const int> ring, int count) {
  const int length = static_cast<int>(ring.size());
  std::vector<int> order;
  for (int k = 0; k < count; ++k) {
    order.push_back(k / length * length + ring[k % length]);
  }
  return order;
}

// Empty: this slice has no order of its own.
std::vector<int> SmallOrder(const std::string& generation, const Shape& slice,
                            const Shape& mesh) {
  const int chips = Product(slice);
  const int devices = chips * DevicesPerChip(generation);
  if (generation == "v5e" || generation == "v6e") {
    const Shape shape = WithoutOnes(slice);
    if (shape == Shape{2, 2}) return Repeated(kTwoByTwo, devices);
    if (devices == 8) return Repeated(kTwoByFour, devices);
    // Only where one logical axis takes all of them.
    if (shape == Shape{4, 4} && *std::ranges::max_element(mesh) == devices) {
      return Repeated(kFourByFour, devices);
    }
  } else if (generation == "v5p") {
    if (slice == Shape{2, 2, 2}) return Repeated(kCube, devices);
  } else if (generation == "v2" || generation == "v3") {
    if (devices == 8) return Repeated(kTray, devices);
  } else if (generation == "v7x") {
    if (devices <= kMostTrayDevices && devices % 8 == 0 && slice[0] <= 2 &&
        (slice.size() < 2 || slice[1] <= 2)) {
      return Repeated(kTray, devices);
    }
  }
  return {};
}

// The next combination of as many of `count` things, in the order of Python's
// itertools.combinations; false after the last.
bool NextCombination(std::vector<int>& chosen, int count) {
  const int size = static_cast<int>(chosen.size());
  int k = size - 1;
  while (k >= 0 && chosen[k] == count - size + k) --k;
  if (k < 0) return false;
  ++chosen[k];
  for (int next = k + 1; next < size; ++next) {
    chosen[next] = chosen[next - 1] + 1;
  }
  return true;
}

// The axes of the slice (free ones; the others have size 0) that a logical axis
// takes. Empty: none multiply to its size.
std::vector<int> TakeAxes(const Shape& free, int size) {
  const int count = static_cast<int>(free.size());
  for (int axes = count; axes > 0; --axes) {
    std::vector<int> chosen(axes);
    std::iota(chosen.begin(), chosen.end(), 0);
    do {
      std::int64_t product = 1;
      for (const int axis : chosen) product *= free[axis];
      if (product == size) return chosen;
    } while (NextCombination(chosen, count));
  }
  return {};
}

std::string AxisText(std::size_t axis, std::size_t chip_axes, int size) {
  const std::string name =
      axis < chip_axes ? std::string(1, "xyz"[axis]) : "cores";
  return name + "=" + std::to_string(size);
}

[[noreturn]] void FailToTake(const Shape& free, std::size_t chip_axes,
                             const Shape& mesh, int logical,
                             const std::string& where) {
  std::vector<std::string> left;
  for (std::size_t axis = 0; axis < free.size(); ++axis) {
    if (free[axis] > 1) left.push_back(AxisText(axis, chip_axes, free[axis]));
  }
  throw InputError(
      where,
      "no whole axes of the slice make up axis " + std::to_string(logical) +
          " (" + std::to_string(mesh[logical]) + ") of the mesh " +
          ToText(mesh) + "; " +
          (left.empty() ? "none are left" : "left: " + Join(left, ", ")) +
          ". JAX refuses this mesh too, unless "
          "allow_split_physical_axes=True, which is not modelled: list "
          "the chips of mesh.devices.flat in a "
          "podsim-device-assignment/1 file and pass that");
}

// The axes of the slice, outermost first, in the order of the mesh.
std::vector<int> AssignAxes(const Shape& physical, std::size_t chip_axes,
                            const Shape& mesh, const std::string& where) {
  Shape free = physical;
  std::vector<std::vector<int>> assignment(mesh.size());
  for (int logical = static_cast<int>(mesh.size()) - 1; logical >= 0;
       --logical) {
    assignment[logical] = TakeAxes(free, mesh[logical]);
    if (assignment[logical].empty() && mesh[logical] > 1) {
      FailToTake(free, chip_axes, mesh, logical, where);
    }
    for (const int axis : assignment[logical]) free[axis] = 0;
  }
  std::vector<int> order;
  for (const std::vector<int>& axes : assignment) {
    order.insert(order.end(), axes.begin(), axes.end());
  }
  return order;
}

}  // namespace

std::vector<int> MeshUtilsDevices(const std::string& generation,
                                  const Shape& slice, const Shape& mesh,
                                  const std::string& where) {
  const int cores = DevicesPerChip(generation);
  CHECK(Product(mesh) == Product(slice) * cores)
      << ToText(mesh) << " on " << ToText(slice);
  if (auto order = SmallOrder(generation, slice, mesh); !order.empty()) {
    return order;
  }
  Shape physical = slice;
  std::vector<int> stride = {cores};  // of a device id along every axis
  for (const int size : slice) stride.push_back(stride.back() * size);
  stride.pop_back();
  if (cores > 1) {
    physical.push_back(cores);
    stride.push_back(1);
  }
  // physical.transpose(order).reshape(mesh), flattened: every axis in turn is
  // inner to those before.
  std::vector<int> devices = {0};
  for (const int axis : AssignAxes(physical, slice.size(), mesh, where)) {
    std::vector<int> longer;
    for (const int first : devices) {
      for (int k = 0; k < physical[axis]; ++k) {
        longer.push_back(first + k * stride[axis]);
      }
    }
    devices = std::move(longer);
  }
  return devices;
}

}  // namespace podsim
