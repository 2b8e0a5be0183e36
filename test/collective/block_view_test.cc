// Groups that are blocks of axes: recognised, and lowered like the slice of one
// block alone.
#include "collective/block_view.h"

#include <map>

#include "cost/closed_form.h"
#include "schedule/placement.h"
#include "test/support/prove_whole.h"

namespace podsim {
namespace {

using Lists = std::vector<std::vector<ChipId>>;

Lists ListsOf(const std::vector<std::vector<int>>& lists) {
  Lists groups;
  for (const auto& list : lists) {
    groups.emplace_back();
    for (const int chip : list) groups.back().emplace_back(chip);
  }
  return groups;
}

// The boxes of these lengths that tile the slice.
Lists BoxesOf(const Shape& lengths, const Topology& topology) {
  std::map<Coordinates, std::vector<ChipId>> by_origin;
  for (int id = 0; id < topology.chips(); ++id) {
    Coordinates at = topology.CoordinatesOf(ChipId(id));
    for (std::size_t a = 0; a < lengths.size(); ++a) at[a] /= lengths[a];
    by_origin[at].emplace_back(id);
  }
  Lists groups;
  for (const auto& [origin, chips] : by_origin) groups.push_back(chips);
  return groups;
}

Collective OnBoxes(const Shape& lengths, const Slice& slice) {
  return OnLists(CollectiveKind::kAllGather, 0,
                 BoxesOf(lengths, slice.topology));
}

std::optional<BlockView> ViewOf(const Lists& groups, const Slice& slice) {
  return BlockViewOf(OnLists(CollectiveKind::kAllGather, 0, groups),
                     slice.topology);
}

TEST_CASE("halves of a slice are blocks cut along one axis", "[collective]") {
  const Slice slice = MakeTorus({4, 4, 8}, kTestRates);
  Collective halves = OnBoxes({4, 4, 4}, slice);
  REQUIRE(halves.groups.size() == 2);
  CHECK(halves.groups[1].front() == ChipId(64));
  // Chip (1, 2, 7): the rank of (1, 2, 3).
  halves.root = slice.topology.ChipAt({1, 2, 7});
  const auto view = BlockViewOf(halves, slice.topology);
  REQUIRE(view);
  CHECK(view->blocks == std::vector<int>{4, 4, 4});
  CHECK(view->collective.groups.empty());
  CHECK(view->collective.axes == std::vector<int>{0, 1, 2});
  CHECK(view->topology.chips() == 64);
  CHECK(view->topology.axes()[0].wrap);
  CHECK(view->topology.axes()[1].wrap);
  CHECK_FALSE(view->topology.axes()[2].wrap);
  CHECK(view->topology.base_bandwidth() == slice.topology.base_bandwidth());
  CHECK(view->topology.base_latency() == slice.topology.base_latency());
  CHECK(view->collective.root == view->topology.ChipAt({1, 2, 3}));
}

TEST_CASE("an axis that the groups do not extend along stays whole",
          "[collective]") {
  const Slice slice = MakeTorus({4, 4, 8}, kTestRates);
  const auto view = BlockViewOf(OnBoxes({4, 2, 1}, slice), slice.topology);
  REQUIRE(view);
  CHECK(view->blocks == std::vector<int>{4, 2, 8});
  CHECK(view->collective.axes == std::vector<int>{0, 1});
  CHECK(view->topology.chips() == 64);
  CHECK_FALSE(view->topology.axes()[1].wrap);
  CHECK(view->topology.axes()[2].wrap);
}

TEST_CASE("blocks may be listed in any order", "[collective]") {
  const Slice slice = MakeMesh({6}, kTestRates);
  const auto view = ViewOf(ListsOf({{2, 3}, {4, 5}, {0, 1}}), slice);
  REQUIRE(view);
  CHECK(view->blocks == std::vector<int>{2});
  // Whole axes, too: nothing is cut then.
  const Slice grid = MakeMesh({2, 2}, kTestRates);
  const auto lines = ViewOf(ListsOf({{2, 3}, {0, 1}}), grid);
  REQUIRE(lines);
  CHECK(lines->blocks.empty());
  CHECK(lines->collective.axes == std::vector<int>{0});
}

TEST_CASE("lists that are no blocks are told apart", "[collective]") {
  const Slice line = MakeTorus({6}, kTestRates);
  CHECK_FALSE(ViewOf(ListsOf({{1, 2}, {3, 4}, {0, 5}}), line));  // begin at 1
  CHECK_FALSE(ViewOf(ListsOf({{0, 1}, {3, 2}, {4, 5}}), line));  // ranks
  CHECK_FALSE(ViewOf(ListsOf({{0, 1}, {2, 3}}), line));  // two chips left out
  CHECK_FALSE(ViewOf(ListsOf({{0, 2, 4}, {1, 3, 5}}), line));  // every second
  CHECK_FALSE(ViewOf(ListsOf({{0, 1, 2, 3}, {4, 5}}), line));
  const Slice grid = MakeMesh({4, 2}, kTestRates);
  CHECK(ViewOf(ListsOf({{0, 1}, {4, 5}, {2, 3}, {6, 7}}), grid));
  // Boxes, some upright; then as many chips between the ends, but others.
  CHECK_FALSE(ViewOf(ListsOf({{0, 1}, {4, 5}, {2, 6}, {3, 7}}), grid));
  CHECK_FALSE(ViewOf(ListsOf({{0, 1, 2, 5}, {3, 4, 6, 7}}), grid));
  CHECK_FALSE(ViewOf({}, grid));
}

TEST_CASE("blocks count on one plain slice only", "[collective]") {
  Slice faulty = MakeTorus({4, 4}, kTestRates);
  const Lists groups = BoxesOf({4, 2}, faulty.topology);
  CHECK(ViewOf(groups, faulty));
  faulty.topology.Kill(LinkId(0));
  CHECK_FALSE(ViewOf(groups, faulty));
  const Slice twisted = MakeTwisted({4, 8}, kTestRates);
  CHECK_FALSE(ViewOf(BoxesOf({4, 4}, twisted.topology), twisted));
  const Slice two = MakeSlices(MakeTorus({4, 4}, kTestRates), 2, 6e9, 7e-6);
  CHECK_FALSE(ViewOf(BoxesOf({4, 2, 1}, two.topology), two));
}

// ---- lowered ------------------------------------------------------------

struct BlockCase {
  Slice slice;
  Slice block;  // alone, along the group's axes only
  Collective on_blocks;
  Collective alone;
  Shape lengths;
};

// Some axis is cut.
BlockCase MakeBlockCase(Random& random, int max_chips) {
  for (;;) {
    const Shape shape = RandomShape(random, 4, max_chips);
    const std::vector<bool> wrap = RandomWrap(random, shape);
    Shape lengths;
    std::vector<bool> wraps;
    bool cut = false;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      std::vector<int> divisors;
      for (int length = 1; length <= shape[a]; ++length) {
        if (shape[a] % length == 0) divisors.push_back(length);
      }
      lengths.push_back(random.Pick(divisors));
      wraps.push_back(wrap[a] && lengths[a] == shape[a]);
      cut |= lengths[a] > 1 && lengths[a] < shape[a];
    }
    if (!cut) continue;
    BlockCase c{.slice = MakeGridOf(shape, wrap, kTestRates),
                .block = MakeGridOf(lengths, wraps, kTestRates),
                .on_blocks = {},
                .alone = {},
                .lengths = lengths};
    const CollectiveKind kind = random.Pick(kLoweredKinds);
    const std::int64_t n = ChipsOf(lengths);
    const std::int64_t payload = random.Pick(
        {std::int64_t{1}, n - 1, n + 1, 3 * n + 2, 1000 * n + 7, n * 720'720});
    c.on_blocks = OnLists(kind, payload, BoxesOf(lengths, c.slice.topology));
    random.Shuffle(c.on_blocks.groups);
    c.alone = OnAllChips(kind, payload, c.block);
    return c;
  }
}

std::vector<LoweringSpec> BlockSpecs() {
  std::vector<LoweringSpec> specs = WithProgram(SpecsToCompare());
  specs.push_back(Spec("bucket:batches=3"));
  specs.push_back(Spec("bucket-rotated:batches=2"));
  specs.push_back(Spec("bucket-rotated:fractions=balanced,batches=4"));
  specs.push_back(Spec("windowed-matmul:step_compute=1us"));
  return specs;
}

bool AllHaveBytes(const CollectiveMeaning& meaning) {
  return std::none_of(
      meaning.chunks.begin(), meaning.chunks.end(),
      [](const Chunk& chunk) { return chunk.bytes.value() == 0; });
}

// Nothing goes from block to block.
void RequireInside(const BlockCase& c, const Schedule& schedule) {
  const auto block_of = [&](ChipId chip) {
    Coordinates at = c.slice.topology.CoordinatesOf(chip);
    for (std::size_t a = 0; a < c.lengths.size(); ++a) at[a] /= c.lengths[a];
    return at;
  };
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    REQUIRE(block_of(schedule.src(OpId(id))) ==
            block_of(schedule.dst(OpId(id))));
  }
}

// Proved by replay and by orbit; as fast as one block alone.
void ProveOnBlocks(const BlockCase& c, const LoweringSpec& spec) {
  const Lowered lowered = LowerOn(c.slice, spec, c.on_blocks);
  const Violations full =
      VerifyFull(lowered.schedule, lowered.meaning, c.slice.topology);
  CAPTURE(FirstOf(full));
  REQUIRE(full.empty());
  if (AllHaveBytes(lowered.meaning)) {
    const Violations orbit = VerifyOrbit(lowered.program, c.slice.topology);
    CAPTURE(FirstOf(orbit));
    REQUIRE(orbit.empty());
  }
  RequireInside(c, lowered.schedule);
  Lists groups = lowered.meaning.groups;
  Lists expected = c.on_blocks.groups;
  std::sort(groups.begin(), groups.end());
  std::sort(expected.begin(), expected.end());
  REQUIRE(groups == expected);
  const double time = RunPod(lowered.schedule, MakeNetwork(c.slice)).makespan;
  const Lowered alone = LowerOn(c.block, spec, c.alone);
  REQUIRE(Near(time, RunPod(alone.schedule, MakeNetwork(c.block)).makespan));
  const auto closed =
      ClosedForm(Resolve(spec, c.on_blocks, c.slice), c.on_blocks, c.slice);
  const auto expected_form =
      ClosedForm(Resolve(spec, c.alone, c.block), c.alone, c.block);
  REQUIRE(closed.has_value() == expected_form.has_value());
  if (closed) REQUIRE(Near(closed->value(), time));
}

TEST_CASE("what has a program does on blocks what it does on one alone",
          "[collective][property]") {
  std::map<std::string, int> proved;
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    Random random(seed);
    const BlockCase c = MakeBlockCase(random, 48);
    for (const LoweringSpec& spec : BlockSpecs()) {
      CAPTURE(seed, c.slice.spec, c.block.spec, spec.name, spec.batches,
              ToText(spec.axis_primitive), ToText(c.on_blocks.kind),
              c.on_blocks.payload.value());
      const auto reason = WhyNot(spec, c.on_blocks, c.slice.topology);
      REQUIRE(reason.has_value() ==
              WhyNot(spec, c.alone, c.block.topology).has_value());
      if (reason) continue;
      REQUIRE(IsRedundant(spec, c.on_blocks, c.slice.topology) ==
              IsRedundant(spec, c.alone, c.block.topology));
      REQUIRE(CountSteps(spec, c.on_blocks, c.slice.topology) ==
              CountSteps(spec, c.alone, c.block.topology));
      REQUIRE(ToText(spec, c.on_blocks, c.slice.topology) ==
              ToText(spec, c.alone, c.block.topology));
      ProveOnBlocks(c, spec);
      ++proved[spec.name];
    }
  }
  CHECK(proved["line"] > 25);
  CHECK(proved["bucket"] > 500);
  CHECK(proved["bucket-rotated"] > 500);
}

// Of a step the chunks of another one, or one wait less.
Program Broken(Program program, Random& random) {
  const auto count = static_cast<int>(program.steps.size());
  ProgramStep& step =
      program.steps[static_cast<std::size_t>(random.Int(0, count - 1))];
  if (random.OneIn(2)) {
    step.pattern =
        program.steps[static_cast<std::size_t>(random.Int(0, count - 1))]
            .pattern;
  } else if (step.end_after > step.first_after) {
    --step.end_after;
    step.own_after =
        std::min(step.own_after, step.end_after - step.first_after);
  }
  return program;
}

TEST_CASE("both proofs agree on broken programs on blocks",
          "[collective][property]") {
  int broken = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    BlockCase c = MakeBlockCase(random, 32);
    c.on_blocks.payload = Bytes(ChipsOf(c.lengths) * 720);
    const LoweringSpec spec =
        Spec(random.OneIn(2) ? "bucket-rotated" : "bucket:batches=2");
    const Program program =
        Broken(Lower(spec, c.on_blocks, c.slice.topology), random);
    CAPTURE(seed, c.slice.spec, c.block.spec, spec.name);
    const Violations full =
        VerifyFull(Instantiate(program, c.slice.topology,
                               NoFold(c.slice.topology), c.on_blocks.payload),
                   MeaningOf(program, c.slice.topology,
                             ToText(c.on_blocks.kind), c.on_blocks.payload),
                   c.slice.topology);
    const Violations orbit = VerifyOrbit(program, c.slice.topology);
    CAPTURE(FirstOf(full), FirstOf(orbit));
    REQUIRE(full.empty() == orbit.empty());
    broken += full.empty() ? 0 : 1;
  }
  CHECK(broken > 100);
}

TEST_CASE("a program that leaves its block is refused", "[collective]") {
  const Slice slice = MakeTorus({4, 4}, kTestRates);
  const Collective pairs = OnBoxes({2, 1}, slice);
  Program program = Lower(Spec("line"), pairs, slice.topology);
  CHECK(VerifyOrbit(program, slice.topology).empty());
  // The chip at the end of a block sends on over the cable to the next.
  program.steps[0].sign = Opposite(program.steps[0].sign);
  CHECK_FALSE(StaysInBlocks(program, program.steps[0], slice.topology));
  const Violations found = VerifyOrbit(program, slice.topology);
  REQUIRE_FALSE(found.empty());
  CHECK(found.texts().front() == "step 0 leaves its block");
}

TEST_CASE("blocks fold to one of them", "[collective]") {
  const Slice slice = MakeGridOf({4, 4, 8}, {true, true, false}, kTestRates);
  const Collective halves = OnBoxes({4, 4, 4}, slice);
  const Program program = Lower(Spec("bucket-rotated"), halves, slice.topology);
  CHECK(PeriodsOf(program, slice.topology) == std::vector<int>{1, 1, 4});
  CHECK(OrbitClasses(program, slice.topology) == 4);
}

TEST_CASE("lists that are no blocks are refused with all that is taken",
          "[collective]") {
  const Slice slice = MakeTorus({6}, kTestRates);
  const auto reason = WhyNot(
      Spec("line"),
      OnLists(CollectiveKind::kAllGather, 6, ListsOf({{1, 2}, {3, 4}, {0, 5}})),
      slice.topology);
  CHECK(reason ==
        "its groups must be all chips, the sub-grids of some axes or, on one "
        "healthy slice without a twist, equal blocks of consecutive "
        "coordinates, and these lists are none of them; use direct, binomial "
        "or double-binary-tree");
}

}  // namespace
}  // namespace podsim
