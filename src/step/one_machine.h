#ifndef PODSIM_STEP_ONE_MACHINE_H_
#define PODSIM_STEP_ONE_MACHINE_H_

#include <vector>

namespace podsim {

// Ready at `head`, `length` on the machine, then `tail` elsewhere. Seconds.
struct MachineJob {
  double head = 0;
  double length = 0;
  double tail = 0;
};

// The earliest end of all jobs on one machine that may interrupt them: always
// runs the ready job with the longest tail (J. R. Jackson 1955, preemptive).
// Jobs without length are left out. O(n log n).
double OneMachineBound(std::vector<MachineJob> jobs);

}  // namespace podsim

#endif  // PODSIM_STEP_ONE_MACHINE_H_
