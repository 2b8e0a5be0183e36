#ifndef PODSIM_TEST_SUPPORT_RANDOM_SLICES_H_
#define PODSIM_TEST_SUPPORT_RANDOM_SLICES_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "topology/slice.h"

namespace podsim {

// Relative to the larger of the two.
inline bool Near(double value, double expected, double tolerance = 1e-9) {
  return std::abs(value - expected) <=
         tolerance * std::max(std::abs(value), std::abs(expected));
}

// Numbers that are the same on every machine; tests print the seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // Both ends included.
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    const auto width = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(engine_() % width);
  }
  int Int(int low, int high) { return static_cast<int>(Between(low, high)); }
  bool OneIn(int chances) { return Int(1, chances) == 1; }
  double Unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // 10^low .. 10^high, every decade as likely.
  double Decades(double low, double high) {
    return std::pow(10.0, low + (high - low) * Unit());
  }
  template <class Container>
  auto Pick(const Container& from) {
    return from[static_cast<std::size_t>(
        Between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
  template <class Item>
  Item Pick(std::initializer_list<Item> from) {
    return Pick(std::vector<Item>(from));
  }
  template <class Container>
  void Shuffle(Container& items) {
    for (std::size_t k = items.size(); k > 1; --k) {
      std::swap(items[k - 1], items[static_cast<std::size_t>(Between(
                                  0, static_cast<std::int64_t>(k) - 1))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

// B, alpha and o of a test slice.
struct Rates {
  double bandwidth = 1e9;
  double alpha = 0;
  double overhead = 0;
};

// A grid of generation `ideal` whose axes wrap exactly as told (axes of one
// chip never do), under the name that MakeSlice knows it by.
inline Slice MakeGridOf(const Shape& shape, const std::vector<bool>& wrap,
                        const Rates& rates = {}, bool twisted = false) {
  static constexpr char kLetters[] = "xyz";
  std::vector<GridAxis> axes;
  std::string wrapped;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    axes.push_back({.size = shape[a], .wrap = wrap[a] && shape[a] > 1});
    if (axes[a].wrap) wrapped += kLetters[a];
  }
  Parameters parameters;
  parameters.ici_bandwidth = BytesPerSecond(rates.bandwidth);
  parameters.ici_hop_latency = Seconds(rates.alpha);
  parameters.ici_message_overhead = Seconds(rates.overhead);
  const std::string modifier = twisted           ? ":twisted"
                               : wrapped.empty() ? ":mesh"
                                                 : ":wrap=" + wrapped;
  return {
      .spec = "ideal:" + ToText(shape) + modifier,
      .generation = "ideal",
      .shape = shape,
      .topology = Topology::MakeGrid(axes, twisted, parameters.ici_bandwidth,
                                     parameters.ici_hop_latency),
      .parameters = parameters,
      .warnings = {}};
}

inline Slice MakeTorus(const Shape& shape, const Rates& rates = {}) {
  return MakeGridOf(shape, std::vector<bool>(shape.size(), true), rates);
}
inline Slice MakeMesh(const Shape& shape, const Rates& rates = {}) {
  return MakeGridOf(shape, std::vector<bool>(shape.size(), false), rates);
}
inline Slice MakeTwisted(const Shape& shape, const Rates& rates = {}) {
  return MakeGridOf(shape, std::vector<bool>(shape.size(), true), rates,
                    /*twisted=*/true);
}

// So many of this slice, joined over DCN; every host a block of chips.
inline Slice MakeSlices(Slice slice, int slices, double dcn_bandwidth,
                        double dcn_latency,
                        std::array<int, 3> host = {1, 1, 1}) {
  std::vector<GridAxis> axes = slice.topology.axes();
  axes.push_back({.size = slices, .wrap = false, .ici = false});
  slice.topology = Topology::MakeGrid(axes, slice.topology.twisted(),
                                      slice.topology.base_bandwidth(),
                                      slice.topology.base_latency());
  slice.topology.SetDcn({.bandwidth = BytesPerSecond(dcn_bandwidth),
                         .latency = Seconds(dcn_latency),
                         .host = host});
  return slice;
}

inline int ChipsOf(const Shape& shape) {
  int chips = 1;
  for (const int size : shape) chips *= size;
  return chips;
}

// Every shape of 1 to 3 axes of at least 2 chips each, in all orders, with at
// most `max_chips` chips.
inline std::vector<Shape> AllShapes(int max_chips) {
  std::vector<Shape> shapes;
  for (int x = 2; x <= max_chips; ++x) {
    shapes.push_back({x});
    for (int y = 2; x * y <= max_chips; ++y) {
      shapes.push_back({x, y});
      for (int z = 2; x * y * z <= max_chips; ++z) shapes.push_back({x, y, z});
    }
  }
  return shapes;
}

// Every choice of wrapped axes.
inline std::vector<std::vector<bool>> AllWraps(const Shape& shape) {
  std::vector<std::vector<bool>> wraps;
  for (unsigned bits = 0; bits < 1u << shape.size(); ++bits) {
    std::vector<bool> wrap;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      wrap.push_back((bits >> a & 1) != 0);
    }
    wraps.push_back(wrap);
  }
  return wraps;
}

// Every choice of at least one axis, ascending.
inline std::vector<std::vector<int>> AllAxisSubsets(std::size_t axes) {
  std::vector<std::vector<int>> subsets;
  for (unsigned bits = 1; bits < 1u << axes; ++bits) {
    std::vector<int> subset;
    for (std::size_t a = 0; a < axes; ++a) {
      if ((bits >> a & 1) != 0) subset.push_back(static_cast<int>(a));
    }
    subsets.push_back(subset);
  }
  return subsets;
}

inline std::vector<bool> RandomWrap(Random& random, const Shape& shape) {
  std::vector<bool> wrap;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    wrap.push_back(random.OneIn(2));
  }
  return wrap;
}

// 1 to 3 axes, sizes from 1 on, a number of chips in the range.
inline Shape RandomShape(Random& random, int min_chips, int max_chips) {
  for (;;) {
    Shape shape(static_cast<std::size_t>(random.Int(1, 3)));
    int left = max_chips;
    for (int& size : shape) {
      // Small axes are more likely, or the others would have size 1.
      size = random.Int(1, random.Int(1, left));
      left /= size;
    }
    random.Shuffle(shape);
    if (ChipsOf(shape) >= min_chips) return shape;
  }
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_RANDOM_SLICES_H_
