#include "schedule/msccl_schedule.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "schedule/msccl_meaning.h"
#include "schedule/msccl_order.h"
#include "topology/routing.h"

namespace podsim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// What a slot holds: a version of a chunk, 0 for nothing; or what a message
// left there for a later add.
struct Value {
  std::uint32_t chunk = kNone;
  std::uint32_t version = 0;
  std::uint32_t scratch_of = kNone;  // node
};

// Executes the nodes in their order and emits an op for each.
class Emitter {
 public:
  Emitter(const MscclAlgorithm& algorithm, const MscclMemory& memory,
          const MscclOrder& order, ScheduleFile& file)
      : algorithm_(algorithm), memory_(memory), order_(order), file_(file) {}

  void Run() {
    Fill();
    FindAddSources();
    ops_of_.resize(order_.nodes.size());
    for (const std::uint32_t node : order_.order) {
      const MscclStepType& type = *At(order_.nodes[node].step).type;
      if (order_.nodes[node].message()) {
        Send(node);
      } else if (type.reduces) {
        AddLocally(node);
      } else {
        Copy(node);
      }
    }
    CheckResults();
  }

 private:
  using Ops = std::vector<OpId>;

  const MscclStep& At(std::uint32_t step) const {
    return *order_.steps[step].step;
  }
  int GpuOf(std::uint32_t step) const {
    return static_cast<int>(order_.steps[step].gpu);
  }
  ChipId ChipOf(int gpu) const {
    return file_.meaning.groups[0][static_cast<std::size_t>(gpu)];
  }
  std::string LineOf(std::uint32_t step) const {
    return "line " + std::to_string(At(step).line);
  }
  [[noreturn]] void Fail(std::uint32_t step, const std::string& what) const {
    throw InputError(algorithm_.At(At(step).line), what);
  }
  static std::string PlaceText(const MscclPlace& place, int k) {
    return std::string(1, place.buffer) + "[" +
           std::to_string(place.offset + k) + "]";
  }

  int gpus() const { return static_cast<int>(algorithm_.gpus.size()); }
  int chunks() const { return algorithm_.chunks_per_loop; }

  // ---- before and after ---------------------------------------------------

  void Fill() {
    const auto& meaning = file_.meaning;
    if (meaning.root) {
      root_ = *RankOf(ChipId(*meaning.root), meaning.groups);
    }
    slots_.resize(memory_.slots());
    versions_.assign(static_cast<std::size_t>(gpus()) * meaning.chunks.size(),
                     0);
    const MscclBuffers buffers = BuffersOf(meaning.kind, chunks(), gpus());
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      for (int k = 0; k < buffers.input; ++k) {
        const auto chunk = MscclInputChunk(algorithm_, root_, gpu, k);
        if (!chunk) continue;
        Store(memory_.SlotOf(gpu, {'i', 0}, k), gpu, *chunk);
      }
      for (const MscclCopy& copy :
           algorithm_.gpus[static_cast<std::size_t>(gpu)].copies) {
        slots_[memory_.SlotOf(gpu, {'o', copy.output})] =
            slots_[memory_.SlotOf(gpu, {'i', copy.input})];
      }
    }
  }

  void CheckResults() {
    const auto& meaning = file_.meaning;
    const MscclBuffers buffers = BuffersOf(meaning.kind, chunks(), gpus());
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      for (int k = 0; k < buffers.output; ++k) {
        const auto chunk = MscclOutputChunk(algorithm_, root_, gpu, k);
        // The replay tells where the chunk is not there at all.
        if (!chunk || meaning.chunks[*chunk].bytes.value() == 0 ||
            Version(gpu, *chunk) == 0) {
          continue;
        }
        const Value& value = slots_[memory_.SlotOf(gpu, {'o', 0}, k)];
        if (value.chunk == *chunk && IsCurrent(gpu, value)) continue;
        file_.violations.Add("gpu " + std::to_string(gpu) +
                             " ends without the newest chunk " +
                             std::to_string(*chunk) + " in its output, place " +
                             std::to_string(k));
      }
    }
  }

  // ---- values -------------------------------------------------------------

  std::size_t CellOf(int gpu, std::uint32_t chunk) const {
    return static_cast<std::size_t>(gpu) * file_.meaning.chunks.size() + chunk;
  }
  std::uint32_t Version(int gpu, std::uint32_t chunk) const {
    return versions_[CellOf(gpu, chunk)];
  }
  bool IsCurrent(int gpu, const Value& value) const {
    return value.scratch_of == kNone &&
           value.version == Version(gpu, value.chunk);
  }
  // A new version of the chunk, in this slot.
  Value Store(std::size_t slot, int gpu, std::uint32_t chunk) {
    return slots_[slot] = {.chunk = chunk,
                           .version = ++versions_[CellOf(gpu, chunk)]};
  }

  // Violates and says false where there is nothing to use.
  bool IsUsable(const Value& value, std::uint32_t step, int gpu,
                const char* verb, const MscclPlace& place, int k) {
    if (value.chunk == kNone) {
      file_.violations.Add(LineOf(step) + " " + verb + " " +
                           PlaceText(place, k) + " of gpu " +
                           std::to_string(gpu) + ", which holds nothing yet");
      return false;
    }
    return true;
  }
  void RequireCurrent(const Value& value, std::uint32_t step, int gpu,
                      const MscclPlace& place, int k) const {
    if (IsCurrent(gpu, value)) return;
    const std::string what =
        PlaceText(place, k) + " of gpu " + std::to_string(gpu) + " holds ";
    if (value.scratch_of != kNone) {
      Fail(step, what + "a received part of chunk " +
                     std::to_string(value.chunk) +
                     " that is only added later; a schedule can add it, but "
                     "do nothing else with it");
    }
    Fail(step, what + "an old value of chunk " + std::to_string(value.chunk) +
                   ", and another place a newer one; a schedule holds one "
                   "value of a chunk per chip");
  }

  // Where `re` finds what it adds: messages to such places go to scratch.
  void FindAddSources() {
    add_source_.resize(memory_.slots());
    for (std::uint32_t id = 0; id < order_.steps.size(); ++id) {
      const MscclStep& step = At(id);
      if (!step.type->local() || !step.type->reduces) continue;
      for (int k = 0; k < step.count; ++k) {
        add_source_[memory_.SlotOf(GpuOf(id), step.source, k)] = true;
      }
    }
  }

  // ---- dependences --------------------------------------------------------

  // Of the ops of a chain the last one says enough.
  void AddOp(Ops& ops, OpId op) const {
    for (OpId& other : ops) {
      if (chain_of_[other.value()] != chain_of_[op.value()]) continue;
      other = std::max(other, op);
      return;
    }
    ops.push_back(op);
  }
  Ops OpsOf(const std::vector<std::uint32_t>& nodes) const {
    Ops ops;
    for (const std::uint32_t node : nodes) {
      for (const OpId op : ops_of_[node]) AddOp(ops, op);
    }
    return ops;
  }

  // Adds those of `more` that `after` does not imply.
  void AddMissing(Ops& after, Ops more) {
    std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    while (!more.empty()) {
      const OpId latest = more.back();
      more.pop_back();
      if (!Implies(after, latest)) after.push_back(latest);
    }
  }
  bool Implies(const Ops& after, OpId op) {
    seen_.resize(file_.schedule.size());
    ++epoch_;
    Ops stack = after;
    while (!stack.empty()) {
      const OpId at = stack.back();
      stack.pop_back();
      if (at == op) return true;
      if (at < op || seen_[at.value()] == epoch_) continue;
      seen_[at.value()] = epoch_;
      const auto waits = file_.schedule.after(at);
      stack.insert(stack.end(), waits.begin(), waits.end());
    }
    return false;
  }

  OpId NextOp() const { return OpId(file_.schedule.size()); }
  void Emitted(std::uint32_t node, OpId op, const std::string& place) {
    ops_of_[node].push_back(op);
    chain_of_.push_back(order_.nodes[node].chain);
    file_.op_places.push_back(place);
  }

  // What the newest value of a chunk was read by, from another place than it is
  // overwritten at: MSCCL need not order these, a schedule must.
  void NoteRead(int gpu, const Value& value, std::size_t slot) {
    reads_[CellOf(gpu, value.chunk)].push_back({NextOp(), slot});
  }
  void TakeReads(int gpu, std::uint32_t chunk, std::size_t slot, Ops& ops) {
    const auto found = reads_.find(CellOf(gpu, chunk));
    if (found == reads_.end()) return;
    for (const auto& [op, from] : found->second) {
      if (from != slot && op != NextOp()) ops.push_back(op);
    }
    reads_.erase(found);
  }

  // ---- nodes --------------------------------------------------------------

  void Send(std::uint32_t id) {
    const MscclNode& node = order_.nodes[id];
    const ChipId src = ChipOf(GpuOf(node.step));
    const ChipId dst = ChipOf(GpuOf(node.parts[0].receive));
    Ops after = OpsOf(node.waits);
    for (const OpId op : OpsOf(node.receiver_waits)) AddOp(after, op);
    Ops conflicts = OpsOf(node.conflicts);
    std::vector<ChunkRun> runs;
    std::int64_t bytes = 0;
    std::optional<Mode> mode;
    for (const MscclNode::Part& part : node.parts) {
      const int count = std::min(At(part.send).count, At(part.receive).count);
      for (int k = 0; k < count; ++k) {
        const auto value = Read(part, k);
        if (!value) continue;
        const auto kept = Receive(id, part, k, *value, conflicts);
        if (!kept) continue;
        if (mode && *mode != *kept) {
          Fail(part.receive,
               "some chunks of this message are added later, and others not; "
               "a schedule moves them alike");
        }
        mode = kept;
        AppendRun(runs, value->chunk);
        bytes += file_.meaning.chunks[value->chunk].bytes.value();
      }
    }
    AddMissing(after, conflicts);
    std::sort(after.begin(), after.end());
    const std::string place = LineOf(node.step);
    if (!mode) {  // nothing is left of it
      Emitted(id, file_.schedule.AddCompute(src, Seconds(0), after), place);
      return;
    }
    const Transfer transfer{
        .src = src,
        .dst = dst,
        .chunks = {file_.schedule.AddRuns(runs), ChipId(0)},
        .bytes = Bytes(bytes),
        .mode = *mode,
        .lane = static_cast<std::uint16_t>(
            std::min(order_.steps[node.step].channel, UINT16_MAX + 0))};
    const std::vector<LinkId> route = RouteOf(node.step, src, dst);
    CountHops(bytes, route.size(), node.step);
    Emitted(id, file_.schedule.Add(transfer, route, after), place);
  }

  // What the k-th chunk of a message is when it leaves.
  std::optional<Value> Read(const MscclNode::Part& part, int k) {
    const MscclStep& step = At(part.send);
    const int gpu = GpuOf(part.send);
    if (step.type->receives && !step.type->stores) {
      // The sum that the step has just made, and kept nowhere.
      const auto found = passed_.find(part.send);
      if (found == passed_.end()) return std::nullopt;
      const Value value = found->second[static_cast<std::size_t>(k)];
      if (value.chunk == kNone) return std::nullopt;
      RequireCurrent(value, part.send, gpu, step.source, k);
      return value;
    }
    const MscclPlace& place =
        step.type->receives ? step.destination : step.source;
    const std::size_t slot = memory_.SlotOf(gpu, place, k);
    const Value value = slots_[slot];
    if (!IsUsable(value, part.send, gpu, "sends", place, k)) {
      return std::nullopt;
    }
    RequireCurrent(value, part.send, gpu, place, k);
    NoteRead(gpu, value, slot);
    return value;
  }

  // Stores the k-th chunk of a message; nullopt: cannot.
  std::optional<Mode> Receive(std::uint32_t node, const MscclNode::Part& part,
                              int k, const Value& value, Ops& conflicts) {
    const MscclStep& step = At(part.receive);
    const int gpu = GpuOf(part.receive);
    const std::size_t slot = memory_.SlotOf(gpu, step.destination, k);
    if (!step.type->reduces) {
      const Value& old = slots_[slot];
      const bool replaces = old.chunk == value.chunk && IsCurrent(gpu, old);
      if (add_source_[slot] && Version(gpu, value.chunk) > 0 && !replaces) {
        slots_[slot] = {.chunk = value.chunk, .scratch_of = node};
        return Mode::kScratch;
      }
      TakeReads(gpu, value.chunk, slot, conflicts);
      Store(slot, gpu, value.chunk);
      return Mode::kCopy;
    }
    const std::size_t source = memory_.SlotOf(gpu, step.source, k);
    const Value operand = slots_[source];
    if (!IsUsable(operand, part.receive, gpu, "adds to", step.source, k) ||
        !IsSameChunk(value, operand, part.receive)) {
      return std::nullopt;
    }
    RequireCurrent(operand, part.receive, gpu, step.source, k);
    const std::size_t target = step.type->stores ? slot : source;
    TakeReads(gpu, value.chunk, target, conflicts);
    if (step.type->stores) {
      Store(slot, gpu, value.chunk);
    } else {
      auto& passed = passed_[part.receive];
      passed.resize(static_cast<std::size_t>(step.count));
      passed[static_cast<std::size_t>(k)] = {
          .chunk = value.chunk,
          .version = ++versions_[CellOf(gpu, value.chunk)]};
    }
    return Mode::kReduce;
  }

  bool IsSameChunk(const Value& a, const Value& b, std::uint32_t step) {
    if (a.chunk == b.chunk) return true;
    file_.violations.Add(
        LineOf(step) + " adds chunk " + std::to_string(a.chunk) + " to chunk " +
        std::to_string(b.chunk) + " on gpu " + std::to_string(GpuOf(step)));
    return false;
  }

  // One local op per message that left something to add.
  void AddLocally(std::uint32_t id) {
    const MscclNode& node = order_.nodes[id];
    const MscclStep& step = At(node.step);
    const int gpu = GpuOf(node.step);
    const Ops after = OpsOf(node.waits);
    std::vector<std::pair<std::uint32_t, std::vector<ChunkRun>>> messages;
    for (int k = 0; k < step.count; ++k) {
      const std::size_t slot = memory_.SlotOf(gpu, step.destination, k);
      Value part = slots_[memory_.SlotOf(gpu, step.source, k)];
      Value own = slots_[slot];
      if (!IsUsable(part, node.step, gpu, "adds", step.source, k) ||
          !IsUsable(own, node.step, gpu, "adds to", step.destination, k) ||
          !IsSameChunk(part, own, node.step)) {
        continue;
      }
      const bool swapped = own.scratch_of != kNone;
      if (swapped) std::swap(own, part);
      if (part.scratch_of == kNone) {
        Fail(node.step, "adds two values of chunk " +
                            std::to_string(part.chunk) +
                            " that are none of them as a message left it");
      }
      RequireCurrent(own, node.step, gpu,
                     swapped ? step.source : step.destination, k);
      Store(slot, gpu, own.chunk);
      auto found = std::find_if(
          messages.begin(), messages.end(),
          [&](const auto& entry) { return entry.first == part.scratch_of; });
      if (found == messages.end()) {
        found = messages.insert(found, {part.scratch_of, {}});
      }
      AppendRun(found->second, part.chunk);
    }
    Seconds seconds(step.seconds);
    for (const auto& [message, runs] : messages) {
      Ops waits = after;
      std::sort(waits.begin(), waits.end());
      Emitted(id,
              file_.schedule.AddLocal(ChipOf(gpu),
                                      {file_.schedule.AddRuns(runs), ChipId(0)},
                                      ops_of_[message][0], seconds, waits),
              LineOf(node.step));
      seconds = Seconds(0);
    }
    if (messages.empty()) ops_of_[id] = after;
  }

  void Copy(std::uint32_t id) {
    const MscclNode& node = order_.nodes[id];
    const MscclStep& step = At(node.step);
    const int gpu = GpuOf(node.step);
    ops_of_[id] = OpsOf(node.waits);
    for (int k = 0; k < step.count; ++k) {
      const Value value = slots_[memory_.SlotOf(gpu, step.source, k)];
      if (IsUsable(value, node.step, gpu, "copies", step.source, k)) {
        slots_[memory_.SlotOf(gpu, step.destination, k)] = value;
      }
    }
  }

  // ---- routes -------------------------------------------------------------

  // Ours, if the file has one; else the minimal one.
  std::vector<LinkId> RouteOf(std::uint32_t step, ChipId src, ChipId dst) {
    const Topology& topology = file_.slice.topology;
    std::vector<LinkId> route;
    if (!At(step).route.empty()) {
      for (const std::string& name : Split(At(step).route, ' ')) {
        if (const auto link = topology.FindLink(name)) {
          route.push_back(*link);
        } else {
          file_.violations.Add(
              LineOf(step) + " uses link \"" + Shortened(name, 60) +
              "\", which does not exist in " + file_.slice.spec);
        }
      }
      if (!route.empty()) return route;
    }
    const auto minimal = Route(topology, src, dst, TieRule::kParity);
    if (!minimal) {
      Fail(step, "chip " + std::to_string(src.value()) + " cannot reach chip " +
                     std::to_string(dst.value()) + " in " + file_.slice.spec);
    }
    return *minimal;
  }

  // The report adds them up.
  void CountHops(std::int64_t bytes, std::size_t hops, std::uint32_t step) {
    const auto count = static_cast<std::int64_t>(hops);
    if (bytes > (INT64_MAX - byte_hops_) / count) {
      Fail(step, "the messages move more than 2^63 - 1 bytes over links");
    }
    byte_hops_ += bytes * count;
  }

  const MscclAlgorithm& algorithm_;
  const MscclMemory& memory_;
  const MscclOrder& order_;
  ScheduleFile& file_;
  std::uint32_t root_ = 0;               // gpu
  std::vector<Value> slots_;             // of all gpus
  std::vector<std::uint32_t> versions_;  // by gpu and chunk; 0: not there
  std::vector<bool> add_source_;         // by slot
  // Sums of rrs steps, by step.
  std::unordered_map<std::uint32_t, std::vector<Value>> passed_;
  std::unordered_map<std::size_t, std::vector<std::pair<OpId, std::size_t>>>
      reads_;                            // by cell: op and slot
  std::vector<Ops> ops_of_;              // by node
  std::vector<std::uint32_t> chain_of_;  // by op
  std::vector<std::uint64_t> seen_;      // by op
  std::uint64_t epoch_ = 0;
  std::int64_t byte_hops_ = 0;
};

}  // namespace

ScheduleFile MakeMscclSchedule(const MscclAlgorithm& algorithm,
                               SliceRequest request,
                               std::optional<Bytes> payload) {
  ScheduleFile file{.slice = MscclSlice(algorithm, std::move(request)),
                    .schedule = {},
                    .meaning = {},
                    .violations = {}};
  file.meaning =
      MscclMeaning(algorithm, file.slice, payload, file.slice.warnings);
  const MscclMemory memory(algorithm);
  const MscclOrder order = OrderMsccl(algorithm, memory);
  file.violations = order.violations;
  Emitter(algorithm, memory, order, file).Run();
  return file;
}

}  // namespace podsim
