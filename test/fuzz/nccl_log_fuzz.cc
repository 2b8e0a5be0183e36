// libFuzzer entry, run by scripts/fuzz.sh: any text is a baseline of `check`,
// as a log of nccl-tests where it is one, or an InputError.
//
// Modules: base report/nccl_log.cc report/nccl_baseline.cc
// Modules: report/results_file.cc report/check.cc
// Built: report sim engine workload hlo step cost collective schedule topology
// Seeds: test/data/nccl
#include "report/check.h"
#include "report/nccl_baseline.h"
#include "test/fuzz/entry.h"

namespace podsim {

void Fuzz(std::string_view text) {
  const std::string copy(text);
  for (const bool in_place : {false, true}) {
    for (const char* collective : {"", "all-gather", "all-reduce"}) {
      AnswersOrRefuses([&] {
        const MemoryLimit limit(MostHeap(text));
        LogReading reading;
        reading.collective = collective;
        reading.in_place = in_place;
        const ResultsFile log = ParseBaseline(copy, "fuzz.txt", reading);
        CHECK(!log.measured || !log.points.empty());
        if (!log.measured) return;
        const CheckResult same = CompareResults(log, log, 0);
        CHECK(Passes(same, /*either_way=*/true)) << CheckText(same, "0%", true);
      });
    }
  }
}

}  // namespace podsim
