#ifndef PODSIM_STEP_ABSTRACT_ACCOUNT_H_
#define PODSIM_STEP_ABSTRACT_ACCOUNT_H_

#include <cstdint>
#include <vector>

#include "step/abstract_step.h"
#include "step/simulate_abstract.h"

namespace podsim {

// What the core waited for one transfer, and what it hid. Seconds.
struct TransferAccount {
  std::uint32_t op = 0;   // the start or sync
  double in_flight = 0;   // end - issue
  double exposed = 0;     // of a start: what its done waited, whoever was ahead
                          // of it in a queue; of a sync: in_flight
  double overlapped = 0;  // in_flight - exposed
};

// Where the time of the core went: makespan = work + interference + exposed
// (CHECKed). Seconds.
struct AbstractAccount {
  double makespan = 0;
  double work = 0;          // sum of tc_time
  double interference = 0;  // core ops slowed by sharing
  double exposed = 0;       // sum over the transfers
  double in_flight = 0;     // sum over the transfers
  std::vector<double> interference_by_resource;
  std::vector<TransferAccount> transfers;  // in the order of the issue

  double exposed_fraction() const {
    return makespan > 0 ? exposed / makespan : 0;
  }
  // 1: all communication is hidden, or there is none.
  double overlap_efficiency() const {
    return in_flight > 0 ? 1 - exposed / in_flight : 1;
  }
};

AbstractAccount AccountAbstract(const AbstractStep& step, StepOrderView order,
                                const AbstractTimeline& timeline);

}  // namespace podsim

#endif  // PODSIM_STEP_ABSTRACT_ACCOUNT_H_
