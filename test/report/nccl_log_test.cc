// Logs of nccl-tests as a baseline: rows and what is glued onto them, what the
// columns say of collective and ranks, and what is refused. Bandwidths of the
// rows below are S / time and busbw factors of n = 8, printed like nccl-tests.
#include "report/nccl_log.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/text.h"
#include "base/text_file.h"
#include "report/check.h"
#include "report/nccl_baseline.h"
#include "test/support/error_of.h"

namespace podsim {
namespace {

const std::string kName = "# Collective test starting: all_reduce_perf\n";
const std::string kProcess = "# nThread 1 nGpus 8 minBytes 8 maxBytes 1024\n";
const std::string kColumns =
    "#       size         count      type   redop    root     time   algbw   "
    "busbw #wrong     time   algbw   busbw #wrong\n";
const std::string kUnits =
    "#        (B)    (elements)                               (us)  (GB/s)  "
    "(GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string kHead = kName + kProcess + kColumns + kUnits;  // lines 1..4
// 2^20 B / 52.43 us = 20.00 GB/s, x 2(8-1)/8 = 35.00; / 26.21 us = 40.01,
// 70.01.
const std::string kRow =
    "     1048576        262144     float     sum      -1    52.43   20.00   "
    "35.00      0    26.21   40.01   70.01      0\n";
// 2^20 B of 8 ranks: 32768 floats of each; x (8-1)/8 = 17.50, 35.01.
const std::string kShareRow =
    "     1048576         32768     float    none      -1    52.43   20.00   "
    "17.50      0    26.21   40.01   35.01      0\n";

ResultsFile Baseline(const std::string& text, const LogReading& reading = {}) {
  return ParseBaseline(text, "log", reading);
}

LogReading As(const std::string& collective, int ranks = 0) {
  LogReading reading;
  reading.collective = collective;
  reading.ranks = ranks;
  return reading;
}

std::string Replaced(std::string text, const std::string& old,
                     const std::string& now) {
  const auto at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), now);
}

TEST_CASE("a log is points of collective, group size and payload", "[report]") {
  const ResultsFile file = Baseline(kHead + kRow);
  CHECK(file.measured);
  CHECK(file.notes.empty());
  REQUIRE(file.points.size() == 1);
  const ResultPoint& point = file.points[0];
  CHECK(point.where == "log:5");
  CHECK(point.identity == "all-reduce group_size=8 bytes=1048576");
  CHECK(*point.time_s == Approx(52.43e-6));

  LogReading in_place;
  in_place.in_place = true;
  CHECK(*Baseline(kHead + kRow, in_place).points[0].time_s == Approx(26.21e-6));
}

TEST_CASE("ranks are those of counts, devices, NCCL INFO or one process",
          "[report]") {
  const std::string devices =
      "# Using devices\n#  Rank  0 Group  0 Pid 1 on a device  0\n"
      "#  Rank  7 Group  0 Pid 1 on b device  7\n";
  const std::string info =
      "b:1:1 [0] NCCL INFO comm 0x1 rank 7 nranks 8 cudaDev 7\n";
  for (const std::string& text : std::vector<std::string>{
           kName + devices + kColumns + kUnits + kRow,
           kName + "# nThread 1 nGpus 1\n" + info + kColumns + kRow,
           kName + "# nThreads: 2 nGpus: 2 nRanks: 2 step: 2\n" + kColumns +
               kRow,
           // Older tests have no redop and root for most collectives.
           "all_gather_perf -b 8\n#  size  count  type  time  algbw  busbw  "
           "error\n1048576 32768 float 52.43 20.00 17.50 2e-07\n"}) {
    CAPTURE(text);
    CHECK(Baseline(text).points[0].group_size == 8);
  }
  const ResultsFile named = Baseline(kColumns + kShareRow, As("all-to-all"));
  CHECK(named.points[0].identity == "all-to-all group_size=8 bytes=1048576");
}

TEST_CASE("text of other ranks in a row costs what it overwrote", "[report]") {
  const std::string info = "0mi200:1:1 [0] NCCL INFO Channel nRanks 8";
  // Behind the out-of-place count of wrong values, which is 0.
  const std::string half = kRow.substr(0, kRow.find("      0    26.21"));
  const ResultsFile out = Baseline(kHead + half + "      " + info + "\n");
  CHECK(*out.points[0].time_s == Approx(52.43e-6));
  CHECK(out.notes.empty());
  LogReading in_place;
  in_place.in_place = true;
  const ResultsFile in =
      Baseline(kHead + half + " " + info + "\n" + kRow, in_place);
  REQUIRE(in.points.size() == 1);
  CHECK(in.notes == std::vector<std::string>{
                        "log:5: no in-place time of 1048576 bytes: "
                        "\"mi200:1:1 [0] NCCL INFO Channel nRanks 8\" stands "
                        "in the row"});

  // The rest of the row on a line of its own, after more such text.
  const ResultsFile rest =
      Baseline(kHead + half + " " + info + "\nmi200:1:1 NCCL INFO more\n" +
                   "    26.21   40.01   70.01      0\n",
               in_place);
  CHECK(*rest.points[0].time_s == Approx(26.21e-6));
  CHECK(rest.notes.empty());

  // Behind the whole row, and lines that launchers have tagged.
  CHECK(
      Baseline(kHead + Replaced(kRow, "\n", "mi200:1:1 [0]\n")).notes.empty());
  CHECK(Baseline(kHead + "[1,0]<stdout>: " + kRow).points.size() == 1);
  CHECK(Baseline(kHead + "0: " + kRow).points.size() == 1);
}

TEST_CASE("the fastest of equal payloads counts, no bytes do not", "[report]") {
  // 2^20 B / 104.86 us = 10.00 GB/s, x 7/4 = 17.50.
  const std::string slow =
      Replaced(kRow, "52.43   20.00   35.00", "104.86  10.00   17.50");
  const std::string none =
      "0 0 float sum -1 10.10 0.00 0.00 0 10.11 0.00 0.00 0\n";
  const ResultsFile file = Baseline(kHead + none + slow + kRow + slow);
  REQUIRE(file.points.size() == 1);
  CHECK(file.points[0].where == "log:7");
  CHECK(file.notes ==
        std::vector<std::string>{
            "log: 2 rows of a payload that had one: the fastest counts"});
}

ResultPoint Simulated(const std::string& collective, int ranks, double bytes,
                      double time_s) {
  ResultPoint point;
  point.where = "new:2";
  point.request = "r " + Exact(bytes);
  point.collective = collective;
  point.group_size = ranks;
  point.payload_bytes = bytes;
  point.time_s = time_s;
  return point;
}

TEST_CASE("results are matched with a log by what both know", "[report]") {
  const std::string half_row =
      "524288 131072 float sum -1 26.21 20.00 35.01 0 26.21 20.00 35.01 0\n";
  const ResultsFile log = Baseline(kHead + half_row + kRow);
  ResultsFile results{.path = "new", .points = {}};
  results.points = {Simulated("all-reduce", 8, 1048576, 60e-6),
                    Simulated("all-reduce", 16, 1048576, 1e-6)};
  const CheckResult slower = CompareResults(results, log, 0.01);
  CHECK(slower.notes.back() ==
        "log: 1 of 2 payloads have no point in new, the first: all-reduce "
        "group_size=8 bytes=524288");
  CHECK(slower.missing.empty());
  CHECK(slower.points == 1);
  REQUIRE(slower.worse.size() == 1);
  CHECK(*slower.worse[0].before_s == Approx(52.43e-6));
  CHECK(slower.added ==
        std::vector<std::string>{"all-reduce group_size=16 bytes=1048576"});
  // 60 / 52.43 = 1.144
  CHECK(Passes(CompareResults(results, log, 0.15), true));

  // Failed before its group was known: it fails the check.
  results.points[0].group_size = {};
  results.points[0].time_s = {};
  results.points[0].error = "does not apply";
  CHECK(CompareResults(results, log, 0.15).worse[0].reason == "does not apply");

  results.points = {Simulated("all-reduce", 16, 1048576, 1e-6)};
  CHECK(ErrorOf([&] { CompareResults(results, log, 0.01); }) ==
        "log: none of its payloads is a point of new: it has, for example, "
        "\"all-reduce group_size=8 bytes=1048576\", the results \"all-reduce "
        "group_size=16 bytes=1048576\"; simulate that collective and payload "
        "on a slice of as many chips");

  results.points = {Simulated("all-reduce", 8, 1048576, 60e-6),
                    Simulated("all-reduce", 8, 1048576, 61e-6)};
  CHECK(ErrorOf([&] { CompareResults(results, log, 0.01); }) ==
        "new:2: \"all-reduce group_size=8 bytes=1048576\" stands in new:2 "
        "too, with another time; a log knows neither slice nor lowering: keep "
        "one of the two");
}

TEST_CASE("a real log is read with what is glued onto two rows", "[report]") {
  const char* corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: the real log is not read");
    return;
  }
  const std::string path =
      std::string(corpus) + "/outputs/rccl_tests_all_gather_32.txt";
  const NcclLog log = ReadNcclLog(ReadTextFile(path), path);
  CHECK(log.rows.size() == 28);  // lines 8 to 35
  CHECK_FALSE(log.rows[0].out_of_place);
  CHECK(log.rows[10].out_of_place);
  CHECK_FALSE(log.rows[10].in_place);
  // "Avg bus bandwidth : 4.03526" over both columns; the glued text hides the
  // times of an empty row, 0, and one like the 0.07 beside it.
  double sum = 0.07;
  for (const LoggedRow& row : log.rows) {
    if (row.out_of_place) sum += row.out_of_place->busbw.value;
    if (row.in_place) sum += row.in_place->busbw.value;
  }
  CHECK(sum / (2 * 28) == Approx(4.03526).margin(0.005));

  const ResultsFile file = BaselineOfLog(log, As("all-gather"));
  REQUIRE(file.points.size() == 22);  // 512 B to 1 GiB
  CHECK(file.points.front().identity == "all-gather group_size=32 bytes=512");
  CHECK(file.points.back().identity ==
        "all-gather group_size=32 bytes=1073741824");
  CHECK(*file.points.back().time_s == Approx(0.127776));
}

struct BadLog {
  std::string text;
  std::string message;
  LogReading reading = {};
};

void RequireRefusals(const std::vector<BadLog>& logs) {
  for (const BadLog& bad : logs) {
    CAPTURE(bad.text);
    CHECK(ErrorOf([&] { Baseline(bad.text, bad.reading); }) == bad.message);
  }
}

TEST_CASE("texts that are no log, or one of two benchmarks, are refused",
          "[report]") {
  const std::string not_ours =
      "is no log of nccl-tests: --baseline-collective, --baseline-ranks and "
      "--baseline-time say nothing of it";
  RequireRefusals({
      {"", "log: empty file"},
      {"request,time_s\na,1\n", "log: " + not_ours, As("all-reduce")},
      {"{}", "log: " + not_ours, As("", 8)},
      {kName,
       "log: no table of nccl-tests: expected a line \"# size count type .. "
       "time algbw busbw ..\"; record the whole output"},
      {kHead, "log: the table has no rows: nothing was measured"},
      {kName + kRow + kColumns,
       "log:2: a row of the table stands before its header; record the log "
       "from its first line"},
      {Replaced(kHead, "    time", " cputime") + kRow,
       "log:3: \"cputime\" is the time of the host's calls, not of the "
       "collective; run the benchmark without -C"},
      {kName + "# size count type time algbw\n",
       "log:2: the header has no column \"busbw\"; expected size, count, type, "
       "time, algbw and busbw"},
      {kName + "# count size type time algbw busbw\n",
       "log:2: expected the columns size, count, type first, got \"count size "
       "type time algbw busbw\""},
      {Replaced(kHead, "(us)", "(ms)") + kRow,
       "log:4: expected the units (B), (us) and (GB/s), got (ms)"},
      {kHead + kRow + "# Collective test starting: all_gather_perf\n",
       "log:6: a second benchmark, all_gather_perf after all_reduce_perf; keep "
       "the log of one"},
      {kHead + kRow + "# Out of bounds values : 3 FAILED\n",
       "log:6: the benchmark says that its values are out of bounds; a run "
       "whose data is wrong is no baseline"},
      {Replaced(kHead, "nGpus 8", "nGpus 99999999") + kRow,
       "log:2: expected at most 16777216, got 99999999"},
  });
}

TEST_CASE("numbers of a log that cannot be are refused", "[report]") {
  const auto with = [](const std::string& old, const std::string& now) {
    return kHead + Replaced(kRow, old, now);
  };
  RequireRefusals({
      {with("    float", "quarter "),
       "log:5: unknown element type \"quarter\"; expected int8, uint8, char, "
       "int32, int, uint32, int64, uint64, half, float16, bfloat16, bf16, "
       "float, float32, double, float64, f8e4m3, f8e5m2, fp8_e4m3, fp8_e5m2"},
      {with("1048576", "9223372036854775808"),
       "log:5: the size 9223372036854775808 is too large; expected less than "
       "2^63"},
      {with("    -1", " 16777216"),
       "log:5: expected a root from -1 to 16777215, got 16777216"},
      {with("    -1", " 777777777777777777777777777777777777777777"),
       "log:5: expected a root from -1 to 16777215, got "
       "7777777777777777777777777777777777777..."},
      {with("52.43", "0.00"),
       "log:5: expected a time of more than 0 us, got 0.00"},
      {with("52.43", "-1.0"),
       "log:5: expected a time of more than 0 us, got -1.0"},
      {with("52.43", "nan"), "log:5: expected a finite number, got \"nan\""},
      {with("35.00      0", "35.00      7"),
       "log:5: expected 0 or N/A wrong values, got 7: a run whose data is "
       "wrong is no baseline"},
      // 2^20 B / 52.43 us in GiB/s.
      {with("20.00", "18.63"),
       "log:5: algbw is 18.63 GB/s, expected 20 = size / time; GB is 1e9 "
       "bytes, us 1e-6 s"},
      // In-place is checked as well, whichever is asked for.
      {with("40.01", "40.03"),
       "log:5: algbw is 40.03 GB/s, expected 40.01 = size / time; GB is 1e9 "
       "bytes, us 1e-6 s"},
      // That of 4 ranks: x 2 x 3/4.
      {with("35.00", "30.00"),
       "log:5: busbw is 30 GB/s, expected 35 of this all-reduce over 8 ranks; "
       "say what it was with --baseline-collective and --baseline-ranks"},
      {kHead + "0 0 float sum -1 10.10 0.00 0.00 0 10.11 0.00 0.00 0\n",
       "log: no row has a payload and a whole out-of-place time: nothing would "
       "be checked"},
      {kHead + kRow.substr(0, kRow.find("52.43")) + "mi200:1 [0]\n",
       "log: no row has a payload and a whole out-of-place time: nothing would "
       "be checked"},
  });
}

TEST_CASE("a collective or ranks that the columns gainsay are refused",
          "[report]") {
  LogReading in_place;
  in_place.in_place = true;
  RequireRefusals({
      {kProcess + kColumns + kRow,
       "log: no line names the benchmark; its columns fit all-reduce: say "
       "which with --baseline-collective"},
      {kProcess + kColumns + kShareRow,
       "log: no line names the benchmark; its columns fit all-gather or "
       "all-to-all: say which with --baseline-collective"},
      {Replaced(kHead, "all_reduce", "hypercube") + kRow,
       "log: podsim has no collective for hypercube_perf; expected "
       "all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf, "
       "broadcast_perf, reduce_perf, gather_perf, scatter_perf, "
       "sendrecv_perf"},
      {kHead + kRow,
       "--baseline-collective: nccl-tests has no ragged-all-to-all; the "
       "columns of log fit all-reduce",
       As("ragged-all-to-all")},
      {kHead + kRow,
       "log:5: this is no all-gather: redop is sum; the columns fit "
       "all-reduce, see --baseline-collective",
       As("all-gather")},
      {kHead + kRow,
       "log:5: this is no reduce: root is -1; the columns fit all-reduce, see "
       "--baseline-collective",
       As("reduce")},
      {kHead + kRow,
       "log:5: this is no reduce-scatter: count is size / element size; the "
       "columns fit all-reduce, see --baseline-collective",
       As("reduce-scatter")},
      {kHead + Replaced(kShareRow, "none", "max"),
       "log:5: this is no all-reduce: count is not size / element size; the "
       "columns fit reduce-scatter, see --baseline-collective"},
      {kHead + Replaced(kShareRow, "32768", "32769"),
       "log:5: size 1048576 is no whole number of ranks x count 32769 x 4 "
       "bytes",
       As("all-gather")},
      {kHead + kShareRow,
       "log:5: size / count is that of 8 ranks, expected 4 as "
       "--baseline-ranks says",
       As("all-gather", 4)},
      {kHead + kShareRow + Replaced(kShareRow, "32768", "65536"),
       "log:6: size / count is that of 4 ranks, expected 8 as above; keep the "
       "rows of one group",
       As("all-gather")},
      {kName + kColumns + kRow,
       "log: no line says how many ranks took part; say it with "
       "--baseline-ranks"},
      {kName + "# nThread 1 nGpus 1\n" + kColumns + kRow,
       "log: the log says that 1 rank took part, expected at least 2; if each "
       "process wrote of itself only, say how many there were with "
       "--baseline-ranks"},
      {kHead + kRow,
       "log:5: busbw is 35 GB/s, expected 30 of this all-reduce over 4 ranks; "
       "say what it was with --baseline-collective and --baseline-ranks",
       As("", 4)},
      {"all_reduce_perf\n# nThread 1 nGpus 8\n# size count type time algbw "
       "busbw\n1048576 262144 float 52.43 20.00 35.00\n",
       "log: the table has no in-place columns; read it with --baseline-time "
       "out-of-place",
       in_place},
  });
}

}  // namespace
}  // namespace podsim
