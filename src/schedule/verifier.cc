#include "schedule/verifier.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <unordered_map>

#include "base/check.h"
#include "schedule/fingerprint.h"

namespace podsim {
namespace {

constexpr std::uint64_t kCellsAtATime = 1 << 22;
constexpr std::uint32_t kNone = UINT32_MAX;

// Answers "is op a an ancestor of op b" for ascending b: walks back from b in
// order of falling ids, only as far as a, and remembers what it passed.
class Ancestors {
 public:
  explicit Ancestors(const Schedule& schedule)
      : schedule_(schedule), seen_(schedule.size(), 0) {}

  bool Contains(std::uint32_t ancestor, std::uint32_t op) {
    if (ancestor == op) return true;
    // What a transfer needs it mostly waits for itself, however long ago that
    // was.
    for (const OpId wait : schedule_.after(OpId(op))) {
      if (wait.value() == ancestor) return true;
    }
    if (op != current_) Restart(op);
    while (!front_.empty() && front_.top() > ancestor) {
      const std::uint32_t next = front_.top();
      front_.pop();
      Expand(next);
    }
    return seen_[ancestor] == epoch_;
  }

 private:
  void Restart(std::uint32_t op) {
    current_ = op;
    ++epoch_;
    front_ = {};
    Expand(op);
  }
  void Expand(std::uint32_t op) {
    for (const OpId wait : schedule_.after(OpId(op))) {
      if (seen_[wait.value()] == epoch_) continue;
      seen_[wait.value()] = epoch_;
      front_.push(wait.value());
    }
  }

  const Schedule& schedule_;
  std::vector<std::uint64_t> seen_;  // epoch in which it is a known ancestor
  std::uint64_t epoch_ = 0;
  std::uint32_t current_ = kNone;
  std::priority_queue<std::uint32_t> front_;
};

// One chunk at one chip.
struct Cell {
  Fingerprint value;              // or first = set of ranks, groups up to 64
  std::uint32_t writers = kNone;  // lists of accesses
  std::uint32_t readers = kNone;
  std::uint32_t first_reader = kNone;  // op; kept when the cell is overwritten
};

struct Access {
  std::uint32_t op;
  std::uint32_t next;
  bool adds;
};

class Replay {
 public:
  Replay(const Schedule& schedule, const CollectiveMeaning& meaning,
         const Topology& topology)
      : schedule_(schedule),
        meaning_(meaning),
        topology_(topology),
        ancestors_(schedule) {
    std::size_t largest = 1;
    for (const auto& group : meaning.groups) {
      largest = std::max(largest, group.size());
    }
    exact_ = largest <= 64;
    const auto chunks = static_cast<std::uint32_t>(meaning.chunks.size());
    per_owner_ = topology.chips() > 0 ? chunks / topology.chips() : 0;
  }

  Violations Run() && {
    CheckStructure();
    FindBlocks();
    for (std::size_t block = 1; block < blocks_.size(); ++block) {
      ReplayChunks(blocks_[block - 1], blocks_[block]);
    }
    return std::move(violations_);
  }

 private:
  std::string ChipText(std::uint32_t chip) const {
    return "chip (" + topology_.NameOf(ChipId(chip)) + ")";
  }
  static std::string OpText(std::uint32_t op) {
    return "op " + std::to_string(op);
  }
  std::string CellText(std::uint32_t chip, std::uint32_t chunk) const {
    return "chunk " + std::to_string(chunk) + " of " + ChipText(chip);
  }

  void CheckStructure() {
    CheckLevels();
    for (std::uint32_t id = 0; id < schedule_.size(); ++id) {
      const OpId op(id);
      if (schedule_.kind(op) == OpKind::kTransfer) {
        CheckRoute(op);
        CheckBytes(op);
        if (Accumulates(op)) CheckAccumulate(op);
      } else if (schedule_.kind(op) == OpKind::kLocal) {
        if (Accumulates(op)) {
          CheckAccumulate(op);
        } else {
          CheckLocal(op);
        }
      }
    }
  }

  bool Accumulates(OpId op) const {
    return schedule_.mode(op) == Mode::kAccumulate;
  }

  // A level stands right after the one below it.
  void CheckLevels() {
    for (std::size_t c = 0; c < meaning_.chunks.size(); ++c) {
      const Chunk& chunk = meaning_.chunks[c];
      if (chunk.level == 0) continue;
      if (c > 0 && meaning_.HasNextLevel(c - 1)) {
        const Chunk& below = meaning_.chunks[c - 1];
        if (below.group == chunk.group && below.owner == chunk.owner &&
            below.bytes == chunk.bytes && below.receiver == chunk.receiver) {
          continue;
        }
      }
      violations_.Add("chunk " + std::to_string(c) + " is level " +
                      std::to_string(chunk.level) +
                      ", and the chunk before it is not level " +
                      std::to_string(chunk.level - 1) + " of the same bytes");
    }
  }

  void CheckAccumulate(OpId op) {
    ForEachRun(schedule_, schedule_.chunks(op), topology_, per_owner_,
               [&](std::uint32_t first, std::uint32_t count) {
                 for (std::uint32_t c = first; c < first + count; ++c) {
                   if (meaning_.HasNextLevel(c)) continue;
                   violations_.Add(OpText(op.value()) + " accumulates chunk " +
                                   std::to_string(c) +
                                   ", which has no next level");
                 }
               });
  }

  bool UsesPorts(OpId op) const {
    return std::ranges::any_of(schedule_.route(op), [&](LinkId link) {
      return link.value() < topology_.port_ids() && topology_.IsPort(link);
    });
  }

  // To another slice: out of the host and into the other, and nothing else.
  void CheckDcnRoute(OpId op) {
    const ChipId src = schedule_.src(op), dst = schedule_.dst(op);
    const auto route = schedule_.route(op);
    if (topology_.SliceOf(src) != topology_.SliceOf(dst) && route.size() == 2 &&
        route[0] == topology_.PortOut(src) &&
        route[1] == topology_.PortIn(dst)) {
      return;
    }
    violations_.Add(OpText(op.value()) + ": a route over DCN is " +
                    topology_.NameOf(topology_.PortOut(src)) + ", then " +
                    topology_.NameOf(topology_.PortIn(dst)) +
                    ", from one slice to another");
  }

  void CheckRoute(OpId op) {
    if (topology_.dcn() && UsesPorts(op)) return CheckDcnRoute(op);
    ChipId at = schedule_.src(op);
    for (const LinkId link : schedule_.route(op)) {
      if (link.value() >= topology_.link_ids() || !topology_.Live(link)) {
        violations_.Add(OpText(op.value()) +
                        " uses a link that does not exist" + " or is dead");
        return;
      }
      if (topology_.Source(link) != at) {
        violations_.Add(OpText(op.value()) + ": route is not a path: link " +
                        topology_.NameOf(link) + " does not start at " +
                        ChipText(at.value()));
        return;
      }
      at = topology_.Target(link);
    }
    if (at != schedule_.dst(op)) {
      violations_.Add(OpText(op.value()) + ": route ends at " +
                      ChipText(at.value()) + ", not at its destination " +
                      ChipText(schedule_.dst(op).value()));
    }
  }

  void CheckBytes(OpId op) {
    std::int64_t sum = 0;
    ForEachRun(schedule_, schedule_.chunks(op), topology_, per_owner_,
               [&](std::uint32_t first, std::uint32_t count) {
                 for (std::uint32_t c = first; c < first + count; ++c) {
                   sum += meaning_.chunks[c].bytes.value();
                 }
               });
    if (sum != schedule_.bytes(op).value()) {
      violations_.Add(OpText(op.value()) + " moves " +
                      std::to_string(schedule_.bytes(op).value()) +
                      " bytes, but its chunks have " + std::to_string(sum));
    }
  }

  void CheckLocal(OpId op) {
    const OpId transfer = schedule_.scratch_of(op);
    if (transfer.value() >= op.value() ||
        schedule_.kind(transfer) != OpKind::kTransfer ||
        schedule_.mode(transfer) != Mode::kScratch ||
        schedule_.dst(transfer) != schedule_.src(op)) {
      violations_.Add(OpText(op.value()) + " adds from op " +
                      std::to_string(transfer.value()) +
                      ", which is no earlier scratch transfer to " +
                      ChipText(schedule_.src(op).value()));
    } else if (!ancestors_.Contains(transfer.value(), op.value())) {
      violations_.Add(OpText(op.value()) + " does not wait for op " +
                      std::to_string(transfer.value()) +
                      ", whose scratch it adds");
    }
  }

  // A contribution of `chip` to a chunk of `group`.
  Fingerprint Contribution(std::uint32_t group, ChipId chip) const {
    if (!exact_) return ContributionOf(chip.value());
    const auto& members = meaning_.groups[group];
    const auto rank =
        std::find(members.begin(), members.end(), chip) - members.begin();
    return {1, std::uint64_t{1} << rank, 0};
  }

  Fingerprint Full(const Chunk& chunk) const {
    if (chunk.contributor) return Contribution(chunk.group, *chunk.contributor);
    Fingerprint all;
    for (const ChipId chip : meaning_.groups[chunk.group]) {
      all += Contribution(chunk.group, chip);
    }
    return all;
  }

  Cell& At(std::uint32_t chip, std::uint32_t chunk) {
    return cells_[static_cast<std::size_t>(place_[chunk]) * topology_.chips() +
                  chip];
  }

  // Blocks of chunks that are replayed together, and the places of theirs that
  // have bytes: of the others nothing moves.
  void FindBlocks() {
    const auto chunks = static_cast<std::uint32_t>(meaning_.chunks.size());
    const std::uint64_t most = std::max<std::uint64_t>(
        1, kCellsAtATime / std::max(1, topology_.chips()));
    place_.resize(chunks);
    blocks_ = {0};
    std::uint32_t places = 0;
    for (std::uint32_t c = 0; c < chunks; ++c) {
      if (meaning_.chunks[c].bytes.value() == 0) continue;
      // All levels in one block: an accumulate goes from one to the next.
      if (places >= most && meaning_.chunks[c].level == 0) {
        blocks_.push_back(c);
        places = 0;
      }
      place_[c] = places++;
      most_places_ = std::max(most_places_, places);
    }
    if (most_places_ > 0) blocks_.push_back(chunks);
  }

  void ReplayChunks(std::uint32_t first, std::uint32_t last) {
    first_ = first;
    last_ = last;
    cells_.assign(static_cast<std::size_t>(most_places_) * topology_.chips(),
                  Cell{});
    accesses_.clear();
    scratch_.clear();
    for (std::uint32_t c = first; c < last; ++c) {
      const Chunk& chunk = meaning_.chunks[c];
      if (chunk.bytes.value() == 0 || chunk.level > 0) continue;
      if (chunk.contributor) {
        At(chunk.contributor->value(), c).value =
            Contribution(chunk.group, *chunk.contributor);
        continue;
      }
      for (const ChipId chip : meaning_.groups[chunk.group]) {
        At(chip.value(), c).value = Contribution(chunk.group, chip);
      }
    }
    for (std::uint32_t op = 0; op < schedule_.size(); ++op) ReplayOp(op);
    for (std::uint32_t c = first; c < last; ++c) CheckFinal(c);
  }

  void ReplayOp(std::uint32_t id) {
    const OpId op(id);
    if (schedule_.kind(op) == OpKind::kCompute) return;
    const bool scratch =
        schedule_.kind(op) == OpKind::kLocal && !Accumulates(op);
    ForEachRun(schedule_, schedule_.chunks(op), topology_, per_owner_,
               [&](std::uint32_t first, std::uint32_t count) {
                 const std::uint32_t begin = std::max(first, first_);
                 const std::uint32_t end = std::min(first + count, last_);
                 for (std::uint32_t c = begin; c < end; ++c) {
                   // Nothing to move, so nothing may have brought it here.
                   if (meaning_.chunks[c].bytes.value() == 0) continue;
                   if (scratch) {
                     AddScratch(op, c);
                   } else {
                     Move(op, c);
                   }
                 }
               });
  }

  void Move(OpId op, std::uint32_t chunk) {
    const std::uint32_t src = schedule_.src(op).value();
    const std::uint32_t dst = schedule_.dst(op).value();
    Cell& from = At(src, chunk);
    if (from.value.count == 0) {
      violations_.Add(OpText(op.value()) + " reads " + CellText(src, chunk) +
                      ", which is not there");
    }
    RequireOrdered(from.writers, op, src, chunk, Use::kReads);
    Note(from.readers, op, /*adds=*/false);
    if (from.first_reader == kNone) from.first_reader = op.value();
    if (schedule_.mode(op) == Mode::kScratch) {
      scratch_[ScratchKey(op, chunk)] = from.value;
      return;
    }
    if (Accumulates(op)) {
      if (!meaning_.HasNextLevel(chunk)) return;  // known to be wrong
      Write(op, dst, chunk + 1, from.value, /*adds=*/true);
      return;
    }
    Write(op, dst, chunk, from.value, schedule_.mode(op) == Mode::kReduce);
  }

  static std::uint64_t ScratchKey(OpId transfer, std::uint32_t chunk) {
    return std::uint64_t{transfer.value()} << 32 | chunk;
  }

  void AddScratch(OpId op, std::uint32_t chunk) {
    const OpId transfer = schedule_.scratch_of(op);
    const auto found = scratch_.find(ScratchKey(transfer, chunk));
    if (found == scratch_.end()) {
      violations_.Add(OpText(op.value()) + " adds chunk " +
                      std::to_string(chunk) + ", which op " +
                      std::to_string(transfer.value()) + " did not bring");
      return;
    }
    Write(op, schedule_.src(op).value(), chunk, found->second, /*adds=*/true);
  }

  void Write(OpId op, std::uint32_t chip, std::uint32_t chunk,
             const Fingerprint& value, bool adds) {
    Cell& cell = At(chip, chunk);
    RequireOrdered(cell.readers, op, chip, chunk, Use::kWrites);
    RequireOrdered(cell.writers, op, chip, chunk,
                   adds ? Use::kAdds : Use::kWrites);
    if (!adds) {
      cell.value = value;
      cell.writers = cell.readers = kNone;
      Note(cell.writers, op, /*adds=*/false);
      return;
    }
    if (cell.value.count == 0 && meaning_.chunks[chunk].level == 0) {
      violations_.Add(OpText(op.value()) + " adds into " +
                      CellText(chip, chunk) + ", which is not there");
    }
    CheckDisjoint(op, chip, chunk, cell.value, value);
    if (exact_) {
      // Bits of a rank that is there already must not carry over to another.
      cell.value.count += value.count;
      cell.value.first |= value.first;
    } else {
      cell.value += value;
    }
    Note(cell.writers, op, /*adds=*/true);
  }

  void CheckDisjoint(OpId op, std::uint32_t chip, std::uint32_t chunk,
                     const Fingerprint& a, const Fingerprint& b) {
    const auto& members = meaning_.groups[meaning_.chunks[chunk].group];
    if (exact_ && (a.first & b.first) != 0) {
      const int rank = std::countr_zero(a.first & b.first);
      violations_.Add(OpText(op.value()) + " adds the contribution of " +
                      ChipText(members[rank].value()) + " to " +
                      CellText(chip, chunk) + " a second time");
    } else if (a.count + b.count > members.size()) {
      violations_.Add(OpText(op.value()) + " adds a contribution to " +
                      CellText(chip, chunk) + " a second time");
    }
  }

  enum class Use { kReads, kWrites, kAdds };

  // Every listed access must be an ancestor of `op`, except adds before an add.
  // A read needs a dependence on what it reads; once it has that, the flow of
  // the chunk orders the write that follows.
  void RequireOrdered(std::uint32_t list, OpId op, std::uint32_t chip,
                      std::uint32_t chunk, Use use) {
    for (std::uint32_t k = list; k != kNone; k = accesses_[k].next) {
      const Access& access = accesses_[k];
      if (use == Use::kAdds && access.adds) continue;
      if (access.op == op.value() ||
          (use != Use::kReads && violations_.empty() &&
           FlowsInto(access.op, op.value(), chunk)) ||
          ancestors_.Contains(access.op, op.value())) {
        continue;
      }
      violations_.Add(OpText(op.value()) + " and op " +
                      std::to_string(access.op) + " both use " +
                      CellText(chip, chunk) +
                      ", one writes it, and no dependence orders them");
      return;
    }
  }

  bool Moves(std::uint32_t op) const {
    return schedule_.kind(OpId(op)) == OpKind::kTransfer &&
           schedule_.mode(OpId(op)) != Mode::kScratch && !Accumulates(OpId(op));
  }

  // Follows the chunk itself: what `ancestor` wrote was read by a transfer that
  // is proved to wait for it, and so on, up to a chip whose value `op` passes
  // on. Says false where the chunk does not lead there; that proves nothing,
  // but the search of all dependences is needed rarely then.
  bool FlowsInto(std::uint32_t ancestor, std::uint32_t op,
                 std::uint32_t chunk) {
    if (!Moves(op)) return false;
    std::uint32_t root = op;  // the first to pass on the value that `op` brings
    for (;;) {
      const std::uint32_t writer =
          At(schedule_.src(OpId(root)).value(), chunk).writers;
      if (writer == kNone) break;
      const Access& access = accesses_[writer];
      const bool sole_copy = !access.adds && access.next == kNone;
      if (!sole_copy || access.op >= root || !Moves(access.op)) break;
      root = access.op;
      if (root == ancestor) return true;
    }
    const std::uint32_t source = schedule_.src(OpId(root)).value();
    for (std::uint32_t at = ancestor; Moves(at);) {
      const std::uint32_t reached = schedule_.dst(OpId(at)).value();
      if (reached == source && at < root) return true;
      const std::uint32_t next = At(reached, chunk).first_reader;
      if (next == kNone || next <= at) return false;
      at = next;
    }
    return false;
  }

  void Note(std::uint32_t& list, OpId op, bool adds) {
    accesses_.push_back({op.value(), list, adds});
    list = static_cast<std::uint32_t>(accesses_.size() - 1);
  }

  void CheckFinal(std::uint32_t c) {
    const Chunk& chunk = meaning_.chunks[c];
    if (chunk.bytes.value() == 0) return;  // nothing to move
    if (meaning_.HasNextLevel(c)) return;
    const Fingerprint full = Full(chunk);
    if (chunk.receiver) {
      CheckFull(chunk.receiver->value(), c, full);
      return;
    }
    for (const ChipId chip : meaning_.groups[chunk.group]) {
      CheckFull(chip.value(), c, full);
    }
  }

  void CheckFull(std::uint32_t chip, std::uint32_t c, const Fingerprint& full) {
    const Fingerprint& value = At(chip, c).value;
    if (value == full) return;
    std::string what = CellText(chip, c) + " ends ";
    if (value.count == 0) {
      what += "empty";
    } else if (value.count == full.count) {
      what += "with wrong contributions";
    } else {
      what += "with " + std::to_string(value.count) + " contributions";
    }
    violations_.Add(what + ", expected the " +
                    (full.count == 1
                         ? "shard of its owner"
                         : "sum of all " + std::to_string(full.count)));
  }

  const Schedule& schedule_;
  const CollectiveMeaning& meaning_;
  const Topology& topology_;
  Ancestors ancestors_;
  bool exact_ = true;  // values are sets of ranks
  std::uint32_t per_owner_ = 0;
  std::vector<std::uint32_t> blocks_;  // first chunks, and the end
  std::vector<std::uint32_t> place_;   // in the block, by chunk with bytes
  std::uint32_t most_places_ = 0;
  std::uint32_t first_ = 0, last_ = 0;  // chunks of this block
  std::vector<Cell> cells_;
  std::vector<Access> accesses_;
  std::unordered_map<std::uint64_t, Fingerprint> scratch_;  // by ScratchKey
  Violations violations_;
};

}  // namespace

Violations VerifyFull(const Schedule& schedule,
                      const CollectiveMeaning& meaning,
                      const Topology& topology) {
  return Replay(schedule, meaning, topology).Run();
}

}  // namespace podsim
