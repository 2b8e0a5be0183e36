#include "cost/bounds.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/check.h"
#include "collective/groups.h"
#include "cost/cut.h"
#include "cost/latency_bounds.h"
#include "cost/pair_bounds.h"
#include "topology/distance.h"

namespace podsim {
namespace {

class BoundFinder {
 public:
  BoundFinder(const Collective& collective, const Slice& slice)
      : collective_(collective),
        topology_(slice.topology),
        payload_(static_cast<double>(collective.payload.value())),
        spans_slices_(SpansSlices(collective, slice.topology)),
        alpha_(SmallestLatency(slice.topology)),
        overhead_(StartOf(slice.parameters, spans_slices_)),
        start_(overhead_ + alpha_),
        cost_{.issue = slice.parameters.ici_issue.value(),
              .overhead = slice.parameters.ici_message_overhead.value(),
              .alpha = alpha_},
        listed_(!collective.groups.empty()),
        symmetric_(topology_.plain() && !listed_) {
    if (!symmetric_) FindGroups();
    if (symmetric_ && IsRooted(collective_.kind)) {
      root_ = collective_.root.value_or(FirstLiveChip(topology_));
    }
  }

  Bounds Find() {
    if (NothingMoves()) return {{{"none", Seconds(0)}}};
    if (spans_slices_) return FindOverDcn();
    AddLatency();
    AddChip();
    if (topology_.is_grid()) AddSlabs();
    const bool odd_shape = HasBorders(topology_);
    if (odd_shape && topology_.chips() <= kMostBoxChips) {
      if (symmetric_) FindGroups();
      AddBoxes();
    }
    if (collective_.kind == CollectiveKind::kAllReduce) {
      AddBandwidth("edges", EdgesSeconds());
      if (odd_shape) AddBlock();
    }
    if (collective_.kind == CollectiveKind::kAllToAll) AddDistances();
    AddLatencyBounds();
    return std::move(bounds_);
  }

  Seconds TrafficTime() {
    if (NothingMoves()) return Seconds(0);
    switch (collective_.kind) {
      case CollectiveKind::kAllReduce:
        return Seconds(EdgesSeconds());
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        return Seconds(GossipSeconds());
      default:
        return Seconds(0);
    }
  }

 private:
  bool NothingMoves() const { return payload_ == 0 || LargestGroup() <= 1; }

  int LargestGroup() const {
    if (symmetric_) return GroupSize(collective_, topology_);
    return groups_.sizes.empty()
               ? 0
               : *std::max_element(groups_.sizes.begin(), groups_.sizes.end());
  }

  // A message to another slice takes the latency of DCN, one inside a slice
  // that of its hops or, by way of another slice, twice that of DCN. The bytes
  // that leave a chip use its links or the NIC of its host; those that leave a
  // slice the NICs of its hosts.
  Bounds FindOverDcn() {
    const double dcn = topology_.dcn()->latency.value();
    const bool by_axes = !listed_ && !IsRooted(collective_.kind);
    const int hops =
        by_axes
            ? SummariseAxisGroups(topology_, ActiveAxes(collective_, topology_))
                  .diameter
            : 0;
    bounds_.components.push_back(
        {"latency",
         Seconds(overhead_ + std::max(dcn, std::min(alpha_ * hops, 2 * dcn)))});
    start_ = overhead_ + std::min(alpha_, dcn);
    AddChip();
    AddDcn();
    if (collective_.kind == CollectiveKind::kAllReduce) {
      AddBandwidth("edges", EdgesSeconds());
    }
    return std::move(bounds_);
  }

  // Cuts around every slice: what is outside of it, too.
  void AddDcn() {
    if (symmetric_) FindGroups();
    const int per_slice = topology_.chips() / topology_.slices();
    const double rate = PortsCapacity() / topology_.slices();
    double members = 0;  // slices that groups have members in
    CutFamily family;
    for (int slice = 0; slice < topology_.slices(); ++slice) {
      ChipSet set(topology_.chips());
      for (int k = 0; k < per_slice; ++k) set[slice * per_slice + k] = true;
      const auto [out, in] = MustCross(set);
      family.Consider(out, rate);
      family.Consider(in, rate);
      for (const int inside : MembersInside(set, groups_)) {
        members += inside > 0 ? 1 : 0;
      }
    }
    if (collective_.kind == CollectiveKind::kAllReduce) {
      // As `edges`, every slice taken as one chip.
      const auto groups = static_cast<double>(groups_.sizes.size());
      family.Consider(2 * (members - groups) * payload_, PortsCapacity());
    }
    AddFamily("dcn", family);
  }
  // Of all hosts, one way.
  double PortsCapacity() const {
    return topology_.chips() * topology_.dcn()->bandwidth.value();
  }

  void FindGroups() {
    const auto lists = GroupsOf(collective_, topology_);
    groups_ = MakeGroups(lists, topology_);
    if (!IsRooted(collective_.kind)) return;
    const int rank = RootRank(collective_, lists);
    roots_.clear();
    for (const auto& group : lists) roots_.push_back(group[rank]);
  }

  void AddBandwidth(const std::string& name, double seconds) {
    bounds_.components.push_back({name, Seconds(start_ + seconds)});
  }
  void AddFamily(const std::string& name, const CutFamily& family) {
    if (family.present()) AddBandwidth(name, family.seconds());
  }

  void AddLatency() {
    int farthest = 0;
    const bool by_axes = topology_.is_grid() && !listed_ &&
                         topology_.live_chips() == topology_.chips();
    switch (collective_.kind) {
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kScatter:
      case CollectiveKind::kReduce:
      case CollectiveKind::kGather:
        farthest = RootEccentricity();
        break;
      default:
        farthest =
            by_axes ? SummariseAxisGroups(topology_, collective_.axes).diameter
                    : SummariseDistances(topology_, groups_.of_chip).diameter;
    }
    bounds_.components.push_back(
        {"latency", Seconds(overhead_ + alpha_ * farthest)});
  }

  void AddLatencyBounds() {
    const auto more = LatencyBounds(
        {collective_, topology_, cost_, symmetric_, root_, groups_, roots_});
    bounds_.components.insert(bounds_.components.end(), more.begin(),
                              more.end());
  }

  int RootEccentricity() const {
    if (symmetric_) {
      const Coordinates at = topology_.CoordinatesOf(root_);
      int farthest = 0;
      for (const int axis : collective_.axes) {
        const GridAxis& along = topology_.axes()[axis];
        farthest += along.wrap ? along.size / 2
                               : std::max(at[axis], along.size - 1 - at[axis]);
      }
      return farthest;
    }
    // A link may have died in one direction only.
    const bool one_way_in =
        !topology_.healthy() && (collective_.kind == CollectiveKind::kReduce ||
                                 collective_.kind == CollectiveKind::kGather);
    int farthest = 0;
    for (std::size_t g = 0; g < roots_.size(); ++g) {
      const std::vector<int> hops = HopsFrom(topology_, roots_[g]);
      for (std::uint32_t chip = 0; chip < hops.size(); ++chip) {
        if (groups_.of_chip[chip] != static_cast<int>(g)) continue;
        farthest = std::max(
            farthest, one_way_in
                          ? HopsFrom(topology_, ChipId(chip))[roots_[g].value()]
                          : hops[chip]);
      }
    }
    return farthest;
  }

  // ---- cuts -------------------------------------------------------------

  const std::vector<LiveLink>& Links() {
    if (links_.empty()) links_ = LiveLinksOf(topology_);
    return links_;
  }

  struct Crossing {
    double out, in;  // bytes
  };
  // Out of the set and out of its complement.
  Crossing MustCross(const ChipSet& set) const {
    const std::vector<int> inside = MembersInside(set, groups_);
    double out = 0, in = 0;
    for (std::size_t g = 0; g < inside.size(); ++g) {
      const int n = groups_.sizes[g];
      const bool root_inside =
          IsRooted(collective_.kind) && set[roots_[g].value()];
      out += MustLeave(collective_.kind, payload_, n, inside[g], root_inside);
      in +=
          MustLeave(collective_.kind, payload_, n, n - inside[g], !root_inside);
    }
    return {out, in};
  }

  void ConsiderCut(const ChipSet& set, CutFamily& family) {
    const auto [out, in] = MustCross(set);
    const CutCapacity capacity = CapacityAround(set, Links());
    family.Consider(out, capacity.out);
    family.Consider(in, capacity.in);
  }

  void AddChip() {
    CutFamily family;
    for (const ChipId chip : ChipsToCut()) ConsiderChip(chip, family);
    AddFamily("chip", family);
  }

  // On a healthy grid chips differ by which borders they are on (and the root).
  std::vector<ChipId> ChipsToCut() const {
    std::vector<ChipId> chips;
    if (!symmetric_) {
      for (int id = 0; id < topology_.chips(); ++id) {
        if (topology_.Live(ChipId(id))) chips.emplace_back(id);
      }
      return chips;
    }
    std::set<ChipId> corners = {ChipId(0)};
    for (std::size_t a = 0; a < topology_.axes().size(); ++a) {
      std::set<ChipId> more = corners;
      for (const ChipId chip : corners) {
        for (const int at : {1, topology_.axes()[a].size - 1}) {
          if (at >= topology_.axes()[a].size) continue;
          Coordinates coordinates = topology_.CoordinatesOf(chip);
          coordinates[a] = at;
          more.insert(topology_.ChipAt(coordinates));
        }
      }
      corners = std::move(more);
    }
    if (IsRooted(collective_.kind)) {
      // The root of the group of each of them.
      std::set<ChipId> roots;
      for (const ChipId chip : corners) roots.insert(RootOf(chip));
      corners.merge(roots);
    }
    return {corners.begin(), corners.end()};
  }

  void ConsiderChip(ChipId chip, CutFamily& family) const {
    auto [out_rate, in_rate, inside] = CapacityAround(chip, topology_);
    if (spans_slices_) {
      out_rate += topology_.Bandwidth(topology_.PortOut(chip)).value();
      in_rate += topology_.Bandwidth(topology_.PortIn(chip)).value();
    }
    if (!symmetric_ && groups_.of_chip[chip.value()] < 0) return;
    const int n = symmetric_ ? GroupSize(collective_, topology_)
                             : groups_.sizes[groups_.of_chip[chip.value()]];
    const bool is_root = IsRooted(collective_.kind) && chip == RootOf(chip);
    family.Consider(MustLeave(collective_.kind, payload_, n, 1, is_root),
                    out_rate);
    family.Consider(MustLeave(collective_.kind, payload_, n, n - 1, !is_root),
                    in_rate);
  }

  ChipId RootOf(ChipId chip) const {
    if (!symmetric_) return roots_[groups_.of_chip[chip.value()]];
    Coordinates at = topology_.CoordinatesOf(chip);
    const Coordinates root = topology_.CoordinatesOf(root_);
    for (const int axis : collective_.axes) at[axis] = root[axis];
    return topology_.ChipAt(at);
  }

  void AddSlabs() {
    for (int axis = 0; axis < topology_.ici_axes(); ++axis) {
      CutFamily family;
      if (symmetric_) {
        SymmetricSlab(axis, family);
      } else {
        ForEachSlab(topology_, axis,
                    [&](const ChipSet& set) { ConsiderCut(set, family); });
      }
      AddFamily("slab:" + AxisName(topology_, axis), family);
    }
  }

  // Arcs of one length are all alike, and so are all groups along the axis.
  void SymmetricSlab(int axis, CutFamily& family) const {
    const GridAxis& along = topology_.axes()[axis];
    if (std::find(collective_.axes.begin(), collective_.axes.end(), axis) ==
        collective_.axes.end()) {
      return;
    }
    const int n = GroupSize(collective_, topology_);
    const double groups = static_cast<double>(topology_.chips()) / n;
    const double capacity = (along.wrap ? 2.0 : 1.0) * topology_.chips() /
                            along.size * topology_.base_bandwidth().value();
    const int root_at = topology_.CoordinatesOf(root_)[axis];
    const auto leaves = [&](int members, bool root_inside) {
      return MustLeave(collective_.kind, payload_, n, members, root_inside);
    };
    // What must leave grows, falls, or peaks in the middle with the length, on
    // either side of the root.
    for (const int length : {1, root_at, root_at + 1, along.size / 2,
                             (along.size + 1) / 2, along.size - 1}) {
      if (length < 1 || length >= along.size) continue;
      const int inside = n / along.size * length;
      // Of the arcs of a wrapped axis some have the root and some have not.
      const bool has_root = root_at < length;
      const double out =
          along.wrap ? std::max(leaves(inside, true), leaves(inside, false))
                     : std::max(leaves(inside, has_root),
                                leaves(n - inside, !has_root));
      family.Consider(groups * out, capacity);
    }
  }

  void AddBoxes() {
    CutFamily family;
    ForEachBox(topology_,
               [&](const ChipSet& set) { ConsiderCut(set, family); });
    AddFamily("box", family);
  }

  // ---- all-reduce -------------------------------------------------------

  // One-way gossip: 2(n-1) messages per element (Harary & Schwenk).
  double EdgesSeconds() const { return 2 * GossipSeconds(); }

  // (n-1) S per group over all links.
  double GossipSeconds() const {
    double bytes = 0;
    if (symmetric_) {
      const double n = GroupSize(collective_, topology_);
      bytes = (n - 1) * payload_ * (topology_.chips() / n);
    } else {
      for (const int n : groups_.sizes) bytes += (n - 1.0) * payload_;
    }
    return bytes /
           (TotalCapacity(topology_) + (spans_slices_ ? PortsCapacity() : 0.0));
  }

  // A taken as one part, all other chips apart.
  void ConsiderBlock(const ChipSet& set, double capacity, CutFamily& family) {
    for (const bool complement : {false, true}) {
      ChipSet part = set;
      if (complement) part.flip();
      if (std::count(part.begin(), part.end(), true) < 2) continue;
      const std::vector<int> inside = MembersInside(part, groups_);
      double bytes = 0;
      for (std::size_t g = 0; g < inside.size(); ++g) {
        const int outside = groups_.sizes[g] - inside[g];
        bytes += 2.0 * (inside[g] == 0 ? outside - 1 : outside) * payload_;
      }
      family.Consider(bytes, capacity - CapacityAround(part, Links()).inside);
    }
  }

  // A slab of `length` on a healthy grid: all slabs of one length are alike.
  void SymmetricBlock(int axis, int length, CutFamily& family) const {
    const GridAxis& along = topology_.axes()[axis];
    const double share = static_cast<double>(length) / along.size;
    if (share * topology_.chips() < 2) return;
    double inside = 2.0 * (length - 1) * topology_.chips() / along.size *
                    topology_.base_bandwidth().value();
    for (int other = 0; other < topology_.ici_axes(); ++other) {
      if (other != axis) inside += share * AxisCapacity(other, topology_);
    }
    const double n = GroupSize(collective_, topology_);
    const double groups = topology_.chips() / n;
    const bool cuts_groups =
        std::find(collective_.axes.begin(), collective_.axes.end(), axis) !=
        collective_.axes.end();
    // Groups inside the slab are done; the others have no member in it.
    const double bytes = cuts_groups
                             ? 2 * groups * n * (1 - share) * payload_
                             : 2 * groups * (1 - share) * (n - 1) * payload_;
    family.Consider(bytes, TotalCapacity(topology_) - inside);
  }

  void AddBlock() {
    CutFamily family;
    const double capacity = TotalCapacity(topology_);
    for (int axis = 0; axis < topology_.ici_axes(); ++axis) {
      if (symmetric_) {
        // The complement of a slab is a slab; bytes and capacity are linear in
        // the length, so their ratio is largest at an end.
        const int size = topology_.axes()[axis].size;
        for (const int length : {1, 2, size - 1}) {
          if (length >= 1 && length < size) {
            SymmetricBlock(axis, length, family);
          }
        }
        continue;
      }
      ForEachSlab(topology_, axis, [&](const ChipSet& set) {
        ConsiderBlock(set, capacity, family);
      });
    }
    if (topology_.chips() <= kMostBoxChips) {
      ForEachBox(topology_, [&](const ChipSet& set) {
        ConsiderBlock(set, capacity, family);
      });
    }
    AddFamily("block", family);
  }

  // ---- all-to-all -------------------------------------------------------

  // Byte-hops of all pairs over the capacity: a byte that travels h hops uses h
  // link-bytes (LP duality of maximum concurrent flow).
  void AddDistances() {
    AddBandwidth("distance", ByteHops(collective_, topology_, groups_) /
                                 TotalCapacity(topology_));
    if (!topology_.is_grid() || topology_.twisted() || listed_) return;
    for (int axis = 0; axis < topology_.ici_axes(); ++axis) {
      if (topology_.axes()[axis].size == 1) continue;
      const double byte_hops =
          AxisByteHops(collective_, topology_, groups_, axis);
      AddBandwidth(
          "distance:" + AxisName(topology_, axis),
          byte_hops == 0 ? 0 : byte_hops / AxisCapacity(axis, topology_));
    }
  }

  const Collective& collective_;
  const Topology& topology_;
  double payload_;
  bool spans_slices_;
  double alpha_;
  double overhead_;              // o, and g where all messages go over ICI
  double start_;                 // o + alpha
  MessageCost cost_;             // of one over ICI
  bool listed_;                  // groups are given as lists
  bool symmetric_;               // healthy untwisted grid, groups along axes
  ChipId root_{0};               // then, of the rooted kinds
  Groups groups_;                // else
  std::vector<ChipId> roots_;    // by group, of the rooted kinds
  std::vector<LiveLink> links_;  // once they are asked for
  Bounds bounds_;
};

}  // namespace

const BoundComponent& Bounds::binding() const {
  CHECK(!components.empty());
  return *std::max_element(
      components.begin(), components.end(),
      [](const auto& a, const auto& b) { return a.time < b.time; });
}

Bounds ComputeBounds(const Collective& collective, const Slice& slice) {
  if (HasPairs(collective.kind)) return ComputePairBounds(collective, slice);
  return BoundFinder(collective, slice).Find();
}

Seconds TotalTrafficTime(const Collective& collective, const Slice& slice) {
  if (HasPairs(collective.kind)) return Seconds(0);
  return BoundFinder(collective, slice).TrafficTime();
}

}  // namespace podsim
