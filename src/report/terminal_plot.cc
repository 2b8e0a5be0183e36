#include "report/terminal_plot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/parse_units.h"
#include "base/text.h"
#include "report/cells.h"

namespace podsim {
namespace {

constexpr std::size_t kPanels = 4;
constexpr std::size_t kCurves = 8;
constexpr std::size_t kBars = 12;
constexpr std::size_t kRows = 11;       // 100% to 0% in tens
constexpr std::size_t kAxisWidth = 6;   // "100% |"
constexpr std::size_t kPayloadGap = 8;  // columns between payloads, at most
constexpr std::size_t kShareWidth = 8;  // "  100.0%"
constexpr std::size_t kLeastColumns = 40;

// The best efficiency at each payload.
using Curve = std::map<double, double>;
struct NamedCurve {
  std::string name;
  Curve curve;
  int wins = 0;  // payloads where it is the first of the best
  double sum = 0;
};

// Best first: by payloads won, then by mean efficiency, then by name.
std::vector<NamedCurve> Ranked(const std::map<std::string, Curve>& curves,
                               const std::set<double>& payloads) {
  std::vector<NamedCurve> ranked;
  for (const auto& [name, curve] : curves) {
    ranked.push_back({.name = name, .curve = curve});
    for (const auto& entry : curve) ranked.back().sum += entry.second;
  }
  for (const double payload : payloads) {
    NamedCurve* best = nullptr;
    for (NamedCurve& candidate : ranked) {
      if (candidate.curve.count(payload) == 0) continue;
      if (best == nullptr ||
          candidate.curve.at(payload) > best->curve.at(payload)) {
        best = &candidate;
      }
    }
    ++best->wins;
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const NamedCurve& a, const NamedCurve& b) {
                     if (a.wins != b.wins) return a.wins > b.wins;
                     return a.sum * static_cast<double>(b.curve.size()) >
                            b.sum * static_cast<double>(a.curve.size());
                   });
  return ranked;
}

std::string Clipped(const std::string& line, std::size_t columns) {
  return Shortened(line, columns) + "\n";
}

std::string More(std::size_t shown, std::size_t of, const std::string& what) {
  if (shown >= of) return "";
  return "and " + std::to_string(of - shown) + " " + what + "\n";
}

std::string Bars(const std::vector<NamedCurve>& ranked, std::size_t columns) {
  const std::size_t shown = std::min(ranked.size(), kBars);
  std::size_t name_width = 0;
  for (std::size_t k = 0; k < shown; ++k) {
    name_width = std::max(name_width, ranked[k].name.size());
  }
  name_width = std::min(name_width, columns / 2);
  const std::size_t width = columns - name_width - 1 - kShareWidth;
  std::string text;
  for (std::size_t k = 0; k < shown; ++k) {
    const double share = ranked[k].curve.begin()->second;
    std::string name = Shortened(ranked[k].name, name_width);
    name.resize(name_width, ' ');
    std::string bar(static_cast<std::size_t>(std::lround(
                        std::min(share, 1.0) * static_cast<double>(width))),
                    '#');
    bar.resize(width, '.');
    std::string percent = Percent(share);
    percent.insert(0, kShareWidth - std::min(kShareWidth, percent.size()), ' ');
    text += name + " " + bar + percent + "\n";
  }
  return text + More(shown, ranked.size(), "slower lowerings");
}

// Ticks flush left at their column where the one before leaves room.
std::string PayloadTicks(const std::set<double>& payloads, std::size_t gap,
                         std::size_t columns) {
  std::string ticks(kAxisWidth, ' ');
  std::size_t at = kAxisWidth;
  for (const double payload : payloads) {
    const std::string tick = ToText(Bytes(static_cast<std::int64_t>(payload)));
    if (at + tick.size() <= columns &&
        (ticks.size() == kAxisWidth || ticks.size() < at)) {
      ticks.resize(at, ' ');
      ticks += tick;
    }
    at += gap;
  }
  return ticks + "\n";
}

std::string Curves(const std::vector<NamedCurve>& ranked,
                   const std::set<double>& payloads, std::size_t columns) {
  const std::size_t room = columns - kAxisWidth - 1;
  const std::size_t gap =
      std::clamp<std::size_t>(room / payloads.size(), 1, kPayloadGap);
  const std::size_t width = std::min(room, gap * (payloads.size() - 1) + 1);
  std::vector<std::string> grid(kRows, std::string(width, ' '));
  grid.front().assign(width, '-');  // the bound
  const std::size_t shown = std::min(ranked.size(), kCurves);
  for (std::size_t k = shown; k-- > 0;) {  // the best is drawn last
    std::size_t place = 0;
    for (const double payload : payloads) {
      const auto found = ranked[k].curve.find(payload);
      const std::size_t column = std::min(width - 1, gap * place++);
      if (found == ranked[k].curve.end()) continue;
      const double share = std::clamp(found->second, 0.0, 1.0);
      const auto row = static_cast<std::size_t>(
          std::lround((1 - share) * static_cast<double>(kRows - 1)));
      grid[row][column] = static_cast<char>('a' + k);
    }
  }
  std::string text;
  for (std::size_t row = 0; row < kRows; ++row) {
    std::string label =
        row % 5 == 0 ? std::to_string(100 - 10 * row) + "%" : "";
    label.insert(0, kAxisWidth - 2 - label.size(), ' ');
    text += label + " |" + grid[row] + "\n";
  }
  text += PayloadTicks(payloads, gap, columns);
  std::string legend;
  for (std::size_t k = 0; k < shown; ++k) {
    const std::string entry =
        std::string(1, static_cast<char>('a' + k)) + " " + ranked[k].name;
    if (!legend.empty() && legend.size() + 2 + entry.size() > columns) {
      text += Clipped(legend, columns);
      legend.clear();
    }
    legend += (legend.empty() ? "" : "  ") + entry;
  }
  return text + Clipped(legend, columns) +
         More(shown, ranked.size(), "lowerings that are best less often");
}

std::string PanelText(const std::string& name,
                      const std::vector<const EfficiencyPoint*>& points,
                      std::size_t columns) {
  std::map<std::string, Curve> curves;
  std::set<double> payloads;
  for (const EfficiencyPoint* point : points) {
    payloads.insert(point->payload_bytes);
    double& best = curves[point->series][point->payload_bytes];
    best = std::max(best, point->efficiency);
  }
  const std::vector<NamedCurve> ranked = Ranked(curves, payloads);
  const bool bars = payloads.size() == 1;
  const std::string payload =
      ToText(Bytes(static_cast<std::int64_t>(*payloads.begin())));
  const std::string title =
      name + (bars ? ", " + payload + ": efficiency" : ": efficiency by size") +
      ", 100% = the bound";
  return Clipped(title, columns) +
         (bars ? Bars(ranked, columns) : Curves(ranked, payloads, columns));
}

}  // namespace

std::vector<EfficiencyPoint> EfficienciesOf(const std::vector<Point>& points) {
  std::vector<EfficiencyPoint> result;
  for (const Point& point : points) {
    if (!point.efficiency || !point.lowering) continue;
    result.push_back({.panel = point.collective + " on " + point.slice,
                      .series = Split(*point.lowering, ':').front(),
                      .payload_bytes = static_cast<double>(point.payload_bytes),
                      .efficiency = *point.efficiency});
  }
  return result;
}

std::vector<EfficiencyPoint> EfficienciesOf(const ResultsFile& results) {
  std::vector<EfficiencyPoint> points;
  for (const ResultPoint& point : results.points) {
    if (!point.efficiency || !point.payload_bytes) continue;
    points.push_back({.panel = point.collective + " on " + point.slice,
                      .series = Split(point.lowering, ':').front(),
                      .payload_bytes = *point.payload_bytes,
                      .efficiency = *point.efficiency});
  }
  return points;
}

std::string TerminalPlot(const std::vector<EfficiencyPoint>& points,
                         std::size_t columns) {
  columns = std::max(columns, kLeastColumns);
  std::vector<std::string> panels;  // in the order of the points
  std::map<std::string, std::vector<const EfficiencyPoint*>> by_panel;
  for (const EfficiencyPoint& point : points) {
    auto& panel = by_panel[point.panel];
    if (panel.empty()) panels.push_back(point.panel);
    panel.push_back(&point);
  }
  std::string text;
  for (std::size_t k = 0; k < std::min(panels.size(), kPanels); ++k) {
    text += "\n" + PanelText(panels[k], by_panel[panels[k]], columns);
  }
  return text + More(kPanels, panels.size(),
                     "more slices or collectives; --html draws all");
}

}  // namespace podsim
