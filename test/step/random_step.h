#ifndef PODSIM_TEST_STEP_RANDOM_STEP_H_
#define PODSIM_TEST_STEP_RANDOM_STEP_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "step/order_edges.h"
#include "test/step/step_builder.h"
#include "test/support/random_slices.h"

namespace podsim {

struct RandomStepOptions {
  int most_ops = 30;
  bool shares = true;  // resources that slow
  bool ties = false;   // small whole seconds
};

// Where the pieces of a random step come from.
class RandomStepMaker {
 public:
  RandomStepMaker(Random& random, const RandomStepOptions& options)
      : random_(random), options_(options) {
    for (int k = random.Int(1, 3); k > 0; --k) {
      fifos_.push_back(b_.Fifo("fifo" + std::to_string(k)));
    }
    if (!options.shares) return;
    for (int k = random.Int(1, 3); k > 0; --k) {
      shares_.push_back(
          b_.Share("share" + std::to_string(k), random.OneIn(3) ? 1.5 : 1));
    }
  }

  AbstractStep Make() {
    const int ops = random_.Int(0, options_.most_ops);
    while (static_cast<int>(b_.step.ops.size()) < ops) AddOp();
    while (!open_.empty()) AddDone();
    AddAliases();
    AddMemory();
    return b_.step;
  }

 private:
  double Time() {
    if (options_.ties) return random_.Int(0, 3);
    return random_.OneIn(5) ? 0 : 10 * random_.Unit();
  }

  Ops Producers() {
    Ops deps;
    for (int k = random_.Int(0, 2); k > 0 && !values_.empty(); --k) {
      deps.push_back(random_.Pick(values_));
    }
    std::sort(deps.begin(), deps.end());
    deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
    return deps;
  }

  Uses SharesOfSome() {
    Uses uses;
    for (const std::uint32_t share : shares_) {
      if (!random_.OneIn(3)) continue;
      const double part = options_.ties ? 0.25 * random_.Int(1, 4)
                                        : 0.05 + 0.95 * random_.Unit();
      uses.push_back({.resource = share, .share = part});
    }
    return uses;
  }

  Uses OfTransfer() {
    Uses uses = SharesOfSome();
    for (const std::uint32_t fifo : fifos_) {
      if (random_.OneIn(2)) uses.push_back({.resource = fifo});
    }
    if (options_.shares && random_.OneIn(4)) {
      uses.push_back({.resource = kTensorCore, .share = 0.1});
    }
    return uses;
  }

  void AddOp() {
    const int what = random_.Int(0, 9);
    std::uint32_t op = 0;
    if (what < 4) {
      op = b_.Compute(Time(), Producers(), Size(), SharesOfSome());
    } else if (what < 5) {
      op = b_.Sync(Time(), Time(), OfTransfer(), Producers(), Time());
    } else if (what < 8 || open_.empty()) {
      open_.push_back(b_.Start(Time(), Time(), OfTransfer(), Producers(),
                               Size(), random_.OneIn(2) ? 0 : Time()));
      return;
    } else {
      AddDone();
      return;
    }
    if (random_.OneIn(4)) b_.step.ops[op].tmp = Bytes(Size());
    if (random_.OneIn(5) && op > 0) {
      b_.step.ops[op].ctrl = {
          static_cast<std::uint32_t>(random_.Int(0, static_cast<int>(op) - 1))};
    }
    values_.push_back(op);
  }

  void AddDone() {
    const auto which = static_cast<std::ptrdiff_t>(
        random_.Int(0, static_cast<int>(open_.size()) - 1));
    values_.push_back(
        b_.Done(open_[static_cast<std::size_t>(which)], random_.OneIn(2)));
    open_.erase(open_.begin() + which);
  }

  // In place where the program order allows it.
  void AddAliases() {
    for (std::uint32_t op = 0; op < b_.step.ops.size(); ++op) {
      AbstractOp& o = b_.step.ops[op];
      if (o.deps.empty() || !random_.OneIn(4)) continue;
      o.alias = random_.Pick(o.deps);
      bool legal = true;
      const OrderEdges edges = MakeOrderEdges(b_.step);
      for (std::uint32_t k = 0; k < b_.step.ops.size(); ++k) {
        for (const std::uint32_t before : edges.before[k]) legal &= before < k;
      }
      // One taker per buffer.
      for (std::uint32_t k = 0; k < op; ++k) {
        legal &= b_.step.ops[k].alias != o.alias;
      }
      if (!legal) o.alias.reset();
    }
  }

  void AddMemory() {
    std::vector<bool> taken(b_.step.ops.size());
    for (const AbstractOp& op : b_.step.ops) {
      if (op.alias) taken[*op.alias] = true;
    }
    for (const std::uint32_t value : values_) {
      if (!taken[value] && random_.OneIn(4)) b_.step.outputs.push_back(value);
    }
    for (int k = random_.Int(0, 2); k > 0 && !values_.empty(); --k) {
      b_.step.params.push_back({.bytes = Bytes(Size()),
                                .users = {random_.Pick(values_)},
                                .live_out = random_.OneIn(2)});
    }
  }

  std::int64_t Size() { return random_.Int(0, 9); }

  Random& random_;
  RandomStepOptions options_;
  StepBuilder b_;
  Ops fifos_;
  Ops shares_;
  Ops open_;    // starts without done
  Ops values_;  // what others may read
};

inline AbstractStep RandomStep(Random& random,
                               const RandomStepOptions& options) {
  return RandomStepMaker(random, options).Make();
}

// One of the orders that the edges allow.
inline StepOrder RandomOrder(Random& random, const OrderEdges& edges) {
  std::vector<std::size_t> waits(edges.before.rows());
  Ops ready;
  for (std::uint32_t op = 0; op < waits.size(); ++op) {
    waits[op] = edges.before[op].size();
    if (waits[op] == 0) ready.push_back(op);
  }
  StepOrder order;
  while (!ready.empty()) {
    std::swap(ready.back(), ready[static_cast<std::size_t>(random.Int(
                                0, static_cast<int>(ready.size()) - 1))]);
    order.push_back(ready.back());
    ready.pop_back();
    for (const std::uint32_t next : edges.after[order.back()]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

}  // namespace podsim

#endif  // PODSIM_TEST_STEP_RANDOM_STEP_H_
