#ifndef PODSIM_TOPOLOGY_PARAMETERS_H_
#define PODSIM_TOPOLOGY_PARAMETERS_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace podsim {

// What the simulation assumes about the hardware. Defaults come from the
// generation file; topology files, workloads and --set override them by key.
struct Parameters {
  BytesPerSecond ici_bandwidth;  // usable rate of one link, one way (B)
  Seconds ici_hop_latency;       // alpha, per hop
  Seconds ici_message_overhead;  // o, start-up of every message
  Seconds ici_issue;             // serialised issue cost per message and chip
  int ici_window = 0;            // messages in flight per lane; 0: as lowered
  Seconds collective_launch;     // fixed cost of a collective
  std::optional<BytesPerSecond> hbm_bandwidth;
  std::optional<Bytes> hbm_capacity;
  std::map<std::string, FlopsPerSecond> chip_flops;  // by dtype
  std::optional<BytesPerSecond> dcn_bandwidth;       // per chip
  std::optional<Seconds> dcn_latency;
  std::optional<int> host_chips;
};

// Every key of design and --set, in output order: "ici.bandwidth", ...
std::span<const std::string> ParameterKeys();

// Sets one parameter from text with a unit ("ici.bandwidth", "200GB/s").
// Throws InputError{where, ..} for a bad value and, at `where`, for an unknown
// key (naming the nearest one).
void SetParameter(Parameters& parameters, const std::string& key,
                  std::string_view value, const std::string& where);

// "key=value" as --set takes it.
void SetParameterText(Parameters& parameters, const std::string& assignment);

// --ideal: every latency, overhead, issue and launch cost becomes 0.
void MakeIdeal(Parameters& parameters);

// One parameter for output: key with its SI unit ("ici.bandwidth_bytes_per_s")
// and value; nullopt: the generation does not say.
struct ParameterValue {
  std::string json_key;
  std::optional<double> value;
};
std::vector<ParameterValue> ListParameters(const Parameters& parameters);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_PARAMETERS_H_
