#include "step/verify_order.h"

#include <algorithm>

#include "base/text.h"
#include "step/memory.h"
#include "step/order_edges.h"

namespace podsim {
namespace {

class OrderCheck {
 public:
  OrderCheck(const AbstractStep& step, StepOrderView order)
      : step_(step), order_(order), position_(step.ops.size(), kNoOp) {}

  OrderViolations Run(std::span<const Bytes> usage) {
    CheckOnce();
    CheckShape();
    CheckResources();
    if (violations_.empty()) {
      CheckOperands();
      CheckPairs();
      CheckInFlight();
      CheckDonors();
      CheckOutputs();
      CheckMemory(usage);
    }
    std::stable_sort(violations_.begin(), violations_.end(),
                     [](const OrderViolation& a, const OrderViolation& b) {
                       return a.rule < b.rule;
                     });
    return std::move(violations_);
  }

 private:
  std::string At(std::uint32_t op) const {
    const bool placed = op < position_.size() && position_[op] != kNoOp;
    return OpText(step_, op) +
           (placed ? " at position " + std::to_string(position_[op]) : "");
  }

  void Add(OrderRule rule, std::uint32_t op, const std::string& what) {
    violations_.push_back(
        {.rule = rule, .op = op, .text = "schedule: " + At(op) + ": " + what});
  }

  void CheckOnce() {
    for (std::uint32_t k = 0; k < order_.size(); ++k) {
      const std::uint32_t op = order_[k];
      if (op >= position_.size()) {
        Add(OrderRule::kOnce, op,
            "stands at position " + std::to_string(k) + "; the step has " +
                std::to_string(position_.size()) + " ops");
      } else if (position_[op] != kNoOp) {
        Add(OrderRule::kOnce, op,
            "stands again at position " + std::to_string(k));
      } else {
        position_[op] = k;
      }
    }
    for (std::uint32_t op = 0; op < position_.size(); ++op) {
      if (position_[op] == kNoOp) Add(OrderRule::kOnce, op, "is missing");
    }
  }

  // What the other rules take for granted of the step itself.
  void CheckShape() {
    std::vector<std::uint32_t> done(step_.ops.size(), kNoOp);
    for (std::uint32_t index = 0; index < step_.ops.size(); ++index) {
      const AbstractOp& op = step_.ops[index];
      CheckOperandsExist(index);
      if (op.kind != AbstractKind::kDone) {
        if (op.of) Add(OrderRule::kPairs, index, "has a start but is no done");
        continue;
      }
      if (!op.of || *op.of >= step_.ops.size() ||
          step_.ops[*op.of].kind != AbstractKind::kStart) {
        Add(OrderRule::kPairs, index,
            op.of ? "its start, op " + std::to_string(*op.of) +
                        ", is no start of this computation"
                  : "has no start");
      } else if (done[*op.of] != kNoOp) {
        Add(OrderRule::kPairs, index,
            "is the second done of " + OpText(step_, *op.of) + ", after " +
                OpText(step_, done[*op.of]));
      } else {
        done[*op.of] = index;
      }
    }
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      if (step_.ops[op].kind != AbstractKind::kStart) continue;
      if (done[op] == kNoOp) Add(OrderRule::kPairs, op, "has no done");
    }
  }

  void CheckOperandsExist(std::uint32_t index) {
    const AbstractOp& op = step_.ops[index];
    std::vector<std::uint32_t> operands = op.deps;
    operands.insert(operands.end(), op.ctrl.begin(), op.ctrl.end());
    if (op.alias) operands.push_back(*op.alias);
    for (const std::uint32_t operand : operands) {
      if (operand < step_.ops.size()) continue;
      Add(OrderRule::kOperands, index,
          "its operand, op " + std::to_string(operand) + ", does not exist");
    }
  }

  void CheckResources() {
    std::vector<std::string> names;
    for (const StepResource& r : step_.resources) names.push_back(r.name);
    const std::string known = " does not exist; known: " + Join(names, ", ");
    for (std::uint32_t index = 0; index < step_.ops.size(); ++index) {
      for (const ResourceUse& use : step_.ops[index].use) {
        CheckUse(index, use, known);
      }
    }
    for (const InFlightLimit& limit : step_.in_flight) {
      if (limit.resource < names.size()) continue;
      violations_.push_back(
          {.rule = OrderRule::kResources,
           .text = "schedule: in-flight limit " + std::to_string(limit.most) +
                   ": resource " + std::to_string(limit.resource) + known});
    }
  }

  void CheckUse(std::uint32_t op, const ResourceUse& use,
                const std::string& known) {
    const std::string text = "resource " + std::to_string(use.resource);
    if (use.resource >= step_.resources.size()) {
      Add(OrderRule::kResources, op, text + known);
      return;
    }
    const StepResource& resource = step_.resources[use.resource];
    if (resource.mode == ResourceMode::kFifo && !HasTransfer(step_.ops[op])) {
      Add(OrderRule::kResources, op,
          resource.name +
              " is a queue of transfers; only a start or sync may "
              "use it");
    }
    if (use.share > 0 && use.share <= resource.capacity) return;
    Add(OrderRule::kResources, op,
        "share " + Significant(use.share, 6) + " of " + resource.name +
            "; expected above 0, at most " + Significant(resource.capacity, 6));
  }

  void CheckBefore(OrderRule rule, std::uint32_t op, std::uint32_t operand,
                   const std::string& role) {
    if (position_[operand] < position_[op]) return;
    Add(rule, op, role + At(operand) + " stands after it");
  }

  void CheckOperands() {
    for (std::uint32_t index = 0; index < step_.ops.size(); ++index) {
      const AbstractOp& op = step_.ops[index];
      for (const std::uint32_t dep : op.deps) {
        CheckBefore(OrderRule::kOperands, index, dep, "its operand ");
      }
      for (const std::uint32_t before : op.ctrl) {
        CheckBefore(OrderRule::kOperands, index, before,
                    "its control predecessor ");
      }
      if (op.alias) {
        CheckBefore(OrderRule::kOperands, index, *op.alias,
                    "the donor of its buffer ");
      }
    }
  }

  void CheckPairs() {
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      if (!step_.ops[op].of) continue;
      CheckBefore(OrderRule::kPairs, op, *step_.ops[op].of, "its start ");
    }
  }

  void CheckInFlight() {
    for (const InFlightLimit& limit : step_.in_flight) {
      int open = 0;
      for (const std::uint32_t index : order_) {
        const AbstractOp& op = step_.ops[index];
        if (op.of) {
          if (Uses(step_.ops[*op.of], limit.resource)) --open;
          continue;
        }
        if (!HasTransfer(op) || !Uses(op, limit.resource)) continue;
        if (open + 1 > limit.most) {
          Add(OrderRule::kInFlight, index,
              std::to_string(open + 1) + " transfers in flight on " +
                  step_.resources[limit.resource].name + " exceed the limit " +
                  std::to_string(limit.most));
        }
        if (op.kind == AbstractKind::kStart) ++open;
      }
    }
  }

  static bool Uses(const AbstractOp& op, std::uint32_t resource) {
    return std::any_of(
        op.use.begin(), op.use.end(),
        [&](const ResourceUse& use) { return use.resource == resource; });
  }

  // A start reads until its done.
  void CheckDonors() {
    const std::vector<std::uint32_t> owners = ValueOwners(step_);
    const std::vector<std::uint32_t> last = LastReaders(step_);
    std::vector<std::uint32_t> taker(step_.ops.size(), kNoOp);
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      if (!step_.ops[op].alias) continue;
      std::uint32_t& known = taker[owners[*step_.ops[op].alias]];
      if (known != kNoOp) {
        Add(OrderRule::kDonors, op,
            "takes over the buffer of " + OpText(step_, *step_.ops[op].alias) +
                " as " + At(known) + " does");
      }
      known = op;
    }
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      for (const std::uint32_t dep : step_.ops[op].deps) {
        const std::uint32_t by = taker[owners[dep]];
        if (by == kNoOp || by == op || last[op] == by) continue;
        if (position_[last[op]] < position_[by]) continue;
        Add(OrderRule::kDonors, last[op],
            "reads the result of " + OpText(step_, dep) + ", which " + At(by) +
                " has taken over");
      }
    }
  }

  void CheckOutputs() {
    const std::vector<std::uint32_t> owners = ValueOwners(step_);
    std::vector<std::uint32_t> taker(step_.ops.size(), kNoOp);
    for (std::uint32_t op = 0; op < step_.ops.size(); ++op) {
      if (step_.ops[op].alias) taker[owners[*step_.ops[op].alias]] = op;
    }
    for (const std::uint32_t output : step_.outputs) {
      if (output >= step_.ops.size()) {
        Add(OrderRule::kOutputs, output, "is an output but does not exist");
      } else if (taker[owners[output]] != kNoOp) {
        Add(OrderRule::kOutputs, output,
            "is an output, but " + At(taker[owners[output]]) +
                " takes over its buffer");
      }
    }
  }

  void CheckMemory(std::span<const Bytes> annotated) {
    // Needs outputs that exist.
    for (const OrderViolation& violation : violations_) {
      if (violation.rule == OrderRule::kOutputs &&
          violation.op >= step_.ops.size()) {
        return;
      }
    }
    const MemoryModel memory(step_);
    const std::vector<Bytes> usage = memory.Usage(order_);
    CheckAnnotated(annotated, usage);
    if (!step_.memory_limit) return;
    const Bytes limit = *step_.memory_limit;
    std::size_t k = 0;
    while (k < usage.size()) {
      std::size_t highest = k;
      for (; k < usage.size() && usage[k] > limit; ++k) {
        if (usage[k] > usage[highest]) highest = k;
      }
      if (usage[highest] > limit) AddExcess(memory, usage[highest], highest);
      ++k;
    }
  }

  void AddExcess(const MemoryModel& memory, Bytes usage, std::size_t position) {
    const Bytes limit = *step_.memory_limit;
    const auto at = static_cast<std::uint32_t>(position);
    Add(OrderRule::kMemory, order_[position],
        "memory " + AmountText(usage) + " exceeds the limit " +
            AmountText(limit) + " by " + AmountText(usage - limit) +
            "; largest live: " +
            LargestLiveText(step_, memory.LiveAt(order_, at)));
  }

  void CheckAnnotated(std::span<const Bytes> annotated,
                      const std::vector<Bytes>& usage) {
    if (annotated.empty()) return;
    if (annotated.size() != usage.size()) {
      violations_.push_back(
          {.rule = OrderRule::kMemory,
           .text = "schedule: memory of " + std::to_string(annotated.size()) +
                   " positions; expected " + std::to_string(usage.size())});
      return;
    }
    for (std::size_t k = 0; k < usage.size(); ++k) {
      if (annotated[k] == usage[k]) continue;
      Add(OrderRule::kMemory, order_[k],
          "annotated with " + AmountText(annotated[k]) + ", uses " +
              AmountText(usage[k]));
    }
  }

  const AbstractStep& step_;
  StepOrderView order_;
  std::vector<std::uint32_t> position_;  // of each op; kNoOp: missing
  OrderViolations violations_;
};

}  // namespace

OrderViolations VerifyOrder(const AbstractStep& step, StepOrderView order,
                            std::span<const Bytes> usage) {
  return OrderCheck(step, order).Run(usage);
}

}  // namespace podsim
