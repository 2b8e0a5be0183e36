#include "schedule/instantiate.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "test/support/lowered.h"

namespace podsim {
namespace {

using OpIds = std::vector<std::uint32_t>;

// The one-directional ring all-gather of algorithms 4.1, written here by hand:
// in step s chip i passes the shard of chip i-s on to chip i+1.
Program RingGather(int n) {
  ProgramBuilder builder({}, {.all_contribute = false, .all_receive = true},
                         {0});
  std::vector<After> after;
  for (int step = 0; step < n - 1; ++step) {
    const PatternId shard =
        builder.Pattern({.lo = {-step}}, /*part=*/0, Half::kBoth);
    after = {
        {builder.Send(/*lane=*/7, 0, Sign::kPlus, shard, Mode::kCopy, after),
         /*arrival=*/true}};
  }
  return std::move(builder).Build();
}

OpIds AfterOf(const Schedule& schedule, std::uint32_t op) {
  OpIds ids;
  for (const OpId wait : schedule.after(OpId(op))) ids.push_back(wait.value());
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST_CASE("op id = step * sites + site, relative coordinates made absolute",
          "[schedule]") {
  const Slice slice = MakeTorus({4});
  const Schedule schedule = Instantiate(RingGather(4), slice.topology,
                                        NoFold(slice.topology), Bytes(4000));
  REQUIRE(schedule.size() == 12);
  CHECK(schedule.transfers() == 12);
  CHECK(schedule.one_hop());
  for (std::uint32_t step = 0; step < 3; ++step) {
    for (std::uint32_t chip = 0; chip < 4; ++chip) {
      const OpId op(step * 4 + chip);
      CAPTURE(step, chip);
      CHECK(schedule.kind(op) == OpKind::kTransfer);
      CHECK(schedule.src(op) == ChipId(chip));
      CHECK(schedule.dst(op) == ChipId((chip + 1) % 4));
      CHECK(schedule.bytes(op) == Bytes(1000));
      CHECK(schedule.mode(op) == Mode::kCopy);
      CHECK(schedule.lane(op) == 7);
      CHECK(ChunkIdsOf(schedule, op, slice.topology, 1) ==
            OpIds{(chip + 4 - step) % 4});
      REQUIRE(schedule.route(op).size() == 1);
      CHECK(schedule.route(op)[0] ==
            slice.topology.LinkAt(ChipId(chip), 0, Sign::kPlus));
      OpIds expected;
      if (step > 0) {
        expected = {(step - 1) * 4 + chip, (step - 1) * 4 + (chip + 3) % 4};
        std::sort(expected.begin(), expected.end());
      }
      CHECK(AfterOf(schedule, op.value()) == expected);
    }
  }
}

TEST_CASE("shards without bytes send nothing, and lanes skip them",
          "[schedule]") {
  // S = 5 on 8 chips: owners 0 to 4 have one byte, 5 to 7 none.
  const Slice slice = MakeTorus({8});
  const Schedule schedule = Instantiate(RingGather(8), slice.topology,
                                        NoFold(slice.topology), Bytes(5));
  REQUIRE(schedule.size() == 7 * 5);
  std::map<std::pair<int, int>, std::uint32_t> op_of;  // (step, chip)
  std::map<int, std::uint32_t> last_of;                // lane, by chip
  std::uint32_t op = 0;
  for (int step = 0; step < 7; ++step) {
    for (int chip = 0; chip < 8; ++chip) {
      const int owner = (chip - step + 8) % 8;
      if (owner >= 5) continue;
      CAPTURE(step, chip);
      CHECK(schedule.src(OpId(op)) == ChipId(static_cast<unsigned>(chip)));
      CHECK(schedule.bytes(OpId(op)) == Bytes(1));
      std::set<std::uint32_t> expected;
      if (step > 0) expected.insert(op_of.at({step - 1, (chip + 7) % 8}));
      if (last_of.count(chip) > 0) expected.insert(last_of[chip]);
      CHECK(AfterOf(schedule, op) == OpIds(expected.begin(), expected.end()));
      op_of[{step, chip}] = op;
      last_of[chip] = op++;
    }
  }
}

TEST_CASE("an empty payload and a group of one chip send nothing",
          "[schedule]") {
  const Slice ring = MakeTorus({8});
  CHECK(
      Instantiate(RingGather(8), ring.topology, NoFold(ring.topology), Bytes(0))
          .size() == 0);
  CHECK(Instantiate(RingGather(1), MakeTorus({1}).topology,
                    NoFold(MakeTorus({1}).topology), Bytes(100))
            .size() == 0);
}

TEST_CASE("Where limits a step to one coordinate, chips ascending",
          "[schedule]") {
  const Slice slice = MakeMesh({3, 2});
  ProgramBuilder builder({}, {.all_contribute = false, .all_receive = true},
                         {0, 1});
  const PatternId own = builder.Pattern({}, 0, Half::kBoth);
  builder.Where(0, 1);
  const StepId right = builder.Send(0, 0, Sign::kPlus, own, Mode::kCopy, {});
  builder.Where(0, 2);
  builder.Send(1, 0, Sign::kMinus, own, Mode::kCopy,
               std::vector{After{right, true}});
  builder.Where(0, 0);  // nothing of `right` arrives there
  builder.Send(2, 0, Sign::kPlus, own, Mode::kCopy,
               std::vector{After{right, true}, After{right, false}});
  const Schedule schedule =
      Instantiate(std::move(builder).Build(), slice.topology,
                  NoFold(slice.topology), Bytes(600));
  // Chips with x = 1: 1 and 4; x = 2: 2 and 5; x = 0: 0 and 3.
  REQUIRE(schedule.size() == 6);
  const std::vector<std::uint32_t> sources = {1, 4, 2, 5, 0, 3};
  for (std::uint32_t op = 0; op < 6; ++op) {
    CHECK(schedule.src(OpId(op)).value() == sources[op]);
  }
  CHECK(AfterOf(schedule, 2) == OpIds{0});
  CHECK(AfterOf(schedule, 3) == OpIds{1});
  CHECK(AfterOf(schedule, 4).empty());
  CHECK(AfterOf(schedule, 5).empty());
}

TEST_CASE("a cyclic box of owners is placed around the sender", "[schedule]") {
  const Slice slice = MakeTorus({4, 3});
  ProgramBuilder builder(
      {.parts = 2, .fractions = {}, .batches = 1, .halves = true},
      {.all_contribute = false, .all_receive = true}, {0, 1});
  OwnerBox box;
  box.lo = {3, -1};
  box.len = {2, 2};
  const PatternId pattern = builder.Pattern(box, /*part=*/1, Half::kSecond);
  builder.Send(0, 0, Sign::kPlus, pattern, Mode::kCopy, {});
  const Schedule schedule =
      Instantiate(std::move(builder).Build(), slice.topology,
                  NoFold(slice.topology), Bytes(12 * 4));
  // Chip (2, 0): owners x in {2+3, 2+4} mod 4 = {1, 2}, y in {-1, 0} mod 3 =
  // {2, 0}: chips 9, 10, 1, 2. Of 4 sub-chunks, part 1's second half is 3.
  CHECK(ChunkIdsOf(schedule, OpId(2), slice.topology, 4) ==
        OpIds{4 + 3, 8 + 3, 36 + 3, 40 + 3});
  CHECK(schedule.bytes(OpId(2)) == Bytes(4));
}

TEST_CASE("the meaning numbers groups, ranks and chunks by chip",
          "[schedule]") {
  // Groups along y of 3x4: chips x, x+3, x+6, x+9. S = 5 over 4 ranks: 2 1 1 1.
  const Slice slice = MakeMesh({3, 4});
  ProgramBuilder builder(
      {.parts = 1, .fractions = {}, .batches = 1, .halves = true},
      {.all_contribute = true, .all_receive = false}, {1});
  const Program program = std::move(builder).Build();
  CHECK(GroupSize(program, slice.topology) == 4);
  const CollectiveMeaning meaning =
      MeaningOf(program, slice.topology, "reduce-scatter", Bytes(5));
  CHECK(meaning.kind == "reduce-scatter");
  CHECK(meaning.payload == Bytes(5));
  CHECK_FALSE(meaning.root.has_value());
  REQUIRE(meaning.groups.size() == 3);
  for (std::uint32_t x = 0; x < 3; ++x) {
    CHECK(meaning.groups[x] ==
          std::vector{ChipId(x), ChipId(x + 3), ChipId(x + 6), ChipId(x + 9)});
  }
  REQUIRE(meaning.chunks.size() == 12 * 2);
  for (std::uint32_t id = 0; id < meaning.chunks.size(); ++id) {
    const std::uint32_t chip = id / 2;
    const Chunk& chunk = meaning.chunks[id];
    CAPTURE(id);
    CHECK(chunk.group == chip % 3);
    CHECK(chunk.owner == chip / 3);
    // 2 = 1 + 1, 1 = 1 + 0.
    CHECK(chunk.bytes == Bytes(id % 2 == 0 || chip / 3 == 0 ? 1 : 0));
    CHECK_FALSE(chunk.contributor.has_value());
    CHECK(chunk.receiver == ChipId(chip));
  }
}

struct Case {
  Slice slice;
  LoweringSpec spec;
  Collective collective;
};

template <class Visit>
void ForEachCase(Visit visit) {
  const std::vector<std::pair<Shape, std::vector<bool>>> grids = {
      {{2}, {true}},
      {{2}, {false}},
      {{5}, {true}},
      {{6}, {true}},
      {{5}, {false}},
      {{2, 3}, {true, true}},
      {{3, 2}, {false, true}},
      {{4, 3}, {true, false}},
      {{3, 1, 4}, {false, false, true}},
      {{3, 3}, {false, false}},
      {{2, 2, 3}, {true, false, true}},
      {{2, 2, 2}, {true, true, true}}};
  std::vector<LoweringSpec> specs;
  for (const char* name : kAxisLowerings) specs.push_back(Spec(name));
  for (const std::string bucket : {"bucket", "bucket-rotated"}) {
    specs.push_back(Spec(bucket + ":axis_primitive=ring"));
    specs.push_back(Spec(bucket + ":axis_primitive=split"));
  }
  specs.push_back(Spec("bucket:batches=2"));
  specs.push_back(Spec("bucket-rotated:batches=3"));
  specs.push_back(Spec("bucket-rotated:fractions=balanced,batches=2"));
  for (const auto& [shape, wrap] : grids) {
    const Slice slice = MakeGridOf(shape, wrap);
    for (const auto& axes : AllAxisSubsets(shape.size())) {
      for (const LoweringSpec& spec : specs) {
        for (const CollectiveKind kind : kLoweredKinds) {
          for (const std::int64_t payload : {5, 37, 1 << 20}) {
            const Collective collective{
                .kind = kind, .payload = Bytes(payload), .axes = axes};
            if (WhyNot(spec, collective, slice.topology)) continue;
            visit(Case{slice, spec, collective});
          }
        }
      }
    }
  }
}

TEST_CASE("dependences are older ops, at most one per lane",
          "[schedule][property]") {
  ForEachCase([](const Case& c) {
    CAPTURE(c.slice.spec, ToText(c.spec, c.collective, c.slice.topology),
            ToText(c.collective.kind), c.collective.payload.value());
    const Schedule schedule = LowerOn(c.slice, c.spec, c.collective).schedule;
    for (std::uint32_t op = 0; op < schedule.size(); ++op) {
      std::set<std::pair<std::uint32_t, int>> lanes;
      for (const OpId wait : schedule.after(OpId(op))) {
        REQUIRE(wait.value() < op);
        REQUIRE(lanes.insert({schedule.src(wait).value(), schedule.lane(wait)})
                    .second);
      }
    }
  });
}

TEST_CASE("a transfer carries the bytes of its chunks, and at least one",
          "[schedule][property]") {
  ForEachCase([](const Case& c) {
    CAPTURE(c.slice.spec, ToText(c.spec, c.collective, c.slice.topology),
            ToText(c.collective.kind), c.collective.payload.value());
    const Lowered lowered = LowerOn(c.slice, c.spec, c.collective);
    const auto per_owner =
        static_cast<std::uint32_t>(lowered.program.split.sub_chunks());
    for (std::uint32_t op = 0; op < lowered.schedule.size(); ++op) {
      std::int64_t sum = 0;
      for (const std::uint32_t chunk : ChunkIdsOf(
               lowered.schedule, OpId(op), c.slice.topology, per_owner)) {
        sum += lowered.meaning.chunks[chunk].bytes.value();
      }
      REQUIRE(lowered.schedule.bytes(OpId(op)).value() == sum);
      REQUIRE(sum > 0);
    }
  });
}

// The dependences of algorithms 3.2, derived from what the transfers do: a
// transfer waits for every earlier one that wrote a chunk it reads at its
// source, and for the one before it in its lane (chip, part, axis, sign).
std::vector<OpIds> SpecifiedDependences(const Case& c, const Lowered& lowered) {
  const Schedule& schedule = lowered.schedule;
  const Topology& topology = c.slice.topology;
  const auto per_owner =
      static_cast<std::uint32_t>(lowered.program.split.sub_chunks());
  const std::uint32_t per_part =
      per_owner / static_cast<std::uint32_t>(lowered.program.split.parts);
  std::map<std::pair<std::uint32_t, std::uint32_t>, OpIds> writers;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last;
  std::vector<OpIds> after(schedule.size());
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    std::uint32_t part = 0;
    for (const std::uint32_t chunk :
         ChunkIdsOf(schedule, OpId(op), topology, per_owner)) {
      part = chunk % per_owner / per_part;
      if (lowered.meaning.chunks[chunk].bytes.value() == 0) continue;
      const OpIds& before = writers[{schedule.src(OpId(op)).value(), chunk}];
      after[op].insert(after[op].end(), before.begin(), before.end());
      writers[{schedule.dst(OpId(op)).value(), chunk}].push_back(op);
    }
    const auto [lane, first] =
        last.try_emplace({part, schedule.route(OpId(op))[0].value()}, op);
    if (!first) {
      after[op].push_back(lane->second);
      lane->second = op;
    }
  }
  return after;
}

// All ancestors of every op.
std::vector<std::vector<bool>> Closure(const std::vector<OpIds>& after) {
  std::vector<std::vector<bool>> ancestors(after.size());
  for (std::size_t op = 0; op < after.size(); ++op) {
    ancestors[op].resize(after.size());
    for (const std::uint32_t wait : after[op]) {
      ancestors[op][wait] = true;
      for (std::size_t k = 0; k < wait; ++k) {
        if (ancestors[wait][k]) ancestors[op][k] = true;
      }
    }
  }
  return ancestors;
}

TEST_CASE("a transfer waits for the data it reads and its lane, nothing else",
          "[schedule][property]") {
  ForEachCase([](const Case& c) {
    if (c.slice.topology.chips() > 9) return;
    CAPTURE(c.slice.spec, ToText(c.spec, c.collective, c.slice.topology),
            ToText(c.collective.kind), c.collective.payload.value());
    const Lowered lowered = LowerOn(c.slice, c.spec, c.collective);
    std::vector<OpIds> after;
    for (std::uint32_t op = 0; op < lowered.schedule.size(); ++op) {
      after.push_back(AfterOf(lowered.schedule, op));
    }
    const auto found = Closure(after);
    const auto specified = Closure(SpecifiedDependences(c, lowered));
    bool all_have_bytes = true;
    for (const Chunk& chunk : lowered.meaning.chunks) {
      all_have_bytes &= chunk.bytes.value() > 0;
    }
    if (all_have_bytes) {
      const bool equal = found == specified;  // printing them helps nobody
      REQUIRE(equal);
      return;
    }
    // Waits are those of the program: a transfer of several chunks also waits
    // for arrivals of which the one it would read is empty.
    for (std::size_t op = 0; op < found.size(); ++op) {
      for (std::size_t k = 0; k < op; ++k) {
        if (specified[op][k] && !found[op][k]) {
          FAIL("op " << op << " does not wait for op " << k);
        }
      }
    }
  });
}

}  // namespace
}  // namespace podsim
