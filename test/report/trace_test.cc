// Traces, read back by a small reader that knows what a viewer needs.
#include "report/trace.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json_reader.h"
#include "sim/simulate.h"
#include "test/support/lowered.h"
#include "test/support/temporary_file.h"
#include "workload/workload.h"

namespace podsim {
namespace {

using nlohmann::json;

// Microseconds are written with six decimals.
constexpr double kDigit = 1e-6;

struct Span {
  double begin;
  double end;
  std::string name;
  std::int64_t bytes;  // of a transfer
};
using Thread = std::pair<int, int>;  // process, thread

struct ReadTrace {
  std::map<int, std::string> processes;
  std::map<Thread, std::string> threads;
  std::map<Thread, std::vector<Span>> spans;
  std::size_t arrows = 0;
  std::map<std::pair<int, std::string>, double> last_count;
};

bool Inside(const std::vector<Span>& spans, double time) {
  return std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
    return time >= span.begin - kDigit / 2 && time <= span.end + kDigit / 2;
  });
}

// Reads a trace and checks all that makes viewers complain: unknown phases,
// missing keys, threads without a name, slices that overlap, arrows with one
// end or none in a slice, counters below 0 or going back in time.
ReadTrace Read(const std::string& text) {
  const json trace = json::parse(text);
  CHECK(trace["displayTimeUnit"] == "ns");
  ReadTrace read;
  std::map<std::int64_t, json> starts, finishes;
  std::map<std::pair<int, std::string>, double> last_date;
  for (const json& event : trace["traceEvents"]) {
    const auto phase = event["ph"].get<std::string>();
    const auto name = event["name"].get<std::string>();
    const Thread thread{event["pid"].get<int>(), event["tid"].get<int>()};
    if (phase == "M") {
      if (name == "process_name") {
        REQUIRE(
            read.processes.emplace(thread.first, event["args"]["name"]).second);
      } else if (name == "thread_name") {
        REQUIRE(read.threads.emplace(thread, event["args"]["name"]).second);
      } else {
        REQUIRE(event["args"]["sort_index"].is_number_integer());
      }
      continue;
    }
    const double at = event["ts"].get<double>();
    REQUIRE(at >= 0);
    if (phase == "X") {
      REQUIRE(event["dur"].get<double>() >= 0);
      REQUIRE(event["args"].is_object());
      read.spans[thread].push_back({at, at + event["dur"].get<double>(), name,
                                    event["args"].value("bytes", 0)});
    } else if (phase == "s") {
      REQUIRE(starts.emplace(event["id"].get<std::int64_t>(), event).second);
    } else if (phase == "f") {
      REQUIRE(event["bp"] == "e");
      REQUIRE(finishes.emplace(event["id"].get<std::int64_t>(), event).second);
    } else {
      REQUIRE(phase == "C");
      const std::pair key(thread.first, name);
      REQUIRE((last_date.count(key) == 0 || at > last_date[key]));
      last_date[key] = at;
      read.last_count[key] = event["args"]["transfers"].get<double>();
      REQUIRE(read.last_count[key] >= 0);
    }
  }
  for (auto& [thread, spans] : read.spans) {
    REQUIRE(read.threads.count(thread) == 1);
    REQUIRE(read.processes.count(thread.first) == 1);
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
    });
    for (std::size_t k = 1; k < spans.size(); ++k) {
      CAPTURE(read.threads[thread], spans[k - 1].name, spans[k].name);
      REQUIRE(spans[k].begin >= spans[k - 1].end - kDigit / 2);
    }
  }
  REQUIRE(starts.size() == finishes.size());
  for (const auto& [id, start] : starts) {
    for (const json& end : {start, finishes.at(id)}) {
      REQUIRE(Inside(read.spans[{end["pid"], end["tid"]}], end["ts"]));
    }
    CHECK(start["pid"] == finishes.at(id)["pid"]);
    CHECK(start["tid"] != finishes.at(id)["tid"]);
  }
  for (const auto& [counter, count] : read.last_count) CHECK(count == 0);
  read.arrows = starts.size();
  return read;
}

struct Traced {
  Point point;
  RunRecord record;
};

Traced Run(const Slice& slice, const std::string& lowering,
           const Collective& collective, FoldMode fold = FoldMode::kAuto) {
  Traced traced;
  SimOptions options;
  options.fold = fold;
  options.links = true;
  PhaseTimes times;
  traced.point = SimulateCollective(collective, slice, Spec(lowering), "",
                                    options, times, &traced.record);
  return traced;
}

double LastEnd(const ReadTrace& trace) {
  double last = 0;
  for (const auto& [thread, spans] : trace.spans) {
    for (const Span& span : spans) last = std::max(last, span.end);
  }
  return last;
}

// Bytes on the threads of one chip and link direction, "ICI x+" and "ICI x+
// (2)".
std::int64_t BytesOn(const ReadTrace& trace, int process,
                     const std::string& name) {
  std::int64_t bytes = 0;
  for (const auto& [thread, spans] : trace.spans) {
    if (thread.first != process) continue;
    const std::string& found = trace.threads.at(thread);
    if (found != name && !found.starts_with(name + " (")) continue;
    for (const Span& span : spans) bytes += span.bytes;
  }
  return bytes;
}

constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-7};

TEST_CASE("a folded ring is traced on every chip", "[report]") {
  // n = 4, S = 4 MB one way round: every + link carries 3 shards of 1 MB.
  const Slice slice = MakeTorus({4}, kRates);
  const Traced run = Run(
      slice, "ring", OnAllChips(CollectiveKind::kAllGather, 4'000'000, slice));
  REQUIRE(run.record.fold.has_value());
  const ReadTrace trace = Read(TraceJson(run.record, slice, {}, ""));
  REQUIRE(trace.processes.size() == 4);
  CHECK(trace.processes.at(4) == "TPU 3 (3)");
  CHECK(trace.arrows == 12);
  for (int process = 1; process <= 4; ++process) {
    CHECK(BytesOn(trace, process, "ICI x+") == 3'000'000);
    CHECK(BytesOn(trace, process, "ICI x-") == 0);
    const auto& ops = trace.spans.at({process, 1});
    REQUIRE(ops.size() == 1);
    CHECK(ops[0].name == "all-gather");
    CHECK(ops[0].end == Approx(3 * (1.5 + 1000)).epsilon(1e-9));
  }
  CHECK(LastEnd(trace) == Approx(*run.point.time_s * 1e6).epsilon(1e-9));
}

TEST_CASE("folded and unfolded runs have the same trace", "[report]") {
  const Slice slice = MakeTorus({4, 4}, kRates);
  const Collective collective =
      OnAllChips(CollectiveKind::kAllReduce, 1 << 20, slice);
  const auto text = [&](FoldMode fold) {
    const ReadTrace trace = Read(TraceJson(
        Run(slice, "bucket-rotated", collective, fold).record, slice, {}, ""));
    std::string all;
    for (const auto& [thread, spans] : trace.spans) {
      all += std::to_string(thread.first) + trace.threads.at(thread);
      for (const Span& span : spans) {
        all += " " + std::to_string(std::llround(span.begin * 1e3)) + "-" +
               std::to_string(std::llround(span.end * 1e3));
      }
      all += "\n";
    }
    return all;
  };
  CHECK(text(FoldMode::kAuto) == text(FoldMode::kOff));
}

TEST_CASE("traces of any lowering are sound and carry all bytes", "[report]") {
  for (const auto& wrap : AllWraps({4, 3})) {
    const Slice slice = MakeGridOf({4, 3}, wrap, kRates);
    for (const char* lowering :
         {"bucket", "bucket-rotated:batches=3", "bfs-tree", "binomial",
          "double-binary-tree:chunks=3"}) {
      CAPTURE(slice.spec, lowering);
      const Traced run =
          Run(slice, lowering,
              OnAllChips(CollectiveKind::kAllReduce, 10'007, slice));
      const ReadTrace trace = Read(TraceJson(run.record, slice, {}, ""));
      std::int64_t bytes = 0;
      for (const auto& [thread, spans] : trace.spans) {
        for (const Span& span : spans) bytes += span.bytes;
      }
      CHECK(bytes == *run.point.byte_hops);
      CHECK(trace.arrows == *run.point.transfers);
      std::int64_t measured = 0;
      for (const LinkUse& use : *run.point.links) {
        measured += use.bytes * use.links;
        CHECK(use.utilisation <= 1 + 1e-9);
        CHECK(use.busy_s <= *run.point.time_s * (1 + 1e-9));
        CHECK(use.busy_s >= use.utilisation * *run.point.time_s * (1 - 1e-9));
      }
      CHECK(measured == *run.point.byte_hops);
    }
  }
}

TEST_CASE("hundreds of transfers on one link still do not overlap on a thread",
          "[report]") {
  // An all-to-all of 256 chips posts 73,216 messages of 8 hops on average at
  // once, over 1,024 links: hundreds on each.
  const Slice slice = MakeTorus({16, 16}, kRates);
  const Traced run = Run(slice, "direct",
                         OnAllChips(CollectiveKind::kAllToAll, 1 << 20, slice));
  const ReadTrace trace = Read(TraceJson(run.record, slice, {ChipId(7)}, ""));
  std::size_t threads = 0;
  for (const auto& [thread, name] : trace.threads) {
    threads += name.starts_with("ICI x+") ? 1 : 0;
  }
  CHECK(threads > 100);
}

TEST_CASE("links of a slice without axes are named after their ends",
          "[report]") {
  const TemporaryFile file("links.json", R"({"format": "podsim-topology/1",
      "generation": "ideal", "chips": 3, "links": [[0, 1], [1, 2]]})");
  SliceRequest request;
  request.spec = file.path();
  const Slice slice = MakeSlice(request);
  const Traced run = Run(slice, "bfs-tree:chunks=2",
                         OnAllChips(CollectiveKind::kBroadcast, 1000, slice));
  const ReadTrace trace = Read(TraceJson(run.record, slice, {}, ""));
  CHECK(trace.processes.at(1) == "TPU 0");
  CHECK(BytesOn(trace, 1, "ICI to 1") == 1000);
  CHECK(BytesOn(trace, 2, "ICI to 2") == 1000);
}

TEST_CASE("a step shows computes, waits, and async ops beside them",
          "[report]") {
  // As in the tests of steps: the gather takes 33 us, the core 10 of them.
  const Workload workload =
      ReadWorkload(JsonValue::ParseText(R"({"format": "podsim-workload/1",
          "slice": "ideal:4x4", "parameters": {"ici.hop_latency": "1us"},
          "ops": [{"id": "g", "collective": "all-gather", "bytes": "4MB",
                   "axes": ["x"], "lowering": "ring", "async": true},
                  {"id": "c", "compute": {"duration": "10us"}},
                  {"id": "s", "collective": "all-reduce", "bytes": "4kB",
                   "after": ["g"]}]})",
                                        "w.json"),
                   {});
  PhaseTimes times;
  RunRecord record;
  const StepResult step = SimulateStep(workload, {}, times, &record);
  const ReadTrace trace =
      Read(TraceJson(record, workload.slice, {ChipId(0), ChipId(5)}, ""));
  REQUIRE(trace.processes.size() == 2);
  CHECK(trace.processes.at(6) == "TPU 5 (1,1)");
  for (const int process : {1, 6}) {
    const auto& core = trace.spans.at({process, 1});
    REQUIRE(core.size() == 3);
    CHECK(core[0].name == "c");
    CHECK(core[1].name == "g wait");
    CHECK(core[1].begin == Approx(10));
    CHECK(core[1].end == Approx(33));
    CHECK(core[2].name == "s");
    const auto& async = trace.spans.at({process, 2});
    REQUIRE(async.size() == 1);
    CHECK(async[0].name == "g");
    CHECK(async[0].end == Approx(33));
    CHECK(trace.threads.at({process, 2}) == "Async XLA Ops");
  }
  CHECK(LastEnd(trace) == Approx(*step.makespan_s * 1e6).epsilon(1e-9));
}

TEST_CASE("a trace of more than a million events is refused, with the remedy",
          "[report]") {
  const Slice slice = MakeTorus({16, 16}, kRates);
  const Traced run =
      Run(slice, "bucket-rotated:batches=64",
          OnAllChips(CollectiveKind::kAllReduce, 1 << 24, slice));
  std::string message;
  try {
    TraceJson(run.record, slice, {}, "--trace");
  } catch (const InputError& error) {
    message = error.what();
  }
  CHECK(message.starts_with("--trace: the trace would have about "));
  CHECK(message.ends_with("name fewer chips with --trace-chips 0,1,2"));
  const ReadTrace one = Read(TraceJson(run.record, slice, {ChipId(7)}, ""));
  CHECK(one.processes.size() == 1);
}

TEST_CASE("a link is busy while anything flows on it", "[report]") {
  // On a line 0-1-2 messages of 1 MB at 1 GB/s, no latencies: 1 ms on every
  // link, whether two neighbours send or one sends over both.
  const Slice slice = MakeMesh({3});
  Collective collective{.kind = CollectiveKind::kCollectivePermute,
                        .payload = Bytes(1'000'000),
                        .axes = {}};
  collective.pairs = {{ChipId(0), ChipId(1)}, {ChipId(1), ChipId(2)}};
  Traced run = Run(slice, "direct", collective);
  REQUIRE(run.point.links->size() == 2);
  CHECK((*run.point.links)[0].busy_s == Approx(1e-3));
  collective.pairs = {{ChipId(0), ChipId(2)}};
  run = Run(slice, "direct", collective);
  REQUIRE(run.point.links->size() == 2);
  for (const LinkUse& use : *run.point.links) {
    CHECK(use.busy_s == Approx(1e-3));
    CHECK(use.utilisation == Approx(1));
  }
}

}  // namespace
}  // namespace podsim
