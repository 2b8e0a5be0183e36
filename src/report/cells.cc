#include "report/cells.h"

#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr double kMicro = 1e6;
constexpr double kGiga = 1e-9;

std::string Plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::string Micros(const std::optional<double>& seconds) {
  return seconds ? Fixed(*seconds * kMicro, 2) : "-";
}
std::string GigaBytes(const std::optional<double>& rate) {
  return rate ? Fixed(*rate * kGiga, 2) : "-";
}
std::string Percent(const std::optional<double>& share) {
  return share ? Fixed(*share * 100, 1) + "%" : "-";
}

std::string VerdictText(const Verdict& verdict) {
  return verdict.ok.value_or(false) ? verdict.method : "no";
}

std::string Heading(const Slice& slice) {
  const Parameters& p = slice.parameters;
  std::string text =
      slice.spec + ": " + Plural(slice.topology.live_chips(), "chip");
  text += slice.topology.uniform()
              ? ", links " + ToText(p.ici_bandwidth) + " each way, alpha " +
                    ToText(p.ici_hop_latency) + " per hop"
              : ", links differ";
  if (p.ici_message_overhead.value() > 0) {
    text += ", o " + ToText(p.ici_message_overhead) + " per message";
  }
  if (p.ici_issue.value() > 0) {
    text += ", issue " + ToText(p.ici_issue) + " per message, serialised";
  }
  if (p.ici_window > 0) {
    text += ", at most " + std::to_string(p.ici_window) +
            " messages in flight per lane";
  }
  if (p.collective_launch.value() > 0) {
    text += ", launch " + ToText(p.collective_launch);
  }
  return text + "\n";
}

std::string NetworkNote(const std::string& network) {
  if (network == "fifo") {
    return "network fifo: a link serves one transfer at a time, first come "
           "first served, where fluid shares it among all that are there\n";
  }
  if (network.starts_with("packet")) {
    return "network " + network +
           ": every link serves packets first come first served into endless "
           "buffers, where fluid shares all links of a route fairly\n";
  }
  return "";
}

}  // namespace podsim
