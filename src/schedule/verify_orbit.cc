#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "schedule/fingerprint.h"
#include "schedule/instantiate.h"
#include "schedule/placement.h"
#include "schedule/verifier.h"

namespace podsim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// One step seen from a chip that it touches.
enum class Role : std::uint8_t { kSends, kReceives };

// Whether one transfer of the program is an ancestor of another. By symmetry
// the answer depends on the two steps, on their roles at the chip where they
// meet, and on that chip's class only; it is searched once and remembered.
class ProgramOrder {
 public:
  ProgramOrder(const Placement& placement, bool one_class)
      : placement_(placement),
        steps_(static_cast<std::uint32_t>(placement.program().steps.size())) {
    if (one_class && steps_ <= 2048) {
      table_.assign(std::size_t{4} * steps_ * steps_, 0);
    }
  }

  // `first` has `first_role` at `chip`, the later `second` has `second_role`.
  bool Ordered(std::uint32_t first, Role first_role, std::uint32_t second,
               Role second_role, std::uint32_t chip, std::uint32_t chip_class) {
    const std::uint64_t roles = (first_role == Role::kSends ? 0 : 1) +
                                (second_role == Role::kSends ? 0 : 2);
    const std::uint64_t pair = (roles * steps_ + first) * steps_ + second;
    if (!table_.empty()) {
      std::uint8_t& known = table_[pair];
      if (known == 0) {
        known = Search(first, first_role, second, second_role, chip) ? 2 : 1;
      }
      return known == 2;
    }
    const std::uint64_t classes = placement_.grid().sites();
    const auto [entry, fresh] = map_.try_emplace(pair * classes + chip_class);
    if (fresh) {
      entry->second = Search(first, first_role, second, second_role, chip);
    }
    return entry->second;
  }

 private:
  std::uint32_t Sender(std::uint32_t step, Role role,
                       std::uint32_t chip) const {
    return role == Role::kSends ? chip : placement_.SourceOfArrival(step, chip);
  }

  bool Search(std::uint32_t first, Role first_role, std::uint32_t second,
              Role second_role, std::uint32_t chip) {
    const std::uint32_t goal_site = Sender(first, first_role, chip);
    const std::uint16_t goal_lane = placement_.program().steps[first].lane;
    std::vector<Placement::Wait> stack = {
        {second, Sender(second, second_role, chip), 0}};
    std::unordered_map<std::uint32_t, bool> seen;
    std::vector<Placement::Wait> waits;
    while (!stack.empty()) {
      const Placement::Wait at = stack.back();
      stack.pop_back();
      // A lane is FIFO: its earlier transfers are ancestors.
      if (at.site == goal_site && at.step >= first &&
          placement_.program().steps[at.step].lane == goal_lane) {
        return true;
      }
      placement_.WaitsOf(
          at.step, at.site, [](std::uint32_t slot) { return slot != kNoOp; },
          waits);
      for (const Placement::Wait& wait : waits) {
        if (wait.step < first || !seen.try_emplace(wait.slot).second) continue;
        stack.push_back(wait);
      }
    }
    return false;
  }

  const Placement& placement_;
  std::uint32_t steps_;
  std::vector<std::uint8_t> table_;  // 0 unknown, 1 no, 2 yes
  std::unordered_map<std::uint64_t, bool> map_;
};

struct Cell {
  Fingerprint value;
  std::uint32_t writers = kNone;
  std::uint32_t readers = kNone;
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
        grid_(topology, NoFold(topology)),
        placement_(program, grid_) {
    for (std::size_t a = 0; a < topology.axes().size(); ++a) {
      invariant_.push_back(
          InvariantAlong(program, topology, static_cast<int>(a)));
    }
    for (std::size_t k = 0; k < program.steps.size(); ++k) {
      const ProgramPattern& pattern =
          program.patterns[program.steps[k].pattern.value()];
      const int halves = program.split.halves ? 2 : 1;
      for (int h = 0; h < halves; ++h) {
        if ((pattern.half == Half::kFirst && h == 1) ||
            (pattern.half == Half::kSecond && h == 0)) {
          continue;
        }
        const std::size_t sub_chunk = pattern.part * halves + h;
        if (steps_of_.size() <= sub_chunk) steps_of_.resize(sub_chunk + 1);
        steps_of_[sub_chunk].push_back(static_cast<std::uint32_t>(k));
      }
    }
    steps_of_.resize(program.split.sub_chunks());
  }

  Violations Run() {
    CheckStructure();
    const std::vector<ChipId> owners = Representatives();
    ProgramOrder order(placement_, owners.size() == 1);
    for (const ChipId owner : owners) {
      for (int q = 0; q < program_.split.sub_chunks(); ++q) {
        ReplaySubChunk(owner, q, order);
      }
    }
    return std::move(violations_);
  }

  std::vector<ChipId> Representatives() const {
    std::vector<ChipId> owners;
    for (int id = 0; id < topology_.chips(); ++id) {
      if (ClassOf(id) == static_cast<std::uint32_t>(id))
        owners.emplace_back(id);
    }
    return owners;
  }

 private:
  // The chip that translations along invariant axes map `chip` onto.
  std::uint32_t ClassOf(std::uint32_t chip) const {
    Coordinates at = topology_.CoordinatesOf(ChipId(chip));
    for (std::size_t a = 0; a < invariant_.size(); ++a) {
      if (invariant_[a]) at[a] = 0;
    }
    return topology_.ChipAt(at).value();
  }

  void CheckStructure() {
    for (std::uint32_t id = 0; id < program_.steps.size(); ++id) {
      const ProgramStep& step = program_.steps[id];
      if (topology_.healthy() && topology_.axes()[step.axis].wrap) continue;
      for (std::uint32_t k = 0; k < placement_.SitesOf(id); ++k) {
        const ChipId chip(placement_.SiteOf(id, k));
        const LinkId link = topology_.LinkAt(chip, step.axis, step.sign);
        if (topology_.Live(link)) continue;
        violations_.Add("step " + std::to_string(id) + " uses link " +
                        topology_.NameOf(link) +
                        ", which does not exist or is dead");
        break;
      }
    }
  }

  void ReplaySubChunk(ChipId owner, int q, ProgramOrder& order) {
    cells_.assign(topology_.chips(), Cell{});
    accesses_.clear();
    const OwnerBox group = GroupBox();
    if (program_.flow.all_contribute) {
      ForEachOwner(group, owner, topology_, [&](ChipId chip) {
        cells_[chip.value()].value = ContributionOf(chip.value());
      });
    } else {
      cells_[owner.value()].value = ContributionOf(owner.value());
    }
    for (const std::uint32_t step : steps_of_[q]) {
      ReplayStep(step, owner, order);
    }
    CheckFinal(owner, q, group);
  }

  OwnerBox GroupBox() const {
    OwnerBox box;
    for (const int a : program_.group_axes) {
      box.len[a] = topology_.axes()[a].size;
    }
    return box;
  }

  // Every chip whose chunk set of this step holds the owner's chunk.
  void ReplayStep(std::uint32_t id, ChipId owner, ProgramOrder& order) {
    const ProgramStep& step = program_.steps[id];
    OwnerBox senders = program_.patterns[step.pattern.value()].owners;
    for (int a = 0; a < kMaxAxes; ++a) {
      senders.lo[a] = -(senders.lo[a] + senders.len[a] - 1);
    }
    ForEachOwner(senders, owner, topology_, [&](ChipId chip) {
      const std::uint32_t src = chip.value();
      if (placement_.SlotOf(id, src) == kNoOp) return;
      Move(id, src, order);
    });
  }

  void Move(std::uint32_t id, std::uint32_t src, ProgramOrder& order) {
    const bool adds = program_.steps[id].mode == Mode::kReduce;
    const std::uint32_t dst = placement_.Target(id, src);
    Cell& from = cells_[src];
    if (from.value.count == 0) {
      Fail(id, src, " reads a chunk that is not there");
    }
    Require(from.writers, Role::kReceives, id, Role::kSends, src, false, order);
    Note(from.readers, id, false);
    Cell& to = cells_[dst];
    Require(to.readers, Role::kSends, id, Role::kReceives, dst, false, order);
    Require(to.writers, Role::kReceives, id, Role::kReceives, dst, adds, order);
    if (adds) {
      if (to.value.count == 0) {
        Fail(id, dst, " adds into a chunk that is not there");
      }
      to.value += cells_[src].value;
    } else {
      to.value = cells_[src].value;
      to.writers = to.readers = kNone;
    }
    Note(to.writers, id, adds);
  }

  void Require(std::uint32_t list, Role before, std::uint32_t id, Role role,
               std::uint32_t chip, bool adds, ProgramOrder& order) {
    for (std::uint32_t k = list; k != kNone; k = accesses_[k].next) {
      const Access& access = accesses_[k];
      if (adds && access.adds) continue;
      if (order.Ordered(access.step, before, id, role, chip, ClassOf(chip))) {
        continue;
      }
      Fail(id, chip,
           " and step " + std::to_string(access.step) +
               " use the same chunk, one writes it, and no dependence orders "
               "them");
      return;
    }
  }

  void Note(std::uint32_t& list, std::uint32_t step, bool adds) {
    accesses_.push_back({step, list, adds});
    list = static_cast<std::uint32_t>(accesses_.size() - 1);
  }

  void Fail(std::uint32_t step, std::uint32_t chip, const std::string& what) {
    violations_.Add("step " + std::to_string(step) + " at chip (" +
                    topology_.NameOf(ChipId(chip)) + ")" + what);
  }

  void CheckFinal(ChipId owner, int q, const OwnerBox& group) {
    Fingerprint full;
    if (program_.flow.all_contribute) {
      ForEachOwner(group, owner, topology_,
                   [&](ChipId chip) { full += ContributionOf(chip.value()); });
    } else {
      full = ContributionOf(owner.value());
    }
    const auto check = [&](ChipId chip) {
      const Fingerprint& value = cells_[chip.value()].value;
      if (value == full) return;
      violations_.Add("chunk " + std::to_string(q) + " of owner (" +
                      topology_.NameOf(owner) + ") ends with " +
                      std::to_string(value.count) + " contributions at chip (" +
                      topology_.NameOf(chip) + "), expected the full " +
                      std::to_string(full.count));
    };
    if (!program_.flow.all_receive) {
      check(owner);
    } else {
      ForEachOwner(group, owner, topology_, check);
    }
  }

  const Program& program_;
  const Topology& topology_;
  FoldedGrid grid_;
  Placement placement_;
  std::vector<bool> invariant_;                       // by axis
  std::vector<std::vector<std::uint32_t>> steps_of_;  // by sub-chunk
  std::vector<Cell> cells_;                           // by chip
  std::vector<Access> accesses_;
  Violations violations_;
};

}  // namespace

Violations VerifyOrbit(const Program& program, const Topology& topology) {
  return OrbitReplay(program, topology).Run();
}

std::uint64_t OrbitCost(const Program& program, const Topology& topology) {
  std::uint64_t owners = 1;
  for (std::size_t a = 0; a < topology.axes().size(); ++a) {
    if (!InvariantAlong(program, topology, static_cast<int>(a))) {
      owners *= topology.axes()[a].size;
    }
  }
  std::uint64_t accesses = 0;
  for (const ProgramStep& step : program.steps) {
    std::uint64_t volume = 1;
    for (const int len : program.patterns[step.pattern.value()].owners.len) {
      volume *= len;
    }
    accesses += step.where_axis < 0
                    ? volume
                    : volume / topology.axes()[step.where_axis].size + 1;
  }
  return owners * accesses;
}

}  // namespace podsim
