#include "schedule/placement.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"

namespace podsim {
namespace {

// Sites of a block in a row, of which a tied step has one.
std::uint32_t LengthOf(const Program& program, const FoldedGrid& grid,
                       int axis) {
  return program.blocks.empty()
             ? grid.period(axis)
             : std::min(program.blocks[axis], grid.period(axis));
}

std::uint32_t SlotsOf(const Program& program, const ProgramStep& step,
                      const FoldedGrid& grid) {
  return step.where_axis < 0
             ? grid.sites()
             : grid.sites() / LengthOf(program, grid, step.where_axis);
}

}  // namespace

Placement::Placement(const Program& program, const FoldedGrid& grid)
    : program_(program), grid_(grid) {
  std::uint32_t stride = 1;
  for (int a = 0; a < grid.axes(); ++a) {
    strides_.push_back(stride);
    lengths_.push_back(LengthOf(program, grid, a));
    CHECK(grid.period(a) % lengths_.back() == 0) << "a block cut by the fold";
    stride *= grid.period(a);
  }
  CHECK(CountSlots(program, grid) < kNoOp) << "more than 2^32 transfers";
  std::uint32_t slot = 0;
  for (const ProgramStep& step : program.steps) {
    first_slot_.push_back(slot);
    slot += SlotsOf(program, step, grid);
  }
  first_slot_.push_back(slot);
}

std::uint32_t Placement::SiteOf(std::uint32_t step, std::uint32_t k) const {
  const ProgramStep& s = program_.steps[step];
  if (s.where_axis < 0) return k;
  const std::uint32_t stride = strides_[s.where_axis];
  return k / stride * stride * lengths_[s.where_axis] +
         s.where_coordinate * stride + k % stride;
}

std::uint32_t Placement::TargetOfRest(const ProgramStep& step,
                                      std::uint32_t site, bool back) const {
  if (step.kind != StepKind::kFar) return site;
  Coordinates hops = program_.routes[step.detail];
  if (back) {
    for (int& count : hops) count = -count;
  }
  return grid_.Translate(site, hops);
}

void Placement::RouteOf(std::uint32_t step, std::uint32_t site,
                        std::vector<LinkId>& route) const {
  route.clear();
  const ProgramStep& s = program_.steps[step];
  if (s.kind == StepKind::kHop) {
    route.push_back(grid_.LinkAt(site, s.axis, s.sign));
    return;
  }
  const Coordinates& hops = program_.routes[s.detail];
  if (grid_.SlicesAxis() >= 0 && hops[grid_.SlicesAxis()] != 0) {
    route.push_back(grid_.PortOut(site));
    route.push_back(grid_.PortIn(grid_.Translate(site, hops)));
    return;
  }
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    const Sign sign = hops[axis] > 0 ? Sign::kPlus : Sign::kMinus;
    for (int k = std::abs(hops[axis]); k > 0; --k) {
      route.push_back(grid_.LinkAt(site, axis, sign));
      site = grid_.Neighbour(site, axis, sign);
    }
  }
}

std::uint64_t CountSlots(const Program& program, const FoldedGrid& grid) {
  std::uint64_t count = 0;
  for (const ProgramStep& step : program.steps) {
    count += SlotsOf(program, step, grid);
  }
  return count;
}

std::uint64_t CountTransfers(const Program& program, const Topology& topology) {
  std::uint64_t count = 0;
  for (const ProgramStep& step : program.steps) {
    if (!IsTransfer(step)) continue;
    count += step.where_axis < 0
                 ? topology.chips()
                 : topology.chips() /
                       BlockLength(program, topology, step.where_axis);
  }
  return count;
}

bool UsesDcn(const Program& program, const Topology& topology) {
  const int axis = topology.ici_axes();  // if there is one
  return std::any_of(program.routes.begin(), program.routes.end(),
                     [&](const auto& hops) {
                       return topology.slices() > 1 && hops[axis] != 0;
                     });
}

bool InvariantAlong(const Program& program, const Topology& topology,
                    int axis) {
  for (const ProgramStep& step : program.steps) {
    if (step.where_axis == axis) return false;
    const bool along =
        (step.kind == StepKind::kHop && step.axis == axis) ||
        (step.kind == StepKind::kFar && program.routes[step.detail][axis] != 0);
    if (along && IsCut(program, topology, axis)) return false;
    if (along && topology.axes()[axis].ici && !topology.axes()[axis].wrap) {
      return false;
    }
  }
  return true;
}

std::vector<int> PeriodsOf(const Program& program, const Topology& topology) {
  std::vector<int> periods;
  for (int axis = 0; axis < static_cast<int>(topology.axes().size()); ++axis) {
    periods.push_back(InvariantAlong(program, topology, axis)
                          ? 1
                          : BlockLength(program, topology, axis));
  }
  return periods;
}

}  // namespace podsim
