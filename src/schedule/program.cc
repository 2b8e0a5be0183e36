#include "schedule/program.h"

#include <algorithm>

#include "base/check.h"

namespace podsim {

ProgramBuilder::ProgramBuilder(ChunkSplit split, ChunkFlow flow,
                               std::vector<int> group_axes) {
  program_.split = std::move(split);
  program_.flow = flow;
  program_.group_axes = std::move(group_axes);
}

PatternId ProgramBuilder::Pattern(const OwnerBox& owners, int part, Half half) {
  CHECK(half == Half::kBoth || program_.split.halves);
  program_.patterns.push_back({owners, part, half});
  return PatternId(static_cast<std::uint32_t>(program_.patterns.size() - 1));
}

void ProgramBuilder::Where(int axis, int coordinate) {
  where_axis_ = axis;
  where_coordinate_ = coordinate;
}

void ProgramBuilder::Everywhere() { where_axis_ = -1; }

StepId ProgramBuilder::Send(int lane, int axis, Sign sign, PatternId pattern,
                            Mode mode, std::span<const After> after) {
  const auto id = static_cast<std::uint32_t>(program_.steps.size());
  // Else "the previous step on the same chips" would be several steps.
  const int lane_axis =
      where_axis_of_lane_.try_emplace(lane, where_axis_).first->second;
  CHECK(lane_axis == where_axis_) << "lane " << lane << " mixes Where";
  ProgramStep step{.lane = static_cast<std::uint16_t>(lane),
                   .axis = static_cast<std::uint8_t>(axis),
                   .sign = sign,
                   .mode = mode,
                   .pattern = pattern,
                   .where_axis = static_cast<std::int8_t>(where_axis_),
                   .where_coordinate = where_coordinate_};
  auto [last, fresh] = last_in_lane_.try_emplace(
      {lane, {where_axis_, where_axis_ < 0 ? 0 : where_coordinate_}}, kNoStep);
  step.lane_previous = last->second;
  last->second = id;
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
