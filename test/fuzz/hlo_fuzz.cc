// libFuzzer entry, run by scripts/fuzz.sh: any text is refused with InputError
// or read; what is read is written and read as the same modules, and its groups
// expand or are refused.
//
// Modules: base hlo
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "hlo/parser.h"
#include "hlo/replica_groups.h"
#include "hlo/writer.h"

namespace podsim {
namespace {

// Groups of more devices are not expanded: a line of text names 131072 of them,
// and a text has many lines.
constexpr int kManyDevices = 4096;

void ExpandAll(const HloModule& module, const HloInstruction& instruction,
               const DeviceCounts& devices) {
  const std::string where = WhereIs(module, instruction);
  if (const auto* text = FindAttribute(instruction, "replica_groups")) {
    const ReplicaGroups groups = ParseReplicaGroups(*text, where);
    const GroupMode mode = GroupModeOf(module, instruction);
    const bool ragged = instruction.opcode.starts_with("all-reduce");
    for (const auto& group :
         ExpandGroups(groups, mode, devices, ragged, where)) {
      for (const int id : group) CHECK(id >= 0 && id < kMaxHloDevices);
    }
  }
  if (const auto* text = FindAttribute(instruction, "source_target_pairs")) {
    ExpandPairs(ParseSourceTargetPairs(*text, where),
                GroupModeOf(module, instruction), devices, where);
  }
}

bool IsCollective(const HloInstruction& instruction) {
  for (const char* opcode :
       {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
        "ragged-all-to-all", "collective-broadcast", "collective-permute"}) {
    if (instruction.opcode == opcode ||
        instruction.opcode == std::string(opcode) + "-start") {
      return true;
    }
  }
  return false;
}

void CheckGroups(const HloModule& module) {
  try {
    const DeviceCounts devices = InferDevices(module);
    if (devices.devices() > kManyDevices) return;
    for (const HloComputation& computation : module.computations) {
      for (const HloInstruction& instruction : computation.instructions) {
        if (IsCollective(instruction)) ExpandAll(module, instruction, devices);
      }
    }
  } catch (const InputError&) {
    // Refused.
  }
}

void CheckRoundTrip(const std::vector<HloModule>& modules) {
  const std::string written = WriteHlo(modules);
  const std::vector<HloModule> again = ParseHlo(written, "written.hlo");
  CHECK(again == modules) << "round trip of:\n" << written;
  CHECK(WriteHlo(again) == written) << "round trip of:\n" << written;
}

void Fuzz(std::string_view text) {
  std::vector<HloModule> modules;
  try {
    modules = ParseHlo(text, "fuzz.hlo");
  } catch (const InputError&) {
    return;
  }
  CheckRoundTrip(modules);
  for (const HloModule& module : modules) {
    CHECK(module.entry.has_value() || module.truncated.has_value());
    CheckGroups(module);
  }
}

}  // namespace
}  // namespace podsim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  podsim::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
