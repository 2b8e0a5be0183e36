// Process groups of Chakra traces: what METADATA nodes and files of groups
// list, and the groups of a collective.
#include <algorithm>

#include "base/json_reader.h"
#include "base/text.h"
#include "workload/chakra_groups.h"

namespace podsim {
namespace {

constexpr std::int64_t kMostRank = (1 << 24) - 1;  // of a slice's chips

std::vector<std::int64_t> ReadRanks(const JsonValue& json) {
  std::vector<std::int64_t> ranks;
  for (const JsonValue& rank : json.Elements()) {
    ranks.push_back(rank.AsInteger(0, kMostRank));
  }
  return ranks;
}

const ChakraGroup* FindGroup(std::span<const ChakraGroup> groups,
                             const std::string& name) {
  const auto found = std::ranges::find(groups, name, &ChakraGroup::name);
  return found == groups.end() ? nullptr : &*found;
}

std::vector<ChipId> AllRanks(std::size_t count) {
  std::vector<ChipId> ranks;
  for (std::uint32_t rank = 0; rank < count; ++rank) ranks.emplace_back(rank);
  return ranks;
}

// The ranks that node waits for as members of its group.
std::vector<ChipId> MembersOf(const ChakraTrace& trace, const ChakraNode& node,
                              std::span<const ChakraGroup> communicators,
                              std::size_t count) {
  const ChakraGroup* group = FindGroup(trace.groups, node.pg_name);
  if (group == nullptr) group = FindGroup(communicators, node.pg_name);
  if (group == nullptr && !node.pg_name.empty() && node.pg_name != "0") {
    throw InputError(node.where, "process group \"" +
                                     Shortened(node.pg_name, 40) +
                                     "\" is not known: no METADATA node lists "
                                     "it; say its ranks in a file: "
                                     "--process-groups FILE");
  }
  if (group == nullptr || group->ranks.empty()) return AllRanks(count);
  std::vector<ChipId> members;
  std::vector<bool> seen(count);
  for (const std::int64_t rank : group->ranks) {
    const auto at = static_cast<std::size_t>(rank);
    if (at >= count || seen[at]) {
      throw InputError(
          group->where,
          "rank " + std::to_string(rank) + " of process group \"" +
              Shortened(group->name, 40) +
              (at >= count ? "\" is no rank; there are " + std::to_string(count)
                           : "\" stands twice"));
    }
    seen[at] = true;
    members.emplace_back(static_cast<std::uint32_t>(rank));
  }
  return members;
}

}  // namespace

std::vector<ChakraGroup> ParseChakraGroups(const std::string& inputs,
                                           const std::string& where) {
  const auto begin = inputs.find("[{");
  const auto end = inputs.rfind("}]");
  if (inputs.find("pg_name") == std::string::npos ||
      begin == std::string::npos || end == std::string::npos || end < begin) {
    return {};
  }
  std::string text = inputs.substr(begin, end + 2 - begin);
  // A text inside of a text: \".
  for (auto at = text.find("\\\""); at != std::string::npos;
       at = text.find("\\\"", at)) {
    text.erase(at, 1);
  }
  std::vector<ChakraGroup> groups;
  const JsonValue json = JsonValue::ParseText(text, where + ": inputs");
  for (const JsonValue& entry : json.Elements()) {
    groups.push_back({.name = entry.Get("pg_name").AsString(),
                      .ranks = ReadRanks(entry.Get("ranks")),
                      .where = entry.where()});
  }
  return groups;
}

std::vector<ChakraGroup> ReadChakraGroups(const std::string& path) {
  std::vector<ChakraGroup> groups;
  const JsonValue json = JsonValue::ReadFile(path);
  for (const std::string& name : json.Keys()) {
    const JsonValue ranks = json.Get(name);
    groups.push_back(
        {.name = name, .ranks = ReadRanks(ranks), .where = ranks.where()});
    if (groups.back().ranks.empty()) ranks.Fail("expected at least one rank");
  }
  return groups;
}

std::vector<std::vector<ChipId>> GroupsOfNodes(
    std::span<const ChakraTrace> traces,
    std::span<const ChakraNode* const> nodes,
    std::span<const ChakraGroup> communicators) {
  const std::size_t count = traces.size();
  std::vector<std::vector<ChipId>> groups;
  std::vector<std::size_t> group_of(count, count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const std::vector<ChipId> members =
        MembersOf(traces[rank], *nodes[rank], communicators, count);
    const auto fail = [&](const std::string& what) {
      throw InputError(nodes[rank]->where,
                       "process group \"" +
                           Shortened(nodes[rank]->pg_name, 40) + "\" of rank " +
                           std::to_string(rank) + what);
    };
    if (group_of[rank] != count) {
      if (groups[group_of[rank]] == members) continue;
      fail(" is not that of rank " +
           std::to_string(groups[group_of[rank]][0].value()) +
           ", which counts it in");
    }
    bool own = false;
    for (const ChipId member : members) {
      own = own || member.value() == rank;
      if (group_of[member.value()] != count) {
        fail(" has rank " + std::to_string(member.value()) +
             ", which is in another group here");
      }
    }
    if (!own) fail(" does not have that rank");
    for (const ChipId member : members) {
      group_of[member.value()] = groups.size();
    }
    groups.push_back(members);
  }
  return groups;
}

}  // namespace podsim
