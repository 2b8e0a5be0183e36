// What a sweep file expands to: which points, in which order, and their names.
#include "sim/sweep.h"

#include <catch2/catch.hpp>

namespace podsim {
namespace {

using Requests = std::vector<std::string>;

Requests RequestsOf(const std::string& keys) {
  Requests requests;
  for (const SweepPoint& point : ReadSweep(JsonValue::ParseText(
           R"({"format": "podsim-sweep/1", )" + keys + "}", "s.json"))) {
    requests.push_back(RequestOf(point));
  }
  return requests;
}

TEST_CASE("lists vary in the order of the format, the last one fastest",
          "[sim]") {
  // The file's own order of keys does not matter.
  CHECK(RequestsOf(R"("bytes": ["1KiB", "2KiB..4KiB"], "slice": "ideal:4",
                      "collective": ["all-gather", "all-reduce"])") ==
        Requests{"all-gather slice=ideal:4 bytes=1024 lowering=auto",
                 "all-gather slice=ideal:4 bytes=2048 lowering=auto",
                 "all-gather slice=ideal:4 bytes=4096 lowering=auto",
                 "all-reduce slice=ideal:4 bytes=1024 lowering=auto",
                 "all-reduce slice=ideal:4 bytes=2048 lowering=auto",
                 "all-reduce slice=ideal:4 bytes=4096 lowering=auto"});
}

TEST_CASE("each-cable and each-chip are a point per fault of the slice",
          "[sim]") {
  const std::string head =
      R"("collective": "all-gather", "slice": "ideal:3x2:wrap=x", "bytes": "1B",
         "fault": )";
  const std::string request =
      "all-gather slice=ideal:3x2:wrap=x bytes=1 lowering=auto fault=";
  // Three cables around each of two rings, and three between them.
  CHECK(RequestsOf(head + R"("each-cable")").size() == 9);
  CHECK(RequestsOf(head + R"("each-chip@5us")")
            .at(1)
            .ends_with(" fault=chip:1,0@5us"));
  CHECK(RequestsOf(head + R"([["each-chip", "link:0,0:x+"], null])") ==
        Requests{request + "chip:0,0 fault=link:0,0:x+",
                 request + "chip:1,0 fault=link:0,0:x+",
                 request + "chip:2,0 fault=link:0,0:x+",
                 request + "chip:0,1 fault=link:0,0:x+",
                 request + "chip:1,1 fault=link:0,0:x+",
                 request + "chip:2,1 fault=link:0,0:x+",
                 "all-gather slice=ideal:3x2:wrap=x bytes=1 lowering=auto"});
}

TEST_CASE("every list takes its place in the product", "[sim]") {
  // Seven lists of two values: bit b of a point's number says which value the
  // b-th list from the end has.
  const auto points = ReadSweep(JsonValue::ParseText(
      R"({"format": "podsim-sweep/1", "name": "all", "source": "us",
          "fault": [null, ["chip:0", "chip:1"]], "fold": ["auto", "off"],
          "set": {"ici.hop_latency": ["1us", "2us"],
                  "collective.launch": "1ms"},
          "lowering": ["ring", "auto"], "axes": ["x", ""],
          "bytes": "1B,2B", "slice": ["a", "b"], "network": "fluid",
          "collective": "broadcast"})",
      "s.json"));
  REQUIRE(points.size() == 128);
  for (std::size_t k = 0; k < points.size(); ++k) {
    const auto bit = [&](int place) { return (k >> place & 1) != 0; };
    CHECK(points[k].collective == CollectiveKind::kBroadcast);
    CHECK(points[k].slice == (bit(6) ? "b" : "a"));
    CHECK(points[k].payload == Bytes(bit(5) ? 2 : 1));
    CHECK(points[k].axes == (bit(4) ? "" : "x"));
    CHECK(points[k].lowerings == Requests{bit(3) ? "auto" : "ring"});
    CHECK(points[k].fold == (bit(2) ? FoldMode::kOff : FoldMode::kAuto));
    CHECK(points[k].faults ==
          (bit(1) ? Requests{"chip:0", "chip:1"} : Requests{}));
    REQUIRE(points[k].sets.size() == 2);
    CHECK(points[k].sets[0].second == (bit(0) ? "2us" : "1us"));
    CHECK(points[k].sets[1].second == "1ms");
  }
}

TEST_CASE("the request says everything that is not the default", "[sim]") {
  CHECK(RequestsOf(R"("collective": "all-reduce", "slice": "v5p:4x4x4",
                      "bytes": "64KiB", "axes": "x,y", "fold": "off",
                      "fault": [["chip:0,0,0", "link:1,0,0:x+"]],
                      "set": {"ici.hop_latency": "500ns",
                              "collective.launch": "1us"})") ==
        Requests{"all-reduce slice=v5p:4x4x4 bytes=65536 axes=x,y "
                 "lowering=auto fold=off fault=chip:0,0,0 "
                 "fault=link:1,0,0:x+ ici.hop_latency=500ns "
                 "collective.launch=1us"});
  CHECK(RequestsOf(R"("collective": "all-reduce", "slice": "v5p:4x4x4",
                      "bytes": "64KiB", "axes": null, "fold": "auto",
                      "network": "fluid", "fault": ["", null],
                      "set": {})") ==
        Requests(2, "all-reduce slice=v5p:4x4x4 bytes=65536 lowering=auto"));
}

TEST_CASE("zipped lists vary together, at the place of the first of them",
          "[sim]") {
  // fold comes after slice, so the pairs vary slower than the payloads.
  CHECK(RequestsOf(R"("collective": "all-reduce", "slice": ["a", "b"],
                      "bytes": ["1B", "2B"], "fold": ["off", "on"],
                      "zip": [["fold", "slice"]])") ==
        Requests{"all-reduce slice=a bytes=1 lowering=auto fold=off",
                 "all-reduce slice=a bytes=2 lowering=auto fold=off",
                 "all-reduce slice=b bytes=1 lowering=auto fold=on",
                 "all-reduce slice=b bytes=2 lowering=auto fold=on"});
  // A range counts with all its payloads; parameters by either name.
  CHECK(RequestsOf(R"("collective": "all-reduce", "slice": "a",
                      "bytes": "1B..4B",
                      "set": {"ici.hop_latency": ["1us", "2us", "3us"],
                              "ici.bandwidth": ["1GB/s", "2GB/s", "3GB/s"]},
                      "zip": [["bytes", "set.ici.hop_latency",
                               "ici.bandwidth"]])") ==
        Requests{"all-reduce slice=a bytes=1 lowering=auto ici.hop_latency=1us "
                 "ici.bandwidth=1GB/s",
                 "all-reduce slice=a bytes=2 lowering=auto ici.hop_latency=2us "
                 "ici.bandwidth=2GB/s",
                 "all-reduce slice=a bytes=4 lowering=auto ici.hop_latency=3us "
                 "ici.bandwidth=3GB/s"});
}

TEST_CASE("a workload keeps its lowerings, or gets one per kind", "[sim]") {
  const std::string path =
      std::string(PODSIM_SOURCE_DIR) + "/workloads/fsdp_two_layers.json";
  CHECK(RequestsOf(R"("workload": ")" + path + R"(", "slice": "a",
                      "lowering": [null, "all-gather=ring",
                                   ["all-gather=ring", "all-reduce=auto"]])") ==
        Requests{"workload=" + path + " slice=a",
                 "workload=" + path + " slice=a lowering=all-gather=ring",
                 "workload=" + path +
                     " slice=a lowering=all-gather=ring "
                     "lowering=all-reduce=auto"});
  CHECK(RequestsOf(R"("workload": ")" + path + "\"") ==
        Requests{"workload=" + path});
}

TEST_CASE("rows come in the order of the points, failed ones with an error",
          "[sim]") {
  const auto points = ReadSweep(JsonValue::ParseText(
      R"({"format": "podsim-sweep/1", "collective": "all-gather",
          "slice": ["ideal:4", "ideal:0", "2*ideal:4"], "bytes": "4kB"})",
      "s.json"));
  std::size_t calls = 0;
  const auto rows = RunSweep(
      points, {}, 2,
      [](const SweepPoint& point, const SweepResult& result) {
        return point.slice + (result.error ? " failed" : " fine");
      },
      nullptr,
      [&](std::size_t done, std::size_t failed, std::size_t of) {
        CHECK(done == calls++);
        CHECK(failed <= done);
        CHECK(of == 3);
      });
  REQUIRE(rows.size() == 3);
  CHECK(calls == 4);
  CHECK(rows[0].text == "ideal:4 fine");
  CHECK_FALSE(rows[0].error);
  CHECK(rows[1].text == "ideal:0 failed");
  CHECK(rows[1].error ==
        "slice: expected an axis of at least 1 chip, got 0 in 0");
  CHECK(
      rows[2].error ==
      "slice: this all-gather spans 2 slices, and the generation does not say "
      "how fast DCN is; set dcn.bandwidth (per chip, for example 25Gbit/s), "
      "or give axes, for groups inside every slice");
}

}  // namespace
}  // namespace podsim
