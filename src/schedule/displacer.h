#ifndef PODSIM_SCHEDULE_DISPLACER_H_
#define PODSIM_SCHEDULE_DISPLACER_H_

#include <array>
#include <cstdint>

#include "schedule/program.h"
#include "topology/topology.h"

namespace podsim {

// Topology::Translate for many displacements from one chip, each shorter than
// its axis: on an untwisted grid every coordinate goes around by itself.
class Displacer {
 public:
  explicit Displacer(const Topology& topology)
      : topology_(topology), axes_(topology.axes().size()) {
    std::uint32_t stride = 1;
    for (std::size_t a = 0; a < axes_; ++a) {
      sizes_[a] = topology.axes()[a].size;
      strides_[a] = stride;
      stride *= sizes_[a];
    }
  }

  void MoveTo(ChipId base) {
    base_ = base;
    at_ = topology_.CoordinatesOf(base);
  }

  ChipId At(const std::array<std::int16_t, kMaxAxes>& hops) const {
    if (topology_.twisted()) {
      Coordinates all{};
      for (std::size_t a = 0; a < axes_; ++a) all[a] = hops[a];
      return topology_.Translate(base_, all);
    }
    std::uint32_t chip = 0;
    for (std::size_t a = 0; a < axes_; ++a) {
      int at = at_[a] + hops[a];
      if (at >= sizes_[a]) at -= sizes_[a];
      if (at < 0) at += sizes_[a];
      chip += at * strides_[a];
    }
    return ChipId(chip);
  }

 private:
  const Topology& topology_;
  std::size_t axes_;
  std::array<int, kMaxAxes> sizes_{};
  std::array<std::uint32_t, kMaxAxes> strides_{};
  ChipId base_{0};
  Coordinates at_{};
};

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_DISPLACER_H_
