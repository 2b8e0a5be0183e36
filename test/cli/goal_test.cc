// GOAL files through the command line.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;
using nlohmann::ordered_json;

const std::string kPingPong =
    "num_ranks 2\n"
    "rank 0 {\na: send 101b to 1\nb: recv 1b from 1\nb requires a\n}\n"
    "rank 1 {\na: recv 101b from 0\nb: send 1b to 0\nb requires a\n}\n";

TEST_CASE("a GOAL file takes what L, o and G add up to", "[cli][goal]") {
  const TemporaryFolder folder;
  folder.Write("a.goal", kPingPong);
  // There: o + L + o + 100 G; back: o + L + o.
  const ordered_json result =
      PodsimJson(Words("simulate a.goal --network loggp --json - "
                       "--set loggp.L=1us --set loggp.o=200ns --set "
                       "loggp.G=3ns --set loggp.g=0ns"),
                 folder.path());
  CHECK(result["format"] == "podsim-goal-result/1");
  CHECK(result["network"] == "loggp");
  CHECK(result["parameters"]["loggp.L_s"] == 1e-6);
  CHECK(result["parameters"]["loggp.G_s_per_byte"] == 3e-9);
  CHECK(result["parameters"]["loggp.S_bytes"] == 65535);
  CHECK(result["ranks"] == 2);
  CHECK(result["ops"] == 4);
  CHECK(result["messages"] == 2);
  CHECK(result["bytes"] == 102);
  CHECK(result["time_s"] == 3.1e-6);
  CHECK(result["last_rank"] == 0);
  CHECK(result["finish_s"] == ordered_json{3.1e-6, 1.9e-6});
}

TEST_CASE("the table of a GOAL file says its parameters", "[cli][goal]") {
  const TemporaryFolder folder;
  folder.Write("a.goal", kPingPong);
  // 2 (2 o + L) + 100 G with LogGOPSim's defaults; rank 1 ends L + o sooner.
  CHECK(Podsim(Words("simulate a.goal --network loggp"), folder.path()).out ==
        "network loggp: loggp.L 2.5us, loggp.o 1.5us, loggp.g 1us, loggp.G "
        "6ns, loggp.O 0s, loggp.S 65535B\n"
        "ranks  ops  messages  bytes  time (us)  last rank  first done (us)\n"
        "    2    4         2    102      11.60          0             7.60\n");
}

TEST_CASE("a GOAL program that does not end is listed", "[cli][goal]") {
  const TemporaryFolder folder;
  folder.Write("a.goal",
               "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\n"
               "rank 1 {\na: recv 8b from 0 tag 2\nb: calc 5\n"
               "b requires a\n}\n");
  const Outcome outcome =
      Podsim(Words("simulate a.goal --network loggp"), folder.path());
  CHECK(outcome.status == 1);
  CHECK(outcome.err.empty());
  CHECK(outcome.out ==
        "a.goal: deadlock: 2 ops never ran, or found no message\n"
        "  rank 1, line 6: recv 8b from 0 tag 2\n"
        "  rank 1, line 7: calc 5\n"
        "a.goal: 1 message without a recv\n"
        "  rank 0, line 3: send 8b to 1 tag 1\n");
}

TEST_CASE("lower writes a schedule as GOAL, which comes to its end",
          "[cli][goal]") {
  const TemporaryFolder folder;
  CHECK(Podsim(Words("lower all-gather --bytes 4000B --slice ideal:4 "
                     "--lowering ring -o x.goal"),
               folder.path())
            .status == 0);
  CHECK_THAT(folder.Read("x.goal"), Contains("num_ranks 4\n"));
  // A ring of 4: each chip sends 3 shards of 1000 bytes.
  const ordered_json result = PodsimJson(
      Words("simulate x.goal --network loggp --json -"), folder.path());
  CHECK(result["messages"] == 12);
  CHECK(result["bytes"] == 12000);
  // Each step waits for the one before: o + L + o + 999 G.
  CHECK(result["time_s"] == 3 * (1500 + 2500 + 1500 + 999 * 6.0) / 1e9);
}

TEST_CASE("what a GOAL file does not take is refused", "[cli][goal]") {
  const TemporaryFolder folder;
  folder.Write("a.goal", kPingPong);
  folder.Write("bad.goal", "num_ranks 1\nrank 0 {\nsend 5\n}\n");
  const auto error = [&](const std::string& line) {
    const Outcome outcome = Podsim(Words(line), folder.path());
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  const std::string run = "simulate a.goal --network loggp ";
  CHECK(error("simulate a.goal") ==
        "podsim: error: --network: GOAL files run on loggp, an ideal network, "
        "got \"fluid\"; write --network loggp\n");
  CHECK(error("simulate bad.goal --network loggp") ==
        "podsim: error: bad.goal:3:7: expected \"b\", got the end of the "
        "line\n");
  for (const std::string flag :
       {"--slice v5e:4x4", "--bytes 1MiB", "--lowering all-reduce=ring",
        "--fault chip:0", "--ideal", "--engine bound", "--force", "--fold off",
        "--verify full", "--max-memory 1GB", "--progress on", "--trace x.json",
        "--trace-chips 0", "--html x.html", "--top 3"}) {
    CAPTURE(flag);
    CHECK(error(run + flag) ==
          "podsim: error: " + flag.substr(0, flag.find(' ')) +
              ": is not for GOAL files; leave it out\n");
  }
  CHECK_THAT(error(run + "--step-mode abstract"), Contains("is for steps"));
  CHECK_THAT(error(run + "--trip-count 3"), Contains("is for HLO files"));
  CHECK(error(run + "--set loggp.latency=1us") ==
        "podsim: error: --set loggp.latency=1us: unknown parameter "
        "\"loggp.latency\" of --network loggp (known: loggp.L, loggp.o, "
        "loggp.g, loggp.G, loggp.O, loggp.S)\n");
  CHECK(error(run + "--set loggp.L") ==
        "podsim: error: --set loggp.L: expected KEY=VALUE, for example "
        "loggp.L=2500ns\n");
  CHECK_THAT(error(run + "--set loggp.L=5"), Contains("--set loggp.L=5: "));
  CHECK(error("verify a.goal") ==
        "podsim: error: a.goal: GOAL does not say what is computed; expected "
        "podsim-schedule/1 or MSCCL XML (.xml), which do\n");
  CHECK(error("collective all-reduce --bytes 1MiB --slice v5e:4x4 --network "
              "loggp") ==
        "podsim: error: --network: loggp is the network of GOAL files "
        "(.goal); expected fluid, fifo or packet\n");
}

}  // namespace
}  // namespace podsim
