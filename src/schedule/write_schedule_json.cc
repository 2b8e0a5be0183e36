// Writer of podsim-schedule/1 files.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "schedule/chunk_parties.h"
#include "schedule/schedule_json.h"

namespace podsim {
namespace {

// ", \"target\": 3" for the kinds whose chunks have one.
class TargetText {
 public:
  TargetText(const CollectiveMeaning& meaning, const Topology& topology) {
    const KindParties* kind = FindKindParties(meaning.kind);
    if (kind == nullptr || !kind->targeted()) return;
    rank_of_.resize(topology.chips());
    for (const auto& group : meaning.groups) {
      for (std::size_t rank = 0; rank < group.size(); ++rank) {
        rank_of_[group[rank].value()] = rank;
      }
    }
  }
  std::string Of(const Chunk& chunk) const {
    if (rank_of_.empty()) return "";
    return ", \"target\": " + std::to_string(rank_of_[chunk.receiver->value()]);
  }

 private:
  std::vector<std::size_t> rank_of_;  // by chip
};

// Runs of chunk ids as "[[0,2],[5,1]]", adjacent ones joined.
std::string ChunksText(const Schedule& schedule, ChunkSet set,
                       const Topology& topology, std::uint32_t per_owner) {
  std::vector<ChunkRun> runs;
  ForEachRun(schedule, set, topology, per_owner,
             [&](std::uint32_t first, std::uint32_t count) {
               AppendRun(runs, first, count);
             });
  std::string text = "[";
  for (const ChunkRun& run : runs) {
    if (text.size() > 1) text += ", ";
    text += "[" + std::to_string(run.first) + ", " + std::to_string(run.count) +
            "]";
  }
  return text + "]";
}

const char* ModeText(Mode mode) {
  switch (mode) {
    case Mode::kCopy:
      return "copy";
    case Mode::kReduce:
      return "reduce";
    case Mode::kScratch:
      return "scratch";
    case Mode::kAccumulate:
      return "accumulate";
  }
  return "";
}

std::string AfterText(const Schedule& schedule, OpId op) {
  std::vector<OpId> after(schedule.after(op).begin(), schedule.after(op).end());
  std::sort(after.begin(), after.end());
  std::string text = "[";
  for (const OpId wait : after) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(wait.value());
  }
  return text + "]";
}

std::string OpText(const Schedule& schedule, OpId op, const Topology& topology,
                   std::uint32_t per_owner) {
  const std::string chip = std::to_string(schedule.src(op).value());
  const std::string after = ", \"after\": " + AfterText(schedule, op) + "}";
  const auto chunks = [&] {
    return ", \"chunks\": " +
           ChunksText(schedule, schedule.chunks(op), topology, per_owner);
  };
  switch (schedule.kind(op)) {
    case OpKind::kTransfer: {
      std::string route;
      for (const LinkId link : schedule.route(op)) {
        if (!route.empty()) route += ", ";
        route += '"' + topology.NameOf(link) + '"';
      }
      return "{\"op\": \"transfer\", \"src\": " + chip +
             ", \"dst\": " + std::to_string(schedule.dst(op).value()) +
             ", \"mode\": \"" + ModeText(schedule.mode(op)) + "\"" + chunks() +
             ", \"route\": [" + route +
             "], \"lane\": " + std::to_string(schedule.lane(op)) + after;
    }
    case OpKind::kLocal:
      if (schedule.mode(op) == Mode::kAccumulate) {
        return "{\"op\": \"local\", \"chip\": " + chip +
               ", \"mode\": \"accumulate\"" + chunks() + after;
      }
      return "{\"op\": \"local\", \"chip\": " + chip + chunks() +
             ", \"scratch_of\": " +
             std::to_string(schedule.scratch_of(op).value()) +
             ", \"seconds\": " +
             Significant(schedule.duration(op).value(), 17) + after;
    case OpKind::kCompute:
      return "{\"op\": \"compute\", \"chip\": " + chip + ", \"seconds\": " +
             Significant(schedule.duration(op).value(), 17) + after;
  }
  return "";
}

}  // namespace

void WriteSchedule(const Schedule& schedule, const CollectiveMeaning& meaning,
                   const Slice& slice,
                   const std::function<void(const std::string&)>& write) {
  const Topology& topology = slice.topology;
  const auto per_owner = static_cast<std::uint32_t>(meaning.chunks.size()) /
                         static_cast<std::uint32_t>(topology.chips());
  write("{\"format\": \"podsim-schedule/1\", \"slice\": " +
        nlohmann::json(slice.spec).dump() +
        ",\n \"collective\": {\"kind\": \"" + meaning.kind + "\", \"bytes\": " +
        std::to_string(meaning.payload.value()) + ", \"groups\": [");
  const char* separator = "";
  for (const auto& group : meaning.groups) {
    std::vector<std::string> chips;
    for (const ChipId chip : group) {
      chips.push_back(std::to_string(chip.value()));
    }
    write(separator + ("[" + Join(chips, ", ") + "]"));
    separator = ", ";
  }
  write("], \"root\": " +
        (meaning.root ? std::to_string(*meaning.root) : "null") +
        "},\n \"chunks\": [");
  separator = "\n  ";
  const bool name_groups = meaning.groups.size() > 1;
  const TargetText target(meaning, topology);
  for (const Chunk& chunk : meaning.chunks) {
    write(
        separator + ("{\"owner\": " + std::to_string(chunk.owner)) +
        ", \"bytes\": " + std::to_string(chunk.bytes.value()) +
        (name_groups ? ", \"group\": " + std::to_string(chunk.group) : "") +
        target.Of(chunk) +
        (chunk.level > 0 ? ", \"level\": " + std::to_string(chunk.level) : "") +
        "}");
    separator = ",\n  ";
  }
  write("],\n \"ops\": [");
  separator = "\n  ";
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    write(separator + OpText(schedule, OpId(op), topology, per_owner));
    separator = ",\n  ";
  }
  write("]}\n");
}

}  // namespace podsim
