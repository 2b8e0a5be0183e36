// Mutation test of the verifier: seeded mistakes in the schedules of all
// lowerings. Each must be reported, unless a checker that knows nothing of the
// verifier shows that the schedule still is right.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>

#include "collective/groups.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"
#include "topology/routing.h"

namespace podsim {
namespace {

// ---- schedules that can be edited ---------------------------------------

struct EditOp {
  OpKind kind = OpKind::kTransfer;
  std::uint32_t src = 0, dst = 0;
  std::vector<std::uint32_t> chunks;  // ascending, none of zero bytes
  std::int64_t bytes = 0;
  Mode mode = Mode::kCopy;
  std::uint16_t lane = 0;
  std::vector<LinkId> route;
  std::uint32_t scratch_of = 0;
  std::vector<std::uint32_t> after;  // ascending

  bool operator==(const EditOp&) const = default;
};
using Ops = std::vector<EditOp>;

struct Case {
  std::string text;
  Slice slice;
  CollectiveMeaning meaning;
  Ops ops;
  Ops other_root;  // the same for another root; or empty

  std::int64_t BytesOf(const std::vector<std::uint32_t>& chunks) const {
    std::int64_t bytes = 0;
    for (const std::uint32_t chunk : chunks) {
      bytes += meaning.chunks[chunk].bytes.value();
    }
    return bytes;
  }
};

Ops Read(const Schedule& schedule, const CollectiveMeaning& meaning,
         const Topology& topology, std::uint32_t chunks_per_owner) {
  Ops ops;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    EditOp edit{.kind = schedule.kind(op),
                .src = schedule.src(op).value(),
                .dst = schedule.src(op).value(),
                .chunks = {},
                .route = {},
                .after = {}};
    if (edit.kind == OpKind::kTransfer) {
      edit.dst = schedule.dst(op).value();
      edit.chunks = ChunkIdsOf(schedule, op, topology, chunks_per_owner);
      edit.bytes = schedule.bytes(op).value();
      edit.mode = schedule.mode(op);
      edit.lane = schedule.lane(op);
      const auto route = schedule.route(op);
      edit.route.assign(route.begin(), route.end());
    }
    REQUIRE(edit.kind != OpKind::kLocal);
    std::erase_if(edit.chunks, [&](std::uint32_t chunk) {
      return meaning.chunks[chunk].bytes.value() == 0;
    });
    for (const OpId wait : schedule.after(op)) {
      edit.after.push_back(wait.value());
    }
    std::sort(edit.after.begin(), edit.after.end());
    ops.push_back(std::move(edit));
  }
  return ops;
}

Schedule Write(const Ops& ops) {
  Schedule schedule;
  for (const EditOp& op : ops) {
    std::vector<ChunkRun> runs;
    for (const std::uint32_t chunk : op.chunks) runs.push_back({chunk, 1});
    const ChunkSet chunks{schedule.AddRuns(runs), ChipId(op.src)};
    std::vector<OpId> after;
    for (const std::uint32_t wait : op.after) after.emplace_back(wait);
    if (op.kind == OpKind::kCompute) {
      schedule.AddCompute(ChipId(op.src), Seconds(0), after);
    } else if (op.kind == OpKind::kLocal) {
      schedule.AddLocal(ChipId(op.src), chunks, OpId(op.scratch_of), Seconds(0),
                        after);
    } else {
      schedule.Add({.src = ChipId(op.src),
                    .dst = ChipId(op.dst),
                    .chunks = chunks,
                    .bytes = Bytes(op.bytes),
                    .mode = op.mode,
                    .lane = op.lane},
                   op.route, after);
    }
  }
  return schedule;
}

// ---- the independent argument -------------------------------------------

// A schedule is right if its routes and bytes are, if all accesses to one
// buffer of which one overwrites it, or one reads and one adds, are ordered by
// the closure of the dependences (then all orders give the same values), and if
// the values of one order are right. Everything is spelled out: contributions
// are counted one by one, ancestors are sets of bits.
class NaiveChecker {
 public:
  NaiveChecker(const Case& c, const Ops& ops)
      : case_(c), ops_(ops), chips_(c.slice.topology.chips()) {}

  bool Right(Random& random) {
    if (!RoutesAndBytesHold() || !FindAncestors() || !AllOrdered()) {
      return false;
    }
    // Any order will do, in theory.
    std::vector<std::uint32_t> order;
    for (std::uint32_t op = 0; op < ops_.size(); ++op) order.push_back(op);
    if (!ValuesHold(order)) return false;
    for (int k = 0; k < 2; ++k) REQUIRE(ValuesHold(RandomOrder(random)));
    return true;
  }

 private:
  using Value = std::vector<std::uint8_t>;  // times each chip is counted

  bool RoutesAndBytesHold() const {
    const Topology& topology = case_.slice.topology;
    for (const EditOp& op : ops_) {
      if (op.kind != OpKind::kTransfer) continue;
      if (op.bytes != case_.BytesOf(op.chunks)) return false;
      std::uint32_t at = op.src;
      for (const LinkId link : op.route) {
        if (!topology.Live(link) || topology.Source(link).value() != at) {
          return false;
        }
        at = topology.Target(link).value();
      }
      if (at != op.dst) return false;
    }
    return true;
  }

  // False if a local does not wait for the scratch that it adds.
  bool FindAncestors() {
    above_.assign(ops_.size(), std::vector<bool>(ops_.size()));
    for (std::uint32_t id = 0; id < ops_.size(); ++id) {
      for (const std::uint32_t wait : ops_[id].after) {
        if (above_[id][wait]) continue;
        above_[id][wait] = true;
        for (std::uint32_t k = 0; k < wait; ++k) {
          if (above_[wait][k]) above_[id][k] = true;
        }
      }
    }
    for (std::uint32_t id = 0; id < ops_.size(); ++id) {
      if (ops_[id].kind != OpKind::kLocal) continue;
      const EditOp& from = ops_[ops_[id].scratch_of];
      if (from.mode != Mode::kScratch || from.dst != ops_[id].src ||
          !above_[id][ops_[id].scratch_of]) {
        return false;
      }
    }
    return true;
  }

  bool AllOrdered() const {
    struct Access {
      std::uint32_t op;
      char use;  // r, w, a
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Access>> all;
    for (std::uint32_t id = 0; id < ops_.size(); ++id) {
      const EditOp& op = ops_[id];
      for (const std::uint32_t chunk : op.chunks) {
        if (op.kind == OpKind::kLocal) {
          all[{op.src, chunk}].push_back({id, 'a'});
          continue;
        }
        all[{op.src, chunk}].push_back({id, 'r'});
        if (op.mode == Mode::kScratch) continue;
        all[{op.dst, chunk}].push_back(
            {id, op.mode == Mode::kCopy ? 'w' : 'a'});
      }
    }
    for (const auto& [cell, uses] : all) {
      for (std::size_t b = 0; b < uses.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
          const bool harmless =
              uses[a].use == uses[b].use && uses[a].use != 'w';
          if (!harmless && !above_[uses[b].op][uses[a].op]) return false;
        }
      }
    }
    return true;
  }

  std::vector<std::uint32_t> RandomOrder(Random& random) const {
    std::vector<std::size_t> left;
    std::vector<std::vector<std::uint32_t>> next(ops_.size());
    std::vector<std::uint32_t> ready, order;
    for (std::uint32_t id = 0; id < ops_.size(); ++id) {
      left.push_back(ops_[id].after.size());
      for (const std::uint32_t wait : ops_[id].after) next[wait].push_back(id);
      if (left[id] == 0) ready.push_back(id);
    }
    while (!ready.empty()) {
      random.Shuffle(ready);
      const std::uint32_t id = ready.back();
      ready.pop_back();
      order.push_back(id);
      for (const std::uint32_t op : next[id]) {
        if (--left[op] == 0) ready.push_back(op);
      }
    }
    return order;
  }

  Value Start(std::uint32_t chip, std::uint32_t chunk) const {
    Value value(chips_);
    const Chunk& c = case_.meaning.chunks[chunk];
    const auto& group = case_.meaning.groups[c.group];
    const bool has = c.contributor ? c.contributor->value() == chip
                                   : std::find(group.begin(), group.end(),
                                               ChipId(chip)) != group.end();
    if (has) value[chip] = 1;
    return value;
  }

  static bool Empty(const Value& value) {
    return std::all_of(value.begin(), value.end(),
                       [](std::uint8_t times) { return times == 0; });
  }
  // False if something would be counted twice, or nothing is there.
  static bool Add(const Value& from, Value& to) {
    if (Empty(from) || Empty(to)) return false;
    for (std::size_t k = 0; k < from.size(); ++k) {
      to[k] = static_cast<std::uint8_t>(to[k] + from[k]);
      if (to[k] > 1) return false;
    }
    return true;
  }

  bool ValuesHold(const std::vector<std::uint32_t>& order) const {
    const auto chunks = static_cast<std::uint32_t>(case_.meaning.chunks.size());
    std::vector<Value> cells;
    for (std::uint32_t chip = 0; chip < chips_; ++chip) {
      for (std::uint32_t k = 0; k < chunks; ++k)
        cells.push_back(Start(chip, k));
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, Value> scratch;
    for (const std::uint32_t id : order) {
      const EditOp& op = ops_[id];
      for (const std::uint32_t chunk : op.chunks) {
        Value& to = cells[op.dst * chunks + chunk];
        if (op.kind == OpKind::kLocal) {
          const auto from = scratch.find({op.scratch_of, chunk});
          if (from == scratch.end() || !Add(from->second, to)) return false;
          continue;
        }
        const Value& from = cells[op.src * chunks + chunk];
        if (Empty(from)) return false;
        if (op.mode == Mode::kScratch) scratch[{id, chunk}] = from;
        if (op.mode == Mode::kCopy) to = from;
        if (op.mode == Mode::kReduce && !Add(from, to)) return false;
      }
    }
    for (std::uint32_t k = 0; k < chunks; ++k) {
      const Chunk& chunk = case_.meaning.chunks[k];
      if (chunk.bytes.value() == 0) continue;
      Value full(chips_);
      for (std::uint32_t chip = 0; chip < chips_; ++chip) {
        if (!Empty(Start(chip, k))) full[chip] = 1;
      }
      for (const ChipId chip : case_.meaning.groups[chunk.group]) {
        if (chunk.receiver && *chunk.receiver != chip) continue;
        if (cells[chip.value() * chunks + k] != full) return false;
      }
    }
    return true;
  }

  const Case& case_;
  const Ops& ops_;
  std::uint32_t chips_;
  std::vector<std::vector<bool>> above_;
};

// ---- tools of the mutators ----------------------------------------------

struct Mutant {
  const Case& c;
  Ops ops;
  Random& random;

  std::uint32_t chips() const { return c.slice.topology.chips(); }
  std::uint32_t AnyChip() const {
    return static_cast<std::uint32_t>(random.Int(0, int(chips()) - 1));
  }
  // One that moves or adds something.
  EditOp& AnyOp() {
    for (;;) {
      EditOp& op = ops[static_cast<std::size_t>(
          random.Int(0, static_cast<int>(ops.size()) - 1))];
      if (op.kind != OpKind::kCompute) return op;
    }
  }
  std::uint32_t IdOf(const EditOp& op) const {
    return static_cast<std::uint32_t>(&op - ops.data());
  }
  // One of those that hold, or null.
  void DropAnyWait(EditOp& op) {
    op.after.erase(op.after.begin() + random.Int(0, int(op.after.size()) - 1));
  }
  EditOp* AnyWaitingOp() {
    return AnyOpWhere([](const EditOp& op) { return !op.after.empty(); });
  }
  EditOp* AnyOpWhere(const std::function<bool(const EditOp&)>& holds) {
    std::vector<EditOp*> found;
    for (EditOp& op : ops) {
      if (holds(op)) found.push_back(&op);
    }
    return found.empty() ? nullptr : random.Pick(found);
  }
  bool Moves(const EditOp& op) const { return op.kind == OpKind::kTransfer; }

  // With the bytes and the route that the op should have: a lowering derives
  // them, so that only the mistake itself can be seen.
  void SetChunks(EditOp& op, const std::vector<std::uint32_t>& chunks) const {
    std::set<std::uint32_t> kept;
    for (const std::uint32_t chunk : chunks) {
      if (c.meaning.chunks[chunk].bytes.value() > 0) kept.insert(chunk);
    }
    if (kept.empty()) return;
    op.chunks.assign(kept.begin(), kept.end());
    op.bytes = c.BytesOf(op.chunks);
  }
  void Shift(EditOp& op, std::uint32_t by) const {
    std::vector<std::uint32_t> chunks = op.chunks;
    for (std::uint32_t& chunk : chunks) {
      chunk =
          (chunk + by) % static_cast<std::uint32_t>(c.meaning.chunks.size());
    }
    SetChunks(op, chunks);
  }
  bool SetEnds(EditOp& op, std::uint32_t src, std::uint32_t dst) const {
    if (src == dst) return false;
    const auto route =
        Route(c.slice.topology, ChipId(src), ChipId(dst), TieRule::kParity);
    if (!route) return false;
    op.src = src;
    op.dst = dst;
    op.route = *route;
    return true;
  }

  // Removes ops; who waited for them waits for what they waited for.
  void Remove(const std::function<bool(std::uint32_t)>& gone) {
    Ops kept;
    std::vector<std::uint32_t> moved(ops.size());
    std::vector<std::set<std::uint32_t>> stands_for(ops.size());
    for (std::uint32_t id = 0; id < ops.size(); ++id) {
      std::set<std::uint32_t> after;
      for (const std::uint32_t wait : ops[id].after) {
        after.insert(stands_for[wait].begin(), stands_for[wait].end());
      }
      if (gone(id)) {
        stands_for[id] = after;
        continue;
      }
      moved[id] = static_cast<std::uint32_t>(kept.size());
      stands_for[id] = {moved[id]};
      kept.push_back(ops[id]);
      kept.back().after.assign(after.begin(), after.end());
      kept.back().scratch_of = moved[ops[id].scratch_of];
    }
    ops = std::move(kept);
  }

  // Length of the longest chain of waits that ends at each op.
  std::vector<int> Steps() const {
    std::vector<int> step(ops.size(), 1);
    for (std::uint32_t id = 0; id < ops.size(); ++id) {
      for (const std::uint32_t wait : ops[id].after) {
        step[id] = std::max(step[id], step[wait] + 1);
      }
    }
    return step;
  }

  // The op before in the same lane of the same chip, by op; or none.
  std::vector<std::optional<std::uint32_t>> LanePrevious() const {
    std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint32_t> last;
    std::vector<std::optional<std::uint32_t>> previous(ops.size());
    for (std::uint32_t id = 0; id < ops.size(); ++id) {
      if (!Moves(ops[id])) continue;
      const auto key = std::pair(ops[id].src, ops[id].lane);
      const auto found = last.find(key);
      if (found != last.end()) previous[id] = found->second;
      last[key] = id;
    }
    return previous;
  }

  // A reduce, done right by way of scratch and a local add: returns the local.
  std::optional<std::uint32_t> UseScratch() {
    EditOp* chosen = AnyOpWhere([&](const EditOp& op) {
      return Moves(op) && op.mode == Mode::kReduce;
    });
    if (chosen == nullptr) return std::nullopt;
    const std::uint32_t id = IdOf(*chosen);
    chosen->mode = Mode::kScratch;
    const EditOp local{.kind = OpKind::kLocal,
                       .src = chosen->dst,
                       .dst = chosen->dst,
                       .chunks = chosen->chunks,
                       .mode = Mode::kReduce,
                       .route = {},
                       .scratch_of = id,
                       .after = {id}};
    ops.insert(ops.begin() + id + 1, local);
    for (std::uint32_t k = id + 2; k < ops.size(); ++k) {
      std::set<std::uint32_t> after;
      for (const std::uint32_t wait : ops[k].after) {
        after.insert(wait > id ? wait + 1 : wait);
        if (wait == id) after.insert(id + 1);
      }
      ops[k].after.assign(after.begin(), after.end());
    }
    return id + 1;
  }
};

void Insert(std::vector<std::uint32_t>& sorted, std::uint32_t value) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (at == sorted.end() || *at != value) sorted.insert(at, value);
}

bool SetMode(Mutant& m, EditOp* op, Mode mode) {
  if (op == nullptr) return false;
  op->mode = mode;
  return m.Moves(*op);
}

// Any chip that is not in the group of `chip`.
std::optional<std::uint32_t> OtherGroup(Mutant& m, std::uint32_t chip) {
  std::vector<std::uint32_t> others;
  for (const auto& group : m.c.meaning.groups) {
    if (std::find(group.begin(), group.end(), ChipId(chip)) != group.end()) {
      continue;
    }
    for (const ChipId member : group) others.push_back(member.value());
  }
  if (others.empty()) return std::nullopt;
  return m.random.Pick(others);
}

// ---- the mistakes -------------------------------------------------------

struct Kind {
  const char* name;
  // False where there is nothing to get wrong in this way.
  bool (*apply)(Mutant&);
};

const Kind kKinds[] = {
    {"a transfer is dropped",
     [](Mutant& m) {
       const std::uint32_t id = m.IdOf(m.AnyOp());
       m.Remove([&](std::uint32_t op) { return op == id; });
       return true;
     }},
    {"a transfer is done twice",
     [](Mutant& m) {
       const EditOp& op = m.AnyOp();
       EditOp again = op;
       again.after = {m.IdOf(op)};
       m.ops.push_back(again);
       return true;
     }},
    {"one dependence is dropped",
     [](Mutant& m) {
       EditOp* op = m.AnyWaitingOp();
       if (op == nullptr) return false;
       m.DropAnyWait(*op);
       return true;
     }},
    {"all dependences of an op are dropped",
     [](Mutant& m) {
       EditOp* op = m.AnyWaitingOp();
       if (op == nullptr) return false;
       op->after.clear();
       return true;
     }},
    {"all dependences of a chip are dropped",
     [](Mutant& m) {
       const std::uint32_t chip = m.AnyChip();
       for (EditOp& op : m.ops) {
         if (op.src == chip) op.after.clear();
       }
       return true;
     }},
    {"an op waits for an unrelated op instead",
     [](Mutant& m) {
       EditOp* op = m.AnyWaitingOp();
       if (op == nullptr) return false;
       m.DropAnyWait(*op);
       Insert(op->after, static_cast<std::uint32_t>(
                             m.random.Int(0, int(m.IdOf(*op)) - 1)));
       return true;
     }},
    {"an op waits for the step before the right one",
     [](Mutant& m) {
       const auto previous = m.LanePrevious();
       EditOp* op = m.AnyOpWhere([&](const EditOp& o) {
         return std::any_of(o.after.begin(), o.after.end(), [&](auto wait) {
           return previous[wait] && m.ops[wait].dst == o.src;
         });
       });
       if (op == nullptr) return false;
       std::vector<std::uint32_t> after;
       for (const std::uint32_t wait : op->after) {
         const bool arrival = m.ops[wait].dst == op->src;
         Insert(after, arrival && previous[wait] ? *previous[wait] : wait);
       }
       op->after = after;
       return true;
     }},
    {"lanes are not in order",
     [](Mutant& m) {
       const auto previous = m.LanePrevious();
       for (std::uint32_t id = 0; id < m.ops.size(); ++id) {
         if (previous[id]) std::erase(m.ops[id].after, *previous[id]);
       }
       return true;
     }},
    {"only lanes are in order",
     [](Mutant& m) {
       const auto previous = m.LanePrevious();
       for (std::uint32_t id = 0; id < m.ops.size(); ++id) {
         m.ops[id].after.clear();
         if (previous[id]) m.ops[id].after = {*previous[id]};
       }
       return true;
     }},
    {"the second phase does not wait for the first",
     [](Mutant& m) {
       for (EditOp& op : m.ops) {
         if (op.mode != Mode::kCopy) continue;
         std::erase_if(op.after, [&](std::uint32_t wait) {
           return m.ops[wait].mode == Mode::kReduce;
         });
       }
       return true;
     }},
    {"two ops have each other's chunks",
     [](Mutant& m) {
       EditOp& a = m.AnyOp();
       EditOp& b = m.AnyOp();
       std::swap(a.chunks, b.chunks);
       std::swap(a.bytes, b.bytes);
       return true;
     }},
    {"chunks off by one in one op",
     [](Mutant& m) {
       const auto last = static_cast<std::uint32_t>(m.c.meaning.chunks.size());
       m.Shift(m.AnyOp(), m.random.OneIn(2) ? 1 : last - 1);
       return true;
     }},
    {"chunks off by one in all ops of a chip",
     [](Mutant& m) {
       const std::uint32_t chip = m.AnyChip();
       for (EditOp& op : m.ops) {
         if (op.src == chip) m.Shift(op, 1);
       }
       return true;
     }},
    {"one chunk of an op is forgotten",
     [](Mutant& m) {
       EditOp* op =
           m.AnyOpWhere([](const EditOp& o) { return o.chunks.size() > 1; });
       if (op == nullptr) return false;
       auto chunks = op->chunks;
       chunks.erase(chunks.begin() + m.random.Int(0, int(chunks.size()) - 1));
       m.SetChunks(*op, chunks);
       return true;
     }},
    {"an op has one chunk too many",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       auto chunks = op.chunks;
       chunks.push_back(static_cast<std::uint32_t>(
           m.random.Int(0, int(m.c.meaning.chunks.size()) - 1)));
       m.SetChunks(op, chunks);
       return true;
     }},
    {"chunks in the order of the last owner first",
     [](Mutant& m) {
       const auto last =
           static_cast<std::uint32_t>(m.c.meaning.chunks.size()) - 1;
       for (EditOp& op : m.ops) {
         auto chunks = op.chunks;
         for (std::uint32_t& chunk : chunks) chunk = last - chunk;
         m.SetChunks(op, chunks);
       }
       return true;
     }},
    {"the halves of one op are exchanged",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       auto chunks = op.chunks;
       for (std::uint32_t& chunk : chunks) {
         if ((chunk ^ 1u) < m.c.meaning.chunks.size()) chunk ^= 1u;
       }
       m.SetChunks(op, chunks);
       return true;
     }},
    {"a lane lags by one step",
     [](Mutant& m) {
       const auto previous = m.LanePrevious();
       const EditOp chosen = m.AnyOp();
       const Ops before = m.ops;
       for (std::uint32_t id = 0; id < m.ops.size(); ++id) {
         EditOp& op = m.ops[id];
         if (op.src != chosen.src || op.lane != chosen.lane) continue;
         if (previous[id]) m.SetChunks(op, before[*previous[id]].chunks);
       }
       return true;
     }},
    {"one chunk too few",
     [](Mutant& m) {
       std::uint32_t last = 0;
       for (const EditOp& op : m.ops) {
         if (!op.chunks.empty()) last = std::max(last, op.chunks.back());
       }
       for (EditOp& op : m.ops) {
         std::erase(op.chunks, last);
         op.bytes = m.c.BytesOf(op.chunks);
       }
       m.Remove([&](std::uint32_t op) { return m.ops[op].chunks.empty(); });
       return true;
     }},
    {"wrong destination",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       return m.SetEnds(op, op.src, m.AnyChip());
     }},
    {"wrong source",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       return m.SetEnds(op, m.AnyChip(), op.dst);
     }},
    {"reversed direction",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       return m.SetEnds(op, op.dst, op.src);
     }},
    {"reversed direction of a whole chip",
     [](Mutant& m) {
       const std::uint32_t chip = m.AnyChip();
       bool any = false;
       for (EditOp& op : m.ops) {
         if (op.src == chip) any |= m.SetEnds(op, op.dst, op.src);
       }
       return any;
     }},
    {"a member of another group receives",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       const auto other = OtherGroup(m, op.dst);
       return other && m.SetEnds(op, op.src, *other);
     }},
    {"a member of another group sends",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       const auto other = OtherGroup(m, op.src);
       return other && m.SetEnds(op, *other, op.dst);
     }},
    {"wrong parent for good",
     [](Mutant& m) {
       const EditOp edge = m.AnyOp();
       const std::uint32_t parent = m.AnyChip();
       bool any = false;
       for (EditOp& op : m.ops) {
         if (op.src == edge.src && op.dst == edge.dst) {
           any |= m.SetEnds(op, op.src, parent);
         }
       }
       return any;
     }},
    {"wrong root",
     [](Mutant& m) {
       m.ops = m.c.other_root;
       return !m.ops.empty();
     }},
    {"copy instead of reduce",
     [](Mutant& m) {
       return SetMode(m, m.AnyOpWhere([](const EditOp& o) {
         return o.mode == Mode::kReduce;
       }),
                      Mode::kCopy);
     }},
    {"reduce instead of copy",
     [](Mutant& m) {
       return SetMode(m, m.AnyOpWhere([](const EditOp& o) {
         return o.mode == Mode::kCopy;
       }),
                      Mode::kReduce);
     }},
    {"the phases are exchanged",
     [](Mutant& m) {
       for (EditOp& op : m.ops) {
         op.mode = op.mode == Mode::kCopy ? Mode::kReduce : Mode::kCopy;
       }
       return true;
     }},
    {"scratch that nothing adds",
     [](Mutant& m) { return SetMode(m, &m.AnyOp(), Mode::kScratch); }},
    {"a local add is done twice",
     [](Mutant& m) {
       const auto local = m.UseScratch();
       if (!local) return false;
       EditOp again = m.ops[*local];
       again.after.push_back(*local);
       m.ops.push_back(again);
       return true;
     }},
    {"a local add does not wait for its scratch",
     [](Mutant& m) {
       const auto local = m.UseScratch();
       if (!local) return false;
       m.ops[*local].after.clear();
       return true;
     }},
    {"ops wait for the scratch, not for its add",
     [](Mutant& m) {
       const auto local = m.UseScratch();
       if (!local) return false;
       for (EditOp& op : m.ops) std::erase(op.after, *local);
       return true;
     }},
    {"another link in a route",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       op.route[static_cast<std::size_t>(
           m.random.Int(0, int(op.route.size()) - 1))] =
           LinkId(static_cast<std::uint32_t>(
               m.random.Int(0, int(m.c.slice.topology.link_ids()) - 1)));
       return true;
     }},
    {"a route ends one hop early",
     [](Mutant& m) {
       EditOp* op =
           m.AnyOpWhere([](const EditOp& o) { return o.route.size() > 1; });
       if (op == nullptr) return false;
       op->route.pop_back();
       return true;
     }},
    {"a route goes on to the wrong chip",
     [](Mutant& m) {
       EditOp& op = m.AnyOp();
       std::vector<LinkId> out;
       m.c.slice.topology.ForEachLiveLinkFrom(
           ChipId(op.dst), [&](LinkId link) { out.push_back(link); });
       op.route.push_back(m.random.Pick(out));
       return true;
     }},
    {"one byte too many",
     [](Mutant& m) {
       m.AnyOp().bytes += 1;
       return true;
     }},
    {"half of the bytes",
     [](Mutant& m) {
       m.AnyOp().bytes /= 2;
       return true;
     }},
    {"the last step is missing",
     [](Mutant& m) {
       const auto step = m.Steps();
       const int last = *std::max_element(step.begin(), step.end());
       m.Remove([&](std::uint32_t op) { return step[op] == last; });
       return true;
     }},
    {"the first step is missing",
     [](Mutant& m) {
       const auto step = m.Steps();
       m.Remove([&](std::uint32_t op) { return step[op] == 1; });
       return true;
     }},
    {"half of the chips send nothing",
     [](Mutant& m) {
       m.Remove(
           [&](std::uint32_t op) { return m.ops[op].src >= m.chips() / 2; });
       return true;
     }},
    {"one chip sends nothing",
     [](Mutant& m) {
       const std::uint32_t chip = m.AnyOp().src;
       m.Remove([&](std::uint32_t op) { return m.ops[op].src == chip; });
       return true;
     }},
    {"a phase is repeated",
     [](Mutant& m) {
       const Mode mode = m.AnyOp().mode;
       const auto end = static_cast<std::uint32_t>(m.ops.size());
       std::map<std::uint32_t, std::uint32_t> again;
       for (std::uint32_t id = 0; id < end; ++id) {
         if (m.ops[id].mode != mode) continue;
         EditOp op = m.ops[id];
         std::vector<std::uint32_t> after;
         for (const std::uint32_t wait : op.after) {
           if (again.count(wait) != 0) Insert(after, again[wait]);
         }
         for (std::uint32_t k = 0; k < end; ++k) Insert(after, k);
         op.after = after;
         again[id] = static_cast<std::uint32_t>(m.ops.size());
         m.ops.push_back(op);
       }
       return true;
     }},
};

// ---- the run ------------------------------------------------------------

const char* const kSpecs[] = {"ring",
                              "ring-split",
                              "ring-short",
                              "line",
                              "bucket",
                              "bucket:axis_primitive=ring,batches=2",
                              "bucket-rotated",
                              "bfb",
                              "direct:ties=halves",
                              "bucket-rotated:axis_primitive=split",
                              "line-middle:chunks=3",
                              "chain:chunks=2",
                              "bfs-tree:chunks=3",
                              "double-binary-tree:chunks=2",
                              "binomial",
                              "direct",
                              "split-shift",
                              "halving-doubling",
                              "swing",
                              "bruck",
                              "staged",
                              "staged-rotated",
                              "neighbor"};

constexpr int kCasesPerSpec = 30;
constexpr std::size_t kMostOps = 400;

// Most chips, in any order, in groups of any sizes.
std::vector<std::vector<ChipId>> RandomLists(Random& random, int chips) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t id = 0; id < static_cast<std::uint32_t>(chips); ++id) {
    order.push_back(id);
  }
  random.Shuffle(order);
  std::vector<std::vector<ChipId>> groups(
      static_cast<std::size_t>(random.Int(1, std::min(3, chips))));
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k >= groups.size() && random.OneIn(8)) continue;
    groups[k % groups.size()].emplace_back(order[k]);
  }
  return groups;
}

Collective RandomCollective(Random& random, const LoweringSpec& spec,
                            const Slice& slice) {
  const Topology& topology = slice.topology;
  Collective collective{
      .kind = random.Pick(FindLowering(spec.name)->kinds),
      .payload = Bytes(0),
      .axes = random.Pick(AllAxisSubsets(slice.shape.size()))};
  if (collective.kind == CollectiveKind::kCollectivePermute) {
    const int axis = random.Int(0, static_cast<int>(slice.shape.size()) - 1);
    const int size = slice.shape[static_cast<std::size_t>(axis)];
    if (size > 1) {
      collective.shift = AxisShift{axis, random.Int(1, size - 1)};
    }
    collective.axes.clear();
    collective.payload = Bytes(random.Pick({1, 7, 4099}));
    return collective;
  }
  if (FindLowering(spec.name)->build != nullptr && random.OneIn(3)) {
    collective.axes.clear();
    collective.groups = RandomLists(random, topology.chips());
  }
  const int n = GroupSize(collective, topology);
  collective.payload = Bytes(random.Pick({n - 1, n, n + 1, 4099, 1 << 16}));
  if (IsRooted(collective.kind)) {
    const auto groups = GroupsOf(collective, topology);
    // Of the smallest group: all others have its rank too.
    collective.root = random.Pick(*std::min_element(
        groups.begin(), groups.end(),
        [](const auto& a, const auto& b) { return a.size() < b.size(); }));
  }
  return collective;
}

std::optional<Case> MakeCase(Random& random, const LoweringSpec& spec) {
  const Shape shape = RandomShape(random, random.OneIn(4) ? 2 : 4, 12);
  Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
  if (FindLowering(spec.name)->build != nullptr && random.OneIn(4)) {
    Topology& topology = slice.topology;
    const LinkId link(static_cast<std::uint32_t>(
        random.Int(0, static_cast<int>(topology.link_ids()) - 1)));
    if (topology.Exists(link)) topology.Kill(link);
  }
  Collective collective = RandomCollective(random, spec, slice);
  if (collective.kind == CollectiveKind::kCollectivePermute &&
      !collective.shift) {
    return std::nullopt;
  }
  if (WhyNot(spec, collective, slice.topology)) return std::nullopt;
  const auto read = [&](CollectiveMeaning& meaning) {
    if (HasProgram(spec, collective, slice.topology)) {
      const Lowered lowered = LowerOn(slice, spec, collective);
      meaning = lowered.meaning;
      return Read(
          lowered.schedule, meaning, slice.topology,
          static_cast<std::uint32_t>(lowered.program.split.sub_chunks()));
    }
    const WholeSchedule whole = MakeWhole(slice, spec, collective);
    meaning = whole.meaning;
    return Read(whole.schedule, meaning, slice.topology, 1);
  };
  CollectiveMeaning meaning, unused;
  Ops ops = read(meaning), other_root;
  if (ops.empty() || ops.size() > kMostOps) return std::nullopt;
  std::string text = slice.spec + " " + spec.name + " " +
                     ToText(collective.kind) + " of " +
                     std::to_string(collective.payload.value()) + " bytes";
  if (collective.root) {
    const ChipId other = [&] {
      for (const auto& group : GroupsOf(collective, slice.topology)) {
        const auto at = std::find(group.begin(), group.end(), *collective.root);
        if (at != group.end())
          return at == group.begin() ? group.back() : at[-1];
      }
      return *collective.root;
    }();
    text += " from " + std::to_string(collective.root->value());
    collective.root = other;
    const auto groups = GroupsOf(collective, slice.topology);
    const auto rank = static_cast<std::size_t>(RootRank(collective, groups));
    const bool in_all =
        std::all_of(groups.begin(), groups.end(),
                    [&](const auto& group) { return rank < group.size(); });
    if (in_all && !WhyNot(spec, collective, slice.topology)) {
      other_root = read(unused);
    }
  }
  return Case{.text = text,
              .slice = std::move(slice),
              .meaning = std::move(meaning),
              .ops = std::move(ops),
              .other_root = std::move(other_root)};
}

struct Count {
  int made = 0;
  int caught = 0;
  int equivalent = 0;
};

std::vector<Count> Run(std::uint64_t first_seed, int cases_per_spec) {
  std::vector<Count> counts(std::size(kKinds));
  std::uint64_t seed = first_seed;
  for (const char* text : kSpecs) {
    const LoweringSpec spec = Spec(text);
    for (int done = 0; done < cases_per_spec; ++seed) {
      Random random(seed);
      const std::optional<Case> c = MakeCase(random, spec);
      if (!c) continue;
      ++done;
      CAPTURE(seed, c->text);
      REQUIRE(VerifyFull(Write(c->ops), c->meaning, c->slice.topology).empty());
      REQUIRE(NaiveChecker(*c, c->ops).Right(random));
      for (std::size_t k = 0; k < std::size(kKinds); ++k) {
        Mutant mutant{*c, c->ops, random};
        if (!kKinds[k].apply(mutant) || mutant.ops == c->ops) continue;
        ++counts[k].made;
        const Violations found =
            VerifyFull(Write(mutant.ops), c->meaning, c->slice.topology);
        const bool right = NaiveChecker(*c, mutant.ops).Right(random);
        if (found.empty() != right) {
          CAPTURE(kKinds[k].name, right, found.count(),
                  found.empty() ? "" : found.texts()[0]);
          CHECK(found.empty() == right);
          continue;
        }
        ++(right ? counts[k].equivalent : counts[k].caught);
      }
    }
  }
  return counts;
}

TEST_CASE("the verifier catches every kind of mistake in every lowering",
          "[collective][verifier][property]") {
  const std::vector<Count> counts = Run(0, kCasesPerSpec);
  int made = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    CAPTURE(kKinds[k].name, counts[k].made, counts[k].caught,
            counts[k].equivalent);
    REQUIRE(counts[k].caught + counts[k].equivalent == counts[k].made);
    REQUIRE(counts[k].caught > 0);
    made += counts[k].made;
  }
  CHECK(made > 10'000);
}

TEST_CASE("a reduce by way of scratch and a local add is right",
          "[collective][verifier]") {
  // What the mistakes with scratch start from.
  int tried = 0;
  for (std::uint64_t seed = 0; tried < 40; ++seed) {
    Random random(seed);
    const auto c = MakeCase(random, Spec(kSpecs[seed % std::size(kSpecs)]));
    if (!c) continue;
    Mutant same{*c, c->ops, random};
    if (!same.UseScratch()) continue;
    ++tried;
    CAPTURE(seed, c->text);
    REQUIRE(VerifyFull(Write(same.ops), c->meaning, c->slice.topology).empty());
    REQUIRE(NaiveChecker(*c, same.ops).Right(random));
  }
}

TEST_CASE("table of the mutants", "[.table]") {
  const std::vector<Count> counts = Run(0, kCasesPerSpec);
  std::cout << std::left << std::setw(48) << "kind" << std::right
            << "  made caught equivalent\n";
  for (std::size_t k = 0; k < counts.size(); ++k) {
    std::cout << std::left << std::setw(48) << kKinds[k].name << std::right
              << std::setw(6) << counts[k].made << std::setw(7)
              << counts[k].caught << std::setw(11) << counts[k].equivalent
              << "\n";
  }
}

}  // namespace
}  // namespace podsim
