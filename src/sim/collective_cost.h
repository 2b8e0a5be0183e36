#ifndef PODSIM_SIM_COLLECTIVE_COST_H_
#define PODSIM_SIM_COLLECTIVE_COST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sim/lower_collective.h"

namespace podsim {

// The links of one direction of one axis of every chip, those of a slice
// without axes, or the ports onto DCN.
struct LinkClass {
  std::string name;  // "ici_x+", "ici", "dcn"
  std::string axis;  // "x", "ici", "dcn"

  bool operator==(const LinkClass&) const = default;
};

// What a collective takes of a chip and its network by itself: the transfer of
// the abstract mode.
struct CollectiveCost {
  Seconds latency;  // launch, and its messages if links were infinitely fast
  Seconds work;     // what their bandwidth adds
  std::vector<LinkClass> links;  // that it uses
  // Read and written in the memory of the chip that has most: every byte sent
  // or received once, what is added on arrival read once more.
  Bytes hbm;
};

// One lowered collective, ready to be timed on links that are changed.
class CollectiveCoster {
 public:
  // `fold`, `payload`: as the step folds and pads it.
  CollectiveCoster(const LoweredCollective& lowered, const Slice& slice,
                   const FoldedGrid& grid, bool folded, Bytes payload,
                   const NetworkModel& model);

  CollectiveCost Cost() const;
  // Seconds with the links of these axes infinitely fast.
  double TimeWithout(const std::vector<std::string>& axes) const;

 private:
  LinkClass ClassOf(LinkId link) const;

  const Topology* topology_;
  Schedule schedule_;
  Network network_;
  double launch_ = 0;
  std::uint32_t sites_ = 0;
};

}  // namespace podsim

#endif  // PODSIM_SIM_COLLECTIVE_COST_H_
