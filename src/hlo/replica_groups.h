#ifndef PODSIM_HLO_REPLICA_GROUPS_H_
#define PODSIM_HLO_REPLICA_GROUPS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo/module.h"

namespace podsim {

// How the groups were written.
enum class ReplicaGroupsForm : std::uint8_t {
  kList,  // V1: {{0,1},{2,3}}
  kIota,  // V2: [2,4]<=[4,2]T(1,0)
  kMesh,  // V3: mesh['x'=4,'y'=2] {'x'}
};

// Ids as written, in the order that makes shard indices. Their meaning is a
// matter of the mode below.
struct ReplicaGroups {
  ReplicaGroupsForm form = ReplicaGroupsForm::kList;
  std::vector<std::vector<int>> groups;

  bool operator==(const ReplicaGroups&) const = default;
};

// Parses the value of replica_groups=. Throws InputError at `where` for text
// that is none of the three forms, axes that do not fit, and more than
// kMaxHloDevices. Expands V2 and V3.
ReplicaGroups ParseReplicaGroups(std::string_view text,
                                 const std::string& where);

// {{0,1},{1,0}}: (source, target). Sources are unique, and targets.
std::vector<std::pair<int, int>> ParseSourceTargetPairs(
    std::string_view text, const std::string& where);

// What ids in groups mean (XLA collective_op_group_mode.cc).
enum class GroupMode : std::uint8_t {
  kCrossReplica,              // replicas, once per partition
  kCrossPartition,            // partitions, once per replica
  kCrossReplicaAndPartition,  // replicas; a group has all their partitions
  kFlattenedId,               // replica * num_partitions + partition
};
const char* ToText(GroupMode mode);  // "cross_replica"

// The mode of a collective (not a start or done wrapper). Throws InputError at
// the instruction when use_global_device_ids stands without channel_id.
GroupMode GroupModeOf(const HloModule& module,
                      const HloInstruction& instruction);

// Devices of a module: its header's counts; one that is 1 there is inferred
// from the ids in its groups and pairs (largest + 1), because many real dumps
// leave it out.
struct DeviceCounts {
  int replicas = 1;
  int partitions = 1;
  bool replicas_inferred = false;  // 1 in the header; so any number is possible
  bool partitions_inferred = false;

  int devices() const { return replicas * partitions; }
  bool operator==(const DeviceCounts&) const = default;
};
DeviceCounts InferDevices(const HloModule& module);

// Lists of flattened device ids (replica * partitions + partition), in shard
// order: every group that runs at the same time. Empty groups mean one group of
// all. Throws InputError at `where` when ids do not run from 0 to n-1 each
// once, n is not the count of the header, groups differ in size and `ragged`
// (an all-reduce) is false, or groups are empty in flattened_id mode.
std::vector<std::vector<int>> ExpandGroups(const ReplicaGroups& groups,
                                           GroupMode mode,
                                           const DeviceCounts& devices,
                                           bool ragged,
                                           const std::string& where);

// Pairs of flattened device ids: each pair once per partition, or per replica.
// Throws InputError at `where` for an id outside of the devices.
std::vector<std::pair<int, int>> ExpandPairs(
    const std::vector<std::pair<int, int>>& pairs, GroupMode mode,
    const DeviceCounts& devices, const std::string& where);

}  // namespace podsim

#endif  // PODSIM_HLO_REPLICA_GROUPS_H_
