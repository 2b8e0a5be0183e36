#include "engine/dated_changes.h"

#include "base/check.h"

namespace podsim {
namespace {

Death Earlier(const Death& a, const Death& b) {
  return b.date < a.date ? b : a;
}

}  // namespace

DatedChanges::DatedChanges(const Schedule& schedule, const Network& network)
    : schedule_(schedule), network_(network) {
  for (const LinkChange& change : network.changes.links) {
    links_[change.link.value()].push_back(change);
  }
  for (const ChipDeath& death : network.changes.chips) {
    chips_.try_emplace(death.chip.value(), Death{death.date, death.fault});
  }
}

double DatedChanges::RateAt(LinkId link, double date) const {
  const double rate = network_.BandwidthOf(link);
  const auto found = links_.find(link.value());
  if (found == links_.end()) return rate;
  double factor = 1;
  for (const LinkChange& change : found->second) {
    if (change.date <= date * (1 + kSimultaneous)) factor = change.factor;
  }
  return rate * factor;
}

Death DatedChanges::OfHop(OpId op, LinkId link) const {
  Death death;
  const auto found = links_.find(link.value());
  if (found != links_.end()) {
    const LinkChange& last = found->second.back();  // nothing follows a death
    if (last.factor == 0) death = {last.date, last.fault};
  }
  if (link.value() < network_.first_port) return death;
  return Earlier(death,
                 Earlier(OfChip(schedule_.src(op)), OfChip(schedule_.dst(op))));
}

Death DatedChanges::OfChip(ChipId chip) const {
  const auto found = chips_.find(chip.value());
  return found == chips_.end() ? Death{} : found->second;
}

Death DatedChanges::Of(OpId op) const {
  if (schedule_.kind(op) != OpKind::kTransfer) {
    return OfChip(schedule_.src(op));
  }
  Death death;
  for (const LinkId link : schedule_.route(op)) {
    death = Earlier(death, OfHop(op, link));
  }
  return death;
}

Timeline::Loss DatedChanges::LossOf(OpId op) const {
  const Death death = Of(op);
  CHECK(death.date < Death().date) << "op " << op.value() << " is not lost";
  return {.op = op.value(), .fault = death.fault};
}

}  // namespace podsim
