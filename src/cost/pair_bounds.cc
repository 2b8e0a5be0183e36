#include "cost/pair_bounds.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "collective/groups.h"
#include "cost/cut.h"
#include "topology/distance.h"

namespace podsim {
namespace {

// Longer axes are cut at this many places only; a bound all the same.
constexpr int kMostCuts = 256;

struct PairBytes {
  ChipId from;
  ChipId to;
  double bytes;
};

// All pairs of different chips with bytes to send, grouped by the sender.
std::vector<PairBytes> PairBytesOf(const Collective& collective,
                                   const Topology& topology) {
  std::vector<PairBytes> pairs;
  const auto add = [&](ChipId from, ChipId to, Bytes bytes) {
    if (from == to || bytes.value() == 0) return;
    pairs.push_back({from, to, static_cast<double>(bytes.value())});
  };
  if (collective.kind == CollectiveKind::kCollectivePermute) {
    for (const ChipPair& pair : PairsOf(collective, topology)) {
      add(pair.from, pair.to, collective.payload);
    }
    return pairs;
  }
  for (const auto& group : GroupsOf(collective, topology)) {
    for (std::size_t from = 0; from < group.size(); ++from) {
      for (std::size_t to = 0; to < group.size(); ++to) {
        add(group[from], group[to], collective.matrix[from][to]);
      }
    }
  }
  return pairs;
}

class PairBoundFinder {
 public:
  PairBoundFinder(const Collective& collective, const Slice& slice)
      : collective_(collective),
        topology_(slice.topology),
        pairs_(PairBytesOf(collective, slice.topology)),
        links_(LiveLinksOf(slice.topology)),
        overhead_(
            StartOf(slice.parameters, SpansSlices(collective, slice.topology))),
        alpha_(SmallestLatency(slice.topology)) {}

  Bounds Find() {
    if (pairs_.empty()) return {{{"none", Seconds(0)}}};
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
    Add("distance", byte_hops_ / TotalCapacity(topology_));
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
    for (const PairBytes& pair : pairs_) {
      const int from = topology_.SliceOf(pair.from);
      const int to = topology_.SliceOf(pair.to);
      if (from == to) continue;
      out[from] += pair.bytes;
      in[to] += pair.bytes;
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

  bool Plain() const { return topology_.plain(); }

  int PlainHops(const PairBytes& pair) const {
    const Coordinates from = topology_.CoordinatesOf(pair.from);
    const Coordinates to = topology_.CoordinatesOf(pair.to);
    int hops = 0;
    for (int axis = 0; axis < topology_.ici_axes(); ++axis) {
      hops += HopsAlong(topology_.axes()[axis], from[axis], to[axis]);
    }
    return hops;
  }

  void MeasureHops() {
    std::vector<int> from_one;
    std::optional<ChipId> one;
    for (const PairBytes& pair : pairs_) {
      if (!Plain() && one != pair.from) {
        from_one = HopsFrom(topology_, pair.from);
        one = pair.from;
      }
      const int hops = Plain() ? PlainHops(pair) : from_one[pair.to.value()];
      farthest_ = std::max(farthest_, hops);
      byte_hops_ += hops * pair.bytes;
    }
  }

  void AddChip(bool with_ports = false) {
    struct Sums {
      double bytes = 0;
      double rate = 0;
    };
    std::vector<Sums> out(topology_.chips()), in(topology_.chips());
    topology_.ForEachLiveLink([&](LinkId link) {
      const double rate = topology_.Bandwidth(link).value();
      out[topology_.Source(link).value()].rate += rate;
      in[topology_.Target(link).value()].rate += rate;
    });
    for (const PairBytes& pair : pairs_) {
      out[pair.from.value()].bytes += pair.bytes;
      in[pair.to.value()].bytes += pair.bytes;
    }
    CutFamily family;
    for (int id = 0; with_ports && id < topology_.chips(); ++id) {
      const ChipId chip(id);
      out[id].rate += topology_.Bandwidth(topology_.PortOut(chip)).value();
      in[id].rate += topology_.Bandwidth(topology_.PortIn(chip)).value();
    }
    for (const auto& chips : {out, in}) {
      for (const Sums& chip : chips) family.Consider(chip.bytes, chip.rate);
    }
    Add("chip", family);
  }

  void ConsiderSet(const ChipSet& set, CutFamily& family) const {
    double out = 0, in = 0;
    for (const PairBytes& pair : pairs_) {
      const bool from = set[pair.from.value()];
      const bool to = set[pair.to.value()];
      if (from && !to) out += pair.bytes;
      if (!from && to) in += pair.bytes;
    }
    const CutCapacity capacity = CapacityAround(set, links_);
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
    for (const PairBytes& pair : pairs_) {
      bytes[topology_.CoordinatesOf(pair.from)[axis]]
           [topology_.CoordinatesOf(pair.to)[axis]] += pair.bytes;
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
    Add("shift", by * (n - by) / n *
                     static_cast<double>(collective_.payload.value()) /
                     topology_.base_bandwidth().value());
  }

  const Collective& collective_;
  const Topology& topology_;
  std::vector<PairBytes> pairs_;
  std::vector<LiveLink> links_;
  double overhead_;  // o, and g where all messages go over ICI
  double alpha_;
  double byte_hops_ = 0;  // of all pairs
  int farthest_ = 0;
  Bounds bounds_;
};

}  // namespace

bool HasPairs(CollectiveKind kind) {
  return kind == CollectiveKind::kCollectivePermute ||
         kind == CollectiveKind::kRaggedAllToAll;
}

Bounds ComputePairBounds(const Collective& collective, const Slice& slice) {
  return PairBoundFinder(collective, slice).Find();
}

}  // namespace podsim
