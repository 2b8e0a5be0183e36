#ifndef PODSIM_REPORT_POINT_JSON_H_
#define PODSIM_REPORT_POINT_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "sim/result.h"
#include "topology/parameters.h"

namespace podsim {

// The parts of podsim-result/1, for its writers.
nlohmann::ordered_json ParametersJson(const Parameters& parameters);
nlohmann::ordered_json PointJson(const Point& point);
nlohmann::ordered_json StepJson(const StepResult& step);

}  // namespace podsim

#endif  // PODSIM_REPORT_POINT_JSON_H_
