#ifndef PODSIM_REPORT_TERMINAL_PLOT_H_
#define PODSIM_REPORT_TERMINAL_PLOT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "report/results_file.h"
#include "sim/result.h"

namespace podsim {

// How near a run came to its bound.
struct EfficiencyPoint {
  std::string panel;   // points drawn together: "all-reduce on v5e:4x4"
  std::string series;  // the lowering, without its parameters
  double payload_bytes = 0;
  double efficiency = 0;  // lower bound / time, 0 to 1
};

// Those that have an efficiency.
std::vector<EfficiencyPoint> EfficienciesOf(const std::vector<Point>& points);
std::vector<EfficiencyPoint> EfficienciesOf(const ResultsFile& results);

// Efficiency against payload, the payloads evenly apart, a letter per lowering;
// with one payload, a bar per lowering. A panel each, the first four; of each
// the best lowerings. Lines of at most `columns` (at least 40) characters of
// ASCII; "" for no points.
std::string TerminalPlot(const std::vector<EfficiencyPoint>& points,
                         std::size_t columns);

}  // namespace podsim

#endif  // PODSIM_REPORT_TERMINAL_PLOT_H_
