#include "engine/loggops_parameters.h"

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr char kThreshold[] = "loggp.S";

struct LoggopsDuration {
  const char* key;
  const char* unit;  // in JSON
  double LoggopsParameters::*ns;
};
constexpr std::array kLoggopsDurations = {
    LoggopsDuration{"loggp.L", "_s", &LoggopsParameters::latency_ns},
    LoggopsDuration{"loggp.o", "_s", &LoggopsParameters::overhead_ns},
    LoggopsDuration{"loggp.g", "_s", &LoggopsParameters::gap_ns},
    LoggopsDuration{"loggp.G", "_s_per_byte",
                    &LoggopsParameters::gap_per_byte_ns},
    LoggopsDuration{"loggp.O", "_s_per_byte",
                    &LoggopsParameters::overhead_per_byte_ns}};

// Whole nanoseconds stay whole.
double Nanoseconds(Seconds time) {
  const double ns = time.value() * 1e9;
  const double whole = std::round(ns);
  return std::abs(ns - whole) <= 1e-12 * ns ? whole : ns;
}

}  // namespace

void SetLoggopsParameter(const std::string& assignment,
                         LoggopsParameters& parameters) {
  const std::string where = "--set " + assignment;
  const auto equals = assignment.find('=');
  const std::string key = assignment.substr(0, equals);
  if (equals == std::string::npos) {
    throw InputError(where, "expected KEY=VALUE, for example loggp.L=2500ns");
  }
  const std::string value = assignment.substr(equals + 1);
  if (key == kThreshold) {
    parameters.eager_bytes = ParseBytes(value, where).value();
    return;
  }
  std::vector<std::string> known;
  for (const LoggopsDuration& duration : kLoggopsDurations) {
    if (key == duration.key) {
      parameters.*duration.ns = Nanoseconds(ParseDuration(value, where));
      return;
    }
    known.emplace_back(duration.key);
  }
  known.emplace_back(kThreshold);
  throw InputError(
      where, "unknown parameter \"" + key +
                 "\" of --network loggp (known: " + Join(known, ", ") + ")");
}

std::vector<std::pair<std::string, std::string>> LoggopsTexts(
    const LoggopsParameters& parameters) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const LoggopsDuration& duration : kLoggopsDurations) {
    texts.emplace_back(duration.key,
                       ToText(Seconds(parameters.*duration.ns / 1e9)));
  }
  texts.emplace_back(kThreshold, ToText(Bytes(parameters.eager_bytes)));
  return texts;
}

std::vector<std::pair<std::string, double>> LoggopsSeconds(
    const LoggopsParameters& parameters) {
  std::vector<std::pair<std::string, double>> values;
  for (const LoggopsDuration& duration : kLoggopsDurations) {
    values.emplace_back(std::string(duration.key) + duration.unit,
                        parameters.*duration.ns / 1e9);
  }
  return values;
}

}  // namespace podsim
