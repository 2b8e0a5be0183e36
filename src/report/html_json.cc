// The data of an HTML report.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/html.h"
#include "report/html_timeline.h"

namespace podsim {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostPointBytes = 500'000;
constexpr std::size_t kMostMapBytes = 200'000;
constexpr int kMostMapChips = 4096;

// On one line; "<" as \u003c, so that no name ends the script it stands in.
std::string Compact(const OrderedJson& json) {
  const std::string text =
      json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// Keeps the entries with the largest `key`, in their order.
void KeepLargest(OrderedJson& object, const char* list, const char* key,
                 std::size_t most, OrderedJson& left_out) {
  if (!object.contains(list) || !object[list].is_array()) return;
  OrderedJson& entries = object[list];
  if (entries.size() <= most) return;
  const auto value = [&](const OrderedJson& entry) {
    return entry[key].is_number() ? entry[key].get<double>() : -1.0;
  };
  std::vector<double> values;
  for (const OrderedJson& entry : entries) values.push_back(value(entry));
  std::nth_element(values.begin(), values.begin() + most - 1, values.end(),
                   std::greater<>());
  const double least = values[most - 1];
  OrderedJson kept = OrderedJson::array();
  for (OrderedJson& entry : entries) {
    if (kept.size() < most && value(entry) >= least) kept.push_back(entry);
  }
  left_out.push_back("the " + std::to_string(entries.size() - kept.size()) +
                     " smallest entries of " + list + " by " + key);
  entries = std::move(kept);
}

void Shorten(OrderedJson& point, OrderedJson& left_out) {
  KeepLargest(point, "collectives", "total_s", 150, left_out);
  KeepLargest(point, "computes", "compute_s", 400, left_out);
  KeepLargest(point, "critical_path", "seconds", 400, left_out);
  KeepLargest(point, "groups", "total_s", 100, left_out);
  if (point.contains("peak_hbm") && point["peak_hbm"].is_object()) {
    KeepLargest(point["peak_hbm"], "live", "bytes", 100, left_out);
  }
}

// [[link, bytes, busy_s, utilisation, links], ..]
OrderedJson RowsOfLinks(const OrderedJson& links) {
  OrderedJson rows = OrderedJson::array();
  for (const OrderedJson& use : links) {
    rows.push_back({use["link"], use["bytes"], use["busy_s"],
                    use["utilisation"], use["links"]});
  }
  return rows;
}

void MoveLinks(OrderedJson& point, std::size_t index, OrderedJson& data) {
  if (!point.contains("links")) return;
  data["maps"].push_back(
      {{"point", index}, {"links", RowsOfLinks(point["links"])}});
  point.erase("links");
}

void MoveParameters(OrderedJson& point, OrderedJson& data) {
  OrderedJson index = nullptr;
  if (point.contains("parameters")) {
    OrderedJson& sets = data["parameters"];
    const auto at = std::find(sets.begin(), sets.end(), point["parameters"]);
    index = at - sets.begin();
    if (at == sets.end()) sets.push_back(point["parameters"]);
    point.erase("parameters");
  }
  data["point_parameters"].push_back(index);
}

void Count(std::size_t kept, std::size_t all, const std::string& what,
           OrderedJson& left_out) {
  if (kept == all) return;
  left_out.push_back("the last " + std::to_string(all - kept) + " of " +
                     std::to_string(all) + " " + what);
}

void DropLastPoints(OrderedJson& data) {
  OrderedJson& points = data["result"]["points"];
  std::size_t bytes = 0, kept = 0;
  while (kept < points.size()) {
    bytes += Compact(points[kept]).size();
    if (bytes > kMostPointBytes) break;
    ++kept;
  }
  Count(kept, points.size(), "points", data["left_out"]);
  points.erase(points.begin() + kept, points.end());
}

// By point: how many of its payload come before it; of a comparison, how many
// are faster.
std::vector<int> RanksOf(const OrderedJson& points) {
  std::vector<int> ranks;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const bool same =
        k > 0 && points[k].contains("payload_bytes") &&
        points[k]["payload_bytes"] == points[k - 1].value("payload_bytes", -1);
    ranks.push_back(same ? ranks.back() + 1 : 0);
  }
  return ranks;
}

// The maps of the fastest stay, those of large payloads first.
void DropMaps(OrderedJson& data) {
  OrderedJson& maps = data["maps"];
  const std::vector<int> ranks = RanksOf(data["result"]["points"]);
  std::erase_if(maps.get_ref<OrderedJson::array_t&>(), [&](const auto& map) {
    return map["point"].template get<std::size_t>() >= ranks.size();
  });
  std::vector<std::size_t> order(maps.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int rank_a = ranks[maps[a]["point"].get<std::size_t>()];
    const int rank_b = ranks[maps[b]["point"].get<std::size_t>()];
    return rank_a != rank_b ? rank_a < rank_b : a > b;
  });
  std::size_t bytes = 0;
  std::vector<std::size_t> chosen;
  for (const std::size_t k : order) {
    const std::size_t size = Compact(maps[k]).size();
    if (bytes + size > kMostMapBytes) continue;
    bytes += size;
    chosen.push_back(k);
  }
  std::sort(chosen.begin(), chosen.end());
  OrderedJson kept = OrderedJson::array();
  for (const std::size_t k : chosen) kept.push_back(maps[k]);
  if (kept.size() < maps.size()) {
    data["left_out"].push_back(
        "the link use of " + std::to_string(maps.size() - kept.size()) +
        " of " + std::to_string(maps.size()) + " points");
  }
  maps = std::move(kept);
}

// Which links are alive: a digit of base 64 per chip, from '0' on, bit k for
// the k-th of x+, x-, y+, y-, z+, z-.
std::string LiveLinks(const Topology& topology) {
  std::string mask;
  for (int id = 0; id < topology.chips(); ++id) {
    int bits = 0;
    topology.ForEachLiveLinkFrom(ChipId(id), [&](LinkId link) {
      bits |= 1 << (topology.AxisOf(link) * 2 +
                    (topology.SignOf(link) == Sign::kMinus ? 1 : 0));
    });
    mask += static_cast<char>('0' + bits);
  }
  return mask;
}

OrderedJson SliceOf(const Slice& slice) {
  const Topology& topology = slice.topology;
  OrderedJson json = {{"spec", slice.spec}, {"chips", topology.chips()}};
  if (!topology.is_grid() || topology.chips() > kMostMapChips) return json;
  OrderedJson sizes = OrderedJson::array(), names = OrderedJson::array();
  for (std::size_t a = 0; a < topology.axes().size(); ++a) {
    sizes.push_back(topology.axes()[a].size);
    names.push_back(AxisName(topology, static_cast<int>(a)));
  }
  json["sizes"] = sizes;
  json["axes"] = names;
  json["ici_axes"] = topology.ici_axes();
  json["live"] = LiveLinks(topology);
  return json;
}

}  // namespace

std::string HtmlData(const HtmlContent& content) {
  OrderedJson data = {{"result", OrderedJson::parse(content.result)},
                      {"parameters", OrderedJson::array()},
                      {"point_parameters", OrderedJson::array()},
                      {"maps", OrderedJson::array()},
                      {"slice", nullptr},
                      {"timeline", nullptr},
                      {"left_out", OrderedJson::array()}};
  OrderedJson& points = data["result"]["points"];
  for (std::size_t k = 0; k < points.size(); ++k) {
    MoveLinks(points[k], k, data);
    MoveParameters(points[k], data);
    Shorten(points[k], data["left_out"]);
  }
  DropLastPoints(data);
  DropMaps(data);
  if (content.slice != nullptr) data["slice"] = SliceOf(*content.slice);
  if (content.slice != nullptr && content.record != nullptr) {
    data["timeline"] =
        OrderedJson::parse(HtmlTimeline(*content.record, *content.slice));
  }
  return Compact(data);
}

}  // namespace podsim
