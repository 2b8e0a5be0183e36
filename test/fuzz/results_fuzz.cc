// libFuzzer entry, run by scripts/fuzz.sh: any text is a file of results, to
// compare and to plot, or an InputError; and a shard of a sweep, or not.
//
// Modules: base report/results_file.cc report/shards.cc report/check.cc
// Modules: report/terminal_plot.cc
// Built: report sim engine workload hlo step cost collective schedule topology
// Seeds: test/baselines
#include "report/check.h"
#include "report/results_file.h"
#include "report/sweep_report.h"
#include "report/terminal_plot.h"
#include "test/fuzz/entry.h"

namespace podsim {

void Fuzz(std::string_view text) {
  const std::string copy(text);
  AnswersOrRefuses([&] {
    const MemoryLimit limit(MostHeap(text));
    const ResultsFile results = ParseResults(copy, "fuzz.csv");
    TerminalPlot(EfficienciesOf(results), 80);
    CompareResults(results, results, 0.01);
  });
  for (const SweepFormat format : {SweepFormat::kCsv, SweepFormat::kJson}) {
    AnswersOrRefuses([&] { MergeShards(format, {{"a", copy}, {"b", copy}}); });
    AnswersOrRefuses([&] { MergeShards(format, {{"a", copy}}); });
  }
}

}  // namespace podsim
