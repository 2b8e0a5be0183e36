#include "hlo/replica_groups.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "hlo/group_text.h"
#include "hlo/opcodes.h"

namespace podsim {
namespace {

using Groups = std::vector<std::vector<int>>;

// "all-gather-start" -> "all-gather" if it is a collective, else nothing.
std::optional<std::string_view> CollectiveStem(std::string_view opcode) {
  constexpr std::array<std::string_view, 7> kStems = {
      "all-reduce",        "all-gather",        "reduce-scatter",
      "all-to-all",        "ragged-all-to-all", "collective-broadcast",
      "collective-permute"};
  const std::string_view stem =
      WithoutSuffix(opcode, "-start").value_or(opcode);
  if (std::ranges::find(kStems, stem) == kStems.end()) return std::nullopt;
  return stem;
}

bool HasGlobalIds(std::string_view stem) {
  return stem == "all-reduce" || stem == "all-gather" ||
         stem == "reduce-scatter";
}

// Largest ids + 1 seen in a module, by what they count.
struct LargestIds {
  int replicas = 0;
  int partitions = 0;
  int flattened = 0;

  void Add(GroupMode mode, int ids) {
    int& seen = mode == GroupMode::kFlattenedId      ? flattened
                : mode == GroupMode::kCrossPartition ? partitions
                                                     : replicas;
    seen = std::max(seen, ids);
  }
};

int IdsIn(const HloModule& module, const HloInstruction& instruction) {
  const std::string where = WhereIs(module, instruction);
  int ids = 0;
  if (const auto* text = FindAttribute(instruction, "replica_groups")) {
    for (const auto& group : ParseReplicaGroups(*text, where).groups) {
      for (const int id : group) ids = std::max(ids, id + 1);
    }
  }
  if (const auto* text = FindAttribute(instruction, "source_target_pairs")) {
    for (const auto& [source, target] : ParseSourceTargetPairs(*text, where)) {
      ids = std::max({ids, source + 1, target + 1});
    }
  }
  return ids;
}

LargestIds CollectIds(const HloModule& module) {
  LargestIds largest;
  for (const HloComputation& computation : module.computations) {
    for (const HloInstruction& instruction : computation.instructions) {
      if (!CollectiveStem(instruction.opcode)) continue;
      largest.Add(GroupModeOf(module, instruction), IdsIn(module, instruction));
    }
  }
  return largest;
}

void CheckEachOnce(const Groups& groups, const std::string& where) {
  std::size_t count = 0;
  for (const auto& group : groups) count += group.size();
  std::vector<bool> seen(count, false);
  for (const auto& group : groups) {
    if (group.empty()) throw InputError(where, "replica_groups: empty group");
    for (const int id : group) {
      const auto place = static_cast<std::size_t>(id);
      if (place >= count || seen[place]) {
        throw InputError(where,
                         "replica_groups: id " + std::to_string(id) +
                             (place < count ? " stands twice"
                                            : ", expected each of 0 to " +
                                                  std::to_string(count - 1)) +
                             (place < count ? "" : " once"));
      }
      seen[place] = true;
    }
  }
}

void CheckEqualSizes(const Groups& groups, const std::string& where) {
  for (const auto& group : groups) {
    if (group.size() == groups[0].size()) continue;
    throw InputError(where, "replica_groups: groups of " +
                                std::to_string(groups[0].size()) + " and of " +
                                std::to_string(group.size()) +
                                " ids, only an all-reduce may mix sizes");
  }
}

// What the ids count, if the header tells.
struct KnownCount {
  const char* name;
  std::optional<int> count;
};

KnownCount CountOf(GroupMode mode, const DeviceCounts& devices) {
  const auto known = [](bool inferred, int count) {
    return inferred ? std::nullopt : std::optional(count);
  };
  switch (mode) {
    case GroupMode::kCrossPartition:
      return {"num_partitions",
              known(devices.partitions_inferred, devices.partitions)};
    case GroupMode::kFlattenedId:
      return {"replica_count * num_partitions",
              known(devices.partitions_inferred && devices.replicas_inferred,
                    devices.devices())};
    case GroupMode::kCrossReplica:
    case GroupMode::kCrossReplicaAndPartition:
      break;
  }
  return {"replica_count", known(devices.replicas_inferred, devices.replicas)};
}

void CheckCount(const Groups& groups, GroupMode mode,
                const DeviceCounts& devices, const std::string& where) {
  const auto [name, expected] = CountOf(mode, devices);
  std::size_t count = 0;
  for (const auto& group : groups) count += group.size();
  if (expected && count != static_cast<std::size_t>(*expected)) {
    throw InputError(where, "replica_groups: " + std::to_string(count) +
                                " ids, expected " + std::to_string(*expected) +
                                " as the header's " + name);
  }
}

Groups GroupOfAll(GroupMode mode, const DeviceCounts& devices) {
  std::vector<int> all(static_cast<std::size_t>(
      mode == GroupMode::kCrossPartition ? devices.partitions
                                         : devices.replicas));
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

// The flattened ids of one group in the `copy`-th partition or replica.
std::vector<int> CopyOf(const std::vector<int>& group, GroupMode mode, int copy,
                        const DeviceCounts& devices) {
  std::vector<int> ids;
  ids.reserve(group.size());
  for (const int id : group) {
    ids.push_back(mode == GroupMode::kCrossReplica
                      ? id * devices.partitions + copy
                      : copy * devices.partitions + id);
  }
  return ids;
}

std::vector<int> WithAllPartitions(const std::vector<int>& replicas,
                                   const DeviceCounts& devices) {
  std::vector<int> ids;
  for (const int replica : replicas) {
    for (int p = 0; p < devices.partitions; ++p) {
      ids.push_back(replica * devices.partitions + p);
    }
  }
  return ids;
}

int CopiesOf(GroupMode mode, const DeviceCounts& devices) {
  return mode == GroupMode::kCrossReplica     ? devices.partitions
         : mode == GroupMode::kCrossPartition ? devices.replicas
                                              : 1;
}

int CeilDivide(int a, int b) { return a / b + (a % b == 0 ? 0 : 1); }

}  // namespace

const char* ToText(GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossReplica:
      return "cross_replica";
    case GroupMode::kCrossPartition:
      return "cross_partition";
    case GroupMode::kCrossReplicaAndPartition:
      return "cross_replica_and_partition";
    case GroupMode::kFlattenedId:
      return "flattened_id";
  }
  CHECK(false) << "mode " << static_cast<int>(mode);
  return "";
}

GroupMode GroupModeOf(const HloModule& module,
                      const HloInstruction& instruction) {
  const auto stem = CollectiveStem(instruction.opcode);
  CHECK(stem.has_value()) << instruction.opcode << " is no collective";
  const bool has_channel = FindAttribute(instruction, "channel_id") != nullptr;
  if (!HasGlobalIds(*stem)) {
    return has_channel ? GroupMode::kCrossPartition : GroupMode::kCrossReplica;
  }
  const bool global =
      FindBool(module, instruction, "use_global_device_ids").value_or(false);
  if (global && !has_channel) {
    throw InputError(WhereIs(module, instruction),
                     "use_global_device_ids=true needs a channel_id");
  }
  if (global) return GroupMode::kFlattenedId;
  return has_channel ? GroupMode::kCrossReplicaAndPartition
                     : GroupMode::kCrossReplica;
}

DeviceCounts InferDevices(const HloModule& module) {
  const LargestIds largest = CollectIds(module);
  DeviceCounts devices;
  devices.replicas = static_cast<int>(module.replica_count);
  devices.partitions = static_cast<int>(module.num_partitions);
  devices.replicas_inferred = module.replica_count == 1;
  devices.partitions_inferred = module.num_partitions == 1;
  if (devices.replicas_inferred) {
    devices.replicas = std::max(1, largest.replicas);
  }
  if (devices.partitions_inferred) {
    devices.partitions =
        std::max({1, largest.partitions,
                  CeilDivide(largest.flattened, devices.replicas)});
  }
  if (std::int64_t{1} * devices.replicas * devices.partitions >
      kMaxHloDevices) {
    throw InputError(module.file,
                     std::to_string(devices.replicas) + " replicas of " +
                         std::to_string(devices.partitions) +
                         " partitions, expected at most 131072 devices");
  }
  return devices;
}

std::vector<std::vector<int>> ExpandGroups(const ReplicaGroups& groups,
                                           GroupMode mode,
                                           const DeviceCounts& devices,
                                           bool ragged,
                                           const std::string& where) {
  Groups written = groups.groups;
  if (written.empty()) {
    if (mode == GroupMode::kFlattenedId) {
      throw InputError(where,
                       "empty replica_groups with use_global_device_ids=true; "
                       "name the devices");
    }
    written = GroupOfAll(mode, devices);
  }
  CheckEachOnce(written, where);
  CheckCount(written, mode, devices, where);
  if (!ragged) CheckEqualSizes(written, where);
  if (mode == GroupMode::kFlattenedId) return written;
  Groups expanded;
  for (const auto& group : written) {
    if (mode == GroupMode::kCrossReplicaAndPartition) {
      expanded.push_back(WithAllPartitions(group, devices));
      continue;
    }
    for (int copy = 0; copy < CopiesOf(mode, devices); ++copy) {
      expanded.push_back(CopyOf(group, mode, copy, devices));
    }
  }
  return expanded;
}

std::vector<std::pair<int, int>> ExpandPairs(
    const std::vector<std::pair<int, int>>& pairs, GroupMode mode,
    const DeviceCounts& devices, const std::string& where) {
  const int ids = mode == GroupMode::kCrossPartition ? devices.partitions
                  : mode == GroupMode::kFlattenedId  ? devices.devices()
                                                     : devices.replicas;
  std::vector<std::pair<int, int>> expanded;
  for (const auto& [source, target] : pairs) {
    if (std::max(source, target) >= ids) {
      throw InputError(where, "source_target_pairs: id " +
                                  std::to_string(std::max(source, target)) +
                                  ", expected 0 to " + std::to_string(ids - 1));
    }
    for (int copy = 0; copy < CopiesOf(mode, devices); ++copy) {
      const std::vector<int> ends =
          mode == GroupMode::kFlattenedId
              ? std::vector{source, target}
              : CopyOf({source, target}, mode, copy, devices);
      expanded.emplace_back(ends[0], ends[1]);
    }
  }
  return expanded;
}

}  // namespace podsim
