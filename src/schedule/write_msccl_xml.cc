// Writer of MSCCL XML.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "schedule/chunk_split.h"
#include "schedule/msccl_xml.h"
#include "topology/routing.h"

namespace podsim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::int64_t kMostParts = 1 << 12;  // of a shard or block

// Where a chunk lies in the payload, in MSCCL's chunks.
struct Units {
  int first = 0;
  int count = 0;
};

// The payload in MSCCL's chunks: a shard or block has as many as all of them
// can be cut into, and each chunk of ours has one or several.
struct Layout {
  std::vector<Units> of;  // by chunk; of all-to-all: in the buffer of its owner
  int per_part = 1;       // of a shard or block
  std::vector<Bytes> sizes;
};

class LayoutMaker {
 public:
  LayoutMaker(const CollectiveMeaning& meaning, const KindParties& kind,
              const std::vector<std::uint32_t>& rank_of,
              const std::string& where)
      : meaning_(meaning), kind_(kind), rank_of_(rank_of), where_(where) {}

  Layout Make() && {
    const auto ranks = static_cast<std::int64_t>(meaning_.groups[0].size());
    const bool divided = kind_.targeted() ||
                         kind_.contributor == Party::kOwner ||
                         kind_.receiver == Party::kOwner;
    std::map<std::int64_t, std::vector<std::uint32_t>> parts;
    for (std::uint32_t c = 0; c < meaning_.chunks.size(); ++c) {
      const Chunk& chunk = meaning_.chunks[c];
      std::int64_t part = 0;
      if (divided) part = chunk.owner;
      if (kind_.targeted()) part = part * ranks + TargetOf(chunk);
      parts[part].push_back(c);
    }
    std::int64_t per_part = 1;
    for (const auto& [part, chunks] : parts) {
      per_part = std::lcm(per_part, static_cast<std::int64_t>(chunks.size()));
      if (divided && per_part > kMostParts) {
        throw InputError(where_,
                         "MSCCL cuts all shards alike, and these into "
                         "more than " +
                             std::to_string(kMostParts) + " chunks");
      }
    }
    layout_.per_part = static_cast<int>(per_part);
    layout_.of.resize(meaning_.chunks.size());
    sizes_.assign(
        static_cast<std::size_t>(divided ? ranks * per_part : per_part), -1);
    for (const auto& [part, chunks] : parts) {
      Place(static_cast<int>(part % ranks * per_part), chunks);
    }
    FillSizes();
    return std::move(layout_);
  }

 private:
  std::int64_t TargetOf(const Chunk& chunk) const {
    return rank_of_[chunk.receiver->value()];
  }

  void Place(int first, const std::vector<std::uint32_t>& chunks) {
    const int count = layout_.per_part / static_cast<int>(chunks.size());
    for (const std::uint32_t c : chunks) {
      layout_.of[c] = {.first = first, .count = count};
      for (const Bytes size : SplitEvenly(meaning_.chunks[c].bytes, count)) {
        std::int64_t& known = sizes_[static_cast<std::size_t>(first++)];
        if (known >= 0 && known != size.value()) {
          throw InputError(
              where_,
              "MSCCL cuts the buffers of all gpus alike, and these blocks are "
              "cut differently; a payload that more ranks divide may help");
        }
        known = size.value();
      }
    }
  }

  // What does not travel, as blocks to oneself, has what is left.
  void FillSizes() {
    std::int64_t left = meaning_.payload.value();
    std::int64_t unknown = 0;
    for (const std::int64_t size : sizes_) {
      size < 0 ? ++unknown : left -= size;
    }
    std::vector<Bytes> rest;
    if (unknown > 0) {
      rest = SplitEvenly(Bytes(std::max<std::int64_t>(0, left)),
                         static_cast<int>(unknown));
    }
    auto next = rest.begin();
    for (const std::int64_t size : sizes_) {
      layout_.sizes.push_back(size < 0 ? *next++ : Bytes(size));
    }
  }

  const CollectiveMeaning& meaning_;
  const KindParties& kind_;
  const std::vector<std::uint32_t>& rank_of_;
  const std::string& where_;
  Layout layout_;
  std::vector<std::int64_t> sizes_;
};

struct Step {
  const char* type;
  MscclPlace source, destination;
  int count = 0;
  std::uint32_t dep_block = kNone, dep_step = 0;
  bool has_dep = false;
  bool apart = false;
  std::string more = {};  // attributes of ours
};

struct Block {
  std::uint32_t send = kNone, receive = kNone;  // gpus
  std::uint32_t channel = 0;
  std::vector<Step> steps = {};
  OpId last;  // op that sends here, or adds
};

struct Gpu {
  std::vector<Block> blocks;
  int scratch = 0;  // chunks
};

// A step of an op: what others wait for.
struct Spot {
  std::uint32_t gpu = kNone, block = 0, step = 0;
  bool apart = false;  // only lest two adds meet
};

class Writer {
 public:
  Writer(const Schedule& schedule, const CollectiveMeaning& meaning,
         const Slice& slice, std::string where)
      : schedule_(schedule),
        meaning_(meaning),
        slice_(slice),
        where_(std::move(where)) {}

  void Run(const std::function<void(const std::string&)>& write) {
    Prepare();
    for (std::uint32_t op = 0; op < schedule_.size(); ++op) {
      switch (schedule_.kind(OpId(op))) {
        case OpKind::kTransfer:
          AddTransfer(OpId(op));
          break;
        case OpKind::kLocal:
          AddLocal(OpId(op));
          break;
        case OpKind::kCompute:
          Fail("MSCCL XML has no computes, and op " + std::to_string(op) +
               " is one");
      }
    }
    WriteAll(write);
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw InputError(where_, what + "; JSON (any other suffix) can hold it");
  }

  void Prepare() {
    std::vector<std::string> kinds;
    for (const MscclCollective& row : kMscclCollectives) {
      if (meaning_.kind == row.kind) coll_ = row.coll;
      kinds.emplace_back(row.kind);
    }
    if (coll_ == nullptr) {
      Fail("MSCCL XML has no " + meaning_.kind + ", only " + Join(kinds, ", "));
    }
    kind_ = FindKindParties(meaning_.kind);
    if (meaning_.groups.size() != 1) {
      Fail("MSCCL XML has one group of gpus, and this " + meaning_.kind +
           " has " + std::to_string(meaning_.groups.size()));
    }
    rank_of_.assign(static_cast<std::size_t>(slice_.topology.chips()), kNone);
    const auto& group = meaning_.groups[0];
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      rank_of_[group[rank].value()] = rank;
      renumbers_ |= group[rank].value() != rank;
    }
    renumbers_ |= group.size() != rank_of_.size();
    layout_ = LayoutMaker(meaning_, *kind_, rank_of_, where_).Make();
    gpus_.resize(group.size());
    sent_.resize(schedule_.size());
    arrived_.resize(schedule_.size());
    const auto chips = static_cast<std::uint32_t>(slice_.topology.chips());
    per_owner_ = static_cast<std::uint32_t>(meaning_.chunks.size()) / chips;
    if (kind_->targeted()) AddOwnBlocks();
  }

  // Out of place, a gpu copies what it keeps.
  void AddOwnBlocks() {
    const int block = layout_.per_part;
    for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      const int at = static_cast<int>(gpu) * block;
      gpus_[gpu].blocks.push_back({});
      gpus_[gpu].blocks.back().steps.push_back({.type = "cpy",
                                                .source = {'i', at},
                                                .destination = {'o', at},
                                                .count = block});
    }
  }

  std::uint32_t GpuOf(ChipId chip, OpId op) const {
    const std::uint32_t gpu = rank_of_[chip.value()];
    if (gpu == kNone) {
      Fail("chip " + std::to_string(chip.value()) + " forwards op " +
           std::to_string(op.value()) + " and is not in the group");
    }
    return gpu;
  }

  std::vector<std::uint32_t> ChunksOf(OpId op) const {
    std::vector<std::uint32_t> chunks;
    ForEachRun(schedule_, schedule_.chunks(op), slice_.topology, per_owner_,
               [&](std::uint32_t first, std::uint32_t count) {
                 for (std::uint32_t c = first; c < first + count; ++c) {
                   // Nothing brought what has no bytes.
                   if (meaning_.chunks[c].bytes.value() == 0) continue;
                   chunks.push_back(c);
                 }
               });
    std::sort(chunks.begin(), chunks.end());
    return chunks;
  }

  // Where a gpu keeps a chunk.
  MscclPlace PlaceOf(std::uint32_t gpu, std::uint32_t chunk) {
    const int first = layout_.of[chunk].first;
    if (!kind_->targeted()) {
      return {kind_->contributor == Party::kOwner ? 'o' : 'i', first};
    }
    const Chunk& what = meaning_.chunks[chunk];
    if (what.owner == gpu) return {'i', first};
    if (rank_of_[what.receiver->value()] == gpu) {
      return {'o', static_cast<int>(what.owner) * layout_.per_part +
                       first % layout_.per_part};
    }
    const auto [entry, fresh] =
        passing_.emplace(std::pair(gpu, chunk), gpus_[gpu].scratch);
    if (fresh) gpus_[gpu].scratch += layout_.of[chunk].count;
    return {'s', entry->second};
  }

  // One step per stretch of chunks that lie side by side at both ends.
  struct Piece {
    MscclPlace source, destination;
    int count;
  };
  template <class Source, class Destination>
  std::vector<Piece> PiecesOf(const std::vector<std::uint32_t>& chunks,
                              Source source, Destination destination) const {
    std::vector<Piece> pieces;
    for (const std::uint32_t chunk : chunks) {
      const Piece next{source(chunk), destination(chunk),
                       layout_.of[chunk].count};
      if (!pieces.empty() && Follows(pieces.back(), next)) {
        pieces.back().count += next.count;
      } else {
        pieces.push_back(next);
      }
    }
    return pieces;
  }
  static bool Follows(const Piece& piece, const Piece& next) {
    return piece.source.buffer == next.source.buffer &&
           piece.destination.buffer == next.destination.buffer &&
           piece.source.offset + piece.count == next.source.offset &&
           piece.destination.offset + piece.count == next.destination.offset;
  }

  // The channel whose last op the new one waits for; else a new one.
  std::pair<std::uint32_t, std::uint32_t> BlocksOf(std::uint32_t src,
                                                   std::uint32_t dst, OpId op) {
    auto& channels = channels_[{src, dst}];
    for (const auto& [send, receive] : channels) {
      if (WaitsFor(op, gpus_[src].blocks[send].last)) return {send, receive};
    }
    const auto channel = static_cast<std::uint32_t>(channels.size());
    most_channels_ = std::max(most_channels_, channel + 1);
    channels.emplace_back(gpus_[src].blocks.size(), gpus_[dst].blocks.size());
    gpus_[src].blocks.push_back({.send = dst, .channel = channel, .last = {}});
    gpus_[dst].blocks.push_back(
        {.receive = src, .channel = channel, .last = {}});
    return channels.back();
  }
  bool WaitsFor(OpId op, OpId other) const {
    const auto after = schedule_.after(op);
    return std::find(after.begin(), after.end(), other) != after.end();
  }

  void AddTransfer(OpId op) {
    const std::uint32_t src = GpuOf(schedule_.src(op), op);
    const std::uint32_t dst = GpuOf(schedule_.dst(op), op);
    const std::vector<std::uint32_t> chunks = ChunksOf(op);
    const Mode mode = schedule_.mode(op);
    const auto source = [&](std::uint32_t chunk) {
      return PlaceOf(src, chunk);
    };
    const std::vector<Piece> pieces =
        PiecesOf(chunks, source, [&](std::uint32_t chunk) {
          return mode == Mode::kScratch ? ScratchOf(op, dst, chunk)
                                        : PlaceOf(dst, chunk);
        });
    const auto [send, receive] = BlocksOf(src, dst, op);
    std::vector<Spot> home, away;
    SortDependences(op, {src, send, 0}, dst, home, away);
    if (mode == Mode::kReduce) {
      KeepAddsApart(op, {dst, receive, 0}, chunks, away);
    } else if (mode == Mode::kCopy) {
      for (const std::uint32_t chunk : chunks) adder_.erase({dst, chunk});
    }
    std::string more = RouteText(op);
    bool first = true;
    for (const Piece& piece : pieces) {
      const char* const joined = first ? "" : " joined=\"1\"";
      sent_[op.value()] = Append({src, send, 0}, home,
                                 {.type = "s",
                                  .source = piece.source,
                                  .destination = piece.destination,
                                  .count = piece.count,
                                  .more = joined + more});
      arrived_[op.value()] = Append(
          {dst, receive, 0}, away,
          {.type = mode == Mode::kReduce ? "rrc" : "r",
           .source = mode == Mode::kReduce ? piece.destination : piece.source,
           .destination = piece.destination,
           .count = piece.count,
           .more = joined});
      first = false;
      home.clear();
      away.clear();
      more.clear();
    }
    gpus_[src].blocks[send].last = op;
  }

  void AddLocal(OpId op) {
    const std::uint32_t gpu = GpuOf(schedule_.src(op), op);
    const OpId transfer = schedule_.scratch_of(op);
    const std::vector<std::uint32_t> chunks = ChunksOf(op);
    const std::vector<Piece> pieces = PiecesOf(
        chunks,
        [&](std::uint32_t chunk) { return ScratchOf(transfer, gpu, chunk); },
        [&](std::uint32_t chunk) { return PlaceOf(gpu, chunk); });
    auto& blocks = gpus_[gpu].blocks;
    std::uint32_t block = 0;
    while (block < blocks.size() &&
           (blocks[block].send != kNone || blocks[block].receive != kNone ||
            blocks[block].steps[0].type == std::string("cpy") ||
            !WaitsFor(op, blocks[block].last))) {
      ++block;
    }
    if (block == blocks.size()) blocks.push_back({});
    std::vector<Spot> home, away;
    SortDependences(op, {gpu, block, 0}, gpu, home, away);
    KeepAddsApart(op, {gpu, block, 0}, chunks, home);
    std::string more;
    if (schedule_.duration(op).value() > 0) {
      more = " seconds=\"" + Exact(schedule_.duration(op).value()) + "\"";
    }
    for (const Piece& piece : pieces) {
      arrived_[op.value()] = Append({gpu, block, 0}, home,
                                    {.type = "re",
                                     .source = piece.source,
                                     .destination = piece.destination,
                                     .count = piece.count,
                                     .more = more});
      home.clear();
      more.clear();
    }
    if (pieces.size() > 1) {
      Fail("op " + std::to_string(op.value()) +
           " adds chunks that do not lie side by side");
    }
    blocks[block].last = op;
  }

  // Every scratch message has a place of its own.
  MscclPlace ScratchOf(OpId transfer, std::uint32_t gpu, std::uint32_t chunk) {
    const auto [entry, fresh] = scratch_.emplace(
        std::pair(transfer.value(), chunk), gpus_[gpu].scratch);
    if (fresh) gpus_[gpu].scratch += layout_.of[chunk].count;
    return {'s', entry->second};
  }

  // What the sending step waits for (`home`), and what only the receiving one
  // can. The order within a threadblock says the rest.
  void SortDependences(OpId op, const Spot& at, std::uint32_t dst,
                       std::vector<Spot>& home, std::vector<Spot>& away) const {
    for (const OpId wait : schedule_.after(op)) {
      const Spot& sent = sent_[wait.value()];
      const Spot& arrived = arrived_[wait.value()];
      const Spot* const spots[] = {&sent, &arrived};
      const auto find = [&](std::uint32_t gpu, std::vector<Spot>& list) {
        for (const Spot* spot : spots) {
          if (spot->gpu != gpu) continue;
          if (gpu != at.gpu || spot->block != at.block) list.push_back(*spot);
          return true;
        }
        return false;
      };
      if (find(at.gpu, home) || find(dst, away)) continue;
      Fail("op " + std::to_string(op.value()) + " waits for op " +
           std::to_string(wait.value()) +
           ", which ends on neither of its chips; MSCCL steps wait for steps "
           "of their own gpu");
    }
  }

  // Adds into one place may come in any order, but not at once.
  void KeepAddsApart(OpId op, const Spot& at,
                     const std::vector<std::uint32_t>& chunks,
                     std::vector<Spot>& waits) {
    for (const std::uint32_t chunk : chunks) {
      const auto [entry, fresh] = adder_.emplace(std::pair(at.gpu, chunk), op);
      if (fresh) continue;
      const Spot& other = arrived_[entry->second.value()];
      entry->second = op;
      if (other.gpu != at.gpu || other.block == at.block) continue;
      const bool there =
          std::any_of(waits.begin(), waits.end(), [&](const Spot& wait) {
            return wait.block == other.block && wait.step == other.step;
          });
      if (there) continue;
      waits.push_back(other);
      waits.back().apart = true;
    }
  }

  // A step waits for one other; nops before it for the rest.
  Spot Append(const Spot& at, const std::vector<Spot>& waits, Step step) {
    auto& blocks = gpus_[at.gpu].blocks;
    for (std::size_t k = 0; k < waits.size(); ++k) {
      blocks[waits[k].block].steps[waits[k].step].has_dep = true;
      Step nop{.type = "nop", .source = {}, .destination = {}};
      Step& waiting = k + 1 < waits.size() ? nop : step;
      waiting.dep_block = waits[k].block;
      waiting.dep_step = waits[k].step;
      waiting.apart = waits[k].apart;
      if (k + 1 < waits.size()) blocks[at.block].steps.push_back(nop);
    }
    auto& steps = blocks[at.block].steps;
    steps.push_back(std::move(step));
    return {at.gpu, at.block, static_cast<std::uint32_t>(steps.size() - 1)};
  }

  // Where it is not the one that readers take.
  std::string RouteText(OpId op) const {
    const auto route = schedule_.route(op);
    const auto minimal = Route(slice_.topology, schedule_.src(op),
                               schedule_.dst(op), TieRule::kParity);
    if (minimal && std::equal(route.begin(), route.end(), minimal->begin(),
                              minimal->end())) {
      return "";
    }
    std::vector<std::string> names;
    for (const LinkId link : route) {
      names.push_back(slice_.topology.NameOf(link));
    }
    return " route=\"" + Join(names, " ") + "\"";
  }

  // ---- text ---------------------------------------------------------------

  static std::string Escaped(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
      if (c == '&') {
        escaped += "&amp;";
      } else if (c == '<') {
        escaped += "&lt;";
      } else if (c == '"') {
        escaped += "&quot;";
      } else {
        escaped += c;
      }
    }
    return escaped;
  }
  static std::string Attribute(const char* name, std::int64_t value) {
    return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
  }
  static std::string Id(const char* name, std::uint32_t id) {
    return Attribute(name, id == kNone ? -1 : std::int64_t{id});
  }

  void WriteAll(const std::function<void(const std::string&)>& write) const {
    const auto chunks = static_cast<std::int64_t>(layout_.sizes.size());
    const bool in_place = !kind_->targeted();
    std::string head = "<algo name=\"podsim_" + meaning_.kind +
                       "\" proto=\"Simple\"" +
                       Attribute("nchannels", most_channels_) +
                       Attribute("nchunksperloop", chunks) +
                       Attribute("ngpus", std::ssize(gpus_)) + " coll=\"" +
                       coll_ + "\"" + Attribute("inplace", in_place ? 1 : 0) +
                       Attribute("outofplace", in_place ? 0 : 1) + " slice=\"" +
                       Escaped(slice_.spec) + "\"" +
                       Attribute("bytes", meaning_.payload.value());
    if (kind_->rooted()) {
      head += Id("root", rank_of_[*meaning_.root]);
    }
    write(head + ">\n");
    WriteSizes(write);
    const MscclBuffers buffers =
        BuffersOf(meaning_.kind, static_cast<int>(chunks),
                  static_cast<int>(gpus_.size()));
    // In place, one of the two stands for both.
    const bool has_input = kind_->contributor != Party::kOwner || !in_place;
    const bool has_output = !has_input || !in_place;
    for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      write("  <gpu" + Attribute("id", gpu) +
            (renumbers_ ? Attribute("chip", meaning_.groups[0][gpu].value())
                        : "") +
            Attribute("i_chunks", has_input ? buffers.input : 0) +
            Attribute("o_chunks", has_output ? buffers.output : 0) +
            Attribute("s_chunks", gpus_[gpu].scratch) + ">\n");
      for (std::size_t id = 0; id < gpus_[gpu].blocks.size(); ++id) {
        WriteBlock(gpus_[gpu].blocks[id], static_cast<std::int64_t>(id), write);
      }
      write("  </gpu>\n");
    }
    write("</algo>\n");
  }

  // Runs of chunks of one size, where MSCCL's even split is another one.
  void WriteSizes(const std::function<void(const std::string&)>& write) const {
    const auto& sizes = layout_.sizes;
    if (sizes ==
        SplitEvenly(meaning_.payload, static_cast<int>(sizes.size()))) {
      return;
    }
    for (auto run = sizes.begin(); run != sizes.end();) {
      const auto end = std::find_if(
          run, sizes.end(), [&](const Bytes size) { return size != *run; });
      write("  <chunks" + Attribute("count", end - run) +
            Attribute("bytes", run->value()) + "/>\n");
      run = end;
    }
  }

  static void WriteBlock(const Block& block, std::int64_t id,
                         const std::function<void(const std::string&)>& write) {
    write("    <tb" + Attribute("id", id) + Id("send", block.send) +
          Id("recv", block.receive) + Attribute("chan", block.channel) + ">\n");
    std::int64_t number = 0;
    for (const Step& step : block.steps) {
      const auto place = [](const char* buffer, const char* offset,
                            const MscclPlace& at) {
        return std::string(" ") + buffer + "=\"" + at.buffer + "\"" +
               Attribute(offset, at.offset);
      };
      const bool waits = step.dep_block != kNone;
      write("      <step" + Attribute("s", number++) + " type=\"" + step.type +
            "\"" + place("srcbuf", "srcoff", step.source) +
            place("dstbuf", "dstoff", step.destination) +
            Attribute("cnt", step.count) + Id("depid", step.dep_block) +
            Attribute("deps", waits ? std::int64_t{step.dep_step} : -1) +
            Attribute("hasdep", step.has_dep ? 1 : 0) +
            (step.apart ? " apart=\"1\"" : "") + step.more + "/>\n");
    }
    write("    </tb>\n");
  }

  const Schedule& schedule_;
  const CollectiveMeaning& meaning_;
  const Slice& slice_;
  std::string where_;
  const char* coll_ = nullptr;
  const KindParties* kind_ = nullptr;
  std::vector<std::uint32_t> rank_of_;  // by chip
  bool renumbers_ = false;              // gpu ids are not chip ids
  Layout layout_;
  std::uint32_t per_owner_ = 0;
  std::vector<Gpu> gpus_;
  std::vector<Spot> sent_, arrived_;  // by op; its last steps
  // By pair of gpus, then by channel: the threadblocks at both ends.
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           std::vector<std::pair<std::uint32_t, std::uint32_t>>>
      channels_;
  std::uint32_t most_channels_ = 0;
  // First scratch chunk of what passes through a gpu, and of scratch messages.
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> passing_, scratch_;
  // The last op that added to a chunk, by gpu and chunk.
  std::map<std::pair<std::uint32_t, std::uint32_t>, OpId> adder_;
};

}  // namespace

void WriteMscclXml(const Schedule& schedule, const CollectiveMeaning& meaning,
                   const Slice& slice, const std::string& where,
                   const std::function<void(const std::string&)>& write) {
  Writer(schedule, meaning, slice, where).Run(write);
}

}  // namespace podsim
