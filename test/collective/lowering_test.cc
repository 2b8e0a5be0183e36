#include "collective/lowering.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "test/support/error_of.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

// ---- the table ----------------------------------------------------------

TEST_CASE("the table has one row per name, each of them complete",
          "[collective]") {
  std::set<std::string> names;
  for (const Lowering& row : Lowerings()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(FindLowering(row.name) == &row);
    CHECK_FALSE(std::string(row.help).empty());
    CHECK_FALSE(std::string(row.preconditions).empty());
    CHECK_FALSE(std::string(row.time).empty());
    CHECK_FALSE(std::string(row.source).empty());
    CHECK_FALSE(row.kinds.empty());
  }
  for (const char* name : kAxisLowerings) CHECK(names.count(name) == 1);
  CHECK(FindLowering("auto") == nullptr);
  CHECK(FindLowering("") == nullptr);
}

TEST_CASE("compare runs every row, the buckets once per axis primitive",
          "[collective]") {
  std::vector<std::string> expected, found;
  for (const Lowering& row : Lowerings()) {
    const bool bucket = std::string(row.name).starts_with("bucket");
    if (!bucket) expected.emplace_back(row.name);
    for (const char* primitive : {"ring", "split", "short"}) {
      if (bucket) expected.push_back(std::string(row.name) + " " + primitive);
    }
  }
  for (const LoweringSpec& spec : SpecsToCompare()) {
    found.push_back(spec.name);
    if (spec.name.starts_with("bucket")) {
      found.back() += std::string(" ") + ToText(spec.axis_primitive);
    }
    CHECK(spec.batches == 1);
    CHECK(spec.fractions.empty());
    CHECK_FALSE(spec.balanced);
  }
  CHECK(found == expected);
}

TEST_CASE("auto also tries balanced fractions in 1, 4 and 16 batches",
          "[collective]") {
  std::map<std::string, std::vector<int>> batches;
  for (const LoweringSpec& spec : SpecsForAuto()) {
    if (spec.balanced) batches[spec.name].push_back(spec.batches);
  }
  const std::vector<int> expected = {1, 4, 16};
  CHECK(batches.size() == 2);
  CHECK(batches["bucket-rotated"] == expected);
  CHECK(batches["hierarchical"] == expected);
}

// ---- specs as text ------------------------------------------------------

TEST_CASE("a lowering without parameters has the defaults of the design",
          "[collective]") {
  const LoweringSpec spec = ParseLoweringSpec("bucket-rotated", "--lowering");
  CHECK(spec.name == "bucket-rotated");
  CHECK(spec.axis_primitive == AxisPrimitive::kShort);
  CHECK(spec.batches == 1);
  CHECK(spec.fractions.empty());
  CHECK_FALSE(spec.balanced);
}

TEST_CASE("every parameter is parsed", "[collective]") {
  const LoweringSpec spec = ParseLoweringSpec(
      "bucket-rotated:fractions=0.3/0.3/0.4,axis_primitive=split,batches=4",
      "--lowering");
  CHECK(spec.axis_primitive == AxisPrimitive::kSplit);
  CHECK(spec.batches == 4);
  REQUIRE(spec.fractions.size() == 3);
  CHECK(Near(spec.fractions[0], 0.3));
  CHECK(Near(spec.fractions[1], 0.3));
  CHECK(Near(spec.fractions[2], 0.4));
  CHECK(ParseLoweringSpec("bucket:axis_primitive=ring", "").axis_primitive ==
        AxisPrimitive::kRing);
  CHECK(ParseLoweringSpec("bucket:axis_primitive=short", "").axis_primitive ==
        AxisPrimitive::kShort);
  CHECK(ParseLoweringSpec("bucket-rotated:fractions=balanced", "").balanced);
}

TEST_CASE("bad lowering specs are refused with what is known", "[collective]") {
  struct Row {
    const char* text;
    std::string message;
  };
  std::string known = "(known: auto";
  for (const Lowering& row : Lowerings()) {
    known += std::string(", ") + row.name;
  }
  known += ")";
  const Row rows[] = {
      {"rings", "unknown lowering \"rings\"; did you mean \"ring\"? " + known},
      {"", "unknown lowering \"\" " + known},
      {"bucket_rotated",
       "unknown lowering \"bucket_rotated\"; did you mean "
       "\"bucket-rotated\"? " +
           known},
      {"ring:batches=2", "ring has no parameter \"batches\"; it takes none"},
      {"bucket:fractions=0.5/0.5",
       "bucket has no parameter \"fractions\"; known: axis_primitive, batches"},
      {"bucket:",
       "bucket has no parameter \"\"; known: axis_primitive, "
       "batches"},
      {"bucket:batches", "expected batches=VALUE in \"bucket:batches\""},
      {"bucket:batches=2,batches=2",
       "batches stands twice in \"bucket:batches=2,batches=2\""},
      {"bucket:axis_primitive=long",
       "expected axis_primitive=ring, split or short, got \"long\""},
      {"bucket-rotated:fractions=0.5/0.6",
       "fractions must add up to 1, \"0.5/0.6\" adds up to 1.1"},
      {"bucket-rotated:fractions=0.5/x",
       "expected fractions between 0 and 1 joined by /, such as 0.4/0.6, or "
       "balanced, got \"0.5/x\""},
      {"bucket-rotated:fractions=1.5/-0.5",
       "expected fractions between 0 and 1 joined by /, such as 0.4/0.6, or "
       "balanced, got \"1.5/-0.5\""},
      {"bucket-rotated:fractions=",
       "expected fractions between 0 and 1 joined by /, such as 0.4/0.6, or "
       "balanced, got \"\""},
      {"bucket-rotated:fractions=nan",
       "expected fractions between 0 and 1 joined by /, such as 0.4/0.6, or "
       "balanced, got \"nan\""}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(ErrorOf([&] { ParseLoweringSpec(row.text, "--lowering"); }) ==
          "--lowering: " + row.message);
  }
  for (const char* batches : {"0", "-1", "1.5", "x", "", "1025"}) {
    CAPTURE(batches);
    const std::string message = ErrorOf([&] {
      ParseLoweringSpec(std::string("bucket:batches=") + batches, "--lowering");
    });
    CHECK(message.find("--lowering: ") == 0);
    CHECK(message.find("1024") != std::string::npos);
  }
}

TEST_CASE("the resolved text states every parameter and parses to itself",
          "[collective]") {
  const Slice slice = MakeTorus({4, 4, 8});
  const Collective collective =
      OnAllChips(CollectiveKind::kAllGather, 1024, slice);
  const auto resolved = [&](const std::string& text) {
    return ToText(Spec(text), collective, slice.topology);
  };
  CHECK(resolved("line") == "line");
  CHECK(resolved("bucket:batches=3") ==
        "bucket:axis_primitive=short,batches=3");
  CHECK(resolved("bucket-rotated") ==
        "bucket-rotated:axis_primitive=short,batches=1,"
        "fractions=0.333333/0.333333/0.333333");
  // 17/63, 1/3, 25/63 (4.5, solved below).
  CHECK(resolved("bucket-rotated:fractions=balanced") ==
        "bucket-rotated:axis_primitive=short,batches=1,"
        "fractions=0.269841/0.333333/0.396825");
  for (const LoweringSpec& spec : SpecsForAuto()) {
    const std::string text =
        ToText(Resolve(spec, collective, slice), collective, slice.topology);
    CHECK(ToText(ParseLoweringSpec(text, ""), collective, slice.topology) ==
          text);
  }
}

// ---- fractions ----------------------------------------------------------

std::optional<std::vector<double>> Balanced(
    const Slice& slice, const std::string& primitive = "short") {
  return ResolveFractions(
      Spec("bucket-rotated:fractions=balanced,axis_primitive=" + primitive),
      OnAllChips(CollectiveKind::kAllGather, 1024, slice), slice.topology);
}

void CheckShares(const Slice& slice, const std::vector<double>& expected,
                 double margin) {
  CAPTURE(slice.spec, expected);
  const auto shares = Balanced(slice);
  REQUIRE(shares.has_value());
  REQUIRE(shares->size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CHECK((*shares)[k] == Approx(expected[k]).margin(margin));
  }
}

TEST_CASE("balanced fractions are those of algorithms 4.5",
          "[collective][oracle]") {
  constexpr double kMargin = 0.00005;  // four digits
  CheckShares(MakeTorus({4, 8}), {0.4048, 0.5952}, kMargin);
  CheckShares(MakeTorus({8, 16}), {0.4619, 0.5381}, kMargin);
  CheckShares(MakeTorus({4, 16}), {0.3667, 0.6333}, kMargin);
  CheckShares(MakeGridOf({4, 4}, {true, false}), {0.2222, 0.7778}, kMargin);
  CheckShares(MakeTorus({4, 4, 8}), {0.2698, 0.3333, 0.3968}, kMargin);
  CheckShares(MakeTorus({4, 8, 8}), {0.2698, 0.3968, 0.3333}, kMargin);
  CheckShares(MakeGridOf({2, 4, 4}, {false, true, true}), {0.3333, 0.2667, 0.4},
              kMargin);
}

TEST_CASE("on two axes they have a closed form", "[collective]") {
  for (int x = 2; x <= 9; ++x) {
    for (int y = 2; y <= 9; ++y) {
      for (const auto& wrap : AllWraps({x, y})) {
        const Slice slice = MakeGridOf({x, y}, wrap);
        CAPTURE(slice.spec);
        // f = (w_x (x-1) y - w_y (y-1)) / ((x-1)(y-1)(w_x + w_y)).
        const double wx = wrap[0] ? 0.5 : 1, wy = wrap[1] ? 0.5 : 1;
        const double first = (wx * (x - 1) * y - wy * (y - 1)) /
                             ((x - 1.0) * (y - 1.0) * (wx + wy));
        const auto shares = Balanced(slice);
        if (first < -1e-9 || first > 1 + 1e-9) {
          CHECK_FALSE(shares.has_value());
          continue;
        }
        REQUIRE(shares.has_value());
        CHECK((*shares)[0] == Approx(first).margin(1e-9));
        CHECK((*shares)[1] == Approx(1 - first).margin(1e-9));
      }
    }
  }
}

TEST_CASE("they keep all axes busy equally long", "[collective][property]") {
  int solved = 0;
  for (const Shape& shape : AllShapes(128)) {
    if (shape.size() < 3) continue;
    for (const auto& wrap : AllWraps(shape)) {
      for (const std::string primitive : {"ring", "split", "short"}) {
        const Slice slice = MakeGridOf(shape, wrap);
        CAPTURE(slice.spec, primitive);
        const auto shares = Balanced(slice, primitive);
        if (!shares) continue;
        ++solved;
        double sum = 0;
        std::vector<double> busy(shape.size());
        for (std::size_t k = 0; k < shape.size(); ++k) {
          sum += (*shares)[k];
          CHECK((*shares)[k] >= 0);
          double before = 1;
          for (std::size_t stage = 0; stage < shape.size(); ++stage) {
            const std::size_t axis = (k + stage) % shape.size();
            // Both directions share the bytes, or one carries them all.
            const bool shared = wrap[axis] && primitive != "ring";
            busy[axis] += (shared ? 0.5 : 1.0) * (*shares)[k] * before *
                          (shape[axis] - 1);
            before *= shape[axis];
          }
        }
        CHECK(Near(sum, 1));
        for (const double time : busy) CHECK(Near(time, busy[0]));
      }
    }
  }
  CHECK(solved > 1000);
}

TEST_CASE("fractions count only axes of the group with more than one chip",
          "[collective]") {
  const Slice slice = MakeTorus({4, 1, 8});
  const Collective collective =
      OnAllChips(CollectiveKind::kAllGather, 1024, slice);
  const auto balanced = ResolveFractions(
      Spec("bucket-rotated:fractions=balanced"), collective, slice.topology);
  REQUIRE(balanced.has_value());
  REQUIRE(balanced->size() == 2);
  CHECK((*balanced)[0] == Approx(17.0 / 42));  // as 4x8
  const auto equal =
      ResolveFractions(Spec("bucket-rotated"), collective, slice.topology);
  CHECK(*equal == std::vector<double>{0.5, 0.5});
}

// ---- where a lowering applies -------------------------------------------

std::string Reason(const std::string& spec, const Collective& collective,
                   const Topology& topology) {
  return WhyNot(Spec(spec), collective, topology).value_or("applies");
}

std::string ReasonOn(const Slice& slice, const std::string& spec) {
  return Reason(spec, OnAllChips(CollectiveKind::kAllGather, 1024, slice),
                slice.topology);
}

TEST_CASE("rings need one wrapped axis, lines one unwrapped axis, buckets any",
          "[collective]") {
  const Slice ring = MakeTorus({8});
  const Slice line = MakeMesh({8});
  const Slice torus = MakeTorus({4, 8});
  for (const std::string primitive : {"ring", "split", "short"}) {
    const std::string name = primitive == "ring" ? "ring" : "ring-" + primitive;
    CAPTURE(name);
    CHECK(ReasonOn(ring, name) == "applies");
    CHECK(ReasonOn(line, name) == "axis x (8 chips) does not wrap; use line");
    CHECK(ReasonOn(torus, name) ==
          "the group spans 2 axes; use bucket:axis_primitive=" + primitive +
              " or bucket-rotated:axis_primitive=" + primitive);
  }
  CHECK(ReasonOn(line, "line") == "applies");
  CHECK(ReasonOn(ring, "line") == "axis x wraps; use ring-short");
  CHECK(ReasonOn(torus, "line") ==
        "the group spans 2 axes; use bucket or bucket-rotated, which run lines "
        "on unwrapped axes");
  for (const std::string name : {"bucket", "bucket-rotated"}) {
    for (const Slice* slice : {&ring, &line, &torus}) {
      CHECK(ReasonOn(*slice, name) == "applies");
    }
  }
}

TEST_CASE("axes of one chip and axes outside the group do not count",
          "[collective]") {
  const Slice slice = MakeGridOf({1, 6, 4}, {false, true, false});
  const auto reason = [&](const std::string& spec, std::vector<int> axes) {
    return Reason(spec,
                  {.kind = CollectiveKind::kAllReduce,
                   .payload = Bytes(64),
                   .axes = std::move(axes)},
                  slice.topology);
  };
  CHECK(reason("ring", {0, 1}) == "applies");
  CHECK(reason("line", {0, 2}) == "applies");
  CHECK(reason("ring", {2}) == "axis z (4 chips) does not wrap; use line");
  CHECK(reason("line", {1}) == "axis y wraps; use ring-short");
  CHECK(reason("ring", {0}) == "applies");  // groups of one chip
}

TEST_CASE("a lowering says which kinds it does not lower", "[collective]") {
  const Slice ring = MakeTorus({8});
  for (const char* name : kAxisLowerings) {
    const Lowering& row = *FindLowering(name);
    for (const CollectiveKind kind : AllCollectiveKinds()) {
      CAPTURE(row.name, ToText(kind));
      const bool known = std::find(row.kinds.begin(), row.kinds.end(), kind) !=
                         row.kinds.end();
      const std::string reason =
          Reason(row.name, OnAllChips(kind, 64, ring), ring.topology);
      const std::string refusal =
          "only for all-gather, reduce-scatter, all-reduce";
      CHECK((reason == refusal) == !known);
    }
    CHECK(row.kinds.size() == 3);
  }
}

TEST_CASE("fractions must be one per axis, and balanced ones not negative",
          "[collective]") {
  const Slice torus = MakeTorus({4, 8});
  CHECK(ReasonOn(torus, "bucket-rotated:fractions=0.2/0.3/0.5") ==
        "fractions has 3 entries, but the group spans 2 axes; give one per "
        "axis, or fractions=balanced");
  CHECK(ReasonOn(torus, "bucket-rotated:fractions=0.2/0.8") == "applies");
  // w_x (n_x-1) n_y - w_y (n_y-1) = 0.5 x 8 - 7 < 0.
  CHECK(ReasonOn(MakeGridOf({2, 8}, {true, false}),
                 "bucket-rotated:fractions=balanced") ==
        "balanced fractions would need a negative share on these axes; use "
        "equal fractions");
}

TEST_CASE("a slice without axes takes no lowering", "[collective]") {
  const Topology topology =
      Topology::MakeExplicit(3, {{.a = ChipId(0),
                                  .b = ChipId(1),
                                  .bandwidth = BytesPerSecond(1e9),
                                  .latency = Seconds(0)},
                                 {.a = ChipId(1),
                                  .b = ChipId(2),
                                  .bandwidth = BytesPerSecond(1e9),
                                  .latency = Seconds(0)}});
  for (const char* name : kAxisLowerings) {
    CHECK(Reason(name,
                 {.kind = CollectiveKind::kAllReduce,
                  .payload = Bytes(64),
                  .axes = {}},
                 topology) ==
          "the slice is a list of links without axes; use direct or bfs-tree");
  }
}

TEST_CASE("short axes of a twisted slice are no rings, long ones are",
          "[collective]") {
  // 4x4x8: leaving x adds 4 to z too, so a walk along x closes after 8 steps.
  const Slice slice = MakeTwisted({4, 4, 8});
  const auto reason = [&](std::vector<int> axes) {
    return Reason("bucket",
                  {.kind = CollectiveKind::kAllGather,
                   .payload = Bytes(64),
                   .axes = std::move(axes)},
                  slice.topology);
  };
  CHECK(reason({0}) ==
        "on a twisted slice axis x is no ring (it closes after two rounds); "
        "use bfb on all chips, or groups along the long axes");
  CHECK(reason({0, 1, 2}) == reason({0}));
  CHECK(reason({2}) == "applies");
}

TEST_CASE("dead links and chips are named if the group needs them",
          "[collective]") {
  Slice slice = MakeTorus({4, 4});
  slice.topology.Kill(slice.topology.LinkAt(ChipId(6), 1, Sign::kMinus));
  const auto reason = [&](std::vector<int> axes) {
    return Reason("bucket",
                  {.kind = CollectiveKind::kAllGather,
                   .payload = Bytes(64),
                   .axes = std::move(axes)},
                  slice.topology);
  };
  const std::string tail =
      ", which is dead; use direct or bfs-tree, which go around faults";
  CHECK(reason({0, 1}) == "it needs link 2,1:y-" + tail);
  CHECK(reason({1}) == "it needs link 2,1:y-" + tail);
  CHECK(reason({0}) == "applies");

  Slice dead = MakeTorus({4});
  dead.topology.Kill(ChipId(2));
  CHECK(ReasonOn(dead, "ring") == "it needs link 1:x+" + tail);

  Slice slow = MakeTorus({4});  // degraded, not dead
  slow.topology.Degrade(slow.topology.LinkAt(ChipId(0), 0, Sign::kPlus), 0.5);
  CHECK(ReasonOn(slow, "ring") == "applies");
}

// ---- collectives --------------------------------------------------------

TEST_CASE("kinds have XLA's names", "[collective]") {
  std::vector<std::string> names;
  for (const CollectiveKind kind : AllCollectiveKinds()) {
    names.emplace_back(ToText(kind));
    CHECK(ParseCollectiveKind(ToText(kind), "") == kind);
  }
  CHECK(names == std::vector<std::string>{
                     "all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                     "ragged-all-to-all", "broadcast", "reduce", "gather",
                     "scatter", "collective-permute"});
  CHECK(ErrorOf([] { ParseCollectiveKind("allreduce", "KIND"); }) ==
        "KIND: unknown collective \"allreduce\"; did you mean \"all-reduce\"? "
        "(known: all-reduce, all-gather, reduce-scatter, all-to-all, "
        "ragged-all-to-all, broadcast, reduce, gather, scatter, "
        "collective-permute)");
}

TEST_CASE("busbw factors are those of nccl-tests", "[collective]") {
  const int n = GENERATE(2, 3, 16, 4096);
  CHECK(Near(BusFactor(CollectiveKind::kAllReduce, n), 2 * (n - 1.0) / n));
  for (const CollectiveKind kind :
       {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll}) {
    CHECK(Near(BusFactor(kind, n), (n - 1.0) / n));
  }
  // S is that of all n ranks.
  CHECK(Near(n * BusFactor(CollectiveKind::kRaggedAllToAll, n),
             BusFactor(CollectiveKind::kAllToAll, n)));
  for (const CollectiveKind kind :
       {CollectiveKind::kBroadcast, CollectiveKind::kReduce,
        CollectiveKind::kGather, CollectiveKind::kScatter}) {
    CHECK(BusFactor(kind, n) == 1);
  }
}

TEST_CASE("a group is the product of its axes", "[collective]") {
  const Slice slice = MakeMesh({3, 1, 5});
  const auto with = [](std::vector<int> axes) {
    return Collective{.kind = CollectiveKind::kAllReduce,
                      .payload = Bytes(1),
                      .axes = std::move(axes)};
  };
  CHECK(AllAxes(slice.topology) == std::vector<int>{0, 1, 2});
  CHECK(GroupSize(with({0, 1, 2}), slice.topology) == 15);
  CHECK(GroupSize(with({1}), slice.topology) == 1);
  CHECK(GroupSize(with({2}), slice.topology) == 5);
  CHECK(ActiveAxes(with({0, 1, 2}), slice.topology) == std::vector<int>{0, 2});
  CHECK(ActiveAxes(with({1}), slice.topology).empty());
}

TEST_CASE("axes are read by letter", "[collective]") {
  const Slice slice = MakeMesh({3, 4, 5});
  CHECK(ParseAxes("x", slice.topology, "--axes") == std::vector<int>{0});
  CHECK(ParseAxes("z,x", slice.topology, "--axes") == std::vector<int>{0, 2});
  const auto error = [&](const std::string& text) {
    return ErrorOf([&] { ParseAxes(text, slice.topology, "--axes"); });
  };
  CHECK(error("w") == "--axes: no axis \"w\" in this slice; it has x,y,z");
  CHECK(error("") == "--axes: no axis \"\" in this slice; it has x,y,z");
  CHECK(error("x,x") == "--axes: an axis stands twice in \"x,x\"");
}

}  // namespace
}  // namespace podsim
