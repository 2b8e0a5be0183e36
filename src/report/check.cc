#include "report/check.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr double kMicro = 1e6;  // us per second

// How the points of two files are matched.
struct Matching {
  enum By { kRequest, kIdentity, kMeasured } by;
  double group_size = 0;  // of a log: of points that failed before it was known

  std::string KeyOf(const ResultPoint& point) const {
    if (by == kMeasured) return MeasuredKey(point, group_size);
    return by == kRequest ? *point.request : point.identity;
  }

  // What to do about two points of one key.
  const char* Remedy() const {
    switch (by) {
      case kRequest:
        return "remove one of the two";
      case kIdentity:
        return "compare files of `podsim sweep`, whose points say what was "
               "asked";
      case kMeasured:
        break;
    }
    return "a log knows neither slice nor lowering: keep one of the two";
  }
};

// The points of a file by key; equal ones count once.
class Index {
 public:
  Index(const ResultsFile& file, const Matching& matching) {
    for (const ResultPoint& point : file.points) {
      const std::string key = matching.KeyOf(point);
      const auto [found, is_new] = by_key_.emplace(key, &point);
      if (is_new) {
        keys_.push_back(key);
        continue;
      }
      const ResultPoint& first = *found->second;
      if (first.time_s == point.time_s && first.error == point.error) continue;
      throw InputError(point.where, "\"" + key + "\" stands in " + first.where +
                                        " too, with another time; " +
                                        matching.Remedy());
    }
  }

  const std::vector<std::string>& keys() const { return keys_; }
  const ResultPoint* Find(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::string, const ResultPoint*> by_key_;
  std::vector<std::string> keys_;  // in file order
};

bool HasRequests(const ResultsFile& file) {
  return std::all_of(
      file.points.begin(), file.points.end(),
      [](const ResultPoint& point) { return point.request.has_value(); });
}

Matching MatchingOf(const ResultsFile& results, const ResultsFile& baseline) {
  if (baseline.measured) {
    return {.by = Matching::kMeasured,
            .group_size = baseline.points.front().group_size.value_or(0)};
  }
  const bool by_request = HasRequests(results) && HasRequests(baseline);
  return {.by = by_request ? Matching::kRequest : Matching::kIdentity,
          .group_size = 0};
}

// A log measures as many payloads as it likes: those that were not simulated
// are counted only. Not one: the files have nothing to do with each other.
void NoteUnmatched(const std::vector<std::string>& keys,
                   const ResultsFile& results, const ResultsFile& baseline,
                   CheckResult& result) {
  if (keys.empty()) return;
  if (keys.size() == baseline.points.size()) {
    throw InputError(
        baseline.path,
        "none of its payloads is a point of " + results.path +
            ": it has, for example, \"" + keys.back() + "\", " +
            (results.points.empty()
                 ? "the results have no point"
                 : "the results \"" + MeasuredKey(results.points.back(), 0) +
                       "\"") +
            "; simulate that collective and payload on a slice of as many "
            "chips");
  }
  result.notes.push_back(baseline.path + ": " + std::to_string(keys.size()) +
                         " of " + std::to_string(baseline.points.size()) +
                         " payloads have no point in " + results.path +
                         ", the first: " + keys.front());
}

// "NAME is A in FILE and B in FILE", if version or a parameter differ.
std::optional<std::string> Difference(const ResultPoint& after,
                                      const ResultPoint& before,
                                      const std::string& after_path,
                                      const std::string& before_path) {
  const auto differ = [&](const std::string& name, const std::string& a,
                          const std::string& b) {
    return name + " is " + a + " in " + after_path + " and " + b + " in " +
           before_path;
  };
  if (after.version && before.version && *after.version != *before.version) {
    return differ("the version", *after.version, *before.version);
  }
  if (!after.parameters || !before.parameters) return std::nullopt;
  const auto value = [](const std::map<std::string, double>& parameters,
                        const std::string& key) {
    const auto found = parameters.find(key);
    return found == parameters.end() ? "not known" : Exact(found->second);
  };
  for (const auto* parameters : {&*before.parameters, &*after.parameters}) {
    for (const auto& [key, ignored] : *parameters) {
      const std::string a = value(*after.parameters, key);
      const std::string b = value(*before.parameters, key);
      if (a != b) return differ(key, a, b);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Refusal(const Index& results, const Index& baseline,
                                   const ResultsFile& results_file,
                                   const ResultsFile& baseline_file) {
  std::optional<std::string> first;
  std::size_t more = 0;
  for (const std::string& key : baseline.keys()) {
    const ResultPoint* after = results.Find(key);
    if (after == nullptr) continue;
    const auto difference = Difference(*after, *baseline.Find(key),
                                       results_file.path, baseline_file.path);
    if (!difference) continue;
    if (first) {
      ++more;
    } else {
      first = key + ": " + *difference;
    }
  }
  if (!first) return std::nullopt;
  return *first +
         (more > 0 ? " (and " + std::to_string(more) + " more points)" : "") +
         "; the times do not compare. If the change is meant, record the "
         "baseline anew in the same commit";
}

std::string WhyNoTime(const ResultPoint& point) {
  return point.error.value_or("no time");
}

double Ratio(const ChangedPoint& point) {
  if (!point.after_s) return std::numeric_limits<double>::infinity();
  return *point.after_s / *point.before_s;
}

void AddNotes(const ResultsFile& file, CheckResult& result) {
  result.notes.insert(result.notes.end(), file.notes.begin(), file.notes.end());
  const bool says = std::all_of(
      file.points.begin(), file.points.end(), [](const ResultPoint& point) {
        return point.error || (point.version && point.parameters);
      });
  if (says) return;
  result.notes.push_back(file.path +
                         " does not say its version and parameters: they were "
                         "not compared");
}

// As few digits as tell the two apart, at least six.
int DigitsFor(double a, double b) {
  int digits = 6;
  while (digits < 17 && Significant(a, digits) == Significant(b, digits)) {
    ++digits;
  }
  return digits;
}

std::string LineOf(const ChangedPoint& point) {
  const bool both = point.before_s && point.after_s;
  const int digits =
      both ? DigitsFor(*point.before_s, *point.after_s) : DigitsFor(0, 1);
  const auto time = [&](const std::optional<double>& seconds) {
    return seconds ? Significant(kMicro * *seconds, digits) + " us"
                   : point.reason;
  };
  std::string line =
      point.key + ": " + time(point.before_s) + " -> " + time(point.after_s);
  if (both && *point.before_s > 0) {
    line += " (x" + Significant(Ratio(point), digits) + ")";
  }
  return line + "\n";
}

// ", 3 slower"; "" for none unless `always`.
std::string Count(std::size_t count, const char* what, bool always) {
  if (count == 0 && !always) return "";
  return ", " + std::to_string(count) + " " + what;
}

}  // namespace

CheckResult CompareResults(const ResultsFile& results,
                           const ResultsFile& baseline, double tolerance) {
  if (baseline.points.empty()) {
    throw InputError(baseline.path,
                     "the baseline has no points: nothing would be checked");
  }
  const Matching matching = MatchingOf(results, baseline);
  const Index after_index(results, matching);
  const Index before_index(baseline, matching);
  CheckResult result;
  result.refusal = Refusal(after_index, before_index, results, baseline);
  if (result.refusal) return result;
  AddNotes(results, result);
  AddNotes(baseline, result);
  for (const std::string& key : before_index.keys()) {
    const ResultPoint& before = *before_index.Find(key);
    const ResultPoint* after = after_index.Find(key);
    if (after == nullptr) {
      result.missing.push_back(key);
      continue;
    }
    ChangedPoint change{.key = key,
                        .before_s = before.time_s,
                        .after_s = after->time_s,
                        .reason = {}};
    if (!before.time_s && !after->time_s) {
      ++result.untimed;
    } else if (!after->time_s) {
      change.reason = WhyNoTime(*after);
      result.worse.push_back(change);
    } else if (!before.time_s) {
      change.reason = WhyNoTime(before);
      result.better.push_back(change);
    } else if (*after->time_s > *before.time_s * (1 + tolerance)) {
      result.worse.push_back(change);
    } else if (*before.time_s > *after->time_s * (1 + tolerance)) {
      result.better.push_back(change);
    }
  }
  result.points = before_index.keys().size();
  if (baseline.measured) {
    result.points -= result.missing.size();
    NoteUnmatched(result.missing, results, baseline, result);
    result.missing.clear();
  }
  for (const std::string& key : after_index.keys()) {
    if (before_index.Find(key) == nullptr) result.added.push_back(key);
  }
  std::stable_sort(result.worse.begin(), result.worse.end(),
                   [](const ChangedPoint& a, const ChangedPoint& b) {
                     return Ratio(a) > Ratio(b);
                   });
  return result;
}

bool Passes(const CheckResult& result, bool either_way) {
  return !result.refusal && result.worse.empty() && result.missing.empty() &&
         (!either_way || result.better.empty());
}

std::string CheckText(const CheckResult& result,
                      const std::string& tolerance_text, bool either_way) {
  if (result.refusal) return "refused: " + *result.refusal + "\n";
  std::string text;
  for (const std::string& note : result.notes) text += "note: " + note + "\n";
  std::size_t failed = 0;
  for (const ChangedPoint& point : result.worse) {
    if (!point.after_s) ++failed;
    text += (point.after_s ? "slower: " : "failed: ") + LineOf(point);
  }
  for (const std::string& key : result.missing) {
    text += "missing: " + key + "\n";
  }
  for (const std::string& key : result.added) text += "new: " + key + "\n";
  if (either_way) {
    for (const ChangedPoint& point : result.better) {
      text += "faster: " + LineOf(point);
    }
  }
  const std::size_t within = result.points - result.worse.size() -
                             result.better.size() - result.missing.size() -
                             result.untimed;
  return text + std::to_string(result.points) +
         (result.points == 1 ? " point: " : " points: ") +
         std::to_string(within) + " within " + tolerance_text +
         Count(result.worse.size() - failed, "slower", /*always=*/true) +
         Count(failed, "failed", /*always=*/false) +
         Count(result.better.size(), "faster", /*always=*/false) +
         Count(result.untimed, "without a time", /*always=*/false) +
         Count(result.missing.size(), "missing", /*always=*/true) +
         Count(result.added.size(), "new", /*always=*/true) + "\n";
}

}  // namespace podsim
