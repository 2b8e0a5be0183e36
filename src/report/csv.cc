#include "report/csv.h"

#include "base/text.h"

namespace podsim {
namespace {

std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Field(double value) { return Significant(value, 17); }
std::string Field(std::int64_t value) { return std::to_string(value); }
std::string Field(std::uint64_t value) { return std::to_string(value); }

template <class T>
std::string Field(const std::optional<T>& value) {
  return value ? Field(*value) : "";
}

std::string Row(const std::vector<std::string>& fields) {
  return Join(fields, ",") + "\n";
}

}  // namespace

std::string PointsCsv(const std::vector<Point>& points) {
  std::string csv = Row({"collective",
                         "lowering",
                         "slice",
                         "generation",
                         "group_size",
                         "payload_bytes",
                         "time_s",
                         "lower_bound_s",
                         "bound",
                         "closed_form_s",
                         "efficiency",
                         "algbw_bytes_per_s",
                         "busbw_bytes_per_s",
                         "transfers",
                         "byte_hops",
                         "max_link_bytes",
                         "engine",
                         "network",
                         "fold",
                         "verified",
                         "busiest_link",
                         "busiest_link_utilisation"});
  for (const Point& point : points) {
    const std::string fold = point.fold ? ToText(*point.fold) : "";
    const std::string verified =
        point.verified.ok.value_or(false) ? point.verified.method : "none";
    csv += Row({Field(point.collective),
                Field(point.lowering),
                Field(point.slice),
                Field(point.generation),
                std::to_string(point.group_size),
                Field(point.payload_bytes),
                Field(point.time_s),
                Field(point.lower_bound_s),
                Field(point.bound),
                Field(point.closed_form_s),
                Field(point.efficiency),
                Field(point.algbw_bytes_per_s),
                Field(point.busbw_bytes_per_s),
                Field(point.transfers),
                Field(point.byte_hops),
                Field(point.max_link_bytes),
                point.engine,
                point.network,
                fold,
                verified,
                Field(point.busiest_link),
                Field(point.busiest_link_utilisation)});
  }
  return csv;
}

}  // namespace podsim
