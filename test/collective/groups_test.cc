// Who takes part in a collective: lists of chips, roots, pairs and shifts.
#include "collective/groups.h"

#include <catch2/catch.hpp>

#include "test/support/error_of.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

using Lists = std::vector<std::vector<ChipId>>;

Lists Chips(const std::vector<std::vector<unsigned>>& ids) {
  Lists groups;
  for (const auto& list : ids) {
    groups.emplace_back();
    for (const unsigned id : list) groups.back().emplace_back(id);
  }
  return groups;
}

Collective Of(CollectiveKind kind) {
  return {.kind = kind, .payload = Bytes(64), .axes = {}};
}

// ---- groups in JSON -----------------------------------------------------

Collective Read(const std::string& text, const Slice& slice,
                CollectiveKind kind = CollectiveKind::kAllReduce) {
  Collective collective = Of(kind);
  ReadGroups(JsonValue::ParseText(text, "f.json"), slice.topology, collective);
  return collective;
}

TEST_CASE("lists of chips are read in rank order", "[collective]") {
  const Slice slice = MakeMesh({4, 2});
  const Collective lists = Read("[[5, 0, 3], [1], [7, 6]]", slice);
  CHECK(lists.groups == Chips({{5, 0, 3}, {1}, {7, 6}}));
  CHECK(lists.axes.empty());
  CHECK(GroupsOf(lists, slice.topology) == lists.groups);
  CHECK(GroupSize(lists, slice.topology) == 3);
}

TEST_CASE("lists that are the sub-grids of axes become those axes",
          "[collective]") {
  const Slice slice = MakeMesh({3, 2});
  const Collective rows = Read("[[0, 1, 2], [3, 4, 5]]", slice);
  CHECK(rows.groups.empty());
  CHECK(rows.axes == std::vector<int>{0});
  CHECK(Read("[[0,3],[1,4],[2,5]]", slice).axes == std::vector<int>{1});
  CHECK(Read("[[0,1,2,3,4,5]]", slice).axes == std::vector<int>{0, 1});
  CHECK(Read("[[0],[1],[2],[3],[4],[5]]", slice).groups.empty());
  // Another order of ranks, of groups, or not all of them: no axes.
  for (const char* text : {"[[2,1,0],[3,4,5]]", "[[3,4,5],[0,1,2]]",
                           "[[0,1,2]]", "[[0,1],[2,3],[4,5]]"}) {
    CAPTURE(text);
    CHECK_FALSE(Read(text, slice).groups.empty());
  }
}

TEST_CASE("bad groups are refused where they stand", "[collective]") {
  Slice slice = MakeMesh({4, 2});
  slice.topology.Kill(ChipId(6));
  struct Row {
    const char* text;
    CollectiveKind kind;
    const char* message;
  };
  const CollectiveKind reduce = CollectiveKind::kAllReduce;
  const Row rows[] = {
      {"{}", reduce, "f.json: expected an array, got {}"},
      {"[]", reduce, "f.json: expected at least one group"},
      {"[3]", reduce, "f.json: /0: expected an array, got 3"},
      {"[[0], []]", reduce, "f.json: /1: expected at least one chip"},
      {"[[0, 8]]", reduce,
       "f.json: /0/1: expected an integer from 0 to 7, got 8"},
      {"[[-1]]", reduce,
       "f.json: /0/0: expected an integer from 0 to 7, got -1"},
      {"[[1.5]]", reduce,
       "f.json: /0/0: expected an integer from 0 to 7, got 1.5"},
      {"[[\"0\"]]", reduce,
       "f.json: /0/0: expected an integer from 0 to 7, got \"0\""},
      {"[[0, 6]]", reduce, "f.json: /0/1: chip 6 is dead; leave it out"},
      {"[[0, 1, 0]]", reduce,
       "f.json: /0/2: chip 0 stands twice in the groups"},
      {"[[0, 1], [2, 1]]", reduce,
       "f.json: /1/1: chip 1 stands twice in the groups"},
      {"[[0, 1], [2]]", CollectiveKind::kAllGather,
       "f.json: /1: expected 2 chips as in the first group, got 1; groups of "
       "all-gather are equally large"},
      {"[[0], [1], [2, 3, 4]]", CollectiveKind::kAllToAll,
       "f.json: /2: expected 1 chips as in the first group, got 3; groups of "
       "all-to-all are equally large"},
      {"[[0, 1]]", CollectiveKind::kCollectivePermute,
       "f.json: a collective-permute has pairs or a shift, not groups"}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(ErrorOf([&] { Read(row.text, slice, row.kind); }) == row.message);
  }
  for (const CollectiveKind kind : GroupKinds()) {
    CAPTURE(ToText(kind));
    const bool unequal = kind == CollectiveKind::kAllReduce ||
                         kind == CollectiveKind::kBroadcast ||
                         kind == CollectiveKind::kReduce;
    CHECK((ErrorOf([&] { Read("[[0, 1], [2]]", slice, kind); }) ==
           "no error") == unequal);
  }
}

// ---- groups of axes -----------------------------------------------------

TEST_CASE("the groups of axes hold every chip once, and are found again",
          "[collective][property]") {
  for (const Shape& shape : AllShapes(24)) {
    const Slice slice = MakeMesh(shape);
    const int chips = slice.topology.chips();
    for (const auto& axes : AllAxisSubsets(shape.size())) {
      CAPTURE(slice.spec, axes);
      Collective collective = Of(CollectiveKind::kAllReduce);
      collective.axes = axes;
      const Lists groups = GroupsOf(collective, slice.topology);
      REQUIRE(int(groups.size()) ==
              chips / GroupSize(collective, slice.topology));
      std::vector<bool> seen(std::size_t(chips), false);
      for (const auto& group : groups) {
        REQUIRE(std::is_sorted(group.begin(), group.end()));
        const Coordinates first = slice.topology.CoordinatesOf(group[0]);
        for (const ChipId chip : group) {
          REQUIRE_FALSE(seen[chip.value()]);
          seen[chip.value()] = true;
          const Coordinates at = slice.topology.CoordinatesOf(chip);
          for (int axis = 0; axis < int(shape.size()); ++axis) {
            const bool along =
                std::find(axes.begin(), axes.end(), axis) != axes.end();
            if (!along) {
              REQUIRE(at[std::size_t(axis)] == first[std::size_t(axis)]);
            }
          }
        }
      }
      REQUIRE(AxesOfGroups(groups, slice.topology) == axes);
    }
  }
}

TEST_CASE("axes of one chip are counted as axes of the groups",
          "[collective]") {
  const Slice slice = MakeMesh({3, 1, 2});
  CHECK(AxesOfGroups(Chips({{0, 1, 2}, {3, 4, 5}}), slice.topology) ==
        std::vector<int>{0, 1});
  CHECK_FALSE(AxesOfGroups(Chips({{0, 1}, {2, 3}}), slice.topology));
}

TEST_CASE("dead chips are in no group", "[collective]") {
  Slice slice = MakeMesh({3, 2});
  slice.topology.Kill(ChipId(0));
  slice.topology.Kill(ChipId(4));
  Collective collective = Of(CollectiveKind::kAllReduce);
  collective.axes = {0};
  const Lists rows = Chips({{1, 2}, {3, 5}});
  CHECK(GroupsOf(collective, slice.topology) == rows);
  CHECK(AxesOfGroups(rows, slice.topology) == std::vector<int>{0});
  CHECK(GroupSize(collective, slice.topology) == 2);
  collective.axes = {0, 1};
  CHECK(GroupsOf(collective, slice.topology) == Chips({{1, 2, 3, 5}}));
  CHECK(GroupSize(collective, slice.topology) == 4);
  CHECK(GroupsOf(Of(CollectiveKind::kCollectivePermute), slice.topology) ==
        Chips({{1, 2, 3, 5}}));
}

TEST_CASE("a slice without axes is one group", "[collective]") {
  const Topology topology =
      Topology::MakeExplicit(3, {{.a = ChipId(0),
                                  .b = ChipId(1),
                                  .bandwidth = BytesPerSecond(1e9),
                                  .latency = Seconds(0)}});
  const Lists all = Chips({{0, 1, 2}});
  CHECK(GroupsOf(Of(CollectiveKind::kAllReduce), topology) == all);
  CHECK(AxesOfGroups(all, topology) == std::vector<int>{});
  CHECK_FALSE(AxesOfGroups(Chips({{0, 1}}), topology));
}

// ---- roots --------------------------------------------------------------

TEST_CASE("the root's rank is that in its own group", "[collective]") {
  const Lists groups = Chips({{4, 2}, {5, 3, 1}});
  Collective collective = Of(CollectiveKind::kBroadcast);
  CHECK(RootRank(collective, groups) == 0);
  const std::pair<unsigned, int> ranks[] = {
      {4, 0}, {2, 1}, {5, 0}, {3, 1}, {1, 2}};
  for (const auto& [chip, rank] : ranks) {
    collective.root = ChipId(chip);
    CHECK(RootRank(collective, groups) == rank);
  }
}

TEST_CASE("the meaning names the root, of the first group if none is given",
          "[collective]") {
  const Lists groups = Chips({{4, 2}, {5, 3}});
  Collective collective = Of(CollectiveKind::kReduce);
  CHECK(MeaningWithoutChunks(collective, groups).root == 4u);
  collective.root = ChipId(3);
  const CollectiveMeaning meaning = MeaningWithoutChunks(collective, groups);
  CHECK(meaning.root == 3u);
  CHECK(meaning.kind == "reduce");
  CHECK(meaning.payload == Bytes(64));
  CHECK(meaning.groups == groups);
  CHECK(meaning.chunks.empty());
  CHECK_FALSE(
      MeaningWithoutChunks(Of(CollectiveKind::kAllReduce), groups).root);
}

TEST_CASE("bad roots are refused", "[collective]") {
  Slice slice = MakeMesh({4, 2});
  slice.topology.Kill(ChipId(6));
  const auto error = [&](CollectiveKind kind, std::int64_t root, Lists groups) {
    Collective collective = Of(kind);
    collective.groups = std::move(groups);
    return ErrorOf(
        [&] { SetRoot(root, slice.topology, "--root", collective); });
  };
  const CollectiveKind kind = CollectiveKind::kBroadcast;
  const Lists groups = Chips({{0, 1, 2}, {3, 4}});
  CHECK(error(kind, 4, groups) == "no error");
  for (const std::int64_t root : {std::int64_t{-1}, std::int64_t{6},
                                  std::int64_t{8}, std::int64_t{1} << 32}) {
    CHECK(error(kind, root, groups) ==
          "--root: expected a live chip from 0 to 7, got " +
              std::to_string(root));
  }
  CHECK(error(kind, 2, groups) ==
        "--root: chip 2 has rank 2 in its group, and group 1 has only 2 chips");
  CHECK(error(kind, 5, groups) ==
        "--root: chip 5 is in no group of the collective");
  for (const CollectiveKind other : AllCollectiveKinds()) {
    if (IsRooted(other)) {
      CHECK(error(other, 1, groups) == "no error");
      continue;
    }
    CHECK(error(other, 1, groups) ==
          std::string("--root: ") + ToText(other) +
              " has no root; broadcast, reduce, gather and scatter have");
  }
}

// ---- pairs --------------------------------------------------------------

std::string PairsError(const std::string& text, const Slice& slice) {
  return ErrorOf([&] {
    Collective collective = Of(CollectiveKind::kCollectivePermute);
    ReadPairs(JsonValue::ParseText(text, "f.json"), slice.topology, collective);
  });
}

TEST_CASE("bad pairs are refused where they stand", "[collective]") {
  Slice slice = MakeMesh({4, 2});
  slice.topology.Kill(ChipId(6));
  const std::pair<const char*, const char*> rows[] = {
      {"[[0, 1], [1, 0], [2, 2]]", "no error"},
      {"0", "f.json: expected an array, got 0"},
      {"[]", "f.json: expected at least one pair"},
      {"[0]", "f.json: /0: expected an array, got 0"},
      {"[[]]",
       "f.json: /0: expected a pair of chips [from, to], got 0 entries"},
      {"[[0, 1], [0]]",
       "f.json: /1: expected a pair of chips [from, to], got 1 entries"},
      {"[[0, 1, 2]]",
       "f.json: /0: expected a pair of chips [from, to], got 3 entries"},
      {"[[0, 8]]", "f.json: /0/1: expected an integer from 0 to 7, got 8"},
      {"[[6, 0]]", "f.json: /0/0: chip 6 is dead; leave it out"},
      {"[[0, 1], [0, 2]]", "f.json: /1/0: chip 0 sends twice"},
      {"[[0, 1], [2, 1]]", "f.json: /1/1: chip 1 receives twice"},
      {"[[3, 3], [3, 4]]", "f.json: /1/0: chip 3 sends twice"}};
  for (const auto& [text, message] : rows) {
    CAPTURE(text);
    CHECK(PairsError(text, slice) == message);
  }
}

std::vector<std::pair<unsigned, unsigned>> PairsWith(
    const Collective& collective, const Topology& topology) {
  std::vector<std::pair<unsigned, unsigned>> pairs;
  for (const ChipPair& pair : PairsOf(collective, topology)) {
    pairs.emplace_back(pair.from.value(), pair.to.value());
  }
  return pairs;
}

using IdPairs = std::vector<std::pair<unsigned, unsigned>>;

TEST_CASE("a chip that sends to itself is in no pair", "[collective]") {
  Collective collective = Of(CollectiveKind::kCollectivePermute);
  collective.pairs = {
      {ChipId(1), ChipId(0)}, {ChipId(2), ChipId(2)}, {ChipId(0), ChipId(3)}};
  CHECK(PairsWith(collective, MakeMesh({4}).topology) ==
        IdPairs{{1, 0}, {0, 3}});
}

TEST_CASE("a shift goes around a wrapped axis, and over the end of another",
          "[collective]") {
  Collective collective = Of(CollectiveKind::kCollectivePermute);
  collective.shift = AxisShift{0, 2};
  CHECK(PairsWith(collective, MakeTorus({3}).topology) ==
        IdPairs{{0, 2}, {1, 0}, {2, 1}});
  CHECK(PairsWith(collective, MakeMesh({3}).topology) == IdPairs{{0, 2}});
  collective.shift = AxisShift{1, -1};
  Slice slice = MakeMesh({2, 3});
  CHECK(PairsWith(collective, slice.topology) ==
        IdPairs{{2, 0}, {3, 1}, {4, 2}, {5, 3}});
  slice.topology.Kill(ChipId(2));
  CHECK(PairsWith(collective, slice.topology) == IdPairs{{3, 1}, {5, 3}});
}

TEST_CASE("a shift is taken modulo the size of a wrapped axis",
          "[collective]") {
  const Slice slice = MakeGridOf({4, 5}, {true, false});
  for (int by = -12; by <= 12; ++by) {
    CAPTURE(by);
    const int modulo = ((by % 4) + 4) % 4;
    if (modulo == 0) {
      CHECK(ErrorOf([&] { MakeShift(0, by, slice.topology, "--shift"); }) ==
            "--shift: a shift by " + std::to_string(by) +
                " on axis x of 4 chips moves nothing; expected 1 to 3");
    } else {
      const AxisShift shift = MakeShift(0, by, slice.topology, "--shift");
      CHECK(shift.axis == 0);
      CHECK(shift.by == modulo);
    }
    if (by == 0 || std::abs(by) >= 5) {
      CHECK(ErrorOf([&] { MakeShift(1, by, slice.topology, "--shift"); }) ==
            "--shift: a shift by " + std::to_string(by) +
                " on axis y of 5 chips moves nothing; expected 1 to 4 or the "
                "negative of it");
    } else {
      const AxisShift shift = MakeShift(1, by, slice.topology, "--shift");
      CHECK(shift.axis == 1);
      CHECK(shift.by == by);
    }
  }
  const std::int64_t far = std::int64_t{1} << 62;
  CHECK(MakeShift(0, far + 3, slice.topology, "").by == 3);
  CHECK(MakeShift(0, -far - 3, slice.topology, "").by == 1);
}

TEST_CASE("a shift is read as axis and places", "[collective]") {
  const Slice slice = MakeGridOf({4, 5}, {true, false});
  const AxisShift shift = ParseShift("y:-2", slice.topology, "--shift");
  CHECK(shift.axis == 1);
  CHECK(shift.by == -2);
  CHECK(ParseShift("x:-1", slice.topology, "--shift").by == 3);
  const auto error = [&](const std::string& text) {
    return ErrorOf([&] { ParseShift(text, slice.topology, "--shift"); });
  };
  for (const std::string text :
       {"", "x", "x:", "x:a", "x:1a", "x:1:2", "1", "x:99999999999999999999"}) {
    CAPTURE(text);
    CHECK(error(text) ==
          "--shift: expected AXIS:PLACES such as x:1, got \"" + text + "\"");
  }
  CHECK(error("x,y:1") == "--shift: expected one axis, got \"x,y:1\"");
  CHECK(error("z:1") == "--shift: no axis \"z\" in this slice; it has x,y");
  CHECK(error("y:5") ==
        "--shift: a shift by 5 on axis y of 5 chips moves nothing; expected 1 "
        "to 4 or the negative of it");
}

TEST_CASE("a permute has pairs or a shift, no other kind has", "[collective]") {
  for (const CollectiveKind kind : AllCollectiveKinds()) {
    CAPTURE(ToText(kind));
    Collective bare = Of(kind), shifted = Of(kind), paired = Of(kind);
    shifted.shift = AxisShift{0, 1};
    paired.pairs = {{ChipId(0), ChipId(1)}};
    const auto error = [](const Collective& collective) {
      return ErrorOf([&] { RequirePairs(collective, "f.json"); });
    };
    if (kind == CollectiveKind::kCollectivePermute) {
      CHECK(error(bare) ==
            "f.json: a collective-permute needs to know who sends to whom: a "
            "shift along an axis, or pairs");
      CHECK(error(shifted) == "no error");
      CHECK(error(paired) == "no error");
      continue;
    }
    const std::string refusal =
        std::string("f.json: ") + ToText(kind) +
        " has no pairs and no shift; collective-permute has";
    CHECK(error(bare) == "no error");
    CHECK(error(shifted) == refusal);
    CHECK(error(paired) == refusal);
  }
}

}  // namespace
}  // namespace podsim
