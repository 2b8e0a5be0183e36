#include "step/simulate_abstract.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace podsim {
namespace {

bool IsShare(const AbstractStep& step, const ResourceUse& use) {
  return step.resources[use.resource].mode == ResourceMode::kShare;
}

// Whether a transfer takes a part of the core.
bool CoreIsShared(const AbstractStep& step) {
  for (const AbstractOp& op : step.ops) {
    if (!HasTransfer(op)) continue;
    for (const ResourceUse& use : op.use) {
      if (use.resource == kTensorCore) return true;
    }
  }
  return false;
}

std::vector<std::uint32_t> RankByName(const AbstractStep& step) {
  std::vector<std::uint32_t> by_name(step.resources.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::stable_sort(by_name.begin(), by_name.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return step.resources[a].name < step.resources[b].name;
                   });
  std::vector<std::uint32_t> rank(by_name.size());
  for (std::uint32_t k = 0; k < rank.size(); ++k) rank[by_name[k]] = k;
  return rank;
}

// Nothing shares: queues are in issue order, so one walk dates everything.
// visit(op, begin, issued, transfer begin, transfer end, end). Returns the
// makespan.
template <class Visit>
double WalkFifo(const StepSimulator& step, StepOrderView order, Visit visit) {
  std::vector<double> release(step.resources());
  std::vector<double> arrival(step.ops(), -1);
  double core = 0;
  for (const std::uint32_t index : order) {
    const StepSimulator::Op& op = step.op(index);
    if (op.kind == AbstractKind::kDone) {
      CHECK(arrival[op.start] >= 0) << "done " << index << " before its start";
      core = std::max(core, arrival[op.start]);
    }
    const double begin = core;
    core += op.tc_time;
    const double issued = core;
    if (op.kind == AbstractKind::kCompute || op.kind == AbstractKind::kDone) {
      visit(index, begin, 0.0, 0.0, 0.0, core);
      continue;
    }
    double transfer = issued;
    for (const std::uint32_t fifo : step.fifos(index)) {
      transfer = std::max(transfer, release[fifo]);
    }
    const double end = transfer + op.latency + op.work;
    for (const std::uint32_t fifo : step.fifos(index)) release[fifo] = end;
    arrival[index] = end;
    if (op.kind == AbstractKind::kSync) core = end;
    visit(index, begin, issued, transfer, end, core);
  }
  return core;
}

void CheckOrder(std::size_t ops, StepOrderView order) {
  CHECK(order.size() == ops) << order.size() << " of " << ops << " ops";
  std::vector<bool> seen(ops);
  for (const std::uint32_t op : order) {
    CHECK(op < ops && !seen[op]) << "op " << op << " twice or unknown";
    seen[op] = true;
  }
}

}  // namespace

StepSimulator::StepSimulator(const AbstractStep& step)
    : name_rank_(RankByName(step)) {
  for (const StepResource& resource : step.resources) {
    capacity_.push_back(resource.capacity);
  }
  ops_.reserve(step.ops.size());
  const bool core_shared = CoreIsShared(step);
  for (std::uint32_t index = 0; index < step.ops.size(); ++index) {
    const AbstractOp& op = step.ops[index];
    CHECK((op.kind == AbstractKind::kDone) == op.of.has_value())
        << OpText(step, index);
    CHECK(!op.of || (*op.of < step.ops.size() &&
                     step.ops[*op.of].kind == AbstractKind::kStart))
        << OpText(step, index);
    ops_.push_back({.kind = op.kind,
                    .start = op.of.value_or(kNoOp),
                    .tc_time = op.tc_time.value(),
                    .latency = op.latency.value(),
                    .work = op.work.value()});
    AddFifos(step, index);
    if (core_shared) shares_.push_back({.resource = kTensorCore, .share = 1});
    if (!HasTransfer(op)) AddShares(step, index);
    first_share_.push_back(static_cast<std::uint32_t>(shares_.size()));
    if (HasTransfer(op)) AddShares(step, index);
    first_share_.push_back(static_cast<std::uint32_t>(shares_.size()));
  }
}

void StepSimulator::AddFifos(const AbstractStep& step, std::uint32_t op) {
  for (const ResourceUse& use : step.ops[op].use) {
    CHECK(use.resource < step.resources.size()) << OpText(step, op);
    if (IsShare(step, use)) continue;
    CHECK(HasTransfer(step.ops[op])) << OpText(step, op) << " cannot queue";
    fifos_.items.push_back(use.resource);
  }
  fifos_.EndRow();
}

void StepSimulator::AddShares(const AbstractStep& step, std::uint32_t op) {
  const bool transfer = HasTransfer(step.ops[op]);
  for (const ResourceUse& use : step.ops[op].use) {
    if (!IsShare(step, use) || use.share <= 0) continue;
    if (!transfer && use.resource == kTensorCore) continue;  // has it anyway
    shares_.push_back({.resource = use.resource, .share = use.share});
    sharing_ |= transfer || use.share > capacity_[use.resource];
  }
}

AbstractTimeline StepSimulator::Run(StepOrderView order) const {
  CheckOrder(ops(), order);
  if (sharing_) return RunEvents(order);
  AbstractTimeline timeline;
  for (auto* dates : {&timeline.begin, &timeline.end, &timeline.issued,
                      &timeline.transfer_begin, &timeline.transfer_end}) {
    dates->resize(ops());
  }
  timeline.busy.resize(resources());
  timeline.lost.resize(resources());
  timeline.makespan =
      WalkFifo(*this, order,
               [&](std::uint32_t op, double begin, double issued,
                   double transfer_begin, double transfer_end, double end) {
                 timeline.begin[op] = begin;
                 timeline.issued[op] = issued;
                 timeline.transfer_begin[op] = transfer_begin;
                 timeline.transfer_end[op] = transfer_end;
                 timeline.end[op] = end;
                 for (const std::uint32_t fifo : fifos(op)) {
                   timeline.busy[fifo] += transfer_end - transfer_begin;
                 }
               });
  return timeline;
}

double StepSimulator::Makespan(StepOrderView order) const {
  if (sharing_) return RunEvents(order).makespan;
  return WalkFifo(*this, order,
                  [](std::uint32_t, double, double, double, double, double) {});
}

}  // namespace podsim
