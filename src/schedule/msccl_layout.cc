#include "schedule/msccl_layout.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

constexpr std::int64_t kMostParts = 1 << 12;  // of a shard or block

class LayoutMaker {
 public:
  LayoutMaker(const CollectiveMeaning& meaning, const KindParties& kind,
              const std::vector<std::uint32_t>& rank_of,
              const std::string& where)
      : meaning_(meaning), kind_(kind), rank_of_(rank_of), where_(where) {}

  MscclLayout Make() && {
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
  MscclLayout layout_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

MscclLayout MakeMscclLayout(const CollectiveMeaning& meaning,
                            const KindParties& kind,
                            const std::vector<std::uint32_t>& rank_of,
                            const std::string& where) {
  return LayoutMaker(meaning, kind, rank_of, where).Make();
}

}  // namespace podsim
