// Mesh axes over whole axes of the slice and over parts of them.
#include "workload/mesh.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <set>

#include "collective/groups.h"
#include "test/topology/input.h"
#include "workload/workload.h"

namespace podsim {
namespace {

using Lists = std::vector<std::vector<int>>;

// One collective over `axes` of `slice` with a mesh (JSON texts).
Collective ReadOne(const std::string& slice, const std::string& mesh,
                   const std::string& axes, const std::string& faults = "",
                   const std::string& kind = "all-gather") {
  const JsonValue json = JsonValue::ParseText(
      R"({"format": "podsim-workload/1", "slice": ")" + slice +
          R"(", "mesh": )" + mesh + R"(, "ops": [{"id": "a", "collective": ")" +
          kind + R"(", "bytes": "1MiB", "axes": )" + axes + "}]}",
      "w.json");
  WorkloadRequest request;
  if (!faults.empty()) request.slice.faults = {faults};
  return *ReadWorkload(json, request).graph.ops[0].collective;
}

std::string ReadError(const std::string& slice, const std::string& mesh,
                      const std::string& axes, const std::string& faults = "") {
  return ErrorOf([&] { ReadOne(slice, mesh, axes, faults); });
}

Lists GroupLists(const Collective& collective) {
  Lists lists;
  for (const auto& group : collective.groups) {
    lists.emplace_back();
    for (const ChipId chip : group) {
      lists.back().push_back(static_cast<int>(chip.value()));
    }
  }
  return lists;
}

const std::string kSplit =
    R"([{"name": "fsdp", "size": 4, "on": ["x:4@4"]},
        {"name": "tensor", "size": 4, "on": ["x:4"]}])";

TEST_CASE("x:4 are blocks of neighbours, x:4@4 every fourth chip",
          "[workload]") {
  const std::string ring = "ideal:16";
  CHECK(GroupLists(ReadOne(ring, kSplit, R"(["tensor"])")) ==
        Lists{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}});
  CHECK(GroupLists(ReadOne(ring, kSplit, R"(["fsdp"])")) ==
        Lists{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
  // Parts may stand in an op as well.
  CHECK(GroupLists(ReadOne(ring, "[]", R"(["x:2@2"])")) == Lists{{0, 2},
                                                                 {1, 3},
                                                                 {4, 6},
                                                                 {5, 7},
                                                                 {8, 10},
                                                                 {9, 11},
                                                                 {12, 14},
                                                                 {13, 15}});
  CHECK(ReadOne(ring, kSplit, R"(["tensor"])").axes.empty());
}

TEST_CASE("the parts of an axis together are the axis", "[workload]") {
  const std::string ring = "ideal:16x2";
  for (const char* axes :
       {R"(["fsdp", "tensor"])", R"(["tensor", "fsdp"])", R"(["x"])",
        R"(["x:16"])", R"(["tensor", "x:4@4"])", R"(["x:2", "x:2@8", "x:4@2"])",
        R"(["x:8", "x:2@8"])"}) {
    CAPTURE(axes);
    const Collective both = ReadOne(ring, kSplit, axes);
    CHECK(both.groups.empty());
    CHECK(both.axes == std::vector<int>{0});
  }
  // A mesh axis on parts that make up a whole one.
  const Collective mesh = ReadOne(
      ring, R"([{"name": "m", "size": 32, "on": ["x:8@2", "y", "x:2"]}])",
      R"(["m"])");
  CHECK(mesh.groups.empty());
  CHECK(mesh.axes == std::vector<int>{0, 1});
}

TEST_CASE("a part of size 1 adds no chips", "[workload]") {
  const Collective y = ReadOne("ideal:4x4", "[]", R"(["x:1", "y"])");
  CHECK(y.axes == std::vector<int>{1});
  const Collective none = ReadOne("ideal:4x4", "[]", R"(["x:1@2"])");
  CHECK(GroupSize(none, SliceOf("ideal:4x4").topology) == 1);
}

TEST_CASE("parts of the slices of a multislice are groups too", "[workload]") {
  const Collective two = ReadOne("4*v5e:1x1", "[]", R"(["dcn:2"])");
  CHECK(GroupLists(two) == Lists{{0, 1}, {2, 3}});
}

TEST_CASE("dead chips are left out of groups of parts", "[workload]") {
  const Collective sum =
      ReadOne("v5p:2x2x4", "[]", R"(["z:2"])", "chip:0,0,0", "all-reduce");
  REQUIRE(sum.groups.size() == 8);
  CHECK(GroupLists(sum)[0] == std::vector<int>{1, 5});
  std::set<int> sizes;
  for (const auto& group : GroupLists(sum)) {
    sizes.insert(static_cast<int>(group.size()));
    CHECK(std::ranges::find(group, 0) == group.end());
  }
  CHECK(sizes == std::set<int>{1, 2});
  CHECK(ReadError("v5p:2x2x4", "[]", R"(["z:2"])", "chip:0,0,0") ==
        "w.json: /ops/0/axes: dead chips leave groups of 2 and of 1 chips, and "
        "groups of all-gather are equally large; list them in groups");
}

// Chips that one part holds together: equal but for one axis, there in the same
// block of size * stride and at the same place modulo the stride.
bool Together(const Topology& topology, const AxisPart& part, int a, int b) {
  Coordinates of_a = topology.CoordinatesOf(ChipId(a));
  Coordinates of_b = topology.CoordinatesOf(ChipId(b));
  const int x = of_a[part.axis];
  const int y = of_b[part.axis];
  of_a[part.axis] = of_b[part.axis] = 0;
  const int block = part.size * part.stride;
  return of_a == of_b && x / block == y / block && (x - y) % part.stride == 0;
}

TEST_CASE("groups are what the parts hold together, in order of chip ids",
          "[workload]") {
  std::mt19937 random(20261204);
  const auto draw = [&](int below) {
    return static_cast<int>(random() % below);
  };
  const char* const slices[] = {"ideal:12", "ideal:8x6", "ideal:4x4x8",
                                "v5e:8x8", "2*v5e:4x4"};
  int as_groups = 0;
  for (int round = 0; round < 300; ++round) {
    const std::string spec = slices[draw(std::size(slices))];
    const Topology topology = SliceOf(spec).topology;
    // Cut every axis into parts, factor by factor, and keep some.
    std::vector<AxisPart> parts;
    std::vector<std::string> texts;
    for (std::size_t axis = 0; axis < topology.axes().size(); ++axis) {
      int stride = 1;
      while (stride < topology.axes()[axis].size) {
        const int rest = topology.axes()[axis].size / stride;
        int size = 2 + draw(rest - 1);
        while (rest % size != 0) ++size;
        if (draw(2) == 0) {
          parts.push_back({static_cast<int>(axis), size, stride});
          texts.push_back('"' + AxisName(topology, static_cast<int>(axis)) +
                          ":" + std::to_string(size) + "@" +
                          std::to_string(stride) + '"');
        }
        stride *= size;
      }
    }
    if (parts.empty()) continue;
    std::shuffle(texts.begin(), texts.end(), random);
    std::string axes;
    for (const std::string& text : texts) {
      axes += (axes.empty() ? "[" : ", ") + text;
    }
    CAPTURE(round, spec, axes);
    const Collective read = ReadOne(spec, "[]", axes + "]");
    as_groups += read.groups.empty() ? 0 : 1;
    // The closure of Together.
    std::vector<int> first(topology.chips());
    std::iota(first.begin(), first.end(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (const AxisPart& part : parts) {
        for (int a = 0; a < topology.chips(); ++a) {
          for (int b = 0; b < topology.chips(); ++b) {
            if (first[b] >= first[a] || !Together(topology, part, a, b)) {
              continue;
            }
            first[a] = first[b];
            changed = true;
          }
        }
      }
    }
    Lists expected;
    for (int a = 0; a < topology.chips(); ++a) {
      if (first[a] != a) continue;
      expected.emplace_back();
      for (int b = a; b < topology.chips(); ++b) {
        if (first[b] == a) expected.back().push_back(b);
      }
    }
    Collective lists = read;
    lists.groups = GroupsOf(read, topology);
    CHECK(GroupLists(lists) == expected);
  }
  CHECK(as_groups > 100);
}

TEST_CASE("bad parts of axes are refused at the pointer", "[workload]") {
  const std::string twice =
      "w.json: /mesh/1/on/0: no part of an axis is used twice: ";
  const auto mesh = [](const std::string& first, const std::string& second) {
    return R"([{"name": "a", "size": 4, "on": [")" + first +
           R"("]}, {"name": "b", "size": 4, "on": [")" + second + R"("]}])";
  };
  const auto on = [](const std::string& part) {
    return R"([{"name": "a", "size": 4, "on": [")" + part + R"("]}])";
  };
  const std::string ring = "ideal:16";
  CHECK(ReadError(ring, mesh("x:4", "x:4"), R"(["a"])") ==
        twice + "x:4 overlaps x:4; beside x:4 goes x:4@4");
  CHECK(ReadError(ring, mesh("x:4", "x:4@2"), R"(["a"])") ==
        twice + "x:4@2 overlaps x:4; beside x:4 goes x:4@4");
  CHECK(ReadError(ring, mesh("x:4@4", "x"), R"(["a"])") ==
        twice + "x overlaps x:4@4");
  CHECK(ReadError("ideal:4x4", mesh("y", "y"), R"(["a"])") ==
        "w.json: /mesh/1/on/0: axis y of the slice is used twice");
  // Two chips side by side and two three apart are no digits of one number.
  CHECK(ReadError("ideal:12", "[]", R"(["x:2", "x:2@3"])") ==
        "w.json: /ops/0/axes/1: no part of an axis is used twice: x:2@3 "
        "overlaps x:2; beside x:2 goes x:6@2");
  CHECK(ReadError(ring, kSplit, R"(["tensor", "x:2"])") ==
        "w.json: /ops/0/axes/1: no part of an axis is used twice: x:2 overlaps "
        "x:4; beside x:4 goes x:4@4");
  CHECK(ReadError(ring, on("x:3"), R"(["a"])") ==
        "w.json: /mesh/0/on/0: the size 3 times the stride 1 is no divisor of "
        "axis x of 16 chips; expected one of 1, 2, 4, 8, 16 as size");
  CHECK(ReadError(ring, on("x:8@4"), R"(["a"])") ==
        "w.json: /mesh/0/on/0: the size 8 times the stride 4 is no divisor of "
        "axis x of 16 chips; expected one of 1, 2, 4 as size");
  CHECK(ReadError(ring, on("x:2@5"), R"(["a"])") ==
        "w.json: /mesh/0/on/0: the stride 5 is no divisor of axis x of 16 "
        "chips; expected one of 1, 2, 4, 8, 16");
  for (const char* bad :
       {"x:", "x:@4", "x:4@", "x:four", "x:0", "x:4@0", "x:-4", "x:4:4",
        "x:4@4@4", "x: 4", "x:99999999999"}) {
    CHECK(ReadError(ring, on(bad), R"(["a"])") ==
          "w.json: /mesh/0/on/0: \"" + std::string(bad) +
              "\" is no part of an axis; expected AXIS:SIZE, blocks of SIZE "
              "chips, for example x:4, or AXIS:SIZE@STRIDE, SIZE of every "
              "STRIDE-th chip, for example x:4@4");
  }
  CHECK(ReadError(ring, on("y:4"), R"(["a"])") ==
        "w.json: /mesh/0/on/0: the slice has no axis \"y\"; it has x");
  CHECK(ReadError(ring, "[]", R"(["y:4"])") ==
        "w.json: /ops/0/axes/0: no axis \"y:4\" in the mesh or the slice; "
        "known: x");
  CHECK(ReadError(ring, R"([{"name": "a", "size": 16, "on": ["x:4"]}])",
                  R"(["a"])") ==
        "w.json: /mesh/0/size: expected 4, the number of chips along x:4, got "
        "16");
}

TEST_CASE("a shift goes along a whole axis", "[workload]") {
  const std::string head =
      R"({"format": "podsim-workload/1", "slice": "ideal:16", "mesh": )" +
      kSplit + R"(, "ops": [{"id": "a", "collective": "collective-permute",
      "bytes": "1MiB", "shift": {"by": 1, "axis": ")";
  const auto read = [&](const std::string& axis) {
    return ReadWorkload(
        JsonValue::ParseText(head + axis + R"("}}]})", "w.json"), {});
  };
  CHECK(read("x").graph.ops[0].collective->shift->axis == 0);
  CHECK(read("x:16").graph.ops[0].collective->shift->axis == 0);
  CHECK(ErrorOf([&] { read("tensor"); }) ==
        "w.json: /ops/0/shift/axis: a shift goes along a whole axis of the "
        "slice, \"tensor\" lies on a part of x; list the pairs");
}

TEST_CASE("the sample with tensor parallelism in blocks has these groups",
          "[workload]") {
  const Workload workload =
      ReadWorkload(JsonValue::ReadFile("workloads/tensor_in_blocks.json"), {});
  for (const StepOp& op : workload.graph.ops) {
    if (!op.collective) continue;
    const auto& groups = op.collective->groups;
    CAPTURE(op.id);
    const bool gather = op.id == "weights";
    REQUIRE(groups.size() == (gather ? 4 : 64));
    for (const auto& group : groups) CHECK(group.size() == (gather ? 64 : 4));
    // {1, 5, 9, ..} every fourth chip; {4, 5, 6, 7} the second block.
    CHECK(groups[1][0].value() == (gather ? 1 : 4));
    CHECK(groups[1][1].value() == 5);
  }
}

}  // namespace
}  // namespace podsim
