// What a shell sees: help texts that fit a screen, completions, the version.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;

const std::vector<std::string> kEveryCommand = {
    "simulate", "explain",   "collective",  "compare",
    "lower",    "verify",    "sweep",       "check",
    "topology", "lowerings", "generations", "completions"};

// What bash offers after `line`, whose last word is the one to complete.
std::string Offered(const TemporaryFolder& folder, const std::string& line) {
  folder.Write("script", Podsim({"completions", "bash"}).out);
  folder.Write("run",
               "source ./script\ncompopt() { :; }\n"
               "COMP_WORDS=(" +
                   line +
                   ")\n"
                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_podsim\n"
                   "echo \"${COMPREPLY[@]}\" >out\n");
  const std::string command =
      "cd '" + folder.path().string() + "' && bash -u run";
  REQUIRE(std::system(command.c_str()) == 0);
  std::string out = folder.Read("out");
  REQUIRE(!out.empty());
  out.pop_back();
  return out;
}

TEST_CASE("bash completes commands, flags and known values", "[cli][shell]") {
  const TemporaryFolder folder;
  CHECK(Offered(folder, "podsim co") == "collective compare completions");
  CHECK(Offered(folder, "podsim --v") == "--version");
  CHECK(Offered(folder, "podsim collective broad") == "broadcast");
  CHECK(Offered(folder, "podsim collective all-reduce --net") == "--network");
  CHECK(Offered(folder, "podsim collective x --network f") == "fluid fifo");
  CHECK(Offered(folder, "podsim collective x --network = f") == "fluid fifo");
  CHECK(Offered(folder, "podsim collective x --network =") ==
        "fluid fifo packet");
  CHECK(Offered(folder, "podsim collective x --lowering hamiltonian") ==
        "hamiltonian hamiltonian-pair");
  CHECK(Offered(folder, "podsim check r l --baseline-time i") == "in-place");
  CHECK(Offered(folder, "podsim check r l --baseline-collective all-g") ==
        "all-gather");
  CHECK(Offered(folder, "podsim simulate f --lowering reduce-s") ==
        "reduce-scatter=");
  CHECK(Offered(folder, "podsim topology v5") == "v5e: v5p:");
  CHECK(Offered(folder, "podsim lower x -o ru") == "run");
  CHECK(Offered(folder, "podsim simulate scr") == "script");
  CHECK(Offered(folder, "podsim nonsense zz") == "");
}

TEST_CASE("zsh reads its completion script", "[cli][shell]") {
  if (std::system("command -v zsh >/dev/null 2>&1") != 0) {
    WARN("no zsh: its script is not read");
    return;
  }
  const TemporaryFolder folder;
  folder.Write("script", Podsim({"completions", "zsh"}).out);
  const std::string command =
      "zsh -n '" + (folder.path() / "script").string() + "'";
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("completions exist for bash and zsh only", "[cli][shell]") {
  CHECK_THAT(Podsim({"completions", "zsh"}).out,
             Catch::StartsWith("#compdef podsim\n"));
  const Outcome fish = Podsim({"completions", "fish"});
  CHECK(fish.status == 2);
  CHECK_THAT(fish.err, Contains("expected bash or zsh, got \"fish\""));
}

TEST_CASE("help fits a screen and has an example", "[cli][shell]") {
  for (const std::string& command : kEveryCommand) {
    CAPTURE(command);
    const std::string text = Podsim({command, "--help"}).out;
    CHECK_THAT(text, Contains("\nExample: podsim " + command + " "));
    CHECK(std::count(text.begin(), text.end(), '\n') <= 24);
  }
  const std::string text = Podsim({"--help"}).out;
  CHECK(std::count(text.begin(), text.end(), '\n') <= 24);
}

TEST_CASE("no help text is wider than 80 columns", "[cli][shell]") {
  for (const std::string& command : kEveryCommand) {
    std::istringstream lines(Podsim({command, "--help-all"}).out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(command, line);
      CHECK(line.size() <= 80);
    }
  }
}

TEST_CASE("the flag --help-all explains what --help only names",
          "[cli][shell]") {
  const std::string all = Podsim({"simulate", "--help-all"}).out;
  CHECK_THAT(all, Contains("80 % of what is available"));
  const std::string some = Podsim({"simulate", "--help"}).out;
  CHECK_THAT(some, Contains(" --max-memory") &&
                       !Contains("80 % of what is available"));
}

TEST_CASE("the flag --version names the commit", "[cli][shell]") {
  const Outcome outcome = Podsim({"--version"});
  CHECK(outcome.status == 0);
  CHECK(std::regex_match(outcome.out,
                         std::regex("podsim [0-9.]+ \\([-.\\w]+\\)\n")));
}

TEST_CASE("output has no colour", "[cli][shell]") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"generations"},
        {"topology", "v5e:4x4"},
        {"collective", "all-reduce", "--bytes", "1MiB", "--slice", "v5e:2x2"},
        {"nonsense"}}) {
    const Outcome outcome = Podsim(words);
    CHECK_THAT(outcome.out + outcome.err, !Contains("\x1b"));
  }
}

TEST_CASE("traces of a lowering take the time of its schedule",
          "[cli][chakra]") {
  const TemporaryFolder folder;
  for (const std::string lowering : {"bucket", "hamiltonian"}) {
    CAPTURE(lowering);
    std::vector<std::string> lower = {"lower",      "all-reduce", "--bytes",
                                      "1MiB",       "--slice",    "v5e:4x4",
                                      "--lowering", lowering,     "-o"};
    lower.push_back("x.et");
    REQUIRE(Podsim(lower, folder.path()).status == 0);
    lower.back() = "x.json";
    REQUIRE(Podsim(lower, folder.path()).status == 0);
    const auto trace =
        PodsimJson({"simulate", "x.0.et", "--slice", "v5e:4x4", "--json", "-"},
                   folder.path())["points"][0];
    const auto schedule = PodsimJson({"simulate", "x.json", "--json", "-"},
                                     folder.path())["points"][0];
    for (const char* key : {"time_s", "transfers", "byte_hops"}) {
      CHECK(trace[key] == schedule[key]);
    }
    CHECK_FALSE(trace["time_s"].is_null());
  }
  CHECK_THAT(Podsim({"simulate", "x.0.et"}, folder.path()).err,
             Contains("--slice: is required"));
  CHECK_THAT(Podsim({"verify", "x.0.et"}, folder.path()).err,
             Contains("does not say what its messages must compute"));
}

TEST_CASE("chakra traces of JSON are told from workloads by content",
          "[cli][chakra]") {
  const TemporaryFolder folder;
  const std::string trace = R"({"workload_graph": [
      {"Id": 1, "NodeType": 7, "comm_type": 0, "comm_size": 1048576}]})";
  folder.Write("x.0.json", trace);
  folder.Write("x.1.json", trace);
  const auto step =
      PodsimJson({"simulate", "x.0.json", "--slice", "ideal:2", "--json", "-"},
                 folder.path())["points"][0];
  const auto collective =
      PodsimJson({"collective", "all-reduce", "--bytes", "1MiB", "--slice",
                  "ideal:2", "--json", "-"},
                 folder.path())["points"][0];
  CHECK(step["makespan_s"] == collective["time_s"]);

  for (const std::string rank : {"0", "1", "2", "3"}) {
    folder.Write("g." + rank + ".json",
                 R"({"workload_graph": [{"Id": 1, "NodeType": 7,
                     "comm_type": 0, "comm_size": 1048576, "pg_name": ")" +
                     std::string(rank < "2" ? "low" : "high") + "\"}]}");
  }
  folder.Write("groups.json", R"({"low": [0, 1], "high": [2, 3]})");
  folder.Write("lists.json", "[[0, 1], [2, 3]]");
  const std::vector<std::string> grouped = {
      "simulate", "g.0.json", "--slice",          "ideal:4",
      "--json",   "-",        "--process-groups", "groups.json"};
  CHECK(PodsimJson(grouped, folder.path())["points"][0]["makespan_s"] ==
        PodsimJson({"collective", "all-reduce", "--bytes", "1MiB", "--slice",
                    "ideal:4", "--groups", "lists.json", "--json", "-"},
                   folder.path())["points"][0]["time_s"]);
  folder.Write("groups.json", R"({"low": [0, 1], "high": []})");
  CHECK(Podsim(grouped, folder.path()).err ==
        "podsim: error: groups.json: /high: expected at least one rank\n");
  CHECK(Podsim({"simulate", "workloads/fsdp_two_layers.json",
                "--process-groups", "groups.json"})
            .err ==
        "podsim: error: --process-groups: is for collectives of Chakra "
        "traces; leave it out\n");

  folder.Write("one.json", trace);
  CHECK(Podsim({"simulate", "one.json", "--slice", "ideal:2"}, folder.path())
            .err ==
        "podsim: error: one.json: expected the name of the first rank: "
        "PREFIX.0.json\n");
  folder.Write("other.json", R"({"ops": []})");
  CHECK(Podsim({"simulate", "other.json"}, folder.path()).err ==
        "podsim: error: other.json: missing key \"format\"\n");
}

}  // namespace
}  // namespace podsim
