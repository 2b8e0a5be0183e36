#include "schedule/schedule.h"

#include "base/check.h"

namespace podsim {

OpId Schedule::Append(const Op& op, std::span<const OpId> after) {
  const auto id = static_cast<std::uint32_t>(ops_.size());
  CHECK(id != UINT32_MAX);
  ops_.push_back(op);
  for (const OpId wait : after) {
    CHECK(wait.value() < id) << "op " << id << " waits for " << wait.value();
    after_.push_back(wait);
  }
  first_after_.push_back(static_cast<std::uint32_t>(after_.size()));
  if (!one_hop_) hops_.push_back(0);
  return OpId(id);
}

OpId Schedule::Add(const Transfer& transfer, LinkId link,
                   std::span<const OpId> after) {
  ++transfers_;
  CHECK(transfer.chunks.base == transfer.src ||
        !IsPlaced(transfer.chunks.pattern))
      << "chunks seen from another chip than the one that sends them";
  const OpId id = Append({.bytes = Halves(transfer.bytes.value()),
                          .src = transfer.src,
                          .dst = transfer.dst,
                          .route = link,
                          .pattern = transfer.chunks.pattern,
                          .lane = transfer.lane,
                          .mode = transfer.mode,
                          .kind = OpKind::kTransfer},
                         after);
  if (!one_hop_) {
    ops_.back().route = LinkId(static_cast<std::uint32_t>(routes_.size()));
    routes_.push_back(link);
    hops_.back() = 1;
  }
  return id;
}

OpId Schedule::Add(const Transfer& transfer, std::span<const LinkId> route,
                   std::span<const OpId> after) {
  CHECK(!route.empty());
  if (route.size() > 1 && one_hop_) {
    // From here on every route is in the pool.
    one_hop_ = false;
    for (Op& op : ops_) {
      const bool moves = op.kind == OpKind::kTransfer;
      hops_.push_back(moves ? 1 : 0);
      if (!moves) continue;
      routes_.push_back(op.route);
      op.route = LinkId(static_cast<std::uint32_t>(routes_.size() - 1));
    }
  }
  const OpId id = Add(transfer, route[0], after);
  if (route.size() > 1) {
    routes_.insert(routes_.end(), route.begin() + 1, route.end());
    hops_.back() = static_cast<std::uint32_t>(route.size());
  }
  return id;
}

OpId Schedule::AddLocal(ChipId chip, ChunkSet chunks, OpId scratch_of,
                        Seconds duration, std::span<const OpId> after) {
  durations_.push_back(duration);
  return Append(
      {.bytes = Halves(static_cast<std::int64_t>(durations_.size() - 1)),
       .src = chip,
       .dst = chip,
       .route = LinkId(scratch_of.value()),
       .pattern = chunks.pattern,
       .lane = 0,
       .mode = Mode::kReduce,
       .kind = OpKind::kLocal},
      after);
}

OpId Schedule::AddAccumulate(ChipId chip, ChunkSet chunks,
                             std::span<const OpId> after) {
  durations_.emplace_back(0);
  return Append(
      {.bytes = Halves(static_cast<std::int64_t>(durations_.size() - 1)),
       .src = chip,
       .dst = chip,
       .route = LinkId(0),
       .pattern = chunks.pattern,
       .lane = 0,
       .mode = Mode::kAccumulate,
       .kind = OpKind::kLocal},
      after);
}

OpId Schedule::AddCompute(ChipId chip, Seconds duration,
                          std::span<const OpId> after, Bytes hbm) {
  durations_.push_back(duration);
  hbm_.resize(durations_.size());
  hbm_.back() = hbm;
  return Append(
      {.bytes = Halves(static_cast<std::int64_t>(durations_.size() - 1)),
       .src = chip,
       .dst = chip,
       .route = LinkId(0),
       .pattern = PatternId(0),
       .lane = 0,
       .mode = Mode::kCopy,
       .kind = OpKind::kCompute},
      after);
}

bool Schedule::IsPlaced(PatternId pattern) const {
  if (pattern.value() >= patterns_.size()) return false;
  const SchedulePattern& known = patterns_[pattern.value()];
  return known.relative || known.sub_chunks > 0;
}

void AppendRun(std::vector<ChunkRun>& runs, std::uint32_t first,
               std::uint32_t count) {
  if (!runs.empty() && runs.back().first + runs.back().count == first) {
    runs.back().count += count;
  } else {
    runs.push_back({first, count});
  }
}

PatternId Schedule::AddPattern(const SchedulePattern& pattern) {
  patterns_.push_back(pattern);
  return PatternId(static_cast<std::uint32_t>(patterns_.size() - 1));
}

PatternId Schedule::AddRuns(std::span<const ChunkRun> runs) {
  const auto first = static_cast<std::uint32_t>(runs_.size());
  runs_.insert(runs_.end(), runs.begin(), runs.end());
  return AddPattern({.owners = {},
                     .first_sub_chunk = 0,
                     .sub_chunks = 0,
                     .first_run = first,
                     .end_run = static_cast<std::uint32_t>(runs_.size())});
}

PatternId Schedule::AddItems(std::span<const ChunkItem> items) {
  const auto first = static_cast<std::uint32_t>(items_.size());
  items_.insert(items_.end(), items.begin(), items.end());
  return AddPattern({.owners = {},
                     .first_sub_chunk = 0,
                     .sub_chunks = 0,
                     .first_run = first,
                     .end_run = static_cast<std::uint32_t>(items_.size()),
                     .relative = true});
}

void Schedule::Reserve(std::uint64_t ops, std::uint64_t waits) {
  ops_.reserve(ops);
  first_after_.reserve(ops + 1);
  after_.reserve(waits);
}

std::span<const LinkId> Schedule::route(OpId op) const {
  const Op& entry = ops_[op.value()];
  if (one_hop_) return {&entry.route, 1};
  return std::span(routes_).subspan(entry.route.value(), hops_[op.value()]);
}

Seconds Schedule::duration(OpId op) const {
  return durations_[static_cast<std::size_t>(ops_[op.value()].bytes.value())];
}

Bytes Schedule::hbm(OpId op) const {
  const auto index = static_cast<std::size_t>(ops_[op.value()].bytes.value());
  return index < hbm_.size() ? hbm_[index] : Bytes(0);
}

}  // namespace podsim
