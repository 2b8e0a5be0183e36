#include <algorithm>

#include "collective/groups.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotAxisExchange(const Collective& collective,
                                              const Topology& topology,
                                              const LoweringSpec&) {
  if (topology.plain() && !SpansSlices(collective, topology)) {
    return std::nullopt;
  }
  return "it needs a plain slice without a twist, its links alike; use fx";
}

// All owners of the group: whoever sends it, S bytes.
OwnerBox WholeGroup(const Collective& collective, const Topology& topology) {
  OwnerBox box;
  for (const int axis : ActiveAxes(collective, topology)) {
    box.len[axis] = topology.axes()[axis].size;
  }
  return box;
}

class AxisExchange {
 public:
  AxisExchange(const Collective& collective, const Topology& topology)
      : topology_(topology),
        builder_(ChunkSplit{.fractions = {}}, FlowOf(collective.kind),
                 collective.axes),
        all_(builder_.Pattern(WholeGroup(collective, topology), /*part=*/0,
                              Half::kBoth)) {}

  void Along(int axis) {
    const GridAxis& along = topology_.axes()[axis];
    after_ = std::move(ready_);
    ready_.clear();
    if (along.wrap) {
      Ring(axis, along.size);
    } else {
      Line(axis, along.size);
    }
  }

  Program Build() && { return std::move(builder_).Build(); }

 private:
  // What is half way around goes forward.
  void Ring(int axis, int size) {
    std::vector<StepId> sends;
    for (int apart = 1; apart < size; ++apart) {
      sends.push_back(Send(axis, 2 * apart <= size ? apart : apart - size));
    }
    Add(sends, sends);
  }

  // Every place by itself.
  void Line(int axis, int size) {
    std::vector<std::vector<StepId>> sends(size), arrivals(size);
    for (int apart = 1; apart < size; ++apart) {
      for (int place = 0; place < size; ++place) {
        const int to = (place + apart) % size;
        builder_.Where(axis, place);
        sends[place].push_back(Send(axis, to - place));
        arrivals[to].push_back(sends[place].back());
      }
    }
    for (int place = 0; place < size; ++place) {
      builder_.Where(axis, place);
      Add(arrivals[place], sends[place]);
    }
    builder_.Everywhere();
  }

  StepId Send(int axis, int hops) {
    Coordinates way{};
    way[axis] = hops;
    return builder_.SendFar(kNoLane, way, all_, Mode::kScratch, after_);
  }

  void Add(const std::vector<StepId>& arrivals,
           const std::vector<StepId>& sends) {
    std::vector<After> sent;
    for (const StepId send : sends) sent.push_back({send, false});
    for (const StepId arrival : arrivals) {
      ready_.push_back({builder_.AddArrived(arrival, sent), false});
    }
  }

  const Topology& topology_;
  ProgramBuilder builder_;
  PatternId all_;
  std::vector<After> after_;  // of the axis before
  std::vector<After> ready_;  // the sums of this one
};

// Axis after axis, everyone sends its whole sum to all others along the axis,
// into scratch, and adds what arrives when all it sends itself has left.
Program LowerAxisExchange(const Collective& collective,
                          const Topology& topology, const LoweringSpec&) {
  AxisExchange exchange(collective, topology);
  for (const int axis : ActiveAxes(collective, topology)) exchange.Along(axis);
  return std::move(exchange).Build();
}

std::uint64_t CountAxisExchange(const Collective& collective,
                                const Topology& topology, const LoweringSpec&) {
  std::uint64_t steps = 0;
  for (const int axis : ActiveAxes(collective, topology)) {
    const GridAxis& along = topology.axes()[axis];
    const auto size = static_cast<std::uint64_t>(along.size);
    steps += 2 * size * (along.wrap ? 1 : size);
  }
  return steps;
}

// The farthest message and the fullest link of every axis. Half of each ring is
// forward: some link carries the messages of its sender and of all behind that
// pass it. Of a line those of one half to the other.
Seconds AxisExchangeTime(const Collective& collective, const Slice& slice,
                         const LoweringSpec&) {
  Seconds time;
  if (collective.payload.value() == 0) return time;
  const Seconds bytes = collective.payload / slice.topology.base_bandwidth();
  const Seconds hop = slice.topology.base_latency();
  for (const int axis : ActiveAxes(collective, slice.topology)) {
    const GridAxis& along = slice.topology.axes()[axis];
    const int half = along.size / 2;
    const int farthest = along.wrap ? half : along.size - 1;
    const double fullest =
        along.wrap ? half * (half + 1) / 2.0 : half * (along.size - half);
    time += slice.parameters.ici_message_overhead +
            std::max(static_cast<double>(farthest) * hop + bytes,
                     hop + fullest * bytes);
  }
  return time;
}

}  // namespace

// As fx with one round per axis, but that a tie goes forward at every chip: so
// all chips of a ring do the same, and a whole pod, or one block of a slice,
// folds, of any payload.
Lowering AxisExchangeLowering() {
  return {
      .name = "axis-exchange",
      .help = "whole sums to all others along an axis, axis after axis",
      .parameters = {},
      .kinds = {CollectiveKind::kAllReduce},
      .preconditions = "any axes",
      .time =
          "sum over axes of about max(o + D alpha, o + alpha + k S/B), ring: "
          "k = m(m+2)/8, line: k = floor(m^2/4)",
      .source = "fx with radices n and cut 0, for small payloads",
      .why_not = WhyNotAxisExchange,
      .lower = LowerAxisExchange,
      .count = CountAxisExchange,
      .at_least = AxisExchangeTime,
      .few_dates = true};
}

}  // namespace podsim
