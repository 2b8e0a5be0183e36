#include "report/table.h"

#include <algorithm>
#include <cmath>

#include "base/parse_units.h"
#include "base/text.h"
#include "collective/lowering.h"
#include "report/cells.h"

namespace podsim {
namespace {

// "bfb:sub_chunks=6 +3.2%": how much longer it takes.
std::string RunnerUpText(const Point& point) {
  if (!point.runner_up) return "-";
  if (!point.time_s || *point.time_s <= 0) return *point.runner_up;
  double more = (*point.runner_up_s / *point.time_s - 1) * 100;
  if (std::abs(more) < 0.05) more = 0;  // no "-0.0%"
  return *point.runner_up + (more < 0 ? " " : " +") + Fixed(more, 1) + "%";
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
