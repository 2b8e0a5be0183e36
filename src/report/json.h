#ifndef PODSIM_REPORT_JSON_H_
#define PODSIM_REPORT_JSON_H_

#include <string>
#include <vector>

#include "sim/explain.h"
#include "sim/options.h"
#include "sim/result.h"
#include "topology/generation.h"
#include "topology/topology.h"

namespace podsim {

// Results as podsim-result/1 (docs/formats.md). Numbers are SI and shortest
// exact; what is not known is null. Byte-equal for equal input: no dates, hosts
// or wall times.
std::string ResultJson(const Parameters& parameters,
                       const std::vector<Point>& points,
                       const std::vector<NotApplicable>& not_applicable);
std::string ResultJson(const Parameters& parameters, const StepResult& step);
// podsim explain --json: podsim-explanation/1.
std::string ExplanationJson(const Parameters& parameters,
                            const Explanation& explanation);

// podsim generations --json, podsim lowerings --json.
std::string GenerationsJson(const std::vector<Generation>& generations);
std::string LoweringsJson();

// podsim topology --json.
struct TopologySummary {
  struct Cut {
    std::string axis;
    int links = 0;
    double bytes_per_s = 0;
  };
  struct PerByte {
    std::string collective;
    double seconds_per_byte = 0;
    std::string bound;
  };
  std::string slice;
  std::string generation;
  Shape shape;                    // empty: explicit links
  std::vector<std::string> axes;  // "x", ..; likewise
  std::vector<bool> wraps;        // by axis
  bool twisted = false;
  int slices = 1;
  int chips = 0;            // live ones
  std::uint64_t links = 0;  // live, one way
  int diameter = 0;         // hops
  double mean_hops = 0;
  std::optional<Cut> bisection;
  std::vector<PerByte> bounds;
};
std::string TopologySummaryJson(const TopologySummary& summary,
                                const Parameters& parameters);

// --timing: CPU seconds by phase and the peak memory of the process.
std::string TimingJson(const PhaseTimes& times, std::int64_t peak_bytes);

}  // namespace podsim

#endif  // PODSIM_REPORT_JSON_H_
