#ifndef PODSIM_STEP_SIMULATE_ABSTRACT_H_
#define PODSIM_STEP_SIMULATE_ABSTRACT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "step/abstract_step.h"
#include "step/index_lists.h"

namespace podsim {

// What sharing cost an op on the core, or its transfer: the sum of (1 - speed)
// dt while that resource held it back.
struct LostTime {
  std::uint32_t op = 0;
  bool transfer = false;
  std::uint32_t resource = 0;
  double seconds = 0;
};

// Dates in seconds from the start, per op.
struct AbstractTimeline {
  std::vector<double> begin;  // on the core
  std::vector<double> end;    // on the core; of a sync the end of its transfer
  // Of starts and syncs, else 0. A transfer waits in its queues from `issued`
  // to `transfer_begin`.
  std::vector<double> issued;  // the end of the issue on the core
  std::vector<double> transfer_begin;
  std::vector<double> transfer_end;
  // Per resource.
  std::vector<double> busy;  // of a FIFO: sum of (end - begin); else 0
  std::vector<double> lost;
  std::vector<LostTime> losses;  // by (op, core before transfer, resource)
  double makespan = 0;           // end of the last op on the core
};

// A step prepared for being simulated in many orders.
//
// The core takes the ops in order, one at a time. A done waits for the end of
// its transfer, a sync issues its own and waits too. A transfer waits until it
// is first in the queue (in order of issue) of every FIFO resource it uses,
// holds them all for its latency and then until its work is done. Running core
// ops and working transfers have speeds <= 1, weighted max-min over the share
// resources: all speeds rise together, and those that use a resource with
// sum(share * speed) = capacity stay where they are. Lost time counts for the
// resource that stopped the speed, the smallest name of several. Deps play no
// part: an order that breaks them is wrong (verify_order.h), not slow.
//
// Without transfers on share resources a run takes O(ops + uses); else every
// change among the k activities on share resources costs O(k x resources).
class StepSimulator {
 public:
  explicit StepSimulator(const AbstractStep& step);

  // `order` holds every op once, each done after its start (CHECKed).
  AbstractTimeline Run(StepOrderView order) const;
  // The same of one, for searches: trusts that every op is there once.
  double Makespan(StepOrderView order) const;
  // Run, always by the event loop that sharing needs.
  AbstractTimeline RunEvents(StepOrderView order) const;

  struct Op {
    AbstractKind kind;
    std::uint32_t start;  // of a done
    double tc_time;
    double latency;
    double work;
  };
  struct ShareUse {
    std::uint32_t resource;
    double share;
  };
  const Op& op(std::uint32_t index) const { return ops_[index]; }
  std::size_t ops() const { return ops_.size(); }
  std::size_t resources() const { return capacity_.size(); }
  std::span<const std::uint32_t> fifos(std::uint32_t op) const {
    return fifos_[op];
  }
  // Of the op on the core, or of its transfer. The core's own use of
  // kTensorCore is left out if nothing else uses it.
  std::span<const ShareUse> shares(std::uint32_t op, bool transfer) const {
    const std::size_t row = 2 * std::size_t{op} + (transfer ? 1 : 0);
    return {shares_.data() + first_share_[row],
            shares_.data() + first_share_[row + 1]};
  }
  double capacity(std::uint32_t resource) const { return capacity_[resource]; }
  // Position of the resource among all by name.
  std::uint32_t name_rank(std::uint32_t resource) const {
    return name_rank_[resource];
  }

 private:
  void AddFifos(const AbstractStep& step, std::uint32_t op);
  void AddShares(const AbstractStep& step, std::uint32_t op);

  std::vector<Op> ops_;
  IndexLists fifos_;
  std::vector<std::uint32_t> first_share_ = {0};
  std::vector<ShareUse> shares_;
  std::vector<double> capacity_;
  std::vector<std::uint32_t> name_rank_;
  bool sharing_ = false;  // whether anything can be slowed
};

inline AbstractTimeline Simulate(const AbstractStep& step,
                                 StepOrderView order) {
  return StepSimulator(step).Run(order);
}

}  // namespace podsim

#endif  // PODSIM_STEP_SIMULATE_ABSTRACT_H_
