// HLO files on the command line.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"
#include "test/support/temporary_file.h"

namespace podsim {
namespace {

using nlohmann::ordered_json;

const std::string kFolder = "workloads/hlo/";

TEST_CASE("every sample module is a step on its slice", "[cli][hlo]") {
  const std::vector<std::pair<std::string, std::string>> samples = {
      {"async_pairs.hlo", "v5p:4x4x4"},
      {"collective_matmul.hlo", "v5p:4x4x4"},
      {"fsdp_layer_loop.hlo", "v5p:4x4x4"},
      {"moe_all_to_all.hlo", "v5e:4x4"},
      {"multislice_dp.hlo", "2*v5e:4x4"},
      {"nested_loops.hlo", "v5p:4x4x4"},
      {"pipeline_send_recv.hlo", "v5e:4x4"},
      {"tp_sequence_parallel.hlo", "v5e:4x4"}};
  for (const auto& [file, slice] : samples) {
    CAPTURE(file);
    const Outcome run =
        Podsim({"simulate", kFolder + file, "--slice", slice, "--json", "-"});
    REQUIRE(run.status == 0);
    const ordered_json step = ordered_json::parse(run.out)["points"][0];
    const double makespan = step["makespan_s"];
    CHECK(makespan > 0);
    CHECK(makespan >= step["lower_bound_s"].get<double>() * (1 - 1e-9));
    CHECK(step["verified"]["ok"] == true);
    const double parts = step["compute_s"].get<double>() +
                         step["interference_s"].get<double>() +
                         step["exposed_communication_s"].get<double>() +
                         step["idle_s"].get<double>();
    CHECK(parts == Approx(makespan).epsilon(1e-9));
    CHECK_FALSE(step["collectives"].empty());
  }
}

// A sample without the all-reduce of its loss: a scalar has no equal shards.
std::string WithoutLoss(const std::string& file) {
  std::ifstream in(kFolder + file);
  std::string text, line;
  while (std::getline(in, line)) {
    const auto groups = line.find("[1,64]<=[64]");
    if (line.find("= f32[] all-reduce(") != std::string::npos) {
      line.replace(groups, 12, "[64,1]<=[64]");
    }
    text += line + "\n";
  }
  return text;
}

TEST_CASE("a step of 64 chips takes as long folded as chip by chip",
          "[cli][hlo]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "step.hlo")
      << WithoutLoss("fsdp_layer_loop.hlo");
  const auto step = [&](const std::string& flags) {
    const Outcome run =
        Podsim(Words("simulate step.hlo --slice v5p:4x4x4 --json - " + flags),
               folder.path());
    REQUIRE(run.status == 0);
    return ordered_json::parse(run.out)["points"][0];
  };
  for (const std::string async : {"--async auto", "--async all"}) {
    CAPTURE(async);
    const ordered_json folded = step(async);
    const ordered_json unfolded = step(async + " --fold off");
    REQUIRE(folded["fold"] == std::vector<int>{1, 1, 1});
    REQUIRE(unfolded["fold"].is_null());
    const double makespan = unfolded["makespan_s"];
    CHECK(folded["makespan_s"].get<double>() == Approx(makespan).epsilon(1e-9));
    for (const std::string list : {"collectives", "computes"}) {
      REQUIRE(folded[list].size() == unfolded[list].size());
      for (std::size_t k = 0; k < folded[list].size(); ++k) {
        for (const std::string key : {"total_s", "exposed_s", "overlapped_s",
                                      "compute_s", "interference_s"}) {
          if (!unfolded[list][k].contains(key)) continue;
          CHECK(folded[list][k][key].get<double>() ==
                Approx(unfolded[list][k][key].get<double>())
                    .margin(1e-9 * makespan));
        }
      }
    }
  }
}

TEST_CASE("flags say what the text of a module does not", "[cli][hlo]") {
  const std::string file = kFolder + "tp_sequence_parallel.hlo";
  const auto compute = [&](const std::string& flags) {
    return PodsimJson(Words("simulate " + file +
                            " --slice v5e:4x4 --engine pod --json - " +
                            flags))["points"][0]["compute_s"]
        .get<double>();
  };
  CHECK(compute("--compute-scale 150%") ==
        Approx(1.5 * compute("")).epsilon(1e-9));
  const Outcome typo = Podsim(
      Words("simulate " + file + " --slice v5e:4x4 --trip-count loop=3"));
  CHECK(typo.status == 2);
  CHECK_THAT(typo.err, Catch::Contains("--trip-count loop=3"));
  const Outcome other =
      Podsim(Words("simulate workloads/fsdp_two_layers.json --trip-count 3"));
  CHECK(other.status == 2);
  CHECK_THAT(other.err, Catch::Contains("is for HLO files"));
}

TEST_CASE("a broken module is refused at its line", "[cli][hlo]") {
  const TemporaryFolder folder;
  folder.Write("m.hlo",
               "HloModule m\nENTRY e {\n  p = f32[4 parameter(0)\n}\n");
  const Outcome broken =
      Podsim(Words("simulate m.hlo --slice v5e:4x4"), folder.path());
  CHECK(broken.status == 2);
  CHECK_THAT(broken.err, Catch::Contains("m.hlo:3:"));
  folder.Write(
      "two.hlo",
      "ENTRY e {\n  p = f32[4] parameter(0)\n}\n// -----\nENTRY f {\n  "
      "p = f32[4] parameter(0)\n}\n");
  const Outcome two =
      Podsim(Words("simulate two.hlo --slice v5e:4x4"), folder.path());
  CHECK(two.status == 2);
  CHECK_THAT(two.err, Catch::Contains("expected one HLO module, got 2"));
}

}  // namespace
}  // namespace podsim
