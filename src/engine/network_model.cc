#include "engine/network_model.h"

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr char kPacket[] = "packet";

// "size=4KiB" or "cut_through=false".
void SetPacketParameter(const std::string& text, const std::string& where,
                        NetworkModel& model) {
  const auto equals = text.find('=');
  const std::string key = text.substr(0, equals);
  if (equals == std::string::npos || (key != "size" && key != "cut_through")) {
    throw InputError(where,
                     "expected size=BYTES or cut_through=true|false behind "
                     "packet:, got \"" +
                         text + "\"; write for example packet:size=4KiB");
  }
  const std::string value = text.substr(equals + 1);
  if (key == "size") {
    model.packet = ParseBytes(value, where + ": size").value();
    if (model.packet > 0) return;
    throw InputError(where, "size: expected at least 1B, got \"" + value +
                                "\"; a packet has bytes");
  }
  if (value != "true" && value != "false") {
    throw InputError(
        where, "cut_through: expected true or false, got \"" + value + "\"");
  }
  model.cut_through = value == "true";
}

}  // namespace

std::string ToText(const NetworkModel& model) {
  if (model.kind == NetworkKind::kFluid) return "fluid";
  if (model.kind == NetworkKind::kFifo) return "fifo";
  return "packet:size=" + ToText(Bytes(model.packet)) +
         ",cut_through=" + (model.cut_through ? "true" : "false");
}

NetworkModel ParseNetworkModel(const std::string& text,
                               const std::string& where) {
  NetworkModel model;
  const auto colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (text == "fluid") return model;
  if (text == "fifo") {
    model.kind = NetworkKind::kFifo;
    return model;
  }
  if (text == "loggp") {
    throw InputError(where,
                     "loggp is the network of GOAL files (.goal); expected "
                     "fluid, fifo or packet");
  }
  if (name != kPacket) {
    throw InputError(where, "expected fluid, fifo or packet[:size=4KiB," +
                                std::string("cut_through=true], got \"") +
                                text + "\"");
  }
  model.kind = NetworkKind::kPacket;
  if (colon == std::string::npos) return model;
  std::vector<std::string> seen;
  for (const std::string& parameter : Split(text.substr(colon + 1), ',')) {
    SetPacketParameter(parameter, where, model);
    const std::string key = parameter.substr(0, parameter.find('='));
    for (const std::string& other : seen) {
      if (other == key) throw InputError(where, key + " stands twice");
    }
    seen.push_back(key);
  }
  return model;
}

}  // namespace podsim
