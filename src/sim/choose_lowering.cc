#include "sim/choose_lowering.h"

#include <algorithm>

#include "base/error.h"
#include "collective/groups.h"
#include "cost/bounds.h"
#include "cost/closed_form.h"
#include "cost/fx_estimate.h"
#include "engine/engine.h"
#include "sim/choose_fold.h"

namespace podsim {
namespace {

// `auto` simulates candidates up to this size.
constexpr std::uint64_t kMostTried = 300'000;  // transfers
constexpr std::uint64_t kMostSteps = 300'000;
// Of several hops, where few dates make them quick: a second.
constexpr std::uint64_t kMostFewDates = 70'000;  // transfers
// Plans of fx that are simulated, and messages of one and of all.
constexpr std::size_t kMostPlans = 4;
constexpr std::uint64_t kMostPlanMessages = 40'000;
constexpr std::uint64_t kMostAllPlanMessages = 60'000;
// Of one that promises so much less time than any closed form: two seconds.
constexpr std::uint64_t kMostLargePlanMessages = 320'000;
constexpr double kLargePlanGain = 0.2;
// Of its estimate, what a plan of fx takes at best.
constexpr double kBestOfEstimate = 0.7;
// Times closer than this are ties, broken by table order.
constexpr double kTie = 1e-9;
// What can gain no more than this is not built.
constexpr double kLeastGain = 1e-3;
// What comes so close to the bound is good enough not to search any further.
constexpr double kGoodEnough = 1.01;

std::uint64_t MostMultiHopOf(const LoweringSpec& spec) {
  return FindLowering(spec.name)->few_dates ? kMostFewDates : kMostMultiHop;
}

// Seconds of a candidate, of equal shards where that lets it fold; nullopt if
// it is too large to try.
std::optional<double> TryTime(const LoweredCollective& lowered,
                              const Slice& slice, const SimOptions& options,
                              std::uint64_t most_multi_hop) {
  // What wins is simulated as asked for: chip by chip if it does not fold.
  if (HasFarSteps(lowered) &&
      CountTransfers(lowered, slice.topology) > kMostMultiHop) {
    SimOptions fluid = options;
    fluid.network = {};
    if (options.fold == FoldMode::kOn) fluid.fold = FoldMode::kAuto;
    const bool pads = options.fold == FoldMode::kOn;
    const FoldChoice choice =
        ChooseFold(lowered, WithoutDatedFaults(slice), fluid, "");
    if (!choice.fold && !pads) return std::nullopt;
  }
  if (const auto exact = ClosedForm(lowered.spec, lowered.collective, slice)) {
    return exact->value();
  }
  const Topology& topology = slice.topology;
  const std::optional<Fold> fold =
      lowered.program ? FoldOf(*lowered.program, topology) : std::nullopt;
  const FoldedGrid grid(topology, fold.value_or(NoFold(topology)));
  if (CountSlots(lowered, grid) > kMostTried) return std::nullopt;
  const Schedule schedule = MakeSchedule(
      lowered, topology, fold.value_or(NoFold(topology)),
      fold ? PaddedPayload(lowered, topology) : lowered.collective.payload);
  if (!schedule.one_hop() && schedule.transfers() > most_multi_hop) {
    return std::nullopt;
  }
  const Network network = fold ? MakeNetwork(slice, grid) : MakeNetwork(slice);
  return RunCore(schedule, network).makespan +
         slice.parameters.collective_launch.value();
}

// Building costs too: routes of several hops around faults are searched for.
std::uint64_t MostStepsOf(const LoweringSpec& spec,
                          const Collective& collective,
                          const Topology& topology,
                          std::uint64_t most_multi_hop) {
  return HasProgram(spec, collective, topology) ||
                 FindLowering(spec.name)->one_hop
             ? kMostSteps
             : most_multi_hop;
}

// What a candidate that is too large to try takes by its formula; nullopt: it
// has none.
std::optional<double> EstimateTime(const LoweringSpec& spec,
                                   const Collective& collective,
                                   const Slice& slice) {
  const Lowering* row = FindLowering(spec.name);
  if (!row->attains || slice.parameters.ici_issue.value() > 0 ||
      slice.parameters.ici_window > 0) {
    return std::nullopt;
  }
  const LoweringSpec resolved = Resolve(spec, collective, slice);
  return AtLeast(resolved, collective, slice).value() +
         slice.parameters.collective_launch.value();
}

// A candidate that cannot win, or is too large to try, without building it.
bool CannotWin(const LoweringSpec& spec, const Collective& collective,
               const Slice& slice, const std::optional<double>& best) {
  const Lowering* row = FindLowering(spec.name);
  if (row->at_least == nullptr || !best || !slice.topology.is_grid() ||
      SpansSlices(collective, slice.topology)) {
    return false;
  }
  const LoweringSpec resolved = Resolve(spec, collective, slice);
  return AtLeast(resolved, collective, slice).value() +
             slice.parameters.collective_launch.value() >=
         *best * (1 - kLeastGain);
}

// Whether nothing can be faster than the best so far by more than a ratio.
class NearBound {
 public:
  NearBound(const Collective& collective, const Slice& slice)
      : collective_(collective), slice_(slice) {}

  bool operator()(double best, double ratio = kGoodEnough) {
    if (bound_ < 0) {
      bound_ = ComputeBounds(collective_, slice_).binding().time.value() +
               slice_.parameters.collective_launch.value();
    }
    return best <= ratio * bound_;
  }

 private:
  const Collective& collective_;
  const Slice& slice_;
  double bound_ = -1;  // seconds, once it is known
};

// Times the candidates and keeps the fastest.
class Chooser {
 public:
  Chooser(const Collective& collective, const Slice& slice,
          const std::string& where, const SimOptions& options)
      : collective_(collective),
        slice_(slice),
        where_(where),
        options_(options),
        near_bound_(collective, slice) {}

  LoweredCollective Choose(const std::vector<LoweringSpec>& candidates) {
    std::vector<LoweringSpec> unknown;
    for (const LoweringSpec& candidate : candidates) {
      if (!TakeClosedForm(candidate)) unknown.push_back(candidate);
    }
    // What repeats from chip to chip is timed quickly.
    const auto slow = std::stable_partition(
        unknown.begin(), unknown.end(),
        [this](const LoweringSpec& candidate) { return IsQuick(candidate); });
    for (auto it = unknown.begin(); it != slow; ++it) Try(*it, kMostMultiHop);
    TryLargePlan();
    for (auto it = slow; it != unknown.end(); ++it) {
      Try(*it, MostMultiHopOf(*it));
    }
    TryFactored();
    LoweredCollective chosen = Chosen();
    SetRunnerUp(chosen);
    return chosen;
  }

 private:
  bool IsQuick(const LoweringSpec& candidate) const {
    return FindLowering(candidate.name)->one_hop &&
           HasProgram(candidate, collective_, slice_.topology);
  }

  // The exact time, where a formula gives it without any construction.
  bool TakeClosedForm(const LoweringSpec& candidate) {
    if (!IsQuick(candidate)) return false;
    const LoweringSpec resolved = Resolve(candidate, collective_, slice_);
    const auto time = ClosedForm(resolved, collective_, slice_);
    if (!time) return false;
    tried_.push_back({resolved, time->value()});
    if (IsBest(time->value())) {
      best_.reset();
      best_spec_ = candidate;
      best_time_ = time->value();
    }
    return true;
  }

  // Up to so many transfers of several hops.
  void Try(const LoweringSpec& candidate, std::uint64_t most_multi_hop) {
    const bool built = !HasProgram(candidate, collective_, slice_.topology);
    // Those without a program cost a search, or all their transfers.
    if (best_time_ && built && near_bound_(*best_time_)) return;
    if (CannotWin(candidate, collective_, slice_, best_time_)) return;
    if (CountSteps(Resolve(candidate, collective_, slice_), collective_,
                   slice_.topology) >
        MostStepsOf(candidate, collective_, slice_.topology, most_multi_hop)) {
      LeaveOut(candidate);
      return;
    }
    LoweredCollective lowered =
        LowerCollective(collective_, slice_, candidate, where_, SimOptions{});
    const std::optional<double> time =
        TryTime(lowered, slice_, options_, most_multi_hop);
    if (!time) {
      LeaveOut(candidate);
      return;
    }
    tried_.push_back({lowered.spec, *time});
    if (!IsBest(*time)) return;
    best_ = std::move(lowered);
    best_spec_ = candidate;
    best_time_ = *time;
  }

  // A plan of fx.
  struct Plan {
    LoweringSpec spec;  // resolved
    double seconds;     // estimated
    std::uint64_t messages;
  };

  // Of those that might win, by estimate.
  std::vector<Plan> PlansOfMessages(std::uint64_t more_than,
                                    std::uint64_t at_most) const {
    std::vector<Plan> plans;
    if (options_.network.kind == NetworkKind::kFifo) return plans;
    for (const LoweringSpec& spec :
         FxCandidates(collective_, slice_.topology)) {
      const LoweringSpec resolved = Resolve(spec, collective_, slice_);
      const std::uint64_t messages =
          CountSteps(resolved, collective_, slice_.topology);
      if (messages <= more_than || messages > at_most) continue;
      const double seconds = EstimateFx(resolved, collective_, slice_).value();
      if (best_time_ && seconds * kBestOfEstimate >= *best_time_) continue;
      plans.push_back({resolved, seconds, messages});
    }
    std::stable_sort(plans.begin(), plans.end(),
                     [](const Plan& a, const Plan& b) {
                       return std::pair(a.seconds, a.messages) <
                              std::pair(b.seconds, b.messages);
                     });
    return plans;
  }

  // The best plan of a large slice, where it promises much more than what is
  // known: before what takes as long to time and gains less.
  void TryLargePlan() {
    if (best_time_ && near_bound_(*best_time_, 1 / (1 - kLargePlanGain))) {
      return;
    }
    const std::vector<Plan> plans =
        PlansOfMessages(kMostPlanMessages, kMostLargePlanMessages);
    if (plans.empty()) return;
    if (best_time_ && plans[0].seconds > *best_time_ * (1 - kLargePlanGain)) {
      return;
    }
    Try(plans[0].spec, kMostLargePlanMessages);
  }

  // The plans with the smallest estimates, as many as the budget allows.
  void TryFactored() {
    if (best_time_ && near_bound_(*best_time_)) return;
    const std::vector<Plan> plans = PlansOfMessages(0, kMostPlanMessages);
    std::uint64_t messages = 0;
    for (std::size_t k = 0; k < std::min(plans.size(), kMostPlans); ++k) {
      messages += plans[k].messages;
      if (k > 0 && messages > kMostAllPlanMessages) break;
      Try(plans[k].spec, MostMultiHopOf(plans[k].spec));
    }
  }

  // Too large to try: taken by its formula, or if there is nothing else.
  void LeaveOut(const LoweringSpec& candidate) {
    const auto time = EstimateTime(candidate, collective_, slice_);
    if (!time) {
      if (!untried_) untried_ = candidate;
    } else if (IsBest(*time)) {
      best_.reset();
      best_spec_ = candidate;
      best_time_ = *time;
    }
  }

  bool IsBest(double time) const {
    return !best_time_ || time < *best_time_ * (1 - kTie);
  }

  LoweredCollective Chosen() {
    if (best_) return *std::move(best_);
    return LowerCollective(collective_, slice_,
                           best_spec_ ? *best_spec_ : *untried_, where_,
                           options_);
  }

  // The fastest of another name: other parameters are no other way to do it.
  void SetRunnerUp(LoweredCollective& chosen) const {
    for (const Tried& entry : tried_) {
      if (entry.spec.name == chosen.spec.name) continue;
      if (chosen.runner_up && chosen.runner_up_s <= entry.seconds) continue;
      chosen.runner_up = entry.spec;
      chosen.runner_up_s = entry.seconds;
    }
  }

  struct Tried {
    LoweringSpec spec;  // resolved
    double seconds;
  };

  const Collective& collective_;
  const Slice& slice_;
  const std::string& where_;
  const SimOptions& options_;
  NearBound near_bound_;
  std::vector<Tried> tried_;
  std::optional<LoweringSpec> best_spec_;
  std::optional<LoweredCollective> best_;  // of best_spec_, if it was lowered
  std::optional<double> best_time_;
  std::optional<LoweringSpec> untried_;  // nothing known of its time
};

}  // namespace

LoweredCollective ChooseLowering(const Collective& collective,
                                 const Slice& slice, const std::string& where,
                                 const SimOptions& options) {
  std::vector<LoweringSpec> candidates;
  std::vector<NotApplicable> reasons;
  for (const LoweringSpec& candidate : SpecsForAuto()) {
    auto reason = WhyNot(candidate, collective, slice.topology);
    if (!reason) reason = WhyNotServed(options.network, candidate);
    // In what order messages are posted shows where they queue only.
    const bool queues = slice.parameters.ici_issue.value() > 0;
    if (candidate.far_first && !queues) continue;
    if (reason) {
      reasons.push_back({candidate.name, *reason});
    } else if (!IsRedundant(candidate, collective, slice.topology) &&
               !IsOutdone(candidate, collective, slice.topology)) {
      candidates.push_back(candidate);
    }
  }
  if (candidates.empty()) FailNothingApplies(collective, reasons, where);
  if (candidates.size() == 1) {
    return LowerCollective(collective, slice, candidates[0], where, options);
  }
  return Chooser(collective, slice, where, options).Choose(candidates);
}

std::optional<double> TimeAlone(const LoweredCollective& lowered,
                                const Slice& slice, const SimOptions& options) {
  return TryTime(lowered, slice, options, kMostMultiHop);
}

std::optional<TimedLowering> ChooseFolding(const Collective& collective,
                                           const Slice& slice,
                                           const SimOptions& options) {
  std::optional<TimedLowering> best;
  for (const LoweringSpec& spec : SpecsForAuto()) {
    if (WhyNot(spec, collective, slice.topology) ||
        WhyNotServed(options.network, spec) ||
        !HasProgram(spec, collective, slice.topology) ||
        CountSteps(Resolve(spec, collective, slice), collective,
                   slice.topology) > kMostSteps) {
      continue;
    }
    LoweredCollective lowered =
        LowerCollective(collective, slice, spec, "", SimOptions{});
    if (!ChooseFold(lowered, slice, options, "").fold) continue;
    const auto time = TimeAlone(lowered, slice, options);
    if (!time || (best && *time >= best->seconds * (1 - kTie))) continue;
    best = {std::move(lowered), *time};
  }
  return best;
}

LoweredCollective LowerOrChoose(const Collective& collective,
                                const Slice& slice,
                                const std::optional<LoweringSpec>& spec,
                                const std::string& where,
                                const SimOptions& options) {
  return spec ? LowerCollective(collective, slice, *spec, where, options)
              : ChooseLowering(collective, slice, where, options);
}

std::optional<std::string> WhyNotServed(const NetworkModel& network,
                                        const LoweringSpec& spec) {
  if (network.kind != NetworkKind::kFifo || FindLowering(spec.name)->one_hop) {
    return std::nullopt;
  }
  return "sends over several hops, which --network fifo does not serve; use "
         "--network packet or fluid";
}

void FailNothingApplies(const Collective& collective,
                        const std::vector<NotApplicable>& reasons,
                        const std::string& where) {
  std::string text;
  for (const NotApplicable& entry : JoinReasons(reasons)) {
    text += "\n  " + entry.lowering + ": " + entry.reason;
  }
  throw InputError(where, std::string("no lowering applies to this ") +
                              ToText(collective.kind) + ":" + text);
}

}  // namespace podsim
