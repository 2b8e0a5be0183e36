#include "sim/lower_collective.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "collective/groups.h"
#include "schedule/instantiate.h"
#include "schedule/placement.h"
#include "schedule/verifier.h"
#include "sim/memory_guard.h"

namespace podsim {
namespace {

// `--verify auto` leaves larger proofs out.
constexpr std::uint64_t kMostReplayed = 20'000'000;  // transfers
constexpr std::uint64_t kMostOrbit = 300'000'000;    // accesses
// Classes of chips an orbit proof must save to be faster than a replay.
constexpr std::uint64_t kOrbitSaves = 4;
// Whole schedules of several hops: an all-to-all of 1,024 chips, in half a
// minute.
constexpr std::uint64_t kMostBuilt = 4'000'000;  // transfers

// So that no transfer is left out.
bool EveryMessageHasBytes(const LoweredCollective& lowered,
                          const Topology& topology) {
  const std::int64_t n = GroupSize(*lowered.program, topology);
  const std::int64_t payload = lowered.collective.payload.value();
  if (SendsWholeGroups(*lowered.program, topology)) return payload > 0;
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

}  // namespace

bool HasFarSteps(const LoweredCollective& lowered) {
  return lowered.program && !lowered.program->routes.empty();
}

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
                                  const Slice& slice, const LoweringSpec& spec,
                                  const std::string& where,
                                  const SimOptions& options) {
  if (const auto reason = WhyNot(spec, collective, slice.topology)) {
    throw InputError(where, spec.name + " does not apply to " +
                                ToText(collective.kind) + " here: " + *reason);
  }
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
  if (lowered.program && EveryMessageHasBytes(lowered, topology)) {
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
