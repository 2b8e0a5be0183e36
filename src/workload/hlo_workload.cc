#include "workload/hlo_workload.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "cost/roofline.h"
#include "hlo/collectives.h"
#include "hlo/cost.h"
#include "hlo/trip_count.h"
#include "workload/device_assignment.h"
#include "workload/hlo_placement.h"
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
        devices_(InferDevices(module)),
        placement_(workload.slice, Assign()),
        trip_counts_(request.trip_counts),
        overrides_(ParseLoweringOverrides(request.lowerings)),
        costs_(module),
        fused_(HasFusions(module)) {}

  void Load() {
    workload_.graph.items = Walk(*module_.entry);
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

  // One run of a computation. Recursive: kMaxHloCallLevels at most.
  std::vector<StepItem> Walk(int computation) {
    std::vector<StepItem> items;
    // Ops in flight by their start, and by channel for sends.
    std::map<int, std::vector<std::uint32_t>> started;
    const HloComputation& body = module_.computations[computation];
    const int count = static_cast<int>(body.instructions.size());
    instructions_ += count;
    if (instructions_ > kMaxInstructions) {
      throw InputError(WhereIs(module_, body.instructions[0]),
                       "the module has more than a million instructions "
                       "once its calls are written out");
    }
    for (int i = 0; i < count; ++i) {
      const HloInstruction& instruction = body.instructions[i];
      if (AddControlFlow(computation, i, items)) continue;
      if (const auto communication =
              FindCommunication(module_, devices_, computation, i)) {
        AddCommunication(*communication, i, instruction, started, items);
      } else if (!AsyncCopyBytes(module_, computation, i)) {
        AddCompute(computation, i, items);
      }
    }
    // Nothing stays in flight at the end of a computation.
    for (const auto& [start, ops] : started) AddWaits(ops, items);
    return items;
  }

  // Loops, calls and conditionals.
  bool AddControlFlow(int computation, int i, std::vector<StepItem>& items) {
    const HloInstruction& instruction =
        module_.computations[computation].instructions[i];
    if (instruction.opcode == "while") {
      AddLoop(computation, i, items);
      return true;
    }
    if (instruction.opcode == "call") {
      if (const auto callee = FindCall(instruction, HloCallRole::kToApply)) {
        Append(Walk(*callee), items);
      }
      return true;
    }
    if (instruction.opcode == "conditional") {
      AddConditional(instruction, items);
      return true;
    }
    return false;
  }

  static void Append(std::vector<StepItem> more, std::vector<StepItem>& items) {
    for (StepItem& item : more) items.push_back(std::move(item));
  }

  void AddLoop(int computation, int i, std::vector<StepItem>& items) {
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
    if (count == 0) return;
    StepItem item;
    item.repeat = static_cast<int>(count);
    item.body = Walk(*body);
    if (!item.body.empty()) items.push_back(std::move(item));
  }

  // The branch that computes most is taken, the first of several.
  void AddConditional(const HloInstruction& conditional,
                      std::vector<StepItem>& items) {
    std::optional<int> taken;
    double most = -1;
    for (const HloCall& call : conditional.calls) {
      const double work = WorkOf(call.computation);
      if (work <= most) continue;
      most = work;
      taken = call.computation;
    }
    if (!taken) return;
    if (conditional.calls.size() > 1) {
      WarnOnce(WhereIs(module_, conditional) + ": of the branches of " +
               conditional.name +
               " the one with the most work is taken to run: " +
               module_.computations[*taken].name);
    }
    Append(Walk(*taken), items);
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
    StepOp op{.id = IdOf(instruction.name + suffix),
              .where = where,
              .collective = std::move(placed),
              .lowering = {},
              .lowering_where = where,
              .async = async,
              .duration = {},
              .hbm = {}};
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
    const std::string where = WhereIs(module_, instruction);
    AddOp({.id = IdOf(instruction.name),
           .where = where,
           .collective = {},
           .lowering = {},
           .lowering_where = {},
           .duration = request_.compute_scale *
                       RooflineTime(work, workload_.slice.parameters, where),
           .hbm = *work.hbm},
          items);
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
