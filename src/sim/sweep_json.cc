// Reader of podsim-sweep/1 files.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "collective/lowering.h"
#include "sim/byte_range.h"
#include "sim/sweep.h"
#include "topology/fault.h"

namespace podsim {
namespace {

// More points than anyone waits for: a typo in a range.
constexpr std::size_t kMaxPoints = 1000000;

// One list of the file: how many values it has, and what the k-th one does to
// a point.
struct Variable {
  std::string name;  // as `zip` names it: "slice", "ici.hop_latency"
  std::size_t values = 0;
  std::function<void(std::size_t k, SweepPoint&)> apply;
};

// A scalar stands for a list of one.
std::vector<JsonValue> ValuesOf(const JsonValue& json) {
  if (!json.is_array()) return {json};
  std::vector<JsonValue> values = json.Elements();
  if (values.empty()) json.Fail("expected at least one value, got []");
  return values;
}

const std::string& NotEmpty(const JsonValue& json) {
  if (json.AsString().empty()) json.Fail("must not be empty");
  return json.AsString();
}

// null and "" say that there is none.
bool IsNone(const JsonValue& json) {
  return json.is_null() || (json.is_string() && json.AsString().empty());
}

// A text, a list of them, or none.
std::vector<std::string> Texts(const JsonValue& json) {
  if (IsNone(json)) return {};
  if (!json.is_array()) return {json.AsString()};
  std::vector<std::string> texts;
  for (const JsonValue& text : json.Elements()) texts.push_back(NotEmpty(text));
  return texts;
}

// Throws unless the lowering is known; whether it applies is up to the slice.
void RequireLowering(const std::string& text, const std::string& where) {
  if (text == "all") {
    throw InputError(where,
                     "expected one lowering, got \"all\"; list the lowerings, "
                     "or use `podsim compare`");
  }
  if (text != "auto") ParseLoweringSpec(text, where);
}

// KIND=NAME, of a workload.
void RequireOverride(const std::string& text, const std::string& where) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || text.find(':') < equals) {
    throw InputError(where,
                     "expected KIND=NAME, for example all-reduce=bucket, got "
                     "\"" +
                         text + "\"");
  }
  ParseCollectiveKind(text.substr(0, equals), where);
  RequireLowering(text.substr(equals + 1), where);
}

// The value that `json` names.
template <class Value>
Value OneOf(const JsonValue& json, std::initializer_list<Value> values) {
  std::vector<std::string> names;
  for (const Value& value : values) {
    names.emplace_back(ToText(value));
    if (json.AsString() == names.back()) return value;
  }
  json.Fail("expected " + Join(names, " or ") + ", got \"" + json.AsString() +
            "\"");
}

[[noreturn]] void FailTooMany(const JsonValue& json) {
  json.Fail("expected at most " + std::to_string(kMaxPoints) +
            " points, the lists span more; make ranges shorter, or bind lists "
            "with zip");
}

// The slice without faults; nullopt: there is none, as the point itself will
// say.
std::optional<Slice> HealthySlice(SweepPoint point) {
  point.faults.clear();
  try {
    return MakeSlice(RequestSlice(point));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// The point, or one for each fault that an "each-cable" of its stands for.
std::vector<SweepPoint> ForEachFault(const SweepPoint& point,
                                     const JsonValue& json) {
  for (std::size_t k = 0; k < point.faults.size(); ++k) {
    if (!point.faults[k].starts_with("each-")) continue;
    const JsonValue where = json.Get("fault");
    if (point.slice.empty()) {
      where.Fail("\"" + point.faults[k] +
                 "\" needs to know the slice; give \"slice\"");
    }
    const std::optional<Slice> slice = HealthySlice(point);
    if (!slice) continue;
    const auto faults = FaultsOfEach(point.faults[k], slice->topology);
    if (!faults) {
      where.Fail("expected each-cable, each-chip or a fault, got \"" +
                 point.faults[k] + "\"");
    }
    std::vector<SweepPoint> points;
    for (const std::string& fault : *faults) {
      points.push_back(point);
      points.back().faults[k] = fault;
    }
    return points;
  }
  return {point};
}

class Reader {
 public:
  explicit Reader(const JsonValue& json) : json_(json) {}

  std::vector<SweepPoint> Read() {
    const JsonValue format = json_.Get("format");
    if (format.AsString() != "podsim-sweep/1") {
      format.Fail("expected \"podsim-sweep/1\", got \"" + format.AsString() +
                  "\"");
    }
    json_.RejectUnknownKeys({"format", "name", "source", "collective", "slice",
                             "bytes", "axes", "lowering", "network", "fold",
                             "fault", "set", "workload", "zip"});
    for (const char* key : {"name", "source"}) {
      if (const auto text = json_.Find(key)) text->AsString();
    }
    const bool of_workloads = json_.Find("workload").has_value();
    if (of_workloads) {
      RejectCollectiveKeys();
    } else {
      ReadCollectives();
    }
    ReadHow(of_workloads);
    if (of_workloads) ReadWorkloads();
    return Expand(Bind());
  }

 private:
  // The list `key`, each value read by `read` and put into a point by `set`.
  template <class Read, class Set>
  void Add(const std::string& key, const Read& read, const Set& set) {
    using Value = std::decay_t<decltype(read(json_))>;
    const auto json = json_.Find(key);
    if (!json) return;
    std::vector<Value> values;
    for (const JsonValue& value : ValuesOf(*json)) {
      values.push_back(read(value));
    }
    AddVariable(key, std::move(values), set);
  }

  template <class Value, class Set>
  void AddVariable(const std::string& name, std::vector<Value> values,
                   const Set& set) {
    const std::size_t count = values.size();
    variables_.push_back(
        {name, count,
         [values = std::move(values), set](std::size_t k, SweepPoint& point) {
           set(values[k], point);
         }});
  }

  void RejectCollectiveKeys() const {
    for (const char* key : {"collective", "bytes", "axes"}) {
      if (const auto json = json_.Find(key)) {
        json->Fail(
            "stands beside \"workload\", whose ops say it; remove one of the "
            "two");
      }
    }
  }

  void ReadCollectives() {
    if (!json_.Find("collective")) {
      json_.Fail("missing key \"collective\", or \"workload\"");
    }
    for (const char* key : {"slice", "bytes"}) json_.Get(key);
    base_.lowerings = {"auto"};
    Add(
        "collective",
        [](const JsonValue& json) {
          const CollectiveKind kind =
              ParseCollectiveKind(json.AsString(), json.where());
          if (kind == CollectiveKind::kRaggedAllToAll) {
            json.Fail(
                "a sweep has no byte matrix; put the ragged-all-to-all into a "
                "workload and sweep that");
          }
          if (kind == CollectiveKind::kCollectivePermute) {
            json.Fail(
                "a sweep has no pairs and no shift; put the "
                "collective-permute into a workload and sweep that");
          }
          return kind;
        },
        [](CollectiveKind kind, SweepPoint& point) {
          point.collective = kind;
        });
  }

  // How the points are run; in product order.
  void ReadHow(bool of_workloads) {
    Add("slice", NotEmpty,
        [](const std::string& text, SweepPoint& point) { point.slice = text; });
    if (!of_workloads) {
      ReadBytes();
      Add(
          "axes",
          [](const JsonValue& json) {
            return IsNone(json) ? "" : json.AsString();
          },
          [](const std::string& text, SweepPoint& point) {
            point.axes = text;
          });
    }
    Add(
        "lowering",
        [of_workloads](const JsonValue& json) {
          if (!of_workloads) {
            RequireLowering(json.AsString(), json.where());
            return std::vector<std::string>{json.AsString()};
          }
          const std::vector<std::string> texts = Texts(json);
          for (const std::string& text : texts) {
            RequireOverride(text, json.where());
          }
          return texts;
        },
        [](const std::vector<std::string>& texts, SweepPoint& point) {
          point.lowerings = texts;
        });
    Add(
        "network",
        [](const JsonValue& json) {
          return ToText(ParseNetworkModel(json.AsString(), json.where()));
        },
        [](const std::string& text, SweepPoint& point) {
          point.network = text;
        });
    Add(
        "fold",
        [](const JsonValue& json) {
          return OneOf(json, {FoldMode::kAuto, FoldMode::kOn, FoldMode::kOff});
        },
        [](FoldMode fold, SweepPoint& point) { point.fold = fold; });
    Add("fault", Texts,
        [](const std::vector<std::string>& texts, SweepPoint& point) {
          point.faults = texts;
        });
    ReadSets();
  }

  // An entry may be a range, that is several payloads.
  void ReadBytes() {
    std::vector<Bytes> payloads;
    for (const JsonValue& json : ValuesOf(json_.Get("bytes"))) {
      for (const Bytes size : ParseByteList(json.AsString(), json.where())) {
        payloads.push_back(size);
      }
    }
    AddVariable("bytes", std::move(payloads),
                [](Bytes size, SweepPoint& point) { point.payload = size; });
  }

  void ReadSets() {
    const auto set = json_.Find("set");
    if (!set) return;
    for (const std::string& key : set->Keys()) {
      const JsonValue list = set->Get(key);
      std::vector<std::string> texts;
      for (const JsonValue& json : ValuesOf(list)) {
        Parameters ignored;
        const bool known = KnowsParameter(key);
        SetParameter(ignored, key, json.AsString(),
                     (known ? json : list).where());
        texts.push_back(json.AsString());
      }
      AddVariable(key, std::move(texts),
                  [key](const std::string& text, SweepPoint& point) {
                    point.sets.emplace_back(key, text);
                  });
    }
  }

  static bool KnowsParameter(const std::string& key) {
    const auto keys = ParameterKeys();
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }

  void ReadWorkloads() {
    Add(
        "workload",
        [](const JsonValue& json) {
          const auto folder = std::filesystem::path(json.file()).parent_path();
          try {
            const JsonValue workload =
                JsonValue::ReadFile((folder / NotEmpty(json)).string());
            const JsonValue format = workload.Get("format");
            if (format.AsString() != "podsim-workload/1") {
              format.Fail("expected \"podsim-workload/1\", got \"" +
                          format.AsString() + "\"");
            }
            return std::pair(json.AsString(), workload);
          } catch (const InputError& error) {
            json.Fail(error.what());
          }
        },
        [](const std::pair<std::string, JsonValue>& file, SweepPoint& point) {
          point.workload = file.first;
          point.workload_json = file.second;
        });
  }

  // The groups of variables that vary together, by index, in product order.
  std::vector<std::vector<std::size_t>> Bind() const {
    std::vector<std::vector<std::size_t>> bound;
    std::vector<bool> is_bound(variables_.size());
    if (const auto zip = json_.Find("zip")) {
      for (const JsonValue& names : zip->Elements()) {
        bound.push_back(ReadZip(names, is_bound));
      }
    }
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      if (!is_bound[v]) groups.push_back({v});
      for (const std::vector<std::size_t>& group : bound) {
        if (group.front() == v) groups.push_back(group);
      }
    }
    return groups;
  }

  // One list of names, ascending by variable.
  std::vector<std::size_t> ReadZip(const JsonValue& names,
                                   std::vector<bool>& is_bound) const {
    std::vector<std::size_t> group;
    for (const JsonValue& json : names.Elements()) {
      const std::size_t v = FindVariable(json);
      if (is_bound[v]) {
        json.Fail("\"" + variables_[v].name + "\" is bound twice");
      }
      is_bound[v] = true;
      group.push_back(v);
      const Variable& first = variables_[group.front()];
      if (variables_[v].values == first.values) continue;
      names.Fail("\"" + first.name + "\" has " + Count(first.values) +
                 " and \"" + variables_[v].name + "\" has " +
                 Count(variables_[v].values) +
                 "; lists that vary together must be equally long");
    }
    if (group.size() < 2) {
      names.Fail("expected the names of at least two lists, got " +
                 names.Excerpt());
    }
    std::sort(group.begin(), group.end());
    return group;
  }

  static std::string Count(std::size_t values) {
    return std::to_string(values) + (values == 1 ? " value" : " values");
  }

  std::size_t FindVariable(const JsonValue& json) const {
    constexpr std::string_view kSet = "set.";
    std::string name = json.AsString();
    if (name.starts_with(kSet)) name.erase(0, kSet.size());
    std::vector<std::string> known;
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      if (variables_[v].name == name) return v;
      known.push_back(variables_[v].name);
    }
    const auto near = Similar(name, known);
    json.Fail("this sweep has no list \"" + json.AsString() + "\"" +
              (near ? "; did you mean \"" + *near + "\"?" : "") +
              " (known: " + Join(known, ", ") + ")");
  }

  // The product of the groups, the last one fastest.
  std::vector<SweepPoint> Expand(
      const std::vector<std::vector<std::size_t>>& groups) const {
    std::size_t count = 1;
    for (const auto& group : groups) {
      count *= variables_[group.front()].values;
      if (count > kMaxPoints) {
        FailTooMany(json_);
      }
    }
    std::vector<SweepPoint> points(count, base_);
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<std::size_t> at(variables_.size());
      std::size_t rest = n;
      for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
        const std::size_t values = variables_[group->front()].values;
        for (const std::size_t v : *group) at[v] = rest % values;
        rest /= values;
      }
      for (std::size_t v = 0; v < variables_.size(); ++v) {
        variables_[v].apply(at[v], points[n]);
      }
    }
    return points;
  }

  const JsonValue& json_;
  SweepPoint base_;
  std::vector<Variable> variables_;  // in product order
};

}  // namespace

std::vector<SweepPoint> ReadSweep(const JsonValue& json) {
  std::vector<SweepPoint> points;
  for (const SweepPoint& point : Reader(json).Read()) {
    for (SweepPoint& each : ForEachFault(point, json)) {
      points.push_back(std::move(each));
      if (points.size() > kMaxPoints) FailTooMany(json);
    }
  }
  return points;
}

}  // namespace podsim
