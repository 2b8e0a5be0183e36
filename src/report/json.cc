#include "report/json.h"

#include <nlohmann/json.hpp>

#include "collective/lowering.h"
#include "report/point_json.h"
#include "report/version.h"

namespace podsim {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json VerdictJson(const Verdict& verdict) {
  return {{"ok", OrNull(verdict.ok)},
          {"method", verdict.method},
          {"reason", OrNull(verdict.reason)}};
}

}  // namespace

Json ParametersJson(const Parameters& parameters) {
  Json json = Json::object();
  for (const ParameterValue& entry : ListParameters(parameters)) {
    const bool whole = entry.json_key.ends_with("_bytes") ||
                       entry.json_key.find('_') == std::string::npos;
    json[entry.json_key] = whole && entry.value
                               ? Json(static_cast<std::int64_t>(*entry.value))
                               : OrNull(entry.value);
  }
  return json;
}

namespace {

Json ShapeJson(const Shape& shape) {
  return shape.empty() ? Json(nullptr) : Json(shape);
}

}  // namespace

Json LinksJson(const std::vector<LinkUse>& links) {
  Json json = Json::array();
  for (const LinkUse& use : links) {
    json.push_back({{"link", use.link},
                    {"bytes", use.bytes},
                    {"busy_s", use.busy_s},
                    {"utilisation", use.utilisation},
                    {"links", use.links}});
  }
  return json;
}

Json PointJson(const Point& point) {
  Json bounds = Json::object();
  for (const auto& [name, seconds] : point.bounds) bounds[name] = seconds;
  Json json = {
      {"collective", point.collective}, {"lowering", OrNull(point.lowering)},
      {"slice", point.slice},           {"shape", ShapeJson(point.shape)},
      {"generation", point.generation}, {"group", point.group},
      {"group_size", point.group_size}, {"payload_bytes", point.payload_bytes}};
  if (point.padded_payload_bytes) {
    json["padded_payload_bytes"] = *point.padded_payload_bytes;
  }
  if (point.runner_up) {
    json["runner_up"] = {{"lowering", *point.runner_up},
                         {"time_s", OrNull(point.runner_up_s)}};
  }
  json["time_s"] = OrNull(point.time_s);
  json["lower_bound_s"] = OrNull(point.lower_bound_s);
  json["bound"] = OrNull(point.bound);
  json["bounds"] = bounds;
  json["closed_form_s"] = OrNull(point.closed_form_s);
  json["efficiency"] = OrNull(point.efficiency);
  json["algbw_bytes_per_s"] = OrNull(point.algbw_bytes_per_s);
  json["busbw_bytes_per_s"] = OrNull(point.busbw_bytes_per_s);
  json["transfers"] = OrNull(point.transfers);
  json["byte_hops"] = OrNull(point.byte_hops);
  json["max_link_bytes"] = OrNull(point.max_link_bytes);
  json["engine"] = point.engine;
  json["network"] = point.network;
  json["fold"] = OrNull(point.fold);
  json["verified"] = VerdictJson(point.verified);
  json["busiest_link"] = OrNull(point.busiest_link);
  json["busiest_link_utilisation"] = OrNull(point.busiest_link_utilisation);
  if (point.links) json["links"] = LinksJson(*point.links);
  return json;
}

namespace {

Json BoundsJson(const std::vector<std::pair<std::string, double>>& bounds) {
  Json json = Json::object();
  for (const auto& [name, seconds] : bounds) json[name] = seconds;
  return json;
}

Json MemoryJson(const StepResult& step) {
  if (!step.memory) return nullptr;
  Json live = Json::array();
  for (const LiveBuffer& buffer : step.memory->live) {
    live.push_back({{"name", buffer.name}, {"bytes", buffer.bytes.value()}});
  }
  return {
      {"bytes", step.memory->peak.value()},
      {"at", step.memory->at},
      {"capacity_bytes",
       step.hbm_capacity ? Json(step.hbm_capacity->value()) : Json(nullptr)},
      {"live", live}};
}

Json KindsJson(const StepResult& step) {
  Json json = Json::object();
  for (const auto& [kind, seconds] : PathByKind(step)) json[kind] = seconds;
  return json;
}

Json GroupsJson(const StepResult& step) {
  Json groups = Json::array();
  for (const GroupTotal& total : TotalsByGroup(step)) {
    groups.push_back(
        {{"group", total.group},
         {"axes", total.axes.empty() ? Json(nullptr) : Json(total.axes)},
         {"collectives", total.collectives},
         {"executions", total.executions},
         {"payload_bytes", total.payload_bytes},
         {"total_s", OrNull(total.flight_s)},
         {"exposed_s", OrNull(total.exposed_s)},
         {"idle_s", OrNull(total.idle_s)},
         {"overlapped_s", OrNull(total.overlapped_s)}});
  }
  return groups;
}

Json StepCollectiveJson(const StepCollective& entry) {
  Json json = {{"id", entry.id},
               {"axes", entry.axes.empty() ? Json(nullptr) : Json(entry.axes)},
               {"executions", entry.executions},
               {"async", entry.mode != CollectiveMode::kSync},
               {"mode", ToText(entry.mode)},
               {"total_s", OrNull(entry.flight_s)},
               {"exposed_s", OrNull(entry.exposed_s)},
               {"idle_s", OrNull(entry.idle_s)},
               {"overlapped_s", OrNull(entry.overlapped_s)}};
  json.update(PointJson(entry.alone));
  return json;
}

}  // namespace

Json StepJson(const StepResult& step) {
  Json path = Json::array();
  for (const PathEntry& entry : step.critical_path) {
    path.push_back({{"op", entry.op},
                    {"kind", entry.kind},
                    {"seconds", entry.seconds},
                    {"scheduling_s", entry.scheduling_s}});
  }
  Json computes = Json::array();
  for (const StepCompute& entry : step.computes) {
    computes.push_back({{"id", entry.id},
                        {"executions", entry.executions},
                        {"compute_s", OrNull(entry.compute_s)},
                        {"interference_s", OrNull(entry.interference_s)}});
    if (!entry.copy) continue;
    computes.back()["copy"] = true;
    computes.back()["exposed_s"] = OrNull(entry.exposed_s);
    computes.back()["overlapped_s"] = OrNull(entry.overlapped_s);
  }
  Json collectives = Json::array();
  for (const StepCollective& entry : step.collectives) {
    collectives.push_back(StepCollectiveJson(entry));
  }
  Json json = {
      {"name", step.name.empty() ? Json(nullptr) : Json(step.name)},
      {"slice", step.slice},
      {"shape", ShapeJson(step.shape)},
      {"generation", step.generation},
      {"makespan_s", OrNull(step.makespan_s)},
      {"compute_s", OrNull(step.compute_s)},
      {"interference_s", OrNull(step.interference_s)},
      {"exposed_communication_s", OrNull(step.exposed_communication_s)},
      {"idle_s", OrNull(step.idle_s)},
      {"overlapped_communication_s", OrNull(step.overlapped_communication_s)},
      {"peak_hbm_bytes", OrNull(PeakBytes(step))},
      {"peak_hbm", MemoryJson(step)},
      {"lower_bound_s", step.lower_bound_s},
      {"bound", step.bound},
      {"bounds", BoundsJson(step.bounds)},
      {"efficiency", OrNull(step.efficiency)},
      {"transfers", OrNull(step.transfers)},
      {"step_mode", step.step_mode},
      {"engine", step.engine},
      {"network", step.network},
      {"fold", OrNull(step.fold)},
      {"verified", VerdictJson(step.verified)},
      {"critical_path", path},
      {"critical_path_kinds", KindsJson(step)},
      {"groups", GroupsJson(step)},
      {"computes", computes},
      {"collectives", collectives}};
  if (step.links) json["links"] = LinksJson(*step.links);
  return json;
}

namespace {

Json EmptyResult(const Parameters& parameters) {
  return {{"format", "podsim-result/1"},
          {"version", kVersion},
          {"parameters", ParametersJson(parameters)}};
}

std::string Print(const Json& json) { return json.dump(1) + "\n"; }

}  // namespace

std::string ResultJson(const Parameters& parameters,
                       const std::vector<Point>& points,
                       const std::vector<NotApplicable>& not_applicable) {
  Json json = EmptyResult(parameters);
  json["points"] = Json::array();
  for (const Point& point : points) json["points"].push_back(PointJson(point));
  json["not_applicable"] = Json::array();
  for (const NotApplicable& entry : not_applicable) {
    json["not_applicable"].push_back(
        {{"lowering", entry.lowering}, {"reason", entry.reason}});
  }
  return Print(json);
}

std::string ResultJson(const Parameters& parameters, const StepResult& step) {
  Json json = EmptyResult(parameters);
  json["points"] = Json::array({StepJson(step)});
  json["not_applicable"] = Json::array();
  return Print(json);
}

std::string ExplanationJson(const Parameters& parameters,
                            const Explanation& explanation) {
  const double makespan = *explanation.step.makespan_s;
  Json rungs = Json::array();
  for (const WhatIfRung& rung : explanation.rungs) {
    rungs.push_back(
        {{"change", rung.change},
         {"gain_named", rung.gain_named},
         {"makespan_s", rung.makespan_s},
         {"gain_s", rung.gain_s},
         {"gain", makespan > 0 ? Json(rung.gain_s / makespan) : Json(nullptr)},
         {"cumulative_makespan_s", OrNull(rung.cumulative_makespan_s)}});
  }
  Json exposed = Json::array();
  for (const ExposedCollective& entry : explanation.exposed) {
    exposed.push_back(
        {{"id", entry.id},
         {"collective", entry.collective},
         {"group", entry.group},
         {"executions", entry.executions},
         {"payload_bytes", entry.payload_bytes},
         {"transfer_s", entry.transfer_s},
         {"queue_s", entry.queue_s},
         {"exposed_s", entry.exposed_s},
         {"overlapped_s", entry.overlapped_s},
         {"slack_s", entry.slack_s},
         {"required_bytes_per_s", OrNull(entry.required_bytes_per_s)}});
  }
  const StepEfficiency& efficiency = explanation.efficiency;
  Json json = EmptyResult(parameters);
  json["format"] = "podsim-explanation/1";
  json["makespan_s"] = makespan;
  json["bottleneck"] = explanation.bottleneck;
  json["second"] = OrNull(explanation.second);
  json["reason"] = explanation.reason;
  json["what_if"] = rungs;
  json["exposed"] = exposed;
  json["efficiency"] = {{"mfu", OrNull(efficiency.mfu)},
                        {"kernels", OrNull(efficiency.kernels)},
                        {"hiding", efficiency.hiding},
                        {"schedule", efficiency.schedule},
                        {"compute", efficiency.compute},
                        {"overlap", efficiency.overlap},
                        {"memory", OrNull(efficiency.memory)}};
  json["step"] = StepJson(explanation.step);
  return Print(json);
}

std::string GenerationsJson(const std::vector<Generation>& generations) {
  Json list = Json::array();
  for (const Generation& generation : generations) {
    Json facts = Json::object();
    for (const GenerationParameter& fact : generation.facts) {
      facts[fact.key] = {{"value", fact.value},
                         {"source", fact.source},
                         {"confidence", fact.confidence}};
    }
    list.push_back(
        {{"name", generation.name},
         {"description", generation.description},
         {"estimated", generation.estimated},
         {"axes", generation.axes},
         {"max_chips", generation.max_chips > 0 ? Json(generation.max_chips)
                                                : Json(nullptr)},
         {"parameters", facts}});
  }
  return Print({{"format", "podsim-generations/1"}, {"generations", list}});
}

std::string LoweringsJson() {
  Json list = Json::array();
  for (const Lowering& row : Lowerings()) {
    Json kinds = Json::array();
    for (const CollectiveKind kind : row.kinds) kinds.push_back(ToText(kind));
    list.push_back({{"name", row.name},
                    {"help", row.help},
                    {"collectives", kinds},
                    {"parameters", row.parameters},
                    {"preconditions", row.preconditions},
                    {"time", row.time},
                    {"source", row.source}});
  }
  return Print({{"format", "podsim-lowerings/1"}, {"lowerings", list}});
}

std::string TopologySummaryJson(const TopologySummary& summary,
                                const Parameters& parameters) {
  Json bisection = nullptr;
  if (summary.bisection) {
    bisection = {{"axis", summary.bisection->axis},
                 {"links", summary.bisection->links},
                 {"bandwidth_bytes_per_s", summary.bisection->bytes_per_s}};
  }
  Json bounds = Json::object();
  for (const TopologySummary::PerByte& entry : summary.bounds) {
    bounds[entry.collective] = {{"seconds_per_byte", entry.seconds_per_byte},
                                {"bound", entry.bound}};
  }
  return Print(
      {{"format", "podsim-topology-report/1"},
       {"version", kVersion},
       {"parameters", ParametersJson(parameters)},
       {"slice", summary.slice},
       {"generation", summary.generation},
       {"shape", ShapeJson(summary.shape)},
       {"axes", summary.shape.empty() ? Json(nullptr) : Json(summary.axes)},
       {"wraps", summary.shape.empty() ? Json(nullptr) : Json(summary.wraps)},
       {"twisted", summary.twisted},
       {"slices", summary.slices},
       {"chips", summary.chips},
       {"links", summary.links},
       {"diameter", summary.diameter},
       {"mean_hops", summary.mean_hops},
       {"bisection", bisection},
       {"bounds", bounds}});
}

std::string TimingJson(const PhaseTimes& times, std::int64_t peak_bytes) {
  return Print({{"user_s",
                 {{"lower", times.lower},
                  {"verify", times.verify},
                  {"build", times.build},
                  {"engine", times.engine},
                  {"report", times.report}}},
                {"peak_bytes", peak_bytes}});
}

}  // namespace podsim
