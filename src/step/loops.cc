#include "step/loops.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"

namespace podsim {
namespace {

constexpr const char* kWhere = "loop";

void CheckLoop(const LoopStep& loop) {
  const std::size_t ops = loop.body.ops.size();
  if (loop.trip < 0) {
    throw InputError(kWhere, "trip count " + std::to_string(loop.trip) +
                                 "; expected at least 0");
  }
  for (const LoopCarry& carry : loop.carries) {
    CHECK(carry.from < ops && carry.to < ops) << "carry of an unknown op";
    if (carry.distance < 1) {
      throw InputError(kWhere, OpText(loop.body, carry.to) + " reads " +
                                   OpText(loop.body, carry.from) + " of " +
                                   std::to_string(-carry.distance) +
                                   " iterations ahead; expected at least one "
                                   "iteration before");
    }
  }
}

std::uint32_t FlatIndex(std::size_t ops, std::int64_t iteration,
                        std::uint32_t op) {
  return static_cast<std::uint32_t>(iteration) *
             static_cast<std::uint32_t>(ops) +
         op;
}

AbstractOp Shifted(AbstractOp op, std::uint32_t by) {
  for (std::uint32_t& dep : op.deps) dep += by;
  for (std::uint32_t& before : op.ctrl) before += by;
  if (op.of) *op.of += by;
  if (op.alias) *op.alias += by;
  return op;
}

// What moves, per op of the body.
struct Moves {
  std::vector<bool> prefetched;         // the start
  std::vector<std::uint32_t> fetching;  // done -> its prefetched start
  std::vector<std::uint32_t> group;     // op that sinks -> its group
  std::vector<std::uint32_t> sinking;   // start -> the group of its done
};

[[noreturn]] void Refuse(const LoopStep& loop, std::uint32_t op,
                         const std::string& why) {
  throw InputError(kWhere, OpText(loop.body, op) + " cannot move: " + why);
}

void AddPrefetch(const LoopStep& loop, std::uint32_t start,
                 const std::vector<std::uint32_t>& last, Moves& moves) {
  const AbstractOp& op = loop.body.ops.at(start);
  if (op.kind != AbstractKind::kStart || last[start] == start) {
    Refuse(loop, start, "only a start with a done can be prefetched");
  }
  if (!op.deps.empty() || !op.ctrl.empty() || op.alias) {
    Refuse(loop, start, "a prefetched start needs nothing of its iteration");
  }
  moves.prefetched[start] = true;
  moves.fetching[last[start]] = start;
}

void AddSink(const LoopStep& loop, const std::vector<std::uint32_t>& ops,
             std::uint32_t group, Moves& moves) {
  CHECK(!ops.empty()) << "an empty group";
  for (const std::uint32_t op : ops) {
    CHECK(op < loop.body.ops.size()) << "a group of unknown ops";
    if (moves.group[op] != kNoOp) Refuse(loop, op, "it is in two groups");
    if (moves.fetching[op] != kNoOp || moves.prefetched[op]) {
      Refuse(loop, op, "its start is prefetched");
    }
    moves.group[op] = group;
  }
  const std::optional<std::uint32_t>& start = loop.body.ops[ops[0]].of;
  if (!start) Refuse(loop, ops[0], "a group that sinks begins with a done");
  moves.sinking[*start] = group;
}

Moves MakeMoves(const LoopStep& loop, const LoopPipelining& pipelining) {
  const std::size_t ops = loop.body.ops.size();
  const std::vector<std::uint32_t> last = LastReaders(loop.body);
  Moves moves = {.prefetched = std::vector<bool>(ops),
                 .fetching = std::vector<std::uint32_t>(ops, kNoOp),
                 .group = std::vector<std::uint32_t>(ops, kNoOp),
                 .sinking = std::vector<std::uint32_t>(ops, kNoOp)};
  for (const std::uint32_t start : pipelining.prefetch) {
    AddPrefetch(loop, start, last, moves);
  }
  for (std::uint32_t k = 0; k < pipelining.sink.size(); ++k) {
    AddSink(loop, pipelining.sink[k], k, moves);
  }
  for (std::uint32_t op = 0; op < ops; ++op) {
    if (moves.sinking[op] != kNoOp && moves.group[op] != kNoOp) {
      Refuse(loop, op, "a start cannot sink");
    }
  }
  return moves;
}

}  // namespace

AbstractStep FlattenLoop(const LoopStep& loop) {
  CheckLoop(loop);
  const std::size_t ops = loop.body.ops.size();
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (ops > 0 && loop.trip > kMost / static_cast<std::int64_t>(ops)) {
    throw InputError(kWhere, std::to_string(loop.trip) + " iterations of " +
                                 std::to_string(ops) +
                                 " ops are too many to flatten (2^31 ops)");
  }
  AbstractStep flat = {.resources = loop.body.resources,
                       .params = loop.body.params,
                       .memory_limit = loop.body.memory_limit,
                       .in_flight = loop.body.in_flight};
  for (StepParam& param : flat.params) param.users.clear();
  const std::int64_t iterations = ops == 0 ? 0 : loop.trip;
  for (std::int64_t i = 0; i < iterations; ++i) {
    const std::uint32_t base = FlatIndex(ops, i, 0);
    for (const AbstractOp& op : loop.body.ops) {
      flat.ops.push_back(Shifted(op, base));
    }
    for (const LoopCarry& carry : loop.carries) {
      if (i < carry.distance) continue;
      flat.ops[base + carry.to].deps.push_back(
          FlatIndex(ops, i - carry.distance, carry.from));
    }
    for (std::size_t k = 0; k < flat.params.size(); ++k) {
      for (const std::uint32_t user : loop.body.params[k].users) {
        flat.params[k].users.push_back(base + user);
      }
    }
  }
  if (iterations == 0) return flat;
  for (const std::uint32_t result : loop.results) {
    flat.outputs.push_back(FlatIndex(ops, iterations - 1, result));
  }
  return flat;
}

StepOrder RolledOrder(const LoopStep& loop, StepOrderView body) {
  StepOrder order;
  for (std::int64_t i = 0; i < loop.trip; ++i) {
    for (const std::uint32_t op : body) {
      order.push_back(FlatIndex(loop.body.ops.size(), i, op));
    }
  }
  return order;
}

StepOrder PipelinedOrder(const LoopStep& loop, const LoopPipelining& pipelining,
                         StepOrderView body) {
  CheckLoop(loop);
  CHECK(pipelining.depth >= 1) << "depth " << pipelining.depth;
  const std::size_t ops = loop.body.ops.size();
  const Moves moves = MakeMoves(loop, pipelining);
  StepOrder order;
  const auto add = [&](std::int64_t iteration, std::uint32_t op) {
    order.push_back(FlatIndex(ops, iteration, op));
  };
  for (std::int64_t i = 0; i < std::min(pipelining.depth, loop.trip); ++i) {
    for (const std::uint32_t start : pipelining.prefetch) add(i, start);
  }
  for (std::int64_t i = 0; i < loop.trip; ++i) {
    for (const std::uint32_t op : body) {
      if (moves.prefetched[op] || moves.group[op] != kNoOp) continue;
      if (moves.sinking[op] != kNoOp && i > 0) {
        for (const std::uint32_t sunk : pipelining.sink[moves.sinking[op]]) {
          add(i - 1, sunk);
        }
      }
      add(i, op);
      if (moves.fetching[op] == kNoOp) continue;
      if (i + pipelining.depth < loop.trip) {
        add(i + pipelining.depth, moves.fetching[op]);
      }
    }
  }
  if (loop.trip == 0) return order;
  for (const std::vector<std::uint32_t>& group : pipelining.sink) {
    for (const std::uint32_t sunk : group) add(loop.trip - 1, sunk);
  }
  return order;
}

}  // namespace podsim
