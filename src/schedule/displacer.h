#ifndef PODSIM_SCHEDULE_DISPLACER_H_
#define PODSIM_SCHEDULE_DISPLACER_H_

#include <array>
#include <cstdint>
#include <span>

#include "schedule/program.h"
#include "topology/topology.h"

namespace podsim {

// Topology::Translate for many displacements from one chip, each shorter than
// its axis: on an untwisted grid every coordinate goes around by itself. With
// `blocks` (Program::blocks), around inside the block of that chip.
class Displacer {
 public:
  explicit Displacer(const Topology& topology, std::span<const int> blocks = {})
      : topology_(topology),
        axes_(topology.axes().size()),
        cut_(!blocks.empty()) {
    std::uint32_t stride = 1;
    for (std::size_t a = 0; a < axes_; ++a) {
      sizes_[a] = cut_ ? blocks[a] : topology.axes()[a].size;
      strides_[a] = stride;
      stride *= topology.axes()[a].size;
    }
  }

  void MoveTo(ChipId base) {
    base_ = base;
    at_ = topology_.CoordinatesOf(base);
    if (!cut_) return;
    first_ = 0;
    for (std::size_t a = 0; a < axes_; ++a) {
      const int inside = at_[a] % sizes_[a];
      first_ += (at_[a] - inside) * strides_[a];
      at_[a] = inside;
    }
  }

  ChipId At(const std::array<std::int16_t, kMaxAxes>& hops) const {
    if (topology_.twisted()) {
      Coordinates all{};
      for (std::size_t a = 0; a < axes_; ++a) all[a] = hops[a];
      return topology_.Translate(base_, all);
    }
    std::uint32_t chip = first_;
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
  bool cut_;
  std::array<int, kMaxAxes> sizes_{};  // of a block
  std::array<std::uint32_t, kMaxAxes> strides_{};
  ChipId base_{0};
  std::uint32_t first_ = 0;  // chip of the block
  Coordinates at_{};         // inside the block
};

// Topology::Translate, around inside the block of the chip if there are blocks;
// then every displacement is shorter than the block.
inline ChipId TranslateInside(ChipId chip, const Coordinates& hops,
                              const Topology& topology,
                              std::span<const int> blocks) {
  if (blocks.empty()) return topology.Translate(chip, hops);
  Displacer displacer(topology, blocks);
  displacer.MoveTo(chip);
  std::array<std::int16_t, kMaxAxes> short_hops{};
  for (int a = 0; a < kMaxAxes; ++a) {
    short_hops[a] = static_cast<std::int16_t>(hops[a]);
  }
  return displacer.At(short_hops);
}

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_DISPLACER_H_
