// The LogGOPS player against the real LogGOPSim (corpus) and against sums of
// parameters.
#include "engine/loggops.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json_reader.h"

namespace podsim {
namespace {

GoalTimeline Play(const std::string& text,
                  const LoggopsParameters& parameters = {}) {
  return RunLoggops(ParseGoal(text, "test.goal"), parameters);
}

// "default L=2500 o=1500 g=1000 G=6 O=0 S=65535".
LoggopsParameters ParametersIn(const std::string& text) {
  const auto number = [&](const std::string& name) {
    const auto at = text.find(name + "=");
    REQUIRE(at != std::string::npos);
    return std::stod(text.substr(at + name.size() + 1));
  };
  return {.latency_ns = number("L"),
          .overhead_ns = number("o"),
          .gap_ns = number("g"),
          .gap_per_byte_ns = number("G"),
          .overhead_per_byte_ns = number("O"),
          .eager_bytes = static_cast<std::int64_t>(number("S"))};
}

// LogGOPSim prints each rank up to 16 of them, else the last one.
void CheckRun(const GoalProgram& program, const std::string& parameters,
              const JsonValue& run) {
  if (run.Get("rc").AsInteger(INT32_MIN, INT32_MAX) != 0) return;
  const GoalTimeline timeline = RunLoggops(program, ParametersIn(parameters));
  CHECK(timeline.complete());
  std::vector<double> finish = timeline.finish_ns;
  if (finish.size() > 16) {
    finish = {*std::max_element(finish.begin(), finish.end())};
  }
  std::vector<double> expected;
  for (const JsonValue& host : run.Get("hosts").Elements()) {
    expected.push_back(static_cast<double>(host.AsInteger(0, INT64_MAX)));
  }
  CHECK(finish == expected);
}

TEST_CASE("GOAL programs take as long as in the real LogGOPSim",
          "[engine][corpus]") {
  const char* const corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: real GOAL files are not read");
    return;
  }
  const std::string folder = std::string(corpus) + "/goal/";
  int runs = 0;
  const JsonValue index = JsonValue::ReadFile(folder + "expected.json");
  for (const std::string& name : index.Keys()) {
    const GoalProgram program = ReadGoal(folder + name);
    const JsonValue times = index.Get(name).Get("loggopsim");
    for (const std::string& parameters : times.Keys()) {
      CAPTURE(name, parameters);
      CheckRun(program, parameters, times.Get(parameters));
      ++runs;
    }
  }
  CHECK(runs >= 14);
}

TEST_CASE("a message costs o, L, o and G for each byte behind the first",
          "[engine]") {
  const GoalTimeline timeline = Play(
      "num_ranks 2\nrank 0 {\nsend 4096b to 1\n}\n"
      "rank 1 {\nrecv 4096b from 0\n}\n");
  CHECK(timeline.finish_ns ==
        std::vector<double>{1500, 1500 + 2500 + 1500 + 4095 * 6.0});
  CHECK(timeline.ops == 2);
  CHECK(timeline.messages == 1);
  CHECK(timeline.bytes == 4096);
  CHECK(timeline.complete());
}

TEST_CASE("a message of no bytes costs as much as one of one byte",
          "[engine]") {
  const auto finish = [](const std::string& bytes) {
    return Play("num_ranks 2\nrank 0 {\nsend " + bytes + "b to 1\nsend " +
                bytes + "b to 1\n}\nrank 1 {\nrecv " + bytes +
                "b from 0\nrecv " + bytes + "b from 0\n}\n")
        .finish_ns;
  };
  CHECK(finish("0") == finish("1"));
  // The CPUs are the bottleneck, o > g: the second send starts at o.
  CHECK(finish("1") == std::vector<double>{3000, 1500 + 1500 + 2500 + 1500});
}

TEST_CASE("sends of one NIC are G per byte apart, those of two are not",
          "[engine]") {
  const auto sender = [](const std::string& clause) {
    return Play("num_ranks 2\nrank 0 {\nsend 4096b to 1\nsend 4096b to 1" +
                clause +
                "\n}\nrank 1 {\nrecv 4096b from 0\nrecv 4096b from 0\n}\n")
        .finish_ns[0];
  };
  CHECK(sender("") == 1000 + 4095 * 6.0 + 1500);
  CHECK(sender(" nic 1") == 1500 + 1500);
  CHECK(sender(" nic 1 cpu 1") == 1500);
}

TEST_CASE("O keeps the CPU of the sender busy byte by byte", "[engine]") {
  const GoalTimeline timeline = Play(
      "num_ranks 2\nrank 0 {\nsend 101b to 1\n}\n"
      "rank 1 {\nrecv 101b from 0\n}\n",
      {.overhead_per_byte_ns = 9});
  // The receiver is busy for the larger of G and O.
  CHECK(timeline.finish_ns ==
        std::vector<double>{1500 + 900, 1500 + 2500 + 1500 + 900});
}

TEST_CASE("calcs of one CPU follow each other, those of two overlap",
          "[engine]") {
  const auto finish = [](const std::string& clause) {
    return Play("num_ranks 1\nrank 0 {\ncalc 70\ncalc 50" + clause + "\n}\n")
        .finish_ns[0];
  };
  CHECK(finish("") == 120);
  CHECK(finish(" cpu 1") == 70);
}

TEST_CASE("requires waits for an end, irequires for a start", "[engine]") {
  const auto finish = [](const std::string& word) {
    return Play("num_ranks 1\nrank 0 {\na: calc 70\nb: calc 50 cpu 1\nb " +
                word + " a\n}\n")
        .finish_ns[0];
  };
  CHECK(finish("requires") == 120);
  CHECK(finish("irequires") == 70);
}

TEST_CASE("a send above S ends when its recv has the message", "[engine]") {
  const auto finish = [](const std::string& bytes, const std::string& word) {
    return Play("num_ranks 2\nrank 0 {\na: send " + bytes +
                "b to 1\nb: calc 10\nb " + word +
                " a\n}\nrank 1 {\na: calc 1000000\nb: recv " + bytes +
                "b from 0\nb requires a\n}\n")
        .finish_ns;
  };
  const double end = 1000000 + 1500 + 65535 * 6.0;
  CHECK(finish("65536", "requires") == std::vector<double>{end + 10, end});
  CHECK(finish("65536", "irequires") == std::vector<double>{1510, end});
  CHECK(finish("65535", "requires") == std::vector<double>{1510, end - 6});
}

TEST_CASE("a recv of any source or tag takes the oldest message that fits",
          "[engine]") {
  // Rank 1 sends late. The calc behind the first recv tells which it took.
  const auto calc_end = [](const std::string& receive) {
    return Play(
        "num_ranks 3\n"
        "rank 0 {\nsend 1b to 2 tag 7\n}\n"
        "rank 1 {\na: calc 50000\nb: send 1b to 2 tag 8\n"
        "b requires a\n}\n"
        "rank 2 {\na: recv 1b " +
        receive +
        "\nb: calc 1 cpu 1\nb requires a\nrecv 1b from -1 tag -1\n}\n");
  };
  const double first = 1500 + 2500 + 1500;
  const double second = 50000 + first;
  for (const std::string receive :
       {"from -1 tag -1", "from 0 tag -1", "from -1 tag 7", "from 0 tag 7"}) {
    CAPTURE(receive);
    CHECK(calc_end(receive).finish_ns[2] == second);
    CHECK(calc_end(receive).complete());
  }
  for (const std::string receive :
       {"from 1 tag -1", "from -1 tag 8", "from 1 tag 8"}) {
    CAPTURE(receive);
    CHECK(calc_end(receive).finish_ns[2] == second + 1);
    CHECK(calc_end(receive).complete());
  }
  CHECK_FALSE(calc_end("from 0 tag 8").complete());
}

TEST_CASE("what never ran and what nobody received is listed", "[engine]") {
  const GoalTimeline tags = Play(
      "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\n"
      "rank 1 {\na: recv 8b from 0 tag 2\nb: calc 5\nb requires a\n}\n");
  CHECK(tags.unfinished == std::vector<GoalOpId>{{1, 0}, {1, 1}});
  CHECK(tags.unreceived == std::vector<GoalOpId>{{0, 0}});
  const GoalTimeline cycle = Play(
      "num_ranks 1\nrank 0 {\na: calc 5\nb: calc 5\na requires b\n"
      "b requires a\n}\n");
  CHECK(cycle.unfinished == std::vector<GoalOpId>{{0, 0}, {0, 1}});
  CHECK(cycle.finish_ns == std::vector<double>{0});
  // Above S the send of a message that nobody receives does not end.
  const GoalTimeline large = Play(
      "num_ranks 2\nrank 0 {\na: send 65536b to 1\nb: calc 1\nb requires a\n"
      "}\nrank 1 {\n}\n");
  CHECK(large.unfinished == std::vector<GoalOpId>{{0, 1}});
  CHECK(large.unreceived == std::vector<GoalOpId>{{0, 0}});
}

}  // namespace
}  // namespace podsim
