// A schedule in MSCCL's words.
#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "schedule/chunk_split.h"
#include "schedule/msccl_layout.h"
#include "schedule/msccl_xml.h"
#include "topology/routing.h"

namespace podsim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// A step of an op: what others wait for.
struct Spot {
  std::uint32_t gpu = kNone, block = 0, step = 0;
  bool apart = false;  // only lest two adds meet
};

class Maker {
 public:
  Maker(const Schedule& schedule, const CollectiveMeaning& meaning,
        const Slice& slice, std::string where)
      : schedule_(schedule),
        meaning_(meaning),
        slice_(slice),
        where_(std::move(where)) {}

  MscclAlgorithm Make() && {
    Prepare();
    for (std::uint32_t op = 0; op < schedule_.size(); ++op) {
      if (schedule_.mode(OpId(op)) == Mode::kAccumulate) {
        Fail("MSCCL XML has no levels of a chunk, and op " +
             std::to_string(op) + " accumulates into one");
      }
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
    Finish();
    return std::move(made_);
  }

 private:
  // Chunks that lie side by side at both ends: one step.
  struct Piece {
    MscclPlace source, destination;
    int count = 0;
  };

  [[noreturn]] void Fail(const std::string& what) const {
    throw InputError(where_, what + "; JSON (any other suffix) can hold it");
  }

  void Prepare() {
    std::vector<std::string> kinds;
    bool known = false;
    for (const MscclCollective& row : kMscclCollectives) {
      known |= meaning_.kind == row.kind;
      kinds.emplace_back(row.kind);
    }
    if (!known) {
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
    layout_ = MakeMscclLayout(meaning_, *kind_, rank_of_, where_);
    made_.gpus.resize(group.size());
    last_.resize(group.size());
    sent_.resize(schedule_.size());
    arrived_.resize(schedule_.size());
    const auto chips = static_cast<std::uint32_t>(slice_.topology.chips());
    per_owner_ = static_cast<std::uint32_t>(meaning_.chunks.size()) / chips;
    if (kind_->targeted()) AddOwnBlocks();
  }

  // Out of place, a gpu copies what it keeps.
  void AddOwnBlocks() {
    const int block = layout_.per_part;
    for (std::uint32_t gpu = 0; gpu < made_.gpus.size(); ++gpu) {
      const int at = static_cast<int>(gpu) * block;
      AddBlock(gpu, {}).steps.push_back(
          StepOf("cpy", {{'i', at}, {'o', at}, block}));
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
        passing_.emplace(std::pair(gpu, chunk), made_.gpus[gpu].s_chunks);
    if (fresh) made_.gpus[gpu].s_chunks += layout_.of[chunk].count;
    return {'s', entry->second};
  }

  // One piece per stretch of chunks that lie side by side at both ends.
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
      if (WaitsFor(op, last_[src][send])) return {send, receive};
    }
    const auto channel = static_cast<std::uint32_t>(channels.size());
    most_channels_ = std::max(most_channels_, channel + 1);
    channels.emplace_back(last_[src].size(), last_[dst].size());
    AddBlock(src, {.send = static_cast<int>(dst),
                   .channel = static_cast<int>(channel),
                   .steps = {}});
    AddBlock(dst, {.receive = static_cast<int>(src),
                   .channel = static_cast<int>(channel),
                   .steps = {}});
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
    std::string route = RouteText(op);
    bool joined = false;
    for (const Piece& piece : pieces) {
      MscclStep sends = StepOf("s", piece);
      sends.joined = joined;
      sends.route = std::exchange(route, "");
      sent_[op.value()] = Append({src, send, 0}, home, std::move(sends));
      MscclStep receives = StepOf(mode == Mode::kReduce ? "rrc" : "r", piece);
      receives.joined = joined;
      if (mode == Mode::kReduce) receives.source = piece.destination;
      arrived_[op.value()] =
          Append({dst, receive, 0}, away, std::move(receives));
      joined = true;
      home.clear();
      away.clear();
    }
    last_[src][send] = op;
  }

  void AddLocal(OpId op) {
    const std::uint32_t gpu = GpuOf(schedule_.src(op), op);
    const OpId transfer = schedule_.scratch_of(op);
    const std::vector<std::uint32_t> chunks = ChunksOf(op);
    const std::vector<Piece> pieces = PiecesOf(
        chunks,
        [&](std::uint32_t chunk) { return ScratchOf(transfer, gpu, chunk); },
        [&](std::uint32_t chunk) { return PlaceOf(gpu, chunk); });
    const auto& blocks = made_.gpus[gpu].threadblocks;
    std::uint32_t block = 0;
    while (block < blocks.size() &&
           (blocks[block].send >= 0 || blocks[block].receive >= 0 ||
            !blocks[block].steps[0].type->reduces ||
            !WaitsFor(op, last_[gpu][block]))) {
      ++block;
    }
    if (block == blocks.size()) AddBlock(gpu, {});
    std::vector<Spot> home, away;
    SortDependences(op, {gpu, block, 0}, gpu, home, away);
    KeepAddsApart(op, {gpu, block, 0}, chunks, home);
    double seconds = schedule_.duration(op).value();
    for (const Piece& piece : pieces) {
      MscclStep adds = StepOf("re", piece);
      adds.seconds = std::exchange(seconds, 0);
      arrived_[op.value()] = Append({gpu, block, 0}, home, std::move(adds));
      home.clear();
    }
    if (pieces.size() > 1) {
      Fail("op " + std::to_string(op.value()) +
           " adds chunks that do not lie side by side");
    }
    last_[gpu][block] = op;
  }

  // Every scratch message has a place of its own.
  MscclPlace ScratchOf(OpId transfer, std::uint32_t gpu, std::uint32_t chunk) {
    const auto [entry, fresh] = scratch_.emplace(
        std::pair(transfer.value(), chunk), made_.gpus[gpu].s_chunks);
    if (fresh) made_.gpus[gpu].s_chunks += layout_.of[chunk].count;
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
  Spot Append(const Spot& at, const std::vector<Spot>& waits, MscclStep step) {
    auto& blocks = made_.gpus[at.gpu].threadblocks;
    auto& steps = blocks[at.block].steps;
    for (std::size_t k = 0; k < waits.size(); ++k) {
      blocks[waits[k].block].steps[waits[k].step].has_dep = true;
      const bool last = k + 1 == waits.size();
      if (!last) steps.push_back(StepOf("nop", {}));
      MscclStep& waiting = last ? step : steps.back();
      waiting.dep_threadblock = static_cast<int>(waits[k].block);
      waiting.dep_step = static_cast<int>(waits[k].step);
      waiting.apart = waits[k].apart;
    }
    steps.push_back(std::move(step));
    return {at.gpu, at.block, static_cast<std::uint32_t>(steps.size() - 1)};
  }

  MscclThreadblock& AddBlock(std::uint32_t gpu, MscclThreadblock block) {
    last_[gpu].emplace_back();
    return made_.gpus[gpu].threadblocks.emplace_back(std::move(block));
  }

  static MscclStep StepOf(const char* type, const Piece& piece) {
    MscclStep step;
    step.type = FindMscclStepType(type);
    step.source = piece.source;
    step.destination = piece.destination;
    step.count = piece.count;
    return step;
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
    return Join(names, " ");
  }

  void Finish() {
    const auto chunks = static_cast<int>(layout_.sizes.size());
    const auto gpus = static_cast<int>(made_.gpus.size());
    made_.name = "podsim_" + meaning_.kind;
    made_.protocol = "Simple";
    made_.kind = kind_;
    made_.channels = static_cast<int>(most_channels_);
    made_.chunks_per_loop = chunks;
    made_.in_place = !kind_->targeted();
    made_.slice = slice_.spec;
    made_.bytes = meaning_.payload.value();
    if (kind_->rooted()) {
      made_.root = static_cast<int>(rank_of_[*meaning_.root]);
    }
    // MSCCL's own split needs no words.
    if (layout_.sizes != SplitEvenly(meaning_.payload, chunks)) {
      made_.chunk_sizes = layout_.sizes;
    }
    const MscclBuffers buffers = BuffersOf(meaning_.kind, chunks, gpus);
    // In place, one of the two stands for both.
    const bool has_input =
        kind_->contributor != Party::kOwner || !made_.in_place;
    const bool has_output = !has_input || !made_.in_place;
    for (std::uint32_t id = 0; id < made_.gpus.size(); ++id) {
      MscclGpu& gpu = made_.gpus[id];
      gpu.i_chunks = has_input ? buffers.input : 0;
      gpu.o_chunks = has_output ? buffers.output : 0;
      if (renumbers_) {
        gpu.chip = static_cast<int>(meaning_.groups[0][id].value());
      }
    }
  }

  const Schedule& schedule_;
  const CollectiveMeaning& meaning_;
  const Slice& slice_;
  std::string where_;
  const KindParties* kind_ = nullptr;
  std::vector<std::uint32_t> rank_of_;  // by chip
  bool renumbers_ = false;              // gpu ids are not chip ids
  MscclLayout layout_;
  std::uint32_t per_owner_ = 0;
  MscclAlgorithm made_;
  // By gpu, threadblock: the last op that sends or adds there.
  std::vector<std::vector<OpId>> last_;
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

MscclAlgorithm MakeMscclAlgorithm(const Schedule& schedule,
                                  const CollectiveMeaning& meaning,
                                  const Slice& slice,
                                  const std::string& where) {
  return Maker(schedule, meaning, slice, where).Make();
}

}  // namespace podsim
