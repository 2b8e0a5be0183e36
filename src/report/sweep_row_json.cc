// One point of a sweep as an object of podsim-result/1.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/point_json.h"
#include "report/sweep_report.h"

namespace podsim {
namespace {

using Json = nlohmann::ordered_json;

// What is known of a point that failed; the rest stands in the request.
void AddAsked(const SweepPoint& point, Json& json) {
  if (point.collective) {
    json["collective"] = ToText(*point.collective);
  } else {
    json["workload"] = point.workload;
  }
  json["lowering"] = Join(point.lowerings, " ");
  json["slice"] = point.slice;
  if (point.collective) json["payload_bytes"] = point.payload.value();
  json["network"] = point.network;
}

}  // namespace

std::string SweepJsonRow(const SweepPoint& point, const SweepResult& result) {
  Json json = {{"request", RequestOf(point)}};
  if (result.error) {
    AddAsked(point, json);
    json["error"] = *result.error;
  } else {
    json["parameters"] = ParametersJson(result.parameters);
    if (result.collective) {
      json.update(PointJson(*result.collective));
    } else {
      // Flat, so that rows make a table: no lists of ops and collectives.
      Json step = StepJson(*result.step);
      step.erase("critical_path");
      step.erase("computes");
      step.erase("collectives");
      json["workload"] = point.workload;
      json["time_s"] = step["makespan_s"];
      json.update(step);
    }
  }
  // The last words of a process that crashed need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace podsim
