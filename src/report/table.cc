#include "report/table.h"

#include <algorithm>
#include <cmath>

#include "base/parse_units.h"
#include "base/text.h"
#include "collective/lowering.h"

namespace podsim {
namespace {

constexpr double kMicro = 1e6;
constexpr double kGiga = 1e-9;

std::string Micros(const std::optional<double>& seconds) {
  return seconds ? Fixed(*seconds * kMicro, 2) : "-";
}
std::string GigaBytes(const std::optional<double>& rate) {
  return rate ? Fixed(*rate * kGiga, 2) : "-";
}
std::string Percent(const std::optional<double>& share) {
  return share ? Fixed(*share * 100, 1) + "%" : "-";
}

std::string VerdictText(const Verdict& verdict) {
  return verdict.ok.value_or(false) ? verdict.method : "no";
}

// "bfb:sub_chunks=6 +3.2%": how much longer it takes.
std::string RunnerUpText(const Point& point) {
  if (!point.runner_up) return "-";
  if (!point.time_s || *point.time_s <= 0) return *point.runner_up;
  double more = (*point.runner_up_s / *point.time_s - 1) * 100;
  if (std::abs(more) < 0.05) more = 0;  // no "-0.0%"
  return *point.runner_up + (more < 0 ? " " : " +") + Fixed(more, 1) + "%";
}

std::string Plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// What the numbers rest on, in one line.
std::string Heading(const Slice& slice) {
  const Parameters& p = slice.parameters;
  std::string text =
      slice.spec + ": " + Plural(slice.topology.live_chips(), "chip");
  text += slice.topology.uniform()
              ? ", links " + ToText(p.ici_bandwidth) + " each way, alpha " +
                    ToText(p.ici_hop_latency) + " per hop"
              : ", links differ";
  if (p.ici_message_overhead.value() > 0) {
    text += ", o " + ToText(p.ici_message_overhead) + " per message";
  }
  if (p.ici_issue.value() > 0) {
    text += ", issue " + ToText(p.ici_issue) + " per message, serialised";
  }
  if (p.ici_window > 0) {
    text += ", at most " + std::to_string(p.ici_window) +
            " messages in flight per lane";
  }
  if (p.collective_launch.value() > 0) {
    text += ", launch " + ToText(p.collective_launch);
  }
  return text + "\n";
}

// What another network than fluid does differently, in one line; else "".
std::string NetworkNote(const std::string& network) {
  if (network == "fifo") {
    return "network fifo: a link serves one transfer at a time, first come "
           "first served, where fluid shares it among all that are there\n";
  }
  if (network.starts_with("packet")) {
    return "network " + network +
           ": every link serves packets first come first served into endless "
           "buffers, where fluid shares all links of a route fairly\n";
  }
  return "";
}

// Reasons that several points share, once each, without ok verdicts.
std::vector<std::string> UnverifiedReasons(const std::vector<Point>& points) {
  std::vector<std::string> reasons;
  for (const Point& point : points) {
    if (point.verified.ok.value_or(false) || !point.verified.reason) continue;
    if (std::find(reasons.begin(), reasons.end(), *point.verified.reason) ==
        reasons.end()) {
      reasons.push_back(*point.verified.reason);
    }
  }
  return reasons;
}

}  // namespace

std::string PointsTable(const Slice& slice, const std::vector<Point>& points,
                        const std::vector<NotApplicable>& not_applicable) {
  std::vector<std::vector<std::string>> rows = {
      {"<collective", "size", "group", "time(us)", "bound(us)", "<bound",
       "efficiency", "algbw(GB/s)", "busbw(GB/s)", "transfers", "<verified",
       "<lowering"}};
  const bool chosen = std::any_of(
      points.begin(), points.end(),
      [](const Point& point) { return point.runner_up.has_value(); });
  if (chosen) rows[0].emplace_back("<runner-up");
  for (const Point& point : points) {
    rows.push_back({point.collective, ToText(Bytes(point.payload_bytes)),
                    std::to_string(point.group_size), Micros(point.time_s),
                    Micros(point.lower_bound_s), point.bound.value_or("-"),
                    Percent(point.efficiency),
                    GigaBytes(point.algbw_bytes_per_s),
                    GigaBytes(point.busbw_bytes_per_s),
                    point.transfers ? std::to_string(*point.transfers) : "-",
                    VerdictText(point.verified), point.lowering.value_or("-")});
    if (chosen) rows.back().push_back(RunnerUpText(point));
  }
  std::string text = Heading(slice) + FormatTable(rows);
  if (!points.empty()) text += NetworkNote(points[0].network);
  for (const std::string& reason : UnverifiedReasons(points)) {
    text += "not verified: " + reason + "\n";
  }
  if (!not_applicable.empty()) {
    text += "does not apply here:\n";
    for (const NotApplicable& entry : JoinReasons(not_applicable)) {
      text += "  " + entry.lowering + ": " + entry.reason + "\n";
    }
  }
  return text;
}

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
        {"<critical path", "<kind", "time(us)", "share"}};
    for (const PathEntry& entry : step.critical_path) {
      rows.push_back({entry.op, entry.kind, Micros(entry.seconds),
                      Percent(entry.seconds / *step.makespan_s)});
    }
    text += "\n" + FormatTable(rows);
  }
  return text;
}

std::string LinksTable(const std::vector<LinkUse>& links, int top) {
  if (links.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"<busiest links", "links", "bytes", "busy(us)", "utilisation"}};
  for (const LinkUse& use : links) {
    if (rows.size() > static_cast<std::size_t>(top)) break;
    rows.push_back({use.link, std::to_string(use.links),
                    std::to_string(use.bytes), Micros(use.busy_s),
                    Percent(use.utilisation)});
  }
  return "\n" + FormatTable(rows);
}

std::string LoweringsTable() {
  std::vector<std::vector<std::string>> rows = {
      {"<lowering", "<for", "<needs", "<parameters",
       "<time of the first kind, a = o + alpha", "<what it does"}};
  for (const Lowering& row : Lowerings()) {
    std::vector<std::string> kinds;
    for (const CollectiveKind kind : row.kinds) kinds.push_back(ToText(kind));
    rows.push_back({row.name, Join(kinds, ", "), row.preconditions,
                    row.parameters.empty() ? "-" : Join(row.parameters, ", "),
                    row.time, row.help});
  }
  return FormatTable(rows);
}

std::string GenerationsTable(const std::vector<Generation>& generations) {
  std::string text;
  for (const Generation& generation : generations) {
    text += generation.name + (generation.estimated ? " (estimated)" : "") +
            ": " + generation.description + "\n";
    std::vector<std::vector<std::string>> rows = {
        {"<  parameter", "<value", "<confidence", "<source"}};
    for (const GenerationParameter& fact : generation.facts) {
      rows.push_back(
          {"  " + fact.key, fact.value, fact.confidence, fact.source});
    }
    text += FormatTable(rows) + "\n";
  }
  return text;
}

}  // namespace podsim
