#include "step/order_edges.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/error.h"

namespace podsim {
namespace {

// Ops that read each op's result, by value owner.
IndexLists ReadersOfValues(const AbstractStep& step,
                           const std::vector<std::uint32_t>& owners) {
  IndexLists reads;
  for (const AbstractOp& op : step.ops) {
    for (const std::uint32_t dep : op.deps) reads.items.push_back(owners[dep]);
    reads.EndRow();
  }
  return Transposed(reads, step.ops.size());
}

// How long after `op` on the core `next` may begin.
double Delay(const AbstractStep& step, std::uint32_t op, std::uint32_t next) {
  return step.ops[next].of == op ? TransferTime(step.ops[op]) : 0;
}

}  // namespace

std::vector<std::uint32_t> ValueOwners(const AbstractStep& step) {
  std::vector<std::uint32_t> owners = ProgramOrder(step);
  for (std::uint32_t op = 0; op < step.ops.size(); ++op) {
    if (step.ops[op].of) owners[op] = *step.ops[op].of;
  }
  return owners;
}

OrderEdges MakeOrderEdges(const AbstractStep& step) {
  const std::vector<std::uint32_t> owners = ValueOwners(step);
  const std::vector<std::uint32_t> last = LastReaders(step);
  const IndexLists readers = ReadersOfValues(step, owners);
  OrderEdges edges;
  std::vector<std::uint32_t>& items = edges.before.items;
  for (std::uint32_t index = 0; index < step.ops.size(); ++index) {
    const AbstractOp& op = step.ops[index];
    const auto begin = static_cast<std::ptrdiff_t>(items.size());
    items.insert(items.end(), op.deps.begin(), op.deps.end());
    items.insert(items.end(), op.ctrl.begin(), op.ctrl.end());
    if (op.of) items.push_back(*op.of);
    if (op.alias) {
      items.push_back(*op.alias);
      for (const std::uint32_t reader : readers[owners[*op.alias]]) {
        if (reader != index && last[reader] != index)
          items.push_back(last[reader]);
      }
    }
    std::sort(items.begin() + begin, items.end());
    items.erase(std::unique(items.begin() + begin, items.end()), items.end());
    edges.before.EndRow();
  }
  edges.after = Transposed(edges.before, step.ops.size());
  return edges;
}

StepOrder TopologicalOrder(const AbstractStep& step, const OrderEdges& edges) {
  std::vector<std::size_t> waits(step.ops.size());
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>
      ready;
  for (std::uint32_t op = 0; op < waits.size(); ++op) {
    waits[op] = edges.before[op].size();
    if (waits[op] == 0) ready.push(op);
  }
  StepOrder order;
  order.reserve(waits.size());
  while (!ready.empty()) {
    const std::uint32_t op = ready.top();
    ready.pop();
    order.push_back(op);
    for (const std::uint32_t next : edges.after[op]) {
      if (--waits[next] == 0) ready.push(next);
    }
  }
  for (std::uint32_t op = 0; op < waits.size(); ++op) {
    if (waits[op] == 0) continue;
    throw InputError(
        "step", OpText(step, op) +
                    " can stand nowhere: it waits for itself, through operands,"
                    " control edges or a buffer that is taken over while others"
                    " read it; insert a copy of that buffer");
  }
  return order;
}

LongestPaths ComputeLongestPaths(const AbstractStep& step,
                                 const OrderEdges& edges,
                                 StepOrderView topological) {
  LongestPaths paths;
  paths.head.resize(step.ops.size());
  paths.after.resize(step.ops.size());
  for (const std::uint32_t op : topological) {
    double& head = paths.head[op];
    for (const std::uint32_t p : edges.before[op]) {
      head = std::max(head, paths.head[p] + FullSpeedTime(step.ops[p]) +
                                Delay(step, p, op));
    }
  }
  for (auto op = topological.rbegin(); op != topological.rend(); ++op) {
    double& after = paths.after[*op];
    for (const std::uint32_t next : edges.after[*op]) {
      after = std::max(after, Delay(step, *op, next) +
                                  FullSpeedTime(step.ops[next]) +
                                  paths.after[next]);
    }
    const double length = FullSpeedTime(step.ops[*op]) + after;
    paths.critical = std::max(paths.critical, paths.head[*op] + length);
  }
  return paths;
}

}  // namespace podsim
