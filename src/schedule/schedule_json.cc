#include "schedule/schedule_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/text.h"

namespace podsim {
namespace {

// Who contributes to a chunk and who receives it, by kind.
enum class Party { kAll, kOwner, kTarget, kRoot };
struct KindRow {
  const char* name;
  Party contributor;
  Party receiver;
};
constexpr KindRow kKinds[] = {
    {"all-reduce", Party::kAll, Party::kAll},
    {"all-gather", Party::kOwner, Party::kAll},
    {"reduce-scatter", Party::kAll, Party::kOwner},
    {"all-to-all", Party::kOwner, Party::kTarget},
    {"ragged-all-to-all", Party::kOwner, Party::kTarget},
    {"collective-permute", Party::kOwner, Party::kTarget},
    {"broadcast", Party::kRoot, Party::kAll},
    {"reduce", Party::kAll, Party::kRoot},
    {"gather", Party::kOwner, Party::kRoot},
    {"scatter", Party::kRoot, Party::kOwner},
};

const KindRow* FindKind(const std::string& name) {
  for (const KindRow& row : kKinds) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

class Reader {
 public:
  Reader(const JsonValue& json, ScheduleFile& file)
      : json_(json), file_(file) {}

  void Read() {
    ReadCollective(json_.Get("collective"));
    for (const JsonValue& chunk : json_.Get("chunks").Elements()) {
      ReadChunk(chunk);
    }
    CheckPayload();
    const Topology& topology = file_.slice.topology;
    for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
      if (topology.Exists(LinkId(id))) {
        links_.emplace(topology.NameOf(LinkId(id)), LinkId(id));
      }
    }
    for (const JsonValue& op : json_.Get("ops").Elements()) ReadOp(op);
  }

 private:
  ChipId ReadChip(const JsonValue& json) const {
    return ChipId(static_cast<std::uint32_t>(
        json.AsInteger(0, file_.slice.topology.chips() - 1)));
  }

  void ReadCollective(const JsonValue& json) {
    json.RejectUnknownKeys({"kind", "bytes", "groups", "root"});
    const JsonValue kind = json.Get("kind");
    kind_ = FindKind(kind.AsString());
    if (kind_ == nullptr) {
      kind.Fail("unknown collective \"" + kind.AsString() +
                "\"; did you mean \"" +
                Nearest(kind.AsString(), ScheduleFileKinds()) +
                "\"? (known: " + Join(ScheduleFileKinds(), ", ") + ")");
    }
    CollectiveMeaning& meaning = file_.meaning;
    meaning.kind = kind_->name;
    meaning.payload = Bytes(json.Get("bytes").AsInteger(0, INT64_MAX));
    std::vector<bool> used(file_.slice.topology.chips());
    for (const JsonValue& group : json.Get("groups").Elements()) {
      std::vector<ChipId> chips;
      for (const JsonValue& entry : group.Elements()) {
        chips.push_back(ReadChip(entry));
        if (used[chips.back().value()]) {
          entry.Fail("chip " + entry.Excerpt() + " stands twice in the groups");
        }
        used[chips.back().value()] = true;
      }
      if (chips.empty()) group.Fail("expected at least one chip");
      meaning.groups.push_back(std::move(chips));
    }
    const auto root = json.Find("root");
    if (root && !root->is_null()) meaning.root = ReadChip(*root).value();
    const bool rooted =
        kind_->contributor == Party::kRoot || kind_->receiver == Party::kRoot;
    if (!rooted) return;
    if (!meaning.root) json.Fail("missing key \"root\"");
    FindRootRank(json, *root);
  }

  // Every group has its root at the rank that the root has in its own.
  void FindRootRank(const JsonValue& json, const JsonValue& root) {
    const CollectiveMeaning& meaning = file_.meaning;
    for (const auto& group : meaning.groups) {
      const auto found =
          std::find(group.begin(), group.end(), ChipId(*meaning.root));
      if (found == group.end()) continue;
      root_rank_ = static_cast<std::size_t>(found - group.begin());
      for (const auto& other : meaning.groups) {
        if (root_rank_ < other.size()) continue;
        json.Get("groups").Fail("the root has rank " +
                                std::to_string(root_rank_) +
                                " in its group, and a group has only " +
                                std::to_string(other.size()) + " chips");
      }
      return;
    }
    root.Fail("expected a chip of a group, got " + root.Excerpt());
  }

  std::optional<ChipId> Resolve(Party party, std::uint32_t group, ChipId owner,
                                std::optional<ChipId> target,
                                const JsonValue& json) const {
    switch (party) {
      case Party::kAll:
        return std::nullopt;
      case Party::kOwner:
        return owner;
      case Party::kTarget:
        if (!target) json.Fail("missing key \"target\"");
        return target;
      case Party::kRoot:
        return file_.meaning.groups[group][root_rank_];
    }
    return std::nullopt;
  }

  void ReadChunk(const JsonValue& json) {
    json.RejectUnknownKeys({"owner", "bytes", "group", "target"});
    Chunk chunk;
    const auto& groups = file_.meaning.groups;
    if (const auto group = json.Find("group")) {
      chunk.group = static_cast<std::uint32_t>(
          group->AsInteger(0, static_cast<std::int64_t>(groups.size()) - 1));
    } else if (groups.size() != 1) {
      json.Fail("missing key \"group\": there are " +
                std::to_string(groups.size()) + " groups");
    }
    const auto& members = groups[chunk.group];
    const auto last = static_cast<std::int64_t>(members.size()) - 1;
    chunk.owner =
        static_cast<std::uint32_t>(json.Get("owner").AsInteger(0, last));
    chunk.bytes = Bytes(json.Get("bytes").AsInteger(0, INT64_MAX));
    if (chunk.bytes.value() > INT64_MAX - total_bytes_) {
      json.Fail("the chunks add up to more than 2^63 - 1 bytes");
    }
    total_bytes_ += chunk.bytes.value();
    std::optional<ChipId> target;
    if (const auto entry = json.Find("target")) {
      target = members[static_cast<std::size_t>(entry->AsInteger(0, last))];
    }
    const ChipId owner = members[chunk.owner];
    chunk.contributor =
        Resolve(kind_->contributor, chunk.group, owner, target, json);
    chunk.receiver = Resolve(kind_->receiver, chunk.group, owner, target, json);
    file_.meaning.chunks.push_back(chunk);
  }

  // Chunks of one group cover the payload (blocks of an all-to-all need not:
  // the own block does not travel).
  void CheckPayload() {
    if (kind_->receiver == Party::kTarget) return;
    std::vector<std::int64_t> sums(file_.meaning.groups.size());
    for (const Chunk& chunk : file_.meaning.chunks) {
      sums[chunk.group] += chunk.bytes.value();
    }
    for (std::size_t g = 0; g < sums.size(); ++g) {
      if (sums[g] == file_.meaning.payload.value()) continue;
      file_.violations.Add("the chunks of group " + std::to_string(g) +
                           " add up to " + std::to_string(sums[g]) +
                           " bytes, the collective has " +
                           std::to_string(file_.meaning.payload.value()));
    }
  }

  void Violate(const std::string& what) {
    file_.violations.Add("op " + std::to_string(file_.schedule.size()) + what);
    broken_ = true;
  }

  std::vector<OpId> ReadAfter(const JsonValue& op) {
    std::vector<OpId> after;
    const auto list = op.Find("after");
    if (!list) return after;
    for (const JsonValue& entry : list->Elements()) {
      const std::int64_t wait = entry.AsInteger(0, INT64_MAX);
      if (wait >= file_.schedule.size()) {
        Violate(wait == file_.schedule.size()
                    ? " depends on itself"
                    : " depends on op " + std::to_string(wait) +
                          ", which is not older");
        continue;
      }
      after.emplace_back(static_cast<std::uint32_t>(wait));
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return after;
  }

  ChunkSet ReadChunks(const JsonValue& json, std::int64_t& bytes) {
    std::vector<ChunkRun> runs;
    const auto chunks = static_cast<std::int64_t>(file_.meaning.chunks.size());
    for (const JsonValue& entry : json.Elements()) {
      const auto pair = entry.Elements();
      if (pair.size() != 2) {
        entry.Fail("expected [first, count], got " + entry.Excerpt());
      }
      const std::int64_t first = pair[0].AsInteger(0, chunks - 1);
      const std::int64_t count = pair[1].AsInteger(1, chunks - first);
      runs.push_back({static_cast<std::uint32_t>(first),
                      static_cast<std::uint32_t>(count)});
      for (std::int64_t c = first; c < first + count; ++c) {
        const std::int64_t more =
            file_.meaning.chunks[static_cast<std::size_t>(c)].bytes.value();
        // Only where chunks are listed twice.
        if (more > INT64_MAX - bytes) {
          json.Fail("the chunks add up to more than 2^63 - 1 bytes");
        }
        bytes += more;
      }
    }
    return {file_.schedule.AddRuns(runs), ChipId(0)};
  }

  void ReadOp(const JsonValue& json) {
    broken_ = false;
    const JsonValue kind = json.Get("op");
    if (kind.AsString() == "transfer") {
      ReadTransfer(json);
    } else if (kind.AsString() == "local") {
      ReadLocal(json);
    } else if (kind.AsString() == "compute") {
      json.RejectUnknownKeys({"op", "chip", "seconds", "after"});
      const ChipId chip = ReadChip(json.Get("chip"));
      file_.schedule.AddCompute(chip, ReadSeconds(json.Get("seconds")),
                                ReadAfter(json));
    } else {
      kind.Fail("expected transfer, local or compute, got \"" +
                kind.AsString() + "\"");
    }
  }

  static Seconds ReadSeconds(const JsonValue& json) {
    const double value = json.AsNumber();
    if (value < 0) json.Fail("must not be negative, got " + json.Excerpt());
    return Seconds(value);
  }

  Mode ReadMode(const JsonValue& json) const {
    if (json.AsString() == "copy") return Mode::kCopy;
    if (json.AsString() == "reduce") return Mode::kReduce;
    if (json.AsString() == "scratch") return Mode::kScratch;
    json.Fail("expected copy, reduce or scratch, got \"" + json.AsString() +
              "\"");
  }

  void ReadTransfer(const JsonValue& json) {
    json.RejectUnknownKeys({"op", "src", "dst", "mode", "chunks", "route",
                            "lane", "after", "bytes"});
    Transfer transfer{.src = ReadChip(json.Get("src")),
                      .dst = ReadChip(json.Get("dst")),
                      .chunks = {},
                      .bytes = {},
                      .mode = ReadMode(json.Get("mode"))};
    if (const auto lane = json.Find("lane")) {
      transfer.lane =
          static_cast<std::uint16_t>(lane->AsInteger(0, UINT16_MAX));
    }
    std::int64_t sum = 0;
    transfer.chunks = ReadChunks(json.Get("chunks"), sum);
    transfer.bytes = Bytes(sum);
    if (const auto bytes = json.Find("bytes")) {
      transfer.bytes = Bytes(bytes->AsInteger(0, INT64_MAX));
    }
    std::vector<LinkId> route;
    for (const JsonValue& hop : json.Get("route").Elements()) {
      const auto found = links_.find(hop.AsString());
      if (found == links_.end()) {
        Violate(" uses link \"" + hop.AsString() +
                "\", which does not exist in " + file_.slice.spec);
        continue;
      }
      route.push_back(found->second);
    }
    if (transfer.src == transfer.dst) {
      Violate(" sends from chip " + std::to_string(transfer.src.value()) +
              " to itself");
    } else if (route.empty() && !broken_) {
      Violate(" has an empty route");
    }
    CountHops(transfer.bytes, route.size(), json);
    const std::vector<OpId> after = ReadAfter(json);
    if (broken_ && (route.empty() || transfer.src == transfer.dst)) {
      file_.schedule.AddCompute(transfer.src, Seconds(0), after);
    } else {
      file_.schedule.Add(transfer, route, after);
    }
  }

  // The report adds them up.
  void CountHops(Bytes bytes, std::size_t hops, const JsonValue& json) {
    if (hops == 0) return;
    const auto count = static_cast<std::int64_t>(hops);
    if (bytes.value() > (INT64_MAX - byte_hops_) / count) {
      json.Fail("the transfers move more than 2^63 - 1 bytes over links");
    }
    byte_hops_ += bytes.value() * count;
  }

  void ReadLocal(const JsonValue& json) {
    json.RejectUnknownKeys(
        {"op", "chip", "chunks", "scratch_of", "seconds", "after"});
    const ChipId chip = ReadChip(json.Get("chip"));
    std::int64_t sum = 0;
    const ChunkSet chunks = ReadChunks(json.Get("chunks"), sum);
    const std::int64_t transfer =
        json.Get("scratch_of").AsInteger(0, INT64_MAX);
    Seconds duration;
    if (const auto seconds = json.Find("seconds")) {
      duration = ReadSeconds(*seconds);
    }
    const std::vector<OpId> after = ReadAfter(json);
    if (transfer >= file_.schedule.size()) {
      Violate(" adds from op " + std::to_string(transfer) +
              ", which is not older");
      file_.schedule.AddCompute(chip, Seconds(0), after);
      return;
    }
    file_.schedule.AddLocal(chip, chunks,
                            OpId(static_cast<std::uint32_t>(transfer)),
                            duration, after);
  }

  const JsonValue& json_;
  ScheduleFile& file_;
  const KindRow* kind_ = nullptr;
  std::unordered_map<std::string, LinkId> links_;
  std::size_t root_rank_ = 0;     // of the rooted kinds
  std::int64_t total_bytes_ = 0;  // of all chunks
  std::int64_t byte_hops_ = 0;    // of the ops so far
  bool broken_ = false;           // the op being read
};

// ", \"target\": 3" for the kinds whose chunks have one.
class TargetText {
 public:
  TargetText(const CollectiveMeaning& meaning, const Topology& topology) {
    const KindRow* kind = FindKind(meaning.kind);
    if (kind == nullptr || kind->receiver != Party::kTarget) return;
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
  ForEachRun(
      schedule, set, topology, per_owner,
      [&](std::uint32_t first, std::uint32_t count) {
        if (!runs.empty() && runs.back().first + runs.back().count == first) {
          runs.back().count += count;
        } else {
          runs.push_back({first, count});
        }
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

const std::vector<std::string>& ScheduleFileKinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for (const KindRow& row : kKinds) names.emplace_back(row.name);
    return names;
  }();
  return kinds;
}

ScheduleFile ReadScheduleFile(const std::string& path, SliceRequest request) {
  const JsonValue json = JsonValue::ReadFile(path);
  const JsonValue format = json.Get("format");
  if (format.AsString() != "podsim-schedule/1") {
    format.Fail("expected \"podsim-schedule/1\", got \"" + format.AsString() +
                "\"");
  }
  json.RejectUnknownKeys({"format", "slice", "collective", "chunks", "ops"});
  const JsonValue slice = json.Get("slice");
  if (request.spec.empty()) {
    request.spec = slice.AsString();
    request.spec_where = slice.where();
  }
  ScheduleFile file{.slice = MakeSlice(request),
                    .schedule = {},
                    .meaning = {},
                    .violations = {}};
  Reader(json, file).Read();
  return file;
}

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
    write(separator + ("{\"owner\": " + std::to_string(chunk.owner)) +
          ", \"bytes\": " + std::to_string(chunk.bytes.value()) +
          (name_groups ? ", \"group\": " + std::to_string(chunk.group) : "") +
          target.Of(chunk) + "}");
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
