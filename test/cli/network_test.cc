// --network and the key of sweeps, through the command line.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;
using nlohmann::ordered_json;

const std::string kAllToAll =
    "collective all-to-all --bytes 1MiB --slice v5e:4x4 ";

TEST_CASE("results name their network, tables say what differs", "[cli]") {
  const std::string full = "packet:size=4KiB,cut_through=true";
  const ordered_json point =
      PodsimJson(Words(kAllToAll + "--network packet --json -"))["points"][0];
  CHECK(point["network"] == full);
  CHECK(point["fold"].is_null());
  CHECK(point["time_s"] >= point["lower_bound_s"]);
  const Outcome table = Podsim(Words(kAllToAll + "--network packet"));
  CHECK(table.status == 0);
  CHECK_THAT(table.out, Contains("\nnetwork " + full + ": "));
  const Outcome fluid = Podsim(Words(kAllToAll + "--network fluid"));
  CHECK(fluid.out == Podsim(Words(kAllToAll)).out);
  CHECK(fluid.out.find("network") == std::string::npos);
}

TEST_CASE("compare on fifo names those that send over several hops", "[cli]") {
  const ordered_json result = PodsimJson(
      Words("compare all-reduce --bytes 1MiB --slice v5e:4x4 --network fifo "
            "--json -"));
  CHECK(result["points"].size() > 3);
  bool named = false;
  for (const ordered_json& entry : result["not_applicable"]) {
    named |= entry["reason"] ==
             "sends over several hops, which --network fifo does not serve; "
             "use --network packet or fluid";
  }
  CHECK(named);
}

TEST_CASE("compare goes on where a lowering loses transfers", "[cli]") {
  const ordered_json result = PodsimJson(
      Words("compare all-gather --slice ideal:4 --bytes 4000B --json - "
            "--fault link:0:x+:oneway@15ns"));
  CHECK(result["points"][0]["lowering"] == "ring-split");
  bool named = false;
  for (const ordered_json& entry : result["not_applicable"]) {
    named |= entry["lowering"] == "ring" &&
             entry["reason"] ==
                 "the run loses 1 transfer to \"link:0:x+:oneway@15ns\" at "
                 "15ns, and 2 ops that waited for them never ran";
  }
  CHECK(named);
}

TEST_CASE("a workload runs in every network", "[cli]") {
  const ordered_json fluid = PodsimJson(
      Words("simulate workloads/fsdp_two_layers.json --json -"))["points"][0];
  for (const std::string network :
       {"fifo", "packet:size=1MiB,cut_through=true"}) {
    CAPTURE(network);
    const std::string command =
        "simulate workloads/fsdp_two_layers.json --json - --network " + network;
    const ordered_json step = PodsimJson(Words(command))["points"][0];
    CHECK(step["network"] == network);
    CHECK(step["fold"].is_null());
    CHECK(step["compute_s"] == fluid["compute_s"]);
    CHECK(step["makespan_s"].get<double>() >=
          step["lower_bound_s"].get<double>() * (1 - 1e-9));
    CHECK(Podsim(Words(command)).out == Podsim(Words(command)).out);
  }
}

TEST_CASE("a sweep over networks has a point for each", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", R"({"format": "podsim-sweep/1",
      "collective": "all-reduce", "slice": "ideal:4", "bytes": "1MB",
      "lowering": "ring",
      "network": ["fluid", "fifo", "packet", "packet:size=1kB"],
      "set": {"ici.hop_latency": "1us"}})");
  CHECK(Podsim({"sweep", "s.json", "-o", "r.json"}, folder.path()).status == 0);
  const ordered_json points =
      ordered_json::parse(folder.Read("r.json"))["points"];
  REQUIRE(points.size() == 4);
  const char* networks[] = {"fluid", "fifo",
                            "packet:size=4KiB,cut_through=true",
                            "packet:size=1kB,cut_through=true"};
  for (std::size_t k = 0; k < points.size(); ++k) {
    CHECK(points[k]["network"] == networks[k]);
    // A ring has no contention: 2 (n-1)(alpha + S/(nB)) in all of them.
    CHECK(points[k]["time_s"].get<double>() ==
          Approx(6 * (1e-6 + 1e6 / (4 * 100e9))).epsilon(1e-9));
  }
  // Points are told apart by it.
  CHECK(Podsim({"check", "r.json", "r.json"}, folder.path()).status == 0);
}

}  // namespace
}  // namespace podsim
