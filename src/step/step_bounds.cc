#include "step/step_bounds.h"

#include <algorithm>
#include <utility>

#include "step/memory.h"
#include "step/one_machine.h"
#include "step/order_edges.h"

namespace podsim {
namespace {

struct Paths {
  const AbstractStep& step;
  const OrderEdges& edges;
  const StepOrder& topological;
  const LongestPaths& longest;
};

double TensorCoreBound(const Paths& p) {
  std::vector<MachineJob> jobs;
  for (std::size_t op = 0; op < p.step.ops.size(); ++op) {
    jobs.push_back({.head = p.longest.head[op],
                    .length = FullSpeedTime(p.step.ops[op]),
                    .tail = p.longest.after[op]});
  }
  return OneMachineBound(std::move(jobs));
}

double FifoBound(const Paths& p, std::uint32_t resource) {
  const std::vector<std::uint32_t> last = LastReaders(p.step);
  std::vector<MachineJob> jobs;
  for (std::uint32_t index = 0; index < p.step.ops.size(); ++index) {
    const AbstractOp& op = p.step.ops[index];
    if (!HasTransfer(op)) continue;
    if (std::none_of(op.use.begin(), op.use.end(),
                     [&](const auto& u) { return u.resource == resource; })) {
      continue;
    }
    const std::uint32_t done = last[index];
    double tail = p.longest.after[done];
    if (done != index) tail += FullSpeedTime(p.step.ops[done]);
    jobs.push_back({.head = p.longest.head[index] + op.tc_time.value(),
                    .length = TransferTime(op),
                    .tail = tail});
  }
  return OneMachineBound(std::move(jobs));
}

double ShareLoad(const AbstractStep& step, std::uint32_t resource) {
  double load = 0;
  for (const AbstractOp& op : step.ops) {
    if (resource == kTensorCore) load += op.tc_time.value();
    for (const ResourceUse& use : op.use) {
      if (use.resource != resource) continue;
      if (HasTransfer(op)) {
        load += use.share * op.work.value();
      } else if (resource != kTensorCore) {
        load += use.share * op.tc_time.value();
      }
    }
  }
  return load / step.resources[resource].capacity;
}

// Shortest lives of buffers, by longest paths from one op after the other.
class Lives {
 public:
  explicit Lives(const Paths& paths)
      : paths_(paths),
        position_(paths.step.ops.size()),
        date_(paths.step.ops.size(), -1) {
    for (std::uint32_t k = 0; k < position_.size(); ++k) {
      position_[paths.topological[k]] = k;
    }
    constexpr std::size_t kVisits = 20'000'000;
    window_ = std::max<std::size_t>(
        64, kVisits / std::max<std::size_t>(1, position_.size()));
  }

  double Of(const StepBuffer& buffer, std::span<const std::uint32_t> readers) {
    if (buffer.op == kNoOp) {
      if (buffer.live_out) return paths_.longest.critical;
      double life = 0;
      for (const std::uint32_t op : readers) {
        life = std::max(life, paths_.longest.head[op] + Length(op));
      }
      return life;
    }
    if (buffer.live_out) {
      return Length(buffer.op) + paths_.longest.after[buffer.op];
    }
    return UntilRead(buffer.op, readers);
  }

 private:
  double Length(std::uint32_t op) const {
    return FullSpeedTime(paths_.step.ops[op]);
  }

  // From the begin of `op` to the end of the last reader.
  double UntilRead(std::uint32_t op, std::span<const std::uint32_t> readers) {
    std::size_t end = position_[op];
    for (const std::uint32_t reader : readers) {
      end = std::max<std::size_t>(end, position_[reader]);
    }
    end = std::min(end, position_[op] + window_);
    std::vector<std::uint32_t> reached = {op};
    date_[op] = 0;
    for (std::size_t k = position_[op] + 1; k <= end; ++k) {
      const std::uint32_t next = paths_.topological[k];
      for (const std::uint32_t p : paths_.edges.before[next]) {
        if (date_[p] < 0) continue;
        if (date_[next] < 0) reached.push_back(next);
        const AbstractOp& from = paths_.step.ops[p];
        const bool arrives = paths_.step.ops[next].of == p;
        date_[next] =
            std::max(date_[next], date_[p] + FullSpeedTime(from) +
                                      (arrives ? TransferTime(from) : 0));
      }
    }
    double life = Length(op);
    for (const std::uint32_t reader : readers) {
      const double begin = date_[reader] < 0 ? Length(op) : date_[reader];
      life = std::max(life, begin + Length(reader));
    }
    for (const std::uint32_t touched : reached) date_[touched] = -1;
    return life;
  }

  const Paths& paths_;
  std::vector<std::uint32_t> position_;  // in the topological order
  std::vector<double> date_;             // earliest begin; -1: not reached
  std::size_t window_ = 0;
};

double MemoryAreaBound(const Paths& paths) {
  const MemoryModel memory(paths.step);
  Lives lives(paths);
  double area = 0;
  for (std::uint32_t k = 0; k < memory.buffers().size(); ++k) {
    const StepBuffer& buffer = memory.buffers()[k];
    area += static_cast<double>(buffer.bytes.value()) *
            lives.Of(buffer, memory.Readers(k));
  }
  const auto limit =
      static_cast<double>(paths.step.memory_limit.value().value());
  return limit > 0 ? area / limit : 0;
}

}  // namespace

Bounds ComputeStepBounds(const AbstractStep& step) {
  const OrderEdges edges = MakeOrderEdges(step);
  const StepOrder topological = TopologicalOrder(step, edges);
  const LongestPaths longest = ComputeLongestPaths(step, edges, topological);
  const Paths paths = {.step = step,
                       .edges = edges,
                       .topological = topological,
                       .longest = longest};
  Bounds bounds;
  const auto add = [&](const std::string& name, double seconds) {
    bounds.components.push_back({.name = name, .time = Seconds(seconds)});
  };
  add("critical_path", longest.critical);
  add("tensorcore", TensorCoreBound(paths));
  for (std::uint32_t k = 0; k < step.resources.size(); ++k) {
    const StepResource& resource = step.resources[k];
    if (resource.mode != ResourceMode::kFifo) continue;
    add("fifo:" + resource.name, FifoBound(paths, k));
  }
  for (std::uint32_t k = 0; k < step.resources.size(); ++k) {
    const StepResource& resource = step.resources[k];
    if (resource.mode != ResourceMode::kShare) continue;
    const double load = ShareLoad(step, k);
    if (load > 0) add("share:" + resource.name, load);
  }
  if (step.memory_limit) add("memory_area", MemoryAreaBound(paths));
  return bounds;
}

}  // namespace podsim
