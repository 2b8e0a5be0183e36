// --plot through the command line; what it draws: terminal_plot_test.cc.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;

constexpr char kCompare[] =
    "compare all-gather --bytes 64KiB,1MiB --slice v5e:4x4";
constexpr char kTitle[] =
    "all-gather on v5e:4x4: efficiency by size, 100% = the bound";

TEST_CASE("a comparison draws its plot behind the table if asked", "[cli]") {
  const Outcome table = Podsim(Words(kCompare));
  const Outcome plot = Podsim(Words(std::string(kCompare) + " --plot on"));
  CHECK(plot.status == 0);
  CHECK(plot.err == "");
  CHECK(plot.out.substr(0, table.out.size()) == table.out);
  CHECK_THAT(plot.out, Contains(kTitle));
  // No terminal here.
  CHECK_THAT(table.out, !Contains(kTitle));
}

TEST_CASE("a plot stays off data on stdout", "[cli]") {
  const Outcome plot =
      Podsim(Words(std::string(kCompare) + " --plot on --json -"));
  CHECK(plot.status == 0);
  CHECK(nlohmann::json::parse(plot.out)["points"].size() > 2);
  CHECK_THAT(plot.err, Contains(kTitle));
}

TEST_CASE("a sweep draws what it wrote, shards and JSON too", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", R"({"format": "podsim-sweep/1",
      "collective": "all-gather", "slice": ["v5e:4x4", "ideal:2x2"],
      "bytes": ["1KiB", "1MiB"], "lowering": ["bucket", "direct"]})");
  for (const std::string output : {"a.csv", "a.json", "k.csv --shard 1/1"}) {
    CAPTURE(output);
    const Outcome plot =
        Podsim(Words("sweep s.json --plot on -o " + output), folder.path());
    CHECK(plot.status == 0);
    CHECK_THAT(plot.out, Contains(kTitle));
    CHECK_THAT(plot.out, Contains("direct"));
  }
  const Outcome plot = Podsim(Words("sweep s.json --plot on"), folder.path());
  CHECK_THAT(plot.err, Contains(kTitle));
  CHECK_THAT(plot.out, !Contains(kTitle));
}

}  // namespace
}  // namespace podsim
