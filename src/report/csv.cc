#include "report/csv.h"

#include "base/text.h"
#include "report/version.h"

namespace podsim {
namespace {

using Fields = std::vector<std::string>;

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Row(const Fields& fields) {
  Fields quoted;
  for (const std::string& field : fields) quoted.push_back(Quoted(field));
  return Join(quoted, ",") + "\n";
}

std::string Field(const std::string& text) { return text; }
std::string Field(double value) { return Significant(value, 17); }
std::string Field(std::int64_t value) { return std::to_string(value); }
std::string Field(std::uint64_t value) { return std::to_string(value); }
std::string Field(const std::vector<int>& fold) { return ToText(fold); }
std::string Field(const Verdict& verdict) {
  return verdict.ok.value_or(false) ? verdict.method : "none";
}

template <class T>
std::string Field(const std::optional<T>& value) {
  return value ? Field(*value) : "";
}

Fields PointColumns() {
  return {"collective",
          "lowering",
          "slice",
          "generation",
          "group",
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
          "busiest_link_utilisation"};
}

Fields PointFields(const Point& point) {
  return {Field(point.collective),
          Field(point.lowering),
          Field(point.slice),
          Field(point.generation),
          Field(point.group),
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
          Field(point.fold),
          Field(point.verified),
          Field(point.busiest_link),
          Field(point.busiest_link_utilisation)};
}

// A table row by column name; columns without a value are empty.
class NamedFields {
 public:
  void Set(const std::string& column, const std::string& field) {
    fields_.emplace_back(column, field);
  }
  void Set(const Fields& columns, const Fields& fields) {
    for (std::size_t k = 0; k < columns.size(); ++k) Set(columns[k], fields[k]);
  }

  Fields In(const Fields& columns) const {
    Fields row;
    for (const std::string& column : columns) {
      row.emplace_back();
      for (const auto& [name, field] : fields_) {
        if (name == column) row.back() = field;
      }
    }
    return row;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

Fields SweepColumns() {
  Fields columns = {"request", "workload"};
  for (const std::string& column : PointColumns()) columns.push_back(column);
  for (const char* column :
       {"makespan_s", "compute_s", "interference_s", "exposed_communication_s",
        "idle_s", "overlapped_communication_s", "peak_hbm_bytes", "parameters",
        "version", "error"}) {
    columns.emplace_back(column);
  }
  return columns;
}

void SetStep(const StepResult& step, NamedFields& fields) {
  fields.Set("slice", step.slice);
  fields.Set("generation", step.generation);
  fields.Set("time_s", Field(step.makespan_s));
  fields.Set("lower_bound_s", Field(step.lower_bound_s));
  fields.Set("bound", step.bound);
  fields.Set("efficiency", Field(step.efficiency));
  fields.Set("transfers", Field(step.transfers));
  fields.Set("engine", step.engine);
  fields.Set("network", step.network);
  fields.Set("fold", Field(step.fold));
  fields.Set("verified", Field(step.verified));
  fields.Set("makespan_s", Field(step.makespan_s));
  fields.Set("compute_s", Field(step.compute_s));
  fields.Set("interference_s", Field(step.interference_s));
  fields.Set("exposed_communication_s", Field(step.exposed_communication_s));
  fields.Set("idle_s", Field(step.idle_s));
  fields.Set("overlapped_communication_s",
             Field(step.overlapped_communication_s));
  fields.Set("peak_hbm_bytes", Field(PeakBytes(step)));
}

// What is known of a point that failed.
void SetAsked(const SweepPoint& point, NamedFields& fields) {
  fields.Set("slice", point.slice);
  fields.Set("lowering", Join(point.lowerings, " "));
  fields.Set("network", point.network);
  if (!point.collective) return;
  fields.Set("collective", ToText(*point.collective));
  fields.Set("payload_bytes", Field(point.payload.value()));
}

// "ici.hop_latency_s=1e-06;..", those that are known.
std::string ParametersField(const Parameters& parameters) {
  Fields entries;
  for (const ParameterValue& entry : ListParameters(parameters)) {
    if (!entry.value) continue;
    entries.push_back(entry.json_key + "=" + Exact(*entry.value));
  }
  return Join(entries, ";");
}

}  // namespace

std::string PointsCsv(const std::vector<Point>& points) {
  std::string csv = Row(PointColumns());
  for (const Point& point : points) csv += Row(PointFields(point));
  return csv;
}

std::string SweepCsvHeader() { return Row(SweepColumns()); }

std::string SweepCsvRow(const SweepPoint& point, const SweepResult& result) {
  NamedFields fields;
  fields.Set("request", RequestOf(point));
  fields.Set("workload", point.workload);
  fields.Set("version", kVersion);
  if (result.error) {
    SetAsked(point, fields);
    fields.Set("error", *result.error);
    return Row(fields.In(SweepColumns()));
  }
  fields.Set("parameters", ParametersField(result.parameters));
  if (result.collective) {
    fields.Set(PointColumns(), PointFields(*result.collective));
  } else {
    SetStep(*result.step, fields);
  }
  return Row(fields.In(SweepColumns()));
}

}  // namespace podsim
