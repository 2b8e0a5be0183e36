// podsim-goal-result/1.
#include <nlohmann/json.hpp>

#include "engine/loggops_parameters.h"
#include "report/goal_report.h"
#include "report/version.h"

namespace podsim {

std::string GoalResultJson(const GoalTimeline& timeline,
                           const LoggopsParameters& parameters) {
  using Json = nlohmann::ordered_json;
  Json set = Json::object();
  for (const auto& [key, seconds] : LoggopsSeconds(parameters)) {
    set[key] = seconds;
  }
  set["loggp.S_bytes"] = parameters.eager_bytes;
  Json finish = Json::array();
  for (const double ns : timeline.finish_ns) finish.push_back(ns / 1e9);
  const std::size_t last = LastRank(timeline);
  const Json json = {{"format", "podsim-goal-result/1"},
                     {"version", kVersion},
                     {"network", "loggp"},
                     {"parameters", set},
                     {"ranks", timeline.finish_ns.size()},
                     {"ops", timeline.ops},
                     {"messages", timeline.messages},
                     {"bytes", timeline.bytes},
                     {"time_s", finish[last]},
                     {"last_rank", last},
                     {"finish_s", finish}};
  return json.dump(1) + "\n";
}

}  // namespace podsim
