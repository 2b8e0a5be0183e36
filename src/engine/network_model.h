#ifndef PODSIM_ENGINE_NETWORK_MODEL_H_
#define PODSIM_ENGINE_NETWORK_MODEL_H_

#include <cstdint>
#include <string>

namespace podsim {

enum class NetworkKind { kFluid, kFifo, kPacket };

// How transfers share links (docs/model.md, section 3): max-min fairly, one at
// a time, or packet by packet.
struct NetworkModel {
  NetworkKind kind = NetworkKind::kFluid;
  // Of kPacket: bytes of a packet, the last one of a transfer may be smaller.
  std::int64_t packet = std::int64_t{4} << 10;
  // Of kPacket: a packet goes on as soon as its head has arrived.
  bool cut_through = true;
};

// "fluid", "fifo", "packet:size=4KiB,cut_through=true".
std::string ToText(const NetworkModel& model);

// The same, where packet's parameters may be left out; not loggp, which knows
// no links (engine/loggops.h). Throws InputError{where, ..}.
NetworkModel ParseNetworkModel(const std::string& text,
                               const std::string& where);

}  // namespace podsim

#endif  // PODSIM_ENGINE_NETWORK_MODEL_H_
