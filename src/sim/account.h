#ifndef PODSIM_SIM_ACCOUNT_H_
#define PODSIM_SIM_ACCOUNT_H_

#include <functional>
#include <vector>

#include "engine/engine.h"
#include "sim/compile_step.h"

namespace podsim {

// Where the time of one chip's core went; compute + interference + exposed +
// idle = makespan, with the iterations that shortened loops stand for.
struct CoreAccount {
  // Of all executions of one op.
  struct OpShare {
    double compute_s = 0;       // undisturbed
    double interference_s = 0;  // more, as transfers used the memory
    double exposed_s = 0;       // the core stood still for this collective
    double idle_s = 0;          // .. while another chip had not issued it yet
    double overlapped_s = 0;    // in flight while the core did something else
    double flight_s = 0;        // from issue to end on this chip
  };
  std::vector<OpShare> ops;  // by op of the graph
  double compute_s = 0;
  double interference_s = 0;
  double exposed_s = 0;
  double idle_s = 0;  // for other chips, also after its own last op
  double overlapped_s = 0;
  double makespan_s = 0;
};

// The sites that take part in a collective (by op of the graph) with a site.
using PeersOf = std::function<std::vector<std::uint32_t>(std::uint32_t op,
                                                         std::uint32_t site)>;

// Accounts for the core of one site. CHECKs that the parts add up to the
// makespan.
CoreAccount AccountCore(const StepGraph& graph, const CompiledStep& step,
                        const Timeline& timeline, const PeersOf& peers,
                        std::uint32_t site);

}  // namespace podsim

#endif  // PODSIM_SIM_ACCOUNT_H_
