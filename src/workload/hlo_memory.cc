#include "workload/hlo_memory.h"

#include <algorithm>
#include <set>

#include "workload/hlo_values.h"

namespace podsim {
namespace {

// Buffers that EntryPeak names.
constexpr std::size_t kMostNamed = 20;

Bytes HbmBytes(const HloShape& shape) {
  if (!IsTuple(shape)) {
    return shape.memory_space == 0 ? LogicalBytes(shape) : Bytes(0);
  }
  Bytes bytes;
  for (const HloShape& element : shape.elements) bytes += HbmBytes(element);
  return bytes;
}

bool IsOneOf(const std::string& opcode,
             std::initializer_list<const char*> opcodes) {
  return std::any_of(opcodes.begin(), opcodes.end(),
                     [&](const char* known) { return opcode == known; });
}

// What has no buffer of its own and passes on those of its operands.
bool IsView(const HloInstruction& at) {
  return IsOneOf(at.opcode, {"parameter", "tuple", "get-tuple-element",
                             "bitcast", "opt-barrier", "optimization-barrier",
                             "after-all", "domain", "add-dependency"}) ||
         at.opcode.ends_with("-done") || at.opcode.ends_with("-update");
}

bool MayBeInPlace(const HloInstruction& at) {
  return IsOneOf(at.opcode, {"dynamic-update-slice", "scatter", "all-reduce"});
}

// Computations that hold their values while the instruction runs. What a
// fusion or a reduction has inside is in registers.
bool HoldsInside(const HloInstruction& at, HloCallRole role) {
  if (at.opcode == "while") return role == HloCallRole::kBody;
  return at.opcode == "call" || at.opcode == "conditional";
}

// The order in which callees come before their callers.
void Visit(const HloModule& module, int computation, std::vector<bool>& seen,
           std::vector<int>& order) {
  if (seen[computation]) return;
  seen[computation] = true;
  for (const HloInstruction& at :
       module.computations[computation].instructions) {
    for (const HloCall& call : at.calls) {
      if (HoldsInside(at, call.role)) {
        Visit(module, call.computation, seen, order);
      }
    }
  }
  order.push_back(computation);
}

std::set<std::int64_t> DonatedParameters(const HloModule& module) {
  std::set<std::int64_t> donated;
  for (const HloAlias& alias : module.input_output_alias) {
    donated.insert(alias.parameter);
  }
  return donated;
}

}  // namespace

int StartOfDone(const HloComputation& computation, int instruction) {
  const HloInstruction* at = &computation.instructions[instruction];
  if (!at->opcode.ends_with("-done")) return -1;
  while (!at->operands.empty()) {
    const int from = at->operands[0].instruction;
    at = &computation.instructions[from];
    if (!at->opcode.ends_with("-update")) return from;
  }
  return -1;
}

HloMemory::HloMemory(const HloModule& module)
    : module_(module),
      buffers_(module.computations.size()),
      usage_(module.computations.size()),
      peak_(module.computations.size()) {
  std::vector<bool> seen(module.computations.size());
  std::vector<int> order;
  if (module.entry) Visit(module, *module.entry, seen, order);
  for (const int computation : order) Measure(computation);
}

Bytes HloMemory::Inner(int computation, int instruction) const {
  const HloInstruction& at =
      module_.computations[computation].instructions[instruction];
  Bytes most;
  for (const HloCall& call : at.calls) {
    if (HoldsInside(at, call.role)) {
      most = std::max(most, peak_[call.computation]);
    }
  }
  return most;
}

void HloMemory::Measure(int computation) {
  const HloComputation& in = module_.computations[computation];
  const int count = static_cast<int>(in.instructions.size());
  const bool is_entry = module_.entry == computation;
  const std::set<std::int64_t> donated = DonatedParameters(module_);
  const HloUsers users = UsersOf(in);
  std::vector<Buffer>& buffers = buffers_[computation];
  std::vector<int> done_of(count, -1);
  for (int i = 0; i < count; ++i) {
    const int start = StartOfDone(in, i);
    if (start >= 0) done_of[start] = i;
  }
  const std::vector<HloValue> arguments;
  HloValues values(in, arguments);
  const auto make = [&](int i, const HloShape& shape, int first, int last) {
    HloValue value;
    const auto add = [&](const HloShape& part) {
      value.elements.push_back({static_cast<std::uint32_t>(buffers.size())});
      buffers.push_back({HbmBytes(part), first, last, i});
    };
    if (IsTuple(shape)) {
      for (const HloShape& element : shape.elements) add(element);
    } else {
      add(shape);
    }
    values.Set(i, std::move(value));
  };
  for (int i = 0; i < count; ++i) {
    const HloInstruction& at = in.instructions[i];
    const int reads_until = std::max(i, done_of[i]);
    for (const std::uint32_t buffer : values.OperandsOf(i)) {
      buffers[buffer].last = std::max(buffers[buffer].last, reads_until);
    }
    const bool alone = !at.operands.empty() &&
                       users.data[at.operands[0].instruction].size() == 1;
    if (at.opcode == "parameter" && is_entry) {
      make(i, at.shape, 0, donated.contains(at.parameter) ? 0 : count - 1);
    } else if (at.opcode == "while" || (MayBeInPlace(at) && alone)) {
      values.PassOn(i);
    } else if (IsView(at) || at.opcode == "constant") {
      values.SetMade(i, 0, 0);
    } else if (at.opcode.ends_with("-start")) {
      const bool ends = done_of[i] >= 0;
      make(i, ends ? in.instructions[done_of[i]].shape : TupleShape({}), i, i);
    } else {
      make(i, at.shape, i, i);
    }
  }
  for (const HloSources& element : values.Of(in.root).elements) {
    for (const std::uint32_t buffer : element) {
      buffers[buffer].last = count - 1;
    }
  }
  std::vector<std::int64_t> change(count + 1);
  for (const Buffer& buffer : buffers) {
    change[buffer.first] += buffer.bytes.value();
    change[buffer.last + 1] -= buffer.bytes.value();
  }
  std::int64_t live = 0;
  for (int i = 0; i < count; ++i) {
    live += change[i];
    usage_[computation].emplace_back(live);
    peak_[computation] =
        std::max(peak_[computation], Bytes(live) + Inner(computation, i));
  }
}

int HloMemory::Busiest(int computation) const {
  int most = 0;
  const auto total = [&](int i) {
    return usage_[computation][i] + Inner(computation, i);
  };
  for (std::size_t i = 1; i < usage_[computation].size(); ++i) {
    const auto at = static_cast<int>(i);
    if (total(at) > total(most)) most = at;
  }
  return most;
}

StepMemory HloMemory::EntryPeak() const {
  StepMemory memory;
  if (!module_.entry) return memory;
  memory.peak = peak_[*module_.entry];
  for (std::optional<int> computation = module_.entry; computation;) {
    const HloComputation& in = module_.computations[*computation];
    const int at = Busiest(*computation);
    memory.at = in.instructions[at].name;
    for (const Buffer& buffer : buffers_[*computation]) {
      if (buffer.first > at || buffer.last < at || buffer.bytes.value() == 0) {
        continue;
      }
      memory.live.push_back(
          {in.instructions[buffer.made_by].name, buffer.bytes});
    }
    std::optional<int> inside;
    for (const HloCall& call : in.instructions[at].calls) {
      if (!HoldsInside(in.instructions[at], call.role)) continue;
      if (!inside || peak_[call.computation] > peak_[*inside]) {
        inside = call.computation;
      }
    }
    computation = inside;
  }
  std::stable_sort(memory.live.begin(), memory.live.end(),
                   [](const LiveBuffer& a, const LiveBuffer& b) {
                     return a.bytes > b.bytes;
                   });
  if (memory.live.size() > kMostNamed) memory.live.resize(kMostNamed);
  return memory;
}

}  // namespace podsim
