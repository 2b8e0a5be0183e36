#include "schedule/program.h"

#include <algorithm>

#include "base/check.h"

namespace podsim {

bool StaysInBlocks(const Program& program, const ProgramStep& step,
                   const Topology& topology) {
  if (!IsTransfer(step)) return true;
  const int axes = static_cast<int>(topology.axes().size());
  for (int axis = 0; axis < axes; ++axis) {
    if (!IsCut(program, topology, axis)) continue;
    const int length = BlockLength(program, topology, axis);
    if (step.kind == StepKind::kFar) {
      const int hops = program.routes[step.detail][axis];
      const int to = step.where_coordinate + hops;
      const bool inside = step.where_axis == axis && to >= 0 && to < length;
      if (hops != 0 && !inside) return false;
    } else if (step.axis == axis) {
      if (step.where_axis != axis ||
          step.where_coordinate ==
              (step.sign == Sign::kPlus ? length - 1 : 0)) {
        return false;
      }
    }
  }
  return true;
}

ProgramBuilder::ProgramBuilder(ChunkSplit split, ChunkFlow flow,
                               std::vector<int> group_axes,
                               std::vector<Coordinates> targets) {
  CHECK(targets.empty() ||
        split.sub_chunks() == static_cast<int>(targets.size()));
  program_.split = std::move(split);
  program_.flow = flow;
  program_.group_axes = std::move(group_axes);
  program_.targets = std::move(targets);
}

PatternId ProgramBuilder::Pattern(const OwnerBox& owners, int part, Half half) {
  CHECK(half == Half::kBoth || program_.split.halves);
  program_.patterns.push_back({.owners = owners, .part = part, .half = half});
  return PatternId(static_cast<std::uint32_t>(program_.patterns.size() - 1));
}

PatternId ProgramBuilder::Pattern(std::span<const ChunkItem> items) {
  CHECK(!items.empty());
  const auto first = static_cast<std::uint32_t>(program_.items.size());
  program_.items.insert(program_.items.end(), items.begin(), items.end());
  program_.patterns.push_back(
      {.owners = {},
       .first_item = first,
       .end_item = static_cast<std::uint32_t>(program_.items.size())});
  return PatternId(static_cast<std::uint32_t>(program_.patterns.size() - 1));
}

void ProgramBuilder::Where(int axis, int coordinate) {
  where_axis_ = axis;
  where_coordinate_ = coordinate;
}

void ProgramBuilder::Everywhere() { where_axis_ = -1; }

StepId ProgramBuilder::Send(int lane, int axis, Sign sign, PatternId pattern,
                            Mode mode, std::span<const After> after) {
  return Append({.lane = static_cast<std::uint16_t>(lane),
                 .axis = static_cast<std::uint8_t>(axis),
                 .sign = sign,
                 .mode = mode,
                 .kind = StepKind::kHop,
                 .detail = 0,
                 .pattern = pattern},
                after);
}

StepId ProgramBuilder::SendFar(int lane, const Coordinates& hops,
                               PatternId pattern, Mode mode,
                               std::span<const After> after) {
  program_.routes.push_back(hops);
  return Append(
      {.lane = static_cast<std::uint16_t>(lane),
       .axis = 0,
       .sign = Sign::kPlus,
       .mode = mode,
       .kind = StepKind::kFar,
       .detail = static_cast<std::uint32_t>(program_.routes.size() - 1),
       .pattern = pattern},
      after);
}

StepId ProgramBuilder::AddArrived(StepId scratch,
                                  std::span<const After> after) {
  const ProgramStep& sent = program_.steps[scratch.value()];
  CHECK(sent.mode == Mode::kScratch);
  std::vector<After> waits(after.begin(), after.end());
  waits.push_back({scratch, true});
  return Append({.lane = kNoLane,
                 .axis = 0,
                 .sign = Sign::kPlus,
                 .mode = Mode::kReduce,
                 .kind = StepKind::kLocal,
                 .detail = scratch.value(),
                 .pattern = sent.pattern},
                waits);
}

StepId ProgramBuilder::Compute(int lane, Seconds duration,
                               std::span<const After> after) {
  program_.durations.push_back(duration);
  return Append(
      {.lane = static_cast<std::uint16_t>(lane),
       .axis = 0,
       .sign = Sign::kPlus,
       .mode = Mode::kCopy,
       .kind = StepKind::kCompute,
       .detail = static_cast<std::uint32_t>(program_.durations.size() - 1),
       .pattern = PatternId(0)},
      after);
}

StepId ProgramBuilder::Append(ProgramStep step, std::span<const After> after) {
  const auto id = static_cast<std::uint32_t>(program_.steps.size());
  step.where_axis = static_cast<std::int8_t>(where_axis_);
  step.where_coordinate = where_coordinate_;
  if (step.lane != kNoLane) {
    const int lane = step.lane;
    // Else "the previous step on the same chips" would be several steps.
    const int lane_axis =
        where_axis_of_lane_.try_emplace(lane, where_axis_).first->second;
    CHECK(lane_axis == where_axis_) << "lane " << lane << " mixes Where";
    const auto last =
        last_in_lane_
            .try_emplace(
                {lane, {where_axis_, where_axis_ < 0 ? 0 : where_coordinate_}},
                kNoStep)
            .first;
    step.lane_previous = last->second;
    last->second = id;
  }
  std::span<const After> implied;
  if (step.lane_previous != kNoStep) {
    const ProgramStep& previous = program_.steps[step.lane_previous];
    implied = std::span(program_.after)
                  .subspan(previous.first_after,
                           previous.end_after - previous.first_after);
  }
  std::vector<After> own, inherited;
  for (const After& wait : after) {
    CHECK(wait.step.value() < id);
    const bool known =
        std::find(implied.begin(), implied.end(), wait) != implied.end();
    (known ? inherited : own).push_back(wait);
  }
  step.first_after = static_cast<std::uint32_t>(program_.after.size());
  step.own_after = static_cast<std::uint32_t>(own.size());
  program_.after.insert(program_.after.end(), own.begin(), own.end());
  program_.after.insert(program_.after.end(), inherited.begin(),
                        inherited.end());
  step.end_after = static_cast<std::uint32_t>(program_.after.size());
  program_.steps.push_back(step);
  return StepId(id);
}

Program ProgramBuilder::Build() && { return std::move(program_); }

}  // namespace podsim
