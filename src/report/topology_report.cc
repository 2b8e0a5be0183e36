#include "report/topology_report.h"

#include <algorithm>

#include "base/parse_units.h"
#include "base/text.h"
#include "cost/bisection.h"
#include "cost/bounds.h"
#include "cost/pair_bounds.h"
#include "report/json.h"
#include "sim/simulate.h"
#include "topology/distance.h"

namespace podsim {
namespace {

struct PerByte {
  CollectiveKind kind;
  double seconds_per_byte = 0;
  std::string bound;
};

// The slope of the bounds: the difference between two large payloads.
std::vector<PerByte> BoundsPerByte(const Slice& slice) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  std::vector<PerByte> list;
  for (const CollectiveKind kind : AllCollectiveKinds()) {
    Collective collective{.kind = kind,
                          .payload = Bytes(kLarge),
                          .axes = slice.topology.dcn()
                                      ? AllAxes(slice.topology)
                                      : IciAxes(slice.topology)};
    if (HasPairs(kind)) continue;  // which?
    const Bounds once = ComputeBounds(collective, slice);
    collective.payload = Bytes(2 * kLarge);
    const Bounds twice = ComputeBounds(collective, slice);
    RequireFinite(twice.binding().time.value(),
                  std::string("the bound of ") + ToText(kind));
    PerByte entry{.kind = kind, .bound = "none"};
    for (std::size_t k = 0; k < once.components.size(); ++k) {
      const double slope =
          (twice.components[k].time - once.components[k].time).value() /
          static_cast<double>(kLarge);
      if (slope <= entry.seconds_per_byte) continue;
      entry.seconds_per_byte = slope;
      entry.bound = once.components[k].name;
    }
    list.push_back(entry);
  }
  return list;
}

std::string WrapText(const Topology& topology) {
  std::vector<std::string> wraps;
  for (int axis = 0; axis < topology.ici_axes(); ++axis) {
    if (topology.axes()[axis].wrap) wraps.push_back(AxisName(topology, axis));
  }
  return wraps.empty() ? "none" : Join(wraps, ", ");
}

// "45GB/s to 90GB/s" over the live links.
std::string RateRange(const Topology& topology) {
  BytesPerSecond least = topology.base_bandwidth();
  BytesPerSecond most = BytesPerSecond(0);
  topology.ForEachLiveLink([&](LinkId link) {
    least = std::min(least, topology.Bandwidth(link));
    most = std::max(most, topology.Bandwidth(link));
  });
  return least == most ? ToText(most) : ToText(least) + " to " + ToText(most);
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string TopologyTable(const Slice& slice) {
  const Topology& topology = slice.topology;
  const DistanceSummary distances = SummariseDistances(topology);
  std::vector<std::vector<std::string>> rows = {{"<slice", "<" + slice.spec}};
  rows.push_back({"generation", slice.generation});
  if (topology.is_grid()) rows.push_back({"shape", ToText(slice.shape)});
  if (topology.slices() > 1) {
    rows.push_back({"slices", std::to_string(topology.slices())});
  }
  if (const auto& dcn = topology.dcn()) {
    rows.push_back({"hosts", std::to_string(topology.hosts()) + " of up to " +
                                 std::to_string(dcn->host[0] * dcn->host[1] *
                                                dcn->host[2]) +
                                 " chips, a NIC each"});
    rows.push_back({"DCN", ToText(dcn->bandwidth) + " each way per chip, " +
                               ToText(dcn->latency)});
  }
  std::string chips = std::to_string(topology.live_chips());
  if (topology.live_chips() < topology.chips()) {
    chips += " of " + std::to_string(topology.chips()) + " (others dead)";
  }
  rows.push_back({"chips", chips});
  rows.push_back({"links (one way)", std::to_string(CountLiveLinks(topology))});
  rows.push_back({"link bandwidth",
                  topology.uniform()
                      ? ToText(slice.parameters.ici_bandwidth) + " each way"
                      : RateRange(topology) + " each way, links differ"});
  if (topology.is_grid()) {
    rows.push_back({"wrapped axes", WrapText(topology)});
    rows.push_back({"twisted", topology.twisted() ? "yes" : "no"});
  }
  rows.push_back({"diameter", std::to_string(distances.diameter) + " hops"});
  rows.push_back({"mean hops", Fixed(distances.mean_hops, 4)});
  if (const auto bisection = ComputeBisection(topology)) {
    rows.push_back({"bisection", std::to_string(bisection->links) + " links, " +
                                     ToText(bisection->bandwidth) +
                                     " one way, across axis " +
                                     AxisName(topology, bisection->axis)});
  }
  std::vector<std::vector<std::string>> bounds = {
      {"<bound over all chips", "us per MiB", "algbw(GB/s)", "<bound"}};
  for (const PerByte& entry : BoundsPerByte(slice)) {
    bounds.push_back(
        {ToText(entry.kind), Fixed(entry.seconds_per_byte * 1e6 * (1 << 20), 4),
         entry.seconds_per_byte > 0 ? Fixed(1e-9 / entry.seconds_per_byte, 2)
                                    : "-",
         entry.bound});
  }
  return FormatTable(rows) + "\n" + FormatTable(bounds);
}

std::string TopologyJson(const Slice& slice) {
  const Topology& topology = slice.topology;
  TopologySummary summary{.slice = slice.spec,
                          .generation = slice.generation,
                          .shape = slice.shape,
                          .axes = {},
                          .wraps = {},
                          .twisted = topology.twisted(),
                          .slices = topology.slices(),
                          .chips = topology.live_chips(),
                          .links = CountLiveLinks(topology),
                          .diameter = {},
                          .mean_hops = {},
                          .bisection = {},
                          .bounds = {}};
  for (int axis = 0; topology.is_grid() && axis < topology.ici_axes(); ++axis) {
    summary.axes.push_back(AxisName(topology, axis));
    summary.wraps.push_back(topology.axes()[axis].wrap);
  }
  const DistanceSummary distances = SummariseDistances(topology);
  summary.diameter = distances.diameter;
  summary.mean_hops = distances.mean_hops;
  if (const auto cut = ComputeBisection(topology)) {
    summary.bisection = TopologySummary::Cut{
        AxisName(topology, cut->axis), cut->links, cut->bandwidth.value()};
  }
  for (const PerByte& entry : BoundsPerByte(slice)) {
    summary.bounds.push_back(
        {ToText(entry.kind), entry.seconds_per_byte, entry.bound});
  }
  return TopologySummaryJson(summary, slice.parameters);
}

std::string TopologyDot(const Slice& slice) {
  const Topology& topology = slice.topology;
  std::string dot = "graph " + Quoted(slice.spec) + " {\n";
  for (int id = 0; id < topology.chips(); ++id) {
    dot += "  " + Quoted(topology.NameOf(ChipId(id))) +
           (topology.Live(ChipId(id)) ? "" : " [style=dashed]") + ";\n";
  }
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    const LinkId link(id);
    // A cable once: by its + link, or the first of an explicit pair.
    if (!topology.Exists(link) || id % 2 != 0) continue;
    const bool live =
        topology.Live(link) && topology.Live(topology.Reverse(link));
    dot += "  " + Quoted(topology.NameOf(topology.Source(link))) + " -- " +
           Quoted(topology.NameOf(topology.Target(link))) +
           " [label=" + Quoted(topology.NameOf(link)) +
           (live ? "" : ", style=dashed") + "];\n";
  }
  return dot + "}\n";
}

}  // namespace podsim
