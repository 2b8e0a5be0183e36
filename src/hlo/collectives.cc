#include "hlo/collectives.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "hlo/attributes.h"
#include "hlo/opcodes.h"

namespace podsim {
namespace {

struct KindRow {
  HloCollectiveKind kind;
  const char* name;
};
constexpr std::array kKinds = {
    KindRow{HloCollectiveKind::kAllReduce, "all-reduce"},
    KindRow{HloCollectiveKind::kAllGather, "all-gather"},
    KindRow{HloCollectiveKind::kReduceScatter, "reduce-scatter"},
    KindRow{HloCollectiveKind::kAllToAll, "all-to-all"},
    KindRow{HloCollectiveKind::kRaggedAllToAll, "ragged-all-to-all"},
    KindRow{HloCollectiveKind::kCollectiveBroadcast, "collective-broadcast"},
    KindRow{HloCollectiveKind::kCollectivePermute, "collective-permute"},
    KindRow{HloCollectiveKind::kSend, "send"},
    KindRow{HloCollectiveKind::kRecv, "recv"}};

std::optional<HloCollectiveKind> KindNamed(std::string_view name) {
  for (const KindRow& row : kKinds) {
    if (name == row.name) return row.kind;
  }
  return std::nullopt;
}

bool IsNegative(std::int64_t value) { return value < 0; }

bool IsPointToPoint(HloCollectiveKind kind) {
  return kind == HloCollectiveKind::kSend || kind == HloCollectiveKind::kRecv;
}

// One instruction that says what is communicated.
class Describer {
 public:
  Describer(const HloModule& module, const DeviceCounts& devices,
            int computation, int instruction, HloCollectiveKind kind)
      : module_(module),
        devices_(devices),
        in_(module.computations[computation]),
        at_(in_.instructions[instruction]) {
    described_.kind = kind;
    described_.computation = computation;
    described_.instruction = instruction;
  }

  HloCollective Describe() {
    described_.channel = FindInteger(module_, at_, "channel_id");
    SetBytes();
    if (IsPointToPoint(described_.kind)) {
      SetPeers();
    } else {
      described_.mode = GroupModeOf(module_, at_);
      if (described_.kind == HloCollectiveKind::kCollectivePermute) {
        SetPairs();
      } else {
        SetGroups();
      }
    }
    return std::move(described_);
  }

 private:
  Bytes OperandBytes(std::size_t first, std::size_t end) const {
    Bytes bytes;
    for (std::size_t k = first; k < std::min(end, at_.operands.size()); ++k) {
      bytes = SaturatingAdd(bytes, LogicalBytes(ShapeOf(in_, at_.operands[k])));
    }
    return bytes;
  }

  // Of starts what the done will return: element 1 of (operands, results, ..),
  // but an all-reduce-start has no operands in its shape.
  Bytes ResultBytes() const {
    const bool start = WithoutSuffix(at_.opcode, "-start").has_value();
    const bool pair = start && at_.opcode != "all-reduce-start" &&
                      IsTuple(at_.shape) && at_.shape.elements.size() >= 2;
    return LogicalBytes(pair ? at_.shape.elements[1] : at_.shape);
  }

  // slice_sizes={{2,128}}: only slices of that size are moved.
  std::optional<Bytes> SlicedBytes() const {
    const std::string* sizes = FindAttribute(at_, "slice_sizes");
    if (sizes == nullptr || at_.operands.empty()) return std::nullopt;
    const HloShape& shape = ShapeOf(in_, at_.operands[0]);
    const HloShape* array =
        IsTuple(shape) && !shape.elements.empty() ? &shape.elements[0] : &shape;
    if (!IsArray(*array)) return std::nullopt;
    Bytes bytes;
    std::size_t at = 0;
    while ((at = sizes->find_first_of("0123456789", at)) != std::string::npos) {
      const std::size_t end = std::min(sizes->find('}', at), sizes->size());
      const auto lengths =
          ParseIntegerList("{" + sizes->substr(at, end - at) + "}");
      if (!lengths || std::ranges::any_of(*lengths, IsNegative)) {
        throw InputError(WhereIs(module_, at_),
                         "slice_sizes=" + Shortened(*sizes, 60) +
                             ": expected sizes such as {{2,128}}");
      }
      bytes =
          SaturatingAdd(bytes, LogicalBytes(ArrayShape(array->type, *lengths)));
      at = end;
    }
    return bytes;
  }

  void SetBytes() {
    described_.operand_bytes = OperandBytes(0, at_.operands.size());
    described_.result_bytes = ResultBytes();
    switch (described_.kind) {
      case HloCollectiveKind::kRaggedAllToAll:
        described_.operand_bytes = OperandBytes(0, 1);
        break;
      case HloCollectiveKind::kCollectivePermute:
        if (const auto sliced = SlicedBytes()) {
          described_.operand_bytes = described_.result_bytes = *sliced;
        }
        break;
      case HloCollectiveKind::kSend:
        described_.operand_bytes = OperandBytes(0, 1);
        described_.result_bytes = described_.operand_bytes;
        break;
      case HloCollectiveKind::kRecv: {
        const bool tuple = IsTuple(at_.shape) && !at_.shape.elements.empty();
        described_.operand_bytes = Bytes(0);
        described_.result_bytes =
            LogicalBytes(tuple ? at_.shape.elements[0] : at_.shape);
        break;
      }
      default:
        break;
    }
    const bool by_result = described_.kind == HloCollectiveKind::kAllGather ||
                           described_.kind == HloCollectiveKind::kRecv;
    described_.payload =
        by_result ? described_.result_bytes : described_.operand_bytes;
  }

  void SetGroups() {
    const std::string where = WhereIs(module_, at_);
    ReplicaGroups groups;
    if (const std::string* text = FindAttribute(at_, "replica_groups")) {
      groups = ParseReplicaGroups(*text, where);
    }
    described_.form = groups.form;
    described_.has_dynamic_root =
        FindBool(module_, at_, "has_dynamic_root").value_or(false);
    const bool ragged = described_.kind == HloCollectiveKind::kAllReduce;
    described_.groups =
        ExpandGroups(groups, described_.mode, devices_, ragged, where);
  }

  void SetPairs() {
    const std::string where = WhereIs(module_, at_);
    const std::string* text = FindAttribute(at_, "source_target_pairs");
    if (text == nullptr) return;
    described_.pairs = ExpandPairs(ParseSourceTargetPairs(*text, where),
                                   described_.mode, devices_, where);
  }

  void SetPeers() {
    const std::string where = WhereIs(module_, at_);
    described_.is_host_transfer =
        FindBool(module_, at_, "is_host_transfer").value_or(false);
    described_.mode = devices_.partitions > 1 ? GroupMode::kCrossPartition
                                              : GroupMode::kCrossReplica;
    const std::string* attributes = FindAttribute(at_, "frontend_attributes");
    if (attributes == nullptr) return;
    const auto pairs =
        FindJsonLike(*attributes, "_xla_send_recv_source_target_pairs");
    if (!pairs) return;
    described_.pairs =
        ExpandPairs(ParseSourceTargetPairs(Unquoted(*pairs), where),
                    described_.mode, devices_, where);
  }

  const HloModule& module_;
  const DeviceCounts& devices_;
  const HloComputation& in_;
  const HloInstruction& at_;
  HloCollective described_;
};

// Fusions and async wrappers hold few: a short text could name a huge number of
// them by fusions that call the same fusion twice.
constexpr std::size_t kMaxInside = 128;
constexpr std::size_t kMaxIdsInside = std::size_t{1} << 20;

// The collectives inside a called computation, of its fusions as well. Throws
// InputError at `caller` for too many.
class InsideReader {
 public:
  InsideReader(const HloModule& module, const DeviceCounts& devices,
               const HloInstruction& caller)
      : module_(module), devices_(devices), caller_(caller) {}

  std::vector<HloCollective> Read(int computation) {
    if (CountIn(computation) > kMaxInside) {
      Fail("more than 128 collectives in one " + caller_.opcode);
    }
    Add(computation);
    return std::move(found_);
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw InputError(WhereIs(module_, caller_), what);
  }

  // At most kMaxInside + 1. Recursive: kMaxHloCallLevels at most.
  std::size_t CountIn(int computation) {
    const auto known = counts_.find(computation);
    if (known != counts_.end()) return known->second;
    std::size_t count = 0;
    for (const HloInstruction& at :
         module_.computations[computation].instructions) {
      if (CollectiveKindOf(at.opcode)) {
        ++count;
      } else if (const auto callee = FusedBy(at)) {
        count += CountIn(*callee);
      }
      if (count > kMaxInside) break;
    }
    return counts_[computation] = std::min(count, kMaxInside + 1);
  }

  void Add(int computation) {
    if (counts_[computation] == 0) return;
    const HloComputation& in = module_.computations[computation];
    for (std::size_t i = 0; i < in.instructions.size(); ++i) {
      const HloInstruction& at = in.instructions[i];
      if (const auto kind = CollectiveKindOf(at.opcode)) {
        AddOne(computation, static_cast<int>(i), *kind);
      } else if (const auto callee = FusedBy(at)) {
        Add(*callee);
      }
    }
  }

  void AddOne(int computation, int instruction, HloCollectiveKind kind) {
    found_.push_back(
        Describer(module_, devices_, computation, instruction, kind)
            .Describe());
    ids_ += 2 * found_.back().pairs.size();
    for (const auto& group : found_.back().groups) ids_ += group.size();
    if (ids_ > kMaxIdsInside) {
      Fail("more than 1048576 devices in the groups of one " + caller_.opcode);
    }
  }

  static std::optional<int> FusedBy(const HloInstruction& at) {
    if (at.opcode != "fusion") return std::nullopt;
    return FindCall(at, HloCallRole::kCalls);
  }

  const HloModule& module_;
  const DeviceCounts& devices_;
  const HloInstruction& caller_;
  std::vector<HloCollective> found_;
  std::size_t ids_ = 0;
  std::map<int, std::size_t> counts_;  // by computation
};

// Whether a computation returns a slice of this instruction's result alone.
bool ReturnsSliceOf(const HloComputation& in, int instruction) {
  int at = in.root;
  bool sliced = false;
  while (at != instruction) {
    const HloInstruction& step = in.instructions[at];
    const bool slices =
        step.opcode == "dynamic-slice" || step.opcode == "slice";
    const bool passes = step.opcode == "bitcast" || step.opcode == "reshape" ||
                        step.opcode == "copy" || step.opcode == "convert" ||
                        step.opcode == "get-tuple-element";
    if ((!slices && !passes) || step.operands.empty()) return false;
    sliced |= slices;
    at = step.operands[0].instruction;
  }
  return sliced;
}

// An all-reduce of which every device keeps its slice moves as little as a
// reduce-scatter, which is what TPUs make of it ("all-reduce-scatter").
void MakeReduceScatter(const HloModule& module, const HloInstruction& fusion,
                       std::vector<HloCollective>& collectives) {
  if (collectives.size() != 1) return;
  HloCollective& only = collectives[0];
  if (only.kind != HloCollectiveKind::kAllReduce) return;
  const HloComputation& in = module.computations[only.computation];
  if (!ReturnsSliceOf(in, only.instruction)) return;
  only.kind = HloCollectiveKind::kReduceScatter;
  only.result_bytes = LogicalBytes(fusion.shape);
}

// The start that a done or update belongs to: its operand, through updates and
// what only passes it on, a limited number of steps.
std::optional<int> StartOf(const HloComputation& in, int instruction) {
  constexpr int kMaxSteps = 1000;
  int at = instruction;
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    const HloInstruction& step = in.instructions[at];
    if (step.operands.empty()) return std::nullopt;
    at = step.operands[0].instruction;
    const HloInstruction& before = in.instructions[at];
    if (WithoutSuffix(before.opcode, "-start") || before.opcode == "send" ||
        before.opcode == "recv") {
      return at;
    }
    const bool passes = WithoutSuffix(before.opcode, "-update").has_value() ||
                        before.opcode == "get-tuple-element" ||
                        before.opcode == "copy" || before.opcode == "bitcast";
    if (!passes) break;
  }
  return std::nullopt;
}

// A done or update of what `base` names ("all-gather", "async", "send").
std::optional<HloCommunication> FindEnd(const HloModule& module,
                                        const DeviceCounts& devices,
                                        int computation, int instruction,
                                        HloCommForm form,
                                        std::string_view base) {
  const HloComputation& in = module.computations[computation];
  HloCommunication end{.form = form,
                       .collectives = {},
                       .start = StartOf(in, instruction),
                       .kind = KindNamed(base),
                       .channel = FindInteger(
                           module, in.instructions[instruction], "channel_id")};
  if (end.kind) return end;
  // Generic: by what its start wraps.
  if (base != "async" || !end.start) return std::nullopt;
  const auto start =
      FindCommunication(module, devices, computation, *end.start);
  if (!start || start->collectives.empty()) return std::nullopt;
  end.kind = start->collectives[0].kind;
  return end;
}

}  // namespace

const char* ToText(HloCollectiveKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row.name;
  }
  CHECK(false) << "no such kind";
  return "";
}

std::optional<HloCollectiveKind> CollectiveKindOf(std::string_view opcode) {
  if (const auto kind = KindNamed(opcode)) return kind;
  const auto base = WithoutSuffix(opcode, "-start");
  if (!base) return std::nullopt;
  return KindNamed(*base);
}

std::optional<HloCommunication> FindCommunication(const HloModule& module,
                                                  const DeviceCounts& devices,
                                                  int computation,
                                                  int instruction) {
  const HloComputation& in = module.computations[computation];
  const HloInstruction& at = in.instructions[instruction];
  HloCommunication found;
  if (const auto kind = CollectiveKindOf(at.opcode)) {
    const bool starts =
        IsPointToPoint(*kind) || WithoutSuffix(at.opcode, "-start").has_value();
    found.form = starts ? HloCommForm::kStart : HloCommForm::kSync;
    found.collectives = {
        Describer(module, devices, computation, instruction, *kind).Describe()};
    found.channel = found.collectives[0].channel;
    return found;
  }
  if (const auto base = WithoutSuffix(at.opcode, "-done")) {
    return FindEnd(module, devices, computation, instruction,
                   HloCommForm::kDone, *base);
  }
  if (const auto base = WithoutSuffix(at.opcode, "-update")) {
    return FindEnd(module, devices, computation, instruction,
                   HloCommForm::kUpdate, *base);
  }
  if (at.opcode != "fusion" && at.opcode != "async-start") return std::nullopt;
  const auto callee = FindCall(at, HloCallRole::kCalls);
  if (!callee) return std::nullopt;
  found.collectives = InsideReader(module, devices, at).Read(*callee);
  if (found.collectives.empty()) return std::nullopt;
  found.in_fusion = at.opcode == "fusion";
  found.form = found.in_fusion ? HloCommForm::kSync : HloCommForm::kStart;
  if (found.in_fusion) MakeReduceScatter(module, at, found.collectives);
  return found;
}

std::optional<Bytes> AsyncCopyBytes(const HloModule& module, int computation,
                                    int instruction) {
  const HloComputation& in = module.computations[computation];
  const HloInstruction& at = in.instructions[instruction];
  std::string opcode = at.opcode;
  if (opcode == "async-start") {
    const auto callee = FindCall(at, HloCallRole::kCalls);
    if (!callee) return std::nullopt;
    const HloComputation& wrapped = module.computations[*callee];
    opcode = wrapped.instructions[wrapped.root].opcode + "-start";
  }
  if (opcode != "copy-start" && opcode != "slice-start" &&
      opcode != "dynamic-slice-start") {
    return std::nullopt;
  }
  // copy-start returns (destination, source, context), the others
  // ((operands), result, context).
  const bool copy = at.opcode == "copy-start";
  const HloShape* moved = ElementAt(at.shape, {copy ? 0 : 1});
  return LogicalBytes(moved != nullptr ? *moved : at.shape);
}

}  // namespace podsim
