#include "sim/lost_ops.h"

#include <algorithm>
#include <map>

#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr std::size_t kMostNamed = 10;

std::string Counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// "op 3: transfer of 4KiB from chip (0) to chip (1) over 0:x+ 1:x+".
std::string OpText(const Schedule& schedule, OpId op,
                   const Topology& topology) {
  const std::string name = "op " + std::to_string(op.value()) + ": ";
  const std::string chip = "chip (" + topology.NameOf(schedule.src(op)) + ")";
  if (schedule.kind(op) == OpKind::kCompute) return name + "compute of " + chip;
  if (schedule.kind(op) == OpKind::kLocal) return name + "local add of " + chip;
  std::vector<std::string> links;
  for (const LinkId link : schedule.route(op)) {
    links.push_back(topology.NameOf(link));
  }
  return name + "transfer of " + ToText(schedule.bytes(op)) + " from " + chip +
         " to chip (" + topology.NameOf(schedule.dst(op)) + ") over " +
         Join(links, " ");
}

// "3 transfers and 1 other op".
std::string KindsText(const Schedule& schedule,
                      const std::vector<std::uint32_t>& ops) {
  const auto transfers = static_cast<std::size_t>(
      std::count_if(ops.begin(), ops.end(), [&](std::uint32_t op) {
        return schedule.kind(OpId(op)) == OpKind::kTransfer;
      }));
  const std::size_t others = ops.size() - transfers;
  if (others == 0) return Counted(transfers, "transfer");
  if (transfers == 0) return Counted(others, "compute or local add");
  return Counted(transfers, "transfer") + " and " +
         Counted(others, "compute or local add");
}

}  // namespace

void RequireNoneLost(const Schedule& schedule, const Network& network,
                     const Timeline& timeline, const Topology& topology) {
  if (timeline.lost.empty()) return;
  std::map<std::uint32_t, std::vector<std::uint32_t>> ops_of;  // by fault
  std::vector<std::uint32_t> lost;
  for (const Timeline::Loss& loss : timeline.lost) {
    ops_of[loss.fault].push_back(loss.op);
    lost.push_back(loss.op);
  }
  std::sort(lost.begin(), lost.end());
  const auto never = static_cast<std::size_t>(
      std::count_if(timeline.start.begin(), timeline.start.end(),
                    [](double start) { return start < 0; }));
  std::vector<std::string> losses;
  for (const auto& [fault, ops] : ops_of) {
    const DatedFault& dated = network.changes.faults[fault];
    losses.push_back(KindsText(schedule, ops) + " to \"" + dated.text +
                     "\" at " + ToText(Seconds(dated.date)));
  }
  const std::string summary = "the run loses " + Join(losses, ", ") + ", and " +
                              Counted(never, "op") +
                              " that waited for them never ran";
  std::string text = "; lost:";
  for (std::size_t k = 0; k < std::min(lost.size(), kMostNamed); ++k) {
    text += "\n  " + OpText(schedule, OpId(lost[k]), topology);
  }
  if (lost.size() > kMostNamed) {
    text += "\n  and " + std::to_string(lost.size() - kMostNamed) + " more";
  }
  text +=
      "\nNothing is sent again or another way. Give the fault without its "
      "date, "
      "so that the schedule goes around it, or take another lowering";
  throw LostOps(network.changes.faults[ops_of.begin()->first].where, summary,
                text);
}

}  // namespace podsim
