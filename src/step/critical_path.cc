#include "step/critical_path.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace podsim {
namespace {

// Dates that differ by rounding only are the same: no wait.
bool IsLater(double date, double than) { return date > than + 1e-12 * date; }

// The part of an op that the walk stands on: of a sync first its transfer.
struct Node {
  std::uint32_t op = kNoOp;
  bool transfer = false;
};

class PathWalk {
 public:
  PathWalk(const AbstractStep& step, StepOrderView order,
           const AbstractTimeline& timeline)
      : step_(step),
        timeline_(timeline),
        core_before_(step.ops.size(), kNoOp),
        queued_before_(step.ops.size()) {
    std::uint32_t before = kNoOp;
    std::vector<std::uint32_t> last(step.resources.size(), kNoOp);
    for (const std::uint32_t op : order) {
      core_before_[op] = before;
      before = op;
      if (!HasTransfer(step.ops[op])) continue;
      for (const ResourceUse& use : step.ops[op].use) {
        if (step.resources[use.resource].mode != ResourceMode::kFifo) continue;
        if (last[use.resource] != kNoOp) {
          queued_before_[op].push_back(last[use.resource]);
        }
        last[use.resource] = op;
      }
    }
    if (!order.empty()) at_ = EndOf(order.back());
  }

  std::vector<PathSegment> Walk() {
    end_ = timeline_.makespan;
    while (at_.op != kNoOp) {
      at_ = at_.transfer ? PassTransfer(at_.op) : PassCore(at_.op);
    }
    if (!segments_.empty()) segments_.back().edge = PathEdge::kBegin;
    std::reverse(segments_.begin(), segments_.end());
    return std::move(segments_);
  }

 private:
  // Where the walk enters an op from behind on the core.
  Node EndOf(std::uint32_t op) const {
    const bool waited =
        step_.ops[op].kind == AbstractKind::kSync &&
        IsLater(timeline_.transfer_end[op], timeline_.issued[op]);
    return {.op = op, .transfer = waited};
  }

  // Before the segment added last. Edges of parts without length are passed on:
  // the schedule's win.
  void AddEdge(PathEdge edge) {
    if (segments_.empty()) return;
    PathEdge& known = segments_.back().edge;
    if (known == PathEdge::kBegin || known == PathEdge::kDependence) {
      known = edge;
    }
  }

  void Add(double length, PathKind kind, std::uint32_t op,
           std::uint32_t resource = 0) {
    if (length <= 0) return;
    // Parts of one op follow from one another.
    if (!segments_.empty() && segments_.back().edge == PathEdge::kBegin) {
      segments_.back().edge = PathEdge::kDependence;
    }
    segments_.push_back({.begin = end_ - length,
                         .end = end_,
                         .kind = kind,
                         .op = op,
                         .resource = resource});
    end_ -= length;
  }

  void AddLosses(std::uint32_t op, bool transfer) {
    auto loss = std::lower_bound(
        timeline_.losses.begin(), timeline_.losses.end(), op,
        [&](const LostTime& l, std::uint32_t key) { return l.op < key; });
    for (; loss != timeline_.losses.end() && loss->op == op; ++loss) {
      if (loss->transfer != transfer) continue;
      Add(loss->seconds, PathKind::kContention, op, loss->resource);
    }
  }

  // From `begin`, the end of what the walk goes to next, to end_.
  void AddCore(std::uint32_t op, double begin) {
    AddLosses(op, /*transfer=*/false);
    const bool compute = step_.ops[op].kind == AbstractKind::kCompute;
    Add(end_ - begin, compute ? PathKind::kCompute : PathKind::kIssue, op);
  }

  void AddTransfer(std::uint32_t op, double begin) {
    AddLosses(op, /*transfer=*/true);
    const bool works = step_.ops[op].work.value() > 0;
    const double latency = step_.ops[op].latency.value();
    if (works) Add(end_ - begin - latency, PathKind::kTransfer, op);
    Add(end_ - begin, latency > 0 ? PathKind::kLatency : PathKind::kTransfer,
        op);
  }

  // The transfer of `op`, and on to what it waited for.
  Node PassTransfer(std::uint32_t op) {
    const double begin = timeline_.transfer_begin[op];
    std::uint32_t releaser = kNoOp;
    if (IsLater(begin, timeline_.issued[op])) {
      for (const std::uint32_t ahead : queued_before_[op]) {
        if (IsLater(begin, timeline_.transfer_end[ahead])) continue;
        if (releaser == kNoOp || ahead > releaser) releaser = ahead;
      }
      CHECK(releaser != kNoOp) << OpText(step_, op) << " waits for nothing";
      AddTransfer(op, timeline_.transfer_end[releaser]);
      AddEdge(PathEdge::kQueue);
      return {.op = releaser, .transfer = true};
    }
    AddTransfer(op, timeline_.issued[op]);
    AddEdge(PathEdge::kDependence);
    return {.op = op, .transfer = false};
  }

  Node PassCore(std::uint32_t op) {
    const std::uint32_t before = core_before_[op];
    const double free = before == kNoOp ? 0 : timeline_.end[before];
    const std::optional<std::uint32_t>& start = step_.ops[op].of;
    if (start && IsLater(timeline_.begin[op], free)) {
      AddCore(op, timeline_.transfer_end[*start]);
      AddEdge(PathEdge::kDependence);
      return {.op = *start, .transfer = true};
    }
    AddCore(op, free);
    if (before == kNoOp) return {};
    AddEdge(DependsOn(op, before) ? PathEdge::kDependence
                                  : PathEdge::kCoreOrder);
    return EndOf(before);
  }

  bool DependsOn(std::uint32_t op, std::uint32_t before) const {
    const AbstractOp& o = step_.ops[op];
    const auto in = [&](const std::vector<std::uint32_t>& list) {
      return std::find(list.begin(), list.end(), before) != list.end();
    };
    return in(o.deps) || in(o.ctrl) || o.of == before || o.alias == before;
  }

  const AbstractStep& step_;
  const AbstractTimeline& timeline_;
  std::vector<std::uint32_t> core_before_;
  std::vector<std::vector<std::uint32_t>> queued_before_;
  Node at_;
  double end_ = 0;                     // of the next segment
  std::vector<PathSegment> segments_;  // last first
};

}  // namespace

std::vector<PathSegment> CriticalPath(const AbstractStep& step,
                                      StepOrderView order,
                                      const AbstractTimeline& timeline) {
  std::vector<PathSegment> path = PathWalk(step, order, timeline).Walk();
  double sum = 0;
  double at = 0;
  const double rounding = 1e-9 * timeline.makespan;
  for (const PathSegment& segment : path) {
    CHECK(std::abs(segment.begin - at) <= rounding) << "gap at " << at << " s";
    at = segment.end;
    sum += segment.end - segment.begin;
  }
  CHECK(std::abs(sum - timeline.makespan) <= rounding)
      << "a path of " << sum << " s in " << timeline.makespan << " s";
  return path;
}

std::map<std::string, double> PathTotals(const AbstractStep& step,
                                         const std::vector<PathSegment>& path) {
  static constexpr std::array<const char*, 5> kNames = {
      "compute", "issue", "latency", "transfer", "contention:"};
  std::map<std::string, double> totals;
  for (const PathSegment& segment : path) {
    std::string name = kNames[static_cast<std::size_t>(segment.kind)];
    if (segment.kind == PathKind::kContention) {
      name += step.resources[segment.resource].name;
    }
    totals[name] += segment.end - segment.begin;
  }
  return totals;
}

}  // namespace podsim
