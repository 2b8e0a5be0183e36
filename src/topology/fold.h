#ifndef PODSIM_TOPOLOGY_FOLD_H_
#define PODSIM_TOPOLOGY_FOLD_H_

#include <string>
#include <vector>

#include "topology/topology.h"

namespace podsim {

// A period per axis of a grid: chips whose coordinates agree modulo the periods
// are one class, and links wrap onto the classes. Periods equal to the axis
// sizes fold nothing.
struct Fold {
  std::vector<int> periods;
};

// Folds nothing.
Fold NoFold(const Topology& topology);
bool FoldsAnything(const Topology& topology, const Fold& fold);

// The quotient: a grid with the periods as sizes, where every folded axis wraps
// onto itself (also at period 1: a link from a class to itself).
class FoldedGrid {
 public:
  // Each period must divide the size of its axis. Of a twisted slice all
  // must divide the short size, or fold nothing. The topology must outlive it.
  FoldedGrid(const Topology& topology, const Fold& fold);
  FoldedGrid(const Topology&& topology, const Fold& fold) = delete;

  std::uint32_t sites() const { return sites_; }
  std::uint32_t chips_per_site() const { return chips_per_site_; }
  std::uint32_t link_ids() const { return sites_ * 2 * ici_axes_; }
  // Links and ports. What folds has ports of its own at every site, each of one
  // chip's share of the NIC: all chips of a host do the same.
  std::uint32_t port_ids() const {
    if (folds_nothing_) return topology_->port_ids();
    return link_ids() + (topology_->dcn() ? 2 * sites_ : 0);
  }
  LinkId PortOut(std::uint32_t site) const {
    return folds_nothing_ ? topology_->PortOut(ChipId(site))
                          : LinkId(link_ids() + 2 * site);
  }
  LinkId PortIn(std::uint32_t site) const {
    return folds_nothing_ ? topology_->PortIn(ChipId(site))
                          : LinkId(link_ids() + 2 * site + 1);
  }
  int period(int axis) const { return periods_[axis]; }
  int axes() const { return static_cast<int>(periods_.size()); }
  int SlicesAxis() const {  // -1: one slice
    return axes() > ici_axes_ ? ici_axes_ : -1;
  }

  Coordinates CoordinatesOf(std::uint32_t site) const;
  std::uint32_t SiteAt(const Coordinates& coordinates) const;
  // One hop along a link that exists in the slice.
  std::uint32_t Neighbour(std::uint32_t site, int axis, Sign sign) const {
    if (twisted_) {
      return topology_->Neighbour(ChipId(site), axis, sign)->value();
    }
    const std::uint32_t at = site / strides_[axis] % periods_[axis];
    const std::uint32_t last = periods_[axis] - 1;
    if (sign == Sign::kPlus) {
      return at == last ? site - last * strides_[axis] : site + strides_[axis];
    }
    return at == 0 ? site + last * strides_[axis] : site - strides_[axis];
  }
  // Several hops along every axis, all of which wrap.
  std::uint32_t Translate(std::uint32_t site, const Coordinates& hops) const;
  std::uint32_t CoordinateOf(std::uint32_t site, int axis) const {
    return site / strides_[axis] % periods_[axis];
  }
  LinkId LinkAt(std::uint32_t site, int axis, Sign sign) const {
    return LinkId((site * ici_axes_ + axis) * 2 +
                  (sign == Sign::kMinus ? 1 : 0));
  }
  // A chip (or link) of the slice that the site (or its link) stands for: the
  // one with the smallest coordinates.
  ChipId Representative(std::uint32_t site) const;
  LinkId Representative(LinkId folded) const;

 private:
  std::vector<std::uint32_t> periods_;
  std::vector<std::uint32_t> strides_;
  std::vector<std::uint32_t> chip_strides_;
  int ici_axes_ = 0;
  std::uint32_t sites_ = 1;
  std::uint32_t chips_per_site_ = 1;
  const Topology* topology_;
  bool twisted_ = false;  // and it matters
  bool folds_nothing_ = false;
};

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_FOLD_H_
