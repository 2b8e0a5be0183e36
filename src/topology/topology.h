#ifndef PODSIM_TOPOLOGY_TOPOLOGY_H_
#define PODSIM_TOPOLOGY_TOPOLOGY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "topology/dated_faults.h"

namespace podsim {

inline constexpr int kMaxChips = 1 << 24;
inline constexpr int kMaxAxes = 4;  // x, y, z, and the slices of a multislice

enum class Sign : std::uint8_t { kPlus, kMinus };

constexpr Sign Opposite(Sign sign) {
  return sign == Sign::kPlus ? Sign::kMinus : Sign::kPlus;
}

// One coordinate per axis; unused ones are 0.
using Coordinates = std::array<int, kMaxAxes>;

struct GridAxis {
  int size = 1;
  bool wrap = false;
  bool ici = true;  // false: the slices of a multislice, joined by DCN only
};

// One entry of an explicit link list: a cable, both directions.
struct Cable {
  ChipId a;
  ChipId b;
  BytesPerSecond bandwidth;  // each way
  Seconds latency;
};

// How the slices of a multislice are joined: every host has one full-duplex NIC
// onto a fabric that never blocks. Hosts are blocks of chips that share the
// NIC; a block cut short by the border of the slice has a NIC for its chips
// only.
struct Dcn {
  BytesPerSecond bandwidth;             // of a host's NIC, per chip, each way
  Seconds latency;                      // from chip to chip
  std::array<int, 3> host = {1, 1, 1};  // chips along every axis
};

// The chips of a slice (or of several equal slices) and their ICI links.
//
// A *grid* is a torus, mesh, mixed or twisted slice: chips are numbered x
// fastest, link (chip * ici_axes + axis) * 2 + (0 for +, 1 for -) leaves `chip`
// along `axis`; ids of links that do not exist are never live. On a twisted
// torus, a step that leaves axis a adds size[a] to every coordinate, each
// modulo its own size (TPU v4, ISCA 2023). An axis of size 2 is one cable, or
// two parallel ones if it wraps; links of a grid are computed, not stored.
//
// With DCN, every host also has two *ports*, the directions of its NIC, as
// links of their own after those of ICI: link_ids() + 2 * host + (0 for out, 1
// for in). A message to another slice takes two of them, out and in; ports have
// no source and no target chip, and count as links only where it says so.
//
// An *explicit* topology is a list of cables; cable k has links 2k (a to b) and
// 2k+1 (b to a) and no axes.
class Topology {
 public:
  // Sizes >= 1; at most kMaxChips chips. The slices axis, if any, comes last.
  static Topology MakeGrid(std::vector<GridAxis> axes, bool twisted,
                           BytesPerSecond bandwidth, Seconds hop_latency);
  static Topology MakeExplicit(int chips, std::vector<Cable> cables);

  int chips() const { return chips_; }
  bool is_grid() const { return !axes_.empty(); }
  bool twisted() const { return twisted_; }
  const std::vector<GridAxis>& axes() const { return axes_; }  // grid only
  int ici_axes() const { return ici_axes_; }
  int slices() const;
  int SliceOf(ChipId chip) const;
  const std::vector<Cable>& cables() const { return cables_; }

  Coordinates CoordinatesOf(ChipId chip) const;
  ChipId ChipAt(const Coordinates& coordinates) const;
  // The chip one hop away, dead or alive; nullopt where there is no cable.
  std::optional<ChipId> Neighbour(ChipId chip, int axis, Sign sign) const;
  // The chip so many hops away along every axis, around as if all wrapped.
  ChipId Translate(ChipId chip, const Coordinates& hops) const;

  std::uint32_t link_ids() const;  // ids are 0 .. link_ids()-1
  // Of several slices; nullopt: they cannot reach each other.
  void SetDcn(const Dcn& dcn) { dcn_ = dcn; }
  const std::optional<Dcn>& dcn() const { return dcn_; }
  int hosts() const;  // of all slices; 0 without DCN
  // Ids of links and ports are 0 .. port_ids()-1.
  std::uint32_t port_ids() const { return link_ids() + 2 * hosts(); }
  bool IsPort(LinkId link) const { return link.value() >= link_ids(); }
  LinkId PortOut(ChipId chip) const;
  LinkId PortIn(ChipId chip) const;
  ChipId FirstChipOf(LinkId port) const;  // of its host
  int ChipsOf(LinkId port) const;         // that share it

  LinkId LinkAt(ChipId chip, int axis, Sign sign) const;
  bool Exists(LinkId link) const;  // a cable is there, perhaps dead
  bool Live(LinkId link) const;    // exists, and it and both ends are alive
  ChipId Source(LinkId link) const;
  ChipId Target(LinkId link) const;  // of a link that exists
  LinkId Reverse(LinkId link) const;
  // Axis and sign of a grid's link.
  int AxisOf(LinkId link) const;
  Sign SignOf(LinkId link) const;
  BytesPerSecond Bandwidth(LinkId link) const;  // or port
  Seconds Latency(LinkId link) const;           // half that of DCN: a port

  // Faults.
  void Kill(LinkId link);
  void Kill(ChipId chip);
  void Degrade(LinkId link, double factor);  // 0 < factor
  bool Live(ChipId chip) const { return dead_chips_.count(chip.value()) == 0; }
  int live_chips() const {
    return chips_ - static_cast<int>(dead_chips_.size());
  }
  bool healthy() const { return overrides_.empty() && dead_chips_.empty(); }
  // A healthy grid without a twist: every axis is lines or rings.
  bool plain() const { return is_grid() && healthy() && !twisted(); }
  // All links equal: healthy, and no cable of its own speed.
  bool uniform() const;
  // Faults that hold from a date on change nothing else that is asked here.
  const DatedFaults& dated() const { return dated_; }
  DatedFaults& dated() { return dated_; }
  BytesPerSecond base_bandwidth() const { return bandwidth_; }
  Seconds base_latency() const { return latency_; }

  // Calls visit(LinkId) for every live link.
  template <class Visit>
  void ForEachLiveLink(Visit visit) const {
    for (std::uint32_t id = 0; id < link_ids(); ++id) {
      if (Live(LinkId(id))) visit(LinkId(id));
    }
  }
  // Calls visit(LinkId) for every live link that leaves `chip`.
  template <class Visit>
  void ForEachLiveLinkFrom(ChipId chip, Visit visit) const {
    if (is_grid()) {
      for (int k = 0; k < 2 * ici_axes_; ++k) {
        const LinkId link(chip.value() * 2 * ici_axes_ + k);
        if (Live(link)) visit(link);
      }
      return;
    }
    for (const std::uint32_t id : links_from_[chip.value()]) {
      if (Live(LinkId(id))) visit(LinkId(id));
    }
  }

  // "1,2,3" (as many numbers as axes) or "7"; "1,2,3:x+" or "0-1"; of ports the
  // first chip of the host: "0,0,0,1:dcn+" (out), "0,0,0,1:dcn-" (in).
  std::string NameOf(ChipId chip) const;
  std::string NameOf(LinkId link) const;
  std::optional<LinkId> FindLink(const std::string& name) const;
  std::optional<ChipId> FindChip(const std::string& name) const;

 private:
  Topology() = default;
  int HostsAlong(int axis) const;
  int HostOf(ChipId chip) const;

  std::vector<GridAxis> axes_;
  int ici_axes_ = 0;
  bool twisted_ = false;
  int chips_ = 0;
  BytesPerSecond bandwidth_;
  Seconds latency_;
  std::vector<Cable> cables_;
  std::vector<std::vector<std::uint32_t>> links_from_;  // explicit only
  std::optional<Dcn> dcn_;
  // Rate factor of links that are not as built; 0: dead.
  std::unordered_map<std::uint32_t, double> overrides_;
  std::unordered_map<std::uint32_t, bool> dead_chips_;
  DatedFaults dated_;
};

// Live links, one way.
std::uint64_t CountLiveLinks(const Topology& topology);

// The live chip with the smallest id. There must be one.
ChipId FirstLiveChip(const Topology& topology);

// "x", "y", "z"; the slices of a multislice are "dcn".
std::string AxisName(const Topology& topology, int axis);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_TOPOLOGY_H_
