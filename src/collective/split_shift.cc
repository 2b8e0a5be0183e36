#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/schedule_builder.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotSplitShift(const Collective& collective,
                                            const Topology& topology,
                                            const LoweringSpec&) {
  const char* instead = "; use direct";
  if (!collective.shift) {
    return std::string("it needs a shift along an axis, not pairs") + instead;
  }
  const int axis = collective.shift->axis;
  if (!topology.axes()[axis].wrap) {
    return "axis " + AxisName(topology, axis) + " does not wrap" + instead;
  }
  if (topology.twisted()) {
    return std::string("on a twisted slice an axis is no ring") + instead;
  }
  if (!topology.healthy()) {
    return std::string(
               "it needs every link of the axis, and some are dead or "
               "slow") +
           instead;
  }
  return std::nullopt;
}

std::vector<LinkId> Straight(const Topology& topology, ChipId from, int axis,
                             Sign sign, int hops) {
  std::vector<LinkId> route;
  for (; hops > 0; --hops) {
    route.push_back(topology.LinkAt(from, axis, sign));
    from = topology.Target(route.back());
  }
  return route;
}

// Of the S bytes of every chip the share (n-k)/n goes k hops forward, and k/n
// goes n-k hops backward: k(n-k)/n S on every link of either direction, which
// is the bound.
WholeSchedule BuildSplitShift(const Collective& collective,
                              const Topology& topology, const LoweringSpec&) {
  const auto [axis, by] = *collective.shift;
  const double n = topology.axes()[axis].size;
  const double shares[] = {(n - by) / n, by / n};
  const std::vector<Bytes> sizes = SplitByFractions(collective.payload, shares);
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (const ChipPair& pair : PairsOf(collective, topology)) {
    for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
      const bool forward = sign == Sign::kPlus;
      // Rank = chip id: the slice is healthy.
      const std::uint32_t chunk = builder.AddChunk(
          0, static_cast<int>(pair.from.value()), sizes[forward ? 0 : 1],
          static_cast<int>(pair.to.value()));
      const std::vector<LinkId> route =
          Straight(topology, pair.from, axis, sign,
                   forward ? by : topology.axes()[axis].size - by);
      builder.Send({.from = pair.from,
                    .to = pair.to,
                    .chunks = {&chunk, 1},
                    .mode = Mode::kCopy,
                    .route = route,
                    .lane = static_cast<std::uint16_t>(forward ? 0 : 1)});
    }
  }
  return std::move(builder).Finish();
}

std::uint64_t CountSplitShift(const Collective& collective,
                              const Topology& topology, const LoweringSpec&) {
  return 2 * PairsOf(collective, topology).size();
}

}  // namespace

Lowering SplitShiftLowering() {
  return {.name = "split-shift",
          .help = "a shift along a wrapped axis, both ways round at once",
          .parameters = {},
          .kinds = {CollectiveKind::kCollectivePermute},
          .preconditions = "a shift along a wrapped axis",
          .time = "o + max(k, n-k) alpha + k(n-k)/n S/B at most",
          .source = "maximum flow around a ring; equals the shift bound",
          .why_not = WhyNotSplitShift,
          .build = BuildSplitShift,
          .count = CountSplitShift};
}

}  // namespace podsim
