#include "sim/compile_step.h"

#include <algorithm>

#include "base/check.h"

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
  Compiler(const StepGraph& graph, std::uint32_t sites, Seconds launch)
      : graph_(graph),
        sites_(sites),
        launch_(launch),
        core_(sites),
        dma_(sites),
        sparse_core_(sites),
        latest_(graph.ops.size()) {
    step_.schedule.AddPattern({});
    for (const StepOp& op : graph.ops) overlaps_ |= op.async();
  }

  void AddItems(const std::vector<StepItem>& items,
                const std::vector<const Schedule*>& collectives,
                int most_repeats) {
    for (const StepItem& item : items) {
      if (!item.op) {
        AddLoop(item, collectives, most_repeats);
      } else if (item.wait) {
        AddWait(*item.op);
      } else if (collectives[*item.op] != nullptr) {
        AddCollective(*item.op, *collectives[*item.op]);
      } else if (graph_.ops[*item.op].copy) {
        AddCopy(*item.op);
      } else {
        AddCompute(*item.op);
      }
    }
  }

  CompiledStep Finish() && { return std::move(step_); }

 private:
  void AddLoop(const StepItem& loop,
               const std::vector<const Schedule*>& collectives,
               int most_repeats) {
    const bool whole = most_repeats == 0 || loop.repeat <= most_repeats;
    const int repeats = whole ? loop.repeat : most_repeats;
    ShortenedLoop shortened;
    for (int k = 0; k < repeats; ++k) {
      shortened.first_op.push_back(step_.schedule.size());
      AddItems(loop.body, collectives, most_repeats);
    }
    if (whole) return;
    shortened.first_op.push_back(step_.schedule.size());
    shortened.left_out = loop.repeat - repeats;
    step_.loops.push_back(std::move(shortened));
  }

  void AddCompute(std::uint32_t op) {
    const std::uint32_t first = step_.schedule.size();
    const Bytes hbm = overlaps_ ? graph_.ops[op].hbm : Bytes(0);
    for (std::uint32_t site = 0; site < sites_; ++site) {
      core_[site] = {step_.schedule.AddCompute(
          ChipId(site), graph_.ops[op].duration, core_[site], hbm)};
    }
    Record({op, ExecutionKind::kCompute, first, first});
  }

  // Beside the core, after the copies before it.
  void AddCopy(std::uint32_t op) {
    const std::uint32_t first_start = step_.schedule.size();
    AddPerSite(Seconds(0), core_);
    const std::uint32_t first_end = step_.schedule.size();
    for (std::uint32_t site = 0; site < sites_; ++site) {
      std::vector<OpId> after = {OpId(first_start + site)};
      after.insert(after.end(), dma_[site].begin(), dma_[site].end());
      dma_[site] = {step_.schedule.AddCompute(
          ChipId(site), graph_.ops[op].duration, after, graph_.ops[op].hbm)};
      core_[site] = {OpId(first_start + site)};
    }
    latest_[op] = static_cast<std::uint32_t>(step_.executions.size());
    Record({op, ExecutionKind::kStart, first_start, first_end});
  }

  void AddCollective(std::uint32_t op, const Schedule& collective) {
    const bool async = graph_.ops[op].async();
    const bool offloaded = graph_.ops[op].mode == CollectiveMode::kSparseCore;
    const std::uint32_t first_start = step_.schedule.size();
    const Seconds launch = collective.size() > 0 ? launch_ : Seconds(0);
    // A sync collective is launched on the core, an async one beside it.
    AddPerSite(async ? Seconds(0) : launch, core_);
    const std::uint32_t first_ready =
        async ? step_.schedule.size() : first_start;
    if (async) {
      for (std::uint32_t site = 0; site < sites_; ++site) {
        std::vector<OpId> after = {OpId(first_start + site)};
        if (offloaded) {
          after.insert(after.end(), sparse_core_[site].begin(),
                       sparse_core_[site].end());
        }
        step_.schedule.AddCompute(ChipId(site), launch, after);
      }
    }
    const auto last = AddTransfers(collective, first_ready);
    const std::uint32_t first_end = step_.schedule.size();
    AddPerSite(Seconds(0), last);
    const std::uint32_t first_free = async ? first_start : first_end;
    for (std::uint32_t site = 0; site < sites_; ++site) {
      core_[site] = {OpId(first_free + site)};
      if (offloaded) sparse_core_[site] = {OpId(first_end + site)};
    }
    latest_[op] = static_cast<std::uint32_t>(step_.executions.size());
    Record({op, async ? ExecutionKind::kStart : ExecutionKind::kSync,
            first_start, first_end});
  }

  void AddWait(std::uint32_t op) {
    const StepExecution& started = step_.executions[latest_[op]];
    const std::uint32_t first = step_.schedule.size();
    for (std::uint32_t site = 0; site < sites_; ++site) {
      std::vector<OpId> after = core_[site];
      after.emplace_back(started.first_end + site);
      core_[site] = {
          step_.schedule.AddCompute(ChipId(site), Seconds(0), after)};
    }
    Record({op, ExecutionKind::kWait, first, first, latest_[op]});
  }

  void Record(StepExecution execution) {
    step_.executions.push_back(execution);
  }

  void AddPerSite(Seconds duration,
                  const std::vector<std::vector<OpId>>& after) {
    for (std::uint32_t site = 0; site < sites_; ++site) {
      step_.schedule.AddCompute(ChipId(site), duration, after[site]);
    }
  }

  // The transfers, each after the markers of both its ends; what the end on
  // every site waits for.
  std::vector<std::vector<OpId>> AddTransfers(const Schedule& collective,
                                              std::uint32_t first_ready) {
    const std::uint32_t first_transfer = step_.schedule.size();
    const LaneEnds ends = FindLaneEnds(collective);
    std::vector<std::vector<OpId>> last(sites_);
    for (std::uint32_t site = 0; site < sites_; ++site) {
      last[site].emplace_back(first_ready + site);
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
        after.emplace_back(first_ready + src);
        if (dst != src) after.emplace_back(first_ready + dst);
      }
      if (collective.kind(from) != OpKind::kTransfer) {
        // A local add: on the chip, beside its core.
        last[src].push_back(step_.schedule.AddCompute(
            ChipId(src), collective.duration(from), after));
        continue;
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
    return last;
  }

  const StepGraph& graph_;
  std::uint32_t sites_;
  Seconds launch_;
  bool overlaps_ = false;
  CompiledStep step_;
  // What the next op of each site's core waits for.
  std::vector<std::vector<OpId>> core_;
  // The end of the last copy, and of the last collective on the SparseCore.
  std::vector<std::vector<OpId>> dma_;
  std::vector<std::vector<OpId>> sparse_core_;
  std::vector<std::uint32_t> latest_;  // execution, by op
};

}  // namespace

CompiledStep CompileStep(const StepGraph& graph,
                         const std::vector<const Schedule*>& collectives,
                         std::uint32_t sites, Seconds launch,
                         int most_repeats) {
  CHECK(most_repeats == 0 || most_repeats >= 4);
  Compiler compiler(graph, sites, launch);
  compiler.AddItems(graph.items, collectives, most_repeats);
  return std::move(compiler).Finish();
}

}  // namespace podsim
