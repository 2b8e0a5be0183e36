#ifndef PODSIM_SCHEDULE_PROGRAM_ORDER_H_
#define PODSIM_SCHEDULE_PROGRAM_ORDER_H_

#include <vector>

#include "schedule/placement.h"

namespace podsim {

// One op of a placed program: a step and the site that does it.
struct SiteOp {
  std::uint32_t step;
  std::uint32_t site;
};

// Whether one op of the program is an ancestor of another, from the dependences
// alone. The placement must outlive it.
class ProgramOrder {
 public:
  explicit ProgramOrder(const Placement& placement) : placement_(placement) {}

  bool IsAncestor(SiteOp ancestor, SiteOp op) {
    return NearInLane(ancestor, op) || Search(ancestor, op);
  }

 private:
  bool SameLaneBefore(SiteOp ancestor, SiteOp op) const;
  void ReadWaits(SiteOp op);
  bool NearInLane(SiteOp ancestor, SiteOp op);
  bool Search(SiteOp ancestor, SiteOp op);

  const Placement& placement_;
  SiteOp read_ = {kNoStep, 0};  // whose waits are in waits_
  std::vector<Placement::Wait> waits_;
};

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_PROGRAM_ORDER_H_
