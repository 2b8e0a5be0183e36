#include <algorithm>

#include "collective/lowerings.h"
#include "collective/sub_grid.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotAxisExchange(const Collective& collective,
                                              const Topology& topology,
                                              const LoweringSpec&) {
  if (AllAlike(collective, topology)) return std::nullopt;
  return "some axis of the group is a line, so that chips differ; use fx";
}

// All owners of the group: whoever sends it, S bytes.
OwnerBox WholeGroup(const Collective& collective, const Topology& topology) {
  OwnerBox box;
  for (const int axis : ActiveAxes(collective, topology)) {
    box.len[axis] = topology.axes()[axis].size;
  }
  return box;
}

// Axis after axis, everyone sends its whole sum to all others along the axis,
// into scratch, and adds what arrives when all it sends itself has left. What
// is half way around goes forward.
Program LowerAxisExchange(const Collective& collective,
                          const Topology& topology, const LoweringSpec&) {
  ProgramBuilder builder(ChunkSplit{.fractions = {}}, FlowOf(collective.kind),
                         collective.axes);
  const PatternId all = builder.Pattern(WholeGroup(collective, topology),
                                        /*part=*/0, Half::kBoth);
  std::vector<After> ready;
  for (const int axis : ActiveAxes(collective, topology)) {
    const int size = topology.axes()[axis].size;
    std::vector<StepId> sends;
    for (int apart = 1; apart < size; ++apart) {
      Coordinates way{};
      way[axis] = 2 * apart <= size ? apart : apart - size;
      sends.push_back(
          builder.SendFar(kNoLane, way, all, Mode::kScratch, ready));
    }
    std::vector<After> sent;
    for (const StepId send : sends) sent.push_back({send, false});
    ready.clear();
    for (const StepId send : sends) {
      ready.push_back({builder.AddArrived(send, sent), false});
    }
  }
  return std::move(builder).Build();
}

std::uint64_t CountAxisExchange(const Collective& collective,
                                const Topology& topology, const LoweringSpec&) {
  std::uint64_t steps = 0;
  for (const int axis : ActiveAxes(collective, topology)) {
    steps += 2 * static_cast<std::uint64_t>(topology.axes()[axis].size);
  }
  return steps;
}

// Half of each ring is forward: some link carries the messages of its sender
// and of all behind that pass it.
Seconds AxisExchangeTime(const Collective& collective, const Slice& slice,
                         const LoweringSpec&) {
  Seconds time;
  if (collective.payload.value() == 0) return time;
  const Seconds bytes = collective.payload / slice.topology.base_bandwidth();
  for (const int axis : ActiveAxes(collective, slice.topology)) {
    const int half = slice.topology.axes()[axis].size / 2;
    const Seconds far =
        slice.parameters.ici_message_overhead +
        static_cast<double>(half) * slice.topology.base_latency() + bytes;
    const Seconds load = slice.parameters.ici_message_overhead +
                         slice.topology.base_latency() +
                         (half * (half + 1) / 2.0) * bytes;
    time += std::max(far, load);
  }
  return time;
}

}  // namespace

// As fx with one round per axis, but that a tie goes forward at every chip: so
// all do the same, and a whole pod folds, of any payload.
Lowering AxisExchangeLowering() {
  return {.name = "axis-exchange",
          .help = "whole sums to all others along an axis, axis after axis",
          .parameters = {},
          .kinds = {CollectiveKind::kAllReduce},
          .preconditions = "every axis wraps",
          .time =
              "sum over axes of about max(o + m/2 alpha, "
              "o + alpha + m(m+2)/8 S/B)",
          .source = "fx with radices n and cut 0, for small payloads",
          .why_not = WhyNotAxisExchange,
          .lower = LowerAxisExchange,
          .count = CountAxisExchange,
          .at_least = AxisExchangeTime,
          .few_dates = true};
}

}  // namespace podsim
