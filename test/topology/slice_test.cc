#include "topology/slice.h"

#include <catch2/catch.hpp>

#include "base/json_reader.h"
#include "test/support/temporary_file.h"
#include "test/topology/input.h"
#include "topology/distance.h"

namespace podsim {
namespace {

constexpr char kExamples[] = PODSIM_TEST_DATA "/examples/";

// Sizes and wraps: "4w x 4w x 8w", the slices of a multislice as "/2".
std::string AxesOf(const Slice& slice) {
  std::string text;
  for (const GridAxis& axis : slice.topology.axes()) {
    if (!axis.ici) {
      text += "/" + std::to_string(axis.size);
      continue;
    }
    if (!text.empty()) text += " x ";
    text += std::to_string(axis.size) + (axis.wrap ? "w" : "");
  }
  return text;
}

struct Spec {
  std::string spec;
  std::string canonical;
  std::string axes;
};

TEST_CASE("a spec names generation, shape, wraps and slices", "[topology]") {
  const std::vector<Spec> table = {
      {"v5p:8x8x16", "v5p:8x8x16", "8w x 8w x 16w"},
      {"v5e:4x8", "v5e:4x8", "4 x 8"},
      {"v5e:16x16", "v5e:16x16", "16w x 16w"},
      {"v6e:8x16", "v6e:8x16", "8 x 16w"},
      {"v7x:2x2x2", "v7x:2x2x2", "2 x 2 x 2"},
      {"v2:16x16", "v2:16x16", "16w x 16w"},
      {"v3:32x8", "v3:32x8", "32w x 8"},
      {"ideal:7", "ideal:7", "7w"},
      {"ideal:2x3", "ideal:2x3", "2 x 3w"},
      // Fewer axes than the generation has mean size 1.
      {"v4:4x4", "v4:4x4x1", "4 x 4 x 1"},
      {"v4:2", "v4:2x1x1", "2 x 1 x 1"},
      {"v3:8", "v3:8x1", "8 x 1"},
      // Twists.
      {"v4:4x4x8:twisted", "v4:4x4x8:twisted", "4w x 4w x 8w"},
      {"v5p:8x4x8:twisted", "v5p:8x4x8:twisted", "8w x 4w x 8w"},
      {"v5p:4x4x8:torus:twisted", "v5p:4x4x8:twisted", "4w x 4w x 8w"},
      {"ideal:4x8:twisted", "ideal:4x8:twisted", "4w x 8w"},
      {"ideal:2x4:twisted", "ideal:2x4:twisted", "2w x 4w"},
      // Wraps that differ from the rule are named, others not.
      {"v5p:4x4x8:mesh", "v5p:4x4x8:mesh", "4 x 4 x 8"},
      {"v5p:4x4x8:torus", "v5p:4x4x8", "4w x 4w x 8w"},
      {"v5p:4x4x8:wrap=xz", "v5p:4x4x8:wrap=xz", "4w x 4 x 8w"},
      {"v5p:4x4x8:wrap=zx", "v5p:4x4x8:wrap=xz", "4w x 4 x 8w"},
      {"v5p:4x4x8:wrap=zyx", "v5p:4x4x8", "4w x 4w x 8w"},
      {"v5p:4x4x8:wrap=", "v5p:4x4x8:mesh", "4 x 4 x 8"},
      {"v5e:4x8:torus", "v5e:4x8:wrap=xy", "4w x 8w"},
      {"v5e:8x16:wrap=y", "v5e:8x16", "8 x 16w"},
      {"v5e:4x4:mesh", "v5e:4x4", "4 x 4"},
      {"ideal:3x5:wrap=x", "ideal:3x5:wrap=x", "3w x 5"},
      {"ideal:2:wrap=x", "ideal:2:wrap=x", "2w"},
      {"ideal:2x3:wrap=y", "ideal:2x3", "2 x 3w"},
      // An axis of one chip has no wrap, whatever is written.
      {"ideal:1:torus", "ideal:1", "1"},
      {"v4:4x4:torus", "v4:4x4x1:wrap=xy", "4w x 4w x 1"},
      {"v4:4x4x1:wrap=xz", "v4:4x4x1:wrap=x", "4w x 4 x 1"},
      // Multislices.
      {"2*v5e:16x16", "2*v5e:16x16", "16w x 16w/2"},
      {"1*v5e:16x16", "v5e:16x16", "16w x 16w"},
      {"3*v5p:4x4x8:twisted", "3*v5p:4x4x8:twisted", "4w x 4w x 8w/3"},
      {"2*v4:4x4:torus", "2*v4:4x4x1:wrap=xy", "4w x 4w x 1/2"}};
  for (const Spec& row : table) {
    CAPTURE(row.spec);
    const Slice slice = SliceOf(row.spec);
    CHECK(slice.spec == row.canonical);
    CHECK(AxesOf(slice) == row.axes);
    CHECK(slice.warnings.empty());
    CHECK(slice.topology.healthy());
    // The canonical spec means the same slice.
    const Slice again = SliceOf(slice.spec);
    CHECK(again.spec == slice.spec);
    CHECK(AxesOf(again) == row.axes);
    CHECK(again.topology.twisted() == slice.topology.twisted());
    CHECK(slice.topology.twisted() ==
          (row.spec.find("twisted") != std::string::npos));
  }
}

TEST_CASE("a multislice has the chips of all its slices", "[topology]") {
  const Slice slice = SliceOf("4*v5p:4x4x8");
  CHECK(slice.generation == "v5p");
  CHECK(slice.shape == Shape{4, 4, 8});
  CHECK(slice.topology.chips() == 4 * 128);
  CHECK(slice.topology.slices() == 4);
  CHECK(slice.topology.ici_axes() == 3);
  // Its size is bounded by all chips together, not by the pod of one slice.
  CHECK(SliceOf("16*v5e:16x16").topology.chips() == 4096);
}

TEST_CASE("a slice takes its numbers from its generation", "[topology]") {
  const Slice slice = SliceOf("v5e:4x8");
  CHECK(slice.generation == "v5e");
  CHECK(slice.parameters.ici_bandwidth.value() == 45e9);
  CHECK(slice.topology.base_bandwidth().value() == 45e9);
  CHECK(slice.topology.base_latency().value() == 1e-6);
}

TEST_CASE("above the largest job of v5p stands a warning", "[topology]") {
  CHECK(SliceOf("v5p:16x16x24").warnings.empty());  // 6,144 chips
  CHECK(SliceOf("v5p:16x20x28").warnings ==
        std::vector<std::string>{"v5p:16x20x28 has 8960 chips, more than the "
                                 "largest job of 6144"});
  // The job is one slice.
  CHECK(SliceOf("2*v5p:16x16x24").warnings.empty());
}

TEST_CASE("estimated numbers come with a warning", "[topology]") {
  const std::vector<std::string> warning = {
      "the numbers of 8t are estimates, see `podsim generations`"};
  CHECK(SliceOf("8t:4x4x4").warnings == warning);
  const TemporaryFile file("8t-links.json",
                           R"({"format": "podsim-topology/1",
                               "generation": "8t", "chips": 2,
                               "links": [[0, 1]]})");
  CHECK(SliceOf(file.path()).warnings == warning);
}

TEST_CASE("faults of the command line are applied", "[topology]") {
  const Slice slice = SliceOf("v5p:4x4x4", {}, {"link:1,2,3:x+", "chip:0,0,0"});
  CHECK(slice.topology.live_chips() == 63);
  CHECK(!slice.topology.Live(*slice.topology.FindLink("1,2,3:x+")));
  CHECK(slice.spec == "v5p:4x4x4");
}

// ---- Topology files.

// A file of the generation and shape with further keys.
std::string Grid(const std::string& rest) {
  return R"({"format": "podsim-topology/1", "generation": "v4", )" + rest + "}";
}

std::string Links(const std::string& rest) {
  return R"({"format": "podsim-topology/1", "generation": "ideal", )" + rest +
         "}";
}

TEST_CASE("a topology file says what a spec says", "[topology]") {
  const auto axes = [](const std::string& text) {
    const TemporaryFile file("grid.json", text);
    const Slice slice = SliceOf(file.path());
    CHECK(slice.spec == file.path());
    return AxesOf(slice) + (slice.topology.twisted() ? " twisted" : "");
  };
  CHECK(axes(Grid(R"("shape": [4, 4, 8])")) == "4w x 4w x 8w");
  CHECK(axes(Grid(R"("shape": [2, 4, 4])")) == "2 x 4 x 4");
  CHECK(axes(Grid(R"("shape": [4, 4, 8], "wrap": [true, false, true])")) ==
        "4w x 4 x 8w");
  CHECK(axes(Grid(R"("shape": [4, 4, 8], "twisted": true)")) ==
        "4w x 4w x 8w twisted");
  CHECK(axes(Grid(R"("shape": [4, 4, 8], "twisted": true,
                     "wrap": [true, true, true])")) == "4w x 4w x 8w twisted");
  CHECK(axes(Grid(R"("shape": [4, 4, 4], "slices": 3)")) == "4w x 4w x 4w/3");
  CHECK(axes(Grid(R"("name": "mine", "source": "a test",
                     "shape": [4, 4, 4])")) == "4w x 4w x 4w");
  // As in a spec, an axis left out has one chip: 4x4x1, part of a cube.
  CHECK(axes(Grid(R"("shape": [4, 4])")) == "4 x 4 x 1");
  CHECK(axes(Grid(R"("shape": [4, 4], "wrap": [true, false])")) ==
        "4w x 4 x 1");
  // `ideal` wraps exactly as written.
  CHECK(axes(Links(R"("shape": [4, 8], "wrap": [true, false])")) == "4w x 8");
  CHECK(axes(Links(R"("shape": [2], "wrap": [true])")) == "2w");
}

TEST_CASE("a topology file carries parameters and faults", "[topology]") {
  const TemporaryFile file(
      "full.json",
      Grid(R"("shape": [4, 4, 4], "parameters": {"ici.bandwidth": "40GB/s"},
              "faults": ["link:1,2,3:x+", "link:0,0,0:y-=50%"])"));
  const Slice slice = SliceOf(file.path(), {}, {"link:1,2,3:z+:oneway"});
  const Topology& topology = slice.topology;
  CHECK(slice.parameters.ici_bandwidth.value() == 40e9);
  const auto rate = [&](const char* link) {
    const LinkId id = *topology.FindLink(link);
    return topology.Live(id) ? topology.Bandwidth(id).value() : 0.0;
  };
  CHECK(rate("0,0,0:x+") == 40e9);
  CHECK(rate("1,2,3:x+") == 0);
  CHECK(rate("2,2,3:x-") == 0);
  CHECK(rate("0,0,0:y-") == Approx(20e9));
  CHECK(rate("0,3,0:y+") == Approx(20e9));
  CHECK(rate("1,2,3:z+") == 0);
  CHECK(rate("1,2,0:z-") == 40e9);
}

TEST_CASE("faults with a date leave the slice as it is", "[topology]") {
  const TemporaryFile file("dated.json", Grid(R"("shape": [4, 4, 4],
              "faults": ["link:1,2,3:x+=50%@2us", "chip:0,0,0@3us"])"));
  const Slice slice =
      SliceOf(file.path(), {}, {"link:1,2,3:x+:oneway@1ms", "link:1,2,3:y+"});
  const Topology& topology = slice.topology;
  const DatedFaults& dated = topology.dated();
  CHECK(topology.live_chips() == 64);
  CHECK(topology.Live(*topology.FindLink("1,2,3:x+")));
  CHECK(!topology.Live(*topology.FindLink("1,2,3:y+")));
  REQUIRE(dated.faults.size() == 3);
  CHECK(dated.faults[1].text == "chip:0,0,0@3us");
  CHECK(dated.faults[1].where == file.path() + ": /faults/1");
  CHECK(dated.faults[2].where == "--fault link:1,2,3:x+:oneway@1ms");
  REQUIRE(dated.links.size() == 2 + 12 + 1);  // by date
  CHECK(topology.NameOf(dated.links[0].link) == "1,2,3:x+");
  CHECK(topology.NameOf(dated.links[1].link) == "2,2,3:x-");
  CHECK(dated.links[1].factor == 0.5);
  CHECK(dated.links[13].factor == 0);
  CHECK(dated.links[13].fault == 1);
  CHECK(dated.links[14].date == 1e-3);
  REQUIRE(dated.chips.size() == 1);
  CHECK(dated.chips[0].date == Approx(3e-6));
  CHECK(WithoutDatedFaults(slice).topology.dated().empty());
}

TEST_CASE("a topology file may list its cables", "[topology]") {
  const TemporaryFile file(
      "links.json",
      Links(R"("chips": 3, "parameters": {"ici.hop_latency": "3us"},
               "links": [[0, 1, {"bandwidth": "90GB/s", "latency": "1us"}],
                         [2, 1, {"bandwidth": "45GB/s"}], [0, 2]],
               "faults": ["link:2-0:oneway"])"));
  const Slice slice = SliceOf(file.path());
  const Topology& topology = slice.topology;
  CHECK(slice.spec == file.path());
  CHECK(slice.shape.empty());
  CHECK(!topology.is_grid());
  CHECK(topology.chips() == 3);
  CHECK(topology.link_ids() == 6);
  const auto link = [&](const char* name) { return *topology.FindLink(name); };
  for (const char* name : {"0-1", "1-0"}) {
    CHECK(topology.Bandwidth(link(name)).value() == 90e9);
    CHECK(topology.Latency(link(name)).value() == Approx(1e-6));
  }
  // What a cable does not say is as the parameters have it.
  CHECK(topology.Bandwidth(link("1-2")).value() == 45e9);
  CHECK(topology.Latency(link("1-2")).value() == Approx(3e-6));
  CHECK(topology.Bandwidth(link("0-2")).value() == 100e9);
  CHECK(!topology.Live(link("2-0")));
  CHECK(topology.Live(link("0-2")));
  CHECK(HopsFrom(topology, ChipId(2)) == std::vector<int>{2, 1, 0});

  // --ideal takes the latencies of the cables, too.
  SliceRequest request;
  request.spec = file.path();
  request.ideal = true;
  const Slice ideal = MakeSlice(request);
  ideal.topology.ForEachLiveLink(
      [&](LinkId id) { CHECK(ideal.topology.Latency(id).value() == 0); });
  CHECK(ideal.topology.Bandwidth(link("1-2")).value() == 45e9);
}

TEST_CASE("the shipped topology files can be used", "[topology]") {
  const std::string folder = PODSIM_SOURCE_DIR "/topologies/";
  CHECK(AxesOf(SliceOf(folder + "v5e-256.json")) == "16w x 16w");
  const Slice twisted = SliceOf(folder + "v5p-128-twisted.json");
  CHECK(AxesOf(twisted) == "4w x 4w x 8w");
  CHECK(twisted.topology.twisted());
  CHECK(!SliceOf(folder + "v4-64-one-dead-cable.json").topology.healthy());
  const Slice uneven = SliceOf(folder + "ring-of-8-uneven.json");
  CHECK(uneven.topology.chips() == 8);
  CHECK(!uneven.topology.uniform());
}

TEST_CASE("the example topologies are taken or refused as their index says",
          "[topology]") {
  int files = 0;
  const std::string folder = kExamples;
  for (const JsonValue& entry :
       JsonValue::ReadFile(folder + "index.json").Elements()) {
    if (entry.Get("command").AsString() != "topology") continue;
    ++files;
    const std::string path = folder + entry.Get("file").AsString();
    CAPTURE(path);
    const std::string error = SliceError(path);
    if (entry.Get("exit").AsInteger(0, 2) == 0) {
      CHECK(error == "no error");
      continue;
    }
    CHECK_THAT(error, Catch::StartsWith(path + ": "));
    for (const JsonValue& word : entry.Get("message_contains").Elements()) {
      CHECK_THAT(error, Catch::Contains(word.AsString()));
    }
  }
  CHECK(files == 9);
}

TEST_CASE("the valid examples mean what they say", "[topology]") {
  const Slice grid = SliceOf(std::string(kExamples) + "topology-valid.json");
  CHECK(AxesOf(grid) == "4w x 4w x 4w");
  CHECK(grid.parameters.ici_hop_latency.value() == Approx(500e-9));
  CHECK(!grid.topology.Live(*grid.topology.FindLink("1,2,3:x+")));
  CHECK(!grid.topology.Live(*grid.topology.FindLink("2,2,3:x-")));
  const Slice links =
      SliceOf(std::string(kExamples) + "topology-links-valid.json");
  CHECK(SummariseDistances(links.topology).diameter == 2);
  const Topology& ring = links.topology;
  CHECK(ring.Bandwidth(*ring.FindLink("3-2")).value() == 45e9);
  CHECK(ring.Bandwidth(*ring.FindLink("0-3")).value() == 90e9);
}

// ---- Bad inputs.

struct BadSpec {
  std::string spec;
  std::string what;  // after "--slice: "
};

TEST_CASE("a bad spec says what was found and what was expected",
          "[topology]") {
  const std::string generations =
      " (known: v2, v3, v4, v5e, v5p, v6e, v7x, 8t, ideal)";
  const std::string modifiers =
      " in a slice; known: twisted, mesh, torus, wrap=AXES (for example "
      "wrap=xz)";
  const std::string form =
      "expected GENERATION:SHAPE such as v5p:4x4x8, or a topology file "
      "(.json), got ";
  const std::vector<BadSpec> table = {
      {"", form + "\"\""},
      {"v5p", form + "\"v5p\""},
      {"4x4x4", form + "\"4x4x4\""},
      {"2*v5e", form + "\"2*v5e\""},
      {"v5x:4x4x4",
       "unknown generation \"v5x\"; did you mean \"v5e\"?" + generations},
      {"v7:4x4x4",
       "unknown generation \"v7\"; did you mean \"v2\"?" + generations},
      {"v5p:", "expected a shape such as 4x4x8, got \"\" in \"v5p:\""},
      {"v5p:4x4x",
       "expected a shape such as 4x4x8, got \"4x4x\" in "
       "\"v5p:4x4x\""},
      {"v5p:4,4,4",
       "expected a shape such as 4x4x8, got \"4,4,4\" in "
       "\"v5p:4,4,4\""},
      {"v5p:twisted:4x4x8",
       "expected a shape such as 4x4x8, got \"twisted\" "
       "in \"v5p:twisted:4x4x8\""},
      {"v5p:4x0x4", "expected an axis of at least 1 chip, got 0 in 4x0x4"},
      {"v5p:4x-4x4", "expected an axis of at least 1 chip, got -4 in 4x-4x4"},
      {"v5p:4x4x4x4", "v5p slices have at most 3 axes, got 4x4x4x4"},
      {"v5e:4x4x4", "v5e slices have at most 2 axes, got 4x4x4"},
      {"ideal:2x2x2x2", "ideal slices have at most 3 axes, got 2x2x2x2"},
      {"v5p:5x5x5",
       "v5p has no slice of shape 5x5x5; legal shapes near it: 4x4x4, 2x4x4, "
       "4x2x4, 4x4x2, 4x4x8, 4x8x4"},
      {"v4:4x8",
       "v4 has no slice of shape 4x8x1; legal shapes near it: 4x8x4, 4x4x1, "
       "4x2x1, 4x1x1, 2x4x1, 1x4x1"},
      {"v5e:3x3",
       "v5e has no slice of shape 3x3; legal shapes near it: 2x2, 2x4, 4x2, "
       "4x4, 1x1, 4x8"},
      {"v2:17x16",
       "v2 has no slice of shape 17x16; legal shapes near it: 16x16"},
      {"ideal:100000x100000x100000",
       "ideal has no slice of shape 100000x100000x100000 (more than 16777216 "
       "chips)"},
      {"4*v4:5x5x100",  // 2,500 chips in a slice: not too many
       "v4 has no slice of shape 5x5x100; legal shapes near it: 4x4x100, "
       "4x8x100, 8x4x100, 4x4x104, 4x8x104, 8x4x104"},
      {"100000*v5p:16x16x16",
       "100000 slices of 16x16x16 have more than 16777216 chips; expected at "
       "most 4096 slices"},
      {"0*v5e:16x16",
       "the slices before *: expected an integer from 1 to 16777216, got "
       "\"0\""},
      {"two*v5e:16x16",
       "the slices before *: expected an integer from 1 to 16777216, got "
       "\"two\""},
      {"v5p:4x4x4:twisted",
       "v5p:4x4x4 cannot be twisted; shapes that can (n,n,2n or n,2n,2n): "
       "4x4x8, 4x8x4, 8x4x4, 4x8x8, 8x4x8, 8x8x4"},
      {"v5e:8x16:twisted",
       "v5e:8x16 cannot be twisted; this generation has no twisted slices"},
      {"ideal:3x3:twisted",
       "ideal:3x3 cannot be twisted; shapes that can (n,n,2n or n,2n,2n): "
       "3x6, 6x3, 2x4, 4x2, 4x8, 8x4"},
      {"v5p:4x4x8:mesh:twisted",
       "a twisted slice wraps on every axis; remove the wrap override or the "
       "twist"},
      {"v5p:4x4x8:twisted:wrap=xy",
       "a twisted slice wraps on every axis; remove the wrap override or the "
       "twist"},
      {"v5p:4x4x4:mesh:torus",
       "\"torus\" is a second say on the wraps; expected at most one of mesh, "
       "torus, wrap=AXES"},
      {"v5p:4x4x4:wrap=x:wrap=y",
       "\"wrap=y\" is a second say on the wraps; expected at most one of mesh, "
       "torus, wrap=AXES"},
      {"v5p:4x4x4:twist", "unknown modifier \"twist\"" + modifiers},
      {"v5p:4x4x4:", "unknown modifier \"\"" + modifiers},
      {"v5p:4x4x4:wrap", "unknown modifier \"wrap\"" + modifiers},
      {"v5p:4x4x4:wrap=w", "\"wrap=w\": expected axes among xyz"},
      {"v5e:16x16:wrap=xz", "\"wrap=xz\": expected axes among xy"},
  };
  for (const BadSpec& row : table) {
    CHECK(SliceError(row.spec) == "--slice: " + row.what);
  }
}

TEST_CASE("a bad spec of a file is refused at its own place", "[topology]") {
  SliceRequest request;
  request.spec = "v5p:5x5x5";
  request.spec_where = "w.json: /slice";
  CHECK_THAT(ErrorOf([&] { MakeSlice(request); }),
             Catch::StartsWith("w.json: /slice: v5p has no slice of shape "
                               "5x5x5; legal shapes near it: 4x4x4, "));
}

TEST_CASE("too many chips are refused with the most there can be",
          "[topology]") {
  for (const auto& [spec, most] :
       {std::pair{"v4:16x16x32", "4096"}, std::pair{"v5p:20x20x24", "8960"},
        std::pair{"v7x:16x20x32", "9216"}, std::pair{"8t:16x24x28", "9600"}}) {
    const std::string shape =
        std::string(spec).substr(std::string(spec).find(':') + 1);
    CAPTURE(spec);
    CHECK_THAT(
        SliceError(spec),
        Catch::Contains("has no slice of shape " + shape + " (more than " +
                        most + " chips); legal shapes near it: "));
  }
}

TEST_CASE("chips that faults cut off are named", "[topology]") {
  CHECK(SliceError("ideal:4:mesh", {}, {"link:1:x+"}) ==
        "ideal:4:mesh: the slice is disconnected: chip (0) cannot reach, or be "
        "reached from, 2 chips: (2) (3); repair a link or mark those chips "
        "dead (chip:...)");
  // As the message says.
  CHECK_NOTHROW(SliceOf("ideal:4:mesh", {}, {"link:1:x+", "chip:2", "chip:3"}));
  CHECK(SliceError("v5p:4x4x4", {}, {"link:1,2,9:x+"}) ==
        "--fault link:1,2,9:x+: no link \"1,2,9:x+\" in this slice; expected "
        "coordinates below 4,4,4 and a direction that has a cable, such as "
        "0,0,0:x+");
}

struct BadFile {
  std::string text;
  std::string what;  // after the path
};

TEST_CASE(
    "a bad topology file says where, what was found and what was "
    "expected",
    "[topology]") {
  const std::string generations =
      " (known: v2, v3, v4, v5e, v5p, v6e, v7x, 8t, ideal)";
  const std::string whole = "expected an integer from ";
  const std::vector<BadFile> table = {
      {"[]", ": expected an object, got []"},
      {"{}", ": missing key \"format\""},
      {R"({"format": "podsim-topology/2"})",
       ": /format: expected \"podsim-topology/1\", got \"podsim-topology/2\""},
      {R"({"format": "podsim-topology/1", "shape": [4]})",
       ": missing key \"generation\""},
      {R"({"format": "podsim-topology/1", "generation": "v6p", "shape": [4]})",
       ": /generation: unknown generation \"v6p\"; did you mean \"v5p\"?" +
           generations},
      {Grid(R"("slices": 1)"), ": missing key \"shape\""},
      {Grid(R"("shapes": [4, 4, 4])"),
       ": /shapes: unknown key; did you mean \"shape\"? (known: format, name, "
       "generation, shape, wrap, twisted, slices, chips, links, parameters, "
       "faults, source)"},
      {Grid(R"("shape": "4x4x4")"),
       ": /shape: expected an array, got \"4x4x4\""},
      {Grid(R"("shape": [])"), ": /shape: expected at least one axis"},
      {Grid(R"("shape": [4, 0, 4])"),
       ": /shape/1: " + whole + "1 to 1073741824, got 0"},
      {Grid(R"("shape": [4, 4.5, 4])"),
       ": /shape/1: " + whole + "1 to 1073741824, got 4.5"},
      {Grid(R"("shape": [4, 4, 4, 4])"),
       ": /shape: v4 slices have at most 3 axes, got 4x4x4x4"},
      // The missing axis has one chip: no whole cubes.
      {Grid(R"("shape": [4, 8])"),
       ": /shape: v4 has no slice of shape 4x8x1; legal shapes near it: 4x8x4, "
       "4x4x1, 4x2x1, 4x1x1, 2x4x1, 1x4x1"},
      {Grid(R"("shape": [4, 4, 4], "wrap": [true, false])"),
       ": /wrap: expected 3 entries, one per axis of the shape, got 2"},
      {Grid(R"("shape": [4, 4, 4], "wrap": [true, false, 1])"),
       ": /wrap/2: expected true or false, got 1"},
      {Grid(R"("shape": [4, 4, 4], "twisted": true)"),
       ": /twisted: v4:4x4x4 cannot be twisted; shapes that can (n,n,2n or "
       "n,2n,2n): 4x4x8, 4x8x4, 8x4x4, 4x8x8, 8x4x8, 8x8x4"},
      {Grid(R"("shape": [4, 4, 8], "twisted": true,
               "wrap": [true, true, false])"),
       ": /twisted: a twisted slice wraps on every axis; remove the wrap "
       "override or the twist"},
      {Grid(R"("shape": [4, 4, 4], "slices": 0)"),
       ": /slices: " + whole + "1 to 16777216, got 0"},
      {Grid(R"("shape": [4, 4, 4], "slices": 1000000)"),
       ": /slices: 1000000 slices of 4x4x4 have more than 16777216 chips; "
       "expected at most 262144 slices"},
      {Grid(R"("shape": [4, 4, 4], "parameters": {"ici.bandwidth": 90})"),
       ": /parameters/ici.bandwidth: expected a string, got 90"},
      {Grid(R"("shape": [4, 4, 4], "parameters": {"ici.bandwidth": "90Gbps"})"),
       ": /parameters/ici.bandwidth: \"90Gbps\" is ambiguous; write \"90GB/s\" "
       "or \"90Gbit/s\""},
      {Grid(R"("shape": [4, 4, 4], "faults": ["link:1,2,9:x+"])"),
       ": /faults/0: no link \"1,2,9:x+\" in this slice; expected coordinates "
       "below 4,4,4 and a direction that has a cable, such as 0,0,0:x+"},
      {Grid(R"("shape": [4, 4, 4], "faults": ["chip:0,0,0", 7])"),
       ": /faults/1: expected a string, got 7"},
      {Grid(R"("shape": [4, 4, 4], "faults": ["chip:0,0,0@1"])"),
       ": /faults/0: \"1\" has no unit; write for example \"1us\""},
      {Links(R"("chips": 4)"), ": missing key \"links\""},
      {Links(R"("links": [[0, 1]])"), ": missing key \"chips\""},
      {Links(R"("chips": 0, "links": [])"),
       ": /chips: " + whole + "1 to 16777216, got 0"},
      {Links(R"("chips": 2, "links": [[0, 1]], "shape": [2])"),
       ": /shape: a topology with \"links\" has no \"shape\"; remove one of "
       "them"},
      {Links(R"("chips": 2, "links": [[0, 1]], "wrap": [true])"),
       ": /wrap: a topology with \"links\" has no \"wrap\"; remove one of "
       "them"},
      {Links(R"("chips": 2, "links": [[0, 2]])"),
       ": /links/0/1: " + whole + "0 to 1, got 2"},
      {Links(R"("chips": 2, "links": [[0]])"),
       ": /links/0: expected [chip, chip] or [chip, chip, {\"bandwidth\", "
       "\"latency\"}], got [0]"},
      {Links(R"("chips": 2, "links": [[0, 1], [1, 1]])"),
       ": /links/1: a cable must join two different chips, got [1,1]"},
      {Links(R"("chips": 2, "links": [[0, 1], [1, 0]])"),
       ": /links/1: the cable 0-1 stands twice; give one cable the sum of the "
       "bandwidths"},
      {Links(R"("chips": 2, "links": [[0, 1, {"rate": "1GB/s"}]])"),
       ": /links/0/2/rate: unknown key (known: bandwidth, latency)"},
      {Links(R"("chips": 2, "links": [[0, 1, {"bandwidth": "1GB"}]])"),
       ": /links/0/2/bandwidth: \"1GB\" has the unknown unit \"GB\"; did you "
       "mean \"1GB/s\"? (known: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, "
       "GiB/s, TiB/s, bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s)"},
      {Links(R"("chips": 4, "links": [[0, 1], [2, 3]])"),
       ": the slice is disconnected: chip (0) cannot reach, or be reached "
       "from, 2 chips: (2) (3); repair a link or mark those chips dead "
       "(chip:...)"},
  };
  for (const BadFile& row : table) {
    CAPTURE(row.text);
    const TemporaryFile file("bad.json", row.text);
    CHECK(SliceError(file.path()) == file.path() + row.what);
  }
  CHECK(SliceError("no-such.json") ==
        "no-such.json: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace podsim
