// Reader of podsim-schedule/1 files.
#include "schedule/schedule_json.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "schedule/chunk_parties.h"

namespace podsim {
namespace {

std::vector<std::string> KnownKinds() {
  std::vector<std::string> names;
  for (const KindParties& row : AllKindParties()) names.emplace_back(row.kind);
  return names;
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
    for (std::uint32_t id = 0; id < topology.port_ids(); ++id) {
      if (topology.IsPort(LinkId(id)) || topology.Exists(LinkId(id))) {
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
    kind_ = FindKindParties(kind.AsString());
    if (kind_ == nullptr) {
      kind.Fail("unknown collective \"" + kind.AsString() +
                "\"; did you mean \"" + Nearest(kind.AsString(), KnownKinds()) +
                "\"? (known: " + Join(KnownKinds(), ", ") + ")");
    }
    CollectiveMeaning& meaning = file_.meaning;
    meaning.kind = kind_->kind;
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
    if (!kind_->rooted()) return;
    if (!meaning.root) json.Fail("missing key \"root\"");
    FindRootRank(json, *root);
  }

  // Every group has its root at the rank that the root has in its own.
  void FindRootRank(const JsonValue& json, const JsonValue& root) {
    const CollectiveMeaning& meaning = file_.meaning;
    const auto rank = RankOf(ChipId(*meaning.root), meaning.groups);
    if (!rank) root.Fail("expected a chip of a group, got " + root.Excerpt());
    root_rank_ = *rank;
    for (const auto& group : meaning.groups) {
      if (root_rank_ < group.size()) continue;
      json.Get("groups").Fail("the root has rank " +
                              std::to_string(root_rank_) +
                              " in its group, and a group has only " +
                              std::to_string(group.size()) + " chips");
    }
  }

  void ReadChunk(const JsonValue& json) {
    json.RejectUnknownKeys({"owner", "bytes", "group", "target", "level"});
    const auto& groups = file_.meaning.groups;
    std::uint32_t group = 0;
    if (const auto entry = json.Find("group")) {
      group = static_cast<std::uint32_t>(
          entry->AsInteger(0, static_cast<std::int64_t>(groups.size()) - 1));
    } else if (groups.size() != 1) {
      json.Fail("missing key \"group\": there are " +
                std::to_string(groups.size()) + " groups");
    }
    const auto& members = groups[group];
    const auto read_rank = [&](const JsonValue& rank) {
      return static_cast<std::uint32_t>(
          rank.AsInteger(0, static_cast<std::int64_t>(members.size()) - 1));
    };
    const std::uint32_t owner = read_rank(json.Get("owner"));
    const Bytes bytes(json.Get("bytes").AsInteger(0, INT64_MAX));
    std::uint32_t level = 0;
    if (const auto entry = json.Find("level")) {
      level = static_cast<std::uint32_t>(entry->AsInteger(0, UINT16_MAX));
    }
    if (bytes.value() > INT64_MAX - total_bytes_) {
      json.Fail("the chunks add up to more than 2^63 - 1 bytes");
    }
    total_bytes_ += bytes.value();
    std::uint32_t target = 0;
    if (const auto entry = json.Find("target")) {
      target = read_rank(*entry);
    } else if (kind_->targeted()) {
      json.Fail("missing key \"target\"");
    }
    file_.meaning.chunks.push_back(
        MakeChunk(*kind_, members, group, owner, bytes, root_rank_, target));
    file_.meaning.chunks.back().level = level;
  }

  // Chunks of one group cover the payload (blocks of an all-to-all need not:
  // the own block does not travel).
  void CheckPayload() {
    if (kind_->targeted()) return;
    std::vector<std::int64_t> sums(file_.meaning.groups.size());
    for (const Chunk& chunk : file_.meaning.chunks) {
      if (chunk.level == 0) sums[chunk.group] += chunk.bytes.value();
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
    if (json.AsString() == "accumulate") return Mode::kAccumulate;
    json.Fail("expected copy, reduce, scratch or accumulate, got \"" +
              json.AsString() + "\"");
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

  // An accumulate adds the chip's own chunks; others add from scratch.
  void ReadAccumulate(const JsonValue& json, const JsonValue& mode) {
    json.RejectUnknownKeys({"op", "chip", "mode", "chunks", "after"});
    if (mode.AsString() != "accumulate") {
      mode.Fail("expected accumulate, got \"" + mode.AsString() + "\"");
    }
    const ChipId chip = ReadChip(json.Get("chip"));
    std::int64_t sum = 0;
    const ChunkSet chunks = ReadChunks(json.Get("chunks"), sum);
    file_.schedule.AddAccumulate(chip, chunks, ReadAfter(json));
  }

  void ReadLocal(const JsonValue& json) {
    if (const auto mode = json.Find("mode")) return ReadAccumulate(json, *mode);
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
  const KindParties* kind_ = nullptr;
  std::unordered_map<std::string, LinkId> links_;
  std::uint32_t root_rank_ = 0;   // of the rooted kinds
  std::int64_t total_bytes_ = 0;  // of all chunks
  std::int64_t byte_hops_ = 0;    // of the ops so far
  bool broken_ = false;           // the op being read
};

}  // namespace

ScheduleFile ReadScheduleJson(const std::string& path, SliceRequest request) {
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

}  // namespace podsim
