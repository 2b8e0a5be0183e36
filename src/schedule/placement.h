#ifndef PODSIM_SCHEDULE_PLACEMENT_H_
#define PODSIM_SCHEDULE_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "schedule/program.h"
#include "topology/fold.h"

namespace podsim {

// A Program placed on the sites of a (folded) grid: which transfers exist and
// what they wait for. Slots number all (step, site) pairs that may exist, step
// by step, sites ascending.
class Placement {
 public:
  Placement(const Program& program, const FoldedGrid& grid);

  const Program& program() const { return program_; }
  const FoldedGrid& grid() const { return grid_; }
  std::uint64_t slots() const { return first_slot_.back(); }

  // kNoOp where the step does not exist at this site.
  std::uint32_t SlotOf(std::uint32_t step, std::uint32_t site) const {
    const ProgramStep& s = program_.steps[step];
    if (s.where_axis < 0) return first_slot_[step] + site;
    if (site / strides_[s.where_axis] % lengths_[s.where_axis] !=
        static_cast<std::uint32_t>(s.where_coordinate)) {
      return kNoOp;
    }
    return first_slot_[step] + WithoutAxis(site, s.where_axis);
  }
  // Sites of a step, ascending; slot of the k-th is FirstSlot(step) + k.
  std::uint32_t FirstSlot(std::uint32_t step) const {
    return first_slot_[step];
  }
  std::uint32_t SitesOf(std::uint32_t step) const {
    return first_slot_[step + 1] - first_slot_[step];
  }
  std::uint32_t SiteOf(std::uint32_t step, std::uint32_t k) const;

  std::uint32_t Target(std::uint32_t step, std::uint32_t site) const {
    const ProgramStep& s = program_.steps[step];
    if (s.kind != StepKind::kHop) return TargetOfRest(s, site, /*back=*/false);
    return grid_.Neighbour(site, s.axis, s.sign);
  }
  // The site whose transfer of this step arrives at `site`. What is no transfer
  // stays where it is.
  std::uint32_t SourceOfArrival(std::uint32_t step, std::uint32_t site) const {
    const ProgramStep& s = program_.steps[step];
    if (s.kind != StepKind::kHop) return TargetOfRest(s, site, /*back=*/true);
    return grid_.Neighbour(site, s.axis, Opposite(s.sign));
  }
  // The links of a transfer in order.
  void RouteOf(std::uint32_t step, std::uint32_t site,
               std::vector<LinkId>& route) const;

  // The slots that (step, site) waits for, given which slots hold transfers
  // (`emitted(slot)`): the last emitted one before it in its lane, and its
  // `after` list; of several in one lane only the last.
  struct Wait {
    std::uint32_t step;
    std::uint32_t site;
    std::uint32_t slot;
  };
  template <class Emitted>
  void WaitsOf(std::uint32_t step, std::uint32_t site, Emitted emitted,
               std::vector<Wait>& waits) const;

 private:
  // Without the place inside the block.
  std::uint32_t WithoutAxis(std::uint32_t site, int axis) const {
    const std::uint32_t stride = strides_[axis];
    return site / (stride * lengths_[axis]) * stride + site % stride;
  }
  void AddWait(const Wait& wait, std::vector<Wait>& waits) const;
  std::uint32_t TargetOfRest(const ProgramStep& step, std::uint32_t site,
                             bool back) const;

  const Program& program_;
  const FoldedGrid& grid_;
  std::vector<std::uint32_t> strides_;
  std::vector<std::uint32_t> lengths_;  // of blocks, where they do not fold
  std::vector<std::uint32_t> first_slot_;
};

template <class Emitted>
void Placement::WaitsOf(std::uint32_t step, std::uint32_t site, Emitted emitted,
                        std::vector<Wait>& waits) const {
  waits.clear();
  const ProgramStep& s = program_.steps[step];
  std::uint32_t end_after = s.end_after;
  std::uint32_t before = s.lane_previous;
  while (before != kNoStep && !emitted(SlotOf(before, site))) {
    before = program_.steps[before].lane_previous;
  }
  if (before != kNoStep) {
    waits.push_back({before, site, SlotOf(before, site)});
    if (before == s.lane_previous) end_after = s.first_after + s.own_after;
  }
  for (std::uint32_t k = s.first_after; k < end_after; ++k) {
    const After& after = program_.after[k];
    const std::uint32_t on = after.step.value();
    const std::uint32_t from = after.arrival ? SourceOfArrival(on, site) : site;
    const std::uint32_t slot = SlotOf(on, from);
    if (slot == kNoOp || !emitted(slot)) continue;
    AddWait({on, from, slot}, waits);
  }
}

inline void Placement::AddWait(const Wait& wait,
                               std::vector<Wait>& waits) const {
  const std::uint16_t lane = program_.steps[wait.step].lane;
  for (Wait& other : waits) {
    if (lane == kNoLane) break;
    if (other.site != wait.site || program_.steps[other.step].lane != lane) {
      continue;
    }
    if (other.step < wait.step) other = wait;
    return;
  }
  waits.push_back(wait);
}

// The slots of a Placement, which must be fewer than 2^32, before making one.
std::uint64_t CountSlots(const Program& program, const FoldedGrid& grid);

// CountTransfers: the transfers of the unfolded schedule, zero-byte ones
// included, without building it.
std::uint64_t CountTransfers(const Program& program, const Topology& topology);

// Whether some step goes from slice to slice.
bool UsesDcn(const Program& program, const Topology& topology);

// Whether translation by one along the axis leaves the program unchanged, so
// that the axis can fold: no step is tied to a coordinate of it, and it wraps
// and is not cut into blocks if any step uses its links. All slices are alike.
bool InvariantAlong(const Program& program, const Topology& topology, int axis);

// The shortest translation along every axis that leaves the program unchanged:
// one chip, one block, or the whole axis.
std::vector<int> PeriodsOf(const Program& program, const Topology& topology);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_PLACEMENT_H_
