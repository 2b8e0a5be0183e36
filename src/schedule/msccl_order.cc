#include "schedule/msccl_order.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "base/error.h"

namespace podsim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// One gpu's use of a slot by a step that has a node.
struct Access {
  std::uint32_t step;
  std::uint32_t node;
  bool writes;
  bool adds;
};

class Orderer {
 public:
  Orderer(const MscclAlgorithm& algorithm, const MscclMemory& memory)
      : algorithm_(algorithm), memory_(memory) {}

  MscclOrder Run() && {
    Flatten();
    MatchMessages();
    frontiers_.resize(result_.steps.size());
    for (std::size_t gpu = 0; gpu < algorithm_.gpus.size(); ++gpu) {
      OrderGpu(static_cast<std::uint32_t>(gpu));
    }
    OrderNodes();
    return std::move(result_);
  }

 private:
  // ---- steps and messages -------------------------------------------------

  void Flatten() {
    for (std::size_t g = 0; g < algorithm_.gpus.size(); ++g) {
      for (const MscclThreadblock& block : algorithm_.gpus[g].threadblocks) {
        first_step_.push_back(Count(result_.steps));
        for (const MscclStep& step : block.steps) {
          result_.steps.push_back({.step = &step,
                                   .gpu = static_cast<std::uint32_t>(g),
                                   .chain = Count(first_step_) - 1,
                                   .channel = block.channel});
        }
      }
      first_block_.push_back(Count(first_step_));
    }
    first_step_.push_back(Count(result_.steps));
    in_.assign(result_.steps.size(), kNone);
    out_.assign(result_.steps.size(), kNone);
  }

  template <class Item>
  static std::uint32_t Count(const std::vector<Item>& items) {
    return static_cast<std::uint32_t>(items.size());
  }
  const MscclStep& At(std::uint32_t step) const {
    return *result_.steps[step].step;
  }
  std::string LineOf(std::uint32_t step) const {
    return "line " + std::to_string(At(step).line);
  }
  std::uint32_t FirstBlock(std::uint32_t gpu) const {
    return gpu == 0 ? 0 : first_block_[gpu - 1];
  }

  // The k-th send of a connection goes to its k-th receive.
  void MatchMessages() {
    struct Ends {
      std::vector<std::uint32_t> sends, receives;
    };
    std::map<std::tuple<int, int, int>, Ends> connections;
    for (std::uint32_t id = 0; id < result_.steps.size(); ++id) {
      const MscclOrder::Step& step = result_.steps[id];
      const auto gpu = static_cast<int>(step.gpu);
      const MscclThreadblock& block =
          algorithm_.gpus[step.gpu]
              .threadblocks[step.chain - FirstBlock(step.gpu)];
      if (step.step->type->sends) {
        connections[{gpu, block.send, block.channel}].sends.push_back(id);
      }
      if (step.step->type->receives) {
        connections[{block.receive, gpu, block.channel}].receives.push_back(id);
      }
    }
    for (const auto& [key, ends] : connections) {
      const auto& [src, dst, channel] = key;
      const std::string on = " on channel " + std::to_string(channel);
      const std::size_t both =
          std::min(ends.sends.size(), ends.receives.size());
      for (std::size_t k = 0; k < both; ++k) {
        Match(ends.sends[k], ends.receives[k], k > 0);
      }
      for (std::size_t k = both; k < ends.sends.size(); ++k) {
        result_.violations.Add(LineOf(ends.sends[k]) + " sends to gpu " +
                               std::to_string(dst) + on +
                               ", which never receives it");
      }
      for (std::size_t k = both; k < ends.receives.size(); ++k) {
        result_.violations.Add(LineOf(ends.receives[k]) +
                               " waits for a message that gpu " +
                               std::to_string(src) + " never sends" + on);
      }
    }
  }

  void Match(std::uint32_t send, std::uint32_t receive, bool may_join) {
    if (At(send).count != At(receive).count) {
      result_.violations.Add(LineOf(send) + " sends " +
                             std::to_string(At(send).count) + " chunks and " +
                             LineOf(receive) + " receives " +
                             std::to_string(At(receive).count));
    }
    if (At(send).joined && may_join) {
      // The step before is the send before: joined steps are of one type.
      out_[send] = out_[send - 1];
    } else {
      out_[send] = AddNode(send);
    }
    in_[receive] = out_[send];
    result_.nodes[out_[send]].parts.push_back({send, receive});
  }

  std::uint32_t AddNode(std::uint32_t step) {
    MscclNode node;
    node.step = step;
    node.chain = result_.steps[step].chain;
    result_.nodes.push_back(std::move(node));
    return Count(result_.nodes) - 1;
  }

  // ---- order of the steps of one gpu --------------------------------------

  using Nodes = std::vector<std::uint32_t>;

  // The nodes of a chain follow each other: its last one says enough.
  void Add(Nodes& frontier, std::uint32_t node) const {
    const MscclNode& added = result_.nodes[node];
    for (std::uint32_t& other : frontier) {
      const MscclNode& present = result_.nodes[other];
      if (present.chain != added.chain) continue;
      if (present.step < added.step) other = node;
      return;
    }
    frontier.push_back(node);
  }
  void Add(Nodes& frontier, const Nodes& nodes) const {
    for (const std::uint32_t node : nodes) Add(frontier, node);
  }
  static void AddOnce(Nodes& nodes, std::uint32_t node) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
      nodes.push_back(node);
    }
  }

  std::uint32_t DependenceOf(std::uint32_t id) const {
    const MscclStep& step = At(id);
    if (step.dep_threadblock < 0) return kNone;
    return first_step_[FirstBlock(result_.steps[id].gpu) +
                       static_cast<std::uint32_t>(step.dep_threadblock)] +
           static_cast<std::uint32_t>(step.dep_step);
  }

  void OrderGpu(std::uint32_t gpu) {
    first_block_of_gpu_ = FirstBlock(gpu);
    blocks_ = first_block_[gpu] - first_block_of_gpu_;
    if (blocks_ == 0) return;
    first_ = first_step_[first_block_of_gpu_];
    const std::uint32_t last = first_step_[first_block_of_gpu_ + blocks_];
    accesses_.clear();
    known_.assign(static_cast<std::size_t>(last - first_) * blocks_, 0);
    std::vector<int> missing(last - first_);
    std::vector<Nodes> dependents(last - first_);
    std::queue<std::uint32_t> ready;
    for (std::uint32_t id = first_; id < last; ++id) {
      missing[id - first_] = IsFirst(id) ? 0 : 1;
      const std::uint32_t dep = DependenceOf(id);
      if (dep != kNone) {
        ++missing[id - first_];
        dependents[dep - first_].push_back(id);
        if (!At(dep).has_dep) {
          result_.violations.Add(LineOf(id) + " waits for " + LineOf(dep) +
                                 ", which has hasdep=\"0\"");
        }
      }
      if (missing[id - first_] == 0) ready.push(id);
    }
    std::uint32_t done = 0;
    const auto release = [&](std::uint32_t id) {
      if (--missing[id - first_] == 0) ready.push(id);
    };
    for (; !ready.empty(); ++done) {
      const std::uint32_t id = ready.front();
      ready.pop();
      Visit(id);
      if (id + 1 < last && !IsFirst(id + 1)) release(id + 1);
      for (const std::uint32_t next : dependents[id - first_]) release(next);
    }
    if (done < last - first_) {
      std::uint32_t id = first_;
      while (missing[id - first_] == 0) ++id;
      result_.violations.Add(
          LineOf(id) + " waits for itself, by way of other steps of gpu " +
          std::to_string(gpu));
    }
    CheckCopies();
  }

  bool IsFirst(std::uint32_t id) const {
    return first_step_[result_.steps[id].chain] == id;
  }

  // Steps of each threadblock that are done before `id` is, by number.
  std::uint32_t* Known(std::uint32_t id) {
    return known_.data() + static_cast<std::size_t>(id - first_) * blocks_;
  }
  bool IsBefore(std::uint32_t earlier, std::uint32_t id) {
    const std::uint32_t chain = result_.steps[earlier].chain;
    return earlier != id && Known(id)[chain - first_block_of_gpu_] >
                                earlier - first_step_[chain];
  }

  void Visit(std::uint32_t id) {
    const std::uint32_t dep = DependenceOf(id);
    std::uint32_t* known = Known(id);
    for (std::uint32_t b = 0; b < blocks_; ++b) {
      if (!IsFirst(id)) known[b] = Known(id - 1)[b];
      if (dep != kNone) known[b] = std::max(known[b], Known(dep)[b]);
    }
    const std::uint32_t chain = result_.steps[id].chain;
    known[chain - first_block_of_gpu_] = id - first_step_[chain] + 1;

    // Preceding nops carry dependences of this step.
    std::uint32_t begin = id;
    while (!IsFirst(begin) && At(begin - 1).type->empty()) --begin;
    Nodes frontier;
    if (!IsFirst(begin)) Add(frontier, frontiers_[begin - 1]);
    std::vector<std::uint32_t> orders;   // dependences
    std::vector<std::uint32_t> shields;  // those that only keep adds apart
    for (std::uint32_t k = begin; k <= id; ++k) {
      const std::uint32_t on = DependenceOf(k);
      if (on == kNone) continue;
      if (!BothAdd(on, id)) {
        orders.push_back(on);
      } else if (!At(k).apart) {
        shields.push_back(on);
      }
    }
    const MscclStepType& type = *At(id).type;
    if (type.receives && in_[id] != kNone) {
      Receive(id, orders, frontier);
    } else {
      for (const std::uint32_t on : orders) Add(frontier, frontiers_[on]);
    }
    if (type.local()) {
      const std::uint32_t node = AddNode(id);
      in_[id] = node;
      result_.nodes[node].waits = frontier;
      frontier = {node};
      Note(id, node);
    }
    for (const std::uint32_t on : shields) Add(frontier, frontiers_[on]);
    if (type.sends && out_[id] != kNone) {
      const std::uint32_t node = out_[id];
      Nodes& waits = result_.nodes[node].waits;
      std::erase(frontier, node);  // of the part before
      Add(waits, frontier);
      frontier = {node};
      Note(id, node);
    }
    frontiers_[id] = std::move(frontier);
  }

  // The message ends when it has arrived and its step may store it.
  void Receive(std::uint32_t id, const std::vector<std::uint32_t>& orders,
               Nodes& frontier) {
    const std::uint32_t node = in_[id];
    MscclNode& message = result_.nodes[node];
    for (const std::uint32_t on : orders) {
      for (const std::uint32_t wait : NodesOf(on)) {
        if (wait != node) AddOnce(message.receiver_waits, wait);
      }
      Add(frontier, frontiers_[on]);
    }
    FindConflicts(id, message);
    std::erase_if(frontier, [&](std::uint32_t other) {
      const Nodes& waits = message.receiver_waits;
      return result_.nodes[other].chain == message.chain ||
             std::find(waits.begin(), waits.end(), other) != waits.end();
    });
    frontier.push_back(node);
    Note(id, node);
  }

  // What a step is itself, not what came before it in its threadblock.
  Nodes NodesOf(std::uint32_t id) const {
    if (out_[id] != kNone) return {out_[id]};
    if (in_[id] != kNone) return {in_[id]};
    return frontiers_[id];
  }

  // ---- what steps do to the memory of their gpu ----------------------------

  static bool AddsInPlace(const MscclStep& step) {
    return step.type->reduces && step.type->stores;
  }
  // The steps that receive the same message, or the step alone.
  std::vector<std::uint32_t> Together(std::uint32_t id) const {
    if (!At(id).type->receives || in_[id] == kNone) return {id};
    std::vector<std::uint32_t> steps;
    for (const MscclNode::Part& part : result_.nodes[in_[id]].parts) {
      steps.push_back(part.receive);
    }
    return steps;
  }
  bool BothAdd(std::uint32_t a, std::uint32_t b) const {
    if (!AddsInPlace(At(a)) || !AddsInPlace(At(b))) return false;
    const auto gpu = static_cast<int>(result_.steps[a].gpu);
    for (const std::uint32_t x : Together(a)) {
      const auto first_x = memory_.SlotOf(gpu, At(x).destination);
      for (const std::uint32_t y : Together(b)) {
        const auto first_y = memory_.SlotOf(gpu, At(y).destination);
        if (first_x < first_y + static_cast<std::size_t>(At(y).count) &&
            first_y < first_x + static_cast<std::size_t>(At(x).count)) {
          return true;
        }
      }
    }
    return false;
  }

  // Calls visit(slot, writes, adds).
  template <class Visit>
  void ForEachAccess(std::uint32_t id, bool receiving, Visit visit) const {
    const MscclStep& step = At(id);
    const MscclStepType& type = *step.type;
    const auto gpu = static_cast<int>(result_.steps[id].gpu);
    const bool stores = type.stores && (receiving || type.local());
    const bool reads_source = type.receives ? receiving && type.reduces : true;
    for (int k = 0; k < step.count; ++k) {
      if (reads_source) {
        visit(memory_.SlotOf(gpu, step.source, k), false,
              receiving && type.reduces);
      }
      if (stores) {
        visit(memory_.SlotOf(gpu, step.destination, k), true, type.reduces);
      } else if (type.receives && type.stores) {  // passes on what it stored
        visit(memory_.SlotOf(gpu, step.destination, k), false, false);
      }
    }
  }

  void Note(std::uint32_t id, std::uint32_t node) {
    const bool receiving = in_[id] == node;
    ForEachAccess(id, receiving, [&](std::size_t slot, bool writes, bool adds) {
      accesses_[slot].push_back(
          {.step = id, .node = node, .writes = writes, .adds = adds});
    });
  }

  void FindConflicts(std::uint32_t id, MscclNode& message) {
    ForEachAccess(id, true, [&](std::size_t slot, bool writes, bool adds) {
      const auto found = accesses_.find(slot);
      if (found == accesses_.end()) return;
      for (const Access& access : found->second) {
        if ((!writes && !access.writes) || (adds && access.adds)) continue;
        if (access.node != in_[id] && IsBefore(access.step, id)) {
          AddOnce(message.conflicts, access.node);
        }
      }
    });
  }

  // Copies are no ops, so no verifier sees whether they are ordered.
  void CheckCopies() {
    for (const auto& [slot, list] : accesses_) {
      for (const Access& copy : list) {
        const MscclStepType& type = *At(copy.step).type;
        if (!type.local() || type.reduces) continue;
        for (const Access& other : list) {
          if (other.step == copy.step || !(copy.writes || other.writes) ||
              IsBefore(other.step, copy.step) ||
              IsBefore(copy.step, other.step)) {
            continue;
          }
          result_.violations.Add(LineOf(copy.step) + " and " +
                                 LineOf(other.step) +
                                 " both use a chunk, one writes it, and no "
                                 "dependence orders them");
          return;
        }
      }
    }
  }

  // ---- order of the nodes -------------------------------------------------

  // Topological, by depth, then by place in the file.
  std::vector<std::uint32_t> Sorted(bool with_receivers) const {
    const auto& nodes = result_.nodes;
    std::vector<std::uint32_t> missing(nodes.size());
    std::vector<std::uint32_t> depth(nodes.size());
    std::vector<Nodes> next(nodes.size());
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
    for (std::uint32_t id = 0; id < nodes.size(); ++id) {
      Nodes before = nodes[id].waits;
      if (with_receivers) {
        for (const Nodes* more :
             {&nodes[id].receiver_waits, &nodes[id].conflicts}) {
          before.insert(before.end(), more->begin(), more->end());
        }
      }
      missing[id] = Count(before);
      for (const std::uint32_t wait : before) next[wait].push_back(id);
      if (before.empty()) ready.push({0, nodes[id].step, id});
    }
    std::vector<std::uint32_t> order;
    while (!ready.empty()) {
      const std::uint32_t id = std::get<2>(ready.top());
      ready.pop();
      order.push_back(id);
      for (const std::uint32_t after : next[id]) {
        depth[after] = std::max(depth[after], depth[id] + 1);
        if (--missing[after] == 0) {
          ready.push({depth[after], nodes[after].step, after});
        }
      }
    }
    return order;
  }

  void OrderNodes() {
    result_.order = Sorted(/*with_receivers=*/true);
    if (result_.order.size() == result_.nodes.size()) return;
    const std::uint32_t stuck = FirstMissing(result_.order);
    if (!result_.violations.empty()) return;  // which is why
    if (Sorted(/*with_receivers=*/false).size() == result_.nodes.size()) {
      throw InputError(
          algorithm_.At(At(result_.nodes[stuck].step).line),
          "its message must wait in the channel until its place is free, and "
          "the sender must not wait for that; a schedule cannot say so");
    }
    result_.violations.Add(LineOf(result_.nodes[stuck].step) +
                           " waits for itself, by way of other gpus");
  }

  // The missing node that stands first in the file.
  std::uint32_t FirstMissing(const std::vector<std::uint32_t>& order) const {
    std::vector<bool> there(result_.nodes.size());
    for (const std::uint32_t id : order) there[id] = true;
    std::uint32_t first = kNone;
    for (std::uint32_t id = 0; id < there.size(); ++id) {
      if (there[id]) continue;
      if (first == kNone ||
          result_.nodes[id].step < result_.nodes[first].step) {
        first = id;
      }
    }
    return first;
  }

  const MscclAlgorithm& algorithm_;
  const MscclMemory& memory_;
  MscclOrder result_;
  std::vector<std::uint32_t> first_step_;   // by threadblock, and the end
  std::vector<std::uint32_t> first_block_;  // by gpu: that of the next one
  // By step. `in`: the message it receives, or its local node.
  std::vector<std::uint32_t> in_, out_;
  // By step: the nodes that have ended when it has.
  std::vector<Nodes> frontiers_;
  // Of the gpu at hand.
  std::uint32_t first_block_of_gpu_ = 0, blocks_ = 0, first_ = 0;
  std::vector<std::uint32_t> known_;
  std::map<std::size_t, std::vector<Access>> accesses_;  // by slot
};

}  // namespace

MscclOrder OrderMsccl(const MscclAlgorithm& algorithm,
                      const MscclMemory& memory) {
  return Orderer(algorithm, memory).Run();
}

}  // namespace podsim
