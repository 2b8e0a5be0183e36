#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/html_timeline.h"
#include "report/trace.h"

namespace podsim {
namespace {

using TimelineJson = nlohmann::ordered_json;

constexpr std::uint64_t kMostSlices = 100'000;
constexpr std::size_t kMostTimelineEvents = 4'000;

struct SiteTraffic {
  std::int64_t bytes = 0;
  std::uint64_t transfers = 0;
};

// By site.
std::vector<SiteTraffic> TrafficOfSites(const RunRecord& record,
                                        std::uint32_t sites) {
  std::vector<SiteTraffic> traffic(sites);
  const Schedule& schedule = record.schedule;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    if (schedule.kind(op) != OpKind::kTransfer) continue;
    SiteTraffic& site = traffic[schedule.src(op).value()];
    site.bytes += schedule.bytes(op).value();
    ++site.transfers;
  }
  return traffic;
}

// A slice of a thread, or several that have been joined.
struct TimelineEvent {
  int thread;
  std::size_t name;
  std::size_t kind;
  double begin;
  double length;
  int count;
};

// The different texts, by order of appearance.
class Words {
 public:
  std::size_t IndexOf(const std::string& text) {
    const auto [at, is_new] = index_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> texts_;
};

// Joins neighbours of a thread that are shorter than `least` and no further
// apart.
std::vector<TimelineEvent> JoinShort(const std::vector<TimelineEvent>& events,
                                     double least) {
  std::vector<TimelineEvent> joined;
  double last_length = 0;
  for (const TimelineEvent& event : events) {
    if (!joined.empty()) {
      TimelineEvent& last = joined.back();
      const double end = last.begin + last.length;
      if (last.thread == event.thread && last.kind == event.kind &&
          last_length < least && event.length < least &&
          event.begin - end < least) {
        last.length = event.begin + event.length - last.begin;
        last.count += event.count;
        last_length = event.length;
        continue;
      }
    }
    joined.push_back(event);
    last_length = event.length;
  }
  return joined;
}

struct ReadChip {
  std::vector<TimelineEvent> events;  // by thread, then begin
  std::vector<std::string> threads;
  Words names;
  Words kinds;
};

ReadChip ReadTrace(const std::string& trace) {
  ReadChip chip;
  std::map<int, int> thread_of;
  const TimelineJson json = TimelineJson::parse(trace);
  for (const TimelineJson& event : json["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") {
      thread_of[event["tid"]] = static_cast<int>(chip.threads.size());
      chip.threads.push_back(event["args"]["name"]);
    }
    if (event["ph"] != "X" || event["cat"] == "step") continue;
    chip.events.push_back(
        {thread_of[event["tid"]], chip.names.IndexOf(event["name"]),
         chip.kinds.IndexOf(event["cat"]), event["ts"], event["dur"], 1});
  }
  std::stable_sort(chip.events.begin(), chip.events.end(),
                   [](const TimelineEvent& a, const TimelineEvent& b) {
                     return std::pair(a.thread, a.begin) <
                            std::pair(b.thread, b.begin);
                   });
  return chip;
}

double EndOf(const std::vector<TimelineEvent>& events) {
  double end = 0;
  for (const TimelineEvent& event : events) {
    end = std::max(end, event.begin + event.length);
  }
  return end;
}

}  // namespace

std::string HtmlTimeline(const RunRecord& record, const Slice& slice) {
  const Topology& topology = slice.topology;
  std::optional<FoldedGrid> grid;
  if (record.fold) grid.emplace(topology, *record.fold);
  const std::vector<SiteTraffic> traffic = TrafficOfSites(
      record,
      grid ? grid->sites() : static_cast<std::uint32_t>(topology.chips()));
  const auto busiest =
      std::max_element(traffic.begin(), traffic.end(),
                       [](const SiteTraffic& a, const SiteTraffic& b) {
                         return a.bytes < b.bytes;
                       });
  const auto site = static_cast<std::uint32_t>(busiest - traffic.begin());
  const ChipId chip = grid                 ? grid->Representative(site)
                      : busiest->bytes > 0 ? ChipId(site)
                                           : FirstLiveChip(topology);
  TimelineJson json = {{"chip", topology.NameOf(chip)}};
  const std::uint64_t slices = busiest->transfers + record.executions.size();
  if (slices > kMostSlices) {
    json["why"] = "the chip did " + std::to_string(slices) +
                  " things, more than can be shown here; write a trace with "
                  "--trace FILE --trace-chips " +
                  std::to_string(chip.value());
    return json.dump();
  }
  const ReadChip read = ReadTrace(TraceJson(record, slice, {chip}, "--html"));
  double least = EndOf(read.events) / 4000;
  std::vector<TimelineEvent> events = JoinShort(read.events, 0);
  double shorter_than = 0;
  while (events.size() > kMostTimelineEvents && least > 0) {
    shorter_than = least;
    events = JoinShort(read.events, least);
    least *= 2;
  }
  json["threads"] = read.threads;
  json["names"] = read.names.texts();
  json["kinds"] = read.kinds.texts();
  json["shorter_than_us"] = shorter_than;
  json["events"] = TimelineJson::array();
  for (const TimelineEvent& event : events) {
    json["events"].push_back({event.thread, event.name, event.kind, event.begin,
                              event.length, event.count});
  }
  return json.dump();
}

}  // namespace podsim
