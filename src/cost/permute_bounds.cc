#include "cost/permute_bounds.h"

#include <algorithm>
#include <cstdlib>

#include "collective/groups.h"
#include "cost/cut.h"
#include "topology/distance.h"

namespace podsim {
namespace {

// Longer axes are cut at this many places only; a bound all the same.
constexpr int kMostCuts = 256;

class PermuteBoundFinder {
 public:
  PermuteBoundFinder(const Collective& collective, const Slice& slice)
      : collective_(collective),
        topology_(slice.topology),
        pairs_(PairsOf(collective, slice.topology)),
        payload_(static_cast<double>(collective.payload.value())),
        overhead_(slice.parameters.ici_message_overhead.value()),
        alpha_(SmallestLatency(slice.topology)) {}

  Bounds Find() {
    if (pairs_.empty() || payload_ == 0) return {{{"none", Seconds(0)}}};
    if (SpansSlices(collective_, topology_)) return FindOverDcn();
    MeasureHops();
    bounds_.components.push_back(
        {"latency", Seconds(overhead_ + alpha_ * farthest_)});
    AddChip();
    if (topology_.is_grid()) {
      for (int axis = 0; axis < topology_.ici_axes(); ++axis) AddSlab(axis);
      if (HasBorders(topology_) && topology_.chips() <= kMostBoxChips) {
        AddBoxes();
      }
    }
    Add("distance",
        payload_ * hops_ /
            CapacityAround(ChipSet(topology_.chips(), true), topology_).inside);
    AddShift();
    return std::move(bounds_);
  }

 private:
  // Between slices: the latency of DCN, and what a chip's links and the NIC of
  // its host carry, or the NICs of a slice.
  Bounds FindOverDcn() {
    const double dcn = topology_.dcn()->latency.value();
    bounds_.components.push_back({"latency", Seconds(overhead_ + dcn)});
    alpha_ = std::min(alpha_, dcn);
    AddChip(/*with_ports=*/true);
    std::vector<double> out(topology_.slices()), in(topology_.slices());
    for (const ChipPair& pair : pairs_) {
      const int from = topology_.SliceOf(pair.from);
      const int to = topology_.SliceOf(pair.to);
      if (from == to) continue;
      out[from] += payload_;
      in[to] += payload_;
    }
    const double rate = topology_.chips() / topology_.slices() *
                        topology_.dcn()->bandwidth.value();
    CutFamily family;
    for (int slice = 0; slice < topology_.slices(); ++slice) {
      family.Consider(out[slice], rate);
      family.Consider(in[slice], rate);
    }
    Add("dcn", family);
    return std::move(bounds_);
  }

  void Add(const std::string& name, double seconds) {
    bounds_.components.push_back({name, Seconds(overhead_ + alpha_ + seconds)});
  }
  void Add(const std::string& name, const CutFamily& family) {
    if (family.present()) Add(name, family.seconds());
  }

  bool Plain() const {
    return topology_.is_grid() && topology_.healthy() && !topology_.twisted();
  }

  int PlainHops(const ChipPair& pair) const {
    const Coordinates from = topology_.CoordinatesOf(pair.from);
    const Coordinates to = topology_.CoordinatesOf(pair.to);
    int hops = 0;
    for (int axis = 0; axis < topology_.ici_axes(); ++axis) {
      const GridAxis& along = topology_.axes()[axis];
      const int apart = std::abs(to[axis] - from[axis]);
      hops += along.wrap ? std::min(apart, along.size - apart) : apart;
    }
    return hops;
  }

  void MeasureHops() {
    for (const ChipPair& pair : pairs_) {
      const int hops = Plain()
                           ? PlainHops(pair)
                           : HopsFrom(topology_, pair.from)[pair.to.value()];
      farthest_ = std::max(farthest_, hops);
      hops_ += hops;
    }
  }

  void AddChip(bool with_ports = false) {
    std::vector<double> out(topology_.chips()), in(topology_.chips());
    topology_.ForEachLiveLink([&](LinkId link) {
      out[topology_.Source(link).value()] += topology_.Bandwidth(link).value();
      in[topology_.Target(link).value()] += topology_.Bandwidth(link).value();
    });
    CutFamily family;
    for (const ChipPair& pair : pairs_) {
      if (with_ports) {
        const double rate =
            topology_.Bandwidth(topology_.PortOut(pair.from)).value();
        family.Consider(payload_, out[pair.from.value()] + rate);
        family.Consider(payload_, in[pair.to.value()] + rate);
        continue;
      }
      family.Consider(payload_, out[pair.from.value()]);
      family.Consider(payload_, in[pair.to.value()]);
    }
    Add("chip", family);
  }

  void ConsiderSet(const ChipSet& set, CutFamily& family) const {
    double out = 0, in = 0;
    for (const ChipPair& pair : pairs_) {
      const bool from = set[pair.from.value()];
      const bool to = set[pair.to.value()];
      if (from && !to) out += payload_;
      if (!from && to) in += payload_;
    }
    const CutCapacity capacity = CapacityAround(set, topology_);
    family.Consider(out, capacity.out);
    family.Consider(in, capacity.in);
  }

  void AddSlab(int axis) {
    CutFamily family;
    if (topology_.twisted()) {
      ForEachSlab(topology_, axis,
                  [&](const ChipSet& set) { ConsiderSet(set, family); });
    } else {
      ConsiderArcs(axis, family);
    }
    Add("slab:" + AxisName(topology_, axis), family);
  }

  // Arcs of consecutive coordinates grown place by place: what crosses follows
  // from how many pairs go from one coordinate to another.
  void ConsiderArcs(int axis, CutFamily& family) const {
    const GridAxis& along = topology_.axes()[axis];
    const int n = along.size;
    const int skip = (n + kMostCuts - 1) / kMostCuts;
    std::vector<std::vector<double>> bytes(n, std::vector<double>(n));
    for (const ChipPair& pair : pairs_) {
      bytes[topology_.CoordinatesOf(pair.from)[axis]]
           [topology_.CoordinatesOf(pair.to)[axis]] += payload_;
    }
    // Rates from a coordinate to the next one up and down.
    std::vector<double> up(n), down(n);
    topology_.ForEachLiveLink([&](LinkId link) {
      if (topology_.AxisOf(link) != axis) return;
      const int at = topology_.CoordinatesOf(topology_.Source(link))[axis];
      (topology_.SignOf(link) == Sign::kPlus ? up : down)[at] +=
          topology_.Bandwidth(link).value();
    });
    for (int first = 0; first < (along.wrap ? n : 1); first += skip) {
      std::vector<bool> inside(n);
      double out = 0, in = 0;
      for (int length = 1; length < n; ++length) {
        const int last = (first + length - 1) % n;
        for (int other = 0; other < n; ++other) {
          if (other == last) continue;
          // Was crossing, is not any more; or the other way round.
          out += inside[other] ? -bytes[other][last] : bytes[last][other];
          in += inside[other] ? -bytes[last][other] : bytes[other][last];
        }
        inside[last] = true;
        const int before = (first + n - 1) % n;
        const int next = (last + 1) % n;
        family.Consider(out, up[last] + down[first]);
        family.Consider(in, down[next] + (along.wrap ? up[before] : 0));
      }
    }
  }

  void AddBoxes() {
    CutFamily family;
    ForEachBox(topology_,
               [&](const ChipSet& set) { ConsiderSet(set, family); });
    Add("box", family);
  }

  void AddShift() {
    if (!collective_.shift || !Plain()) return;
    const auto [axis, by] = *collective_.shift;
    const GridAxis& along = topology_.axes()[axis];
    if (!along.wrap) return;
    const double n = along.size;
    Add("shift",
        by * (n - by) / n * payload_ / topology_.base_bandwidth().value());
  }

  const Collective& collective_;
  const Topology& topology_;
  std::vector<ChipPair> pairs_;
  double payload_;
  double overhead_;  // o
  double alpha_;
  double hops_ = 0;  // of all pairs
  int farthest_ = 0;
  Bounds bounds_;
};

}  // namespace

Bounds ComputePermuteBounds(const Collective& collective, const Slice& slice) {
  return PermuteBoundFinder(collective, slice).Find();
}

}  // namespace podsim
