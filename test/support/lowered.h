#ifndef PODSIM_TEST_SUPPORT_LOWERED_H_
#define PODSIM_TEST_SUPPORT_LOWERED_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "collective/lowering.h"
#include "schedule/instantiate.h"
#include "schedule/schedule.h"
#include "test/support/random_slices.h"

namespace podsim {

inline constexpr std::array kLoweredKinds = {CollectiveKind::kAllGather,
                                             CollectiveKind::kReduceScatter,
                                             CollectiveKind::kAllReduce};

// The lowerings that walk axes.
inline constexpr std::array kAxisLowerings = {
    "ring", "ring-split", "ring-short", "line", "bucket", "bucket-rotated"};

// Those whose payload says all: not the permute nor the ragged all-to-all.
inline std::vector<CollectiveKind> GroupKinds() {
  std::vector<CollectiveKind> kinds = AllCollectiveKinds();
  std::erase(kinds, CollectiveKind::kCollectivePermute);
  std::erase(kinds, CollectiveKind::kRaggedAllToAll);
  return kinds;
}

// Those that always emit programs, for all of kLoweredKinds, on one slice.
inline std::vector<LoweringSpec> WithProgram(std::vector<LoweringSpec> specs) {
  std::erase_if(specs, [](const auto& spec) {
    const Lowering& row = *FindLowering(spec.name);
    return row.build != nullptr || row.over_dcn ||
           !std::all_of(kLoweredKinds.begin(), kLoweredKinds.end(),
                        [&](CollectiveKind kind) {
                          return std::find(row.kinds.begin(), row.kinds.end(),
                                           kind) != row.kinds.end();
                        });
  });
  return specs;
}

// One of groups given as lists.
inline Collective OnLists(CollectiveKind kind, std::int64_t payload,
                          std::vector<std::vector<ChipId>> groups,
                          std::optional<ChipId> root = {}) {
  return {.kind = kind,
          .payload = Bytes(payload),
          .axes = {},
          .groups = std::move(groups),
          .root = root};
}

inline Collective OnAllChips(CollectiveKind kind, std::int64_t payload,
                             const Slice& slice) {
  return {
      .kind = kind, .payload = Bytes(payload), .axes = AllAxes(slice.topology)};
}

// A collective as it is verified and timed: one op per transfer.
struct Lowered {
  Program program;
  Schedule schedule;
  CollectiveMeaning meaning;
};

inline Lowered LowerOn(const Slice& slice, const LoweringSpec& spec,
                       const Collective& collective) {
  Lowered lowered{.program = Lower(spec, collective, slice.topology),
                  .schedule = {},
                  .meaning = {}};
  lowered.schedule = Instantiate(lowered.program, slice.topology,
                                 NoFold(slice.topology), collective.payload);
  lowered.meaning = MeaningOf(lowered.program, slice.topology,
                              ToText(collective.kind), collective.payload);
  return lowered;
}

// Of any lowering: the schedule of every chip and what it must compute.
inline WholeSchedule MakeWhole(const Slice& slice, const LoweringSpec& spec,
                               const Collective& collective) {
  if (!HasProgram(spec, collective, slice.topology)) {
    return Build(Resolve(spec, collective, slice), collective, slice.topology);
  }
  Lowered lowered = LowerOn(slice, spec, collective);
  return {std::move(lowered.schedule), std::move(lowered.meaning)};
}

// Every grid of up to `max_chips` chips, every choice of axes for groups, every
// kind: visit(slice, collective), without payload.
template <class Kinds, class Visit>
void ForEachGridCollective(int max_chips, const Kinds& kinds, Visit visit) {
  for (const Shape& shape : AllShapes(max_chips)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      for (const auto& axes : AllAxisSubsets(shape.size())) {
        for (const CollectiveKind kind : kinds) {
          visit(slice,
                Collective{.kind = kind, .payload = Bytes(0), .axes = axes});
        }
      }
    }
  }
}

inline LoweringSpec Spec(const std::string& text) {
  return ParseLoweringSpec(text, "test");
}

// Bytes that cross every link, by link id.
inline std::vector<std::int64_t> LinkBytes(const Schedule& schedule,
                                           const Topology& topology) {
  std::vector<std::int64_t> bytes(topology.link_ids());
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (schedule.kind(OpId(op)) != OpKind::kTransfer) continue;
    for (const LinkId link : schedule.route(OpId(op))) {
      bytes[link.value()] += schedule.bytes(OpId(op)).value();
    }
  }
  return bytes;
}

// Transfers on the longest chain of dependences: the steps of the schedule.
inline int StepsOf(const Schedule& schedule) {
  std::vector<int> depth(schedule.size());
  int deepest = 0;
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    depth[op] = 1;
    for (const OpId wait : schedule.after(OpId(op))) {
      depth[op] = std::max(depth[op], depth[wait.value()] + 1);
    }
    deepest = std::max(deepest, depth[op]);
  }
  return deepest;
}

// The chunk ids of an op, ascending.
inline std::vector<std::uint32_t> ChunkIdsOf(const Schedule& schedule, OpId op,
                                             const Topology& topology,
                                             std::uint32_t chunks_per_owner) {
  std::vector<std::uint32_t> ids;
  ForEachRun(schedule, schedule.chunks(op), topology, chunks_per_owner,
             [&](std::uint32_t first, std::uint32_t count) {
               for (std::uint32_t k = 0; k < count; ++k) {
                 ids.push_back(first + k);
               }
             });
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_LOWERED_H_
