#include "step/executions.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace podsim {
namespace {

constexpr std::uint32_t kNever = UINT32_MAX;

class Writer {
 public:
  Writer(const StepGraph& graph, std::size_t most)
      : graph_(graph),
        most_(most),
        started_(graph.ops.size(), kNever),
        finished_(graph.ops.size(), kNever) {}

  void Write(const std::vector<StepItem>& items) {
    for (const StepItem& item : items) {
      if (item.op) {
        WriteOp(*item.op, item.wait);
        continue;
      }
      for (int k = 0; k < item.repeat; ++k) Write(item.body);
    }
  }

  std::vector<StepRun> Take() && { return std::move(runs_); }

 private:
  void WriteOp(std::uint32_t index, bool wait) {
    const StepOp& op = graph_.ops[index];
    const auto id = static_cast<std::uint32_t>(runs_.size());
    if (runs_.size() >= most_) {
      throw InputError(op.where, "the step executes more than " +
                                     std::to_string(most_) +
                                     " ops with its loops written out; use "
                                     "fewer iterations (repeat, --trip-count)");
    }
    StepRun& run = runs_.emplace_back();
    run.op = index;
    if (wait) {
      run.kind = ExecutionKind::kWait;
      run.started = started_[index];
      finished_[index] = id;
      return;
    }
    run.kind = op.async()      ? ExecutionKind::kStart
               : op.collective ? ExecutionKind::kSync
                               : ExecutionKind::kCompute;
    for (const std::uint32_t dep : op.deps) {
      if (finished_[dep] != kNever) run.deps.push_back(finished_[dep]);
    }
    started_[index] = id;
    if (!op.async()) finished_[index] = id;
  }

  const StepGraph& graph_;
  std::size_t most_;
  std::vector<StepRun> runs_;
  // The latest run of every op, and that after which its result is there.
  std::vector<std::uint32_t> started_;
  std::vector<std::uint32_t> finished_;
};

}  // namespace

std::vector<StepRun> WriteOut(const StepGraph& graph, std::size_t most) {
  Writer writer(graph, most);
  writer.Write(graph.items);
  return std::move(writer).Take();
}

}  // namespace podsim
