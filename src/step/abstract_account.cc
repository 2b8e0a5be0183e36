#include "step/abstract_account.h"

#include <cmath>

#include "base/check.h"

namespace podsim {
namespace {

void Add(TransferAccount transfer, AbstractAccount& account) {
  transfer.overlapped = transfer.in_flight - transfer.exposed;
  account.exposed += transfer.exposed;
  account.in_flight += transfer.in_flight;
  account.transfers.push_back(transfer);
}

}  // namespace

AbstractAccount AccountAbstract(const AbstractStep& step, StepOrderView order,
                                const AbstractTimeline& timeline) {
  AbstractAccount account;
  account.makespan = timeline.makespan;
  account.interference_by_resource.resize(step.resources.size());
  for (const LostTime& loss : timeline.losses) {
    if (loss.transfer) continue;
    account.interference += loss.seconds;
    account.interference_by_resource[loss.resource] += loss.seconds;
  }
  std::vector<double> stall(step.ops.size());  // of a start's done
  double core = 0;
  for (const std::uint32_t op : order) {
    account.work += step.ops[op].tc_time.value();
    const double wait = timeline.begin[op] - core;
    if (step.ops[op].of) stall[*step.ops[op].of] = wait;
    core = timeline.end[op];
  }
  for (const std::uint32_t op : order) {
    if (!HasTransfer(step.ops[op])) continue;
    const double in_flight = timeline.transfer_end[op] - timeline.issued[op];
    const bool sync = step.ops[op].kind == AbstractKind::kSync;
    Add({.op = op,
         .in_flight = in_flight,
         .exposed = sync ? in_flight : stall[op]},
        account);
  }
  const double sum = account.work + account.interference + account.exposed;
  CHECK(std::abs(sum - account.makespan) <= 1e-9 * account.makespan)
      << sum << " s of " << account.makespan << " s are accounted for";
  return account;
}

}  // namespace podsim
