#include "sim/compile_step.h"

#include <algorithm>

namespace podsim {
namespace {

// Which transfers open and close a lane: of those between, the order of the
// lane says what markers would.
struct LaneEnds {
  std::vector<bool> opens;
  std::vector<bool> closes;
};

LaneEnds FindLaneEnds(const Schedule& schedule) {
  LaneEnds ends{std::vector<bool>(schedule.size(), true),
                std::vector<bool>(schedule.size(), true)};
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    for (const OpId before : schedule.after(op)) {
      const bool same_lane = schedule.src(before) == schedule.src(op) &&
                             schedule.dst(before) == schedule.dst(op) &&
                             schedule.lane(before) == schedule.lane(op);
      if (!same_lane) continue;
      ends.opens[id] = false;
      ends.closes[before.value()] = false;
    }
  }
  return ends;
}

class Compiler {
 public:
  Compiler(std::uint32_t sites, Seconds launch)
      : sites_(sites), launch_(launch), core_(sites) {
    step_.schedule.AddPattern({});
  }

  void AddCompute(std::uint32_t op, Seconds duration) {
    const std::uint32_t first = step_.schedule.size();
    for (std::uint32_t site = 0; site < sites_; ++site) {
      core_[site] = {
          step_.schedule.AddCompute(ChipId(site), duration, core_[site])};
    }
    step_.executions.push_back({op, first, first});
  }

  void AddCollective(std::uint32_t op, const Schedule& collective) {
    const std::uint32_t first_start = step_.schedule.size();
    const Seconds launch = collective.size() > 0 ? launch_ : Seconds(0);
    for (std::uint32_t site = 0; site < sites_; ++site) {
      step_.schedule.AddCompute(ChipId(site), launch, core_[site]);
    }
    const std::uint32_t first_transfer = step_.schedule.size();
    const LaneEnds ends = FindLaneEnds(collective);
    std::vector<std::vector<OpId>> last(sites_);
    for (std::uint32_t site = 0; site < sites_; ++site) {
      last[site].emplace_back(first_start + site);
    }
    std::vector<OpId> after;
    for (std::uint32_t id = 0; id < collective.size(); ++id) {
      const OpId from(id);
      const std::uint32_t src = collective.src(from).value();
      const std::uint32_t dst = collective.dst(from).value();
      after.clear();
      for (const OpId wait : collective.after(from)) {
        after.emplace_back(first_transfer + wait.value());
      }
      if (ends.opens[id]) {
        after.emplace_back(first_start + src);
        if (dst != src) after.emplace_back(first_start + dst);
      }
      const OpId added =
          step_.schedule.Add(Transfer{.src = ChipId(src),
                                      .dst = ChipId(dst),
                                      .chunks = {PatternId(0), ChipId(src)},
                                      .bytes = collective.bytes(from),
                                      .mode = collective.mode(from),
                                      .lane = collective.lane(from)},
                             collective.route(from), after);
      if (!ends.closes[id]) continue;
      last[src].push_back(added);
      if (dst != src) last[dst].push_back(added);
    }
    const std::uint32_t first_end = step_.schedule.size();
    for (std::uint32_t site = 0; site < sites_; ++site) {
      core_[site] = {
          step_.schedule.AddCompute(ChipId(site), Seconds(0), last[site])};
    }
    step_.executions.push_back({op, first_start, first_end});
  }

  CompiledStep Finish() && { return std::move(step_); }

 private:
  std::uint32_t sites_;
  Seconds launch_;
  CompiledStep step_;
  // What the next op of each site's core waits for.
  std::vector<std::vector<OpId>> core_;
};

}  // namespace

CompiledStep CompileStep(const StepGraph& graph,
                         const std::vector<const Schedule*>& collectives,
                         std::uint32_t sites, Seconds launch) {
  Compiler compiler(sites, launch);
  ForEachExecution(graph.items, [&](std::uint32_t op) {
    if (collectives[op] != nullptr) {
      compiler.AddCollective(op, *collectives[op]);
    } else {
      compiler.AddCompute(op, graph.ops[op].duration);
    }
  });
  return std::move(compiler).Finish();
}

}  // namespace podsim
