#include "workload/buffer_plan.h"

#include <algorithm>

namespace podsim {
namespace {

class Holder {
 public:
  Holder(const BufferPlan& plan, StepGraph& graph)
      : plan_(plan), graph_(graph), live_(plan.resident) {
    graph_.memory = StepMemory{.peak = plan.resident, .at = {}};
    Note(nullptr);
  }

  void Run(const std::vector<StepItem>& items) {
    const std::size_t outer = held_.size();
    for (const StepItem& item : items) {
      if (!item.op) {
        Run(item.body);
      } else if (item.wait) {
        FreeAfter(*item.op);
      } else {
        StepOp& op = graph_.ops[*item.op];
        Hold(*item.op);
        op.live = live_;
        Note(&op);
        if (!op.async()) FreeAfter(*item.op);
      }
    }
    while (held_.size() > outer) Release(held_.size() - 1);
  }

 private:
  void Hold(std::uint32_t op) {
    if (plan_.alloc[op].value() == 0) return;
    live_ += plan_.alloc[op];
    held_.push_back(op);
  }

  void FreeAfter(std::uint32_t op) {
    for (const std::uint32_t freed : plan_.frees[op]) {
      const auto found = std::find(held_.begin(), held_.end(), freed);
      if (found != held_.end()) Release(found - held_.begin());
    }
  }

  void Release(std::size_t index) {
    live_ = live_ - plan_.alloc[held_[index]];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  // While `op` runs; nullptr: before anything does.
  void Note(const StepOp* op) {
    StepMemory& memory = *graph_.memory;
    if (op != nullptr && live_ <= memory.peak) return;
    memory.peak = live_;
    memory.at = op == nullptr ? "" : op->id;
    memory.live.clear();
    if (plan_.resident.value() > 0) {
      memory.live.push_back({"resident", plan_.resident});
    }
    for (const std::uint32_t held : held_) {
      memory.live.push_back({graph_.ops[held].id, plan_.alloc[held]});
    }
    std::stable_sort(memory.live.begin(), memory.live.end(),
                     [](const LiveBuffer& a, const LiveBuffer& b) {
                       return a.bytes > b.bytes;
                     });
  }

  const BufferPlan& plan_;
  StepGraph& graph_;
  Bytes live_;
  std::vector<std::uint32_t> held_;  // in order of allocation
};

}  // namespace

void ApplyBuffers(const BufferPlan& plan, StepGraph& graph) {
  const std::vector<StepItem> items = graph.items;
  Holder(plan, graph).Run(items);
}

}  // namespace podsim
