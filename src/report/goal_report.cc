#include "report/goal_report.h"

#include <algorithm>

#include "base/text.h"
#include "engine/loggops_parameters.h"
#include "report/cells.h"

namespace podsim {
namespace {

constexpr std::size_t kMostLines = 10;

// "2 ops never ran .." and a line for each.
std::string OpLines(const std::vector<GoalOpId>& ops,
                    const GoalProgram& program, const std::string& heading) {
  if (ops.empty()) return "";
  std::string text = heading + "\n";
  for (std::size_t n = 0; n < ops.size() && n < kMostLines; ++n) {
    const GoalRank& rank = program.ranks[ops[n].rank];
    const std::size_t op = ops[n].op;
    text += "  rank " + std::to_string(ops[n].rank) +
            (rank.lines.empty() ? ", op " + std::to_string(op)
                                : ", line " + std::to_string(rank.lines[op])) +
            ": " + ToText(rank.ops[op]) + "\n";
  }
  if (ops.size() > kMostLines) {
    text += "  ... and " + std::to_string(ops.size() - kMostLines) + " more\n";
  }
  return text;
}

std::string Counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + (count == 1 ? one : many);
}

}  // namespace

std::size_t LastRank(const GoalTimeline& timeline) {
  return static_cast<std::size_t>(
      std::max_element(timeline.finish_ns.begin(), timeline.finish_ns.end()) -
      timeline.finish_ns.begin());
}

std::string GoalTable(const GoalTimeline& timeline,
                      const LoggopsParameters& parameters) {
  std::string heading = "network loggp:";
  for (const auto& [key, value] : LoggopsTexts(parameters)) {
    heading += (heading.back() == ':' ? " " : ", ") + key + " " + value;
  }
  const std::size_t last = LastRank(timeline);
  const double first =
      *std::min_element(timeline.finish_ns.begin(), timeline.finish_ns.end());
  return heading + "\n" +
         FormatTable(
             {{"ranks", "ops", "messages", "bytes", "time (us)", "last rank",
               "first done (us)"},
              {std::to_string(timeline.finish_ns.size()),
               std::to_string(timeline.ops), std::to_string(timeline.messages),
               std::to_string(timeline.bytes),
               Micros(timeline.finish_ns[last] / 1e9), std::to_string(last),
               Micros(first / 1e9)}});
}

std::string GoalDeadlock(const std::string& file, const GoalProgram& program,
                         const GoalTimeline& timeline) {
  const auto& unfinished = timeline.unfinished;
  const auto& unreceived = timeline.unreceived;
  return OpLines(
             unfinished, program,
             file + ": deadlock: " + Counted(unfinished.size(), " op", " ops") +
                 " never ran, or found no message") +
         OpLines(unreceived, program,
                 file + ": " +
                     Counted(unreceived.size(), " message", " messages") +
                     " without a recv");
}

}  // namespace podsim
