#include "report/results_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/text_file.h"

namespace podsim {
namespace {

// A value of a point as text, by key; "" if it has none.
using TextOf = std::function<std::string(const std::string& key)>;

std::string Identity(const TextOf& text) {
  std::vector<std::string> words;
  if (const std::string collective = text("collective"); !collective.empty()) {
    words = {collective,
             "slice=" + text("slice"),
             "bytes=" + text("payload_bytes"),
             "group_size=" + text("group_size"),
             "lowering=" + text("lowering"),
             "engine=" + text("engine"),
             "network=" + text("network")};
    if (const std::string group = text("group"); !group.empty()) {
      words.push_back("group=" + group);
    }
  } else {
    const std::string name = text("name");
    words = {"step", name.empty() ? text("workload") : name,
             "slice=" + text("slice")};
  }
  return Join(words, " ");
}

void Describe(const TextOf& text, ResultPoint& point) {
  point.identity = Identity(text);
  point.collective = text("collective");
  if (point.collective.empty()) return;
  point.slice = text("slice");
  point.lowering = text("lowering");
}

void RequireTime(double seconds, const std::string& where) {
  if (std::isfinite(seconds) && seconds >= 0) return;
  throw InputError(where, "expected a time in seconds, got " + Exact(seconds));
}

// --- JSON

std::string JsonText(const JsonValue& point, const std::string& key) {
  const auto value = point.Find(key);
  if (!value || value->is_null()) return "";
  return value->is_number() ? Exact(value->AsNumber()) : value->AsString();
}

std::map<std::string, double> ReadParameters(const JsonValue& json) {
  std::map<std::string, double> parameters;
  for (const std::string& key : json.Keys()) {
    const JsonValue value = json.Get(key);
    if (!value.is_null()) parameters[key] = value.AsNumber();
  }
  return parameters;
}

ResultPoint ReadJsonPoint(const JsonValue& json) {
  ResultPoint point;
  point.where = json.where();
  if (const auto request = json.Find("request")) {
    point.request = request->AsString();
  }
  Describe([&](const std::string& key) { return JsonText(json, key); }, point);
  const auto number = [&](const std::string& key) -> std::optional<double> {
    const auto value = json.Find(key);
    if (!value || value->is_null()) return std::nullopt;
    return value->AsNumber();
  };
  point.payload_bytes = number("payload_bytes");
  point.group_size = number("group_size");
  point.efficiency = number("efficiency");
  if (const auto parameters = json.Find("parameters")) {
    point.parameters = ReadParameters(*parameters);
  }
  if (const auto error = json.Find("error")) {
    point.error = error->AsString();
    return point;
  }
  auto time = json.Find("time_s");
  if (!time) time = json.Find("makespan_s");
  if (!time) {
    json.Fail("expected one of the keys time_s, makespan_s and error");
  }
  if (time->is_null()) return point;
  point.time_s = time->AsNumber();
  RequireTime(*point.time_s, time->where());
  return point;
}

ResultsFile ReadJsonResults(const std::string& text, const std::string& path) {
  const JsonValue json = JsonValue::ParseText(text, path);
  const JsonValue format = json.Get("format");
  if (format.AsString() != "podsim-result/1") {
    format.Fail("expected \"podsim-result/1\", got \"" + format.AsString() +
                "\"; see `podsim sweep --help`");
  }
  const std::string version = json.Get("version").AsString();
  std::optional<std::map<std::string, double>> parameters;
  if (const auto shared = json.Find("parameters")) {
    parameters = ReadParameters(*shared);
  }
  ResultsFile file{.path = path, .points = {}};
  for (const JsonValue& entry : json.Get("points").Elements()) {
    file.points.push_back(ReadJsonPoint(entry));
    ResultPoint& point = file.points.back();
    point.version = version;
    if (!point.parameters && !point.error) point.parameters = parameters;
  }
  return file;
}

// --- CSV

struct Record {
  int line = 0;  // where it begins
  std::vector<std::string> fields;
};

// RFC 4180; lines may end in \r\n.
std::vector<Record> ParseCsv(const std::string& text, const std::string& path) {
  std::vector<Record> records;
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    Record record{.line = line, .fields = {""}};
    bool quoted = false;
    bool ended = false;
    for (; at < text.size() && !ended; ++at) {
      const char c = text[at];
      if (c == '\n') ++line;
      if (quoted && c == '"' && text.substr(at + 1, 1) == "\"") {
        record.fields.back() += '"';
        ++at;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (quoted) {
        record.fields.back() += c;
      } else if (c == ',') {
        record.fields.emplace_back();
      } else if (c == '\n') {
        ended = true;
      } else if (c != '\r') {
        record.fields.back() += c;
      }
    }
    if (quoted) {
      throw InputError(path + ":" + std::to_string(record.line),
                       "a quoted field does not end");
    }
    records.push_back(std::move(record));
  }
  return records;
}

double ParseNumber(const std::string& text, const std::string& where) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw InputError(where, "expected a number, got \"" + text + "\"");
  }
  return value;
}

// "key=value;key=value".
std::map<std::string, double> ParseParameters(const std::string& text,
                                              const std::string& where) {
  std::map<std::string, double> parameters;
  for (const std::string& entry : Split(text, ';')) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) {
      throw InputError(where, "expected KEY=NUMBER;.., got \"" + entry + "\"");
    }
    parameters[entry.substr(0, equals)] =
        ParseNumber(entry.substr(equals + 1), where);
  }
  return parameters;
}

class CsvReader {
 public:
  CsvReader(const std::string& text, std::string path)
      : path_(std::move(path)), records_(ParseCsv(text, path_)) {
    if (records_.empty()) throw InputError(path_, "empty file");
    const bool names_points = Has("request") || Has("collective");
    if (names_points && Has("time_s")) return;
    throw InputError(path_ + ":1",
                     "expected podsim-result/1, or the header of a CSV of "
                     "podsim with time_s and request or collective; got \"" +
                         Shortened(Join(header(), ","), 60) + "\"");
  }

  ResultsFile Read() const {
    ResultsFile file{.path = path_, .points = {}};
    for (std::size_t k = 1; k < records_.size(); ++k) {
      const Record& record = records_[k];
      const std::string where = path_ + ":" + std::to_string(record.line);
      if (record.fields.size() != header().size()) {
        throw InputError(where, "expected " + std::to_string(header().size()) +
                                    " fields as in the header, got " +
                                    std::to_string(record.fields.size()));
      }
      file.points.push_back(ReadPoint(record, where));
    }
    return file;
  }

 private:
  const std::vector<std::string>& header() const { return records_[0].fields; }

  bool Has(const std::string& column) const {
    return std::find(header().begin(), header().end(), column) !=
           header().end();
  }

  // nullopt: no such column, or nothing in it.
  std::optional<std::string> Find(const Record& record,
                                  const std::string& column) const {
    const auto found = std::find(header().begin(), header().end(), column);
    if (found == header().end()) return std::nullopt;
    const std::string& field =
        record.fields[static_cast<std::size_t>(found - header().begin())];
    if (field.empty()) return std::nullopt;
    return field;
  }

  ResultPoint ReadPoint(const Record& record, const std::string& where) const {
    ResultPoint point;
    point.where = where;
    point.request = Find(record, "request");
    const auto number = [&](const std::string& key) -> std::optional<double> {
      const auto text = Find(record, key);
      if (!text) return std::nullopt;
      return ParseNumber(*text, where + ": " + key);
    };
    Describe(
        [&](const std::string& key) {
          const bool count = key == "payload_bytes" || key == "group_size";
          if (!count) return Find(record, key).value_or("");
          const auto value = number(key);
          return value ? Exact(*value) : "";
        },
        point);
    point.payload_bytes = number("payload_bytes");
    point.group_size = number("group_size");
    point.efficiency = number("efficiency");
    point.error = Find(record, "error");
    point.version = Find(record, "version");
    if (const auto text = Find(record, "parameters")) {
      point.parameters = ParseParameters(*text, where + ": parameters");
    }
    if (const auto text = Find(record, "time_s")) {
      point.time_s = ParseNumber(*text, where + ": time_s");
      RequireTime(*point.time_s, where + ": time_s");
    }
    return point;
  }

  std::string path_;
  std::vector<Record> records_;
};

}  // namespace

std::string MeasuredKey(const ResultPoint& point, double group_size) {
  if (point.collective.empty()) return point.identity;
  return point.collective +
         " group_size=" + Exact(point.group_size.value_or(group_size)) +
         " bytes=" + Exact(point.payload_bytes.value_or(0));
}

bool IsResults(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return false;
  return text[first] == '{' ||
         text.substr(0, text.find('\n')).find("time_s") != std::string::npos;
}

ResultsFile ReadResults(const std::string& path) {
  return ParseResults(ReadTextFile(path), path);
}

ResultsFile ParseResults(const std::string& text, const std::string& path) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw InputError(path, "empty file");
  if (text[first] == '{') return ReadJsonResults(text, path);
  return CsvReader(text, path).Read();
}

}  // namespace podsim
