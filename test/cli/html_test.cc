// --html through the command line.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

std::vector<std::string> CompareArgs() {
  return Words("compare all-gather --bytes 64KiB,1MiB --slice v5e:4x4");
}

std::vector<std::string> With(std::vector<std::string> args,
                              const std::string& more) {
  for (const std::string& word : Words(more)) args.push_back(word);
  return args;
}

json DataOf(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST_CASE("a report changes no other output of a comparison", "[cli]") {
  const TemporaryFolder folder;
  const Outcome plain =
      Podsim(With(CompareArgs(), "--json a.json --csv a.csv"), folder.path());
  const Outcome reported =
      Podsim(With(CompareArgs(), "--json b.json --csv b.csv --html r.html"),
             folder.path());
  CHECK(reported.status == 0);
  CHECK(reported.err == "");
  CHECK(reported.out == plain.out);
  CHECK(folder.Read("a.json") == folder.Read("b.json"));
  CHECK(folder.Read("a.csv") == folder.Read("b.csv"));
  const json data = DataOf(folder.Read("r.html"));
  CHECK(data["result"] == json::parse(folder.Read("a.json")));
  CHECK(data["maps"].size() == data["result"]["points"].size());
  CHECK_THAT(folder.Read("r.html"),
             Contains("<title>podsim compare all-gather on v5e:4x4</title>"));
}

TEST_CASE("a report is the same on a second run", "[cli]") {
  const TemporaryFolder folder;
  Podsim(With(CompareArgs(), "--html a.html"), folder.path());
  Podsim(With(CompareArgs(), "--html b.html"), folder.path());
  CHECK(folder.Read("a.html") == folder.Read("b.html"));
}

TEST_CASE("a report changes no rows of a sweep and has them all", "[cli]") {
  const TemporaryFolder folder;
  // The second slice is too small for its generation: its points fail.
  folder.Write("s.json", R"({"format": "podsim-sweep/1",
      "collective": "all-gather", "slice": ["ideal:4", "ideal:2x2"],
      "bytes": ["1KiB", "1MiB"], "lowering": "ring"})");
  const Outcome plain = Podsim(Words("sweep s.json -o a.json"), folder.path());
  const Outcome reported =
      Podsim(Words("sweep s.json -o b.json --html r.html"), folder.path());
  CHECK(plain.status == 1);
  CHECK(reported.status == 1);
  CHECK(reported.err == plain.err);
  CHECK(folder.Read("a.json") == folder.Read("b.json"));
  const json data = DataOf(folder.Read("r.html"));
  json result = json::parse(folder.Read("a.json"));
  for (std::size_t k = 0; k < result["points"].size(); ++k) {
    json& point = result["points"][k];
    if (!point.contains("parameters")) continue;
    CHECK(data["parameters"][data["point_parameters"][k].get<std::size_t>()] ==
          point["parameters"]);
    point.erase("parameters");
  }
  CHECK(data["result"] == result);
}

TEST_CASE("a report of a step has its timeline unless nothing runs", "[cli]") {
  const TemporaryFolder folder;
  const std::string step = PODSIM_SOURCE_DIR "/workloads/fsdp_two_layers.json";
  CHECK(Podsim({"simulate", step, "--html", "a.html"}, folder.path()).status ==
        0);
  const json data = DataOf(folder.Read("a.html"));
  CHECK(data["result"]["points"][0]["makespan_s"].is_number());
  CHECK(data["timeline"]["events"].size() > 0);
  for (const std::string mode : {"--engine bound", "--step-mode abstract"}) {
    CHECK(Podsim(With({"simulate", step, "--html", "b.html"}, mode),
                 folder.path())
              .status == 0);
    CHECK(DataOf(folder.Read("b.html"))["timeline"].is_null());
  }
}

TEST_CASE("a report that cannot be written is refused first", "[cli]") {
  const TemporaryFolder folder;
  struct Case {
    std::string flags;
    std::string message;
  };
  for (const Case& bad : {
           Case{"--html -", "--html: expected a file, got \"-\""},
           Case{"--html no/r.html", "--html no/r.html"},
           Case{"--html x --json x",
                "--html x: is where --json goes too; expected another file"},
       }) {
    INFO(bad.flags);
    const Outcome outcome =
        Podsim(With(CompareArgs(), bad.flags), folder.path());
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
    CHECK_THAT(outcome.err, Contains(bad.message));
    CHECK(folder.List().empty());
  }
}

}  // namespace
}  // namespace podsim
