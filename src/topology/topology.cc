#include "topology/topology.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr char kAxisLetters[] = "xyz";
constexpr char kPort[] = ":dcn";

std::optional<int> ParseWhole(std::string_view text) {
  int value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

Topology Topology::MakeGrid(std::vector<GridAxis> axes, bool twisted,
                            BytesPerSecond bandwidth, Seconds hop_latency) {
  CHECK(!axes.empty() && axes.size() <= kMaxAxes);
  Topology topology;
  std::int64_t chips = 1;
  for (const GridAxis& axis : axes) {
    CHECK(axis.size >= 1);
    chips *= axis.size;
    CHECK(chips <= kMaxChips) << chips;
    if (axis.ici) ++topology.ici_axes_;
  }
  topology.chips_ = static_cast<int>(chips);
  topology.axes_ = std::move(axes);
  topology.twisted_ = twisted;
  topology.bandwidth_ = bandwidth;
  topology.latency_ = hop_latency;
  return topology;
}

Topology Topology::MakeExplicit(int chips, std::vector<Cable> cables) {
  Topology topology;
  topology.chips_ = chips;
  topology.cables_ = std::move(cables);
  topology.links_from_.resize(chips);
  for (std::uint32_t k = 0; k < topology.cables_.size(); ++k) {
    const Cable& cable = topology.cables_[k];
    topology.links_from_[cable.a.value()].push_back(2 * k);
    topology.links_from_[cable.b.value()].push_back(2 * k + 1);
  }
  if (!topology.cables_.empty()) {
    topology.bandwidth_ = topology.cables_[0].bandwidth;
    topology.latency_ = topology.cables_[0].latency;
  }
  return topology;
}

int Topology::slices() const {
  return is_grid() && !axes_.back().ici ? axes_.back().size : 1;
}

int Topology::SliceOf(ChipId chip) const {
  return static_cast<int>(chip.value()) / (chips_ / slices());
}

int Topology::HostsAlong(int axis) const {
  if (!axes_[axis].ici) return axes_[axis].size;
  return (axes_[axis].size + dcn_->host[axis] - 1) / dcn_->host[axis];
}

int Topology::hosts() const {
  if (!dcn_) return 0;
  int hosts = 1;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    hosts *= HostsAlong(static_cast<int>(a));
  }
  return hosts;
}

int Topology::HostOf(ChipId chip) const {
  const Coordinates at = CoordinatesOf(chip);
  int host = 0;
  for (int a = static_cast<int>(axes_.size()); a-- > 0;) {
    const int along = axes_[a].ici ? at[a] / dcn_->host[a] : at[a];
    host = host * HostsAlong(a) + along;
  }
  return host;
}

LinkId Topology::PortOut(ChipId chip) const {
  return LinkId(link_ids() + 2 * HostOf(chip));
}

LinkId Topology::PortIn(ChipId chip) const {
  return LinkId(link_ids() + 2 * HostOf(chip) + 1);
}

ChipId Topology::FirstChipOf(LinkId port) const {
  int rest = static_cast<int>(port.value() - link_ids()) / 2;
  Coordinates at{};
  for (int a = 0; a < static_cast<int>(axes_.size()); ++a) {
    at[a] = rest % HostsAlong(a) * (axes_[a].ici ? dcn_->host[a] : 1);
    rest /= HostsAlong(a);
  }
  return ChipAt(at);
}

int Topology::ChipsOf(LinkId port) const {
  const Coordinates first = CoordinatesOf(FirstChipOf(port));
  int chips = 1;
  for (int a = 0; a < ici_axes_; ++a) {
    chips *= std::min(dcn_->host[a], axes_[a].size - first[a]);
  }
  return chips;
}

Coordinates Topology::CoordinatesOf(ChipId chip) const {
  Coordinates coordinates{};
  std::uint32_t rest = chip.value();
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    coordinates[a] = static_cast<int>(rest % axes_[a].size);
    rest /= axes_[a].size;
  }
  return coordinates;
}

ChipId Topology::ChipAt(const Coordinates& coordinates) const {
  std::uint32_t id = 0;
  for (std::size_t a = axes_.size(); a-- > 0;) {
    id = id * axes_[a].size + coordinates[a];
  }
  return ChipId(id);
}

std::optional<ChipId> Topology::Neighbour(ChipId chip, int axis,
                                          Sign sign) const {
  const GridAxis& along = axes_[axis];
  Coordinates at = CoordinatesOf(chip);
  const int moved = at[axis] + (sign == Sign::kPlus ? 1 : -1);
  if (moved >= 0 && moved < along.size) {
    at[axis] = moved;
    return ChipAt(at);
  }
  if (!along.wrap || along.size == 1) return std::nullopt;
  at[axis] = moved < 0 ? along.size - 1 : 0;
  if (twisted_) {
    for (int other = 0; other < ici_axes_; ++other) {
      if (other == axis) continue;
      at[other] = (at[other] + along.size) % axes_[other].size;
    }
  }
  return ChipAt(at);
}

// Translations commute: leaving a short axis of a twisted torus adds half of a
// long one to the long ones, leaving a long axis adds nothing.
ChipId Topology::Translate(ChipId chip, const Coordinates& hops) const {
  Coordinates at = CoordinatesOf(chip);
  Coordinates twist{};
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const int size = axes_[a].size;
    at[a] += hops[a];
    const int rounds = (at[a] < 0 ? at[a] - size + 1 : at[a]) / size;
    at[a] -= rounds * size;
    for (int b = 0; twisted_ && axes_[a].ici && b < ici_axes_; ++b) {
      if (b != static_cast<int>(a)) twist[b] += rounds * size;
    }
  }
  for (int a = 0; twisted_ && a < ici_axes_; ++a) {
    const int size = axes_[a].size;
    at[a] = ((at[a] + twist[a]) % size + size) % size;
  }
  return ChipAt(at);
}

std::uint32_t Topology::link_ids() const {
  return is_grid() ? static_cast<std::uint32_t>(chips_) * 2 * ici_axes_
                   : static_cast<std::uint32_t>(cables_.size()) * 2;
}

LinkId Topology::LinkAt(ChipId chip, int axis, Sign sign) const {
  return LinkId((chip.value() * ici_axes_ + axis) * 2 +
                (sign == Sign::kMinus ? 1 : 0));
}

int Topology::AxisOf(LinkId link) const {
  return static_cast<int>(link.value() / 2 % ici_axes_);
}

Sign Topology::SignOf(LinkId link) const {
  return link.value() % 2 == 0 ? Sign::kPlus : Sign::kMinus;
}

bool Topology::Exists(LinkId link) const {
  if (!is_grid()) return link.value() < link_ids();
  const int axis = AxisOf(link);
  const GridAxis& along = axes_[axis];
  if (along.size == 1) return false;
  if (along.wrap) return true;
  const int at = CoordinatesOf(Source(link))[axis];
  return SignOf(link) == Sign::kPlus ? at + 1 < along.size : at > 0;
}

bool Topology::Live(LinkId link) const {
  if (!Exists(link)) return false;
  if (healthy()) return true;
  const auto found = overrides_.find(link.value());
  if (found != overrides_.end() && found->second == 0) return false;
  return Live(Source(link)) && Live(Target(link));
}

ChipId Topology::Source(LinkId link) const {
  if (is_grid()) return ChipId(link.value() / (2 * ici_axes_));
  const Cable& cable = cables_[link.value() / 2];
  return link.value() % 2 == 0 ? cable.a : cable.b;
}

ChipId Topology::Target(LinkId link) const {
  if (is_grid()) {
    const auto target = Neighbour(Source(link), AxisOf(link), SignOf(link));
    CHECK(target.has_value()) << "link " << link.value() << " does not exist";
    return *target;
  }
  const Cable& cable = cables_[link.value() / 2];
  return link.value() % 2 == 0 ? cable.b : cable.a;
}

LinkId Topology::Reverse(LinkId link) const {
  if (!is_grid()) return LinkId(link.value() ^ 1);
  return LinkAt(Target(link), AxisOf(link), Opposite(SignOf(link)));
}

BytesPerSecond Topology::Bandwidth(LinkId link) const {
  if (IsPort(link)) return ChipsOf(link) * dcn_->bandwidth;
  const BytesPerSecond built =
      is_grid() ? bandwidth_ : cables_[link.value() / 2].bandwidth;
  const auto found = overrides_.find(link.value());
  return found == overrides_.end() ? built : found->second * built;
}

Seconds Topology::Latency(LinkId link) const {
  if (IsPort(link)) return 0.5 * dcn_->latency;
  return is_grid() ? latency_ : cables_[link.value() / 2].latency;
}

void Topology::Kill(LinkId link) { overrides_[link.value()] = 0; }
void Topology::Kill(ChipId chip) { dead_chips_[chip.value()] = true; }
void Topology::Degrade(LinkId link, double factor) {
  auto [entry, fresh] = overrides_.try_emplace(link.value(), factor);
  if (!fresh) entry->second *= factor;
}

bool Topology::uniform() const {
  if (!healthy()) return false;
  for (const Cable& cable : cables_) {
    if (cable.bandwidth != bandwidth_ || cable.latency != latency_)
      return false;
  }
  return true;
}

std::string Topology::NameOf(ChipId chip) const {
  if (!is_grid()) return std::to_string(chip.value());
  const Coordinates at = CoordinatesOf(chip);
  std::string name;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (a > 0) name += ',';
    name += std::to_string(at[a]);
  }
  return name;
}

std::string Topology::NameOf(LinkId link) const {
  if (!is_grid()) {
    return NameOf(Source(link)) + "-" + NameOf(Target(link));
  }
  if (IsPort(link)) {
    const bool out = (link.value() - link_ids()) % 2 == 0;
    return NameOf(FirstChipOf(link)) + kPort + (out ? "+" : "-");
  }
  return NameOf(Source(link)) + ":" + kAxisLetters[AxisOf(link)] +
         (SignOf(link) == Sign::kPlus ? "+" : "-");
}

std::optional<ChipId> Topology::FindChip(const std::string& name) const {
  const std::vector<std::string> parts = Split(name, ',');
  if (!is_grid()) {
    const auto id = ParseWhole(name);
    if (!id || *id >= chips_) return std::nullopt;
    return ChipId(*id);
  }
  if (parts.size() != axes_.size()) return std::nullopt;
  Coordinates at{};
  for (std::size_t a = 0; a < parts.size(); ++a) {
    const auto value = ParseWhole(parts[a]);
    if (!value || *value >= axes_[a].size) return std::nullopt;
    at[a] = *value;
  }
  return ChipAt(at);
}

std::optional<LinkId> Topology::FindLink(const std::string& name) const {
  if (!is_grid()) {
    for (std::uint32_t id = 0; id < link_ids(); ++id) {
      if (NameOf(LinkId(id)) == name) return LinkId(id);
    }
    return std::nullopt;
  }
  const auto colon = name.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto chip = FindChip(name.substr(0, colon));
  const char sign = name.back();
  if (!chip || (sign != '+' && sign != '-')) return std::nullopt;
  if (dcn_ && name.substr(colon, name.size() - colon - 1) == kPort) {
    const LinkId port = sign == '+' ? PortOut(*chip) : PortIn(*chip);
    if (FirstChipOf(port) != *chip) return std::nullopt;
    return port;
  }
  if (name.size() != colon + 3) return std::nullopt;
  for (int axis = 0; axis < ici_axes_; ++axis) {
    if (name[colon + 1] != kAxisLetters[axis]) continue;
    const LinkId link =
        LinkAt(*chip, axis, sign == '+' ? Sign::kPlus : Sign::kMinus);
    if (Exists(link)) return link;
  }
  return std::nullopt;
}

std::uint64_t CountLiveLinks(const Topology& topology) {
  std::uint64_t links = 0;
  if (topology.is_grid() && topology.healthy()) {
    for (int a = 0; a < topology.ici_axes(); ++a) {
      const GridAxis& axis = topology.axes()[a];
      const int cables = axis.size == 1 ? 0
                         : axis.wrap    ? axis.size
                                        : axis.size - 1;
      links += std::uint64_t{2} * cables * (topology.chips() / axis.size);
    }
    return links;
  }
  topology.ForEachLiveLink([&](LinkId) { ++links; });
  return links;
}

ChipId FirstLiveChip(const Topology& topology) {
  std::uint32_t id = 0;
  while (!topology.Live(ChipId(id))) ++id;
  return ChipId(id);
}

std::string AxisName(const Topology& topology, int axis) {
  if (!topology.axes()[axis].ici) return "dcn";
  return std::string(1, kAxisLetters[axis]);
}

}  // namespace podsim
