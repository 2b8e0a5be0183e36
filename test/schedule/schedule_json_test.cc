#include "schedule/schedule_json.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <regex>

#include "base/error.h"
#include "base/json_reader.h"
#include "schedule/chunk_parties.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"
#include "test/support/temporary_file.h"

namespace podsim {
namespace {

const std::string kBroken = PODSIM_TEST_DATA "/broken_schedules/";

// Everything that reading and replaying the file find wrong.
Violations Judge(const std::string& path, const SliceRequest& request = {}) {
  ScheduleFile file = ReadScheduleFile(path, request);
  file.violations.Append(
      VerifyFull(file.schedule, file.meaning, file.slice.topology));
  return file.violations;
}

// ---- schedules with one fault each --------------------------------------

TEST_CASE("every broken schedule is judged as its index says",
          "[schedule][oracle]") {
  // Words that at least one violation of such a fault has.
  const std::map<std::string, std::string> words = {
      {"dropped transfer", "expected the"},
      {"doubled transfer", "a second time"},
      {"missing dependence", "no dependence orders them"},
      {"no dependences", "no dependence orders them"},
      {"copy instead of add", "expected the sum of all"},
      {"add instead of copy", "op "},
      {"wrong chunk", "chunk "},
      {"chunk left out", "expected the shard of its owner"},
      {"wrong neighbour", "which is not there"},
      {"route not a path", "route is not a path"},
      {"ends elsewhere", "route ends at chip"},
      {"link that does not exist", "does not exist"},
      {"wrong bytes", "bytes, but its chunks have"},
      {"swapped order", "which is not there"},
      {"depends on a later op", "which is not older"},
      {"depends on itself", "depends on itself"},
      {"to itself", "to itself"}};
  const std::regex names_its_place(
      R"(op \d+.*|chunk \d+ of chip \([0-9,]+\) .*)");
  const JsonValue index = JsonValue::ReadFile(kBroken + "index.json");
  std::size_t files = 0;
  std::map<std::string, int> seen;
  for (const JsonValue& entry : index.Elements()) {
    const std::string name = entry.Get("file").AsString();
    const std::string verdict = entry.Get("verdict").AsString();
    CAPTURE(name, verdict);
    const Violations violations = Judge(kBroken + name);
    ++files;
    ++seen[verdict];
    CHECK((entry.Get("exit").AsInteger(0, 1) == 0) == violations.empty());
    if (verdict == "valid") continue;
    bool named = false;
    for (const std::string& text : violations.texts()) {
      CAPTURE(text);
      CHECK(std::regex_match(text, names_its_place));
      named |= text.find(words.at(verdict)) != std::string::npos;
    }
    CAPTURE(violations.texts());
    CHECK(named);
  }
  CHECK(seen["valid"] == 6);
  CHECK(seen.size() == words.size() + 1);
  // Every file of the folder is in the index.
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kBroken)) {
    if (entry.path().filename() != "index.json") ++found;
  }
  CHECK(files == found);
}

// ---- round trips --------------------------------------------------------

std::string Written(const Schedule& schedule, const CollectiveMeaning& meaning,
                    const Slice& slice) {
  std::string text;
  WriteSchedule(schedule, meaning, slice,
                [&](const std::string& piece) { text += piece; });
  return text;
}

std::vector<std::uint32_t> AfterOf(const Schedule& schedule, OpId op) {
  std::vector<std::uint32_t> ids;
  for (const OpId wait : schedule.after(op)) ids.push_back(wait.value());
  std::sort(ids.begin(), ids.end());
  return ids;
}

void RequireEqual(const Schedule& a, const Schedule& b,
                  const Topology& topology, std::uint32_t per_owner) {
  REQUIRE(a.size() == b.size());
  REQUIRE(a.transfers() == b.transfers());
  REQUIRE(a.one_hop() == b.one_hop());
  for (std::uint32_t id = 0; id < a.size(); ++id) {
    const OpId op(id);
    REQUIRE(a.kind(op) == b.kind(op));
    REQUIRE(a.src(op) == b.src(op));
    REQUIRE(a.dst(op) == b.dst(op));
    REQUIRE(AfterOf(a, op) == AfterOf(b, op));
    if (a.kind(op) != OpKind::kTransfer) {
      REQUIRE(a.duration(op) == b.duration(op));
    } else {
      REQUIRE(a.bytes(op) == b.bytes(op));
      REQUIRE(a.mode(op) == b.mode(op));
      REQUIRE(a.lane(op) == b.lane(op));
      const auto route_a = a.route(op), route_b = b.route(op);
      REQUIRE(std::equal(route_a.begin(), route_a.end(), route_b.begin(),
                         route_b.end()));
    }
    if (a.kind(op) == OpKind::kLocal) {
      REQUIRE(a.scratch_of(op) == b.scratch_of(op));
    }
    if (a.kind(op) != OpKind::kCompute) {
      REQUIRE(ChunkIdsOf(a, op, topology, per_owner) ==
              ChunkIdsOf(b, op, topology, per_owner));
    }
  }
}

void RequireEqual(const CollectiveMeaning& a, const CollectiveMeaning& b) {
  REQUIRE(a.kind == b.kind);
  REQUIRE(a.payload == b.payload);
  REQUIRE(a.groups == b.groups);
  REQUIRE(a.root == b.root);
  REQUIRE(a.chunks.size() == b.chunks.size());
  for (std::size_t c = 0; c < a.chunks.size(); ++c) {
    REQUIRE(a.chunks[c].group == b.chunks[c].group);
    REQUIRE(a.chunks[c].owner == b.chunks[c].owner);
    REQUIRE(a.chunks[c].bytes == b.chunks[c].bytes);
    REQUIRE(a.chunks[c].contributor == b.chunks[c].contributor);
    REQUIRE(a.chunks[c].receiver == b.chunks[c].receiver);
  }
}

TEST_CASE("a lowered schedule survives a round trip through its file",
          "[schedule][property]") {
  const std::vector<std::pair<Shape, std::vector<bool>>> grids = {
      {{1}, {false}},
      {{2}, {true}},
      {{7}, {true}},
      {{6}, {false}},
      {{4, 3}, {true, false}},
      {{3, 1, 2}, {true, false, false}},
      {{2, 3, 4}, {true, true, true}}};
  int round_trips = 0;
  for (const auto& [shape, wrap] : grids) {
    const Slice slice = MakeGridOf(shape, wrap);
    for (LoweringSpec spec : WithProgram(SpecsToCompare())) {
      for (const CollectiveKind kind : kLoweredKinds) {
        for (const auto& axes : AllAxisSubsets(shape.size())) {
          for (const std::int64_t payload : {0, 5, 12345}) {
            const Collective collective{
                .kind = kind, .payload = Bytes(payload), .axes = axes};
            if (spec.name.starts_with("bucket")) spec.batches = 2;
            if (spec.name == "tree-packing") spec.chunks = 8;
            if (WhyNot(spec, collective, slice.topology)) continue;
            CAPTURE(slice.spec, ToText(spec, collective, slice.topology),
                    ToText(kind), payload);
            const Lowered lowered = LowerOn(slice, spec, collective);
            const std::string text =
                Written(lowered.schedule, lowered.meaning, slice);
            const TemporaryFile file("round-trip.json", text);
            const ScheduleFile read = ReadScheduleFile(file.path(), {});
            REQUIRE(read.violations.texts() == std::vector<std::string>{});
            REQUIRE(read.slice.shape == slice.shape);
            REQUIRE(read.slice.topology.link_ids() ==
                    slice.topology.link_ids());
            RequireEqual(
                read.schedule, lowered.schedule, slice.topology,
                static_cast<std::uint32_t>(lowered.program.split.sub_chunks()));
            RequireEqual(read.meaning, lowered.meaning);
            // Byte by byte, but for the slice, which is named canonically.
            const std::string again =
                Written(read.schedule, read.meaning, read.slice);
            REQUIRE(again.substr(again.find('\n')) ==
                    text.substr(text.find('\n')));
            ++round_trips;
          }
        }
      }
    }
  }
  CHECK(round_trips > 1000);
}

// Recursive doubling on two chips, every kind of op, a route of two hops.
constexpr char kAllOps[] = R"({"format": "podsim-schedule/1",
 "slice": "ideal:3:wrap=x",
 "collective": {"kind": "all-reduce", "bytes": 7, "groups": [[0, 2]]},
 "chunks": [{"owner": 0, "bytes": 4}, {"owner": 1, "bytes": 3}],
 "ops": [
  {"op": "compute", "chip": 1, "seconds": 1e-6, "after": []},
  {"op": "transfer", "src": 0, "dst": 2, "mode": "scratch", "chunks": [[0, 2]],
   "route": ["0:x+", "1:x+"], "lane": 3, "after": [0], "bytes": 7},
  {"op": "transfer", "src": 2, "dst": 0, "mode": "scratch",
   "chunks": [[0, 1], [1, 1]], "route": ["2:x+"]},
  {"op": "local", "chip": 2, "chunks": [[0, 2]], "scratch_of": 1,
   "after": [1, 2]},
  {"op": "local", "chip": 0, "chunks": [[0, 2]], "scratch_of": 2,
   "seconds": 2.5e-7, "after": [2, 1, 1]}]})";

TEST_CASE("all kinds of ops are read as they stand, and survive a round trip",
          "[schedule]") {
  const TemporaryFile file("all-ops.json", kAllOps);
  const ScheduleFile read = ReadScheduleFile(file.path(), {});
  CHECK(Judge(file.path()).texts() == std::vector<std::string>{});
  const Schedule& schedule = read.schedule;
  REQUIRE(schedule.size() == 5);
  CHECK(schedule.transfers() == 2);
  CHECK(schedule.kind(OpId(0)) == OpKind::kCompute);
  CHECK(schedule.duration(OpId(0)) == Seconds(1e-6));
  CHECK(schedule.kind(OpId(1)) == OpKind::kTransfer);
  CHECK(schedule.route(OpId(1)).size() == 2);
  CHECK(schedule.lane(OpId(1)) == 3);
  CHECK(schedule.bytes(OpId(1)) == Bytes(7));
  CHECK(schedule.mode(OpId(1)) == Mode::kScratch);
  CHECK(schedule.route(OpId(2)).size() == 1);
  CHECK(schedule.bytes(OpId(2)) == Bytes(7));
  CHECK(schedule.after(OpId(2)).empty());
  CHECK(schedule.kind(OpId(3)) == OpKind::kLocal);
  CHECK(schedule.scratch_of(OpId(3)) == OpId(1));
  CHECK(schedule.duration(OpId(3)) == Seconds(0));
  CHECK(schedule.duration(OpId(4)) == Seconds(2.5e-7));
  CHECK(AfterOf(schedule, OpId(4)) == std::vector<std::uint32_t>{1, 2});
  const TemporaryFile again("all-ops-again.json",
                            Written(read.schedule, read.meaning, read.slice));
  const ScheduleFile second = ReadScheduleFile(again.path(), {});
  RequireEqual(second.schedule, read.schedule, read.slice.topology, 1);
  RequireEqual(second.meaning, read.meaning);
}

TEST_CASE("an all-to-all survives a round trip with its targets",
          "[schedule]") {
  const TemporaryFile file("all-to-all.json", R"({
 "format": "podsim-schedule/1", "slice": "ideal:3:wrap=x",
 "collective": {"kind": "all-to-all", "bytes": 9,
                "groups": [[1, 2], [0]], "root": null},
 "chunks": [{"owner": 0, "bytes": 4, "group": 0, "target": 1},
            {"owner": 1, "bytes": 5, "group": 0, "target": 0}],
 "ops": [
  {"op": "transfer", "src": 1, "dst": 2, "mode": "copy", "chunks": [[0, 1]],
   "route": ["1:x+"]},
  {"op": "transfer", "src": 2, "dst": 1, "mode": "copy", "chunks": [[1, 1]],
   "route": ["2:x-"]}]})");
  const ScheduleFile read = ReadScheduleFile(file.path(), {});
  CHECK(Judge(file.path()).texts() == std::vector<std::string>{});
  REQUIRE(read.meaning.chunks.size() == 2);
  CHECK(read.meaning.chunks[0].contributor == ChipId(1));
  CHECK(read.meaning.chunks[0].receiver == ChipId(2));
  CHECK(read.meaning.chunks[1].receiver == ChipId(1));
  const TemporaryFile again("all-to-all-again.json",
                            Written(read.schedule, read.meaning, read.slice));
  RequireEqual(ReadScheduleFile(again.path(), {}).meaning, read.meaning);
}

TEST_CASE("the contributors and receivers of every kind", "[schedule]") {
  // Chunk of owner 1 (chip 2), target 0 (chip 1), root chip 0.
  struct Row {
    const char* kind;
    std::optional<ChipId> contributor, receiver;
  };
  const std::optional<ChipId> all, root(ChipId(0)), owner(ChipId(2)),
      target(ChipId(1));
  const Row rows[] = {{"all-reduce", all, all},
                      {"all-gather", owner, all},
                      {"reduce-scatter", all, owner},
                      {"all-to-all", owner, target},
                      {"ragged-all-to-all", owner, target},
                      {"collective-permute", owner, target},
                      {"broadcast", root, all},
                      {"reduce", all, root},
                      {"gather", owner, root},
                      {"scatter", root, owner}};
  CHECK(AllKindParties().size() == std::size(rows));
  for (const Row& row : rows) {
    CAPTURE(row.kind);
    const bool pairs = row.receiver == target;
    const TemporaryFile file(
        "kind.json",
        std::string(R"({"format": "podsim-schedule/1", "slice": "ideal:3",
 "collective": {"kind": ")") +
            row.kind + R"(", "bytes": 1, "groups": [[1, 2, 0]], "root": 0},
 "chunks": [{"owner": 1, "bytes": 1)" +
            (pairs ? R"(, "target": 0)" : "") + R"(}], "ops": []})");
    const ScheduleFile read = ReadScheduleFile(file.path(), {});
    CHECK(read.meaning.kind == row.kind);
    CHECK(read.meaning.chunks[0].contributor == row.contributor);
    CHECK(read.meaning.chunks[0].receiver == row.receiver);
  }
}

TEST_CASE("faults and another slice come from the request", "[schedule]") {
  const std::string ring = kBroken + "valid-ring-ag.json";
  const ScheduleFile file = ReadScheduleFile(ring, {});
  const std::string link =
      file.slice.topology.NameOf(file.schedule.route(OpId(0))[0]);
  SliceRequest faulty;
  faulty.faults = {"link:" + link + ":oneway"};
  const Violations violations = Judge(ring, faulty);
  REQUIRE_FALSE(violations.empty());
  CHECK(violations.texts()[0] ==
        "op 0 uses a link that does not exist or is dead");

  SliceRequest other;
  other.spec = "ideal:" + ToText(file.slice.shape) + ":mesh";
  const Violations unwrapped = Judge(ring, other);
  REQUIRE_FALSE(unwrapped.empty());
  CHECK(unwrapped.texts()[0].find("which does not exist in " + other.spec) !=
        std::string::npos);
}

// ---- malformed files ----------------------------------------------------

constexpr char kValid[] = R"({"format": "podsim-schedule/1", "slice": "ideal:2",
 "collective": {"kind": "all-gather", "bytes": 2, "groups": [[0, 1]],
                "root": null},
 "chunks": [{"owner": 0, "bytes": 1}, {"owner": 1, "bytes": 1}],
 "ops": [
  {"op": "transfer", "src": 0, "dst": 1, "mode": "copy", "chunks": [[0, 1]],
   "route": ["0:x+"], "lane": 0, "after": []},
  {"op": "compute", "chip": 0, "seconds": 0, "after": [0]},
  {"op": "transfer", "src": 1, "dst": 0, "mode": "copy", "chunks": [[1, 1]],
   "route": ["1:x-"], "lane": 0, "after": []}]})";

// kValid with the first `from` replaced.
std::string Changed(const std::string& from, const std::string& to) {
  std::string text = kValid;
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

struct BadFile {
  const char* from;
  const char* to;
  std::string message;  // after "FILE: "
};

TEST_CASE("malformed schedule files are refused, place and remedy named",
          "[schedule]") {
  constexpr char kKinds[] =
      "(known: all-reduce, all-gather, reduce-scatter, all-to-all, "
      "ragged-all-to-all, collective-permute, broadcast, reduce, gather, "
      "scatter)";
  const std::string keys = "(known: format, slice, collective, chunks, ops)";
  const BadFile rows[] = {
      {"podsim-schedule/1", "podsim-schedule/2",
       R"(/format: expected "podsim-schedule/1", got "podsim-schedule/2")"},
      {R"("format")", R"("fromat")", R"(missing key "format")"},
      {R"("slice")", R"("slcie")",
       R"(/slcie: unknown key; did you mean "slice"? )" + keys},
      {R"("ideal:2")", "2", "/slice: expected a string, got 2"},
      {R"("ideal:2")", R"("ideal:0")",
       "/slice: expected an axis of at least 1 chip, got 0 in 0"},
      {R"("ops": [)", R"("opps": [], "ops": [)",
       R"(/opps: unknown key; did you mean "ops"? )" + keys},
      {R"("ops": [)", R"("ops": 3, "more": [)", "/more: unknown key " + keys},
      {R"("ops": [)", R"("chunks": [)", R"(/chunks: the key stands twice)"},
      // The collective.
      {"all-gather", "allgather",
       std::string(R"(/collective/kind: unknown collective "allgather"; )") +
           R"(did you mean "all-gather"? )" + kKinds},
      {"all-gather", "broadcast", R"(/collective: missing key "root")"},
      {R"("bytes": 2,)", R"("bytes": "2B",)",
       R"(/collective/bytes: expected an integer of at least 0, got "2B")"},
      {R"("bytes": 2,)", R"("bytes": -2,)",
       "/collective/bytes: expected an integer of at least 0, got -2"},
      {R"("bytes": 2,)", R"("bytes": 2.0,)",
       "/collective/bytes: expected an integer of at least 0, got 2.0; write "
       "2"},
      {"[[0, 1]]", "[[0, 2]]",
       "/collective/groups/0/1: expected an integer from 0 to 1, got 2"},
      {"[[0, 1]]", "[[0, 0]]",
       "/collective/groups/0/1: chip 0 stands twice in the groups"},
      {"[[0, 1]]", "[[0], [1, 0]]",
       "/collective/groups/1/1: chip 0 stands twice in the groups"},
      {"[[0, 1]]", "[[0, 1], []]",
       "/collective/groups/1: expected at least one chip"},
      {R"("root": null)", R"("root": 2)",
       "/collective/root: expected an integer from 0 to 1, got 2"},
      {R"("root": null)", R"("route": 2)",
       R"(/collective/route: unknown key; did you mean "root"? )"
       "(known: kind, bytes, groups, root)"},
      // Chunks.
      {"[[0, 1]]", "[[0], [1]]",
       R"(/chunks/0: missing key "group": there are 2 groups)"},
      {"[[0, 1]]", "[]",
       R"(/chunks/0: missing key "group": there are 0 groups)"},
      {"all-gather", "all-to-all", R"(/chunks/0: missing key "target")"},
      {R"("owner": 1)", R"("owner": 2)",
       "/chunks/1/owner: expected an integer from 0 to 1, got 2"},
      {R"("owner": 1, )", "", R"(/chunks/1: missing key "owner")"},
      {R"("owner": 1, )", R"("owner": 1, "group": 1, )",
       "/chunks/1/group: expected an integer from 0 to 0, got 1"},
      {R"("owner": 1, )", R"("owner": 1, "target": 2, )",
       "/chunks/1/target: expected an integer from 0 to 1, got 2"},
      {R"("owner": 1, )", R"("owner": 1, "size": 1, )",
       "/chunks/1/size: unknown key (known: owner, bytes, group, target, "
       "level)"},
      {R"([{"owner": 0, "bytes": 1})",
       R"([{"owner": 0, "bytes": 9223372036854775807})",
       "/chunks/1: the chunks add up to more than 2^63 - 1 bytes"},
      // Ops.
      {R"("op": "transfer")", R"("op": "send")",
       R"(/ops/0/op: expected transfer, local or compute, got "send")"},
      {R"("src": 0)", R"("src": 2)",
       "/ops/0/src: expected an integer from 0 to 1, got 2"},
      {R"("src": 0, )", "", R"(/ops/0: missing key "src")"},
      {R"("copy")", R"("move")",
       R"(/ops/0/mode: expected copy, reduce, scratch or accumulate, got "move")"},
      {R"("copy")", "1", "/ops/0/mode: expected a string, got 1"},
      {R"("chunks": [[0, 1]])", R"("chunks": [[0]])",
       "/ops/0/chunks/0: expected [first, count], got [0]"},
      {R"("chunks": [[0, 1]])", R"("chunks": [[2, 1]])",
       "/ops/0/chunks/0/0: expected an integer from 0 to 1, got 2"},
      {R"("chunks": [[0, 1]])", R"("chunks": [[1, 2]])",
       "/ops/0/chunks/0/1: expected an integer from 1 to 1, got 2"},
      {R"("chunks": [[0, 1]])", R"("chunks": [[0, 0]])",
       "/ops/0/chunks/0/1: expected an integer from 1 to 2, got 0"},
      {R"("chunks": [[0, 1]])", R"("chunks": [0])",
       "/ops/0/chunks/0: expected an array, got 0"},
      {R"(["0:x+"])", R"("0:x+")",
       R"(/ops/0/route: expected an array, got "0:x+")"},
      {R"(["0:x+"])", "[0]", "/ops/0/route/0: expected a string, got 0"},
      {R"("lane": 0)", R"("lane": 65536)",
       "/ops/0/lane: expected an integer from 0 to 65535, got 65536"},
      {R"("lane": 0)", R"("line": 0)",
       R"(/ops/0/line: unknown key; did you mean "lane"? )"
       "(known: op, src, dst, mode, chunks, route, lane, after, bytes)"},
      {R"("after": [])", R"("after": 0)",
       "/ops/0/after: expected an array, got 0"},
      {R"("after": [])", R"("after": [-1])",
       "/ops/0/after/0: expected an integer of at least 0, got -1"},
      {R"("seconds": 0)", R"("seconds": -1)",
       "/ops/1/seconds: must not be negative, got -1"},
      {R"("seconds": 0)", R"("seconds": "1us")",
       R"(/ops/1/seconds: expected a number, got "1us")"},
      {R"("seconds": 0)", R"("second": 0)",
       R"(/ops/1/second: unknown key; did you mean "seconds"? )"
       "(known: op, chip, seconds, after)"},
      {R"("op": "compute", "chip": 0, "seconds": 0)",
       R"("op": "local", "chip": 0, "chunks": [[0, 1]])",
       R"(/ops/1: missing key "scratch_of")"}};
  for (const BadFile& row : rows) {
    CAPTURE(row.from, row.to);
    const TemporaryFile file("malformed.json", Changed(row.from, row.to));
    std::string message = "no error";
    try {
      ReadScheduleFile(file.path(), {});
    } catch (const InputError& error) {
      message = error.what();
    }
    CHECK(message == file.path() + ": " + row.message);
  }
}

std::string ErrorOf(const std::string& text) {
  const TemporaryFile file("malformed.json", text);
  try {
    ReadScheduleFile(file.path(), {});
  } catch (const InputError& error) {
    return std::string(error.what()).substr(file.path().size());
  }
  return "no error";
}

TEST_CASE("syntax errors name line and column", "[schedule]") {
  std::string text = kValid;
  text.pop_back();
  CHECK(ErrorOf(text) ==
        ":10:47: syntax error while parsing object - unexpected end of input; "
        "expected '}'");
  CHECK(ErrorOf("") == ": empty file");
  CHECK(ErrorOf("[]") == ": expected an object, got []");
}

TEST_CASE(
    "the root of a rooted collective is a member of a group, and every group "
    "has its rank",
    "[schedule]") {
  const auto file = [](const std::string& groups, int root) {
    return R"({"format": "podsim-schedule/1", "slice": "ideal:4",
 "collective": {"kind": "broadcast", "bytes": 1, "groups": )" +
           groups + ", \"root\": " + std::to_string(root) +
           R"(}, "chunks": [{"owner": 0, "bytes": 1, "group": 0}], "ops": []})";
  };
  CHECK(ErrorOf(file("[[0, 1]]", 1)) == "no error");
  CHECK(ErrorOf(file("[[0, 1]]", 2)) ==
        ": /collective/root: expected a chip of a group, got 2");
  CHECK(ErrorOf(file("[[0, 1], [2, 3]]", 2)) == "no error");
  CHECK(ErrorOf(file("[[0, 1], [2]]", 1)) ==
        ": /collective/groups: the root has rank 1 in its group, and a group "
        "has only 1 chips");
}

TEST_CASE("bytes of an op that lists huge chunks twice do not overflow",
          "[schedule]") {
  const std::string text = R"({"format": "podsim-schedule/1",
 "slice": "ideal:2",
 "collective": {"kind": "all-gather", "bytes": 9223372036854775807,
                "groups": [[0, 1]]},
 "chunks": [{"owner": 0, "bytes": 9223372036854775807}],
 "ops": [{"op": "transfer", "src": 0, "dst": 1, "mode": "copy",
          "chunks": [[0, 1], [0, 1]], "route": ["0:x+"]}]})";
  CHECK(ErrorOf(text) ==
        ": /ops/0/chunks: the chunks add up to more than 2^63 - 1 bytes");
}

TEST_CASE("chunks that do not add up to the payload are a violation",
          "[schedule]") {
  const TemporaryFile file("sum.json", Changed("\"bytes\": 2", "\"bytes\": 3"));
  CHECK(ReadScheduleFile(file.path(), {}).violations.texts() ==
        std::vector<std::string>{"the chunks of group 0 add up to 2 bytes, the "
                                 "collective has 3"});
}

TEST_CASE("what no schedule can hold is a violation, not an input error",
          "[schedule]") {
  struct Row {
    std::string from, to, violation;
  };
  const Row rows[] = {
      {R"("after": [0])", R"("after": [1])", "op 1 depends on itself"},
      {R"("after": [0])", R"("after": [2])",
       "op 1 depends on op 2, which is not older"},
      {R"("after": [0])", R"("after": [9223372036854775807])",
       "op 1 depends on op 9223372036854775807, which is not older"},
      {R"("dst": 1)", R"("dst": 0)", "op 0 sends from chip 0 to itself"},
      {R"(["0:x+"])", "[]", "op 0 has an empty route"},
      {R"(["0:x+"])", R"(["0:x-"])",
       R"(op 0 uses link "0:x-", which does not exist in ideal:2)"},
      {R"(["0:x+"])", R"(["0:y+"])",
       R"(op 0 uses link "0:y+", which does not exist in ideal:2)"},
      {R"("op": "compute", "chip": 0, "seconds": 0)",
       R"("op": "local", "chip": 0, "chunks": [[0, 1]], "scratch_of": 1)",
       "op 1 adds from op 1, which is not older"}};
  for (const Row& row : rows) {
    CAPTURE(row.from, row.to);
    const TemporaryFile file("violation.json", Changed(row.from, row.to));
    const ScheduleFile read = ReadScheduleFile(file.path(), {});
    CHECK(read.violations.texts() == std::vector<std::string>{row.violation});
    CHECK(read.schedule.size() == 3);  // the ids of the other ops hold
  }
}

TEST_CASE("bytes that an op states must be those of its chunks", "[schedule]") {
  const TemporaryFile file("bytes.json",
                           Changed("\"lane\": 0", "\"bytes\": 2"));
  CHECK(Judge(file.path()).texts() ==
        std::vector<std::string>{"op 0 moves 2 bytes, but its chunks have 1"});
}

}  // namespace
}  // namespace podsim
