// Text workloads of ASTRA-sim as a step: every layer forward, then backward.
#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "collective/groups.h"
#include "workload/astra.h"
#include "workload/lowering_choice.h"

namespace podsim {
namespace {

// Who takes part in the collectives of a phase. One of the two, or neither:
// the parallelism has none there.
struct Parties {
  std::vector<int> axes = {};
  std::vector<std::vector<ChipId>> groups = {};
  const char* why_none = nullptr;
};

// Consecutive chips, `group` of them, share a model; those at the same place in
// all groups share data.
struct Split {
  Parties model;
  Parties data;
};

Parties AlongAxes(const Topology& topology, int begin, int end) {
  Parties parties;
  for (int axis = begin; axis < end; ++axis) {
    if (topology.axes()[axis].size > 1) parties.axes.push_back(axis);
  }
  if (parties.axes.empty()) {
    parties.why_none = "its groups have one NPU on this network";
  }
  return parties;
}

Split SplitAt(const Topology& topology, int axis) {
  return {.model = AlongAxes(topology, 0, axis),
          .data = AlongAxes(topology, axis, topology.ici_axes())};
}

Split SplitInGroups(const AstraText& text, const Topology& topology) {
  const int chips = topology.chips();
  if (chips % text.group != 0) {
    throw InputError(text.where,
                     "model_parallel_NPU_group " + std::to_string(text.group) +
                         " does not divide the " + std::to_string(chips) +
                         " NPUs of the network; expected a "
                         "divisor");
  }
  int inside = 1;
  for (int axis = 0; axis <= topology.ici_axes(); ++axis) {
    if (inside == text.group) return SplitAt(topology, axis);
    if (axis < topology.ici_axes()) inside *= topology.axes()[axis].size;
  }
  // Inside an axis.
  Split split;
  const int groups = chips / text.group;
  split.model.groups.resize(groups);
  split.data.groups.resize(text.group);
  for (int chip = 0; chip < chips; ++chip) {
    const ChipId id(static_cast<std::uint32_t>(chip));
    split.model.groups[chip / text.group].push_back(id);
    split.data.groups[chip % text.group].push_back(id);
  }
  return split;
}

// By phase (docs/formats.md, "ASTRA-sim").
struct PhaseParties {
  Parties gradients_and_activations;  // forward and input gradient
  Parties weights;
};

PhaseParties PartiesOf(const std::string& parallelism, const AstraText& text,
                       const Topology& topology) {
  const Parties all = AlongAxes(topology, 0, topology.ici_axes());
  if (parallelism == "MICRO") return {all, all};
  if (parallelism == "DATA") {
    return {{.why_none = "only the weight gradients of DATA are "
                         "communicated"},
            all};
  }
  if (parallelism == "MODEL") {
    return {all,
            {.why_none = "the weight gradients of MODEL stay where they are"}};
  }
  if (parallelism == "HYBRID_TRANSFORMER") {
    const Split split = SplitInGroups(text, topology);
    return {split.model, split.data};
  }
  const Split split = SplitAt(topology, 1);
  if (parallelism == "HYBRID_MODEL_DATA") return {split.model, split.data};
  return {split.data, split.model};  // HYBRID_DATA_MODEL
}

class StepMaker {
 public:
  StepMaker(const AstraText& text, const AstraSystem& system,
            std::vector<LoweringOverride> overrides, double compute_scale,
            Workload& workload)
      : text_(text),
        system_(system),
        overrides_(std::move(overrides)),
        compute_scale_(compute_scale),
        workload_(workload) {}

  void Make() {
    NameLayers();
    for (std::size_t k = 0; k < text_.layers.size(); ++k) Forward(k);
    for (std::size_t k = text_.layers.size(); k-- > 0;) Backward(k);
    for (std::size_t k = text_.layers.size(); k-- > 0;) Update(k);
    if (workload_.graph.ops.empty()) {
      throw InputError(text_.file,
                       "no layer computes or communicates anything; expected "
                       "a time or a collective");
    }
    WarnOfUnused(overrides_, workload_.warnings);
    WarnOfSystem();
  }

 private:
  using MaybeOp = std::optional<std::uint32_t>;

  // Names that stand twice get their line.
  void NameLayers() {
    std::set<std::string> seen;
    for (const AstraLayer& layer : text_.layers) {
      std::string name = layer.name;
      for (int copy = 2; !seen.insert(name).second; ++copy) {
        name = layer.name + "#" + std::to_string(copy);
      }
      names_.push_back(std::move(name));
    }
    weights_.resize(text_.layers.size());
  }

  const std::string& ParallelismOf(const AstraLayer& layer) const {
    return layer.parallelism.empty() ? text_.parallelism : layer.parallelism;
  }

  const PhaseParties& PartiesOfLayer(const AstraLayer& layer) {
    const std::string& parallelism = ParallelismOf(layer);
    const auto known = parties_.find(parallelism);
    if (known != parties_.end()) return known->second;
    return parties_
        .emplace(parallelism,
                 PartiesOf(parallelism, text_, workload_.slice.topology))
        .first->second;
  }

  void Forward(std::size_t k) {
    const AstraLayer& layer = text_.layers[k];
    Compute(k, ".fwd", layer.forward.compute);
    // The next layer needs its result.
    const MaybeOp comm = Communicate(
        k, ".fwd", layer.forward,
        PartiesOfLayer(layer).gradients_and_activations, CollectiveMode::kSync);
    if (comm) last_ = comm;
  }

  void Backward(std::size_t k) {
    const AstraLayer& layer = text_.layers[k];
    const PhaseParties& parties = PartiesOfLayer(layer);
    if (ParallelismOf(layer) == "DATA") {
      // The weights first: their gradients travel beside all that follows. The
      // first layer has nobody to hand a gradient to.
      WeightGradient(k, parties);
      if (k > 0) Compute(k, ".ig", layer.input_gradient.compute);
      Communicate(k, ".ig", layer.input_gradient,
                  parties.gradients_and_activations, CollectiveMode::kAsync);
      return;
    }
    // The layer before waits for the input gradient, which travels beside the
    // weight gradient.
    Compute(k, ".ig", layer.input_gradient.compute);
    const MaybeOp comm =
        Communicate(k, ".ig", layer.input_gradient,
                    parties.gradients_and_activations, CollectiveMode::kAsync);
    Compute(k, ".wg", layer.weight_gradient.compute);
    if (comm) WaitFor(*comm);
    WeightComm(k, parties);
  }

  void WeightGradient(std::size_t k, const PhaseParties& parties) {
    Compute(k, ".wg", text_.layers[k].weight_gradient.compute);
    WeightComm(k, parties);
  }

  void WeightComm(std::size_t k, const PhaseParties& parties) {
    weights_[k] = Communicate(k, ".wg", text_.layers[k].weight_gradient,
                              parties.weights, CollectiveMode::kAsync);
  }

  void Update(std::size_t k) {
    if (weights_[k]) WaitFor(*weights_[k]);
    Compute(k, ".update", text_.layers[k].update);
  }

  void WaitFor(std::uint32_t op) {
    StepItem item;
    item.op = op;
    item.wait = true;
    workload_.graph.items.push_back(item);
    waited_.push_back(op);
  }

  StepOp NewOp(std::size_t k, const std::string& suffix,
               const std::string& where) {
    StepOp op{.id = names_[k] + suffix,
              .where = where,
              .collective = {},
              .lowering = {},
              .lowering_where = where,
              .duration = {},
              .hbm = {}};
    op.deps = std::move(waited_);
    waited_.clear();
    if (last_) op.deps.push_back(*last_);
    std::ranges::sort(op.deps);
    return op;
  }

  std::uint32_t Push(StepOp op) {
    StepGraph& graph = workload_.graph;
    const auto id = static_cast<std::uint32_t>(graph.ops.size());
    graph.ops.push_back(std::move(op));
    graph.items.emplace_back().op = id;
    return id;
  }

  void Compute(std::size_t k, const std::string& suffix, std::int64_t ns) {
    if (ns == 0) return;
    StepOp op = NewOp(k, suffix, text_.layers[k].where);
    op.duration = Seconds(compute_scale_ * (static_cast<double>(ns) / 1e9));
    last_ = Push(std::move(op));
  }

  MaybeOp Communicate(std::size_t k, const std::string& suffix,
                      const AstraPhase& phase, const Parties& parties,
                      CollectiveMode mode) {
    if (!phase.comm || phase.bytes == 0) return std::nullopt;
    const AstraLayer& layer = text_.layers[k];
    if (parties.why_none != nullptr) {
      throw InputError(phase.where,
                       "expected NONE 0, as " + ParallelismOf(layer) +
                           " has no such collective (" + parties.why_none +
                           "), found " + ToText(*phase.comm));
    }
    const Topology& topology = workload_.slice.topology;
    Collective collective{.kind = *phase.comm,
                          .payload = Bytes(phase.bytes),
                          .axes = parties.axes};
    if (!parties.groups.empty()) {
      SetGroups(parties.groups, topology, collective);
    }
    if (collective.kind == CollectiveKind::kAllGather) {
      // The bytes are the shard of an NPU.
      const int n = GroupSize(collective, topology);
      if (phase.bytes > std::numeric_limits<std::int64_t>::max() / n) {
        throw InputError(phase.where, "the bytes are too many");
      }
      collective.payload = Bytes(phase.bytes * n);
    }
    RequireCountable(collective, topology, phase.where);
    StepOp op = NewOp(k, suffix + ".comm", phase.where);
    op.mode = mode;
    SetLowering(collective, parties, op);
    op.collective = std::move(collective);
    return Push(std::move(op));
  }

  void SetLowering(const Collective& collective, const Parties& parties,
                   StepOp& op) {
    for (LoweringOverride& override : overrides_) {
      if (override.kind != collective.kind) continue;
      ApplyOverride(overrides_, collective.kind, op);
      return;
    }
    const Topology& topology = workload_.slice.topology;
    const Parties all = AlongAxes(topology, 0, topology.ici_axes());
    const std::vector<int>& axes =
        parties.groups.empty() ? parties.axes : all.axes;
    const AstraSystem::Implementation lowering =
        AstraLowering(system_, collective.kind, axes,
                      static_cast<std::size_t>(topology.ici_axes()));
    op.lowering = ParseLoweringChoice(lowering.text, lowering.where);
    op.lowering_where = lowering.where;
    if (!lowering.text.starts_with("bucket")) unchunked_ = true;
    if (lowering.text == "neighbor" || lowering.text == "staged") {
      exchange_ = lowering;
    }
    if (axes.size() > 1 && collective.kind == CollectiveKind::kAllReduce) {
      several_dimensions_ = true;
    }
  }

  // What is given, is wanted, and is not done.
  void WarnOfSystem() {
    if (unchunked_ && system_.splits > 1) {
      workload_.warnings.push_back(
          system_.splits_where +
          ": only ring all-reduces, all-gathers and reduce-scatters are cut "
          "into chunks");
    }
    if (exchange_) {
      workload_.warnings.push_back(
          exchange_->where + ": all-to-all runs as " + exchange_->text +
          ", which uses both ways round; see `podsim lowerings`");
    }
    if (several_dimensions_ && system_.baseline) {
      workload_.warnings.push_back(
          system_.file +
          ": /collective-optimization: baseline, an all-reduce of the whole "
          "payload in every dimension, is not modelled; runs as localBWAware");
    }
  }

  const AstraText& text_;
  const AstraSystem& system_;
  std::vector<LoweringOverride> overrides_;
  double compute_scale_;
  Workload& workload_;
  std::vector<std::string> names_;               // of the layers, each once
  std::map<std::string, PhaseParties> parties_;  // by parallelism
  MaybeOp last_;                                 // that the core has ended
  std::vector<std::uint32_t> waited_;            // since then
  std::vector<MaybeOp> weights_;  // collectives in flight, by layer
  std::optional<AstraSystem::Implementation> exchange_;
  bool unchunked_ = false;
  bool several_dimensions_ = false;
};

}  // namespace

Workload MakeAstraWorkload(const AstraText& text, const AstraSystem& system,
                           const WorkloadRequest& request,
                           double compute_scale) {
  SliceRequest slice = request.slice;
  if (!system.endpoint_delay_where.empty()) {
    slice.overrides.push_back({"ici.message_overhead",
                               Exact(system.endpoint_delay_ns) + "ns",
                               system.endpoint_delay_where});
  }
  Workload workload{.name = text.file,
                    .slice = MakeSlice(slice),
                    .graph = {},
                    .warnings = system.warnings};
  StepMaker(text, system, ParseLoweringOverrides(request.lowerings),
            compute_scale, workload)
      .Make();
  return workload;
}

}  // namespace podsim
