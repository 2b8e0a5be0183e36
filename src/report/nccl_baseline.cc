#include "report/nccl_baseline.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "base/text_file.h"
#include "collective/collective.h"

namespace podsim {
namespace {

constexpr double kMicro = 1e-6;          // seconds per us
constexpr double kBytesPerUs = 1e3;      // of 1 GB/s
constexpr double kRoundingSlack = 1e-9;  // of the last digit's half

// nccl-tests `doc/PERFORMANCE.md` and `src/NAME.cu`: what a benchmark prints.
struct Benchmark {
  const char* name;
  CollectiveKind kind;
  CollectiveKind busbw_as;  // its factor is that of
  bool share;               // count = S / element size / ranks
  bool reduces;             // redop is not "none"
  bool rooted;              // root is not -1
};
using enum CollectiveKind;
constexpr Benchmark kBenchmarks[] = {
    {"all_reduce", kAllReduce, kAllReduce, false, true, false},
    {"all_gather", kAllGather, kAllGather, true, false, false},
    {"reduce_scatter", kReduceScatter, kReduceScatter, true, true, false},
    {"alltoall", kAllToAll, kAllToAll, true, false, false},
    {"broadcast", kBroadcast, kBroadcast, false, false, true},
    {"reduce", kReduce, kReduce, false, true, true},
    {"gather", kGather, kAllGather, true, false, true},
    {"scatter", kScatter, kAllGather, true, false, true},
    {"sendrecv", kCollectivePermute, kCollectivePermute, false, false, false},
};

std::string Place(const NcclLog& log, const LoggedRow& row) {
  return log.path + ":" + std::to_string(row.line);
}

// What the columns of a row say against this benchmark; "" if nothing.
std::string Gainsaid(const LoggedRow& row, const Benchmark& benchmark) {
  if (!row.redop.empty() && (row.redop != "none") != benchmark.reduces) {
    return "redop is " + row.redop;
  }
  if (row.root && (*row.root >= 0) != benchmark.rooted) {
    return "root is " + std::to_string(*row.root);
  }
  const bool whole = row.count > 0 &&
                     row.count <= row.bytes / row.element_bytes &&
                     row.bytes == row.count * row.element_bytes;
  if (row.bytes > 0 && whole == benchmark.share) {
    return "count is " + std::string(whole ? "" : "not ") +
           "size / element size";
  }
  return "";
}

std::string FittingKinds(const NcclLog& log) {
  std::vector<std::string> kinds;
  for (const Benchmark& benchmark : kBenchmarks) {
    const bool fits = std::all_of(
        log.rows.begin(), log.rows.end(),
        [&](const LoggedRow& row) { return Gainsaid(row, benchmark).empty(); });
    if (fits) kinds.emplace_back(ToText(benchmark.kind));
  }
  return kinds.empty() ? "none of podsim's" : Join(kinds, " or ");
}

const Benchmark& BenchmarkOf(const NcclLog& log, const LogReading& reading) {
  const std::string flag = "--baseline-collective";
  const Benchmark* found = nullptr;
  if (!reading.collective.empty()) {
    const CollectiveKind kind = ParseCollectiveKind(reading.collective, flag);
    for (const Benchmark& benchmark : kBenchmarks) {
      if (benchmark.kind == kind) found = &benchmark;
    }
    if (found == nullptr) {
      throw InputError(flag, "nccl-tests has no " + reading.collective +
                                 "; the columns of " + log.path + " fit " +
                                 FittingKinds(log));
    }
  } else if (log.benchmark.empty()) {
    throw InputError(log.path, "no line names the benchmark; its columns fit " +
                                   FittingKinds(log) +
                                   ": say which with --baseline-collective");
  } else {
    std::vector<std::string> names;
    for (const Benchmark& benchmark : kBenchmarks) {
      if (benchmark.name == log.benchmark) found = &benchmark;
      names.push_back(std::string(benchmark.name) + "_perf");
    }
    if (found == nullptr) {
      throw InputError(log.path, "podsim has no collective for " +
                                     Shortened(log.benchmark, 40) +
                                     "_perf; expected " + Join(names, ", "));
    }
  }
  for (const LoggedRow& row : log.rows) {
    const std::string reason = Gainsaid(row, *found);
    if (reason.empty()) continue;
    throw InputError(Place(log, row), "this is no " +
                                          std::string(ToText(found->kind)) +
                                          ": " + reason + "; the columns fit " +
                                          FittingKinds(log) + ", see " + flag);
  }
  return *found;
}

// Of a benchmark whose count is a share, S / (count x element size): exact.
int SharesOf(const NcclLog& log, const LoggedRow& row) {
  const std::int64_t most = row.bytes / row.element_bytes;
  if (row.count > 0 && row.count <= most &&
      row.bytes % (row.count * row.element_bytes) == 0 &&
      most / row.count <= (1 << 24)) {
    return static_cast<int>(most / row.count);
  }
  throw InputError(Place(log, row),
                   "size " + std::to_string(row.bytes) +
                       " is no whole number of ranks x count " +
                       std::to_string(row.count) + " x " +
                       std::to_string(row.element_bytes) + " bytes");
}

int RanksOf(const NcclLog& log, const LogReading& reading,
            const Benchmark& benchmark) {
  std::optional<int> ranks;
  if (reading.ranks > 0) ranks = reading.ranks;
  if (benchmark.share) {
    for (const LoggedRow& row : log.rows) {
      if (row.bytes == 0) continue;
      const int shares = SharesOf(log, row);
      if (!ranks) ranks = shares;
      if (*ranks == shares) continue;
      throw InputError(
          Place(log, row),
          "size / count is that of " + std::to_string(shares) +
              " ranks, expected " + std::to_string(*ranks) +
              (reading.ranks > 0 ? " as --baseline-ranks says"
                                 : " as above; keep the rows of one group"));
    }
  }
  if (!ranks) ranks = log.ranks;
  if (!ranks) {
    throw InputError(log.path,
                     "no line says how many ranks took part; say it with "
                     "--baseline-ranks");
  }
  if (*ranks >= 2) return *ranks;
  throw InputError(log.path,
                   "the log says that 1 rank took part, expected at least 2; "
                   "if each process wrote of itself only, say how many there "
                   "were with --baseline-ranks");
}

// Whether `printed` is `factor` x what lies between `low` and `high`.
bool Agrees(const PrintedNumber& printed, double factor, double low,
            double high) {
  const double half = printed.half * (1 + kRoundingSlack);
  return printed.value + half >= factor * low * (1 - kRoundingSlack) &&
         printed.value - half <= factor * high * (1 + kRoundingSlack);
}

void RequireBandwidths(const NcclLog& log, const LoggedRow& row,
                       const LoggedTime& time, const Benchmark& benchmark,
                       int ranks) {
  const double bytes = static_cast<double>(row.bytes);
  const auto rate = [&](double us) {
    return us > 0 ? bytes / us / kBytesPerUs : HUGE_VAL;
  };
  const double low = rate(time.us.value + time.us.half);
  const double high = rate(time.us.value - time.us.half);
  const auto fail = [&](const std::string& name, const PrintedNumber& printed,
                        double expected, const std::string& remedy) {
    throw InputError(Place(log, row), name + " is " + Exact(printed.value) +
                                          " GB/s, expected " +
                                          Significant(expected, 4) + remedy);
  };
  if (!Agrees(time.algbw, 1, low, high)) {
    fail("algbw", time.algbw, rate(time.us.value),
         " = size / time; GB is 1e9 bytes, us 1e-6 s");
  }
  const double factor = BusFactor(benchmark.busbw_as, ranks);
  if (!Agrees(time.busbw, factor, low, high)) {
    fail("busbw", time.busbw, factor * rate(time.us.value),
         " of this " + std::string(ToText(benchmark.kind)) + " over " +
             std::to_string(ranks) +
             " ranks; say what it was with --baseline-collective and "
             "--baseline-ranks");
  }
}

std::string Times(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

ResultsFile BaselineOfLog(const NcclLog& log, const LogReading& reading) {
  const Benchmark& benchmark = BenchmarkOf(log, reading);
  const int ranks = RanksOf(log, reading, benchmark);
  const std::string columns = reading.in_place ? "in-place" : "out-of-place";
  if (reading.in_place && !log.has_in_place) {
    throw InputError(log.path,
                     "the table has no in-place columns; read it "
                     "with --baseline-time out-of-place");
  }
  ResultsFile file{.path = log.path, .points = {}, .measured = true};
  std::map<std::int64_t, std::size_t> by_payload;  // its point
  std::size_t again = 0;
  std::vector<const LoggedRow*> cut;
  for (const LoggedRow& row : log.rows) {
    if (row.bytes == 0) continue;
    for (const auto& time : {row.out_of_place, row.in_place}) {
      if (time) RequireBandwidths(log, row, *time, benchmark, ranks);
    }
    const auto& time = reading.in_place ? row.in_place : row.out_of_place;
    if (!time) {
      cut.push_back(&row);
      continue;
    }
    ResultPoint point;
    point.where = Place(log, row);
    point.collective = ToText(benchmark.kind);
    point.payload_bytes = static_cast<double>(row.bytes);
    point.group_size = ranks;
    point.time_s = time->us.value * kMicro;
    point.identity = MeasuredKey(point, ranks);
    const auto [found, is_new] =
        by_payload.emplace(row.bytes, file.points.size());
    if (is_new) {
      file.points.push_back(std::move(point));
      continue;
    }
    ++again;
    ResultPoint& first = file.points[found->second];
    if (*point.time_s < *first.time_s) first = std::move(point);
  }
  if (again > 0) {
    file.notes.push_back(log.path + ": " + Times(again, "row") +
                         " of a payload that had one: the fastest counts");
  }
  if (!cut.empty()) {
    const std::string& glued = cut.front()->glued;
    file.notes.push_back(
        Place(log, *cut.front()) + ": no " + columns + " time of " +
        std::to_string(cut.front()->bytes) + " bytes: " +
        (glued.empty() ? "the row ends early"
                       : "\"" + glued + "\" stands in the row") +
        (cut.size() > 1 ? ", and so " + Times(cut.size() - 1, "more row")
                        : ""));
  }
  if (file.points.empty()) {
    throw InputError(log.path, "no row has a payload and a whole " + columns +
                                   " time: nothing would be checked");
  }
  return file;
}

ResultsFile ReadBaseline(const std::string& path, const LogReading& reading) {
  return ParseBaseline(ReadTextFile(path), path, reading);
}

ResultsFile ParseBaseline(const std::string& text, const std::string& path,
                          const LogReading& reading) {
  if (IsNcclLog(text) && !IsResults(text)) {
    return BaselineOfLog(ReadNcclLog(text, path), reading);
  }
  if (!reading.is_default()) {
    throw InputError(path,
                     "is no log of nccl-tests: --baseline-collective, "
                     "--baseline-ranks and --baseline-time say nothing of it");
  }
  return ParseResults(text, path);
}

}  // namespace podsim
