#include "topology/shape_rules.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>

namespace podsim {
namespace {

Shape Parsed(const std::string& text) {
  const auto shape = ParseShape(text);
  INFO(text);
  REQUIRE(shape.has_value());
  return *shape;
}

std::string WrapsOf(const Generation& generation, const std::string& shape) {
  std::string text;
  for (const bool wraps : DefaultWrap(generation, Parsed(shape))) {
    text += wraps ? 'w' : '-';
  }
  return text;
}

std::vector<std::string> NearTo(const std::string& generation,
                                const std::string& shape, bool twisted,
                                std::size_t most) {
  std::vector<std::string> texts;
  for (const Shape& near : LegalNear(FindGeneration(generation, ""),
                                     Parsed(shape), twisted, most)) {
    texts.push_back(ToText(near));
  }
  return texts;
}

struct Row {
  std::string generation;
  std::vector<std::string> legal;
  std::vector<std::string> illegal;
};

// Sub-cubes of {1, 2, 4} or multiples of 4, at most the pod; the listed 2D
// shapes in either order; up to the pod's sides; anything.
std::vector<Row> ShapeTable() {
  const std::vector<std::string> cubes = {
      "1x1x1",   "2x1x1",    "1x2x1",  "2x2x1",    "2x2x2",
      "2x2x4",   "2x4x4",    "4x2x4",  "4x4x2",    "4x4x1",
      "4x1x1",   "1x4x2",    "4x4x4",  "4x4x8",    "8x4x4",
      "4x8x8",   "8x8x8",    "4x4x12", "12x12x12", "8x8x16",
      "8x16x16", "16x16x16", "4x8x64", "8x16x32",  "4x4x256"};
  const std::vector<std::string> no_cubes = {"5x5x5", "3x4x4", "4x4x6", "2x2x8",
                                             "1x1x8", "2x4x8", "4x4x9", "6x4x4",
                                             "1x4x8", "0x4x4", "4x4x-4"};
  const std::vector<std::string> flat = {"1x1",  "2x2",  "2x4",  "4x2",
                                         "4x4",  "4x8",  "8x4",  "8x8",
                                         "8x16", "16x8", "16x16"};
  const std::vector<std::string> not_flat = {
      "1x2",  "2x1",   "1x4",   "2x8",   "3x3", "4x16", "8x32",
      "2x16", "16x32", "32x16", "12x12", "0x4", "4x4x4"};
  std::vector<Row> rows = {
      {"v2",
       {"1x1", "16x16", "16x8", "8x16", "5x7", "1x16"},
       {"17x16", "16x17", "32x8", "0x4", "4x4x4"}},
      {"v3",
       {"1x1", "32x32", "32x16", "16x32", "31x2"},
       {"33x32", "4x33", "128x8", "4x4x4"}},
      {"v4", cubes, no_cubes},
      {"v5e", flat, not_flat},
      {"v5p", cubes, no_cubes},
      {"v6e", flat, not_flat},
      {"v7x", cubes, no_cubes},
      {"8t", cubes, no_cubes},
      {"ideal",
       {"1", "7", "3x5", "2x3x11", "16777216", "4096x4096", "256x256x256"},
       {"0", "3x0", "16777217", "4096x4097", "2x2x2x2"}}};
  const auto add = [&](std::size_t row, std::vector<std::string> legal,
                       std::vector<std::string> illegal) {
    for (const auto& shape : legal) rows[row].legal.push_back(shape);
    for (const auto& shape : illegal) rows[row].illegal.push_back(shape);
  };
  // 4,096 / 8,960 / 9,216 / 9,600 chips: the pod fits, one cube more does not.
  add(2, {}, {"16x16x20", "4x4x260", "16x16x24", "16x20x28"});
  add(4, {"16x16x24", "8x16x48", "8x12x16", "16x20x28", "28x16x20", "4x4x560"},
      {"16x24x24", "4x4x564", "20x20x24"});
  add(6, {"16x20x28", "16x24x24", "4x4x576"}, {"20x20x24", "4x4x580"});
  add(7, {"16x24x24", "20x20x24", "4x4x600"}, {"16x24x28", "4x4x604"});
  return rows;
}

TEST_CASE("a shape is integers joined by x", "[topology]") {
  CHECK(ParseShape("4x4x8") == Shape{4, 4, 8});
  CHECK(ParseShape("16") == Shape{16});
  CHECK(ParseShape("1x2") == Shape{1, 2});
  for (const char* text : {"", "x", "4x", "x4", "4xx4", "4,4", "4X4", "4x4y",
                           "axb", "4 x 4", "4.0x4", "0x4x", "4*4", "+4x4"}) {
    CAPTURE(text);
    CHECK(!ParseShape(text));
  }
  CHECK(ToText(Shape{4, 4, 8}) == "4x4x8");
  CHECK(ToText(Shape{7}) == "7");
}

TEST_CASE("an axis too large for an int is no small axis", "[topology]") {
  const auto shape = ParseShape("99999999999999999999x4");
  REQUIRE(shape.has_value());
  CHECK(!IsLegal(FindGeneration("ideal", ""), *shape));
}

TEST_CASE("every generation builds its shapes and no others", "[topology]") {
  for (const Row& row : ShapeTable()) {
    const Generation generation = FindGeneration(row.generation, "");
    for (const std::string& shape : row.legal) {
      CAPTURE(row.generation, shape);
      CHECK(IsLegal(generation, Parsed(shape)));
    }
    for (const std::string& shape : row.illegal) {
      CAPTURE(row.generation, shape);
      CHECK(!IsLegal(generation, Parsed(shape)));
    }
  }
}

TEST_CASE("whole cubes wrap on every axis and parts of one on none",
          "[topology]") {
  for (const char* name : {"v4", "v5p", "v7x", "8t"}) {
    CAPTURE(name);
    const Generation generation = FindGeneration(name, "");
    for (const char* torus : {"4x4x4", "4x4x8", "8x4x12", "16x16x16"}) {
      CAPTURE(torus);
      CHECK(WrapsOf(generation, torus) == "www");
    }
    for (const char* mesh : {"1x1x1", "2x2x1", "2x4x4", "4x4x2", "4x4x1"}) {
      CAPTURE(mesh);
      CHECK(WrapsOf(generation, mesh) == "---");
    }
  }
}

TEST_CASE("on v5e and v6e an axis wraps if and only if it has 16 chips",
          "[topology]") {
  for (const char* name : {"v5e", "v6e"}) {
    const Generation generation = FindGeneration(name, "");
    CHECK(WrapsOf(generation, "16x16") == "ww");
    CHECK(WrapsOf(generation, "8x16") == "-w");
    CHECK(WrapsOf(generation, "16x8") == "w-");
    CHECK(WrapsOf(generation, "8x8") == "--");
    CHECK(WrapsOf(generation, "4x4") == "--");
    CHECK(WrapsOf(generation, "1x1") == "--");
  }
}

TEST_CASE("on v2 and v3 an axis wraps if it spans the pod", "[topology]") {
  const Generation v2 = FindGeneration("v2", "");
  CHECK(WrapsOf(v2, "16x16") == "ww");
  CHECK(WrapsOf(v2, "16x8") == "w-");
  CHECK(WrapsOf(v2, "8x15") == "--");
  const Generation v3 = FindGeneration("v3", "");
  CHECK(WrapsOf(v3, "32x32") == "ww");
  CHECK(WrapsOf(v3, "16x32") == "-w");
  CHECK(WrapsOf(v3, "16x16") == "--");
}

TEST_CASE("on ideal an axis wraps if it has more than two chips",
          "[topology]") {
  const Generation ideal = FindGeneration("ideal", "");
  CHECK(WrapsOf(ideal, "3x5") == "ww");
  CHECK(WrapsOf(ideal, "1x2x3") == "--w");
}

TEST_CASE("n,n,2n and n,2n,2n can be twisted, in any order", "[topology]") {
  for (const char* name : {"v4", "v5p", "v7x"}) {
    const Generation generation = FindGeneration(name, "");
    for (const char* shape :
         {"4x4x8", "4x8x4", "8x4x4", "4x8x8", "8x4x8", "8x8x4", "8x8x16",
          "8x16x16", "12x12x24", "16x8x8"}) {
      CAPTURE(name, shape);
      CHECK(IsTwistable(generation, Parsed(shape)));
    }
    for (const char* shape : {"4x4x4", "8x8x8", "4x4x12", "4x8x16", "2x2x4",
                              "2x4x4", "1x1x2", "4x4x16", "6x6x12", "5x5x10"}) {
      CAPTURE(name, shape);
      CHECK(!IsTwistable(generation, Parsed(shape)));
    }
  }
  // 16x32x32 is larger than any pod, 16x16x32 than the pods of v4.
  CHECK(!IsTwistable(FindGeneration("v4", ""), {16, 16, 32}));
  CHECK(IsTwistable(FindGeneration("v5p", ""), {16, 16, 32}));
  CHECK(!IsTwistable(FindGeneration("v7x", ""), {16, 32, 32}));
}

TEST_CASE("only cubes and ideal can be twisted", "[topology]") {
  for (const char* name : {"v2", "v3", "v5e", "v6e"}) {
    const Generation generation = FindGeneration(name, "");
    CHECK(IsLegal(generation, {4, 8}));
    CHECK(!IsTwistable(generation, {4, 8}));
    CHECK(!IsTwistable(generation, {8, 16}));
  }
  const Generation ideal = FindGeneration("ideal", "");
  for (const char* shape : {"4x8", "8x4", "3x6", "2x4", "3x3x6", "5x10x10"}) {
    CAPTURE(shape);
    CHECK(IsTwistable(ideal, Parsed(shape)));
  }
  for (const char* shape : {"8", "1x2", "4x4", "4x12", "3x6x9"}) {
    CAPTURE(shape);
    CHECK(!IsTwistable(ideal, Parsed(shape)));
  }
}

TEST_CASE("near an illegal shape the one with the fewest changes comes first",
          "[topology]") {
  for (const char* name : {"v4", "v5p", "v7x", "8t"}) {
    CAPTURE(name);
    CHECK(NearTo(name, "5x5x5", false, 1) == std::vector<std::string>{"4x4x4"});
    // One axis rounded down, then up.
    const auto near = NearTo(name, "4x4x7", false, 2);
    CHECK(near == std::vector<std::string>{"4x4x8", "4x4x4"});
    const auto wide = NearTo(name, "4x9x8", false, 2);
    CHECK(wide == std::vector<std::string>{"4x8x8", "4x12x8"});
    // Axes the shape leaves out have one chip.
    CHECK(NearTo(name, "3x2", false, 2) ==
          std::vector<std::string>{"2x2x1", "4x2x1"});
  }
  for (const char* name : {"v5e", "v6e"}) {
    CHECK(NearTo(name, "5x5", false, 1) == std::vector<std::string>{"4x4"});
    CHECK(NearTo(name, "16x32", false, 1) == std::vector<std::string>{"16x16"});
    CHECK(NearTo(name, "8x9", false, 1) == std::vector<std::string>{"8x8"});
  }
  CHECK(NearTo("v2", "17x16", false, 4) == std::vector<std::string>{"16x16"});
  CHECK(NearTo("v3", "40x4", false, 4) == std::vector<std::string>{"32x4"});
}

TEST_CASE("shapes that can be twisted are named near one that cannot",
          "[topology]") {
  const auto cubes = NearTo("v5p", "4x4x4", true, 3);
  // One axis doubled, in every place.
  CHECK(std::set<std::string>(cubes.begin(), cubes.end()) ==
        std::set<std::string>{"4x4x8", "4x8x4", "8x4x4"});
  CHECK(cubes.front() == "4x4x8");
  CHECK(NearTo("v4", "8x8x12", true, 1) == std::vector<std::string>{"8x8x16"});
  CHECK(NearTo("v5e", "8x8", true, 3).empty());
  const auto flat = NearTo("ideal", "3x3", true, 2);
  CHECK(std::set<std::string>(flat.begin(), flat.end()) ==
        std::set<std::string>{"3x6", "6x3"});
}

TEST_CASE("named shapes are legal, different, and ordered by changed axes",
          "[topology][property]") {
  const auto changes = [](const Shape& from, const Shape& to) {
    int changed = 0, total = 0;
    for (std::size_t a = 0; a < to.size(); ++a) {
      const int old = a < from.size() ? from[a] : 1;
      changed += old != to[a];
      total += std::abs(old - to[a]);
    }
    return std::pair(changed, total);
  };
  for (const char* name :
       {"v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x", "8t"}) {
    const Generation generation = FindGeneration(name, "");
    for (const char* text : {"5x5", "3x9", "40x2", "7x7", "6x20"}) {
      for (const bool twisted : {false, true}) {
        const Shape shape = Parsed(text);
        const auto near = LegalNear(generation, shape, twisted, 5);
        CAPTURE(name, text, twisted);
        CHECK(near.size() <= 5);
        CHECK(std::set<Shape>(near.begin(), near.end()).size() == near.size());
        for (std::size_t k = 0; k < near.size(); ++k) {
          CHECK(IsLegal(generation, near[k]));
          CHECK(near[k].size() == static_cast<std::size_t>(generation.axes));
          if (twisted) CHECK(IsTwistable(generation, near[k]));
          if (k > 0)
            CHECK(changes(shape, near[k - 1]) <= changes(shape, near[k]));
        }
        if (!twisted) CHECK(!near.empty());
      }
    }
  }
}

}  // namespace
}  // namespace podsim
