#include "topology/fold.h"

#include "base/check.h"

namespace podsim {

Fold NoFold(const Topology& topology) {
  Fold fold;
  for (const GridAxis& axis : topology.axes())
    fold.periods.push_back(axis.size);
  return fold;
}

bool FoldsAnything(const Topology& topology, const Fold& fold) {
  return fold.periods != NoFold(topology).periods;
}

FoldedGrid::FoldedGrid(const Topology& topology, const Fold& fold)
    : ici_axes_(topology.ici_axes()),
      topology_(&topology),
      folds_nothing_(!FoldsAnything(topology, fold)) {
  CHECK(fold.periods.size() == topology.axes().size());
  std::uint32_t chip_stride = 1;
  for (std::size_t a = 0; a < fold.periods.size(); ++a) {
    const int size = topology.axes()[a].size;
    CHECK(fold.periods[a] >= 1 && size % fold.periods[a] == 0)
        << "period " << fold.periods[a] << " on an axis of " << size;
    periods_.push_back(fold.periods[a]);
    strides_.push_back(sites_);
    chip_strides_.push_back(chip_stride);
    sites_ *= fold.periods[a];
    chip_stride *= size;
  }
  if (!topology.is_grid()) sites_ = topology.chips();  // never folds
  // The twist shifts by multiples of the short size.
  for (int a = 0; topology.twisted() && a < ici_axes_; ++a) {
    for (int b = 0; b < ici_axes_; ++b) {
      if (topology.axes()[b].size % fold.periods[a] != 0) twisted_ = true;
    }
  }
  CHECK(!twisted_ || folds_nothing_)
      << "the fold of a twisted slice would lose the twist";
  chips_per_site_ = topology.chips() / sites_;
}

Coordinates FoldedGrid::CoordinatesOf(std::uint32_t site) const {
  Coordinates at{};
  for (std::size_t a = 0; a < periods_.size(); ++a) {
    at[a] = static_cast<int>(site / strides_[a] % periods_[a]);
  }
  return at;
}

std::uint32_t FoldedGrid::SiteAt(const Coordinates& coordinates) const {
  std::uint32_t site = 0;
  for (std::size_t a = 0; a < periods_.size(); ++a) {
    site += coordinates[a] % static_cast<int>(periods_[a]) * strides_[a];
  }
  return site;
}

std::uint32_t FoldedGrid::Translate(std::uint32_t site,
                                    const Coordinates& hops) const {
  if (twisted_) {
    return topology_->Translate(ChipId(site), hops).value();
  }
  for (std::size_t a = 0; a < periods_.size(); ++a) {
    if (hops[a] == 0) continue;
    const int size = static_cast<int>(periods_[a]);
    const int at = static_cast<int>(CoordinateOf(site, static_cast<int>(a)));
    const int moved = ((at + hops[a]) % size + size) % size;
    site += (moved - at) * strides_[a];
  }
  return site;
}

ChipId FoldedGrid::Representative(std::uint32_t site) const {
  std::uint32_t chip = 0;
  for (std::size_t a = 0; a < periods_.size(); ++a) {
    chip += CoordinateOf(site, static_cast<int>(a)) * chip_strides_[a];
  }
  return ChipId(chip);
}

LinkId FoldedGrid::Representative(LinkId folded) const {
  if (folds_nothing_) return folded;
  if (folded.value() >= link_ids()) {
    const std::uint32_t port = folded.value() - link_ids();
    const ChipId chip = Representative(port / 2);
    return port % 2 == 0 ? topology_->PortOut(chip) : topology_->PortIn(chip);
  }
  const std::uint32_t ports = 2 * ici_axes_;
  const ChipId chip = Representative(folded.value() / ports);
  return LinkId(chip.value() * ports + folded.value() % ports);
}

}  // namespace podsim
