#include "sim/memory_guard.h"

#include <sys/resource.h>

#include <fstream>
#include <limits>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr double kBaseBytes = 48.0 * (1 << 20);  // process with SimGrid
constexpr double kShareOfAvailable = 0.8;
constexpr double kMiB = 1 << 20;

double AvailableBytes() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  double kib = 0;
  while (file >> key >> kib) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

double UserSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

const char* ToText(EngineKind engine) {
  switch (engine) {
    case EngineKind::kPod:
      return "pod";
    case EngineKind::kReference:
      return "reference";
    case EngineKind::kBound:
      return "bound";
  }
  return "";
}

const char* ToText(FoldMode fold) {
  return fold == FoldMode::kAuto ? "auto"
         : fold == FoldMode::kOn ? "on"
                                 : "off";
}

const char* ToText(StepMode mode) {
  return mode == StepMode::kEngine ? "engine" : "abstract";
}

void RequireMemory(std::uint64_t transfers, const SimOptions& options,
                   const std::string& where, const std::string& remedies,
                   double bytes_per_transfer) {
  const double need =
      kBaseBytes + bytes_per_transfer * static_cast<double>(transfers);
  const bool too_many =
      transfers >= std::numeric_limits<std::uint32_t>::max() / 4;
  // Small runs need no look at /proc.
  if (!too_many && !options.max_memory_bytes && transfers < 1000000) return;
  const double limit = options.max_memory_bytes
                           ? static_cast<double>(*options.max_memory_bytes)
                           : kShareOfAvailable * AvailableBytes();
  if (!too_many && need <= limit) return;
  const std::string limit_text = options.max_memory_bytes
                                     ? ToText(Bytes(*options.max_memory_bytes))
                                     : Fixed(limit / kMiB, 0) + "MiB";
  throw InputError(where, std::to_string(transfers) + " transfers need about " +
                              Fixed(need / kMiB, 0) + "MiB" +
                              (too_many ? ", more than this version can number"
                                        : ", the limit is " + limit_text) +
                              "; " + remedies +
                              (too_many ? "" : ", or raise --max-memory"));
}

}  // namespace podsim
