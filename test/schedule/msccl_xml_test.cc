#include "schedule/msccl_xml.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/json_reader.h"
#include "base/text.h"
#include "engine/engine.h"
#include "schedule/schedule_file.h"
#include "test/support/error_of.h"
#include "test/support/lowered.h"
#include "test/support/temporary_file.h"

namespace podsim {
namespace {

using Texts = std::vector<std::string>;

std::string Written(const Schedule& schedule, const CollectiveMeaning& meaning,
                    const Slice& slice) {
  std::string text;
  WriteMscclXml(MakeMscclAlgorithm(schedule, meaning, slice, "-o x.xml"),
                [&](const std::string& piece) { text += piece; });
  return text;
}

SliceRequest On(const std::string& slice) {
  SliceRequest request;
  request.spec = slice;
  return request;
}

ScheduleFile ReadText(const std::string& text, const SliceRequest& request = {},
                      std::optional<Bytes> payload = {}) {
  const TemporaryFile file("msccl.xml", text);
  return ReadScheduleFile(file.path(), request, payload);
}

Texts ViolationsOf(const std::string& text) {
  return JudgeSchedule(ReadText(text)).texts();
}

// The message without the path before the line.
std::string MessageOf(const std::string& text, const SliceRequest& request = {},
                      std::optional<Bytes> payload = {}) {
  const TemporaryFile file("msccl.xml", text);
  const std::string message =
      ErrorOf([&] { ReadScheduleFile(file.path(), request, payload); });
  return message.starts_with(file.path()) ? message.substr(file.path().size())
                                          : message;
}

std::string Replaced(std::string text, const std::string& from,
                     const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<std::uint32_t> AfterOf(const Schedule& schedule, std::uint32_t op) {
  std::vector<std::uint32_t> ids;
  for (const OpId wait : schedule.after(OpId(op))) ids.push_back(wait.value());
  std::sort(ids.begin(), ids.end());
  return ids;
}

// ---- round trips --------------------------------------------------------

// What an op does, whatever its id and the ids of its chunks: bytes as ranges
// of the buffer they are part of.
std::string ActOf(const Schedule& schedule, OpId op,
                  const CollectiveMeaning& meaning, const Topology& topology) {
  const auto per_owner = static_cast<std::uint32_t>(meaning.chunks.size()) /
                         static_cast<std::uint32_t>(topology.chips());
  const KindParties& kind = *FindKindParties(meaning.kind);
  const bool divided = kind.targeted() || kind.contributor == Party::kOwner ||
                       kind.receiver == Party::kOwner;
  const auto part_of = [&](const Chunk& chunk) {
    return std::pair(divided ? chunk.owner : 0,
                     kind.targeted() ? chunk.receiver->value() : 0);
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> begins;
  std::vector<std::int64_t> begin_of;
  for (const Chunk& chunk : meaning.chunks) {
    begin_of.push_back(begins[part_of(chunk)]);
    begins[part_of(chunk)] += chunk.bytes.value();
  }
  std::map<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>,
           std::int64_t>
      ranges;  // part and begin to end
  for (const std::uint32_t c : ChunkIdsOf(schedule, op, topology, per_owner)) {
    const Chunk& chunk = meaning.chunks[c];
    if (chunk.bytes.value() == 0) continue;
    ranges[{part_of(chunk), begin_of[c]}] = begin_of[c] + chunk.bytes.value();
  }
  std::string text = std::to_string(static_cast<int>(schedule.kind(op))) + " " +
                     std::to_string(schedule.src(op).value());
  if (schedule.kind(op) == OpKind::kTransfer) {
    text += ">" + std::to_string(schedule.dst(op).value()) + " mode " +
            std::to_string(static_cast<int>(schedule.mode(op)));
    for (const LinkId link : schedule.route(op)) {
      text += " " + topology.NameOf(link);
    }
  }
  std::int64_t end = -1;
  for (const auto& [from, to] : ranges) {
    if (from.second != end) {
      text += " part " + std::to_string(from.first.first) + "," +
              std::to_string(from.first.second) + " from " +
              std::to_string(from.second);
    }
    end = to;
    text += " to " + std::to_string(to);
  }
  // Ranges that touch are one.
  for (std::size_t at; (at = text.find(" to ")) != std::string::npos;) {
    const std::size_t next = text.find(' ', at + 4);
    const bool more =
        next != std::string::npos && text.compare(next, 4, " to ") == 0;
    text = more ? text.erase(at, next - at) : text.replace(at, 4, " till ");
  }
  return text;
}

// Ops by what they do, in order; ops that do the same are told apart by that.
std::map<std::string, std::uint32_t> OpsByAct(const Schedule& schedule,
                                              const CollectiveMeaning& meaning,
                                              const Topology& topology) {
  std::map<std::string, int> seen;
  std::map<std::string, std::uint32_t> ops;
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    const std::string act = ActOf(schedule, OpId(op), meaning, topology);
    ops.emplace(act + " #" + std::to_string(seen[act]++), op);
  }
  return ops;
}

// All ops that must have ended before each one starts.
std::vector<std::set<std::uint32_t>> AncestorsOf(const Schedule& schedule) {
  std::vector<std::set<std::uint32_t>> all(schedule.size());
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    for (const OpId wait : schedule.after(OpId(op))) {
      all[op].insert(wait.value());
      all[op].insert(all[wait.value()].begin(), all[wait.value()].end());
    }
  }
  return all;
}

void RequireSame(const Schedule& a, const CollectiveMeaning& a_meaning,
                 const Schedule& b, const CollectiveMeaning& b_meaning,
                 const Topology& topology) {
  REQUIRE(a.size() == b.size());
  const auto a_ops = OpsByAct(a, a_meaning, topology);
  const auto b_ops = OpsByAct(b, b_meaning, topology);
  std::vector<std::uint32_t> b_of(a.size());
  for (const auto& [act, op] : a_ops) {
    CAPTURE(act);
    REQUIRE(b_ops.count(act) == 1);
    b_of[op] = b_ops.at(act);
  }
  const auto a_before = AncestorsOf(a);
  const auto b_before = AncestorsOf(b);
  for (const auto& [act, op] : a_ops) {
    CAPTURE(act);
    std::set<std::uint32_t> expected;
    for (const std::uint32_t before : a_before[op]) {
      expected.insert(b_of[before]);
    }
    REQUIRE(b_before[b_of[op]] == expected);
    if (a.kind(OpId(op)) == OpKind::kTransfer) {
      REQUIRE(b.bytes(OpId(b_of[op])) == a.bytes(OpId(op)));
    }
    if (a.kind(OpId(op)) == OpKind::kLocal) {
      REQUIRE(b.scratch_of(OpId(b_of[op])).value() ==
              b_of[a.scratch_of(OpId(op)).value()]);
      REQUIRE(b.duration(OpId(b_of[op])) == a.duration(OpId(op)));
    }
  }
}

bool Accumulates(const Schedule& schedule) {
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (schedule.mode(OpId(op)) == Mode::kAccumulate) return true;
  }
  return false;
}

TEST_CASE(
    "a lowered schedule survives a round trip through MSCCL XML: the same "
    "bytes move in the same order and take the same time",
    "[schedule][property]") {
  const Rates rates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 3e-7};
  const std::vector<std::pair<Shape, std::vector<bool>>> grids = {
      {{1}, {false}},          {{2}, {true}},
      {{5}, {true}},           {{6}, {false}},
      {{4, 3}, {true, false}}, {{2, 3, 2}, {true, true, false}},
      {{4, 4}, {true, true}}};
  std::map<std::string, int> round_trips;  // by kind
  std::set<std::string> lowerings;
  for (const auto& [shape, wrap] : grids) {
    const Slice slice = MakeGridOf(shape, wrap, rates);
    const Network network = MakeNetwork(slice);
    for (LoweringSpec spec : SpecsToCompare()) {
      if (spec.name.starts_with("bucket")) spec.batches = 2;
      if (spec.name == "tree-packing") spec.chunks = 8;
      for (const MscclCollective& row : kMscclCollectives) {
        for (const std::int64_t payload : {0, 5, 123457}) {
          const Collective collective =
              OnAllChips(ParseCollectiveKind(row.kind, "test"), payload, slice);
          const auto& kinds = FindLowering(spec.name)->kinds;
          if (std::find(kinds.begin(), kinds.end(), collective.kind) ==
                  kinds.end() ||
              WhyNot(spec, collective, slice.topology)) {
            continue;
          }
          CAPTURE(slice.spec, spec.name, row.kind, payload);
          const WholeSchedule whole = MakeWhole(slice, spec, collective);
          if (Accumulates(whole.schedule)) {  // it has no words for that
            CHECK_THROWS_AS(Written(whole.schedule, whole.meaning, slice),
                            InputError);
            continue;
          }
          const std::string text =
              Written(whole.schedule, whole.meaning, slice);
          const TemporaryFile file("round-trip.xml", text);
          const ScheduleFile read = ReadScheduleFile(file.path(), {});
          REQUIRE(JudgeSchedule(read).texts() == Texts{});
          REQUIRE(read.slice.warnings == Texts{});
          REQUIRE(read.slice.shape == slice.shape);
          REQUIRE(read.meaning.kind == whole.meaning.kind);
          REQUIRE(read.meaning.payload == whole.meaning.payload);
          REQUIRE(read.meaning.groups == whole.meaning.groups);
          REQUIRE(read.meaning.root == whole.meaning.root);
          RequireSame(whole.schedule, whole.meaning, read.schedule,
                      read.meaning, slice.topology);
          REQUIRE(Near(RunCore(read.schedule, network).makespan,
                       RunCore(whole.schedule, network).makespan, 1e-12));
          // The text of what was read is read as the same, op by op.
          const TemporaryFile again(
              "again.xml", Written(read.schedule, read.meaning, read.slice));
          const ScheduleFile second = ReadScheduleFile(again.path(), {});
          RequireSame(read.schedule, read.meaning, second.schedule,
                      second.meaning, slice.topology);
          ++round_trips[row.kind];
          lowerings.insert(spec.name);
        }
      }
    }
  }
  for (const auto& [kind, count] : round_trips) {
    CAPTURE(kind);
    CHECK(count >= 18);
  }
  CHECK(round_trips.size() == kMscclCollectives.size());
  CHECK(lowerings.size() >= 10);
}

TEST_CASE("groups that are not all chips in order name their chips",
          "[schedule]") {
  const Slice slice = MakeTorus({4});
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllToAll,
        CollectiveKind::kBroadcast}) {
    const Collective collective =
        OnLists(kind, 600, {{ChipId(3), ChipId(0), ChipId(1)}},
                kind == CollectiveKind::kBroadcast ? std::optional(ChipId(0))
                                                   : std::nullopt);
    const LoweringSpec spec =
        Spec(kind == CollectiveKind::kBroadcast ? "binomial" : "direct");
    const WholeSchedule whole = MakeWhole(slice, spec, collective);
    const std::string text = Written(whole.schedule, whole.meaning, slice);
    CHECK(text.find("<gpu id=\"0\" chip=\"3\" ") != std::string::npos);
    const ScheduleFile read = ReadText(text);
    CHECK(JudgeSchedule(read).texts() == Texts{});
    CHECK(read.meaning.groups == whole.meaning.groups);
    CHECK(read.meaning.root == whole.meaning.root);
    RequireSame(whole.schedule, whole.meaning, read.schedule, read.meaning,
                slice.topology);
  }
}

TEST_CASE("what is written is MSCCL's, with attributes of ours", "[schedule]") {
  const Slice slice = MakeTorus({2});
  const WholeSchedule whole = MakeWhole(
      slice, Spec("ring"), OnAllChips(CollectiveKind::kAllReduce, 7, slice));
  CHECK(
      Written(whole.schedule, whole.meaning, slice) ==
      R"(<algo name="podsim_all-reduce" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1" outofplace="0" slice="ideal:2:wrap=x" bytes="7">
  <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="1" deps="0" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="1" chan="0">
      <step s="0" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
      <step s="1" type="r" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">
    <tb id="0" send="-1" recv="0" chan="0">
      <step s="0" type="rrc" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="1"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="0" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0" route="1:x+"/>
      <step s="1" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="0" deps="0" hasdep="0" route="1:x+"/>
    </tb>
  </gpu>
</algo>
)");
}

TEST_CASE("what MSCCL has no words for is refused, and JSON is named",
          "[schedule]") {
  const Slice slice = MakeTorus({4, 2});
  const auto refusal = [&](const Collective& collective,
                           const std::string& lowering) {
    const WholeSchedule whole = MakeWhole(slice, Spec(lowering), collective);
    return ErrorOf([&] { Written(whole.schedule, whole.meaning, slice); });
  };
  const std::string json = "; JSON (any other suffix) can hold it";
  CHECK(refusal(OnAllChips(CollectiveKind::kGather, 800, slice), "direct") ==
        "-o x.xml: MSCCL XML has no gather, only all-reduce, all-gather, "
        "reduce-scatter, all-to-all, broadcast, reduce" +
            json);
  CHECK(refusal({.kind = CollectiveKind::kAllReduce,
                 .payload = Bytes(800),
                 .axes = {0}},
                "ring") ==
        "-o x.xml: MSCCL XML has one group of gpus, and this all-reduce has 2" +
            json);
  const auto refused = [&](const std::string& ops) {
    const TemporaryFile file(
        "refused.json",
        R"({"format": "podsim-schedule/1", "slice": "ideal:3:wrap=x",
 "collective": {"kind": "all-gather", "bytes": 3, "groups": [[0, 1]]},
 "chunks": [{"owner": 0, "bytes": 2}, {"owner": 1, "bytes": 1}],
 "ops": [)" +
            ops + "]}");
    const ScheduleFile read = ReadScheduleFile(file.path(), {});
    return ErrorOf([&] { Written(read.schedule, read.meaning, read.slice); });
  };
  const std::string transfer =
      R"({"op": "transfer", "mode": "copy", "chunks": [[0, 1]], )";
  CHECK(refused(R"({"op": "compute", "chip": 1, "seconds": 1})") ==
        "-o x.xml: MSCCL XML has no computes, and op 0 is one" + json);
  CHECK(refused(transfer + R"("src": 0, "dst": 2, "route": ["0:x-"]})") ==
        "-o x.xml: chip 2 forwards op 0 and is not in the group" + json);
  CHECK(refused(R"({"op": "transfer", "mode": "copy", "chunks": [[1, 1]],
    "src": 1, "dst": 0, "route": ["1:x-"]}, )" +
                transfer + R"("src": 0, "dst": 1, "route": ["0:x+"]})") ==
        "no error");
}

// ---- what foreign files say ---------------------------------------------

// A step of the corpus' style. `deps`: "depid deps".
std::string Step(int number, const std::string& type, const std::string& src,
                 const std::string& dst, int count = 1, int depid = -1,
                 int deps = -1, int hasdep = 1) {
  const auto place = [](const std::string& name, const std::string& at) {
    return " " + name + "buf=\"" + at.substr(0, 1) + "\" " + name + "off=\"" +
           at.substr(1) + "\"";
  };
  return "<step s=\"" + std::to_string(number) + "\" type=\"" + type + "\"" +
         place("src", src) + place("dst", dst) + " cnt=\"" +
         std::to_string(count) + "\" depid=\"" + std::to_string(depid) +
         "\" deps=\"" + std::to_string(deps) + "\" hasdep=\"" +
         std::to_string(hasdep) + "\"/>\n";
}
std::string Tb(int id, int send, int recv, const std::string& steps,
               int channel = 0) {
  return "<tb id=\"" + std::to_string(id) + "\" send=\"" +
         std::to_string(send) + "\" recv=\"" + std::to_string(recv) +
         "\" chan=\"" + std::to_string(channel) + "\">\n" + steps + "</tb>\n";
}
std::string Gpu(int id, int i, int o, int s, const std::string& body) {
  return "<gpu id=\"" + std::to_string(id) + "\" i_chunks=\"" +
         std::to_string(i) + "\" o_chunks=\"" + std::to_string(o) +
         "\" s_chunks=\"" + std::to_string(s) + "\">\n" + body + "</gpu>\n";
}
std::string Algo(const std::string& coll, int gpus, int chunks, bool in_place,
                 const std::string& body, const std::string& more = "") {
  return "<algo name=\"t\" proto=\"LL\" nchannels=\"2\" nchunksperloop=\"" +
         std::to_string(chunks) + "\" ngpus=\"" + std::to_string(gpus) +
         "\" coll=\"" + coll + "\" inplace=\"" + (in_place ? "1" : "0") + "\"" +
         more + ">\n" + body + "</algo>\n";
}

// One threadblock per gpu, which sends and receives in turn.
std::string RingAllReduce(int gpus) {
  std::string body;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    std::string steps;
    int number = 0;
    for (int round = 0; round < 2 * (gpus - 1); ++round) {
      const auto chunk = [&](int behind) {
        return "i" + std::to_string((gpu + 2 * gpus - round - behind) % gpus);
      };
      steps += Step(number++, "s", chunk(0), chunk(0));
      steps +=
          Step(number++, round < gpus - 1 ? "rrc" : "r", chunk(1), chunk(1));
    }
    body += Gpu(gpu, gpus, 0, 0,
                Tb(0, (gpu + 1) % gpus, (gpu + gpus - 1) % gpus, steps));
  }
  return Algo("allreduce", gpus, gpus, true, body);
}

TEST_CASE(
    "a ring of threadblocks that send first does not wait for itself: channels "
    "buffer",
    "[schedule]") {
  const ScheduleFile read =
      ReadText(RingAllReduce(4), On("ideal:4"), Bytes(4096));
  CHECK(JudgeSchedule(read).texts() == Texts{});
  CHECK(read.meaning.kind == "all-reduce");
  CHECK(read.meaning.chunks.size() == 4);
  CHECK(read.schedule.transfers() == 2 * 3 * 4);
  // Round k of a gpu waits for its own message of round k-1, and for the one
  // that arrived in it. The n-1 + n-1 rounds take S/n each.
  CHECK(AfterOf(read.schedule, 5) == std::vector<std::uint32_t>{0, 1});
  CHECK(Near(RunCore(read.schedule, MakeNetwork(read.slice)).makespan,
             6 * 1024 / read.slice.topology.base_bandwidth().value()));
}

TEST_CASE("steps that receive and send are two ops or more", "[schedule]") {
  // rcs: 0 -> 1 -> 2, then rrs and rrcs on the way back.
  const std::string all_gather = Algo(
      "allgather", 3, 3, true,
      Gpu(0, 0, 3, 0,
          Tb(0, 1, 1,
             Step(0, "s", "o0", "o0") + Step(1, "r", "o1", "o1") +
                 Step(2, "r", "o2", "o2"))) +
          Gpu(1, 0, 3, 0,
              Tb(0, 2, 0,
                 Step(0, "s", "o1", "o1") + Step(1, "rcs", "o0", "o0")) +
                  Tb(1, 0, 2,
                     Step(0, "s", "o1", "o1") + Step(1, "rcs", "o2", "o2"))) +
          Gpu(2, 0, 3, 0,
              Tb(0, 1, 1,
                 Step(0, "s", "o2", "o2") + Step(1, "r", "o1", "o1") +
                     Step(2, "r", "o0", "o0"))));
  const ScheduleFile gathered = ReadText(all_gather);
  CHECK(JudgeSchedule(gathered).texts() == Texts{});
  CHECK(gathered.schedule.transfers() == 6);

  // Sums go 0 -> 1 -> 2 and come back. `rrs` keeps nothing, so gpu 1 holds an
  // old value until `rcs` replaces it.
  for (const std::string type : {"rrs", "rrcs"}) {
    const std::string all_reduce = Algo(
        "allreduce", 3, 1, true,
        Gpu(0, 1, 0, 0,
            Tb(0, 1, 1, Step(0, "s", "i0", "i0") + Step(1, "r", "i0", "i0"))) +
            Gpu(1, 1, 0, 0,
                Tb(0, 2, 0, Step(0, type, "i0", "i0")) +
                    Tb(1, 0, 2, Step(0, "rcs", "i0", "i0", 1, 0, 0))) +
            Gpu(2, 1, 0, 0,
                Tb(0, 1, 1,
                   Step(0, "rrc", "i0", "i0") + Step(1, "s", "i0", "i0"))));
    const ScheduleFile read = ReadText(all_reduce);
    CAPTURE(type);
    CHECK(JudgeSchedule(read).texts() == Texts{});
    CHECK(read.schedule.transfers() == 4);
    CHECK(read.schedule.mode(OpId(1)) == Mode::kReduce);
    CHECK(read.schedule.mode(OpId(2)) == Mode::kCopy);
  }
}

TEST_CASE("what is received for a later add goes to scratch", "[schedule]") {
  std::string body;
  for (int gpu = 0; gpu < 2; ++gpu) {
    body += Gpu(gpu, 2, 0, 2,
                Tb(0, 1 - gpu, 1 - gpu,
                   Step(0, "s", "i0", "s0", 2) + Step(1, "r", "i0", "s0", 2)) +
                    Tb(1, -1, -1,
                       Step(0, "nop", "i0", "i0", 1, 0, 0) +
                           Step(1, "re", "s0", "i0", 2, 0, 1)));
  }
  const ScheduleFile read = ReadText(Algo("allreduce", 2, 2, true, body));
  CHECK(JudgeSchedule(read).texts() == Texts{});
  REQUIRE(read.schedule.size() == 4);
  CHECK(read.schedule.mode(OpId(0)) == Mode::kScratch);
  CHECK(read.schedule.kind(OpId(2)) == OpKind::kLocal);
  CHECK(read.schedule.scratch_of(OpId(2)) == OpId(1));
  // For what it adds, and for its own message, which reads the same place.
  CHECK(AfterOf(read.schedule, 2) == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("local copies take no time; what follows waits for what came before",
          "[schedule]") {
  const auto all_gather = [](const std::string& copy, int depid) {
    std::string body;
    for (int gpu = 0; gpu < 2; ++gpu) {
      const std::string own = "o" + std::to_string(gpu);
      const std::string other = "o" + std::to_string(1 - gpu);
      body += Gpu(
          gpu, 1, 2, 0,
          Replaced(copy + " ", "GPU", std::to_string(gpu)) +
              Tb(0, -1, -1, copy.size() > 3 ? "" : Step(0, "cpy", "i0", own)) +
              Tb(1, 1 - gpu, 1 - gpu,
                 Step(0, "s", own, own, 1, depid, 0) +
                     Step(1, "r", other, other)));
    }
    return Algo("allgather", 2, 2, false, body);
  };
  CHECK(ViolationsOf(Replaced(Replaced(all_gather("GPU", 0), "0 <tb", "<tb"),
                              "1 <tb", "<tb")) == Texts{});
}

TEST_CASE("a message waits where it would overwrite what is still needed",
          "[schedule]") {
  // Gpu 1 sends its old chunk to gpu 2 before that of gpu 0 replaces it: within
  // its threadblock, or by a dependence.
  const auto broadcast = [](const std::string& one) {
    return Algo(
        "allreduce", 3, 1, true,
        Gpu(0, 1, 0, 0,
            Tb(0, 1, 2,
               Step(0, "rrc", "i0", "i0") + Step(1, "s", "i0", "i0"))) +
            Gpu(1, 1, 0, 0, one) +
            Gpu(2, 1, 0, 0,
                Tb(0, 0, 1,
                   Step(0, "rrc", "i0", "i0") + Step(1, "s", "i0", "i0") +
                       Step(2, "r", "i0", "i0"))));
  };
  const ScheduleFile read = ReadText(broadcast(
      Tb(0, 2, 0, Step(0, "s", "i0", "i0") + Step(1, "rcs", "i0", "i0"))));
  CHECK(JudgeSchedule(read).texts() == Texts{});
  // The flow of the chunk orders it already: no dependence is added.
  CHECK(AfterOf(read.schedule, 2) == std::vector<std::uint32_t>{1});
}

TEST_CASE("files of old tools are read: step for s, buf and off for both ends",
          "[schedule]") {
  std::string body;
  for (int gpu = 0; gpu < 2; ++gpu) {
    const auto step = [&](int number, const char* type, int off) {
      return "<step step=\"" + std::to_string(number) + "\" type=\"" + type +
             "\" buf=\"o\" off=\"" + std::to_string(off) +
             "\" cnt=\"1\" depid=\"-1\" deps=\"-1\"/>";
    };
    body += Gpu(
        gpu, 1, 2, 0,
        "<copy i_off=\"0\" o_off=\"" + std::to_string(gpu) + "\"/>" +
            Tb(0, 1 - gpu, 1 - gpu, step(0, "s", gpu) + step(1, "r", 1 - gpu)));
  }
  CHECK(ViolationsOf(Algo("allgather", 2, 2, false, body)) == Texts{});
}

TEST_CASE("reduce_scatter, alltoall, broadcast and reduce have their buffers",
          "[schedule]") {
  std::string scatter, exchange;
  for (int gpu = 0; gpu < 2; ++gpu) {
    const std::string own = std::to_string(gpu);
    const std::string other = std::to_string(1 - gpu);
    scatter += Gpu(gpu, 2, 0, 0,
                   Tb(0, 1 - gpu, 1 - gpu,
                      Step(0, "s", "i" + other, "i" + other) +
                          Step(1, "rrc", "i" + own, "i" + own)));
    exchange += Gpu(gpu, 2, 2, 0,
                    Tb(0, 1 - gpu, 1 - gpu,
                       Step(0, "s", "i" + other, "o" + own) +
                           Step(1, "r", "i" + own, "o" + other)) +
                        Tb(1, -1, -1, Step(0, "cpy", "i" + own, "o" + own)));
  }
  CHECK(ViolationsOf(Algo("reduce_scatter", 2, 2, true, scatter)) == Texts{});
  CHECK(ViolationsOf(Algo("reducescatter", 2, 2, true, scatter)) == Texts{});
  CHECK(ViolationsOf(Algo("alltoall", 2, 2, false, exchange)) == Texts{});
  const std::string one_way =
      Gpu(0, 1, 0, 0, Tb(0, -1, 1, Step(0, "r", "i0", "i0"))) +
      Gpu(1, 1, 0, 0, Tb(0, 0, -1, Step(0, "s", "i0", "i0")));
  // The root is who never receives, or never sends.
  const std::string broadcast = Algo("broadcast", 2, 1, true, one_way);
  CHECK(ViolationsOf(broadcast) == Texts{});
  CHECK(ReadText(broadcast).meaning.root == 1U);
  const std::string reduce = Replaced(Algo("reduce", 2, 1, true, one_way),
                                      "type=\"r\"", "type=\"rrc\"");
  CHECK(ViolationsOf(reduce) == Texts{});
  CHECK(ReadText(reduce).meaning.root == 0U);
  CHECK(ReadText(Replaced(reduce, " coll", " root=\"1\" coll")).meaning.root ==
        1U);
}

// ---- what is open -------------------------------------------------------

TEST_CASE("slice and payload come from the user, the file, or a warning",
          "[schedule]") {
  const std::string ring = RingAllReduce(4);
  const ScheduleFile guessed = ReadText(ring);
  CHECK(guessed.slice.spec == "ideal:4");
  CHECK(guessed.meaning.payload == Bytes(1 << 20));
  REQUIRE(guessed.slice.warnings.size() == 2);
  CHECK(guessed.slice.warnings[0].ends_with(
      "msccl.xml names no network: taking ideal:4; give --slice to choose "
      "another"));
  CHECK(guessed.slice.warnings[1].ends_with(
      "msccl.xml names no payload: taking 1MiB; give --bytes to choose "
      "another"));
  // Within what the algorithm is for.
  CHECK(ReadText(Replaced(ring, " coll", " maxBytes=\"65536\" coll"))
            .meaning.payload == Bytes(65536));
  CHECK(ReadText(Replaced(ring, " coll", " minBytes=\"2097152\" coll"))
            .meaning.payload == Bytes(2097152));
  const std::string own =
      Replaced(ring, " coll", " slice=\"v5e:2x2\" bytes=\"4000\" coll");
  CHECK(ReadText(own).slice.warnings.empty());
  CHECK(ReadText(own).slice.spec == "v5e:2x2");
  CHECK(ReadText(own).meaning.payload == Bytes(4000));
  const ScheduleFile asked = ReadText(own, On("ideal:4:mesh"), Bytes(8));
  CHECK(asked.slice.spec == "ideal:4:mesh");
  CHECK(asked.meaning.payload == Bytes(8));
  CHECK(JudgeSchedule(asked).texts() == Texts{});
  CHECK(MessageOf(ring, On("v5e:4x4")) ==
        ":1: the algorithm is for 4 gpus, and v5e:4x4 has 16 chips");
  CHECK(MessageOf(Replaced(ring, " coll", " slice=\"v5e:5x5\" coll"))
            .starts_with(":1: slice: v5e has no slice of shape 5x5"));
  const TemporaryFile json("any.json", "{}");
  CHECK(ErrorOf([&] { ReadScheduleFile(json.path(), {}, Bytes(1)); }) ==
        "--bytes: the sizes are in the file; only MSCCL XML (.xml) leaves "
        "them open");
}

// ---- wrong dataflow -----------------------------------------------------

TEST_CASE("well-formed but wrong algorithms are violations that name lines",
          "[schedule]") {
  struct Row {
    std::string from, to;
    Texts violations;
  };
  // Lines: 1 algo, 2 gpu 0, 3 tb, 4..7 steps, 10 gpu 1, 11 tb, 12..15 steps.
  const std::string ring = RingAllReduce(2);
  REQUIRE(ViolationsOf(ring) == Texts{});
  const Row rows[] = {
      // A step becomes a nop.
      {Step(3, "r", "i1", "i1"),
       Step(3, "nop", "i1", "i1"),
       {"line 6 sends to gpu 1 on channel 0, which never receives it",
        "chunk 1 of chip (1) ends with 1 contributions, expected the sum of "
        "all 2"}},
      {Step(2, "s", "i1", "i1"),
       Step(2, "nop", "i1", "i1"),
       {"line 15 waits for a message that gpu 0 never sends on channel 0",
        "chunk 1 of chip (1) ends with 1 contributions, expected the sum of "
        "all 2"}},
      // Order.
      {Step(0, "s", "i0", "i0"),
       Step(0, "s", "i0", "i0", 1, 0, 3),
       {"line 4 waits for itself, by way of other steps of gpu 0"}},
      {Step(1, "rrc", "i1", "i1"), Step(1, "rrc", "i1", "i1", 1, 0, 0, 0), {}},
      {Step(0, "s", "i0", "i0"), Step(0, "s", "i0", "i0", 1, -1, -1, 0), {}},
      // Values.
      {Step(1, "rrc", "i1", "i1"),
       Step(1, "rrc", "i0", "i1"),
       {"line 5 adds chunk 1 to chunk 0 on gpu 0"}},
      {Step(1, "rrc", "i1", "i1"),
       Step(1, "r", "i1", "i1"),
       {"chunk 1 of chip (0) ends with 1 contributions, expected the sum of "
        "all 2"}},
      {Step(3, "r", "i0", "i0"),
       Step(3, "rrc", "i0", "i0"),
       {"op 3 (line 14) adds the contribution of chip (0) to chunk 0 of chip "
        "(0) a second time"}}};
  for (const Row& row : rows) {
    CAPTURE(row.from, row.to);
    const Texts texts = ViolationsOf(Replaced(ring, row.from, row.to));
    for (const std::string& expected : row.violations) {
      CAPTURE(texts, expected);
      CHECK(std::find(texts.begin(), texts.end(), expected) != texts.end());
    }
    CHECK(row.violations.empty() == texts.empty());
  }
}

// ---- malformed input ----------------------------------------------------

TEST_CASE("malformed MSCCL XML is refused with the line of the element",
          "[schedule]") {
  struct Row {
    std::string from, to, message;
  };
  const std::string ring = RingAllReduce(2);
  const Row rows[] = {
      // Syntax.
      {"</tb>", "</td>", ":8:3: not well-formed XML: start-end tags mismatch"},
      {"<gpu id=\"1\"", "<gpu id=\"1",
       ":10:22: not well-formed XML: error parsing start element tag"},
      {"</gpu>\n</algo>", "",
       ":17:1: not well-formed XML: start-end tags mismatch"},
      {"</algo>\n", "</algo>\n<algo/>\n",
       ":19: expected the end of the file, got <algo>"},
      // Elements.
      {ring, "<msccl_algos><load path=\"a.xml\"/></msccl_algos>",
       ":1: this is a list of algorithms; give one of the files that its "
       "<load path=\"..\"/> name"},
      {"<tb id", "<block/><tb id", ":3: expected <tb> or <copy>, got <block>"},
      {"<step s=\"0\"", "wait <step s=\"0\"",
       ":3: unexpected text in <tb>: \"\nwait \""},
      // Attributes of the algorithm.
      {" coll=\"allreduce\"", "", ":1: <algo> lacks the attribute \"coll\""},
      {"coll=\"allreduce\"", "coll=\"allreduse\"",
       ":1: coll: unknown collective \"allreduse\"; did you mean "
       "\"allreduce\"? (known: allreduce, allgather, reduce_scatter, alltoall, "
       "broadcast, reduce)"},
      {"coll=\"allreduce\"", "coll=\"custom\"",
       ":1: coll: an algorithm that is \"custom\" does not say what it must "
       "compute"},
      {"proto=\"LL\"", "proto=\"LL64\"",
       ":1: proto: expected Simple, LL or LL128, got \"LL64\""},
      {"nchunksperloop=\"2\"", "nchunksperloop=\"two\"",
       ":1: nchunksperloop: expected an integer of at least 1, got \"two\""},
      {"nchunksperloop=\"2\" ngpus=\"2\" coll=\"allreduce\"",
       "nchunksperloop=\"3\" ngpus=\"2\" coll=\"allgather\"",
       ":1: nchunksperloop: expected a multiple of the 2 gpus, got \"3\""},
      {"nchunksperloop=\"2\"", "nchunksperloop=\"2000000000\"",
       ":1: 2 gpus with 2000000000 chunks are more than fit; expected at most "
       "67108864 in all"},
      {"ngpus=\"2\"", "ngpus=\"3\"", ":1: ngpus says 3, but there are 2"},
      {"inplace=\"1\"", "inplace=\"yes\"",
       ":1: inplace: expected an integer from 0 to 1, got \"yes\""},
      // Gpus and threadblocks.
      {"<gpu id=\"1\"", "<gpu id=\"0\"",
       ":10: gpu 0 stands twice, also in line 2"},
      {"<gpu id=\"1\"", "<gpu id=\"2\"",
       ":10: id: expected an integer from 0 to 1, got \"2\""},
      {"<gpu id=\"1\"", "<gpu id=\"1\" chip=\"0\"",
       ":10: gpu 1 and gpu 0 are both on chip 0"},
      {"i_chunks=\"2\"", "i_chunks=\"3\"",
       ":2: i_chunks: expected 2 or 0 in an all-reduce of 2 chunks, got \"3\""},
      {"<tb id=\"0\"", "<tb id=\"1\"",
       ":3: id: expected 0, the next threadblock of gpu 0, got \"1\""},
      {"send=\"1\"", "send=\"0\"", ":3: send: gpu 0 is its own peer"},
      {"send=\"1\"", "send=\"2\"",
       ":3: send: expected an integer from -1 to 1, got \"2\""},
      {"chan=\"0\"", "chan=\"2\"",
       ":3: chan: expected less than the 2 of nchannels, got \"2\""},
      {"</tb>\n", "</tb>\n" + Tb(1, -1, 1, ""),
       ":9: gpu 0 already receives from gpu 1 on channel 0 in line 3"},
      // Steps.
      {"s=\"1\"", "s=\"2\"",
       ":5: s: expected 1, the next step of its threadblock, got \"2\""},
      {"type=\"rrc\"", "type=\"rcr\"",
       ":5: type: unknown step \"rcr\" (known: s, r, rcs, rrs, rrc, rrcs, cpy, "
       "re, nop)"},
      {"type=\"rrc\"", "type=\"ra\"",
       ":5: type: \"ra\" (res_add) adds what is no part of the collective"},
      {"send=\"1\"", "send=\"-1\"",
       ":4: type: \"s\" sends, but its threadblock has send=\"-1\""},
      {"recv=\"1\"", "recv=\"-1\"",
       ":5: type: \"rrc\" receives, but its threadblock has recv=\"-1\""},
      {"srcbuf=\"i\"", "srcbuf=\"t\"",
       ":4: srcbuf: expected i, o or s, got \"t\""},
      {"srcoff=\"0\"", "srcoff=\"2\"",
       ":4: srcoff: chunks 2 to 2 are not all in buffer i, which has 2"},
      {Step(1, "rrc", "i1", "i1"), Step(1, "rrc", "i1", "o1"),
       ":5: dstoff: chunks 1 to 1 are not all in buffer o, which has 0"},
      {"cnt=\"1\"", "cnt=\"0\"",
       ":4: cnt: expected an integer of at least 1, got \"0\""},
      {"cnt=\"1\"", "cnt=\"99999999999999999999\"",
       ":4: cnt: expected an integer of at least 1, got "
       "\"99999999999999999999\""},
      {Step(0, "s", "i0", "i0"), Step(0, "s", "i0", "i0", 1, 1, 0),
       ":4: depid: the gpu has no threadblock 1"},
      {Step(0, "s", "i0", "i0"), Step(0, "s", "i0", "i0", 1, 0, 4),
       ":4: deps: threadblock 0 has no step 4"},
      // Ours.
      {"type=\"rrc\"", "joined=\"1\" type=\"rrc\"",
       ":5: joined: the step before is no \"rrc\""},
      {" coll", " bytes=\"3\" coll", "no error"},
      {"<gpu", "<chunks count=\"2\" bytes=\"1\"/><gpu",
       ":1: bytes: expected the sum of the <chunks>, of which there must be "
       "2"}};
  for (const Row& row : rows) {
    CAPTURE(row.from, row.to);
    CHECK(MessageOf(Replaced(ring, row.from, row.to)) == row.message);
  }
  CHECK(MessageOf("") == ": empty file");
  CHECK(MessageOf("<schedule/>") == ":1: expected <algo>, got <schedule>");
  CHECK(MessageOf(R"({"format": "podsim-schedule/1"})") ==
        ":1:32: not well-formed XML: no document element found");
}

TEST_CASE("what a schedule cannot hold is refused with its line",
          "[schedule]") {
  // The root of an out-of-place all-reduce sends what it has replaced.
  const std::string stale = Algo(
      "allreduce", 2, 1, false,
      Gpu(0, 1, 1, 0,
          Tb(0, 1, 1, Step(0, "rrc", "i0", "o0") + Step(1, "s", "i0", "i0"))) +
          Gpu(1, 1, 1, 0,
              Tb(0, 0, 0,
                 Step(0, "s", "i0", "i0") + Step(1, "rrc", "i0", "o0"))));
  CHECK(MessageOf(stale) ==
        ":5: i[0] of gpu 0 holds an old value of chunk 0, and another place a "
        "newer one; a schedule holds one value of a chunk per chip");
}

// ---- real files ---------------------------------------------------------

std::string Joined(const std::set<std::string>& texts) {
  return Join(std::vector<std::string>(texts.begin(), texts.end()), ",");
}
std::string JoinedElements(const JsonValue& list) {
  std::set<std::string> texts;
  for (const JsonValue& entry : list.Elements()) {
    texts.insert(entry.AsString());
  }
  return Joined(texts);
}

TEST_CASE("real algorithms are read as independent readers read them",
          "[schedule][corpus]") {
  const char* const corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("skipped: PODSIM_CORPUS does not name a folder of real files");
    return;
  }
  const std::string folder = std::string(corpus) + "/msccl/";
  const JsonValue index = JsonValue::ReadFile(folder + "expected.json");
  for (const std::string& name : index.Keys()) {
    CAPTURE(name);
    const JsonValue expected = index.Get(name);
    const auto number = [&](const char* key) {
      return expected.Get(key).AsInteger(0, INT64_MAX);
    };
    const JsonValue attributes = expected.Get("attrs");
    const MscclAlgorithm algorithm = ReadMscclXml(folder + name);
    CHECK(algorithm.name == attributes.Get("name").AsString());
    CHECK(algorithm.protocol == attributes.Get("proto").AsString());
    CHECK(std::to_string(algorithm.channels) ==
          attributes.Get("nchannels").AsString());
    CHECK(std::to_string(algorithm.chunks_per_loop) ==
          attributes.Get("nchunksperloop").AsString());
    CHECK(algorithm.in_place == (attributes.Get("inplace").AsString() == "1"));
    CHECK(std::to_string(algorithm.min_bytes.value_or(0)) ==
          (attributes.Find("minBytes") ? attributes.Get("minBytes").AsString()
                                       : "0"));
    CHECK(std::ssize(algorithm.gpus) == number("gpus"));
    std::int64_t threadblocks = 0, steps = 0, copies = 0, waiting = 0;
    std::int64_t sent = 0, received = 0;
    std::map<std::string, std::int64_t> by_type;
    std::set<std::pair<std::size_t, int>> pairs;
    std::set<int> channels;
    std::set<std::string> buffers, i_chunks, o_chunks, s_chunks;
    for (std::size_t id = 0; id < algorithm.gpus.size(); ++id) {
      const MscclGpu& gpu = algorithm.gpus[id];
      i_chunks.insert(std::to_string(gpu.i_chunks));
      o_chunks.insert(std::to_string(gpu.o_chunks));
      s_chunks.insert(std::to_string(gpu.s_chunks));
      copies += std::ssize(gpu.copies);
      for (const MscclThreadblock& block : gpu.threadblocks) {
        ++threadblocks;
        channels.insert(block.channel);
        for (const MscclStep& step : block.steps) {
          ++steps;
          ++by_type[step.type->name];
          if (step.type->sends) {
            sent += step.count;
            pairs.emplace(id, block.send);
          }
          if (step.type->receives) received += step.count;
          if (step.dep_threadblock >= 0) ++waiting;
          buffers.insert(std::string(1, step.source.buffer));
          buffers.insert(std::string(1, step.destination.buffer));
        }
      }
    }
    CHECK(threadblocks == number("tbs"));
    CHECK(steps == number("steps"));
    CHECK(copies == number("copy_elems"));
    CHECK(sent == number("send_chunks"));
    CHECK(received == number("recv_chunks"));
    CHECK(waiting == number("dep_steps"));
    CHECK(std::ssize(pairs) == number("distinct_send_pairs"));
    CHECK(std::ssize(channels) == number("channels"));
    CHECK(Joined(buffers) == JoinedElements(expected.Get("bufs")));
    CHECK(Joined(i_chunks) == JoinedElements(expected.Get("i_chunks")));
    CHECK(Joined(o_chunks) == JoinedElements(expected.Get("o_chunks")));
    CHECK(Joined(s_chunks) == JoinedElements(expected.Get("s_chunks")));
    for (const std::string& type : expected.Get("by_type").Keys()) {
      CAPTURE(type);
      CHECK(by_type[type] ==
            expected.Get("by_type").Get(type).AsInteger(0, INT64_MAX));
    }
    CHECK(by_type.size() == expected.Get("by_type").Keys().size());

    // Every send is one transfer, every `re` one local, and all is proved.
    const ScheduleFile file = ReadScheduleFile(folder + name, {});
    CHECK(JudgeSchedule(file).texts() == Texts{});
    CHECK(file.schedule.transfers() == sent);
    CHECK(file.schedule.size() - file.schedule.transfers() == by_type["re"]);
    CHECK(RunCore(file.schedule, MakeNetwork(file.slice)).makespan > 0);

    // It survives our writer.
    const TemporaryFile again("corpus.xml",
                              Written(file.schedule, file.meaning, file.slice));
    const ScheduleFile second = ReadScheduleFile(again.path(), {});
    CHECK(JudgeSchedule(second).texts() == Texts{});
    RequireSame(file.schedule, file.meaning, second.schedule, second.meaning,
                file.slice.topology);
  }
}

}  // namespace
}  // namespace podsim
