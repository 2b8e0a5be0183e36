// The verifier against a naive one that keeps all accesses, all ancestors and
// all contributions, on schedules with random faults in single ops.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

// One op, with everything spelled out.
struct Row {
  OpKind kind = OpKind::kTransfer;
  std::uint32_t src = 0, dst = 0;
  std::vector<std::uint32_t> chunks;
  std::int64_t bytes = 0;
  Mode mode = Mode::kCopy;
  std::vector<LinkId> route;
  std::uint32_t scratch_of = 0;
  std::vector<std::uint32_t> after;
};

struct Written {
  Slice slice;
  CollectiveMeaning meaning;
  std::vector<Row> rows;
};

Schedule Build(const std::vector<Row>& rows) {
  Schedule schedule;
  for (const Row& row : rows) {
    std::vector<ChunkRun> runs;
    for (const std::uint32_t chunk : row.chunks) runs.push_back({chunk, 1});
    const ChunkSet chunks{schedule.AddRuns(runs), ChipId(0)};
    std::vector<OpId> after;
    for (const std::uint32_t wait : row.after) after.emplace_back(wait);
    if (row.kind == OpKind::kLocal) {
      schedule.AddLocal(ChipId(row.src), chunks, OpId(row.scratch_of),
                        Seconds(0), after);
      continue;
    }
    schedule.Add({.src = ChipId(row.src),
                  .dst = ChipId(row.dst),
                  .chunks = chunks,
                  .bytes = Bytes(row.bytes),
                  .mode = row.mode},
                 row.route, after);
  }
  return schedule;
}

// ---- the naive verifier -------------------------------------------------

class NaiveVerifier {
 public:
  explicit NaiveVerifier(const Written& written) : w_(written) {}

  bool Valid() {
    for (const Row& row : w_.rows) {
      if (!StructureHolds(row)) return false;
    }
    FindAncestors();
    StartContributions();
    for (std::uint32_t op = 0; op < w_.rows.size(); ++op) Replay(op);
    return dataflow_holds_ && PostconditionHolds() && NoHazard();
  }

 private:
  using Cell = std::pair<std::uint32_t, std::uint32_t>;  // chip, chunk
  enum class Use { kRead, kWrite, kAdd };
  struct Access {
    std::uint32_t op;
    Use use;
  };

  bool StructureHolds(const Row& row) const {
    if (row.kind == OpKind::kLocal) {
      const Row& from = w_.rows[row.scratch_of];
      return from.kind == OpKind::kTransfer && from.mode == Mode::kScratch &&
             from.dst == row.src;
    }
    std::int64_t bytes = 0;
    for (const std::uint32_t chunk : row.chunks) {
      bytes += w_.meaning.chunks[chunk].bytes.value();
    }
    ChipId at(row.src);
    for (const LinkId link : row.route) {
      if (!w_.slice.topology.Live(link)) return false;
      if (w_.slice.topology.Source(link) != at) return false;
      at = w_.slice.topology.Target(link);
    }
    return at == ChipId(row.dst) && bytes == row.bytes;
  }

  void FindAncestors() {
    for (const Row& row : w_.rows) {
      std::set<std::uint32_t> all;
      for (const std::uint32_t wait : row.after) {
        all.insert(wait);
        all.insert(ancestors_[wait].begin(), ancestors_[wait].end());
      }
      ancestors_.push_back(all);
    }
  }

  void StartContributions() {
    for (std::uint32_t c = 0; c < w_.meaning.chunks.size(); ++c) {
      const Chunk& chunk = w_.meaning.chunks[c];
      if (chunk.contributor) {
        values_[{chunk.contributor->value(), c}] = {chunk.contributor->value()};
        continue;
      }
      for (const ChipId chip : w_.meaning.groups[chunk.group]) {
        values_[{chip.value(), c}] = {chip.value()};
      }
    }
  }

  void Replay(std::uint32_t op) {
    const Row& row = w_.rows[op];
    for (const std::uint32_t chunk : row.chunks) {
      if (w_.meaning.chunks[chunk].bytes.value() == 0) continue;
      std::multiset<std::uint32_t> brought;
      std::uint32_t target = row.src;
      if (row.kind == OpKind::kLocal) {
        // Its scratch must have been filled before.
        if (ancestors_[op].count(row.scratch_of) == 0 ||
            scratch_.count({row.scratch_of, chunk}) == 0) {
          dataflow_holds_ = false;
          continue;
        }
        brought = scratch_[{row.scratch_of, chunk}];
      } else {
        brought = values_[{row.src, chunk}];
        if (brought.empty()) dataflow_holds_ = false;
        accesses_[{row.src, chunk}].push_back({op, Use::kRead});
        if (row.mode == Mode::kScratch) {
          scratch_[{op, chunk}] = brought;
          continue;
        }
        target = row.dst;
      }
      auto& value = values_[{target, chunk}];
      if (row.kind == OpKind::kTransfer && row.mode == Mode::kCopy) {
        accesses_[{target, chunk}].push_back({op, Use::kWrite});
        value = brought;
        continue;
      }
      accesses_[{target, chunk}].push_back({op, Use::kAdd});
      if (value.empty()) dataflow_holds_ = false;
      for (const std::uint32_t chip : brought) {
        if (value.count(chip) > 0) dataflow_holds_ = false;  // twice
        value.insert(chip);
      }
    }
  }

  bool PostconditionHolds() {
    for (std::uint32_t c = 0; c < w_.meaning.chunks.size(); ++c) {
      const Chunk& chunk = w_.meaning.chunks[c];
      if (chunk.bytes.value() == 0) continue;
      const auto& group = w_.meaning.groups[chunk.group];
      std::multiset<std::uint32_t> full;
      for (const ChipId chip : group) full.insert(chip.value());
      if (chunk.contributor) full = {chunk.contributor->value()};
      for (const ChipId chip : group) {
        if (chunk.receiver && *chunk.receiver != chip) continue;
        if (values_[{chip.value(), c}] != full) return false;
      }
    }
    return true;
  }

  // Of two uses of a cell the later must wait for the earlier, unless both
  // read or both add.
  bool NoHazard() const {
    for (const auto& [cell, accesses] : accesses_) {
      for (std::size_t b = 0; b < accesses.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
          if (accesses[a].use == accesses[b].use &&
              accesses[a].use != Use::kWrite) {
            continue;
          }
          if (ancestors_[accesses[b].op].count(accesses[a].op) == 0) {
            return false;
          }
        }
      }
    }
    return true;
  }

  const Written& w_;
  std::vector<std::set<std::uint32_t>> ancestors_;
  std::map<Cell, std::multiset<std::uint32_t>> values_;
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           std::multiset<std::uint32_t>>
      scratch_;  // by op, chunk
  std::map<Cell, std::vector<Access>> accesses_;
  bool dataflow_holds_ = true;
};

// ---- schedules to break -------------------------------------------------

Written FromLowering(const Slice& slice, const LoweringSpec& spec,
                     const Collective& collective) {
  const Lowered lowered = LowerOn(slice, spec, collective);
  Written written{slice, lowered.meaning, {}};
  const Schedule& schedule = lowered.schedule;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    Row row{.src = schedule.src(op).value(),
            .dst = schedule.dst(op).value(),
            .chunks = ChunkIdsOf(
                schedule, op, slice.topology,
                static_cast<std::uint32_t>(lowered.program.split.sub_chunks())),
            .bytes = schedule.bytes(op).value(),
            .mode = schedule.mode(op),
            .route = {},
            .after = {}};
    row.route.assign(schedule.route(op).begin(), schedule.route(op).end());
    for (const OpId wait : schedule.after(op)) {
      row.after.push_back(wait.value());
    }
    written.rows.push_back(row);
  }
  return written;
}

// Recursive doubling on a ring of n = 2^k: in round r chips i and i xor 2^r
// exchange all they have through scratch, over routes of 2^r hops.
Written RecursiveDoubling(int n, int chunks) {
  const Slice slice = MakeTorus({n});
  Written written{slice, {}, {}};
  written.meaning.kind = "all-reduce";
  written.meaning.payload = Bytes(chunks);
  written.meaning.groups.emplace_back();
  for (std::uint32_t id = 0; id < static_cast<std::uint32_t>(n); ++id) {
    written.meaning.groups[0].emplace_back(id);
  }
  std::vector<std::uint32_t> all;
  for (int c = 0; c < chunks; ++c) {
    written.meaning.chunks.push_back({.group = 0,
                                      .owner = 0,
                                      .bytes = Bytes(1),
                                      .contributor = {},
                                      .receiver = {}});
    all.push_back(static_cast<std::uint32_t>(c));
  }
  std::vector<std::vector<std::uint32_t>> ready(static_cast<std::size_t>(n));
  for (int bit = 1; bit < n; bit *= 2) {
    const auto first = static_cast<std::uint32_t>(written.rows.size());
    for (int i = 0; i < n; ++i) {
      const Sign sign = (i & bit) == 0 ? Sign::kPlus : Sign::kMinus;
      Row row{.src = static_cast<std::uint32_t>(i),
              .dst = static_cast<std::uint32_t>(i ^ bit),
              .chunks = all,
              .bytes = chunks,
              .mode = Mode::kScratch,
              .route = {},
              .after = ready[static_cast<std::size_t>(i)]};
      ChipId at(row.src);
      for (int hop = 0; hop < bit; ++hop) {
        row.route.push_back(slice.topology.LinkAt(at, 0, sign));
        at = *slice.topology.Neighbour(at, 0, sign);
      }
      written.rows.push_back(row);
    }
    for (int i = 0; i < n; ++i) {
      const std::uint32_t own = first + static_cast<std::uint32_t>(i);
      const std::uint32_t other = first + static_cast<std::uint32_t>(i ^ bit);
      ready[static_cast<std::size_t>(i)] = {
          static_cast<std::uint32_t>(written.rows.size())};
      written.rows.push_back({.kind = OpKind::kLocal,
                              .src = static_cast<std::uint32_t>(i),
                              .chunks = all,
                              .route = {},
                              .scratch_of = other,
                              .after = {own, other}});
    }
  }
  return written;
}

Written MakeSchedule(Random& random) {
  if (random.OneIn(4)) {
    return RecursiveDoubling(1 << random.Int(1, 3), random.Int(1, 2));
  }
  for (;;) {
    const Shape shape = RandomShape(random, 2, 7);
    const Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
    LoweringSpec spec = Spec(random.Pick(kAxisLowerings));
    if (spec.name.starts_with("bucket")) {
      spec.batches = random.Int(1, 2);
      spec.axis_primitive = random.Pick(
          {AxisPrimitive::kRing, AxisPrimitive::kSplit, AxisPrimitive::kShort});
    }
    const Collective collective{
        .kind = random.Pick(kLoweredKinds),
        .payload = Bytes(random.OneIn(3) ? random.Between(1, 12) : 5040),
        .axes = random.Pick(AllAxisSubsets(shape.size()))};
    if (WhyNot(spec, collective, slice.topology)) continue;
    Written written = FromLowering(slice, spec, collective);
    if (!written.rows.empty() && written.rows.size() <= 250) return written;
  }
}

// ---- faults -------------------------------------------------------------

template <class Item>
void EraseOne(Random& random, std::vector<Item>& items) {
  if (items.empty()) return;
  items.erase(items.begin() +
              random.Between(0, static_cast<std::int64_t>(items.size()) - 1));
}

// One random change; returns its name. Often harmless.
std::string Break(Random& random, Written& written) {
  std::vector<Row>& rows = written.rows;
  const auto k = static_cast<std::size_t>(
      random.Between(0, static_cast<std::int64_t>(rows.size()) - 1));
  const std::string of = " of op " + std::to_string(k);
  Row& row = rows[k];
  switch (random.Int(0, 9)) {
    case 0:
    case 1:
    case 2:
      EraseOne(random, row.after);
      return "drop a wait" + of;
    case 3: {  // the ops that waited for k wait for what k waited for
      for (Row& other : rows) {
        const auto found = std::find(other.after.begin(), other.after.end(), k);
        if (found == other.after.end()) continue;
        other.after.erase(found);
        for (const std::uint32_t wait : row.after) {
          if (std::find(other.after.begin(), other.after.end(), wait) ==
              other.after.end()) {
            other.after.push_back(wait);
          }
        }
      }
      return "hide all waits for op " + std::to_string(k);
    }
    case 4:
      if (row.kind != OpKind::kTransfer) break;
      row.mode = random.Pick({Mode::kCopy, Mode::kReduce, Mode::kScratch});
      return "other mode" + of;
    case 5: {
      EraseOne(random, row.chunks);
      row.bytes = 0;
      for (const std::uint32_t chunk : row.chunks) {
        row.bytes += written.meaning.chunks[chunk].bytes.value();
      }
      return "a chunk less" + of;
    }
    case 6: {
      const Row& other = random.Pick(rows);
      row.chunks = other.chunks;
      if (row.kind == OpKind::kTransfer) {
        row.bytes = 0;
        for (const std::uint32_t chunk : row.chunks) {
          row.bytes += written.meaning.chunks[chunk].bytes.value();
        }
      }
      return "chunks of another op in place of those" + of;
    }
    case 7: {
      Row again = row;  // once more at the end, after everything or nothing
      if (random.OneIn(2)) {
        again.after.clear();
        for (std::uint32_t op = 0; op < rows.size(); ++op) {
          again.after.push_back(op);
        }
      }
      rows.push_back(again);
      return "repeat" + of;
    }
    case 8:
      if (row.kind != OpKind::kTransfer) break;
      row.bytes += random.Pick({-1, 1});
      return "other bytes" + of;
    default:
      if (row.kind != OpKind::kTransfer) break;
      if (random.OneIn(2)) {
        row.dst = static_cast<std::uint32_t>(
            random.Int(0, written.slice.topology.chips() - 1));
      } else {
        const Row other = random.Pick(rows);
        if (other.kind == OpKind::kTransfer) row.route = other.route;
      }
      return "other destination or route" + of;
  }
  return "nothing";
}

std::string FirstOf(const Violations& violations) {
  return violations.empty() ? "none" : violations.texts().front();
}

TEST_CASE("the verifier agrees with a naive one on correct schedules",
          "[schedule][oracle]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Written written = MakeSchedule(random);
    CAPTURE(seed, written.slice.spec, written.meaning.kind);
    const Violations found = VerifyFull(Build(written.rows), written.meaning,
                                        written.slice.topology);
    CAPTURE(FirstOf(found));
    CHECK(found.empty());
    CHECK(NaiveVerifier(written).Valid());
  }
}

TEST_CASE("the verifier agrees with a naive one on 6000 broken schedules",
          "[schedule][oracle][property]") {
  int broken = 0, harmless = 0;
  for (std::uint64_t seed = 1000; seed < 7000; ++seed) {
    Random random(seed);
    Written written = MakeSchedule(random);
    std::string faults = Break(random, written);
    if (random.OneIn(3)) faults += ", " + Break(random, written);
    CAPTURE(seed, written.slice.spec, written.meaning.kind, written.rows.size(),
            faults);
    const Violations found = VerifyFull(Build(written.rows), written.meaning,
                                        written.slice.topology);
    CAPTURE(FirstOf(found));
    const bool valid = NaiveVerifier(written).Valid();
    CHECK(found.empty() == valid);
    ++(valid ? harmless : broken);
  }
  CHECK(broken > 2000);
  CHECK(harmless > 500);
}

}  // namespace
}  // namespace podsim
