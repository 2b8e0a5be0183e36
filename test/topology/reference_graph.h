#ifndef PODSIM_TEST_TOPOLOGY_REFERENCE_GRAPH_H_
#define PODSIM_TEST_TOPOLOGY_REFERENCE_GRAPH_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace podsim {

// Slices as plain adjacency lists, derived from the rules alone: the oracle of
// neighbours, distances and routes. Nothing here asks Topology for a link.

struct ReferenceStep {
  int to;
  int axis;
  bool plus;
};
using ReferenceGraph = std::vector<std::vector<ReferenceStep>>;

struct GridShape {
  std::vector<GridAxis> axes;
  bool twisted = false;
};

inline int Chips(const GridShape& shape) {
  int chips = 1;
  for (const GridAxis& axis : shape.axes) chips *= axis.size;
  return chips;
}

inline Topology Built(const GridShape& shape) {
  return Topology::MakeGrid(shape.axes, shape.twisted, BytesPerSecond(100e9),
                            Seconds(1e-6));
}

// A twisted or plain torus of these sizes.
inline GridShape Torus(const std::vector<int>& sizes, bool twisted = false) {
  GridShape shape;
  for (const int size : sizes) {
    shape.axes.push_back({.size = size, .wrap = true});
  }
  shape.twisted = twisted;
  return shape;
}

inline GridShape Mesh(const std::vector<int>& sizes) {
  GridShape shape;
  for (const int size : sizes) shape.axes.push_back({.size = size});
  return shape;
}

// x fastest. Inside the axis: the chip beside. Over the end of a wrapped axis
// of size n > 1: the other end; on a twisted torus n is added to every
// coordinate, each modulo its own size.
inline ReferenceGraph ReferenceGrid(const GridShape& shape) {
  const int axes = static_cast<int>(shape.axes.size());
  ReferenceGraph graph(Chips(shape));
  for (int chip = 0; chip < Chips(shape); ++chip) {
    std::vector<int> at;
    for (int rest = chip; const GridAxis& axis : shape.axes) {
      at.push_back(rest % axis.size);
      rest /= axis.size;
    }
    for (int axis = 0; axis < axes; ++axis) {
      if (!shape.axes[axis].ici) continue;
      const int size = shape.axes[axis].size;
      for (const bool plus : {true, false}) {
        std::vector<int> next = at;
        next[axis] += plus ? 1 : -1;
        if (next[axis] < 0 || next[axis] == size) {
          if (!shape.axes[axis].wrap || size == 1) continue;
          for (int b = 0; b < axes; ++b) {
            const int own = shape.axes[b].size;
            const bool shifts =
                b == axis || (shape.twisted && shape.axes[b].ici);
            if (shifts) next[b] = (next[b] + size) % own;
          }
        }
        int to = 0;
        for (int b = axes - 1; b >= 0; --b) {
          to = to * shape.axes[b].size + next[b];
        }
        graph[chip].push_back({to, axis, plus});
      }
    }
  }
  return graph;
}

// -1: no way.
inline std::vector<int> ReferenceHops(const ReferenceGraph& graph, int from) {
  std::vector<int> hops(graph.size(), -1);
  std::vector<int> queue = {from};
  hops[from] = 0;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const ReferenceStep& step : graph[queue[k]]) {
      if (hops[step.to] >= 0) continue;
      hops[step.to] = hops[queue[k]] + 1;
      queue.push_back(step.to);
    }
  }
  return hops;
}

// Random slices of at most `most` chips: 1 to 3 axes of 1 to 8 chips, any
// wraps; one in four is a twisted torus.
class ShapeSource {
 public:
  explicit ShapeSource(std::uint32_t seed) : random_(seed) {}

  int Below(int bound) {
    return static_cast<int>(random_() % static_cast<std::uint32_t>(bound));
  }
  bool Chance(int one_in) { return Below(one_in) == 0; }

  GridShape Draw(int most) {
    while (true) {
      const GridShape shape = Chance(4) ? Twisted() : Plain();
      if (Chips(shape) <= most) return shape;
    }
  }

 private:
  GridShape Plain() {
    GridShape shape;
    for (int left = 1 + Below(3); left > 0; --left) {
      shape.axes.push_back({.size = 1 + Below(8), .wrap = Chance(2)});
    }
    return shape;
  }
  GridShape Twisted() {
    const int small = 2 + Below(3);
    std::vector<int> sizes = {small, 2 * small};
    if (Chance(2)) sizes.push_back(Chance(2) ? small : 2 * small);
    std::shuffle(sizes.begin(), sizes.end(), random_);
    return Torus(sizes, /*twisted=*/true);
  }

  std::mt19937 random_;
};

// "4w x 2 x 8w twisted", for CAPTURE.
inline std::string Described(const GridShape& shape) {
  std::string text;
  for (const GridAxis& axis : shape.axes) {
    if (!text.empty()) text += " x ";
    text += std::to_string(axis.size) + (axis.wrap ? "w" : "");
  }
  return text + (shape.twisted ? " twisted" : "");
}

}  // namespace podsim

#endif  // PODSIM_TEST_TOPOLOGY_REFERENCE_GRAPH_H_
