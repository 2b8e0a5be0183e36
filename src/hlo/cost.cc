#include "hlo/cost.h"

#include <algorithm>
#include <array>

#include "hlo/attributes.h"
#include "hlo/collectives.h"
#include "hlo/opcodes.h"
#include "hlo/trip_count.h"

namespace podsim {
namespace {

// Loops in loops may count to more than a double holds.
constexpr double kMostFlops = 1e300;

// What moves no bytes of its own.
constexpr std::array kFree = {
    "parameter", "constant",       "get-tuple-element",    "tuple",
    "bitcast",   "after-all",      "partition-id",         "replica-id",
    "while",     "call",           "conditional",          "opt-barrier",
    "domain",    "add-dependency", "optimization-barrier", "send",
    "recv"};

// Custom calls that only mark something.
constexpr std::array kBookkeeping = {"AssumeGatherIndicesInBound",
                                     "ConcatBitcast",
                                     "BarrierStart",
                                     "Sharding",
                                     "SPMDFullToShardShape",
                                     "SPMDShardToFullShape",
                                     "MoveToHost",
                                     "MoveToDevice",
                                     "AllocateBuffer",
                                     "annotate_device_placement"};

template <std::size_t N>
bool Contains(const std::array<const char*, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsFree(const HloInstruction& at) {
  if (Contains(kFree, at.opcode)) return true;
  for (const char* suffix : {"-start", "-update", "-done"}) {
    if (WithoutSuffix(at.opcode, suffix)) return true;
  }
  if (at.opcode != "custom-call") return false;
  const auto target = FindText(at, "custom_call_target");
  return target && Contains(kBookkeeping, *target);
}

Bytes OperandBytes(const HloComputation& in, const HloInstruction& at,
                   std::size_t k) {
  return k < at.operands.size() ? LogicalBytes(ShapeOf(in, at.operands[k]))
                                : Bytes(0);
}

Bytes AllBytes(const HloComputation& in, const HloInstruction& at) {
  Bytes bytes = LogicalBytes(at.shape);
  for (std::size_t k = 0; k < at.operands.size(); ++k) {
    bytes = SaturatingAdd(bytes, OperandBytes(in, at, k));
  }
  return bytes;
}

// The operand of a dynamic-update-slice or scatter that holds what is written.
std::optional<std::size_t> UpdateOf(const HloInstruction& at) {
  if (at.opcode == "dynamic-update-slice") return 1;
  if (at.opcode == "scatter") return 2;
  return std::nullopt;
}

bool ReadsItsResultOnly(const HloInstruction& at) {
  return at.opcode == "dynamic-slice" || at.opcode == "slice" ||
         at.opcode == "gather";
}

// What is written for the result of a fusion. Tuples may share elements, so
// each instruction is added up once, operands first.
Bytes WrittenBytes(const HloComputation& in) {
  std::vector<Bytes> written;
  for (int i = 0; i <= in.root; ++i) {
    const HloInstruction& at = in.instructions[i];
    Bytes bytes;
    if (at.opcode == "tuple") {
      for (const HloOperand& operand : at.operands) {
        bytes = SaturatingAdd(bytes, written[operand.instruction]);
      }
    } else if (at.opcode == "bitcast") {
      bytes = written[at.operands[0].instruction];
    } else if (const auto update = UpdateOf(at)) {
      bytes = OperandBytes(in, at, *update);
    } else {
      bytes = LogicalBytes(at.shape);
    }
    written.push_back(bytes);
  }
  return written[in.root];
}

// Does this instruction read another one as its operand 0 and nowhere else?
bool ReadsOnlyFirst(const HloInstruction& reader, int at) {
  return !reader.operands.empty() && reader.operands[0].instruction == at &&
         std::ranges::count(reader.operands, at, &HloOperand::instruction) == 1;
}

// What a fusion reads of each instruction: slices, where all users take slices,
// also through bitcasts. Users first.
std::vector<Bytes> ReadBytes(const HloComputation& in) {
  const HloUsers users = UsersOf(in);
  const auto size = static_cast<int>(in.instructions.size());
  std::vector<Bytes> read(in.instructions.size());
  for (int i = size; i-- > 0;) {
    const Bytes whole = LogicalBytes(in.instructions[i].shape);
    Bytes sliced;
    for (const int user : users.data[i]) {
      const HloInstruction& reader = in.instructions[user];
      if (!ReadsOnlyFirst(reader, i)) {
        sliced = whole;
        break;
      }
      if (ReadsItsResultOnly(reader)) {
        sliced = SaturatingAdd(sliced, LogicalBytes(reader.shape));
      } else if (reader.opcode == "bitcast") {
        sliced = SaturatingAdd(sliced, read[user]);
      } else if (!UpdateOf(reader)) {  // what is updated stays where it is
        sliced = whole;
        break;
      }
    }
    read[i] = std::min(sliced, whole);
  }
  return read;
}

Bytes FusionBytes(const HloComputation& in) {
  const std::vector<Bytes> read = ReadBytes(in);
  Bytes bytes = WrittenBytes(in);
  for (const int parameter : in.parameters) {
    const HloShape& shape = in.instructions[parameter].shape;
    bytes = SaturatingAdd(
        bytes, IsTuple(shape) ? LogicalBytes(shape) : read[parameter]);
  }
  return bytes;
}

Bytes InPlaceBytes(const HloComputation& in, const HloInstruction& at,
                   Bytes all) {
  const auto twice = [](Bytes bytes) { return SaturatingAdd(bytes, bytes); };
  if (ReadsItsResultOnly(at)) return twice(LogicalBytes(at.shape));
  if (const auto update = UpdateOf(at)) {
    return twice(OperandBytes(in, at, *update));
  }
  return all;
}

std::optional<std::int64_t> EstimatedCycles(const HloInstruction& at) {
  const auto config = FindText(at, "backend_config");
  if (!config || config->empty() || config->front() != '{') return std::nullopt;
  std::string_view object = *config;
  if (const auto window = FindJsonLike(object, "window_config")) {
    object = *window;
  }
  const auto cycles = FindJsonLike(object, "estimated_cycles");
  if (!cycles) return std::nullopt;
  return ParseWholeInteger(Unquoted(*cycles));
}

// The computations whose work counts for their caller, and how often.
struct Part {
  int computation;
  std::int64_t times;
};

std::vector<Part> PartsOf(const HloModule& module, int computation,
                          int instruction, std::int64_t default_trip_count) {
  const HloInstruction& at =
      module.computations[computation].instructions[instruction];
  std::int64_t trips = default_trip_count;
  if (FindCall(at, HloCallRole::kBody)) {
    const TripCount found = FindTripCount(module, computation, instruction);
    if (found.source != TripCountSource::kUnknown) trips = found.count;
  }
  std::vector<Part> parts;
  for (const HloCall& call : at.calls) {
    std::int64_t times = 0;
    switch (call.role) {
      case HloCallRole::kBody:
        times = trips;
        break;
      case HloCallRole::kCondition:
        times = SaturatingAdd(trips, 1);
        break;
      case HloCallRole::kCalls:
      case HloCallRole::kTrueComputation:
      case HloCallRole::kFalseComputation:
      case HloCallRole::kBranch:
        times = 1;
        break;
      case HloCallRole::kToApply:
        times = at.opcode == "call" ? 1 : 0;
        break;
      case HloCallRole::kCalledComputation:
      case HloCallRole::kSelect:
      case HloCallRole::kScatter:
        break;
    }
    if (times > 0) parts.push_back({call.computation, times});
  }
  return parts;
}

void TakeLarger(double flops, std::optional<HloElementType> type,
                HloWork& work) {
  if (flops <= work.most) return;
  work.most = flops;
  work.type = type;
}

std::optional<HloElementType> WiderType(const HloComputation& in,
                                        const HloInstruction& at) {
  std::optional<HloElementType> wider;
  for (std::size_t k = 0; k < std::min<std::size_t>(2, at.operands.size());
       ++k) {
    const HloShape& shape = ShapeOf(in, at.operands[k]);
    if (!IsArray(shape)) continue;
    if (!wider || BitsPerElement(shape.type) > BitsPerElement(*wider)) {
      wider = shape.type;
    }
  }
  return wider;
}

// Callers before those they call. Recursive: kMaxHloCallLevels at most.
void AddCallersFirst(const HloModule& module, int computation,
                     std::vector<bool>& visited, std::vector<int>& reversed) {
  if (visited[computation]) return;
  visited[computation] = true;
  for (const HloInstruction& at :
       module.computations[computation].instructions) {
    for (const HloCall& call : at.calls) {
      AddCallersFirst(module, call.computation, visited, reversed);
    }
  }
  reversed.push_back(computation);
}

}  // namespace

HloWork HloCosts::WorkOf(int computation, int instruction) {
  const HloComputation& in = module_.computations[computation];
  const HloInstruction& at = in.instructions[instruction];
  HloWork work;
  work.flops = DotFlops(module_, in, at).value();
  TakeLarger(work.flops, WiderType(in, at), work);
  for (const Part& part : PartsOf(module_, computation, instruction, 1)) {
    const HloWork& inner = WorkOfComputation(part.computation);
    work.flops += static_cast<double>(part.times) * inner.flops;
    TakeLarger(inner.most, inner.type, work);
  }
  work.flops = std::min(work.flops, kMostFlops);
  return work;
}

// Recursive: kMaxHloCallLevels at most.
const HloWork& HloCosts::WorkOfComputation(int computation) {
  const auto known = computations_.find(computation);
  if (known != computations_.end()) return known->second;
  HloWork work;
  const auto size =
      static_cast<int>(module_.computations[computation].instructions.size());
  for (int i = 0; i < size; ++i) {
    const HloWork inner = WorkOf(computation, i);
    work.flops = std::min(work.flops + inner.flops, kMostFlops);
    TakeLarger(inner.most, inner.type, work);
  }
  return computations_[computation] = work;
}

Bytes HloCosts::BytesOfFusion(int computation) {
  const auto [known, is_new] = fusions_.try_emplace(computation);
  if (is_new) known->second = FusionBytes(module_.computations[computation]);
  return known->second;
}

HloCost HloCosts::Of(int computation, int instruction) {
  const HloComputation& in = module_.computations[computation];
  const HloInstruction& at = in.instructions[instruction];
  HloCost cost;
  const HloWork work = WorkOf(computation, instruction);
  cost.flops = Flops(work.flops);
  cost.dot_type = work.type;
  const auto kind = CollectiveKindOf(at.opcode);
  if (kind == HloCollectiveKind::kAllReduce ||
      kind == HloCollectiveKind::kReduceScatter) {
    double elements = 0;
    for (const HloOperand& operand : at.operands) {
      elements += static_cast<double>(ElementCount(ShapeOf(in, operand)));
    }
    cost.reduction_flops = Flops(elements);
  }
  if (!IsFree(at)) {
    cost.bytes = AllBytes(in, at);
    cost.bytes_in_place = InPlaceBytes(in, at, cost.bytes);
    const auto fused = at.opcode == "fusion" ? FindCall(at, HloCallRole::kCalls)
                                             : std::nullopt;
    if (fused)
      cost.bytes_in_place = std::min(cost.bytes, BytesOfFusion(*fused));
    if (at.opcode == "custom-call" && work.flops == 0) {
      cost.unknown_target =
          FindText(at, "custom_call_target").value_or("(no target)");
    }
  }
  cost.estimated_cycles = EstimatedCycles(at);
  return cost;
}

HloCost CostOf(const HloModule& module, int computation, int instruction) {
  return HloCosts(module).Of(computation, instruction);
}

std::vector<std::int64_t> ExecutionCounts(const HloModule& module,
                                          std::int64_t default_trip_count) {
  std::vector<std::int64_t> counts(module.computations.size());
  if (!module.entry) return counts;
  std::vector<bool> visited(counts.size());
  std::vector<int> order;
  AddCallersFirst(module, *module.entry, visited, order);
  std::reverse(order.begin(), order.end());
  counts[*module.entry] = 1;
  for (const int computation : order) {
    const auto size =
        static_cast<int>(module.computations[computation].instructions.size());
    for (int i = 0; i < size; ++i) {
      for (const Part& part :
           PartsOf(module, computation, i, default_trip_count)) {
        std::int64_t& count = counts[part.computation];
        count = SaturatingAdd(
            count, SaturatingMultiply(counts[computation], part.times));
      }
    }
  }
  return counts;
}

HloTotals TotalFlops(const HloModule& module, std::int64_t default_trip_count) {
  const std::vector<std::int64_t> counts =
      ExecutionCounts(module, default_trip_count);
  double once = 0, all = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const HloComputation& in = module.computations[c];
    double flops = 0;
    for (const HloInstruction& at : in.instructions) {
      flops += DotFlops(module, in, at).value();
    }
    once += flops;
    all += static_cast<double>(counts[c]) * flops;
  }
  return {Flops(once), Flops(all)};
}

}  // namespace podsim
