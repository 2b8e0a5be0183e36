// Files of ASTRA-sim through the command line.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;
using nlohmann::ordered_json;

const std::string kFiles =
    "--astra workloads/astra/torus_4x4.yml workloads/astra/rings.json "
    "workloads/astra/two_layers_data.txt";

TEST_CASE("simulate --astra warns of what its files say in vain",
          "[cli][astra]") {
  const Outcome outcome = Podsim(Words("simulate " + kFiles));
  CHECK(outcome.status == 0);
  CHECK(outcome.err ==
        "podsim: warning: workloads/astra/rings.json: not modelled, ignored: "
        "scheduling-policy\n");
  CHECK_THAT(outcome.out, Contains("embed.wg.comm"));
}

TEST_CASE("a step of ASTRA-sim follows --compute-scale and --set",
          "[cli][astra]") {
  const TemporaryFolder folder;
  folder.Write("n.yml",
               "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\n"
               "latency: [500]\n");
  folder.Write("s.json", R"({"all-reduce-implementation": ["ring"]})");
  folder.Write("w.txt",
               "MICRO\n1\na -1 7 ALLREDUCE 4000 0 NONE 0 0 NONE 0 0\n");
  // 7 us and a ring of 4: 2 x 3 steps of 500 ns and 1000 bytes at 1 GB/s.
  const ordered_json result = PodsimJson(
      Words("simulate w.txt --astra n.yml s.json --compute-scale 100000% --set "
            "ici.bandwidth=1GB/s --json -"),
      folder.path());
  CHECK(result["points"][0]["makespan_s"].get<double>() ==
        Approx(7e-6 + 6 * 1500e-9));
}

TEST_CASE("what --astra does not take is refused", "[cli][astra]") {
  struct Case {
    std::string command;
    std::string message;
  };
  for (const Case& one :
       {Case{"simulate --slice v5e:4x4 " + kFiles,
             "--slice: is not for --astra, whose files say the network; leave "
             "it out"},
        Case{"explain --trip-count 3 " + kFiles,
             "--trip-count: is not for --astra, whose files say the network; "
             "leave it out"},
        Case{"simulate --bytes 1MiB " + kFiles,
             "--bytes: the sizes of a workload are in its file"},
        Case{"simulate --astra workloads/astra/rings.json "
             "workloads/astra/torus_4x4.yml w.txt",
             "--astra: expected NETWORK.yml SYSTEM.json, got "
             "\"workloads/astra/rings.json\" first; networks end in .yml or "
             ".yaml"}}) {
    CAPTURE(one.command);
    const Outcome outcome = Podsim(Words(one.command));
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == "podsim: error: " + one.message + "\n");
  }
}

}  // namespace
}  // namespace podsim
