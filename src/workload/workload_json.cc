// Reader of podsim-workload/1 files.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "collective/byte_matrix.h"
#include "collective/groups.h"
#include "workload/buffer_plan.h"
#include "workload/compute_op.h"
#include "workload/lowering_choice.h"
#include "workload/mesh.h"
#include "workload/workload.h"

namespace podsim {
namespace {

constexpr int kMaxRepeat = 1 << 30;

class Reader {
 public:
  Reader(Workload& workload, std::vector<LoweringOverride> overrides)
      : workload_(workload), overrides_(std::move(overrides)) {}

  void Read(const JsonValue& json) {
    if (const auto mesh = json.Find("mesh")) {
      mesh_ = ReadMesh(*mesh, workload_.slice.topology);
    }
    const JsonValue ops = json.Get("ops");
    CollectIds(ops);
    workload_.graph.items = ReadList(ops, {});
    if (workload_.graph.ops.empty()) ops.Fail("expected at least one op");
    const auto memory = json.Find("memory");
    if (memory) {
      memory->RejectUnknownKeys({"resident"});
      buffers_.resident = memory->Get("resident").AsBytes();
    }
    if (memory || has_buffers_) ApplyBuffers(buffers_, workload_.graph);
    WarnOfUnused(overrides_, workload_.warnings);
  }

 private:
  // Ids are unique in the file; all of them, for `after` that names a later
  // one.
  void CollectIds(const JsonValue& list) {
    for (const JsonValue& op : list.Elements()) {
      const JsonValue id = op.Get("id");
      if (id.AsString().empty()) id.Fail("must not be empty");
      if (!ids_.insert({id.AsString(), op.where()}).second) {
        id.Fail("the id \"" + id.AsString() + "\" stands twice");
      }
      if (const auto body = op.Find("ops")) CollectIds(*body);
    }
  }

  // `visible`: ids that `after` may name, of this list and enclosing ones.
  std::vector<StepItem> ReadList(const JsonValue& list,
                                 std::vector<std::string> visible) {
    std::vector<StepItem> items;
    // Issued before this list.
    const auto before = static_cast<std::uint32_t>(workload_.graph.ops.size());
    for (const JsonValue& json : list.Elements()) {
      json.RejectUnknownKeys({"id",     "collective",   "bytes",     "axes",
                              "groups", "root",         "shift",     "pairs",
                              "matrix", "distribution", "transpose", "lowering",
                              "async",  "mode",         "after",     "compute",
                              "copy",   "memory",       "repeat",    "ops"});
      CheckAfter(json, visible);
      AddWaits(json, items);
      const bool loop = json.Find("repeat").has_value();
      items.push_back(ReadItem(json, visible, before));
      visible.push_back(json.Get("id").AsString());
      if (!loop && workload_.graph.ops.back().async()) {
        outstanding_.push_back({visible.back(), *items.back().op});
      }
    }
    // At the end of a list nothing issued in it is left in flight.
    std::erase_if(outstanding_, [&](const Outstanding& entry) {
      if (entry.op < before) return false;
      items.push_back(WaitFor(entry.op));
      return true;
    });
    return items;
  }

  static StepItem WaitFor(std::uint32_t op) {
    StepItem item;
    item.op = op;
    item.wait = true;
    return item;
  }

  // The wait for an async op stands before the first op that names it.
  void AddWaits(const JsonValue& json, std::vector<StepItem>& items) {
    const auto after = json.Find("after");
    if (!after) return;
    for (const JsonValue& entry : after->Elements()) {
      const auto found =
          std::ranges::find(outstanding_, entry.AsString(), &Outstanding::id);
      if (found == outstanding_.end()) continue;
      items.push_back(WaitFor(found->op));
      outstanding_.erase(found);
    }
  }

  void CheckAfter(const JsonValue& json,
                  const std::vector<std::string>& visible) {
    const auto after = json.Find("after");
    if (!after) return;
    for (const JsonValue& entry : after->Elements()) {
      const std::string& id = entry.AsString();
      if (std::find(visible.begin(), visible.end(), id) != visible.end()) {
        continue;
      }
      const auto named = ids_.find(id);
      if (named == ids_.end()) entry.Fail("no op has the id \"" + id + "\"");
      entry.Fail("\"" + id + "\" " + WhyInvisible(named->second, json.where()) +
                 "; `after` names earlier ops of the same list or an enclosing "
                 "one");
    }
  }

  // `named` and `op`: places of ops, "file: /ops/0/ops/1".
  static const char* WhyInvisible(const std::string& named,
                                  const std::string& op) {
    if (named == op) return "is the op itself";
    if (op.starts_with(named + "/")) return "is a repeat around this op";
    const std::string list = named.substr(0, named.rfind('/') + 1);
    return op.starts_with(list) ? "comes later in the file"
                                : "stands inside another repeat";
  }

  StepItem ReadItem(const JsonValue& json,
                    const std::vector<std::string>& visible,
                    std::uint32_t list_begin) {
    std::vector<std::string> kinds;
    for (const char* kind : {"collective", "compute", "copy", "repeat"}) {
      if (json.Find(kind)) kinds.emplace_back(kind);
    }
    if (kinds.size() != 1) {
      json.Fail(
          "expected one of collective, compute, copy or repeat in an op, got " +
          (kinds.empty() ? "none" : Join(kinds, " and ")));
    }
    if (kinds[0] == "repeat") return ReadLoop(json, visible);
    StepOp op = kinds[0] == "compute" ? ReadCompute(json)
                : kinds[0] == "copy"  ? ReadCopy(json)
                                      : ReadCollective(json);
    op.deps = DepsOf(json);
    ReadBuffers(json, visible, list_begin);
    StepItem item;
    item.op = static_cast<std::uint32_t>(workload_.graph.ops.size());
    last_op_[op.id] = *item.op;
    workload_.graph.ops.push_back(std::move(op));
    return item;
  }

  // "memory": {"alloc": "1GiB", "free": ["weights"]}.
  void ReadBuffers(const JsonValue& json,
                   const std::vector<std::string>& visible,
                   std::uint32_t list_begin) {
    buffers_.alloc.emplace_back();
    buffers_.frees.emplace_back();
    const auto memory = json.Find("memory");
    if (!memory) return;
    has_buffers_ = true;
    memory->RejectUnknownKeys({"alloc", "free"});
    if (const auto alloc = memory->Find("alloc")) {
      buffers_.alloc.back() = alloc->AsBytes();
    }
    const auto free = memory->Find("free");
    if (!free) return;
    for (const JsonValue& entry : free->Elements()) {
      const std::string& id = entry.AsString();
      const auto op = last_op_.find(id);
      const bool seen =
          std::find(visible.begin(), visible.end(), id) != visible.end();
      if (!seen || op == last_op_.end() || op->second < list_begin ||
          buffers_.alloc[op->second].value() == 0) {
        entry.Fail(
            "expected the id of an earlier op of the same list that "
            "has \"alloc\", got \"" +
            id + "\"");
      }
      buffers_.frees.back().push_back(op->second);
    }
  }

  std::vector<std::uint32_t> DepsOf(const JsonValue& json) const {
    std::vector<std::uint32_t> deps;
    if (const auto after = json.Find("after")) {
      for (const JsonValue& entry : after->Elements()) {
        deps.push_back(last_op_.at(entry.AsString()));
      }
    }
    std::sort(deps.begin(), deps.end());
    deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
    return deps;
  }

  StepItem ReadLoop(const JsonValue& json,
                    const std::vector<std::string>& visible) {
    json.RejectUnknownKeys({"id", "repeat", "ops", "after"});
    StepItem item;
    item.repeat = static_cast<int>(json.Get("repeat").AsInteger(1, kMaxRepeat));
    item.body = ReadList(json.Get("ops"), visible);
    if (item.body.empty()) json.Get("ops").Fail("expected at least one op");
    last_op_[json.Get("id").AsString()] =
        static_cast<std::uint32_t>(workload_.graph.ops.size() - 1);
    return item;
  }

  StepOp ReadCompute(const JsonValue& json) {
    json.RejectUnknownKeys({"id", "compute", "after", "memory"});
    StepOp op = NewOp(json);
    const JsonValue compute = json.Get("compute");
    compute.RejectUnknownKeys({"flops", "dtype", "hbm", "duration"});
    const auto flops = compute.Find("flops");
    const auto hbm = compute.Find("hbm");
    const auto dtype = compute.Find("dtype");
    if (const auto duration = compute.Find("duration")) {
      if (flops || hbm || dtype) {
        compute.Fail(
            "duration stands alone; remove flops, hbm and dtype, or "
            "remove it");
      }
      op.duration = duration->AsDuration();
      return op;
    }
    if (!flops && !hbm) {
      compute.Fail("expected flops and/or hbm, or duration alone");
    }
    if (dtype && !flops) dtype->Fail("dtype goes with flops");
    ComputeWork work;
    if (flops) work.flops = flops->AsFlops();
    if (dtype) work.dtype = dtype->AsString();
    if (hbm) work.hbm = hbm->AsBytes();
    SetWork(work, /*scale=*/1, workload_.slice.parameters,
            (dtype ? *dtype : compute).where(), op);
    return op;
  }

  // axes, groups, shift, pairs, root: who takes part.
  void ReadParties(const JsonValue& json, Collective& collective) const {
    const Topology& topology = workload_.slice.topology;
    const auto axes = json.Find("axes");
    const auto groups = json.Find("groups");
    const auto shift = json.Find("shift");
    const auto pairs = json.Find("pairs");
    if (axes && groups) groups->Fail("axes says the groups already; leave one");
    if (shift && pairs) pairs->Fail("shift says the pairs already; leave one");
    if (axes) {
      RejectAxesOfPermute(collective, axes->where());
      SetAxes(ReadAxes(*axes, mesh_, topology), topology, axes->where(),
              collective);
    }
    if (groups) ReadGroups(*groups, topology, collective);
    if (shift) collective.shift = ReadShift(*shift);
    if (pairs) ReadPairs(*pairs, topology, collective);
    RequirePairs(collective, (shift ? *shift : pairs ? *pairs : json).where());
    if (const auto root = json.Find("root")) {
      SetRoot(root->AsInteger(0, topology.chips() - 1), topology, root->where(),
              collective);
    }
  }

  // bytes, matrix, distribution: how much is sent.
  void ReadSize(const JsonValue& json, Collective& collective) const {
    const Topology& topology = workload_.slice.topology;
    for (const char* key : {"matrix", "distribution", "transpose"}) {
      if (const auto of_ragged = json.Find(key)) {
        RejectMatrix(collective.kind, of_ragged->where());
      }
    }
    if (collective.kind != CollectiveKind::kRaggedAllToAll) {
      const JsonValue bytes = json.Get("bytes");
      collective.payload = bytes.AsBytes();
      RequireCountable(collective, topology, bytes.where());
      return;
    }
    const JsonValue size = MatrixOrDistribution(json);
    ByteMatrix matrix;
    if (json.Find("matrix")) {
      matrix = ReadMatrix(size);
    } else {
      const Distribution distribution = ReadDistribution(size);
      matrix = MakeMatrix(distribution,
                          RanksOfMatrix(collective, topology, json.where()),
                          size.Get("bytes").AsBytes());
    }
    const auto transpose = json.Find("transpose");
    const bool transposes = transpose && transpose->AsBool();
    SetMatrix(transposes ? Transposed(matrix) : std::move(matrix), topology,
              size.where(), collective);
    RequireCountable(collective, topology, size.where());
  }

  static JsonValue MatrixOrDistribution(const JsonValue& json) {
    if (const auto bytes = json.Find("bytes")) {
      bytes->Fail(
          "a ragged-all-to-all has a matrix, or a distribution with bytes in "
          "it; remove this");
    }
    const auto matrix = json.Find("matrix");
    const auto distribution = json.Find("distribution");
    if (matrix && distribution) {
      distribution->Fail("matrix says it already; leave one");
    }
    if (!matrix && !distribution) {
      json.Fail(
          "a ragged-all-to-all needs to know what each rank sends to each: a "
          "matrix, or a distribution");
    }
    return matrix ? *matrix : *distribution;
  }

  AxisShift ReadShift(const JsonValue& json) const {
    json.RejectUnknownKeys({"axis", "by"});
    const JsonValue axis = json.Get("axis");
    const JsonValue by = json.Get("by");
    const Topology& topology = workload_.slice.topology;
    const std::vector<AxisPart> parts = ReadAxis(axis, mesh_, topology);
    if (parts.size() != 1) {
      axis.Fail("a shift goes along one axis of the slice, \"" +
                axis.AsString() + "\" lies on " + std::to_string(parts.size()));
    }
    if (!IsWhole(parts[0], topology)) {
      axis.Fail("a shift goes along a whole axis of the slice, \"" +
                axis.AsString() + "\" lies on a part of " +
                AxisName(topology, parts[0].axis) + "; list the pairs");
    }
    return MakeShift(parts[0].axis, by.AsInteger(INT32_MIN, INT32_MAX),
                     topology, by.where());
  }

  // "async": true, or "mode".
  static CollectiveMode ReadMode(const JsonValue& json) {
    const auto async = json.Find("async");
    const auto mode = json.Find("mode");
    if (async && mode) async->Fail("mode says it already; leave one");
    if (async) {
      return async->AsBool() ? CollectiveMode::kAsync : CollectiveMode::kSync;
    }
    if (!mode) return CollectiveMode::kSync;
    for (const CollectiveMode known :
         {CollectiveMode::kSync, CollectiveMode::kAsync,
          CollectiveMode::kAsyncFused, CollectiveMode::kSparseCore}) {
      if (mode->AsString() == ToText(known)) return known;
    }
    mode->Fail("expected sync, async, async_fused or sparsecore, got \"" +
               mode->AsString() + "\"");
  }

  // {"copy": {"bytes": "64MiB"}}: from one memory to the other.
  StepOp ReadCopy(const JsonValue& json) {
    json.RejectUnknownKeys({"id", "copy", "after", "memory"});
    const JsonValue copy = json.Get("copy");
    copy.RejectUnknownKeys({"bytes"});
    StepOp op = NewOp(json);
    SetCopy(copy.Get("bytes").AsBytes(), workload_.slice.parameters,
            copy.where(), op);
    return op;
  }

  static StepOp NewOp(const JsonValue& json) {
    return {.id = json.Get("id").AsString(),
            .where = json.where(),
            .collective = {},
            .lowering = {},
            .lowering_where = json.where(),
            .duration = {},
            .hbm = {}};
  }

  StepOp ReadCollective(const JsonValue& json) {
    json.RejectUnknownKeys({"id", "collective", "bytes", "axes", "groups",
                            "root", "shift", "pairs", "matrix", "distribution",
                            "transpose", "lowering", "async", "mode", "after",
                            "memory"});
    const Topology& topology = workload_.slice.topology;
    const JsonValue kind = json.Get("collective");
    StepOp op = NewOp(json);
    Collective collective{
        .kind = ParseCollectiveKind(kind.AsString(), kind.where()),
        .payload = {},
        .axes = AllAxes(topology)};
    ReadParties(json, collective);
    RequireDcn(collective, topology, json.where());
    ReadSize(json, collective);
    op.mode = ReadMode(json);
    if (const auto lowering = json.Find("lowering")) {
      op.lowering_where = lowering->where();
      op.lowering =
          ParseLoweringChoice(lowering->AsString(), lowering->where());
    }
    ApplyOverride(overrides_, collective.kind, op);
    op.collective = collective;
    if (const auto axes = json.Find("axes")) {
      std::vector<std::string> names;
      for (const JsonValue& name : axes->Elements()) {
        names.push_back(name.AsString());
      }
      op.axes = Join(names, ",");
    }
    return op;
  }

  Workload& workload_;
  std::vector<LoweringOverride> overrides_;
  std::vector<MeshAxis> mesh_;
  std::map<std::string, std::string> ids_;  // id -> where
  BufferPlan buffers_;
  bool has_buffers_ = false;
  std::map<std::string, std::uint32_t> last_op_;  // of an op or loop, by id
  // Async ops without a wait so far, in issue order; of enclosing lists too.
  struct Outstanding {
    std::string id;
    std::uint32_t op;
  };
  std::vector<Outstanding> outstanding_;
};

}  // namespace

Workload ReadWorkload(const JsonValue& json, const WorkloadRequest& request) {
  const JsonValue format = json.Get("format");
  if (format.AsString() != "podsim-workload/1") {
    format.Fail("expected \"podsim-workload/1\", got \"" + format.AsString() +
                "\"");
  }
  json.RejectUnknownKeys({"format", "name", "slice", "mesh", "ops",
                          "parameters", "memory", "source"});
  SliceRequest slice = request.slice;
  if (slice.spec.empty()) {
    const auto spec = json.Find("slice");
    if (!spec) json.Fail("missing key \"slice\"; add it or pass --slice");
    slice.spec = spec->AsString();
    slice.spec_where = spec->where();
  }
  if (const auto parameters = json.Find("parameters")) {
    for (const std::string& key : parameters->Keys()) {
      const JsonValue value = parameters->Get(key);
      slice.overrides.push_back({key, value.AsString(), value.where()});
    }
  }
  Workload workload{
      .name = {}, .slice = MakeSlice(slice), .graph = {}, .warnings = {}};
  if (const auto name = json.Find("name")) workload.name = name->AsString();
  Reader(workload, ParseLoweringOverrides(request.lowerings)).Read(json);
  return workload;
}

}  // namespace podsim
