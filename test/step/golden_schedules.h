#ifndef PODSIM_TEST_STEP_GOLDEN_SCHEDULES_H_
#define PODSIM_TEST_STEP_GOLDEN_SCHEDULES_H_

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "step/abstract_step.h"
#include "step/loops.h"

namespace podsim {

// An integer or "p/q".
inline double RationalOf(const nlohmann::json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto text = value.get<std::string>();
  const std::size_t slash = text.find('/');
  const double numerator = std::stod(text.substr(0, slash));
  return slash == std::string::npos
             ? numerator
             : numerator / std::stod(text.substr(slash + 1));
}

inline double RationalOf(const nlohmann::json& object, const char* key) {
  return object.contains(key) ? RationalOf(object[key]) : 0;
}

inline std::uint32_t ResourceOf(const AbstractStep& step,
                                const std::string& name) {
  for (std::uint32_t k = 0; k < step.resources.size(); ++k) {
    if (step.resources[k].name == name) return k;
  }
  FAIL("no resource " << name);
  return 0;
}

inline AbstractKind KindOf(const std::string& name) {
  if (name == "compute") return AbstractKind::kCompute;
  if (name == "start") return AbstractKind::kStart;
  if (name == "done") return AbstractKind::kDone;
  REQUIRE(name == "sync");
  return AbstractKind::kSync;
}

inline AbstractOp GoldenOp(const AbstractStep& step,
                           const nlohmann::json& json) {
  AbstractOp op;
  op.kind = KindOf(json["t"]);
  op.tc_time = Seconds(RationalOf(json, "d"));
  op.latency = Seconds(RationalOf(json, "lat"));
  op.work = Seconds(RationalOf(json, "x"));
  op.out = Bytes(json.value("out", 0));
  op.tmp = Bytes(json.value("tmp", 0));
  op.deps = json.value("deps", std::vector<std::uint32_t>());
  op.ctrl = json.value("ctrl", std::vector<std::uint32_t>());
  if (json.contains("of")) op.of = json["of"].get<std::uint32_t>();
  if (json.contains("alias")) op.alias = json["alias"].get<std::uint32_t>();
  const auto uses = json.value("use", nlohmann::json::object());
  for (const auto& [name, share] : uses.items()) {
    op.use.push_back(
        {.resource = ResourceOf(step, name), .share = RationalOf(share)});
  }
  return op;
}

// Of `ops`: those of the case, or of its loop's body.
inline AbstractStep GoldenStep(const nlohmann::json& test,
                               const nlohmann::json& ops) {
  AbstractStep step;
  for (const auto& [name, json] : test["resources"].items()) {
    StepResource resource = {.name = name};
    if (json["mode"] == "share") resource.mode = ResourceMode::kShare;
    if (json.contains("cap")) resource.capacity = RationalOf(json["cap"]);
    step.resources.push_back(resource);
  }
  for (const auto& json : ops) step.ops.push_back(GoldenOp(step, json));
  for (const auto& json : test.value("params", nlohmann::json::array())) {
    step.params.push_back(
        {.bytes = Bytes(json["bytes"].get<std::int64_t>()),
         .users = json["users"].get<std::vector<std::uint32_t>>(),
         .live_out = json.value("live_out", false)});
  }
  step.outputs = test.value("outputs", std::vector<std::uint32_t>());
  if (test.contains("memory_limit")) {
    step.memory_limit = Bytes(test["memory_limit"].get<std::int64_t>());
  }
  const auto limits = test.value("in_flight", nlohmann::json::object());
  for (const auto& [name, most] : limits.items()) {
    step.in_flight.push_back(
        {.resource = ResourceOf(step, name), .most = most.get<int>()});
  }
  return step;
}

inline LoopStep GoldenLoop(const nlohmann::json& test) {
  const nlohmann::json& json = test["loop"];
  LoopStep loop = {.body = GoldenStep(test, json["body"]),
                   .trip = json["trip"].get<std::int64_t>()};
  for (const auto& carry : json["carry"]) {
    loop.carries.push_back({.from = carry[0].get<std::uint32_t>(),
                            .to = carry[1].get<std::uint32_t>(),
                            .distance = carry[2].get<std::int64_t>()});
  }
  loop.results = json["results"].get<std::vector<std::uint32_t>>();
  return loop;
}

inline LoopPipelining GoldenPipelining(const nlohmann::json& loop) {
  LoopPipelining moves;
  moves.prefetch = loop.value("prefetch", std::vector<std::uint32_t>());
  moves.sink = loop.value("sink", std::vector<std::vector<std::uint32_t>>());
  return moves;
}

// Empty, with a warning, if PODSIM_DATA is not set. Numbers are ints or "p/q";
// `expect` holds what an independent oracle computed in rationals.
inline nlohmann::json GoldenSchedules() {
  const char* folder = std::getenv("PODSIM_DATA");
  if (folder == nullptr) {
    WARN("PODSIM_DATA is not set: golden schedules are skipped");
    return nlohmann::json::array();
  }
  std::ifstream file(std::string(folder) + "/golden_schedules.json");
  REQUIRE(file.good());
  return nlohmann::json::parse(file);
}

}  // namespace podsim

#endif  // PODSIM_TEST_STEP_GOLDEN_SCHEDULES_H_
