#ifndef PODSIM_ENGINE_DATED_CHANGES_H_
#define PODSIM_ENGINE_DATED_CHANGES_H_

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "engine/core.h"

namespace podsim {

// When something dies, and by which fault of Network::changes.
struct Death {
  double date = std::numeric_limits<double>::infinity();
  std::uint32_t fault = 0;

  // Whether what ends at `end` is over by then.
  bool Before(double end) const { return date * (1 + kSimultaneous) < end; }
  // Whether what begins at `begin` finds it dead.
  bool By(double begin) const { return date <= begin * (1 + kSimultaneous); }
};

// The dated faults of a network, by link and chip.
class DatedChanges {
 public:
  DatedChanges(const Schedule& schedule, const Network& network);

  bool empty() const { return links_.empty() && chips_.empty(); }

  // Of what begins at `date`, bytes/s; 0: the link is dead.
  double RateAt(LinkId link, double date) const;
  // Of one hop of a transfer: the link or, at a port, also the chip that sends
  // or receives.
  Death OfHop(OpId op, LinkId link) const;
  // Of a transfer: the first of its hops to die. Of another op: its chip.
  Death Of(OpId op) const;
  // Whether an op that would end at `end` has lost its chip or a link by then.
  bool Takes(OpId op, double end) const {
    return !empty() && Of(op).Before(end);
  }
  // Of an op that something has taken.
  Timeline::Loss LossOf(OpId op) const;

 private:
  Death OfChip(ChipId chip) const;

  const Schedule& schedule_;
  const Network& network_;
  std::unordered_map<std::uint32_t, std::vector<LinkChange>> links_;
  std::unordered_map<std::uint32_t, Death> chips_;
};

}  // namespace podsim

#endif  // PODSIM_ENGINE_DATED_CHANGES_H_
