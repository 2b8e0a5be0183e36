// GOAL text in and out.
#include "schedule/goal.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "test/support/error_of.h"
#include "topology/slice.h"

namespace podsim {
namespace {

std::string Written(const GoalProgram& program) {
  std::string text;
  WriteGoal(program, [&](const std::string& piece) { text += piece; });
  return text;
}

TEST_CASE("GOAL is read with comments, blank lines and ranks in any order",
          "[schedule][goal]") {
  const GoalProgram program = ParseGoal(
      "// a program\r\n/* of two\n ranks */\nnum_ranks 2\n\n"
      "rank 1 { // the second\n"
      "  in_1: recv 18446b from -1 tag -1 nic 3\n"
      "  recv 8b from 0 cpu 2 tag 5\n}\n"
      "rank 0 {\n l1: calc 1000 cpu 1\n l2: send 4096b to 1 tag 4294967295\n"
      " calc: calc 7\n l2 requires l1\n calc irequires l2 /* c */\n}",
      "a.goal");
  const GoalProgram expected{
      .ranks = {
          {.ops = {{.cpu = 1, .amount = 1000},
                   {.kind = GoalKind::kSend,
                    .peer = 1,
                    .tag = 4294967295,
                    .amount = 4096},
                   {.amount = 7}},
           .waits = {{1, 0, false}, {2, 1, true}},
           .lines = {}},
          {.ops = {{.kind = GoalKind::kRecv,
                    .nic = 3,
                    .peer = -1,
                    .tag = -1,
                    .amount = 18446},
                   {.kind = GoalKind::kRecv, .cpu = 2, .tag = 5, .amount = 8}},
           .waits = {},
           .lines = {}}}};
  CHECK(program == expected);
  CHECK(program.ranks[1].lines == std::vector<int>{7, 8});
  CHECK(program.ranks[0].lines == std::vector<int>{11, 12, 13});
  CHECK(ParseGoal(Written(program), "b.goal") == program);
}

GoalProgram RandomProgram(std::mt19937& random) {
  const auto below = [&](std::uint32_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  GoalProgram program;
  program.ranks.resize(1 + below(5));
  for (GoalRank& rank : program.ranks) {
    for (std::uint32_t n = below(6); n > 0; --n) {
      GoalOp op{.kind = static_cast<GoalKind>(below(3))};
      op.cpu = static_cast<std::uint8_t>(below(256));
      op.amount = static_cast<std::int64_t>(random()) << below(28);
      if (op.kind != GoalKind::kCalc) {
        const bool any = op.kind == GoalKind::kRecv && below(2) == 0;
        const auto ranks = static_cast<std::uint32_t>(program.ranks.size());
        op.nic = static_cast<std::uint8_t>(below(3));
        op.peer = any ? -1 : static_cast<std::int32_t>(below(ranks));
        op.tag = any ? -1 : static_cast<std::int64_t>(random());
      }
      rank.ops.push_back(op);
    }
    const auto ops = static_cast<std::uint32_t>(rank.ops.size());
    for (std::uint32_t n = ops < 2 ? 0 : below(5); n > 0; --n) {
      const std::uint32_t op = below(ops);
      rank.waits.push_back(
          {op, (op + 1 + below(ops - 1)) % ops, below(2) == 0});
    }
  }
  return program;
}

TEST_CASE("a written GOAL program reads back as the same", "[schedule][goal]") {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const GoalProgram program = RandomProgram(random);
    const std::string text = Written(program);
    CAPTURE(text);
    CHECK(ParseGoal(text, "random.goal") == program);
  }
}

struct GoalCounts {
  std::int64_t sends = 0, send_bytes = 0, recvs = 0, recv_bytes = 0, calcs = 0,
               calc_total = 0, requires_ = 0, irequires = 0, clauses = 0;
};

GoalCounts CountsOf(const GoalProgram& program) {
  GoalCounts counts;
  for (const GoalRank& rank : program.ranks) {
    for (const GoalOp& op : rank.ops) {
      const bool sends = op.kind == GoalKind::kSend;
      const bool calc = op.kind == GoalKind::kCalc;
      ++(calc ? counts.calcs : sends ? counts.sends : counts.recvs);
      (calc    ? counts.calc_total
       : sends ? counts.send_bytes
               : counts.recv_bytes) += op.amount;
      if (op.cpu != 0) ++counts.clauses;
    }
    for (const GoalWait& wait : rank.waits) {
      ++(wait.started ? counts.irequires : counts.requires_);
    }
  }
  return counts;
}

TEST_CASE("real GOAL files hold what an independent reader counted in them",
          "[schedule][goal][corpus]") {
  const char* const corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: real GOAL files are not read");
    return;
  }
  const std::string folder = std::string(corpus) + "/goal/";
  const JsonValue index = JsonValue::ReadFile(folder + "expected.json");
  CHECK(index.Keys().size() == 7);
  for (const std::string& name : index.Keys()) {
    CAPTURE(name);
    const JsonValue file = index.Get(name);
    const auto number = [&](const char* key) {
      return file.Get(key).AsInteger(0, INT64_MAX);
    };
    const GoalProgram program = ReadGoal(folder + name);
    const GoalCounts counts = CountsOf(program);
    CHECK(std::ssize(program.ranks) == number("num_ranks"));
    CHECK(counts.sends == number("sends"));
    CHECK(counts.send_bytes == number("send_bytes"));
    CHECK(counts.recvs == number("recvs"));
    CHECK(counts.recv_bytes == number("recv_bytes"));
    CHECK(counts.calcs == number("calcs"));
    CHECK(counts.calc_total == number("calc_total"));
    CHECK(counts.requires_ == number("requires"));
    CHECK(counts.irequires == number("irequires"));
    CHECK(counts.clauses == number("cpu_clauses"));
    CHECK(ParseGoal(Written(program), name) == program);
  }
}

// Line 3, column 1 on, of a rank 0 of two.
std::string InRank(const std::string& line) {
  return "num_ranks 2\nrank 0 {\n" + line + "\n}\nrank 1 {\n}\n";
}

TEST_CASE("what is not GOAL is refused with line and column",
          "[schedule][goal]") {
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {"", "empty file"},
      {"// nothing\n", "empty file"},
      {"rank 0 {\n}\n", ":1:1: expected \"num_ranks\", got \"rank\""},
      {"num_ranks\n",
       ":1:10: expected the number of ranks, got the end of "
       "the line"},
      {"num_ranks",
       ":1:10: expected the number of ranks, got the end of "
       "the file"},
      {"num_ranks 0\n",
       ":1:11: expected the number of ranks, 1 to 16777216, got \"0\""},
      {"num_ranks two\n", ":1:11: expected the number of ranks, got \"two\""},
      {"num_ranks 2 3\n", ":1:13: expected the end of the line, got \"3\""},
      {"num_ranks 1\n",
       ":2:1: num_ranks is 1, but there is no rank 0; write \"rank 0 {\" and "
       "\"}\" for an idle one"},
      {"num_ranks 2\nrank 1 {\n}\n",
       ":4:1: num_ranks is 2, but there is no rank 0; write \"rank 0 {\" and "
       "\"}\" for an idle one"},
      {"num_ranks 1\nrank 1 {\n}\n",
       ":2:6: expected a rank, 0 to 0, got \"1\""},
      {"num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", ":4:6: rank 0 stands twice"},
      {"num_ranks 1\nrank 0\n{\n}\n",
       ":2:7: expected \"{\", got the end of the line"},
      {"num_ranks 1\nrank 0 { calc 5\n}\n",
       ":2:10: expected the end of the line, got \"calc\""},
      {"num_ranks 1\nrank 0 {\ncalc 5\n",
       ":4:1: expected an op or the \"}\" of rank 0, got the end of the file"},
      {"num_ranks 1\nnode 0 {\n}\n", ":2:1: expected \"rank\", got \"node\""},
      {"num_ranks 1 /* open\nrank 0 {\n}\n",
       ":1:13: the comment has no \"*/\""},
      {InRank("calc"), ":3:5: expected nanoseconds, got the end of the line"},
      {InRank("calc -5"),
       ":3:6: expected nanoseconds, 0 to "
       "9223372036854775807, got \"-5\""},
      {InRank("calc 9223372036854775808"),
       ":3:6: expected nanoseconds, 0 to 9223372036854775807, got "
       "\"9223372036854775808\""},
      {InRank("calc 5b"),
       ":3:7: expected cpu or the end of the line after "
       "this calc, got \"b\""},
      {InRank("calc 5 tag 1"),
       ":3:8: expected cpu or the end of the line after this calc, got "
       "\"tag\""},
      {InRank("calc 5 cpu 256"),
       ":3:12: expected a cpu, 0 to 255, got "
       "\"256\""},
      {InRank("calc 5 cpu 1 cpu 1"), ":3:14: cpu stands twice"},
      {InRank("send 8 to 1"), ":3:8: expected \"b\", got \"to\""},
      {InRank("send 8KiB to 1"), ":3:7: expected \"b\", got \"KiB\""},
      {InRank("send 8b from 1"), ":3:9: expected \"to\", got \"from\""},
      {InRank("send 8b to 2"), ":3:12: expected a rank, 0 to 1, got \"2\""},
      {InRank("send 8b to -1"), ":3:12: expected a rank, 0 to 1, got \"-1\""},
      {InRank("send 8b to 1 tag -1"),
       ":3:18: expected a tag, 0 to 4294967295, got \"-1\""},
      {InRank("send 9223372036854775807b to 1\nsend 1b to 1"),
       ":4:6: the sends come to 2^63 bytes or more"},
      {InRank("recv 8b to 1"), ":3:9: expected \"from\", got \"to\""},
      {InRank("recv 8b from -2"),
       ":3:14: expected a rank or -1, -1 to 1, got \"-2\""},
      {InRank("recv 8b from 1 tag 4294967296"),
       ":3:20: expected a tag or -1, -1 to 4294967295, got \"4294967296\""},
      {InRank("recv 8b from 1 tga 4"),
       ":3:16: expected tag, cpu, nic or the end of the line after this recv, "
       "got \"tga\""},
      {InRank("a: calc 5\na: calc 5"),
       ":4:1: the label \"a\" stands twice in this rank"},
      {InRank("a: wait 5"), ":3:4: expected calc, send or recv, got \"wait\""},
      {InRank("a calc 5"),
       ":3:3: expected \":\", requires or irequires after "
       "the label \"a\", got \"calc\""},
      {InRank("1: calc 5"),
       ":3:1: expected a label, calc, send, recv or \"}\", got \"1\""},
      {InRank("a: calc 5\na requires"),
       ":4:11: expected a label, got the end of the line"},
      {InRank("a: calc 5\na requires a"),
       ":4:12: an op cannot wait for itself"},
      {InRank("a: calc 5\na requires b\nb: calc 5"),
       ":4:12: no op before this line has the label \"b\" in this rank; waits "
       "follow the ops that they name"},
      {"num_ranks 2\nrank 0 {\na: calc 5\n}\nrank 1 {\nb: calc 5\n"
       "b irequires a\n}\n",
       ":7:13: no op before this line has the label \"a\" in this rank; waits "
       "follow the ops that they name"},
      {"num_ranks 1\nrank 0 {\n} rank\n",
       ":3:3: expected the end of the line, got \"rank\""}};
  CHECK(inputs.size() >= 25);
  for (const auto& [text, message] : inputs) {
    CAPTURE(text);
    const std::string separator = message[0] == ':' ? "" : ": ";
    CHECK(ErrorOf([&, &input = text] { ParseGoal(input, "bad.goal"); }) ==
          "bad.goal" + separator + message);
  }
}

void SendTo(Schedule& schedule, std::uint32_t src, std::uint32_t dst,
            std::int64_t bytes, const std::vector<OpId>& after) {
  const PatternId none = schedule.AddPattern({});
  schedule.Add({.src = ChipId(src),
                .dst = ChipId(dst),
                .chunks = {none, ChipId(src)},
                .bytes = Bytes(bytes)},
               LinkId(0), after);
}

Topology ThreeChips() {
  SliceRequest request;
  request.spec = "ideal:3";
  return MakeSlice(request).topology;
}

TEST_CASE("transfers become sends and recvs, waits those of one rank",
          "[schedule][goal]") {
  Schedule schedule;
  SendTo(schedule, 0, 1, 64, {});
  schedule.AddCompute(ChipId(1), Seconds(2.5e-6), std::vector{OpId(0)});
  SendTo(schedule, 1, 2, 32, {OpId(0), OpId(1)});
  SendTo(schedule, 0, 1, 16, {OpId(0)});
  const GoalProgram program = MakeGoal(schedule, ThreeChips(), "-o x.goal");
  CHECK(program == ParseGoal("num_ranks 3\n"
                             "rank 0 {\n"
                             "a: send 64b to 1\n"
                             "b: send 16b to 1 tag 3\n"
                             "b requires a\n}\n"
                             "rank 1 {\n"
                             "a: recv 64b from 0\n"
                             "b: calc 2500\n"
                             "c: send 32b to 2 tag 2\n"
                             "recv 16b from 0 tag 3\n"
                             "b requires a\n"
                             "c requires a\n"
                             "c requires b\n}\n"
                             "rank 2 {\n"
                             "recv 32b from 1 tag 2\n}\n",
                             "expected.goal"));
}

TEST_CASE("a wait across chips has no words in GOAL", "[schedule][goal]") {
  Schedule schedule;
  SendTo(schedule, 0, 1, 64, {});
  SendTo(schedule, 2, 1, 64, {OpId(0)});
  CHECK(ErrorOf([&] { MakeGoal(schedule, ThreeChips(), "-o x.goal"); }) ==
        "-o x.goal: op 1 of chip 2 waits for op 0, which ends on other chips; "
        "GOAL's waits are local, write podsim-schedule/1 (.json)");
}

}  // namespace
}  // namespace podsim
