#include "topology/routing.h"

#include <cstdlib>

#include "topology/distance.h"

namespace podsim {
namespace {

// Signed hops along one axis by the shorter way.
int Displacement(const GridAxis& axis, int from, int to, TieRule tie) {
  const int direct = to - from;
  if (!axis.wrap) return direct;
  const int plus = (direct + axis.size) % axis.size;
  const int minus = plus - axis.size;
  if (2 * plus < axis.size) return plus;
  if (2 * plus > axis.size) return minus;
  const bool go_plus =
      tie == TieRule::kPlus || (tie == TieRule::kParity && from % 2 == 0);
  return go_plus ? plus : minus;
}

std::vector<LinkId> DimensionOrder(const Topology& topology, ChipId from,
                                   ChipId to, TieRule tie) {
  const Coordinates source = topology.CoordinatesOf(from);
  const Coordinates target = topology.CoordinatesOf(to);
  std::vector<LinkId> route;
  ChipId chip = from;
  for (int axis = 0; axis < topology.ici_axes(); ++axis) {
    const int hops =
        Displacement(topology.axes()[axis], source[axis], target[axis], tie);
    const Sign sign = hops > 0 ? Sign::kPlus : Sign::kMinus;
    for (int hop = 0; hop < std::abs(hops); ++hop) {
      route.push_back(topology.LinkAt(chip, axis, sign));
      chip = *topology.Neighbour(chip, axis, sign);
    }
  }
  return route;
}

// Walks greedily: from each chip the first live link that gets one hop closer.
std::optional<std::vector<LinkId>> SmallestShortest(const Topology& topology,
                                                    ChipId from, ChipId to) {
  const std::vector<int> hops = HopsTo(topology, to);
  if (hops[from.value()] == kUnreachable) return std::nullopt;
  std::vector<LinkId> route;
  for (ChipId chip = from; chip != to;) {
    std::optional<LinkId> step;
    topology.ForEachLiveLinkFrom(chip, [&](LinkId link) {
      const ChipId target = topology.Target(link);
      if (!step && hops[target.value()] == hops[chip.value()] - 1) step = link;
    });
    route.push_back(*step);
    chip = topology.Target(*step);
  }
  return route;
}

}  // namespace

std::optional<std::vector<LinkId>> Route(const Topology& topology, ChipId from,
                                         ChipId to, TieRule tie) {
  if (from == to) return std::vector<LinkId>{};
  if (topology.SliceOf(from) != topology.SliceOf(to)) {
    if (!topology.dcn()) return std::nullopt;
    return std::vector{topology.PortOut(from), topology.PortIn(to)};
  }
  if (topology.plain()) {
    return DimensionOrder(topology, from, to, tie);
  }
  return SmallestShortest(topology, from, to);
}

}  // namespace podsim
