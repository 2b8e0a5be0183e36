#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "schedule/fingerprint.h"
#include "schedule/instantiate.h"
#include "schedule/orbit_memo.h"
#include "schedule/placement.h"
#include "schedule/program_order.h"
#include "schedule/verifier.h"

namespace podsim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

struct Cell {
  Fingerprint value;
  std::uint32_t writers = kNone;
  std::uint32_t readers = kNone;
  std::uint32_t first_reader =
      kNone;  // step; kept when the cell is overwritten
  bool touched = false;
};

// Rows of the memo for one step: what is known to come before it.
struct KnownBefore {
  std::uint32_t step = kNone;
  const std::uint8_t* read_after_write = nullptr;
  const std::uint8_t* write_after_read = nullptr;
  const std::uint8_t* write_after_write = nullptr;
};

// One transfer or local add of a sub-chunk: of the owners in the step's box, or
// of one displacement from the sender.
struct Sent {
  std::uint32_t step;
  std::uint32_t item;  // kNone: the box
};

struct Access {
  std::uint32_t step;
  std::uint32_t next;
  bool adds;
};

class OrbitReplay {
 public:
  OrbitReplay(const Program& program, const Topology& topology)
      : program_(program),
        topology_(topology),
        group_size_(GroupSize(program, topology)),
        periods_(PeriodsOf(program, topology)),
        grid_(topology, NoFold(topology)),
        placement_(program, grid_),
        order_(placement_),
        displacer_(topology, program.blocks),
        memo_(program.steps.size(), OneClass() ? 1 : topology.chips()) {
    sent_of_.resize(program.split.sub_chunks());
    for (std::uint32_t id = 0; id < program.steps.size(); ++id) {
      scratch_ |= program.steps[id].mode == Mode::kScratch;
      ListSent(id);
    }
  }

  Violations Run() {
    CheckStructure();
    const std::vector<ChipId> owners = Representatives();
    one_class_ = owners.size() == 1;
    for (const ChipId owner : owners) {
      SetFull(owner);
      for (int q = 0; q < program_.split.sub_chunks(); ++q) {
        ReplaySubChunk(owner, q);
      }
    }
    return std::move(violations_);
  }

  std::vector<ChipId> Representatives() const {
    std::vector<ChipId> owners;
    if (OneClass()) return {ChipId(0)};
    for (int id = 0; id < topology_.chips(); ++id) {
      if (ClassOf(id) == static_cast<std::uint32_t>(id))
        owners.emplace_back(id);
    }
    return owners;
  }

 private:
  void ListSent(std::uint32_t id) {
    if (program_.steps[id].kind == StepKind::kCompute) {
      for (auto& sent : sent_of_) sent.push_back({id, kNone});
      return;
    }
    const ProgramPattern& pattern =
        program_.patterns[program_.steps[id].pattern.value()];
    for (std::uint32_t k = pattern.first_item; k < pattern.end_item; ++k) {
      sent_of_[program_.items[k].sub_chunk].push_back({id, k});
    }
    if (pattern.is_list()) return;
    const int halves = program_.split.halves ? 2 : 1;
    for (int h = 0; h < halves; ++h) {
      if ((pattern.half == Half::kFirst && h == 1) ||
          (pattern.half == Half::kSecond && h == 0)) {
        continue;
      }
      sent_of_[pattern.part * halves + h].push_back({id, kNone});
    }
  }

  bool OneClass() const {
    return std::all_of(periods_.begin(), periods_.end(),
                       [](int period) { return period == 1; });
  }

  // The chip that translations by whole periods map `chip` onto.
  std::uint32_t ClassOf(std::uint32_t chip) const {
    if (one_class_) return 0;
    Coordinates at = topology_.CoordinatesOf(ChipId(chip));
    for (std::size_t a = 0; a < periods_.size(); ++a) at[a] %= periods_[a];
    return topology_.ChipAt(at).value();
  }

  void CheckStructure() {
    for (std::uint32_t id = 0; id < program_.steps.size(); ++id) {
      const ProgramStep& step = program_.steps[id];
      if (!StaysInBlocks(program_, step, topology_)) {
        violations_.Add("step " + std::to_string(id) + " leaves its block");
      }
      if (!IsTransfer(step) || StaysOnWraps(step)) continue;
      for (std::uint32_t k = 0; k < placement_.SitesOf(id); ++k) {
        const std::uint32_t site = placement_.SiteOf(id, k);
        std::vector<LinkId> route;
        placement_.RouteOf(id, site, route);
        const auto dead =
            std::find_if(route.begin(), route.end(),
                         [&](LinkId link) { return !topology_.Live(link); });
        if (dead == route.end()) continue;
        const LinkId link = *dead;
        violations_.Add("step " + std::to_string(id) + " uses link " +
                        topology_.NameOf(link) +
                        ", which does not exist or is dead");
        break;
      }
    }
  }

  // Links that every chip has.
  bool StaysOnWraps(const ProgramStep& step) const {
    if (!topology_.healthy()) return false;
    if (step.kind == StepKind::kHop) return topology_.axes()[step.axis].wrap;
    for (std::size_t a = 0; a < topology_.axes().size(); ++a) {
      if (program_.routes[step.detail][a] != 0 && !topology_.axes()[a].wrap) {
        return false;
      }
    }
    return true;
  }

  void ReplaySubChunk(ChipId owner, int q) {
    if (cells_.empty()) cells_.resize(topology_.chips());
    for (const std::uint32_t chip : touched_) cells_[chip] = Cell{};
    touched_.clear();
    accesses_.clear();
    arrived_.clear();
    displacer_.MoveTo(owner);
    if (program_.flow.all_contribute) {
      ForEachMember(program_, topology_, owner, [&](ChipId chip) {
        CellAt(chip.value()).value = Contribution(chip);
      });
    } else {
      CellAt(owner.value()).value = Contribution(owner);
    }
    for (const Sent& sent : sent_of_[q]) ReplayStep(sent, owner);
    CheckFinal(owner, q);
  }

  Cell& CellAt(std::uint32_t chip) {
    touched_.push_back(chip);
    return cells_[chip];
  }

  // As in the replay of a schedule: sets of ranks in groups of up to 64.
  Fingerprint Contribution(ChipId chip) const {
    if (group_size_ > 64) return ContributionOf(chip.value());
    const int rank = RankAt(program_, topology_, topology_.CoordinatesOf(chip));
    return {1, std::uint64_t{1} << rank, 0};
  }

  bool CountsTwice(const Fingerprint& a, const Fingerprint& b) const {
    if (a.count + b.count > group_size_) return true;
    return group_size_ <= 64 && (a.first & b.first) != 0;
  }

  const KnownBefore& KnownOf(std::uint32_t id) {
    if (known_.step != id) {
      known_ = {id, memo_.Row(Role::kReceives, id, Role::kSends),
                memo_.Row(Role::kSends, id, Role::kReceives),
                memo_.Row(Role::kReceives, id, Role::kReceives)};
    }
    return known_;
  }

  // Every chip whose chunk set of this step holds the owner's chunk.
  void ReplayStep(const Sent& sent, ChipId owner) {
    const std::uint32_t id = sent.step;
    const ProgramStep& step = program_.steps[id];
    if (step.kind == StepKind::kCompute) {
      StandForWriters(id);
      return;
    }
    const bool tied = step.where_axis >= 0;
    const KnownBefore& known = KnownOf(id);
    const auto visit = [&](ChipId chip) {
      const std::uint32_t src = chip.value();
      if (step.kind == StepKind::kLocal) {
        AddArrived(id, src, known);
      } else if (!tied || placement_.SlotOf(id, src) != kNoOp) {
        Move(id, src, known);
      }
    };
    if (sent.item != kNone) {
      auto back = program_.items[sent.item].owner;
      for (std::int16_t& hops : back) hops = static_cast<std::int16_t>(-hops);
      visit(displacer_.At(back));
      return;
    }
    OwnerBox senders = program_.patterns[step.pattern.value()].owners;
    for (int a = 0; a < kMaxAxes; ++a) {
      senders.lo[a] = -(senders.lo[a] + senders.len[a] - 1);
    }
    ForEachOwner(senders, owner, topology_, program_.blocks, visit);
  }

  // Where a compute waits for all that wrote a cell, later accesses need only
  // be ordered after the compute.
  void StandForWriters(std::uint32_t id) {
    for (const std::uint32_t chip : touched_) {
      Cell& cell = cells_[chip];
      if (cell.writers == kNone || accesses_[cell.writers].next == kNone) {
        continue;
      }
      if (placement_.SlotOf(id, chip) == kNoOp) continue;
      bool all = true;
      for (std::uint32_t k = cell.writers; all && k != kNone;
           k = accesses_[k].next) {
        const std::uint32_t from =
            SenderOf(accesses_[k].step, Role::kReceives, chip);
        all = order_.IsAncestor({accesses_[k].step, from}, {id, chip});
      }
      if (!all) continue;
      cell.writers = kNone;
      Note(cell.writers, id, /*adds=*/false);
    }
  }

  // What `src` left in scratch where its transfer went.
  void AddArrived(std::uint32_t id, std::uint32_t src,
                  const KnownBefore& known) {
    const std::uint32_t transfer = program_.steps[id].detail;
    const std::uint32_t at = placement_.Target(transfer, src);
    if (placement_.SlotOf(id, at) == kNoOp) return;
    const auto found = arrived_.find(ArrivalKey(transfer, src));
    if (found == arrived_.end()) {
      Fail(id, at, " adds scratch that has not arrived");
      return;
    }
    if (!order_.IsAncestor({transfer, src}, {id, at})) {
      Fail(id, at, " does not wait for the scratch that it adds");
    }
    Write(id, at, found->second, /*adds=*/true, known);
  }

  static std::uint64_t ArrivalKey(std::uint32_t step, std::uint32_t src) {
    return (std::uint64_t{step} << 32) | src;
  }

  void Move(std::uint32_t id, std::uint32_t src, const KnownBefore& known) {
    const Mode mode = program_.steps[id].mode;
    Cell& from = CellAt(src);
    if (from.value.count == 0) {
      Fail(id, src, " reads a chunk that is not there");
    }
    Require(known.read_after_write, from.writers, Role::kReceives, id,
            Role::kSends, src, false);
    Note(from.readers, id, false);
    if (from.first_reader == kNone) from.first_reader = id;
    if (mode == Mode::kScratch) {
      arrived_[ArrivalKey(id, src)] = from.value;
      return;
    }
    Write(id, placement_.Target(id, src), from.value, mode == Mode::kReduce,
          known);
  }

  void Write(std::uint32_t id, std::uint32_t dst, const Fingerprint& value,
             bool adds, const KnownBefore& known) {
    Cell& to = CellAt(dst);
    Require(known.write_after_read, to.readers, Role::kSends, id,
            Role::kReceives, dst, false);
    Require(known.write_after_write, to.writers, Role::kReceives, id,
            Role::kReceives, dst, adds);
    if (adds) {
      if (to.value.count == 0) {
        Fail(id, dst, " adds into a chunk that is not there");
      }
      if (CountsTwice(to.value, value)) {
        Fail(id, dst, " adds a contribution a second time");
      }
      to.value += value;
    } else {
      to.value = value;
      to.writers = to.readers = kNone;
    }
    Note(to.writers, id, adds);
  }

  std::uint32_t SenderOf(std::uint32_t step, Role role,
                         std::uint32_t chip) const {
    return role == Role::kSends ? chip : placement_.SourceOfArrival(step, chip);
  }

  // Follows the chunk itself: what `ancestor` wrote was read by a transfer that
  // is proved to wait for it, and so on, up to a chip whose value `op` passes
  // on. Says false where the chunk does not lead there; that proves nothing.
  bool FlowsInto(SiteOp ancestor, SiteOp op) const {
    SiteOp root = op;  // the first to pass on the value that `op` brings
    for (;;) {
      const std::uint32_t writer = cells_[root.site].writers;
      if (writer == kNone) break;
      const Access& access = accesses_[writer];
      const bool sole_copy = !access.adds && access.next == kNone;
      if (!sole_copy || access.step >= root.step) break;
      root = {access.step, placement_.SourceOfArrival(access.step, root.site)};
    }
    SiteOp at = ancestor;
    for (;;) {
      const std::uint32_t reached = placement_.Target(at.step, at.site);
      if (reached == root.site && at.step < root.step) return true;
      const std::uint32_t next = cells_[reached].first_reader;
      if (next == kNone || next <= at.step) return false;
      at = {next, reached};
    }
  }

  // Every access of the list must come before this one, except adds before an
  // add. `known` is the memo's row for it, if there is one class of chips.
  void Require(const std::uint8_t* known, std::uint32_t list, Role before,
               std::uint32_t id, Role role, std::uint32_t chip, bool adds) {
    for (std::uint32_t k = list; k != kNone; k = accesses_[k].next) {
      const Access& access = accesses_[k];
      if (adds && access.adds) continue;
      if (known != nullptr && known[access.step] == OrbitMemo::kYes) continue;
      if (!ProveOrdered(access.step, before, id, role, chip)) return;
    }
  }

  bool ProveOrdered(std::uint32_t earlier, Role before, std::uint32_t id,
                    Role role, std::uint32_t chip) {
    const bool ordered =
        memo_.Get(earlier, before, id, role, ClassOf(chip), [&] {
          const SiteOp ancestor{earlier, SenderOf(earlier, before, chip)};
          const SiteOp op{id, SenderOf(id, role, chip)};
          // FlowsInto takes it as proved that reads wait for writes.
          const bool reads = role == Role::kSends;
          return (!reads && !scratch_ && violations_.empty() &&
                  FlowsInto(ancestor, op)) ||
                 order_.IsAncestor(ancestor, op);
        });
    if (!ordered) {
      Fail(id, chip,
           " and step " + std::to_string(earlier) +
               " use the same chunk, one writes it, and no dependence orders "
               "them");
    }
    return ordered;
  }

  void Note(std::uint32_t& list, std::uint32_t step, bool adds) {
    accesses_.push_back({step, list, adds});
    list = static_cast<std::uint32_t>(accesses_.size() - 1);
  }

  void Fail(std::uint32_t step, std::uint32_t chip, const std::string& what) {
    violations_.Add("step " + std::to_string(step) + " at chip (" +
                    topology_.NameOf(ChipId(chip)) + ")" + what);
  }

  // What must arrive of every chunk of the owner.
  void SetFull(ChipId owner) {
    full_ = program_.flow.all_contribute ? Fingerprint{} : Contribution(owner);
    if (!program_.flow.all_contribute) return;
    ForEachMember(program_, topology_, owner,
                  [&](ChipId chip) { full_ += Contribution(chip); });
  }

  void CheckFinal(ChipId owner, int q) {
    const auto check = [&](ChipId chip) {
      const Fingerprint& value = cells_[chip.value()].value;
      if (value == full_) return;
      violations_.Add("chunk " + std::to_string(q) + " of owner (" +
                      topology_.NameOf(owner) + ") ends with " +
                      std::to_string(value.count) + " contributions at chip (" +
                      topology_.NameOf(chip) + "), expected the full " +
                      std::to_string(full_.count));
    };
    if (!program_.targets.empty()) {
      check(TranslateInside(owner, program_.targets[q], topology_,
                            program_.blocks));
    } else if (!program_.flow.all_receive) {
      check(owner);
    } else {
      ForEachMember(program_, topology_, owner, check);
    }
  }

  const Program& program_;
  const Topology& topology_;
  std::uint32_t group_size_;
  std::vector<int> periods_;  // by axis
  bool one_class_ = false;
  FoldedGrid grid_;
  Placement placement_;
  ProgramOrder order_;
  Displacer displacer_;  // from the owner
  OrbitMemo memo_;
  KnownBefore known_;  // of the step last asked for
  Fingerprint full_;
  bool scratch_ = false;                    // some step leaves something there
  std::vector<std::vector<Sent>> sent_of_;  // by sub-chunk
  std::vector<Cell> cells_;                 // by chip
  std::vector<std::uint32_t> touched_;      // chips whose cells are in use
  // What a transfer has left in scratch, by (step, sender).
  std::unordered_map<std::uint64_t, Fingerprint> arrived_;
  std::vector<Access> accesses_;
  Violations violations_;
};

}  // namespace

Violations VerifyOrbit(const Program& program, const Topology& topology) {
  return OrbitReplay(program, topology).Run();
}

std::uint64_t OrbitClasses(const Program& program, const Topology& topology) {
  std::uint64_t classes = 1;
  for (const int period : PeriodsOf(program, topology)) classes *= period;
  return classes;
}

std::uint64_t OrbitCost(const Program& program, const Topology& topology) {
  std::uint64_t accesses = 0;
  for (const ProgramStep& step : program.steps) {
    if (step.kind == StepKind::kCompute) continue;
    const ProgramPattern& pattern = program.patterns[step.pattern.value()];
    std::uint64_t volume = 1;
    for (const int len : pattern.owners.len) volume *= len;
    if (pattern.is_list()) volume = pattern.end_item - pattern.first_item;
    accesses +=
        step.where_axis < 0
            ? volume
            : volume / BlockLength(program, topology, step.where_axis) + 1;
  }
  return OrbitClasses(program, topology) * accesses;
}

}  // namespace podsim
