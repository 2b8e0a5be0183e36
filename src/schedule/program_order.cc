#include "schedule/program_order.h"

#include <unordered_set>

namespace podsim {

// A lane is FIFO: its earlier transfers are ancestors of the later ones.
bool ProgramOrder::SameLaneBefore(SiteOp ancestor, SiteOp op) const {
  const auto& steps = placement_.program().steps;
  if (ancestor.site != op.site) return false;
  if (ancestor.step == op.step) return true;
  return ancestor.step < op.step && steps[op.step].lane != kNoLane &&
         steps[ancestor.step].lane == steps[op.step].lane;
}

void ProgramOrder::ReadWaits(SiteOp op) {
  if (op.step == read_.step && op.site == read_.site) return;
  read_ = op;
  placement_.WaitsOf(
      op.step, op.site, [](std::uint32_t slot) { return slot != kNoOp; },
      waits_);
}

// The usual case: some transfer of op's lane up to op waits for the ancestor,
// or for a later one of the ancestor's lane.
bool ProgramOrder::NearInLane(SiteOp ancestor, SiteOp op) {
  for (;;) {
    if (SameLaneBefore(ancestor, op)) return true;
    ReadWaits(op);
    for (const Placement::Wait& wait : waits_) {
      if (SameLaneBefore(ancestor, {wait.step, wait.site})) return true;
    }
    op.step = placement_.program().steps[op.step].lane_previous;
    if (op.step == kNoStep || op.step < ancestor.step) return false;
  }
}

bool ProgramOrder::Search(SiteOp ancestor, SiteOp op) {
  std::vector<SiteOp> stack = {op};
  std::unordered_set<std::uint32_t> seen;
  while (!stack.empty()) {
    const SiteOp at = stack.back();
    stack.pop_back();
    if (SameLaneBefore(ancestor, at)) return true;
    ReadWaits(at);
    for (const Placement::Wait& wait : waits_) {
      if (wait.step < ancestor.step || !seen.insert(wait.slot).second) {
        continue;
      }
      stack.push_back({wait.step, wait.site});
    }
  }
  return false;
}

}  // namespace podsim
