// Chakra traces of computes and collectives as a step.
#include <algorithm>
#include <queue>

#include "base/error.h"
#include "collective/groups.h"
#include "workload/chakra_groups.h"
#include "workload/chakra_lower.h"
#include "workload/compute_op.h"
#include "workload/lowering_choice.h"

namespace podsim {
namespace {

// Nodes that the core or the network executes; others only pass on waits.
bool Runs(const ChakraNode& node) {
  return !node.is_cpu_op && node.type != ChakraNodeType::kMetadata;
}

using Nodes = std::vector<const ChakraNode*>;

// By rank. Every rank must do what rank 0 does, in the same order; who the
// others of a process group are may differ.
std::vector<Nodes> AlikeNodes(const std::vector<ChakraTrace>& traces) {
  std::vector<Nodes> all;
  for (const ChakraTrace& trace : traces) {
    Nodes nodes;
    for (const ChakraNode& node : trace.nodes) {
      if (Runs(node)) nodes.push_back(&node);
    }
    all.push_back(std::move(nodes));
    const Nodes& first = all[0];
    const Nodes& own = all.back();
    if (own.size() != first.size()) {
      throw InputError(trace.file, "has " + std::to_string(own.size()) +
                                       " nodes, rank 0 has " +
                                       std::to_string(first.size()) +
                                       "; only traces alike on every rank are "
                                       "supported");
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      const ChakraNode& a = *first[i];
      const ChakraNode& b = *own[i];
      if (a.type == b.type && a.comm_type == b.comm_type &&
          a.comm_size == b.comm_size && a.involved_dim == b.involved_dim &&
          a.duration_us == b.duration_us && a.num_ops == b.num_ops &&
          a.tensor_size == b.tensor_size) {
        continue;
      }
      throw InputError(b.where, "node \"" + b.name +
                                    "\" is not what rank 0 does (\"" + a.name +
                                    "\", " + a.where +
                                    "); only traces alike on every rank are "
                                    "supported");
    }
  }
  return all;
}

// Positions after those that they wait for, else in file order.
std::vector<std::size_t> IssueOrder(
    const ChakraTrace& trace,
    const std::vector<std::vector<std::size_t>>& deps) {
  std::vector<std::size_t> missing(deps.size());
  std::vector<std::vector<std::size_t>> users(deps.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>
      ready;
  for (std::size_t i = 0; i < deps.size(); ++i) {
    missing[i] = deps[i].size();
    for (const std::size_t dep : deps[i]) users[dep].push_back(i);
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::size_t user : users[order.back()]) {
      if (--missing[user] == 0) ready.push(user);
    }
  }
  const auto stuck = std::ranges::find_if(
      missing, [](std::size_t count) { return count != 0; });
  if (stuck != missing.end()) {
    throw InputError(trace.nodes[stuck - missing.begin()].where,
                     "the node waits in a circle of dependences");
  }
  return order;
}

class StepMaker {
 public:
  StepMaker(const std::vector<ChakraTrace>& traces,
            std::span<const ChakraGroup> communicators, Workload& workload,
            std::vector<LoweringOverride> overrides)
      : traces_(traces),
        trace_(traces[0]),
        communicators_(communicators),
        nodes_(AlikeNodes(traces)),
        workload_(workload),
        overrides_(std::move(overrides)) {}

  void Make() {
    const auto deps = DataDeps(trace_);
    needs_.resize(trace_.nodes.size());
    for (const std::size_t at : IssueOrder(trace_, deps)) Add(at, deps[at]);
    StepGraph& graph = workload_.graph;
    if (graph.ops.empty()) {
      throw InputError(trace_.file, "has no node of a chip to run");
    }
    for (std::uint32_t op = 0; op < graph.ops.size(); ++op) WaitFor(op);
    WarnOfUnused(overrides_, workload_.warnings);
  }

 private:
  void Add(std::size_t at, const std::vector<std::size_t>& deps) {
    const ChakraNode& node = trace_.nodes[at];
    std::vector<std::uint32_t> needs;
    for (const std::size_t dep : deps) {
      needs.insert(needs.end(), needs_[dep].begin(), needs_[dep].end());
    }
    std::ranges::sort(needs);
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    if (!Runs(node)) {
      needs_[at] = std::move(needs);
      return;
    }
    for (const std::uint32_t need : needs) WaitFor(need);
    StepGraph& graph = workload_.graph;
    const auto id = static_cast<std::uint32_t>(graph.ops.size());
    StepOp op = MakeOp(node);
    op.deps = std::move(needs);
    graph.ops.push_back(std::move(op));
    graph.items.emplace_back().op = id;
    done_.push_back(!graph.ops.back().async());
    needs_[at] = {id};
  }

  void WaitFor(std::uint32_t op) {
    if (done_[op]) return;
    done_[op] = true;
    StepItem item;
    item.op = op;
    item.wait = true;
    workload_.graph.items.push_back(item);
  }

  StepOp MakeOp(const ChakraNode& node) {
    StepOp op{.id = node.name.empty()
                        ? std::to_string(node.id)
                        : node.name + "." + std::to_string(node.id),
              .where = node.where,
              .collective = {},
              .lowering = {},
              .lowering_where = node.where,
              .duration = {},
              .hbm = {}};
    if (node.type == ChakraNodeType::kComp) {
      op.duration = ChakraDuration(node, workload_.slice.parameters);
      op.hbm = Bytes(node.tensor_size.value_or(0));
      return op;
    }
    if (IsChakraMemory(node)) {
      SetCopy(ChakraMemoryBytes(node), workload_.slice.parameters, node.where,
              op);
      return op;
    }
    if (node.type != ChakraNodeType::kCommColl) {
      throw InputError(node.where, std::string(ToText(node.type)) +
                                       " is not supported in a step");
    }
    op.collective = MakeCollective(node);
    op.mode = CollectiveMode::kAsync;
    ApplyOverride(overrides_, op.collective->kind, op);
    return op;
  }

  Collective MakeCollective(const ChakraNode& node) const {
    const Topology& topology = workload_.slice.topology;
    Collective collective{.kind = KindOf(node),
                          .payload = Bytes(node.comm_size.value_or(0)),
                          .axes = {}};
    if (!node.comm_size) throw InputError(node.where, "has no comm_size");
    const Nodes nodes = NodesLike(node);
    SetMembers(nodes, collective);
    if (collective.kind == CollectiveKind::kAllGather) {
      // comm_size is the shard of a rank.
      const int n = GroupSize(collective, topology);
      if (*node.comm_size > INT64_MAX / n) {
        throw InputError(node.where, "comm_size is too large");
      }
      collective.payload = Bytes(*node.comm_size * n);
    }
    if (collective.kind == CollectiveKind::kBroadcast && node.comm_src) {
      SetSource(nodes, collective);
    }
    RequireDcn(collective, topology, node.where);
    RequireCountable(collective, topology, node.where);
    return collective;
  }

  // The nodes of all ranks that meet one of rank 0.
  Nodes NodesLike(const ChakraNode& node) const {
    const auto at = std::ranges::lower_bound(nodes_[0], &node) -
                    nodes_[0].begin();  // in file order, as their addresses
    Nodes nodes;
    for (const Nodes& own : nodes_) nodes.push_back(own[at]);
    return nodes;
  }

  void SetMembers(const Nodes& nodes, Collective& collective) const {
    auto groups = GroupsOfNodes(traces_, nodes, communicators_);
    if (groups.size() == 1 && std::ranges::is_sorted(groups[0])) {
      collective.axes = AxesOf(*nodes[0]);
      return;
    }
    if (!std::ranges::all_of(nodes[0]->involved_dim,
                             [](bool involved) { return involved; })) {
      throw InputError(nodes[0]->where,
                       "names a process group and, in involved_dim, axes; "
                       "expected one of the two");
    }
    for (const auto& group : groups) {
      if (group.size() == groups[0].size() ||
          TakesUnequalGroups(collective.kind)) {
        continue;
      }
      throw InputError(
          nodes[group[0].value()]->where,
          "has a process group of " + std::to_string(group.size()) +
              " ranks, that of rank 0 has " + std::to_string(groups[0].size()) +
              "; groups of " + ToText(collective.kind) + " are equally large");
    }
    SetGroups(std::move(groups), workload_.slice.topology, collective);
  }

  // A broadcast by another than the first rank names it as who sends.
  void SetSource(const Nodes& nodes, Collective& collective) const {
    const Topology& topology = workload_.slice.topology;
    SetRoot(*nodes[0]->comm_src, topology, nodes[0]->where + ": comm_src",
            collective);
    const auto groups = GroupsOf(collective, topology);
    const auto rank = static_cast<std::size_t>(RootRank(collective, groups));
    for (const auto& group : groups) {
      const auto source = static_cast<std::int64_t>(group[rank].value());
      for (const ChipId member : group) {
        const ChakraNode& node = *nodes[member.value()];
        if (node.comm_src == source) continue;
        throw InputError(node.where,
                         "expected comm_src " + std::to_string(source) +
                             ", rank " + std::to_string(rank) +
                             " of its group as in that of rank 0, got " +
                             (node.comm_src ? std::to_string(*node.comm_src)
                                            : std::string("none")));
      }
    }
  }

  static CollectiveKind KindOf(const ChakraNode& node) {
    if (!node.comm_type) {
      throw InputError(node.where,
                       "COMM_COLL \"" + node.name + "\" has no comm_type");
    }
    switch (*node.comm_type) {
      case 0:
        return CollectiveKind::kAllReduce;
      case 2:
        return CollectiveKind::kAllGather;
      case 5:
        return CollectiveKind::kBroadcast;
      case 6:
        return CollectiveKind::kAllToAll;
      case 7:
        return CollectiveKind::kReduceScatter;
      default:
        break;
    }
    const char* name = ChakraCommName(*node.comm_type);
    throw InputError(
        node.where,
        "comm_type " + std::to_string(*node.comm_type) +
            (name != nullptr ? std::string(" (") + name + ")" : std::string()) +
            " is not supported; expected ALL_REDUCE, ALL_GATHER, "
            "BROADCAST, ALL_TO_ALL or REDUCE_SCATTER");
  }

  // involved_dim may be longer than there are axes.
  std::vector<int> AxesOf(const ChakraNode& node) const {
    std::vector<int> axes;
    for (const int axis : AllAxes(workload_.slice.topology)) {
      const auto at = static_cast<std::size_t>(axis);
      if (at >= node.involved_dim.size() || node.involved_dim[at]) {
        axes.push_back(axis);
      }
    }
    if (axes.empty()) {
      throw InputError(node.where, "involved_dim names no axis of the slice");
    }
    return axes;
  }

  const std::vector<ChakraTrace>& traces_;
  const ChakraTrace& trace_;  // of rank 0
  std::span<const ChakraGroup> communicators_;
  std::vector<Nodes> nodes_;
  Workload& workload_;
  std::vector<LoweringOverride> overrides_;
  std::vector<std::vector<std::uint32_t>> needs_;  // by node: ops
  std::vector<bool> done_;                         // by op
};

}  // namespace

Workload MakeChakraWorkload(const std::vector<ChakraTrace>& traces,
                            const WorkloadRequest& request,
                            std::span<const ChakraGroup> communicators) {
  Workload workload{.name = traces[0].file,
                    .slice = MakeSlice(request.slice),
                    .graph = {},
                    .warnings = {}};
  const auto chips = static_cast<std::size_t>(workload.slice.topology.chips());
  if (traces.size() != chips) {
    throw InputError(traces[0].file, "expected a trace per chip of " +
                                         workload.slice.spec + ", " +
                                         std::to_string(chips) + ", found " +
                                         std::to_string(traces.size()));
  }
  StepMaker(traces, communicators, workload,
            ParseLoweringOverrides(request.lowerings))
      .Make();
  return workload;
}

}  // namespace podsim
