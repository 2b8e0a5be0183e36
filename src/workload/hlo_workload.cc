#include "workload/hlo_workload.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "hlo/collectives.h"
#include "hlo/cost.h"
#include "hlo/trip_count.h"
#include "workload/compute_op.h"
#include "workload/device_assignment.h"
#include "workload/hlo_memory.h"
#include "workload/hlo_placement.h"
#include "workload/hlo_values.h"
#include "workload/lowering_choice.h"

namespace podsim {
namespace {

constexpr int kMaxTrips = 1 << 30;
constexpr std::size_t kMaxOps = 1'000'000;
// Calls that are written out double with every level.
constexpr std::int64_t kMaxInstructions = 1'000'000;

// --trip-count N for loops whose count is not known, or WHILE=N for one.
class TripCounts {
 public:
  explicit TripCounts(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::string where = "--trip-count " + text;
      const auto equals = text.find('=');
      const bool named = equals != std::string::npos;
      std::string name = named ? text.substr(0, equals) : "";
      if (name.starts_with('%')) name.erase(0, 1);
      const int count = ParseCount(named ? text.substr(equals + 1) : text, 0,
                                   kMaxTrips, where);
      if (!counts_.insert({name, count}).second) {
        throw InputError(where, named ? "the loop " + name + " stands twice"
                                      : "a count for all loops stands twice");
      }
    }
  }

  // What was given for this loop: by name for any, else for unknown ones.
  std::optional<std::int64_t> Of(const std::string& name, bool known) {
    for (const std::string& key : {name, std::string()}) {
      const auto found = counts_.find(key);
      if (found == counts_.end() || (key.empty() && known)) continue;
      used_.insert(key);
      return found->second;
    }
    return std::nullopt;
  }

  void RequireNamed(const std::set<std::string>& names) const {
    const std::vector<std::string> loops(names.begin(), names.end());
    for (const auto& [name, count] : counts_) {
      if (name.empty() || used_.contains(name)) continue;
      const auto similar = Similar(name, loops);
      throw InputError("--trip-count " + name + "=" + std::to_string(count),
                       "no loop of the module that runs has this name" +
                           (similar ? "; did you mean " + *similar + "?" : ""));
    }
  }

 private:
  std::map<std::string, std::int64_t> counts_;  // "": all unknown ones
  std::set<std::string> used_;
};

// The key of chip.flops for the operands of a dot. f32 runs as bf16 passes at
// XLA's default precision.
std::string DtypeOf(const std::optional<HloElementType>& type,
                    const Parameters& parameters) {
  std::string dtype = "bf16";
  if (!type) return dtype;
  const std::string name = ToText(*type);
  if (name.starts_with("f8") || name.starts_with("f4")) dtype = "fp8";
  if (IsInteger(*type)) dtype = "int8";
  return parameters.chip_flops.contains(dtype) ? dtype : "bf16";
}

// Whether the compiler has fused already. Where it has not, elementwise ops
// are taken as parts of fusions to come, which cost nothing of their own.
bool HasFusions(const HloModule& module) {
  for (const HloComputation& computation : module.computations) {
    for (const HloInstruction& instruction : computation.instructions) {
      if (instruction.opcode == "fusion") return true;
    }
  }
  return false;
}

class Loader {
 public:
  Loader(const HloModule& module, const HloRequest& request, Workload& workload)
      : module_(module),
        request_(request),
        workload_(workload),
        memory_(module),
        devices_(InferDevices(module)),
        placement_(workload.slice, Assign()),
        trip_counts_(request.trip_counts),
        overrides_(ParseLoweringOverrides(request.lowerings)),
        costs_(module),
        fused_(HasFusions(module)) {}

  void Load() {
    const HloComputation& entry = module_.computations[*module_.entry];
    HloValue result;
    workload_.graph.items =
        Walk(*module_.entry, std::vector<HloValue>(entry.parameters.size()),
             Bytes(0), result);
    workload_.graph.memory = memory_.EntryPeak();
    if (workload_.graph.ops.empty()) {
      throw InputError(module_.file,
                       "nothing in this module takes time: no "
                       "compute and no collective");
    }
    trip_counts_.RequireNamed(loops_);
    WarnOfUnused(overrides_, workload_.warnings);
    WarnOfGuesses();
  }

 private:
  std::vector<ChipId> Assign() const {
    return AssignDevices(ParseDeviceAssignment(request_.device_assignment),
                         workload_.slice, devices_.devices(),
                         devices_.replicas);
  }

  // One run of a computation with these arguments, while its callers hold
  // `outside`. Recursive: kMaxHloCallLevels at most.
  std::vector<StepItem> Walk(int computation,
                             const std::vector<HloValue>& arguments,
                             Bytes outside, HloValue& result) {
    std::vector<StepItem> items;
    // Ops in flight by their start.
    std::map<int, std::vector<std::uint32_t>> started;
    const HloComputation& body = module_.computations[computation];
    HloValues values(body, arguments);
    const int count = static_cast<int>(body.instructions.size());
    instructions_ += count;
    if (instructions_ > kMaxInstructions) {
      throw InputError(WhereIs(module_, body.instructions[0]),
                       "the module has more than a million instructions "
                       "once its calls are written out");
    }
    for (int i = 0; i < count; ++i) {
      const HloInstruction& instruction = body.instructions[i];
      if (AddControlFlow(computation, i, outside, values, items)) continue;
      const auto first = static_cast<std::uint32_t>(workload_.graph.ops.size());
      if (const auto communication =
              FindCommunication(module_, devices_, computation, i)) {
        AddCommunication(*communication, i, instruction, started, items);
      } else if (const auto bytes = AsyncCopyBytes(module_, computation, i)) {
        AddCopy(*bytes, i, instruction, started, items);
      } else if (const auto start = started.find(StartOfDone(body, i));
                 start != started.end()) {
        AddWaits(start->second, items);
        started.erase(start);
      } else {
        AddCompute(computation, i, items);
      }
      Describe(first, values.OperandsOf(i),
               outside + memory_.Usage(computation, i));
      values.SetMade(i, first,
                     static_cast<std::uint32_t>(workload_.graph.ops.size()));
    }
    // Nothing stays in flight at the end of a computation.
    for (const auto& [start, ops] : started) AddWaits(ops, items);
    result = values.Of(body.root);
    return items;
  }

  void Describe(std::uint32_t first, const HloSources& deps, Bytes live) {
    for (std::size_t k = first; k < workload_.graph.ops.size(); ++k) {
      workload_.graph.ops[k].deps = deps;
      workload_.graph.ops[k].live = live;
    }
  }

  // Loops, calls and conditionals.
  bool AddControlFlow(int computation, int i, Bytes outside, HloValues& values,
                      std::vector<StepItem>& items) {
    const HloInstruction& instruction =
        module_.computations[computation].instructions[i];
    HloValue result;
    const Bytes held = outside + memory_.Usage(computation, i);
    if (instruction.opcode == "while") {
      AddLoop(computation, i, held, values, items);
      return true;
    }
    if (instruction.opcode == "call") {
      if (const auto callee = FindCall(instruction, HloCallRole::kToApply)) {
        Append(Walk(*callee, values.ArgumentsOf(i), held, result), items);
      }
      values.Set(i, result);
      return true;
    }
    if (instruction.opcode == "conditional") {
      AddConditional(i, instruction, held, values, items);
      return true;
    }
    return false;
  }

  static void Append(std::vector<StepItem> more, std::vector<StepItem>& items) {
    for (StepItem& item : more) items.push_back(std::move(item));
  }

  void AddLoop(int computation, int i, Bytes held, HloValues& values,
               std::vector<StepItem>& items) {
    const HloInstruction& loop =
        module_.computations[computation].instructions[i];
    const auto body = FindCall(loop, HloCallRole::kBody);
    if (!body) return;
    loops_.insert(loop.name);
    const TripCount found = FindTripCount(module_, computation, i);
    const bool known = found.source != TripCountSource::kUnknown;
    std::int64_t count = known ? found.count : 1;
    if (const auto given = trip_counts_.Of(loop.name, known)) {
      count = *given;
    } else if (!known) {
      WarnOnce(WhereIs(module_, loop) + ": the trip count of the loop " +
               loop.name + " is not known (" + found.reason +
               "), taken as 1; give --trip-count " + loop.name + "=N");
    }
    if (count > kMaxTrips) {
      throw InputError(WhereIs(module_, loop),
                       "a trip count of " + std::to_string(count) +
                           " is more than 2^30; give --trip-count " +
                           loop.name + "=N");
    }
    if (count == 0) {
      values.PassOn(i);
      return;
    }
    StepItem item;
    item.repeat = static_cast<int>(count);
    const auto first = static_cast<std::uint32_t>(workload_.graph.ops.size());
    const std::size_t elements =
        IsTuple(loop.shape) ? loop.shape.elements.size() : 1;
    LoopState state(values.ArgumentsOf(i), elements, next_mark_);
    next_mark_ = state.end_mark();
    HloValue result;
    item.body = Walk(*body, {state.entering()}, held, result);
    state.Close(result);
    for (std::size_t k = first; k < workload_.graph.ops.size(); ++k) {
      state.Resolve(workload_.graph.ops[k].deps);
    }
    values.Set(i, state.leaving());
    if (!item.body.empty()) items.push_back(std::move(item));
  }

  // The branch that computes most is taken, the first of several.
  void AddConditional(int i, const HloInstruction& conditional, Bytes held,
                      HloValues& values, std::vector<StepItem>& items) {
    std::optional<std::size_t> branch;
    double most = -1;
    for (std::size_t k = 0; k < conditional.calls.size(); ++k) {
      const double work = WorkOf(conditional.calls[k].computation);
      if (work <= most) continue;
      most = work;
      branch = k;
    }
    if (!branch) return;
    const int taken = conditional.calls[*branch].computation;
    if (conditional.calls.size() > 1) {
      WarnOnce(WhereIs(module_, conditional) + ": of the branches of " +
               conditional.name +
               " the one with the most work is taken to run: " +
               module_.computations[taken].name);
    }
    // Operand 0 selects, operand k + 1 is the argument of branch k.
    std::vector<HloValue> arguments = values.ArgumentsOf(i);
    arguments.erase(arguments.begin(),
                    arguments.begin() + static_cast<std::ptrdiff_t>(std::min(
                                            *branch + 1, arguments.size())));
    HloValue result;
    Append(Walk(taken, arguments, held, result), items);
    values.Set(i, result);
  }

  double WorkOf(int computation) {
    double work = 0;
    const auto count =
        static_cast<int>(module_.computations[computation].instructions.size());
    for (int i = 0; i < count; ++i) {
      const HloCost cost = costs_.Of(computation, i);
      work += cost.flops.value() + static_cast<double>(cost.bytes.value());
    }
    return work;
  }

  void AddCommunication(const HloCommunication& communication, int i,
                        const HloInstruction& instruction,
                        std::map<int, std::vector<std::uint32_t>>& started,
                        std::vector<StepItem>& items) {
    if (communication.form == HloCommForm::kUpdate) return;
    if (communication.form == HloCommForm::kDone) {
      const auto found = communication.start
                             ? started.find(*communication.start)
                             : started.end();
      if (found == started.end()) return;
      AddWaits(found->second, items);
      started.erase(found);
      return;
    }
    const bool async = communication.form == HloCommForm::kStart;
    for (std::size_t k = 0; k < communication.collectives.size(); ++k) {
      const HloCollective& collective = communication.collectives[k];
      // What is received is what a send sends.
      if (collective.kind == HloCollectiveKind::kRecv) continue;
      if (collective.is_host_transfer) {
        ++host_transfers_;
        continue;
      }
      ragged_ |= collective.kind == HloCollectiveKind::kRaggedAllToAll;
      const std::string suffix = k == 0 ? "" : "#" + std::to_string(k);
      if (!AddCollective(collective, instruction, suffix, async, items)) {
        continue;
      }
      if (async) started[i].push_back(*items.back().op);
    }
  }

  static void AddWaits(const std::vector<std::uint32_t>& ops,
                       std::vector<StepItem>& items) {
    for (const std::uint32_t op : ops) {
      StepItem& item = items.emplace_back();
      item.op = op;
      item.wait = true;
    }
  }

  bool AddCollective(const HloCollective& collective,
                     const HloInstruction& instruction,
                     const std::string& suffix, bool async,
                     std::vector<StepItem>& items) {
    const std::string where = WhereIs(module_, instruction);
    std::optional<Collective> placed = placement_.Place(collective, where);
    if (!placed) return false;
    StepOp op = NewOp(instruction, suffix);
    op.collective = std::move(placed);
    op.mode = async ? CollectiveMode::kAsync : CollectiveMode::kSync;
    ApplyOverride(overrides_, op.collective->kind, op);
    AddOp(std::move(op), items);
    return true;
  }

  void AddCompute(int computation, int i, std::vector<StepItem>& items) {
    const HloInstruction& instruction =
        module_.computations[computation].instructions[i];
    const HloCost cost = costs_.Of(computation, i);
    if (cost.unknown_target) unknown_targets_.insert(*cost.unknown_target);
    const bool counts = fused_ || cost.flops.value() > 0;
    if (!counts ||
        (cost.flops.value() == 0 && cost.bytes_in_place.value() == 0)) {
      return;
    }
    ComputeWork work;
    work.hbm = cost.bytes_in_place;
    if (cost.flops.value() > 0) {
      work.flops = cost.flops;
      work.dtype = DtypeOf(cost.dot_type, workload_.slice.parameters);
    }
    StepOp op = NewOp(instruction, "");
    SetWork(work, request_.compute_scale, workload_.slice.parameters, op.where,
            op);
    AddOp(std::move(op), items);
  }

  StepOp NewOp(const HloInstruction& instruction, const std::string& suffix) {
    const std::string where = WhereIs(module_, instruction);
    return {.id = IdOf(instruction.name + suffix),
            .where = where,
            .collective = {},
            .lowering = {},
            .lowering_where = where,
            .duration = {},
            .hbm = {}};
  }

  // Between HBM and VMEM, by DMA.
  void AddCopy(Bytes bytes, int i, const HloInstruction& instruction,
               std::map<int, std::vector<std::uint32_t>>& started,
               std::vector<StepItem>& items) {
    if (bytes.value() == 0) return;
    StepOp op = NewOp(instruction, "");
    SetCopy(bytes, workload_.slice.parameters, op.where, op);
    AddOp(std::move(op), items);
    started[i].push_back(*items.back().op);
  }

  void AddOp(StepOp op, std::vector<StepItem>& items) {
    if (workload_.graph.ops.size() >= kMaxOps) {
      throw InputError(op.where,
                       "the module has more than a million ops once "
                       "its calls are written out");
    }
    workload_.graph.ops.push_back(std::move(op));
    items.emplace_back().op =
        static_cast<std::uint32_t>(workload_.graph.ops.size() - 1);
  }

  // A computation that is called twice has its ops twice.
  std::string IdOf(const std::string& name) {
    const int before = times_named_[name]++;
    return before == 0 ? name : name + "@" + std::to_string(before + 1);
  }

  // Of a computation that is called twice.
  void WarnOnce(std::string warning) {
    if (!warned_.insert(warning).second) return;
    workload_.warnings.push_back(std::move(warning));
  }

  void WarnOfGuesses() {
    const auto warn = [&](const std::string& text) {
      workload_.warnings.push_back(module_.file + ": " + text);
    };
    if (!fused_) {
      warn(
          "the module has no fusions, so it is not optimised yet: only dots "
          "and convolutions are given time");
    }
    if (!unknown_targets_.empty()) {
      warn(std::string("custom calls whose work is not known take ") +
           (fused_ ? "the time of their bytes alone: " : "no time: ") +
           Join(std::vector<std::string>(unknown_targets_.begin(),
                                         unknown_targets_.end()),
                ", "));
    }
    if (ragged_) {
      warn(
          "a ragged-all-to-all has its sizes at run time only: taken as an "
          "all-to-all of its whole input in equal blocks");
    }
    if (host_transfers_ > 0) {
      warn(std::to_string(host_transfers_) +
           " transfers to or from the host take no time");
    }
  }

  const HloModule& module_;
  const HloRequest& request_;
  Workload& workload_;
  HloMemory memory_;
  DeviceCounts devices_;
  HloPlacement placement_;
  TripCounts trip_counts_;
  std::vector<LoweringOverride> overrides_;
  HloCosts costs_;
  bool fused_;
  bool ragged_ = false;
  int host_transfers_ = 0;
  std::int64_t instructions_ = 0;  // walked through
  std::set<std::string> loops_;
  std::set<std::string> warned_;
  std::uint32_t next_mark_ = kFirstMark;
  std::map<std::string, int> times_named_;
  std::set<std::string> unknown_targets_;
};

}  // namespace

bool IsHloFile(const std::string& path) {
  return path.ends_with(".hlo") || path.ends_with(".txt");
}

Workload MakeHloWorkload(const HloModule& module, const HloRequest& request) {
  if (module.truncated || !module.entry) {
    throw InputError(
        module.file,
        "the module is not whole (" +
            module.truncated.value_or("it has no entry computation") + "); " +
            std::to_string(module.computations.size()) +
            " complete computations were read; a step needs all of them: dump "
            "it again");
  }
  if (request.slice.spec.empty()) {
    throw InputError(module.file,
                     "an HLO module does not say on which slice it runs; pass "
                     "--slice, for example --slice v5p:4x4x4");
  }
  Workload workload{.name = module.name.empty() ? "module" : module.name,
                    .slice = MakeSlice(request.slice),
                    .graph = {},
                    .warnings = module.warnings};
  Loader(module, request, workload).Load();
  return workload;
}

}  // namespace podsim
