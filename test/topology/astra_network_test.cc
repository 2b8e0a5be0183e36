// Network files of ASTRA-sim: what they say, as which torus they run, and what
// is refused.
#include "topology/astra_network.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/text_file.h"
#include "test/support/error_of.h"

namespace podsim {
namespace {

SliceRequest RequestOf(const std::string& file) {
  SliceRequest request;
  request.spec = file;
  return request;
}

Slice SliceOfText(const std::string& text) {
  return MakeAstraSlice(ParseAstraNetwork(text, "n.yml"), RequestOf("n.yml"));
}

std::string Network(const std::string& topology, const std::string& npus,
                    const std::string& bandwidth, const std::string& latency) {
  return "topology: [" + topology + "]\nnpus_count: [" + npus +
         "]\nbandwidth: [" + bandwidth + "]\nlatency: [" + latency + "]\n";
}

TEST_CASE("lengths, wraps, GB/s of 2^30 bytes and ns are read",
          "[topology][astra]") {
  const Slice slice =
      SliceOfText(Network("Ring, Ring, FullyConnected", "4, 2, 3",
                          "50.0, 50, 5e1", "500, 500.0, 500"));
  const std::vector<GridAxis>& axes = slice.topology.axes();
  REQUIRE(axes.size() == 3);
  CHECK((axes[0].size == 4 && axes[0].wrap));
  CHECK((axes[1].size == 2 && !axes[1].wrap));  // one cable
  CHECK((axes[2].size == 3 && axes[2].wrap));
  CHECK(slice.parameters.ici_bandwidth.value() == 50 * 1073741824.0);
  CHECK(slice.parameters.ici_hop_latency.value() == 500e-9);
  CHECK(slice.spec == "n.yml");
  CHECK(slice.generation == "ideal");
}

TEST_CASE("a dimension of one NPU has no links to compare",
          "[topology][astra]") {
  const Slice slice =
      SliceOfText(Network("Ring, Ring", "1, 8", "7, 50", "1, 500"));
  CHECK(slice.topology.chips() == 8);
  CHECK(slice.parameters.ici_hop_latency.value() == 500e-9);
}

TEST_CASE("a network file gives way to --set and --ideal",
          "[topology][astra]") {
  const AstraNetwork network =
      ParseAstraNetwork(Network("Ring", "8", "50", "500"), "n.yml");
  SliceRequest request = RequestOf("n.yml");
  request.ideal = true;
  request.sets = {"ici.bandwidth=1GB/s"};
  const Slice slice = MakeAstraSlice(network, request);
  CHECK(slice.parameters.ici_bandwidth.value() == 1e9);
  CHECK(slice.parameters.ici_hop_latency.value() == 0);
}

TEST_CASE("networks of ASTRA-sim are the slices they describe",
          "[topology][astra]") {
  const char* corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: no real networks are read");
    return;
  }
  const std::string folder = std::string(corpus) + "/astra/network/";
  const Slice ring = MakeSlice(RequestOf(folder + "Ring_16npus.yml"));
  CHECK(ring.shape == Shape{16});
  CHECK(ring.parameters.ici_bandwidth.value() == 50 * 1073741824.0);
  CHECK(ring.parameters.ici_hop_latency.value() == 500e-9);
  const Slice torus = MakeSlice(RequestOf(folder + "tpu_v3_32_2dtorus.yml"));
  CHECK(torus.shape == Shape{4, 8});
  CHECK((torus.topology.axes()[0].wrap && torus.topology.axes()[1].wrap));
  CHECK(torus.parameters.ici_bandwidth.value() == 80 * 1073741824.0);
  CHECK(torus.parameters.ici_hop_latency.value() == 1e-6);
  const std::string mixed = folder + "Ring_FullyConnected_Switch.yml";
  const AstraNetwork network = ParseAstraNetwork(ReadTextFile(mixed), mixed);
  REQUIRE(network.dimensions.size() == 3);
  CHECK(network.dimensions[1].shape == AstraShape::kFullyConnected);
  CHECK(network.dimensions[2].shape == AstraShape::kSwitch);
  CHECK(network.dimensions[2].npus == 4);
  CHECK(network.dimensions[2].latency_ns == 2000);
  CHECK(ErrorOf([&] { MakeSlice(RequestOf(mixed)); })
            .starts_with(mixed + ":4:19: FullyConnected of 8 NPUs is not "
                                 "modelled; podsim models tori"));
}

struct BadNetwork {
  std::string text;
  std::string message;  // its beginning, after the file
};

TEST_CASE("bad networks of ASTRA-sim are refused at their place",
          "[topology][astra]") {
  const std::string keys = "topology, npus_count, bandwidth, latency";
  const std::vector<BadNetwork> table = {
      {"", ": expected the keys " + keys + ", found nothing"},
      {"[1, 2]", ":1:1: expected a mapping with the keys " + keys +
                     " of a network file, found a list"},
      {"Ring", ":1:1: expected a mapping with the keys " + keys +
                   " of a network file, found \"Ring\""},

      {"topology: {Ring", ":1:11: expected a list"},
      {"topology: ['Ring", ":1:17: is no YAML: "},
      {"topology: Ring",
       ":1:11: expected a list in brackets, an entry per "
       "dimension, such as [ Ring, Ring ], found \"Ring\""},
      {"npus_count:\n",
       ":2:1: expected a list in brackets, an entry per dimension, such as "
       "[ 4, 8 ], found nothing"},
      {"topology: [[Ring]]",
       ":1:12: expected Ring, FullyConnected or Switch, found a list"},
      {"latency: [{a: 1}]", ":1:11: expected a number, found a mapping"},
      {"latency: &a [1]\nbandwidth: *a\n",
       ":2:12: expected a list in brackets, an entry per dimension, such as "
       "[ 4, 8 ], found an alias (*)"},
      {"? [a]\n: 1\n",
       ":1:3: expected one of the keys " + keys + ", found a list"},
      {"bandwith: [1]",
       ":1:1: unknown key \"bandwith\"; did you mean "
       "\"bandwidth\"? (known: " +
           keys + ")"},
      {"latency: [1]\nlatency: [2]\n",
       ":2:1: the key \"latency\" stands twice, first at n.yml:1:1; remove "
       "one"},
      {"topology: [Ring]\nbandwidth: [1]\nlatency: [1]\n",
       ": the key \"npus_count\" is missing; add it, an entry per dimension"},
      {Network("", "", "", ""), ":1:1: expected at least one dimension"},
      {Network("Ring, Ring", "4", "1, 1", "1, 1"),
       ":2:1: expected 2 entries in \"npus_count\", as many as in "
       "\"topology\", found 1"},
      {Network("ring", "4", "1", "1"),
       ":1:12: expected Ring, FullyConnected, Switch, found \"ring\"; did you "
       "mean Ring?"},
      {Network("Mesh", "4", "1", "1"),
       ":1:12: expected Ring, FullyConnected, Switch, found \"Mesh\""},
      {Network("Ring", "0", "1", "1"),
       ":2:14: expected a whole number of NPUs from 1 to 16777216, found "
       "\"0\""},
      {Network("Ring", "4.0", "1", "1"),
       ":2:14: expected a whole number of NPUs from 1 to 16777216, found "
       "\"4.0\""},
      {Network("Ring", "4", "50GB/s", "1"),
       ":3:13: expected GB/s (of 2^30 bytes) without its unit, found "
       "\"50GB/s\""},
      {Network("Ring", "4", "0", "1"),
       ":3:13: expected GB/s from 1e-9 to 1e9, found \"0\""},
      {Network("Ring", "4", "1", "-5"),
       ":4:11: expected ns from 0 to 1e12, found \"-5\""},
      {Network("Ring", "4", "1", ".inf"),
       ":4:11: expected ns without its unit, found \".inf\""},
      {Network("Switch", "8", "1", "1"),
       ":1:12: Switch of 8 NPUs is not modelled; podsim models tori: Ring of "
       "any length, FullyConnected of 2 or 3 NPUs"},
      {Network("FullyConnected", "4", "1", "1"),
       ":1:12: FullyConnected of 4 NPUs is not modelled; podsim models tori"},
      {Network("Ring, Ring", "4, 4", "1, 2", "1, 1"),
       ":3:16: the bandwidth 2 GB/s of dimension 1 is not that of the "
       "dimensions before (1 GB/s); podsim models tori"},
      {Network("Ring, Ring", "4, 4", "1, 1", "1, 2"),
       ":4:14: the latency 2 ns of dimension 1 is not that of the dimensions "
       "before (1 ns); podsim models tori"},
      {Network("Ring, Ring, Ring, Ring", "2, 2, 2, 2", "1, 1, 1, 1",
               "1, 1, 1, 1"),
       ":1:30: found 4 dimensions; podsim models tori"},
      {Network("Ring, Ring", "16777216, 2", "1, 1", "1, 1"),
       ":2:14: ideal has no slice of shape 16777216x2 (more than 16777216 "
       "chips)"}};
  for (const BadNetwork& bad : table) {
    CAPTURE(bad.text);
    const std::string found = ErrorOf([&] { SliceOfText(bad.text); });
    CHECK(found.substr(0, 5 + bad.message.size()) == "n.yml" + bad.message);
  }
}

}  // namespace
}  // namespace podsim
