#include "sim/lower_collective.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "collective/groups.h"
#include "cost/bounds.h"
#include "cost/closed_form.h"
#include "engine/engine.h"
#include "schedule/instantiate.h"
#include "schedule/placement.h"
#include "schedule/verifier.h"
#include "sim/choose_fold.h"
#include "sim/memory_guard.h"

namespace podsim {
namespace {

// `--verify auto` leaves larger proofs out.
constexpr std::uint64_t kMostReplayed = 20'000'000;  // transfers
constexpr std::uint64_t kMostOrbit = 300'000'000;    // accesses
// Classes of chips an orbit proof must save to be faster than a replay.
constexpr std::uint64_t kOrbitSaves = 4;
// `auto` simulates candidates up to this size.
constexpr std::uint64_t kMostTried = 200'000;  // transfers
constexpr std::uint64_t kMostSteps = 300'000;
// Of several hops, where few dates make them quick: a second.
constexpr std::uint64_t kMostFewDates = 70'000;  // transfers
// Whole schedules of several hops: an all-to-all of 1,024 chips, in half a
// minute.
constexpr std::uint64_t kMostBuilt = 4'000'000;  // transfers
// Times closer than this are ties, broken by table order.
constexpr double kTie = 1e-9;
// What comes so close to the bound is good enough not to search any further.
constexpr double kGoodEnough = 1.01;

bool EveryChunkHasBytes(const LoweredCollective& lowered,
                        const Topology& topology) {
  const std::int64_t n = GroupSize(*lowered.program, topology);
  const std::int64_t payload = lowered.collective.payload.value();
  for (const std::int64_t shard : {payload / n, (payload + n - 1) / n}) {
    for (const Bytes size :
         SubChunkSizes(lowered.program->split,
                       Bytes(shard * BlocksOf(*lowered.program)))) {
      if (size.value() == 0) return false;
    }
  }
  return true;
}

std::string TooManyText(std::uint64_t transfers) {
  return std::to_string(transfers) +
         " transfers of several hops are more than the " +
         std::to_string(kMostBuilt) + " that this version simulates one by one";
}

bool HasFarSteps(const LoweredCollective& lowered) {
  return lowered.program && !lowered.program->routes.empty();
}

Verdict Replay(const LoweredCollective& lowered, const Slice& slice,
               const SimOptions& options, std::optional<std::string> reason) {
  RequireMemory(
      CountTransfers(lowered, slice.topology), options, "--verify",
      "take fewer chips or batches, use --verify auto or off",
      HasFarSteps(lowered) ? kBytesPerFarTransfer : kBytesPerTransfer);
  const Violations violations =
      lowered.whole
          ? VerifyFull(lowered.whole->schedule, lowered.whole->meaning,
                       slice.topology)
          : VerifyFull(
                MakeSchedule(lowered, slice.topology, NoFold(slice.topology),
                             lowered.collective.payload),
                MeaningOf(lowered, slice.topology), slice.topology);
  CHECK(violations.empty())
      << lowered.spec.name << ": " << violations.texts().front();
  return {.ok = true, .method = "replay", .reason = std::move(reason)};
}

Verdict ProveByOrbit(const LoweredCollective& lowered,
                     const Topology& topology) {
  const Violations violations = VerifyOrbit(*lowered.program, topology);
  CHECK(violations.empty())
      << lowered.spec.name << ": " << violations.texts().front();
  return {.ok = true, .method = "orbit", .reason = {}};
}

std::uint64_t MostMultiHopOf(const LoweringSpec& spec) {
  return FindLowering(spec.name)->few_dates ? kMostFewDates : kMostMultiHop;
}

// Seconds of a candidate, of equal shards where that lets it fold; nullopt if
// it is too large to try.
std::optional<double> TryTime(const LoweredCollective& lowered,
                              const Slice& slice, const SimOptions& options) {
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
  if (!schedule.one_hop() &&
      schedule.transfers() > MostMultiHopOf(lowered.spec)) {
    return std::nullopt;
  }
  const Network network = fold ? MakeNetwork(slice, grid) : MakeNetwork(slice);
  return RunCore(schedule, network).makespan +
         slice.parameters.collective_launch.value();
}

LoweredCollective LowerWith(const LoweringSpec& spec,
                            const Collective& collective, const Slice& slice,
                            const std::string& where,
                            const SimOptions& options) {
  LoweredCollective lowered{
      collective, Resolve(spec, collective, slice), {}, {}};
  if (HasProgram(lowered.spec, collective, slice.topology)) {
    lowered.program = Lower(lowered.spec, collective, slice.topology);
    return lowered;
  }
  if (const auto reason =
          WhyTooMany(lowered.spec, collective, slice.topology)) {
    throw InputError(where, spec.name + ": " + *reason);
  }
  RequireMemory(CountSteps(lowered.spec, collective, slice.topology), options,
                "--max-memory", "take fewer chips or chunks",
                FindLowering(spec.name)->one_hop ? kBytesPerTransfer
                                                 : kBytesPerFarTransfer);
  lowered.whole = Build(lowered.spec, collective, slice.topology);
  return lowered;
}

// Building costs too: routes of several hops around faults are searched for.
std::uint64_t MostStepsOf(const LoweringSpec& spec,
                          const Collective& collective,
                          const Topology& topology) {
  return HasProgram(spec, collective, topology) ||
                 FindLowering(spec.name)->one_hop
             ? kMostSteps
             : MostMultiHopOf(spec);
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
  return row->at_least(collective, slice, resolved).value() +
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
  return row->at_least(collective, slice, resolved).value() +
             slice.parameters.collective_launch.value() >=
         *best;
}

// Whether nothing can be noticeably faster than the best so far.
class NearBound {
 public:
  NearBound(const Collective& collective, const Slice& slice)
      : collective_(collective), slice_(slice) {}

  bool operator()(double best) {
    if (bound_ < 0) {
      bound_ = ComputeBounds(collective_, slice_).binding().time.value() +
               slice_.parameters.collective_launch.value();
    }
    return best <= kGoodEnough * bound_;
  }

 private:
  const Collective& collective_;
  const Slice& slice_;
  double bound_ = -1;  // seconds, once it is known
};

struct Tried {
  LoweringSpec spec;
  double seconds;
};

// The fastest of another name: other parameters are no other way to do it.
void SetRunnerUp(const std::vector<Tried>& tried, LoweredCollective& chosen) {
  for (const Tried& entry : tried) {
    if (entry.spec.name == chosen.spec.name) continue;
    if (chosen.runner_up && chosen.runner_up_s <= entry.seconds) continue;
    chosen.runner_up = entry.spec;
    chosen.runner_up_s = entry.seconds;
  }
}

}  // namespace

std::uint64_t CountTransfers(const LoweredCollective& lowered,
                             const Topology& topology) {
  return lowered.whole ? lowered.whole->schedule.transfers()
                       : CountTransfers(*lowered.program, topology);
}

std::uint64_t CountSlots(const LoweredCollective& lowered,
                         const FoldedGrid& grid) {
  return lowered.whole ? lowered.whole->schedule.size()
                       : CountSlots(*lowered.program, grid);
}

Schedule MakeSchedule(const LoweredCollective& lowered,
                      const Topology& topology, const Fold& fold,
                      Bytes payload) {
  return lowered.whole ? lowered.whole->schedule
                       : Instantiate(*lowered.program, topology, fold, payload);
}

Schedule TakeSchedule(LoweredCollective& lowered, const Topology& topology,
                      const Fold& fold, Bytes payload) {
  return lowered.whole ? std::move(lowered.whole->schedule)
                       : MakeSchedule(lowered, topology, fold, payload);
}

void RequireFewUnfolded(const LoweredCollective& lowered,
                        const Topology& topology, const std::string& where) {
  const std::uint64_t transfers = CountTransfers(lowered, topology);
  if (!HasFarSteps(lowered) || transfers <= kMostBuilt) return;
  throw InputError(where, lowered.spec.name + ": unfolded, " +
                              TooManyText(transfers) +
                              "; let it fold (--fold auto or on; healthy "
                              "links, payloads that the ranks divide)");
}

std::optional<std::string> WhyTooMany(const LoweringSpec& spec,
                                      const Collective& collective,
                                      const Topology& topology) {
  if (HasProgram(spec, collective, topology) ||
      FindLowering(spec.name)->one_hop) {
    return std::nullopt;
  }
  const std::uint64_t transfers = CountSteps(spec, collective, topology);
  if (transfers <= kMostBuilt) return std::nullopt;
  return "up to " + TooManyText(transfers) +
         "; take groups along some axes (--axes), fewer chips, a payload that "
         "the ranks divide, or --engine bound";
}

CollectiveMeaning MeaningOf(const LoweredCollective& lowered,
                            const Topology& topology) {
  return lowered.whole ? lowered.whole->meaning
                       : MeaningOf(*lowered.program, topology,
                                   ToText(lowered.collective.kind),
                                   lowered.collective.payload);
}

LoweredCollective LowerCollective(const Collective& collective,
                                  const Slice& slice,
                                  const std::optional<LoweringSpec>& spec,
                                  const std::string& where,
                                  const SimOptions& options) {
  if (spec) {
    if (const auto reason = WhyNot(*spec, collective, slice.topology)) {
      throw InputError(where, spec->name + " does not apply to " +
                                  ToText(collective.kind) +
                                  " here: " + *reason);
    }
    return LowerWith(*spec, collective, slice, where, options);
  }
  std::vector<LoweringSpec> candidates;
  std::vector<NotApplicable> reasons;
  for (const LoweringSpec& candidate : SpecsForAuto()) {
    if (const auto reason = WhyNot(candidate, collective, slice.topology)) {
      reasons.push_back({candidate.name, *reason});
      continue;
    }
    if (IsRedundant(candidate, collective, slice.topology)) continue;
    if (const auto reason =
            WhyNotServed(options.network, candidate, collective, slice)) {
      reasons.push_back({candidate.name, *reason});
      continue;
    }
    candidates.push_back(candidate);
  }
  if (candidates.empty()) FailNothingApplies(collective, reasons, where);
  if (candidates.size() == 1) {
    return LowerWith(candidates[0], collective, slice, where, options);
  }
  std::optional<LoweredCollective> best;
  std::optional<LoweringSpec> estimated;  // better, too large to try
  std::optional<LoweringSpec> untried;    // nothing known of its time
  std::optional<double> best_time;
  std::vector<Tried> tried;
  const auto leave_out = [&](const LoweringSpec& candidate) {
    const auto time = EstimateTime(candidate, collective, slice);
    if (!time) {
      if (!untried) untried = candidate;
    } else if (!best_time || *time < *best_time * (1 - kTie)) {
      estimated = candidate;
      best_time = time;
    }
  };
  NearBound near_bound(collective, slice);
  for (const LoweringSpec& candidate : candidates) {
    // Those without a program cost a search, or all their transfers.
    if (best_time && !HasProgram(candidate, collective, slice.topology) &&
        near_bound(*best_time)) {
      continue;
    }
    if (CannotWin(candidate, collective, slice, best_time)) continue;
    if (CountSteps(Resolve(candidate, collective, slice), collective,
                   slice.topology) >
        MostStepsOf(candidate, collective, slice.topology)) {
      leave_out(candidate);
      continue;
    }
    LoweredCollective lowered =
        LowerWith(candidate, collective, slice, where, SimOptions{});
    const std::optional<double> time = TryTime(lowered, slice, options);
    if (time) tried.push_back({lowered.spec, *time});
    if (!time) {
      leave_out(candidate);
    } else if (!best_time || *time < *best_time * (1 - kTie)) {
      best = std::move(lowered);
      best_time = *time;
      estimated.reset();
    }
  }
  LoweredCollective chosen = !estimated && best
                                 ? *std::move(best)
                                 : LowerWith(estimated ? *estimated : *untried,
                                             collective, slice, where, options);
  SetRunnerUp(tried, chosen);
  return chosen;
}

std::optional<std::string> WhyNotServed(const NetworkModel& network,
                                        const LoweringSpec& spec,
                                        const Collective& collective,
                                        const Slice& slice) {
  if (network.kind != NetworkKind::kFifo) return std::nullopt;
  const bool far =
      HasProgram(spec, collective, slice.topology)
          ? !Lower(Resolve(spec, collective, slice), collective, slice.topology)
                 .routes.empty()
          : !FindLowering(spec.name)->one_hop;
  if (!far) return std::nullopt;
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

Verdict VerifyLowered(const LoweredCollective& lowered, const Slice& slice,
                      const SimOptions& options) {
  const Topology& topology = slice.topology;
  if (options.verify == VerifyMode::kOff) {
    return {.ok = {}, .method = "none", .reason = "--verify off"};
  }
  if (options.verify == VerifyMode::kFull) {
    return Replay(lowered, slice, options, std::nullopt);
  }
  const std::uint64_t transfers = CountTransfers(lowered, topology);
  std::string reason = lowered.whole ? "its steps differ from chip to chip"
                                     : "some chunks have no bytes";
  if (lowered.program && EveryChunkHasBytes(lowered, topology)) {
    // Without symmetry a replay is the same work done faster.
    const bool symmetric =
        OrbitClasses(*lowered.program, topology) * kOrbitSaves <=
        static_cast<std::uint64_t>(topology.chips());
    const bool affordable =
        transfers < std::numeric_limits<std::uint32_t>::max() &&
        OrbitCost(*lowered.program, topology) <= kMostOrbit;
    reason = symmetric ? "too large to prove by orbit" : "no symmetry to use";
    if (affordable && (symmetric || transfers > kMostReplayed)) {
      return ProveByOrbit(lowered, topology);
    }
  }
  if (transfers > kMostReplayed) {
    return {.ok = {},
            .method = "none",
            .reason = reason + ", and " + std::to_string(transfers) +
                      " transfers are too many to replay; --verify full does "
                      "it all the same"};
  }
  return Replay(lowered, slice, options, reason);
}

}  // namespace podsim
