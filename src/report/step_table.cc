#include "report/step_table.h"

#include <algorithm>

#include "base/parse_units.h"
#include "base/text.h"
#include "report/cells.h"
#include "step/memory.h"

namespace podsim {
namespace {

constexpr std::size_t kShownBuffers = 3;

std::string ModeNote(const StepResult& step) {
  if (step.step_mode != "abstract") return "";
  return "step mode abstract: each collective is one transfer that has its "
         "axes "
         "for itself\n";
}

// "peak HBM 12GiB of 95GiB at fusion.7: weights 8GiB, ..".
std::string MemoryText(const StepResult& step) {
  if (!step.memory) return "";
  const StepMemory& memory = *step.memory;
  std::string text = "peak HBM " + AmountText(memory.peak);
  if (step.hbm_capacity) text += " of " + AmountText(*step.hbm_capacity);
  if (!memory.at.empty()) text += " at " + memory.at;
  std::vector<std::string> largest;
  for (const LiveBuffer& buffer : memory.live) {
    if (largest.size() == kShownBuffers) break;
    largest.push_back(buffer.name + " " + AmountText(buffer.bytes));
  }
  if (!largest.empty()) text += "; largest: " + Join(largest, ", ");
  if (step.hbm_capacity && memory.peak > *step.hbm_capacity) {
    text += "\nthat is more than the chip has, by " +
            AmountText(memory.peak - *step.hbm_capacity);
  }
  return text + "\n";
}

std::string GroupsTable(const StepResult& step) {
  if (step.collectives.size() < 2) return "";
  std::vector<std::vector<std::string>> rows = {
      {"<who", "collectives", "times", "total(us)", "exposed(us)",
       "overlapped(us)", "share exposed"}};
  for (const GroupTotal& total : TotalsByGroup(step)) {
    std::optional<double> share;
    if (total.exposed_s && step.makespan_s && *step.makespan_s > 0) {
      share = *total.exposed_s / *step.makespan_s;
    }
    rows.push_back({total.axes.empty() ? total.group : total.axes,
                    std::to_string(total.collectives),
                    std::to_string(total.executions), Micros(total.flight_s),
                    Micros(total.exposed_s), Micros(total.overlapped_s),
                    Percent(share)});
  }
  return "\n" + FormatTable(rows);
}

}  // namespace

std::string StepTable(const Slice& slice, const StepResult& step) {
  std::string text =
      (step.name.empty() ? "" : step.name + "\n") + Heading(slice);
  const auto part = [&](const std::string& name,
                        const std::optional<double>& seconds) {
    std::optional<double> share;
    if (seconds && step.makespan_s && *step.makespan_s > 0) {
      share = *seconds / *step.makespan_s;
    }
    return std::vector<std::string>{name, Micros(seconds), Percent(share)};
  };
  text += FormatTable(
      {{"<step", "time(us)", "share"},
       part("makespan", step.makespan_s),
       part("  compute", step.compute_s),
       part("  exposed communication", step.exposed_communication_s),
       part("  interference", step.interference_s),
       part("  idle (waiting for other chips)", step.idle_s),
       part("(overlapped communication)", step.overlapped_communication_s),
       part("lower bound (" + step.bound + ")", step.lower_bound_s)});
  text += NetworkNote(step.network);
  text += ModeNote(step);
  text += MemoryText(step) + GroupsTable(step);
  if (!step.collectives.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"<op", "<collective", "size", "group", "times", "each(us)",
         "bound(us)", "<bound", "efficiency", "busbw(GB/s)", "exposed(us)",
         "overlapped(us)", "<verified", "<lowering"}};
    for (const StepCollective& entry : step.collectives) {
      const Point& point = entry.alone;
      rows.push_back(
          {entry.id, point.collective, ToText(Bytes(point.payload_bytes)),
           std::to_string(point.group_size), std::to_string(entry.executions),
           Micros(point.time_s), Micros(point.lower_bound_s),
           point.bound.value_or("-"), Percent(point.efficiency),
           GigaBytes(point.busbw_bytes_per_s), Micros(entry.exposed_s),
           Micros(entry.overlapped_s), VerdictText(point.verified),
           point.lowering.value_or("-")});
    }
    text += "\n" + FormatTable(rows);
  }
  if (!step.critical_path.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"<critical path", "<kind", "time(us)", "share", "by order only(us)"}};
    for (const PathEntry& entry : step.critical_path) {
      rows.push_back({entry.op, entry.kind, Micros(entry.seconds),
                      Percent(entry.seconds / *step.makespan_s),
                      Micros(entry.scheduling_s)});
    }
    text += "\n" + FormatTable(rows);
  }
  return text;
}

std::string ExplanationTable(const Slice& slice,
                             const Explanation& explanation) {
  const StepResult& step = explanation.step;
  const double makespan = *step.makespan_s;
  const auto share = [&](double seconds) {
    return makespan > 0 ? std::optional(seconds / makespan) : std::nullopt;
  };
  std::string text =
      (step.name.empty() ? "" : step.name + "\n") + Heading(slice);
  text += ModeNote(step) + "bottleneck: " + explanation.bottleneck;
  if (explanation.second) text += ", then " + *explanation.second;
  text += "\n  " + explanation.reason + "\n\n";
  std::vector<std::vector<std::string>> rows = {
      {"<what if", "time(us)", "gain(us)", "gain", "<of", "all so far(us)"}};
  rows.push_back({"as it is", Micros(makespan), "-", "-", "-", "-"});
  for (const WhatIfRung& rung : explanation.rungs) {
    rows.push_back({rung.change, Micros(rung.makespan_s), Micros(rung.gain_s),
                    Percent(share(rung.gain_s)), rung.gain_named,
                    Micros(rung.cumulative_makespan_s)});
  }
  text += FormatTable(rows);
  text +=
      "gains do not add up; \"all so far\" has the changes of all lines "
      "above too\n" +
      MemoryText(step);
  if (!explanation.exposed.empty()) {
    rows = {{"<most exposed", "<collective", "<who", "times", "transfer(us)",
             "queue(us)", "exposed(us)", "overlapped(us)", "slack(us)",
             "needs(GB/s)"}};
    for (const ExposedCollective& entry : explanation.exposed) {
      rows.push_back({entry.id, entry.collective, entry.group,
                      std::to_string(entry.executions),
                      Micros(entry.transfer_s), Micros(entry.queue_s),
                      Micros(entry.exposed_s), Micros(entry.overlapped_s),
                      Micros(entry.slack_s),
                      GigaBytes(entry.required_bytes_per_s)});
    }
    text += "\n" + FormatTable(rows);
  }
  rows = {{"<critical path", "time(us)", "share"}};
  for (const auto& [kind, seconds] : PathByKind(step)) {
    rows.push_back({kind, Micros(seconds), Percent(share(seconds))});
  }
  text += "\n" + FormatTable(rows);
  rows = {{"<bound of any order", "time(us)", "share"}};
  for (const auto& [name, seconds] : step.bounds) {
    rows.push_back({name, Micros(seconds), Percent(share(seconds))});
  }
  text += "\n" + FormatTable(rows);
  const StepEfficiency& efficiency = explanation.efficiency;
  rows = {{"<efficiency", "value", "<is"},
          {"MFU", Percent(efficiency.mfu), "FLOPs / (time x peak)"},
          {"  kernels", Percent(efficiency.kernels),
           "ideal time of the FLOPs / time of the computes"},
          {"  hiding", Percent(efficiency.hiding),
           "time of the computes / best bound"},
          {"  schedule", Percent(efficiency.schedule), "best bound / time"},
          {"compute", Percent(efficiency.compute), "computes / time"},
          {"overlap", Percent(efficiency.overlap),
           "share of communication that is hidden"},
          {"memory", Percent(efficiency.memory), "peak / capacity"}};
  return text + "\n" + FormatTable(rows);
}

}  // namespace podsim
