// libFuzzer entry, run by scripts/fuzz.sh: any text is refused with InputError
// or read; what is read is written and read as the same modules; and whatever
// is asked about a module is answered or refused.
//
// Modules: base hlo
#include <string>
#include <vector>

#include "hlo/collectives.h"
#include "hlo/cost.h"
#include "hlo/parser.h"
#include "hlo/replica_groups.h"
#include "hlo/trip_count.h"
#include "hlo/validate.h"
#include "hlo/writer.h"
#include "test/fuzz/entry.h"

namespace podsim {
namespace {

// Groups of more devices are not expanded: a line of text names 131072 of them,
// and a text has many lines.
constexpr int kManyDevices = 4096;

// Groups are written as [1,131072]<=[131072]: one fusion holds 4 bytes for each
// of 2^20 devices in groups, and 56 more for groups of one.
constexpr std::size_t kBytesOfGroups = std::size_t{60} << 20;

void CheckCollective(const HloModule& module, const HloCollective& collective,
                     const DeviceCounts& devices) {
  const auto computations = static_cast<int>(module.computations.size());
  CHECK(collective.computation >= 0 && collective.computation < computations);
  CHECK(collective.operand_bytes >= Bytes(0));
  CHECK(collective.result_bytes >= Bytes(0));
  CHECK(collective.payload >= Bytes(0));
  for (const auto& group : collective.groups) {
    for (const int id : group) CHECK(id >= 0 && id < kMaxHloDevices);
  }
  for (const auto& [source, target] : collective.pairs) {
    CHECK(source >= 0 && source < devices.devices());
    CHECK(target >= 0 && target < devices.devices());
  }
}

void AskCommunication(const HloModule& module, const DeviceCounts& devices,
                      int computation, int instruction) {
  const auto found =
      FindCommunication(module, devices, computation, instruction);
  if (!found) return;
  for (const HloCollective& collective : found->collectives) {
    CHECK(ToText(collective.kind)[0] != 0);
    CheckCollective(module, collective, devices);
  }
  CHECK(!found->start || *found->start < instruction);
}

void CheckCost(const HloCost& cost) {
  CHECK(cost.flops >= Flops(0)) << cost.flops.value();  // and a number
  CHECK(cost.reduction_flops >= Flops(0));
  CHECK(cost.bytes >= Bytes(0));
  CHECK(cost.bytes_in_place >= Bytes(0));
}

void AskInstruction(const HloModule& module, HloCosts& costs, int c, int i) {
  AnswersOrRefuses([&] { CheckCost(costs.Of(c, i)); });
  AnswersOrRefuses([&] {
    const auto bytes = AsyncCopyBytes(module, c, i);
    CHECK(!bytes || *bytes >= Bytes(0));
  });
  if (module.computations[c].instructions[i].opcode != "while") return;
  AnswersOrRefuses([&] {
    const TripCount trips = FindTripCount(module, c, i);
    CHECK(trips.count >= 0);
    CHECK((trips.source == TripCountSource::kUnknown) != trips.reason.empty());
  });
}

// Calls ask(computation, instruction) for each.
template <class Ask>
void ForEach(const HloModule& module, Ask ask) {
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const std::size_t size = module.computations[c].instructions.size();
    for (std::size_t i = 0; i < size; ++i) {
      ask(static_cast<int>(c), static_cast<int>(i));
    }
  }
}

void AskCosts(const HloModule& module) {
  AnswersOrRefuses([&] {
    for (const std::int64_t count : ExecutionCounts(module, 3)) {
      CHECK(count >= 0);
    }
  });
  AnswersOrRefuses([&] {
    const HloTotals totals = TotalFlops(module, 1);
    CHECK(totals.static_flops >= Flops(0));
    CHECK(totals.dynamic_flops >= Flops(0));
  });
  HloCosts costs(module);
  ForEach(module, [&](int c, int i) { AskInstruction(module, costs, c, i); });
}

void AskCommunications(const HloModule& module) {
  AnswersOrRefuses([&] {
    const DeviceCounts devices = InferDevices(module);
    if (devices.devices() > kManyDevices) return;
    ForEach(module, [&](int c, int i) {
      AnswersOrRefuses([&] { AskCommunication(module, devices, c, i); });
    });
  });
}

void CheckRoundTrip(const std::vector<HloModule>& modules) {
  const std::string written = WriteHlo(modules);
  const std::vector<HloModule> again = ParseHlo(written, "written.hlo");
  CHECK(again == modules) << "round trip of:\n" << written;
  CHECK(WriteHlo(again) == written) << "round trip of:\n" << written;
}

}  // namespace

void Fuzz(std::string_view text) {
  const std::size_t most = MostHeap(text);
  std::vector<HloModule> modules;
  try {
    const MemoryLimit limit(most);
    modules = ParseHlo(text, "fuzz.hlo");
  } catch (const InputError&) {
    return;
  }
  CheckRoundTrip(modules);
  for (HloModule& module : modules) {
    CHECK(module.entry.has_value() || module.truncated.has_value());
    ValidateHlo(module);  // what is read is valid
    {
      const MemoryLimit limit(most);
      AskCosts(module);
    }
    const MemoryLimit limit(most + kBytesOfGroups);
    AskCommunications(module);
  }
}

}  // namespace podsim
