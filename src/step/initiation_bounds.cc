#include <algorithm>
#include <string>
#include <vector>

#include "step/loops.h"
#include "step/order_edges.h"

namespace podsim {
namespace {

struct CycleEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double length = 0;  // from the begin of `from` to the begin of `to`
  std::int64_t distance = 0;
};

// Edges of one iteration in topological order of their sources, then carries.
std::vector<CycleEdge> MakeCycleEdges(const LoopStep& loop) {
  const OrderEdges order = MakeOrderEdges(loop.body);
  std::vector<CycleEdge> edges;
  for (const std::uint32_t op : TopologicalOrder(loop.body, order)) {
    const AbstractOp& from = loop.body.ops[op];
    for (const std::uint32_t next : order.after[op]) {
      const bool arrives = loop.body.ops[next].of == op;
      edges.push_back(
          {.from = op,
           .to = next,
           .length = FullSpeedTime(from) + (arrives ? TransferTime(from) : 0)});
    }
  }
  for (const LoopCarry& carry : loop.carries) {
    edges.push_back({.from = carry.from,
                     .to = carry.to,
                     .length = FullSpeedTime(loop.body.ops[carry.from]),
                     .distance = carry.distance});
  }
  return edges;
}

// Walks of length - ratio x distance, as long as they grow.
class GrowingWalks {
 public:
  GrowingWalks(std::size_t ops, const std::vector<CycleEdge>& edges)
      : edges_(edges), longest_(ops), last_edge_(ops) {}

  // The ratio of a circle above `ratio`, or `ratio` if there is none.
  double LargerRatio(double ratio) {
    std::fill(longest_.begin(), longest_.end(), 0);
    std::fill(last_edge_.begin(), last_edge_.end(), kNone);
    while (Grow(ratio)) {
      const double circle = RatioOfCircle();
      // Rounding alone may close circles that are no longer than the last.
      if (circle >= 0) return std::max(ratio, circle);
    }
    return ratio;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  bool Grow(double ratio) {
    bool grown = false;
    for (std::size_t k = 0; k < edges_.size(); ++k) {
      const CycleEdge& edge = edges_[k];
      const double length = longest_[edge.from] + edge.length -
                            ratio * static_cast<double>(edge.distance);
      if (length <= longest_[edge.to] * (1 + 1e-12)) continue;
      longest_[edge.to] = length;
      last_edge_[edge.to] = k;
      grown = true;
    }
    return grown;
  }

  // Of a circle of last edges; -1: they form none.
  double RatioOfCircle() const {
    std::vector<std::uint32_t> walk(longest_.size(), kNoOp);
    for (std::uint32_t op = 0; op < walk.size(); ++op) {
      std::uint32_t at = op;
      while (walk[at] == kNoOp) {
        walk[at] = op;
        if (last_edge_[at] == kNone) break;
        at = edges_[last_edge_[at]].from;
      }
      if (last_edge_[at] != kNone && walk[at] == op) return RatioFrom(at);
    }
    return -1;
  }

  double RatioFrom(std::uint32_t op) const {
    double length = 0;
    double distance = 0;
    std::uint32_t at = op;
    do {
      const CycleEdge& edge = edges_[last_edge_[at]];
      length += edge.length;
      distance += static_cast<double>(edge.distance);
      at = edge.from;
    } while (at != op);
    return length / distance;
  }

  const std::vector<CycleEdge>& edges_;
  std::vector<double> longest_;
  std::vector<std::size_t> last_edge_;
};

double Recurrence(const LoopStep& loop) {
  const std::vector<CycleEdge> edges = MakeCycleEdges(loop);
  GrowingWalks walks(loop.body.ops.size(), edges);
  double ratio = 0;
  for (;;) {
    const double larger = walks.LargerRatio(ratio);
    if (larger <= ratio) return ratio;
    ratio = larger;
  }
}

double FifoLoad(const AbstractStep& step, std::uint32_t resource) {
  double load = 0;
  for (const AbstractOp& op : step.ops) {
    if (!HasTransfer(op)) continue;
    for (const ResourceUse& use : op.use) {
      if (use.resource == resource) load += TransferTime(op);
    }
  }
  return load;
}

}  // namespace

Bounds InitiationBounds(const LoopStep& loop) {
  Bounds bounds;
  const auto add = [&](const std::string& name, double seconds) {
    bounds.components.push_back({.name = name, .time = Seconds(seconds)});
  };
  double core = 0;
  for (const AbstractOp& op : loop.body.ops) core += FullSpeedTime(op);
  add("tensorcore", core);
  for (std::uint32_t k = 0; k < loop.body.resources.size(); ++k) {
    const StepResource& resource = loop.body.resources[k];
    if (resource.mode != ResourceMode::kFifo) continue;
    add("fifo:" + resource.name, FifoLoad(loop.body, k));
  }
  add("recurrence", Recurrence(loop));
  return bounds;
}

}  // namespace podsim
