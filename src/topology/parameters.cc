#include "topology/parameters.h"

#include <array>
#include <limits>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

using Setter = void (*)(Parameters&, std::string_view, const std::string&);
using Getter = std::optional<double> (*)(const Parameters&);

struct Row {
  const char* key;
  const char* unit;  // suffix of the output key; "" for a count
  Setter set;
  Getter get;
};

template <auto Member>
void SetDuration(Parameters& p, std::string_view text, const std::string& at) {
  p.*Member = ParseDuration(text, at);
}
template <auto Member>
void SetBandwidth(Parameters& p, std::string_view text, const std::string& at) {
  p.*Member = ParseBandwidth(text, at);
}
template <auto Member>
std::optional<double> Get(const Parameters& p) {
  return static_cast<double>((p.*Member).value());
}
template <auto Member>
std::optional<double> GetOptional(const Parameters& p) {
  const auto& value = p.*Member;
  if (!value) return std::nullopt;
  return static_cast<double>(value->value());
}

constexpr char kBf16[] = "bf16";
constexpr char kInt8[] = "int8";
constexpr char kFp8[] = "fp8";
constexpr char kFp4[] = "fp4";

template <const char* Dtype>
void SetFlops(Parameters& p, std::string_view text, const std::string& at) {
  p.chip_flops[Dtype] = ParseFlopRate(text, at);
}
template <const char* Dtype>
std::optional<double> GetFlops(const Parameters& p) {
  const auto found = p.chip_flops.find(Dtype);
  if (found == p.chip_flops.end()) return std::nullopt;
  return found->second.value();
}

constexpr std::array kRows = {
    Row{"ici.bandwidth", "_bytes_per_s",
        SetBandwidth<&Parameters::ici_bandwidth>,
        Get<&Parameters::ici_bandwidth>},
    Row{"ici.hop_latency", "_s", SetDuration<&Parameters::ici_hop_latency>,
        Get<&Parameters::ici_hop_latency>},
    Row{"ici.message_overhead", "_s",
        SetDuration<&Parameters::ici_message_overhead>,
        Get<&Parameters::ici_message_overhead>},
    Row{"ici.issue", "_s", SetDuration<&Parameters::ici_issue>,
        Get<&Parameters::ici_issue>},
    Row{"ici.window", "",
        [](Parameters& p, std::string_view text, const std::string& at) {
          p.ici_window = ParseCount(text, 0, 1 << 20, at);
        },
        [](const Parameters& p) -> std::optional<double> {
          return p.ici_window;
        }},
    Row{"collective.launch", "_s", SetDuration<&Parameters::collective_launch>,
        Get<&Parameters::collective_launch>},
    Row{"hbm.bandwidth", "_bytes_per_s",
        SetBandwidth<&Parameters::hbm_bandwidth>,
        GetOptional<&Parameters::hbm_bandwidth>},
    Row{"hbm.capacity", "_bytes",
        [](Parameters& p, std::string_view text, const std::string& at) {
          p.hbm_capacity = ParseBytes(text, at);
        },
        GetOptional<&Parameters::hbm_capacity>},
    Row{"chip.flops.bf16", "_flop_per_s", SetFlops<kBf16>, GetFlops<kBf16>},
    Row{"chip.flops.int8", "_flop_per_s", SetFlops<kInt8>, GetFlops<kInt8>},
    Row{"chip.flops.fp8", "_flop_per_s", SetFlops<kFp8>, GetFlops<kFp8>},
    Row{"chip.flops.fp4", "_flop_per_s", SetFlops<kFp4>, GetFlops<kFp4>},
    Row{"dcn.bandwidth", "_bytes_per_s",
        SetBandwidth<&Parameters::dcn_bandwidth>,
        GetOptional<&Parameters::dcn_bandwidth>},
    Row{"dcn.latency", "_s", SetDuration<&Parameters::dcn_latency>,
        GetOptional<&Parameters::dcn_latency>},
    Row{"host.chips", "",
        [](Parameters& p, std::string_view text, const std::string& at) {
          p.host_chips = ParseCount(text, 1, 1 << 10, at);
        },
        [](const Parameters& p) -> std::optional<double> {
          if (!p.host_chips) return std::nullopt;
          return *p.host_chips;
        }},
};

const Row* FindRow(const std::string& key) {
  // "chip.flops" alone means the default dtype.
  const std::string full = key == "chip.flops" ? "chip.flops.bf16" : key;
  for (const Row& row : kRows) {
    if (full == row.key) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const std::string> ParameterKeys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (const Row& row : kRows) all.emplace_back(row.key);
    return all;
  }();
  return keys;
}

void SetParameter(Parameters& parameters, const std::string& key,
                  std::string_view value, const std::string& where) {
  const Row* row = FindRow(key);
  if (row == nullptr) {
    throw InputError(where,
                     "unknown parameter \"" + key + "\"; did you mean \"" +
                         Nearest(key, ParameterKeys()) +
                         "\"? (known: " + Join(ParameterKeys(), ", ") + ")");
  }
  row->set(parameters, value, where);
}

void SetParameterText(Parameters& parameters, const std::string& assignment) {
  const std::string where = "--set " + assignment;
  const auto equals = assignment.find('=');
  if (equals == std::string::npos) {
    throw InputError(where,
                     "expected KEY=VALUE, for example "
                     "ici.bandwidth=200GB/s");
  }
  SetParameter(parameters, assignment.substr(0, equals),
               std::string_view(assignment).substr(equals + 1), where);
}

void MakeIdeal(Parameters& parameters) {
  parameters.ici_hop_latency = Seconds(0);
  parameters.ici_message_overhead = Seconds(0);
  parameters.ici_issue = Seconds(0);
  parameters.collective_launch = Seconds(0);
  if (parameters.dcn_latency) parameters.dcn_latency = Seconds(0);
}

std::vector<ParameterValue> ListParameters(const Parameters& parameters) {
  std::vector<ParameterValue> values;
  for (const Row& row : kRows) {
    values.push_back({std::string(row.key) + row.unit, row.get(parameters)});
  }
  return values;
}

}  // namespace podsim
