// Real HLO files against what independent readers found in them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "hlo/collectives.h"
#include "hlo/cost.h"
#include "hlo/parser.h"
#include "hlo/trip_count.h"

namespace podsim {
namespace {

using nlohmann::json;

struct Tally {
  std::int64_t count = 0;
  std::int64_t operand_bytes = 0;
  std::int64_t result_bytes = 0;
  std::int64_t exec_count = 0;
  std::int64_t dyn_operand_bytes = 0;
};

// All collectives by opcode, in whatever computation they stand.
std::map<std::string, Tally> TallyCollectives(const HloModule& module) {
  const DeviceCounts devices = InferDevices(module);
  const std::vector<std::int64_t> runs = ExecutionCounts(module, 1);
  std::map<std::string, Tally> tallies;
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const HloComputation& in = module.computations[c];
    for (std::size_t i = 0; i < in.instructions.size(); ++i) {
      const std::string& opcode = in.instructions[i].opcode;
      if (!CollectiveKindOf(opcode)) continue;
      const auto found = FindCommunication(module, devices, static_cast<int>(c),
                                           static_cast<int>(i));
      REQUIRE(found);
      REQUIRE(found->collectives.size() == 1);
      const HloCollective& collective = found->collectives[0];
      Tally& tally = tallies[opcode];
      ++tally.count;
      tally.operand_bytes += collective.operand_bytes.value();
      tally.result_bytes += collective.result_bytes.value();
      tally.exec_count += runs[c];
      tally.dyn_operand_bytes += runs[c] * collective.operand_bytes.value();
    }
  }
  return tallies;
}

// [form, number of groups, their sizes, mode], as written.
std::set<json> DistinctGroups(const HloModule& module) {
  std::set<json> distinct;
  for (const HloComputation& in : module.computations) {
    for (const HloInstruction& at : in.instructions) {
      const std::string* text = FindAttribute(at, "replica_groups");
      if (!CollectiveKindOf(at.opcode) || text == nullptr) continue;
      const ReplicaGroups groups = ParseReplicaGroups(*text, "test");
      const char* forms[] = {"v1", "v2", "v3"};
      std::set<std::size_t> sizes;
      for (const auto& group : groups.groups) sizes.insert(group.size());
      distinct.insert(json::array({forms[static_cast<int>(groups.form)],
                                   groups.groups.size(), sizes,
                                   ToText(GroupModeOf(module, at))}));
    }
  }
  return distinct;
}

json WhilesOf(const HloModule& module) {
  json whiles = json::array();
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const HloComputation& in = module.computations[c];
    for (std::size_t i = 0; i < in.instructions.size(); ++i) {
      if (in.instructions[i].opcode != "while") continue;
      const TripCount trips =
          FindTripCount(module, static_cast<int>(c), static_cast<int>(i));
      whiles.push_back({{"name", in.instructions[i].name},
                        {"trip", trips.count},
                        {"how", ToText(trips.source)}});
    }
  }
  return whiles;
}

void CheckFacts(const HloModule& module, const json& expected) {
  CAPTURE(module.file, module.name);
  std::size_t instructions = 0;
  for (const HloComputation& in : module.computations) {
    instructions += in.instructions.size();
  }
  // The other reader counts the computation that a truncated file ends in.
  const std::size_t cut = module.truncated ? 1 : 0;
  CHECK(module.computations.size() + cut == expected["computations"]);
  if (cut == 0) {
    CHECK(instructions == expected["instructions"]);
  } else {
    CHECK(instructions < expected["instructions"]);
  }
  CHECK(module.truncated.has_value() == expected["truncated"]);
  CHECK(module.is_scheduled == expected["is_scheduled"]);
  CHECK(module.replica_count == expected["replica_count"]);
  CHECK(module.num_partitions == expected["num_partitions"]);
  CHECK(WhilesOf(module) == expected["whiles"]);
  const HloTotals totals = TotalFlops(module, 1);
  CHECK(totals.static_flops.value() == expected["dot_conv_flops_static"]);
  if (!expected["dot_conv_flops_dynamic"].is_null()) {
    CHECK(totals.dynamic_flops.value() == expected["dot_conv_flops_dynamic"]);
  }
  const auto tallies = TallyCollectives(module);
  CHECK(tallies.size() == expected["collectives"].size());
  for (const auto& [opcode, tally] : tallies) {
    CAPTURE(opcode);
    REQUIRE(expected["collectives"].contains(opcode));
    const json& facts = expected["collectives"][opcode];
    CHECK(tally.count == facts["count"]);
    CHECK(tally.operand_bytes == facts["operand_bytes"]);
    CHECK(tally.result_bytes == facts["result_bytes"]);
    if (facts["exec_count"].is_null()) continue;
    CHECK(tally.exec_count == facts["exec_count"]);
    CHECK(tally.dyn_operand_bytes == facts["dyn_operand_bytes"]);
  }
  std::set<json> groups;
  for (const json& entry : expected["dist_groups"]) groups.insert(entry);
  CHECK(DistinctGroups(module) == groups);
}

TEST_CASE("real modules have the facts that other readers found",
          "[hlo][corpus]") {
  const char* corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: skipped");
    return;
  }
  const std::string folder = std::string(corpus) + "/hlo/";
  const json expected = json::parse(std::ifstream(folder + "expected.json"));
  int files = 0;
  for (const auto& [file, facts] : expected.items()) {
    const std::vector<HloModule> modules = ReadHlo(folder + file);
    REQUIRE(modules.size() == facts["modules"].size());
    for (std::size_t k = 0; k < modules.size(); ++k) {
      CheckFacts(modules[k], facts["modules"][k]);
    }
    ++files;
  }
  CHECK(files == 8);
}

}  // namespace
}  // namespace podsim
