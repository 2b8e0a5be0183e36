// Sample and example files through the command line, and the shape of it all:
// exit status, what goes to stdout, what goes to stderr.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using nlohmann::json;

json Index(const std::string& folder) {
  return json::parse(ReadFile(std::filesystem::path(PODSIM_TEST_DATA) / folder /
                              "index.json"));
}

std::vector<std::string> JsonFilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(PODSIM_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".json") {
      files.push_back(folder + "/" + entry.path().filename().string());
    }
  }
  REQUIRE(!files.empty());
  return files;
}

bool HasCommand(const std::string& command) {
  static std::map<std::string, bool> known;
  const auto found = known.find(command);
  if (found != known.end()) return found->second;
  return known[command] = Podsim({command, "--help"}).status == 0;
}

TEST_CASE("every example file ends with the status and words of its index",
          "[cli]") {
  const std::string folder = "test/data/examples/";
  int skipped = 0;
  for (const json& entry : Index("examples")) {
    const std::string file = folder + entry["file"].get<std::string>();
    const std::string command = entry["command"];
    if (!HasCommand(command)) {
      ++skipped;
      continue;
    }
    CAPTURE(command, file);
    const Outcome outcome = Podsim({command, file});
    CHECK(outcome.status == entry["exit"]);
    for (const json& words : entry["message_contains"]) {
      CHECK_THAT(outcome.err, Contains(words.get<std::string>()));
    }
    if (entry["exit"] == 0) {
      CHECK_FALSE(outcome.out.empty());
    } else {
      CHECK(outcome.out == "");
      CHECK_THAT(outcome.err, StartsWith("podsim: error: " + file));
    }
  }
  if (skipped > 0) WARN(skipped << " examples skipped: no such command yet");
}

TEST_CASE("a schedule with a seeded mistake is judged, and not timed",
          "[cli]") {
  const std::string folder = "test/data/broken_schedules/";
  const TemporaryFolder scratch;
  const std::string result = (scratch.path() / "result.json").string();
  for (const json& entry : Index("broken_schedules")) {
    const std::string file = folder + entry["file"].get<std::string>();
    CAPTURE(file, entry["verdict"].get<std::string>());
    const Outcome verified = Podsim({"verify", file});
    const Outcome simulated = Podsim({"simulate", file, "--json", result});
    for (const Outcome& outcome : {verified, simulated}) {
      CHECK(outcome.status == entry["exit"]);
      CHECK(outcome.err == "");
    }
    const bool valid = entry["exit"] == 0;
    CHECK((scratch.List() == std::vector<std::string>{"result.json"}) == valid);
    std::filesystem::remove(result);
    CHECK_THAT(verified.out, StartsWith(file + ": "));
    if (valid) {
      CHECK_THAT(verified.out, Contains(": valid: "));
      CHECK_THAT(simulated.out, Contains("time(us)"));
    } else {
      CHECK_THAT(verified.out, Contains(" violation"));
      CHECK(simulated.out == verified.out);
    }
  }
}

TEST_CASE("a valid schedule names its collective, size, slice and transfers",
          "[cli]") {
  const std::string file = "test/data/broken_schedules/valid-ring-ag.json";
  CHECK(Podsim({"verify", file}).out ==
        file +
            ": valid: all-gather of 5003 bytes on ideal:5, 20 transfers, "
            "proved by replay\n");
}

TEST_CASE("a broken schedule shows its first ten violations and the count",
          "[cli]") {
  const std::string file =
      "test/data/broken_schedules/wrong-neighbour-0-bfb-ag.json";
  const Outcome outcome = Podsim({"verify", file});
  CHECK(outcome.status == 1);
  std::istringstream lines(outcome.out);
  std::vector<std::string> shown;
  for (std::string line; std::getline(lines, line);) shown.push_back(line);
  REQUIRE(shown.size() == 12);
  CHECK_THAT(shown[0], StartsWith(file + ": "));
  for (std::size_t k = 1; k <= 10; ++k) CHECK_THAT(shown[k], StartsWith("  "));
  const int count = std::stoi(shown[0].substr(file.size() + 2));
  CHECK(shown[11] == "  ... and " + std::to_string(count - 10) + " more");
}

TEST_CASE("every sample workload and topology runs", "[cli]") {
  for (const std::string& file : JsonFilesIn("workloads")) {
    CAPTURE(file);
    const Outcome outcome = Podsim({"simulate", file});
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.out, Contains("makespan"));
  }
  for (const std::string& file : JsonFilesIn("topologies")) {
    CAPTURE(file);
    const json content =
        json::parse(ReadFile(std::filesystem::path(PODSIM_SOURCE_DIR) / file));
    if (content["format"] == "podsim-topology/1") {
      const Outcome outcome = Podsim({"topology", file});
      CHECK(outcome.status == 0);
      CHECK_THAT(outcome.out, StartsWith("slice "));
      continue;
    }
    // A generation file serves in place of the generation's name.
    REQUIRE(content["format"] == "podsim-generation/1");
    const std::string shape = content["axes"] == 2 ? "4x4" : "4x4x4";
    CHECK(Podsim({"topology", file + ":" + shape}).status == 0);
  }
}

TEST_CASE("every command explains itself on stdout", "[cli]") {
  const Outcome top = Podsim({"--help"});
  CHECK(top.status == 0);
  CHECK(top.err == "");
  for (const std::string command :
       {"simulate", "collective", "compare", "lower", "verify", "sweep",
        "check", "topology", "lowerings", "generations"}) {
    CAPTURE(command);
    CHECK_THAT(top.out, Contains("\n  " + command + " "));
    const Outcome help = Podsim({command, "--help"});
    CHECK(help.status == 0);
    CHECK(help.err == "");
    CHECK_THAT(help.out, Contains("\nUsage: podsim " + command + " [OPTIONS]"));
    CHECK_THAT(help.out, Contains("Exit status: 0 done; 1 the answer is no"));
  }
}

TEST_CASE("warnings go to stderr and leave the result alone", "[cli]") {
  const Outcome estimated = Podsim({"topology", "8t:4x4x4"});
  CHECK(estimated.status == 0);
  CHECK(estimated.err ==
        "podsim: warning: the numbers of 8t are estimates, see `podsim "
        "generations`\n");
  const Outcome large = Podsim({"topology", "v5p:16x16x28", "--json"});
  CHECK(large.status == 0);
  CHECK(large.err ==
        "podsim: warning: v5p:16x16x28 has 7168 chips, more than the largest "
        "job of 6144\n");
  CHECK(json::parse(large.out)["chips"] == 7168);
  const std::string workload = "workloads/all_reduce_microbenchmark.json";
  const Outcome unused =
      Podsim({"simulate", workload, "--lowering", "all-gather=ring"});
  CHECK(unused.status == 0);
  CHECK(unused.err ==
        "podsim: warning: --lowering all-gather=ring changes nothing: no op is "
        "all-gather\n");
  CHECK(unused.out == Podsim({"simulate", workload}).out);
}

TEST_CASE("an output is replaced in one step, and - is stdout without a table",
          "[cli]") {
  const TemporaryFolder folder;
  folder.Write("old.json", "old");
  const std::vector<std::string> run = {"collective", "all-gather", "--bytes",
                                        "1MiB",       "--slice",    "v5e:4x4"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> args = run;
    args.insert(args.end(), more);
    return Podsim(args, folder.path());
  };
  const std::string table = Podsim(run).out;
  const Outcome to_files =
      with({"--json", "old.json", "--csv", "new.csv", "--timing", "time.json"});
  CHECK(to_files.status == 0);
  CHECK(to_files.out == table);
  CHECK(folder.List() ==
        std::vector<std::string>{"new.csv", "old.json", "time.json"});
  CHECK(with({"--json", "-"}).out == folder.Read("old.json"));
  CHECK(with({"--csv", "-"}).out == folder.Read("new.csv"));
  // A device is written in place.
  CHECK(with({"--json", "/dev/null"}).status == 0);
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("lowerings --choose prints what auto takes", "[cli]") {
  const auto chosen = Podsim(
      {"lowerings", "--choose", "--slice", "v5e:4x4", "--bytes", "64KiB"});
  REQUIRE(chosen.status == 0);
  for (const char* kind : {"all-reduce", "all-gather", "reduce-scatter",
                           "all-to-all", "broadcast", "runner-up"}) {
    CAPTURE(kind);
    CHECK(chosen.out.find(kind) != std::string::npos);
  }
  CHECK(Podsim({"lowerings", "--choose"}).err ==
        "podsim: error: --choose: expected the slice to choose on: --slice "
        "v5e:4x4\n");
  CHECK(Podsim({"lowerings", "--slice", "v5e:4x4"}).err ==
        "podsim: error: --slice: is for --choose; add --choose or leave it "
        "out\n");
}

}  // namespace
}  // namespace podsim
