#include "sim/abstract_model.h"

#include <algorithm>
#include <string>

namespace podsim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

class Maker {
 public:
  Maker(const StepGraph& graph, const std::vector<StepRun>& runs,
        const std::vector<CollectiveCost>& costs, const Parameters& parameters)
      : graph_(graph), runs_(runs), costs_(costs), parameters_(parameters) {}

  AbstractModel Make() && {
    std::vector<std::uint32_t> made(runs_.size(), kNone);  // op of every run
    std::vector<std::uint32_t> done_of(runs_.size(), kNone);
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      const StepRun& run = runs_[k];
      if (run.kind == ExecutionKind::kWait) {
        // A second wait for one start finds it ended.
        std::uint32_t& done = done_of[run.started];
        if (done == kNone) done = AddDone(run, made[run.started]);
        made[k] = done;
        continue;
      }
      AbstractOp op = MakeOp(run);
      for (const std::uint32_t dep : run.deps) op.deps.push_back(made[dep]);
      std::sort(op.deps.begin(), op.deps.end());
      op.deps.erase(std::unique(op.deps.begin(), op.deps.end()), op.deps.end());
      made[k] = Add(run.op, std::move(op));
    }
    return std::move(model_);
  }

 private:
  std::uint32_t Add(std::uint32_t index, AbstractOp op) {
    op.name = graph_.ops[index].id;
    model_.step.ops.push_back(std::move(op));
    model_.op_of.push_back(index);
    return static_cast<std::uint32_t>(model_.op_of.size() - 1);
  }

  std::uint32_t AddDone(const StepRun& run, std::uint32_t start) {
    AbstractOp op;
    op.kind = AbstractKind::kDone;
    op.of = start;
    return Add(run.op, std::move(op));
  }

  std::uint32_t Resource(const std::string& name, ResourceMode mode) {
    std::vector<StepResource>& resources = model_.step.resources;
    for (std::uint32_t k = 0; k < resources.size(); ++k) {
      if (resources[k].name == name) return k;
    }
    resources.push_back({.name = name, .mode = mode});
    return static_cast<std::uint32_t>(resources.size() - 1);
  }

  AbstractOp MakeOp(const StepRun& run) {
    const StepOp& op = graph_.ops[run.op];
    AbstractOp made;
    if (op.collective) {
      made.kind = run.kind == ExecutionKind::kSync ? AbstractKind::kSync
                                                   : AbstractKind::kStart;
      AddTransfer(op, costs_[run.op], made);
    } else if (op.copy) {
      made.kind = AbstractKind::kStart;
      made.work = op.duration;
      made.use.push_back({Resource("dma", ResourceMode::kFifo), 1});
      UseMemory(op.hbm, op.duration, made);
    } else {
      made.tc_time = op.duration;
      UseMemory(op.hbm, op.duration, made);
    }
    return made;
  }

  void AddTransfer(const StepOp& op, const CollectiveCost& cost,
                   AbstractOp& made) {
    made.latency = cost.latency;
    made.work = cost.work;
    for (const LinkClass& links : cost.links) {
      const bool dcn = links.axis == "dcn";
      made.use.push_back({Resource(links.name, dcn ? ResourceMode::kShare
                                                   : ResourceMode::kFifo),
                          1});
    }
    if (op.mode == CollectiveMode::kSparseCore) {
      made.use.push_back({Resource("sc0", ResourceMode::kFifo), 1});
    }
    if (op.mode == CollectiveMode::kAsyncFused) {
      made.use.push_back({kTensorCore, kFusedShare});
    }
    UseMemory(cost.hbm, cost.work, made);
  }

  // At full speed so many bytes take the time.
  void UseMemory(Bytes bytes, Seconds time, AbstractOp& made) {
    if (bytes.value() == 0 || time.value() <= 0 || !parameters_.hbm_bandwidth) {
      return;
    }
    const double share =
        (bytes / *parameters_.hbm_bandwidth).value() / time.value();
    made.use.push_back(
        {Resource("hbm", ResourceMode::kShare), std::min(1.0, share)});
  }

  const StepGraph& graph_;
  const std::vector<StepRun>& runs_;
  const std::vector<CollectiveCost>& costs_;
  const Parameters& parameters_;
  AbstractModel model_;
};

}  // namespace

AbstractModel MakeAbstractModel(const StepGraph& graph,
                                const std::vector<StepRun>& runs,
                                const std::vector<CollectiveCost>& costs,
                                const Parameters& parameters) {
  return Maker(graph, runs, costs, parameters).Make();
}

}  // namespace podsim
