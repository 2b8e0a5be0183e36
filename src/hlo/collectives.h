#ifndef PODSIM_HLO_COLLECTIVES_H_
#define PODSIM_HLO_COLLECTIVES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "hlo/module.h"
#include "hlo/replica_groups.h"

namespace podsim {

enum class HloCollectiveKind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kRaggedAllToAll,
  kCollectiveBroadcast,
  kCollectivePermute,
  kSend,
  kRecv,
};
const char* ToText(HloCollectiveKind kind);  // "all-reduce"

// One collective as one device sees it.
struct HloCollective {
  HloCollectiveKind kind = HloCollectiveKind::kAllReduce;
  // The instruction that says so: inside of the called computation for wrappers
  // and fusions. Indices.
  int computation = 0;
  int instruction = 0;
  // Logical bytes of the data operands and results on one device; of starts:
  // what the done returns. An in-place permute: of its slices. Ragged
  // all-to-all: its input and output buffers, which only bound the traffic.
  Bytes operand_bytes;
  Bytes result_bytes;
  // The size S of nccl-tests: result of an all-gather, else operand (recv:
  // result).
  Bytes payload;
  // Members as flattened device ids. Groups of permutes, sends and recvs are
  // empty, pairs of all others.
  GroupMode mode = GroupMode::kCrossReplica;
  ReplicaGroupsForm form = ReplicaGroupsForm::kList;
  std::vector<std::vector<int>> groups;
  std::vector<std::pair<int, int>> pairs;
  bool has_dynamic_root = false;  // broadcast: root known at run time only
  bool is_host_transfer = false;  // send, recv: over PCIe, not ICI
  std::optional<std::int64_t> channel;

  bool operator==(const HloCollective&) const = default;
};

enum class HloCommForm : std::uint8_t {
  kSync,
  kStart,
  kUpdate,
  kDone,
};

// What an instruction has to do with the network. Several collectives: a
// fusion or an async wrapper that holds several.
struct HloCommunication {
  HloCommForm form = HloCommForm::kSync;
  // Empty for updates and dones.
  std::vector<HloCollective> collectives;
  // Updates and dones: the start in the same computation, if it is there (a
  // done may stand in the loop after its start's).
  std::optional<int> start;
  // Updates and dones without start in reach: what its opcode says, if it does.
  std::optional<HloCollectiveKind> kind;
  bool in_fusion = false;
  // Send-recv pairing for those whose start is out of reach.
  std::optional<std::int64_t> channel;
};

// Nothing for instructions that do not communicate: among them async copies
// and other async wrappers without a collective, calls, loops and conditionals
// (their bodies are for the caller to walk), and all-reduces' reductions.
// Throws InputError at the instruction for groups that are not legal.
std::optional<HloCommunication> FindCommunication(const HloModule& module,
                                                  const DeviceCounts& devices,
                                                  int computation,
                                                  int instruction);

// The kind of a sync opcode or of a native start: "all-gather-start" ->
// kAllGather; "all-gather-done" and everything else: nothing.
std::optional<HloCollectiveKind> CollectiveKindOf(std::string_view opcode);

// Bytes between a core's memories and not over the network: copy-start,
// slice-start, dynamic-slice-start and generic async wrappers of these; the
// larger of operand and result. Nothing for other instructions.
std::optional<Bytes> AsyncCopyBytes(const HloModule& module, int computation,
                                    int instruction);

}  // namespace podsim

#endif  // PODSIM_HLO_COLLECTIVES_H_
