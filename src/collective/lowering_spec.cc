#include "collective/lowering.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/check.h"
#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "collective/block_view.h"
#include "collective/fx_plan.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/sub_grid.h"

namespace podsim {
namespace {

constexpr int kMaxBatches = 1024;
constexpr int kMaxChunks = 1 << 16;
constexpr int kMaxSubChunks = 64;
constexpr int kMaxTrees = 64;
constexpr int kMaxLat = 1024;
constexpr int kMaxPasses = 64;
constexpr int kMaxPower = 6;
// Three shares rounded to the six digits that ToText prints.
constexpr double kFractionSlack = 2e-6;

struct PrimitiveRow {
  AxisPrimitive primitive;
  const char* name;
};
constexpr PrimitiveRow kPrimitives[] = {{AxisPrimitive::kRing, "ring"},
                                        {AxisPrimitive::kSplit, "split"},
                                        {AxisPrimitive::kShort, "short"}};

// Parameters that are whole numbers. What 0 means is chosen by Resolve, or has
// no better way to be written.
struct CountRow {
  const char* key;
  int LoweringSpec::*member;
  int least;
  int most;
};
constexpr CountRow kCounts[] = {
    {"batches", &LoweringSpec::batches, 1, kMaxBatches},
    {"chunks", &LoweringSpec::chunks, 1, kMaxChunks},
    {"window", &LoweringSpec::window, 0, kMaxChunks},
    {"sub_chunks", &LoweringSpec::sub_chunks, 1, kMaxSubChunks},
    {"ports", &LoweringSpec::ports, 1, 2 * kMaxAxes},
    {"trees", &LoweringSpec::trees, 1, kMaxTrees},
    {"edge_copies", &LoweringSpec::edge_copies, 1, kMaxTrees},
    {"slack", &LoweringSpec::slack, 0, kMaxChunks},
    {"lat", &LoweringSpec::lat, 0, kMaxLat},
    {"passes", &LoweringSpec::passes, 0, kMaxPasses},
    {"parts", &LoweringSpec::parts, 1, kMaxSubChunks},
    {"power", &LoweringSpec::power, 1, kMaxPower}};

struct RootsRow {
  Roots roots;
  const char* name;
};
constexpr RootsRow kRoots[] = {{Roots::kMix, "mix"},
                               {Roots::kAll, "all"},
                               {Roots::kCentre, "centre"},
                               {Roots::kBest, "best"}};

const CountRow* FindCount(const std::string& key) {
  for (const CountRow& row : kCounts) {
    if (key == row.key) return &row;
  }
  return nullptr;
}

// Parameters that are true or false; nullptr: none of them.
bool LoweringSpec::*FindFlag(const std::string& key) {
  if (key == "far_first") return &LoweringSpec::far_first;
  if (key == "bidirectional") return &LoweringSpec::bidirectional;
  return nullptr;
}

std::vector<std::string> LoweringNames() {
  std::vector<std::string> names;
  for (const Lowering& row : Lowerings()) names.emplace_back(row.name);
  return names;
}

AxisPrimitive ParsePrimitive(const std::string& text,
                             const std::string& where) {
  for (const PrimitiveRow& row : kPrimitives) {
    if (text == row.name) return row.primitive;
  }
  throw InputError(
      where,
      "expected axis_primitive=ring, split or short, got \"" + text + "\"");
}

Roots ParseRoots(const std::string& text, const std::string& where) {
  for (const RootsRow& row : kRoots) {
    if (text == row.name && row.roots != Roots::kBest) return row.roots;
  }
  throw InputError(where,
                   "expected roots=mix, all or centre, got \"" + text + "\"");
}

const char* ToText(Roots roots) {
  for (const RootsRow& row : kRoots) {
    if (row.roots == roots) return row.name;
  }
  return "";
}

std::vector<double> ParseFractions(const std::string& text,
                                   const std::string& where) {
  std::vector<double> fractions;
  double sum = 0;
  for (const std::string& part : Split(text, '/')) {
    char* end = nullptr;
    const double value = std::strtod(part.c_str(), &end);
    if (part.empty() || *end != '\0' || !(value >= 0) || value > 1) {
      throw InputError(where,
                       "expected fractions between 0 and 1 joined by /, "
                       "such as 0.4/0.6, or balanced, got \"" +
                           text + "\"");
    }
    fractions.push_back(value);
    sum += value;
  }
  if (std::abs(sum - 1) > kFractionSlack) {
    throw InputError(where, "fractions must add up to 1, \"" + text +
                                "\" adds up to " + Significant(sum, 6));
  }
  for (double& value : fractions) value /= sum;
  return fractions;
}

void SetKey(const std::string& key, const std::string& value,
            const std::string& where, LoweringSpec& spec) {
  if (key == "axis_primitive") {
    spec.axis_primitive = ParsePrimitive(value, where);
  } else if (const CountRow* count = FindCount(key)) {
    spec.*count->member =
        ParseCount(value, count->least, count->most, where + ": " + key);
  } else if (key == "roots") {
    spec.roots = ParseRoots(value, where);
  } else if (key == "ties") {
    if (value != "parity" && value != "halves") {
      throw InputError(where,
                       "expected ties=parity or halves, got \"" + value + "\"");
    }
    spec.ties = value == "halves" ? Ties::kHalves : Ties::kParity;
  } else if (bool LoweringSpec::*flag = FindFlag(key)) {
    if (value != "true" && value != "false") {
      throw InputError(
          where, "expected " + key + "=true or false, got \"" + value + "\"");
    }
    spec.*flag = value == "true";
  } else if (key == "plan") {
    ParseFxText(value, where);
    spec.plan = value;
  } else if (key == "cut") {
    spec.cut = ParseCount(value, 0, kMaxBatches, where + ": " + key);
  } else if (key == "step_compute") {
    spec.step_compute = ParseDuration(value, where + ": " + key);
  } else if (value == "balanced") {
    spec.balanced = true;
  } else {
    spec.fractions = ParseFractions(value, where);
  }
}

// Solves the square system by elimination with pivoting; empty if singular.
std::vector<double> Solve(std::vector<std::vector<double>> rows) {
  const std::size_t n = rows.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r) {
      if (std::abs(rows[r][c]) > std::abs(rows[pivot][c])) pivot = r;
    }
    std::swap(rows[c], rows[pivot]);
    if (std::abs(rows[c][c]) < 1e-12) return {};
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double factor = rows[r][c] / rows[c][c];
      for (std::size_t k = c; k <= n; ++k) rows[r][k] -= factor * rows[c][k];
    }
  }
  std::vector<double> solution;
  for (std::size_t r = 0; r < n; ++r) {
    solution.push_back(rows[r][n] / rows[r][r]);
  }
  return solution;
}

// Shares f_k that keep all axes busy equally long: w_a L_a equal for all axes,
// where L_a = sum_k f_k m_k(a) (n_a - 1), m_k(a) = product of the sizes of the
// axes before a in part k's order, and w_a = 1/2 if both directions of a
// wrapped axis share the bytes, else 1. Unknowns: f_0 .. f_{d-1} and the common
// value.
std::vector<double> BalancedFractions(const LoweringSpec& spec,
                                      const std::vector<int>& active,
                                      const Topology& topology) {
  const std::size_t d = active.size();
  std::vector<std::vector<double>> rows(d + 1, std::vector<double>(d + 2, 0.0));
  for (std::size_t k = 0; k < d; ++k) {
    double before = 1;
    for (std::size_t stage = 0; stage < d; ++stage) {
      const std::size_t at = (k + stage) % d;
      const GridAxis& axis = topology.axes()[active[at]];
      const bool both_ways =
          axis.wrap && spec.axis_primitive != AxisPrimitive::kRing;
      rows[at][k] = (both_ways ? 0.5 : 1.0) * before * (axis.size - 1);
      before *= axis.size;
    }
    rows[k][d] = -1;
    rows[d][k] = 1;
  }
  rows[d][d + 1] = 1;
  std::vector<double> solution = Solve(std::move(rows));
  if (!solution.empty()) solution.pop_back();
  return solution;
}

}  // namespace

const char* ToText(AxisPrimitive primitive) {
  for (const PrimitiveRow& row : kPrimitives) {
    if (row.primitive == primitive) return row.name;
  }
  return "";
}

LoweringSpec ParseLoweringSpec(const std::string& text,
                               const std::string& where) {
  const auto colon = text.find(':');
  LoweringSpec spec{.name = text.substr(0, colon), .fractions = {}};
  const Lowering* row = FindLowering(spec.name);
  if (row == nullptr) {
    const auto similar = Similar(spec.name, LoweringNames());
    throw InputError(
        where, "unknown lowering \"" + spec.name + "\"" +
                   (similar ? "; did you mean \"" + *similar + "\"?" : "") +
                   " (known: auto, " + Join(LoweringNames(), ", ") + ")");
  }
  if (colon == std::string::npos) return spec;
  std::vector<std::string> seen;
  for (const std::string& entry : Split(text.substr(colon + 1), ',')) {
    const auto equals = entry.find('=');
    const std::string key = entry.substr(0, equals);
    if (std::find(row->parameters.begin(), row->parameters.end(), key) ==
        row->parameters.end()) {
      throw InputError(where,
                       spec.name + " has no parameter \"" + key + "\"" +
                           (row->parameters.empty()
                                ? "; it takes none"
                                : "; known: " + Join(row->parameters, ", ")));
    }
    if (equals == std::string::npos) {
      throw InputError(where, "expected " + key + "=VALUE in \"" + text + "\"");
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      throw InputError(where, key + " stands twice in \"" + text + "\"");
    }
    seen.push_back(key);
    SetKey(key, entry.substr(equals + 1), where, spec);
  }
  return spec;
}

std::optional<std::vector<double>> ResolveFractions(
    const LoweringSpec& spec, const Collective& collective,
    const Topology& topology) {
  if (const auto view = BlockViewOf(collective, topology)) {
    return ResolveFractions(spec, view->collective, view->topology);
  }
  const std::vector<int> active = ActiveAxes(collective, topology);
  const std::size_t d = std::max<std::size_t>(1, active.size());
  std::vector<double> fractions = spec.fractions;
  if (spec.balanced && active.size() > 1) {
    fractions = BalancedFractions(spec, active, topology);
    for (double& share : fractions) {
      if (share < -1e-12) return std::nullopt;
      share = std::max(share, 0.0);
    }
    if (fractions.empty()) return std::nullopt;
  }
  if (fractions.empty()) {
    fractions.assign(d, 1.0 / static_cast<double>(d));
  }
  return fractions;
}

std::string ToText(const LoweringSpec& spec, const Collective& collective,
                   const Topology& topology) {
  std::vector<std::string> entries;
  for (const std::string& key : FindLowering(spec.name)->parameters) {
    if (key == "axis_primitive") {
      entries.push_back(key + "=" + ToText(spec.axis_primitive));
    } else if (const CountRow* count = FindCount(key)) {
      entries.push_back(key + "=" + std::to_string(spec.*count->member));
    } else if (key == "roots") {
      entries.push_back(key + "=" + ToText(spec.roots));
    } else if (key == "ties") {
      entries.push_back(key + "=" +
                        (spec.ties == Ties::kHalves ? "halves" : "parity"));
    } else if (bool LoweringSpec::*flag = FindFlag(key)) {
      entries.push_back(key + "=" + (spec.*flag ? "true" : "false"));
    } else if (key == "plan") {
      entries.push_back(key + "=" + spec.plan);
    } else if (key == "cut") {
      if (spec.cut >= 0)
        entries.push_back(key + "=" + std::to_string(spec.cut));
    } else if (key == "step_compute") {
      entries.push_back(key + "=" + Exact(spec.step_compute.value()) + "s");
    } else {
      std::vector<std::string> shares;
      const auto fractions = ResolveFractions(spec, collective, topology);
      CHECK(fractions.has_value());
      for (const double share : *fractions) {
        shares.push_back(Significant(share, 6));
      }
      entries.push_back(key + "=" + Join(shares, "/"));
    }
  }
  return entries.empty() ? spec.name : spec.name + ":" + Join(entries, ",");
}

}  // namespace podsim
