#include "collective/axis_stage.h"

#include <algorithm>

#include "base/check.h"
#include "collective/groups.h"

namespace podsim {
namespace {

// The blocks of the axis position `offset` places ahead of the sender.
OwnerBox BlockAt(const OwnerBox& box, int axis, int offset) {
  OwnerBox block = box;
  block.lo[axis] = offset;
  block.len[axis] = 1;
  return block;
}

bool Covers(Half half, int which) {
  return half == Half::kBoth ||
         half == (which == 0 ? Half::kFirst : Half::kSecond);
}

// Everything that wrote the given halves of the parcel so far.
std::vector<After> ReadyOf(const Parcel& parcel, Half half) {
  std::vector<After> all;
  for (int which : {0, 1}) {
    if (!Covers(half, which)) continue;
    for (const After& after : parcel.ready[which]) {
      bool known = false;
      for (const After& other : all) known |= other == after;
      if (!known) all.push_back(after);
    }
  }
  return all;
}

struct Direction {
  Sign sign;
  int lane;
  int ahead;  // +1 or -1
};

std::vector<Direction> DirectionsOf(const AxisRun& run) {
  const Direction plus{Sign::kPlus, run.plus_lane, 1};
  const Direction minus{Sign::kMinus, run.minus_lane, -1};
  if (run.wrap && run.primitive == AxisPrimitive::kRing) return {plus};
  return {plus, minus};
}

// Collects arrivals that later stages read; applied when the stage is complete.
class Arrivals {
 public:
  void Note(StepId step, Half half) {
    for (int which : {0, 1}) {
      if (Covers(half, which)) new_[which].push_back({step, true});
    }
  }
  void AddTo(Parcel& parcel) const {
    for (int which : {0, 1}) {
      auto& ready = parcel.ready[which];
      ready.insert(ready.end(), new_[which].begin(), new_[which].end());
    }
  }

 private:
  std::vector<After> new_[2];
};

// What one chip sends in one step of a phase on a wrapped axis.
struct RingStep {
  int offset;  // the block's position relative to the sender
  Half half;
  bool keeps;  // the receiver keeps it: nobody passes it on within this phase
};

// ring, ring-split: n-1 steps around. ring-short: floor(n/2) steps each way, at
// the far end of an even ring half a block each way.
int StepsOf(const AxisRun& run) {
  return run.primitive == AxisPrimitive::kShort ? run.size / 2 : run.size - 1;
}

Half HalfOf(const AxisRun& run, Sign sign, int hops_away) {
  const Half own = sign == Sign::kPlus ? Half::kFirst : Half::kSecond;
  switch (run.primitive) {
    case AxisPrimitive::kRing:
      return Half::kBoth;
    case AxisPrimitive::kSplit:
      return own;
    case AxisPrimitive::kShort:
      return 2 * hops_away == run.size ? own : Half::kBoth;
  }
  return Half::kBoth;
}

// All-gather: in step s a chip passes on the block of the chip s places behind.
RingStep GatherStep(const AxisRun& run, const Direction& direction, int step) {
  return {-direction.ahead * step, HalfOf(run, direction.sign, step + 1),
          /*keeps=*/true};
}

// Reduce-scatter: the farthest block first; in the last step the receiver's
// own.
RingStep ScatterStep(const AxisRun& run, const Direction& direction, int step) {
  const int hops = StepsOf(run) - step;  // that the block has still to go
  return {direction.ahead * hops, HalfOf(run, direction.sign, hops),
          /*keeps=*/hops == 1};
}

template <class StepOf>
void EmitRing(const AxisRun& run, Mode mode, StepOf step_of, Parcel& parcel,
              ProgramBuilder& builder) {
  Arrivals arrivals;
  builder.Everywhere();
  std::vector<std::optional<StepId>> previous(2);
  for (int step = 0; step < StepsOf(run); ++step) {
    for (const Direction& direction : DirectionsOf(run)) {
      const RingStep sent = step_of(run, direction, step);
      std::optional<StepId>& before =
          previous[direction.sign == Sign::kPlus ? 0 : 1];
      // What a gather passes on arrived a step ago; a sum also needs what
      // earlier stages added to it here.
      std::vector<After> after;
      if (step == 0 || mode == Mode::kReduce) {
        after = ReadyOf(parcel, sent.half);
      }
      if (before) after.push_back({*before, true});
      const PatternId pattern = builder.Pattern(
          BlockAt(parcel.held, run.axis, sent.offset), parcel.part, sent.half);
      const StepId id = builder.Send(direction.lane, run.axis, direction.sign,
                                     pattern, mode, after);
      if (sent.keeps) arrivals.Note(id, sent.half);
      before = id;
    }
  }
  arrivals.AddTo(parcel);
}

// A phase on an unwrapped axis. Position i has `Behind` chips behind it in the
// direction of travel and must serve the rest.
int Behind(const AxisRun& run, const Direction& direction, int position) {
  return direction.ahead > 0 ? position : run.size - 1 - position;
}

void EmitLine(const AxisRun& run, Mode mode, Parcel& parcel,
              ProgramBuilder& builder) {
  Arrivals arrivals;
  const int n = run.size;
  // Steps of the previous round, by direction and sending position.
  std::vector<std::vector<std::optional<StepId>>> previous(
      2, std::vector<std::optional<StepId>>(n));
  for (int step = 0; step < n - 1; ++step) {
    auto current = std::vector<std::vector<std::optional<StepId>>>(
        2, std::vector<std::optional<StepId>>(n));
    for (int position = 0; position < n; ++position) {
      builder.Where(run.axis, position);
      for (const Direction& direction : DirectionsOf(run)) {
        const int behind = Behind(run, direction, position);
        if (behind == n - 1) continue;  // the end has nobody ahead
        // Gather: the block `step` places behind. Scatter: the farthest first,
        // joined by each chip when its turn comes.
        if (behind < step && mode == Mode::kCopy) continue;
        if (behind > step && mode == Mode::kReduce) continue;
        const int offset = mode == Mode::kCopy
                               ? -direction.ahead * step
                               : direction.ahead * (n - 1 - step);
        const int d = direction.sign == Sign::kPlus ? 0 : 1;
        std::vector<After> after;
        if (step == 0 || mode == Mode::kReduce) {
          after = ReadyOf(parcel, Half::kBoth);
        }
        const int sender = position - direction.ahead;
        if (sender >= 0 && sender < n && previous[d][sender]) {
          after.push_back({*previous[d][sender], true});
        }
        const PatternId pattern = builder.Pattern(
            BlockAt(parcel.held, run.axis, offset), parcel.part, Half::kBoth);
        const StepId id = builder.Send(direction.lane, run.axis, direction.sign,
                                       pattern, mode, after);
        current[d][position] = id;
        const bool keeps = mode == Mode::kCopy || step == n - 2;
        if (keeps) arrivals.Note(id, Half::kBoth);
      }
    }
    previous = std::move(current);
  }
  builder.Everywhere();
  arrivals.AddTo(parcel);
}

// The slices as a ring over DCN.
struct DcnRun {
  int axis = 0;
  int slices = 1;
  int lane = 0;
  bool halves = false;  // of the chunks
};

// The chunks of these parcels that belong to the chip with the same place in
// the slice `ahead` slices on.
std::vector<ChunkItem> ItemsAhead(const DcnRun& run, int ahead,
                                  const std::vector<Parcel>& parcels) {
  const int halves = run.halves ? 2 : 1;
  std::vector<ChunkItem> items;
  for (const Parcel& parcel : parcels) {
    for (int half = 0; half < halves; ++half) {
      ChunkItem item;
      item.owner[run.axis] = static_cast<std::int16_t>(ahead);
      item.sub_chunk = static_cast<std::uint16_t>(halves * parcel.part + half);
      items.push_back(item);
    }
  }
  return items;
}

// As a ring on a wrapped axis, of all parts of a batch at once: in
// reduce-scatter the farthest slice's block first, in all-gather what arrived a
// step ago.
void EmitOverDcn(const DcnRun& run, Mode mode, std::vector<Parcel>& parcels,
                 ProgramBuilder& builder) {
  const bool gather = mode == Mode::kCopy;
  Coordinates hops{};
  hops[run.axis] = 1;
  std::vector<After> ready;
  for (const Parcel& parcel : parcels) {
    const std::vector<After> more = ReadyOf(parcel, Half::kBoth);
    ready.insert(ready.end(), more.begin(), more.end());
  }
  Arrivals arrivals;
  std::optional<StepId> previous;
  for (int step = 0; step + 1 < run.slices; ++step) {
    const int ahead = gather ? -step : run.slices - 1 - step;
    std::vector<After> after;
    if (step == 0 || !gather) after = ready;
    if (previous) after.push_back({*previous, true});
    const StepId id = builder.SendFar(
        run.lane, hops, builder.Pattern(ItemsAhead(run, ahead, parcels)), mode,
        after);
    if (gather || step + 2 == run.slices) arrivals.Note(id, Half::kBoth);
    previous = id;
  }
  for (Parcel& parcel : parcels) {
    arrivals.AddTo(parcel);
    parcel.held.lo[run.axis] = 0;
    parcel.held.len[run.axis] = gather ? run.slices : 1;
  }
}

std::string AxisText(const Topology& topology, int axis) {
  return AxisName(topology, axis) + " (" +
         std::to_string(topology.axes()[axis].size) + " chips)";
}

}  // namespace

bool NeedsHalves(const AxisRun& run) {
  if (!run.wrap || run.size == 1) return false;
  return run.primitive == AxisPrimitive::kSplit ||
         (run.primitive == AxisPrimitive::kShort && run.size % 2 == 0);
}

void EmitAllGatherStage(const AxisRun& run, Parcel& parcel,
                        ProgramBuilder& builder) {
  if (run.wrap) {
    EmitRing(run, Mode::kCopy, GatherStep, parcel, builder);
  } else {
    EmitLine(run, Mode::kCopy, parcel, builder);
  }
  parcel.held.lo[run.axis] = 0;
  parcel.held.len[run.axis] = run.size;
}

void EmitReduceScatterStage(const AxisRun& run, Parcel& parcel,
                            ProgramBuilder& builder) {
  if (run.wrap) {
    EmitRing(run, Mode::kReduce, ScatterStep, parcel, builder);
  } else {
    EmitLine(run, Mode::kReduce, parcel, builder);
  }
  parcel.held.lo[run.axis] = 0;
  parcel.held.len[run.axis] = 1;
}

Program EmitBucket(const Collective& collective, const Topology& topology,
                   const std::vector<std::vector<AxisRun>>& orders,
                   std::vector<double> fractions, int batches) {
  const int parts = std::max(1, static_cast<int>(orders.size()));
  ChunkSplit split{
      .parts = parts, .fractions = std::move(fractions), .batches = batches};
  std::size_t stages = 0;
  for (const auto& order : orders) {
    stages = order.size();
    for (const AxisRun& run : order) split.halves |= NeedsHalves(run);
  }
  ProgramBuilder builder(split, FlowOf(collective.kind), collective.axes);
  const bool scatter = collective.kind != CollectiveKind::kAllGather;
  const bool gather = collective.kind != CollectiveKind::kReduceScatter;
  // By batch, then part.
  std::vector<std::vector<Parcel>> parcels(batches, std::vector<Parcel>(parts));
  for (int batch = 0; batch < batches; ++batch) {
    for (int k = 0; k < parts; ++k) {
      Parcel& parcel = parcels[batch][k];
      parcel.part = k * batches + batch;
      if (!scatter) continue;
      for (const int axis : collective.axes) {
        parcel.held.len[axis] = topology.axes()[axis].size;
      }
    }
  }
  const auto for_each_parcel = [&](auto emit) {
    for (auto& batch : parcels) {
      for (std::size_t k = 0; k < orders.size(); ++k) emit(orders[k], batch[k]);
    }
  };
  const DcnRun dcn{.axis = topology.ici_axes(),
                   .slices = topology.slices(),
                   .lane = 2 * parts * topology.ici_axes(),
                   .halves = split.halves};
  const bool spans_slices = SpansSlices(collective, topology);
  for (std::size_t stage = stages; scatter && stage-- > 0;) {
    for_each_parcel([&](const auto& order, Parcel& parcel) {
      EmitReduceScatterStage(order[stage], parcel, builder);
    });
  }
  for (auto& batch : parcels) {
    if (scatter && spans_slices)
      EmitOverDcn(dcn, Mode::kReduce, batch, builder);
  }
  for (auto& batch : parcels) {
    if (gather && spans_slices) EmitOverDcn(dcn, Mode::kCopy, batch, builder);
  }
  for (std::size_t stage = 0; gather && stage < stages; ++stage) {
    for_each_parcel([&](const auto& order, Parcel& parcel) {
      EmitAllGatherStage(order[stage], parcel, builder);
    });
  }
  return std::move(builder).Build();
}

Program EmitAxesInOrder(const Collective& collective, const Topology& topology,
                        AxisPrimitive primitive, int batches) {
  std::vector<AxisRun> order;
  for (const int axis : ActiveAxes(collective, topology)) {
    order.push_back(MakeRun(topology, axis, primitive, /*part=*/0));
  }
  return EmitBucket(collective, topology, {order}, {}, batches);
}

AxisRun MakeRun(const Topology& topology, int axis, AxisPrimitive primitive,
                int part) {
  const int lane = (part * topology.ici_axes() + axis) * 2;
  return {.axis = axis,
          .size = topology.axes()[axis].size,
          .wrap = topology.axes()[axis].wrap,
          .primitive = primitive,
          .plus_lane = lane,
          .minus_lane = lane + 1};
}

std::optional<std::string> WhyNotOneRing(const Collective& collective,
                                         const Topology& topology,
                                         AxisPrimitive primitive) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return std::nullopt;  // one chip
  if (active.size() > 1) {
    return "the group spans " + std::to_string(active.size()) +
           " axes; use bucket:axis_primitive=" + ToText(primitive) +
           " or bucket-rotated:axis_primitive=" + ToText(primitive);
  }
  if (!topology.axes()[active[0]].wrap) {
    return "axis " + AxisText(topology, active[0]) + " does not wrap; use line";
  }
  return std::nullopt;
}

}  // namespace podsim
