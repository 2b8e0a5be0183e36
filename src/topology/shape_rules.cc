#include "topology/shape_rules.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <tuple>

#include "base/text.h"

namespace podsim {
namespace {

constexpr int kCube = 4;  // v4, v5p, v7x: wraps come with whole 4x4x4 cubes

std::int64_t Product(const Shape& shape) {
  std::int64_t product = 1;
  for (const int size : shape) {
    product *= size;
    if (product > (std::int64_t{1} << 40)) return product;
  }
  return product;
}

bool AllMultiplesOfCube(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](int size) { return size % kCube == 0; });
}

bool InsideCube(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int size) {
    return size == 1 || size == 2 || size == kCube;
  });
}

// The sizes that an axis of `size` may be rounded to, itself included.
std::set<int> Candidates(const Generation& generation, int axis, int size) {
  std::set<int> sizes = {size};
  switch (generation.rule) {
    case ShapeRule::kCubes: {
      for (const int small : {1, 2, kCube}) {
        if (small <= size) sizes.insert(small);
        if (small >= size) {
          sizes.insert(small);
          break;
        }
      }
      const int down = size / kCube * kCube;
      const int up = (size + kCube - 1) / kCube * kCube;
      for (const int cubes : {down, up, down + kCube}) {
        if (cubes > 0) sizes.insert(cubes);
      }
      break;
    }
    case ShapeRule::kListed:
      for (const Shape& shape : generation.shapes) {
        sizes.insert(shape.begin(), shape.end());
      }
      break;
    case ShapeRule::kGrid:
      sizes.insert(std::min(size, generation.max_shape[axis]));
      break;
    case ShapeRule::kAny:
      break;
  }
  return sizes;
}

// Every shape built from one candidate per axis.
std::vector<Shape> Combine(const std::vector<std::set<int>>& choices) {
  std::vector<Shape> shapes = {{}};
  for (const std::set<int>& sizes : choices) {
    std::vector<Shape> longer;
    for (const Shape& shape : shapes) {
      for (const int size : sizes) {
        longer.push_back(shape);
        longer.back().push_back(size);
      }
    }
    shapes = std::move(longer);
  }
  return shapes;
}

std::tuple<int, std::int64_t, Shape> Distance(const Shape& from,
                                              const Shape& to) {
  int changed = 0;
  std::int64_t total = 0;
  for (std::size_t a = 0; a < from.size(); ++a) {
    if (from[a] != to[a]) ++changed;
    total += std::abs(from[a] - to[a]);
  }
  return {changed, total, to};
}

// n,n,2n and n,2n,2n (or n,2n) in every order; n from 2 on `ideal`, else a
// multiple of the cube.
std::vector<Shape> TwistedShapes(const Generation& generation,
                                 std::size_t axes) {
  std::vector<Shape> shapes;
  const bool any = generation.rule == ShapeRule::kAny;
  for (int n = any ? 2 : kCube; n <= 64; n += any ? 1 : kCube) {
    for (std::size_t longer = 1; longer < axes; ++longer) {
      Shape shape(axes, n);
      for (std::size_t a = axes - longer; a < axes; ++a) shape[a] = 2 * n;
      do {
        if (IsTwistable(generation, shape)) shapes.push_back(shape);
      } while (std::next_permutation(shape.begin(), shape.end()));
    }
  }
  return shapes;
}

}  // namespace

std::string ToText(const Shape& shape) {
  std::vector<std::string> parts;
  for (const int size : shape) parts.push_back(std::to_string(size));
  return Join(parts, "x");
}

std::optional<Shape> ParseShape(const std::string& text) {
  Shape shape;
  for (const std::string& part : Split(text, 'x')) {
    int size = 0;
    const auto [end, error] =
        std::from_chars(part.data(), part.data() + part.size(), size);
    if (error == std::errc::result_out_of_range)
      size = 1 << 30;
    else if (error != std::errc())
      return std::nullopt;
    if (part.empty() || end != part.data() + part.size()) return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

bool IsLegal(const Generation& generation, const Shape& shape) {
  if (shape.empty() || static_cast<int>(shape.size()) > generation.axes) {
    return false;
  }
  for (const int size : shape) {
    if (size < 1) return false;
  }
  if (generation.max_chips > 0 && Product(shape) > generation.max_chips) {
    return false;
  }
  switch (generation.rule) {
    case ShapeRule::kCubes:
      return InsideCube(shape) || AllMultiplesOfCube(shape);
    case ShapeRule::kListed: {
      Shape sorted = shape;
      std::sort(sorted.begin(), sorted.end());
      return std::find(generation.shapes.begin(), generation.shapes.end(),
                       sorted) != generation.shapes.end();
    }
    case ShapeRule::kGrid:
      for (std::size_t a = 0; a < shape.size(); ++a) {
        if (shape[a] > generation.max_shape[a]) return false;
      }
      return true;
    case ShapeRule::kAny:
      return true;
  }
  return false;
}

bool IsTwistable(const Generation& generation, const Shape& shape) {
  if (!IsLegal(generation, shape) || shape.size() < 2) return false;
  const auto [least, most] = std::minmax_element(shape.begin(), shape.end());
  if (*least < 2 || *most != 2 * *least) return false;
  for (const int size : shape) {
    if (size != *least && size != *most) return false;
  }
  if (generation.rule == ShapeRule::kAny) return true;
  return generation.rule == ShapeRule::kCubes && *least % kCube == 0;
}

std::vector<bool> DefaultWrap(const Generation& generation,
                              const Shape& shape) {
  std::vector<bool> wrap(shape.size(), false);
  for (std::size_t a = 0; a < shape.size(); ++a) {
    switch (generation.rule) {
      case ShapeRule::kCubes:
        wrap[a] = AllMultiplesOfCube(shape);
        break;
      case ShapeRule::kListed:
        wrap[a] = shape[a] == generation.wrap_size;
        break;
      case ShapeRule::kGrid:
        wrap[a] = shape[a] == generation.max_shape[a] && shape[a] > 2;
        break;
      case ShapeRule::kAny:
        wrap[a] = shape[a] > 2;
        break;
    }
  }
  return wrap;
}

std::vector<Shape> LegalNear(const Generation& generation, const Shape& shape,
                             bool twisted, std::size_t most) {
  Shape padded = shape;
  if (generation.rule != ShapeRule::kAny) padded.resize(generation.axes, 1);
  std::vector<Shape> near;
  if (twisted) {
    if (padded.size() < 2) padded.resize(2, 1);
    near = TwistedShapes(generation, padded.size());
  } else {
    std::vector<std::set<int>> choices;
    for (std::size_t a = 0; a < padded.size(); ++a) {
      choices.push_back(Candidates(generation, static_cast<int>(a), padded[a]));
    }
    for (const Shape& candidate : Combine(choices)) {
      if (IsLegal(generation, candidate)) near.push_back(candidate);
    }
  }
  std::sort(near.begin(), near.end(), [&](const Shape& a, const Shape& b) {
    return Distance(padded, a) < Distance(padded, b);
  });
  if (near.size() > most) near.resize(most);
  return near;
}

}  // namespace podsim
