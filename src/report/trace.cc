#include "report/trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>

#include "base/error.h"
#include "report/version.h"

namespace podsim {
namespace {

constexpr int kCoreThread = 1;  // the others follow as needed

// Picoseconds: whole numbers, so that what ends when another begins does not
// overlap it after rounding.
using Picoseconds = std::int64_t;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += ' ';
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// "12.345678" microseconds.
std::string Micros(Picoseconds time) {
  std::string fraction = std::to_string(time % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  return std::to_string(time / 1'000'000) + "." + fraction;
}

// A slice of a thread.
struct Interval {
  Picoseconds begin;
  Picoseconds end;
  std::string name;
  std::string category;
  std::string args;  // JSON members, or ""
  // Of a transfer: the arrow that ends here; of a collective: its execution.
  std::optional<std::uint64_t> id;
};

// Slices that may overlap, dealt to as few threads as need be.
class Track {
 public:
  void Add(Interval slice) { slices_.push_back(std::move(slice)); }

  // Which lane each slice has, in order of begin; and how many lanes there are.
  struct Dealt {
    std::vector<int> lane_of;  // by slice
    int lanes = 0;
  };
  Dealt Deal() {
    std::stable_sort(
        slices_.begin(), slices_.end(),
        [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    Dealt dealt;
    // Lanes by when they are free again, the earliest first.
    using Free = std::pair<Picoseconds, int>;
    std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
    for (const Interval& slice : slices_) {
      int lane = dealt.lanes;
      if (!free.empty() && free.top().first <= slice.begin) {
        lane = free.top().second;
        free.pop();
      } else {
        ++dealt.lanes;
      }
      free.emplace(slice.end, lane);
      dealt.lane_of.push_back(lane);
    }
    return dealt;
  }
  const std::vector<Interval>& slices() const { return slices_; }

 private:
  std::vector<Interval> slices_;
};

class TraceWriter {
 public:
  TraceWriter(const RunRecord& record, const Slice& slice,
              const std::vector<ChipId>& chips)
      : record_(record),
        schedule_(record.schedule),
        slice_(slice),
        topology_(slice.topology),
        chips_(chips) {
    if (record.fold) grid_.emplace(topology_, *record.fold);
    if (chips_.empty()) {
      for (int id = 0; id < topology_.chips(); ++id) {
        if (topology_.Live(ChipId(id))) chips_.emplace_back(id);
      }
    }
    FindOpsOfSites();
  }

  // About: a slice and an arrow's two ends per transfer, two counts per hop.
  std::uint64_t CountEvents() const {
    std::uint64_t events = 0;
    for (const ChipId chip : chips_) {
      events += 2 * (topology_.ici_axes() * 2 + 5);
      // A slice each, and what is live then.
      events += record_.executions.empty() ? 1 : 2 * record_.executions.size();
      for (const Hop& hop : hops_[SiteOf(chip)]) {
        events += hop.first ? 5 : 3;
      }
    }
    return events;
  }

  std::string Write() {
    for (const ChipId chip : chips_) WriteChip(chip);
    return "{\"displayTimeUnit\": \"ns\",\n\"otherData\": {\"podsim\": " +
           Quoted(kVersion) + ", \"slice\": " + Quoted(slice_.spec) +
           "},\n\"traceEvents\": [\n" + text_ + "\n]}\n";
  }

 private:
  // One hop of a transfer, on a link that leaves the site.
  struct Hop {
    std::uint32_t op;
    LinkId link;  // of the slice, or folded
    bool first;
  };

  void FindOpsOfSites() {
    hops_.resize(grid_ ? grid_->sites()
                       : static_cast<std::uint32_t>(topology_.chips()));
    ends_.assign(hops_.size(), 0);
    for (std::uint32_t id = 0; id < schedule_.size(); ++id) {
      const OpId op(id);
      const Picoseconds end = DateOf(record_.timeline.end[id]);
      for (const ChipId at : {schedule_.src(op), schedule_.dst(op)}) {
        ends_[at.value()] = std::max(ends_[at.value()], end);
      }
      if (schedule_.kind(op) != OpKind::kTransfer) continue;
      bool first = true;
      for (const LinkId link : schedule_.route(op)) {
        hops_[SiteOf(op, link)].push_back({id, link, first});
        first = false;
      }
    }
  }

  std::uint32_t SiteOf(ChipId chip) const {
    return grid_ ? grid_->SiteAt(topology_.CoordinatesOf(chip)) : chip.value();
  }

  // On whose track a hop is shown: of the chip it leaves, or whose host it
  // enters from DCN.
  std::uint32_t SiteOf(OpId op, LinkId link) const {
    const ChipId src = schedule_.src(op);
    if (grid_) return src.value();
    if (!topology_.IsPort(link)) return topology_.Source(link).value();
    return (link == topology_.PortOut(src) ? src : schedule_.dst(op)).value();
  }

  Picoseconds DateOf(double seconds) const {
    return std::llround((seconds + record_.offset_s) * 1e12);
  }

  // The link of this chip that a folded one stands for.
  LinkId LinkOf(ChipId chip, LinkId link) const {
    if (!grid_) return link;
    const LinkId first = grid_->Representative(link);
    if (topology_.IsPort(first)) {
      const bool out = first == topology_.PortOut(topology_.FirstChipOf(first));
      return out ? topology_.PortOut(chip) : topology_.PortIn(chip);
    }
    return topology_.LinkAt(chip, topology_.AxisOf(first),
                            topology_.SignOf(first));
  }

  std::string DirectionOf(LinkId link) const {
    if (topology_.IsPort(link)) {
      const bool out = link == topology_.PortOut(topology_.FirstChipOf(link));
      return std::string("DCN ") + (out ? "out" : "in");
    }
    return "ICI " + IciDirectionOf(link);
  }

  std::string IciDirectionOf(LinkId link) const {
    if (!topology_.is_grid()) {
      return "to " + std::to_string(topology_.Target(link).value());
    }
    return AxisName(topology_, topology_.AxisOf(link)) +
           (topology_.SignOf(link) == Sign::kPlus ? "+" : "-");
  }

  std::string NameOf(ChipId chip) const {
    std::string name = std::to_string(chip.value());
    if (!topology_.is_grid()) return name;
    std::string at;
    const Coordinates coordinates = topology_.CoordinatesOf(chip);
    for (std::size_t a = 0; a < topology_.axes().size(); ++a) {
      at += (a == 0 ? "" : ",") + std::to_string(coordinates[a]);
    }
    return name + " (" + at + ")";
  }

  void Emit(const std::string& event) {
    if (!text_.empty()) text_ += ",\n";
    text_ += "{" + event + "}";
  }

  static std::string At(ChipId chip, int thread) {
    // Process 0 means idle to some viewers.
    return "\"pid\": " + std::to_string(chip.value() + 1) +
           ", \"tid\": " + std::to_string(thread);
  }

  void EmitName(ChipId chip, int thread, const std::string& name) {
    Emit("\"ph\": \"M\", \"name\": \"thread_name\", " + At(chip, thread) +
         ", \"args\": {\"name\": " + Quoted(name) + "}");
    Emit("\"ph\": \"M\", \"name\": \"thread_sort_index\", " + At(chip, thread) +
         ", \"args\": {\"sort_index\": " + std::to_string(thread) + "}");
  }

  void EmitSlice(ChipId chip, int thread, const Interval& slice) {
    Emit("\"ph\": \"X\", \"name\": " + Quoted(slice.name) + ", \"cat\": " +
         Quoted(slice.category) + ", \"ts\": " + Micros(slice.begin) +
         ", \"dur\": " + Micros(slice.end - slice.begin) + ", " +
         At(chip, thread) + ", \"args\": {" + slice.args + "}");
  }

  void EmitArrow(const char* phase, std::uint64_t id, ChipId chip, int thread,
                 Picoseconds time) {
    Emit("\"ph\": \"" + std::string(phase) +
         "\", \"name\": \"transfer\", \"cat\": \"transfer\", \"id\": " +
         std::to_string(id) + ", \"ts\": " + Micros(time) + ", " +
         At(chip, thread) +
         (*phase == 'f' ? std::string(", \"bp\": \"e\"") : ""));
  }

  void WriteChip(ChipId chip) {
    next_thread_ = kCoreThread + 1;
    Emit("\"ph\": \"M\", \"name\": \"process_name\", " + At(chip, 0) +
         ", \"args\": {\"name\": " + Quoted("TPU " + NameOf(chip)) + "}");
    Emit("\"ph\": \"M\", \"name\": \"process_sort_index\", " + At(chip, 0) +
         ", \"args\": {\"sort_index\": " + std::to_string(chip.value()) + "}");
    WriteOps(chip);
    WriteLinks(chip);
    if (!record_.executions.empty()) WriteStep(chip);
  }

  void WriteStep(ChipId chip) {
    const int thread = next_thread_++;
    EmitName(chip, thread, "Steps");
    EmitSlice(chip, thread,
              {0, ends_[SiteOf(chip)], record_.name, "step", "", {}});
  }

  // The slices of the core and beside it; remembers the thread of each
  // execution's slice for the arrows.
  void WriteOps(ChipId chip) {
    const std::uint32_t site = SiteOf(chip);
    thread_of_.assign(std::max<std::size_t>(1, record_.executions.size()),
                      kCoreThread);
    EmitName(chip, kCoreThread, "XLA Ops");
    if (record_.executions.empty()) {
      if (ends_[site] > 0) {
        EmitSlice(chip, kCoreThread,
                  {0, ends_[site], record_.name, "collective", "", {}});
      }
      return;
    }
    Track async;
    Picoseconds core_at = 0;
    const auto& timeline = record_.timeline;
    for (std::uint32_t k = 0; k < record_.executions.size(); ++k) {
      const StepExecution& execution = record_.executions[k];
      const Picoseconds begin =
          DateOf(timeline.start[execution.first_start + site]);
      const Picoseconds end = DateOf(timeline.end[execution.first_end + site]);
      const std::string& name = record_.names[execution.op];
      if (execution.kind != ExecutionKind::kWait) {
        EmitLive(chip, std::max(begin, core_at), execution.op);
      }
      switch (execution.kind) {
        case ExecutionKind::kCompute:
          EmitSlice(chip, kCoreThread, {begin, end, name, "compute", "", {}});
          core_at = end;
          break;
        case ExecutionKind::kSync:
          EmitSlice(chip, kCoreThread,
                    {begin, end, name, "collective", "", {}});
          core_at = end;
          break;
        case ExecutionKind::kStart:
          async.Add({begin, end, name, "async collective", "", k});
          break;
        case ExecutionKind::kWait:
          if (end > core_at) {
            EmitSlice(chip, kCoreThread,
                      {core_at, end, name + " wait", "wait", "", {}});
          }
          core_at = std::max(core_at, end);
          break;
      }
    }
    WriteTrack(chip, "Async XLA Ops", async,
               [&](const Interval& slice, int thread) {
                 thread_of_[*slice.id] = thread;
               });
  }

  // What the chip holds from here on, where that is known.
  void EmitLive(ChipId chip, Picoseconds time, std::uint32_t op) {
    if (!record_.live[op]) return;
    Emit("\"ph\": \"C\", \"name\": \"HBM\", \"ts\": " + Micros(time) + ", " +
         At(chip, 0) + ", \"args\": {\"live bytes\": " +
         std::to_string(record_.live[op]->value()) + "}");
  }

  // The slices on threads of their own, one per lane; calls visit(slice,
  // thread) for each.
  template <class Visit>
  void WriteTrack(ChipId chip, const std::string& name, Track& track,
                  Visit visit) {
    const Track::Dealt dealt = track.Deal();
    const int first = next_thread_;
    next_thread_ += dealt.lanes;
    for (int lane = 0; lane < dealt.lanes; ++lane) {
      EmitName(chip, first + lane, name + Numbered(lane));
    }
    for (std::size_t k = 0; k < track.slices().size(); ++k) {
      const int thread = first + dealt.lane_of[k];
      EmitSlice(chip, thread, track.slices()[k]);
      visit(track.slices()[k], thread);
    }
  }

  static std::string Numbered(int lane) {
    return lane == 0 ? "" : " (" + std::to_string(lane + 1) + ")";
  }

  // Which execution a transfer belongs to.
  std::size_t ExecutionOf(std::uint32_t op) const {
    if (record_.executions.empty()) return 0;
    const auto after = std::upper_bound(
        record_.executions.begin(), record_.executions.end(), op,
        [](std::uint32_t id, const StepExecution& execution) {
          return id < execution.first_start;
        });
    return static_cast<std::size_t>(after - record_.executions.begin()) - 1;
  }

  std::string CollectiveOf(std::uint32_t op) const {
    if (record_.executions.empty()) return record_.name;
    return record_.names[record_.executions[ExecutionOf(op)].op];
  }

  void WriteLinks(ChipId chip) {
    std::map<LinkId, std::vector<const Hop*>> by_link;
    for (const Hop& hop : hops_[SiteOf(chip)]) {
      by_link[LinkOf(chip, hop.link)].push_back(&hop);
    }
    for (const auto& [link, hops] : by_link) WriteLink(chip, link, hops);
  }

  std::string TargetText(OpId op, LinkId link) const {
    if (!grid_) return NameOf(schedule_.dst(op));
    return topology_.IsPort(link) ? "another slice"
                                  : NameOf(topology_.Target(link));
  }

  void WriteLink(ChipId chip, LinkId link,
                 const std::vector<const Hop*>& hops) {
    const std::string name = DirectionOf(link);
    Track track;
    std::map<Picoseconds, int> changes;  // of the number of flows
    for (const Hop* hop : hops) {
      const OpId op(hop->op);
      const Picoseconds begin = DateOf(record_.timeline.start[hop->op]);
      const Picoseconds end = DateOf(record_.timeline.end[hop->op]);
      const Picoseconds flow = std::min(end, begin + StartUpOf(op));
      ++changes[flow];
      --changes[end];
      Interval slice{
          begin,
          end,
          CollectiveOf(hop->op) + " to " + TargetText(op, link),
          "transfer",
          "\"bytes\": " + std::to_string(schedule_.bytes(op).value()) +
              ", \"op\": " + std::to_string(hop->op) +
              ", \"start_up_us\": " + Micros(flow - begin) +
              ", \"hops\": " + std::to_string(schedule_.route(op).size()),
          {}};
      if (hop->first) {
        slice.id = std::uint64_t{hop->op} * topology_.chips() + chip.value();
      }
      track.Add(std::move(slice));
    }
    WriteTrack(chip, name, track, [&](const Interval& slice, int thread) {
      if (!slice.id) return;
      const auto op = static_cast<std::uint32_t>(*slice.id / topology_.chips());
      EmitArrow("s", *slice.id, chip, thread_of_[ExecutionOf(op)], slice.begin);
      EmitArrow("f", *slice.id, chip, thread, slice.begin);
    });
    int flowing = 0;
    for (const auto& [time, change] : changes) {
      if (change == 0) continue;
      flowing += change;
      Emit("\"ph\": \"C\", \"name\": " + Quoted(name) +
           ", \"ts\": " + Micros(time) + ", " + At(chip, 0) +
           ", \"args\": {\"transfers\": " + std::to_string(flowing) + "}");
    }
  }

  Picoseconds StartUpOf(OpId op) const {
    double seconds = slice_.parameters.ici_message_overhead.value();
    for (const LinkId link : schedule_.route(op)) {
      seconds +=
          topology_.Latency(grid_ ? grid_->Representative(link) : link).value();
    }
    return std::llround(seconds * 1e12);
  }

  const RunRecord& record_;
  const Schedule& schedule_;
  const Slice& slice_;
  const Topology& topology_;
  std::vector<ChipId> chips_;
  std::optional<FoldedGrid> grid_;
  std::vector<std::vector<Hop>> hops_;  // by site
  std::vector<Picoseconds> ends_;       // of a site's last op
  // Of the chip being written.
  int next_thread_ = 0;
  std::vector<int> thread_of_;  // of an execution's slice
  std::string text_;
};

}  // namespace

std::string TraceJson(const RunRecord& record, const Slice& slice,
                      const std::vector<ChipId>& chips,
                      const std::string& where) {
  TraceWriter writer(record, slice, chips);
  if (const std::uint64_t events = writer.CountEvents();
      events > kMostTraceEvents) {
    throw InputError(where, "the trace would have about " +
                                std::to_string(events) +
                                " events, viewers take up to " +
                                std::to_string(kMostTraceEvents) +
                                "; name fewer chips with --trace-chips 0,1,2");
  }
  return writer.Write();
}

}  // namespace podsim
