#include "schedule/msccl_meaning.h"

#include <algorithm>

#include "base/error.h"
#include "base/parse_units.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

constexpr std::int64_t kDefaultPayload = 1 << 20;  // bytes

Bytes PayloadOf(const MscclAlgorithm& algorithm, std::optional<Bytes> payload,
                std::vector<std::string>& warnings) {
  if (payload && !algorithm.chunk_sizes.empty() &&
      payload->value() != algorithm.bytes) {
    throw InputError("--bytes", "the <chunks> of the file add up to " +
                                    std::to_string(*algorithm.bytes) +
                                    " bytes; leave --bytes out");
  }
  if (payload) return *payload;
  if (algorithm.bytes) return Bytes(*algorithm.bytes);
  const Bytes guess(
      std::max(algorithm.min_bytes.value_or(0),
               std::min(algorithm.max_bytes.value_or(kDefaultPayload),
                        kDefaultPayload)));
  warnings.push_back(algorithm.file + " names no payload: taking " +
                     ToText(guess) + "; give --bytes to choose another");
  return guess;
}

std::vector<ChipId> ChipsOf(const MscclAlgorithm& algorithm,
                            const Slice& slice) {
  const int chips = slice.topology.chips();
  const auto gpus = static_cast<int>(algorithm.gpus.size());
  std::vector<ChipId> of;
  bool placed = false;
  for (int id = 0; id < gpus; ++id) {
    const MscclGpu& gpu = algorithm.gpus[static_cast<std::size_t>(id)];
    placed |= gpu.chip.has_value();
    const int chip = gpu.chip.value_or(id);
    if (placed && chip >= chips) {
      throw InputError(algorithm.At(gpu.line),
                       "gpu " + std::to_string(id) + " is on chip " +
                           std::to_string(chip) + ", and " + slice.spec +
                           " has " + std::to_string(chips));
    }
    of.emplace_back(static_cast<std::uint32_t>(chip));
  }
  if (!placed && gpus != chips) {
    throw InputError(algorithm.At(algorithm.line),
                     "the algorithm is for " + std::to_string(gpus) +
                         " gpus, and " + slice.spec + " has " +
                         std::to_string(chips) + " chips");
  }
  return of;
}

// As the file says; else the only gpu that never receives (of a broadcast) or
// never sends (of a reduce).
std::uint32_t RootOf(const MscclAlgorithm& algorithm) {
  if (algorithm.root) return static_cast<std::uint32_t>(*algorithm.root);
  const bool first = algorithm.kind->contributor == Party::kRoot;
  std::vector<std::uint32_t> candidates;
  for (std::size_t id = 0; id < algorithm.gpus.size(); ++id) {
    bool active = false;
    for (const MscclThreadblock& block : algorithm.gpus[id].threadblocks) {
      for (const MscclStep& step : block.steps) {
        active |= first ? step.type->receives : step.type->sends;
      }
    }
    if (!active) candidates.push_back(static_cast<std::uint32_t>(id));
  }
  if (candidates.size() == 1) return candidates[0];
  throw InputError(algorithm.At(algorithm.line),
                   std::string("the root is not clear: ") +
                       std::to_string(candidates.size()) + " gpus never " +
                       (first ? "receive" : "send") +
                       "; add root=\"..\" to <algo>");
}

}  // namespace

Slice MscclSlice(const MscclAlgorithm& algorithm, SliceRequest request) {
  const std::string gpus = std::to_string(algorithm.gpus.size());
  std::vector<std::string> warnings;
  if (request.spec.empty()) {
    request.spec = algorithm.slice;
    request.spec_where = algorithm.At(algorithm.line) + ": slice";
  }
  if (request.spec.empty()) {
    request.spec = "ideal:" + gpus;
    warnings.push_back(algorithm.file + " names no network: taking " +
                       request.spec + "; give --slice to choose another");
  }
  Slice slice = MakeSlice(request);
  slice.warnings.insert(slice.warnings.end(), warnings.begin(), warnings.end());
  return slice;
}

CollectiveMeaning MscclMeaning(const MscclAlgorithm& algorithm,
                               const Slice& slice, std::optional<Bytes> given,
                               std::vector<std::string>& warnings) {
  const Bytes payload = PayloadOf(algorithm, given, warnings);
  std::vector<ChipId> chips = ChipsOf(algorithm, slice);
  CollectiveMeaning meaning;
  const KindParties& kind = *algorithm.kind;
  meaning.kind = kind.kind;
  meaning.payload = payload;
  std::uint32_t root = 0;
  if (kind.rooted()) {
    root = RootOf(algorithm);
    meaning.root = chips[root].value();
  }
  const auto gpus = static_cast<std::int64_t>(chips.size());
  const std::vector<Bytes> sizes =
      algorithm.chunk_sizes.empty()
          ? SplitEvenly(payload, algorithm.chunks_per_loop)
          : algorithm.chunk_sizes;
  if (kind.targeted() && payload.value() > INT64_MAX / gpus) {
    throw InputError(algorithm.At(algorithm.line),
                     "the chunks add up to more than 2^63 - 1 bytes");
  }
  for (std::int64_t src = 0; src < (kind.targeted() ? gpus : 1); ++src) {
    for (std::int64_t k = 0; k < algorithm.chunks_per_loop; ++k) {
      const auto part =
          static_cast<std::uint32_t>(k * gpus / algorithm.chunks_per_loop);
      const auto owner =
          kind.targeted() ? static_cast<std::uint32_t>(src) : part;
      meaning.chunks.push_back(MakeChunk(kind, chips, 0, owner,
                                         sizes[static_cast<std::size_t>(k)],
                                         root, part));
    }
  }
  meaning.groups.push_back(std::move(chips));
  return meaning;
}

std::optional<std::uint32_t> MscclInputChunk(const MscclAlgorithm& algorithm,
                                             std::uint32_t root, int gpu,
                                             int k) {
  const auto gpus = static_cast<int>(algorithm.gpus.size());
  const int chunks = algorithm.chunks_per_loop;
  const KindParties& kind = *algorithm.kind;
  const MscclBuffers buffers = BuffersOf(kind.kind, chunks, gpus);
  if (kind.targeted()) return gpu * chunks + k;
  if (kind.contributor == Party::kAll) return k;
  if (kind.contributor == Party::kOwner) return gpu * buffers.input + k;
  if (static_cast<std::uint32_t>(gpu) == root) return k;
  return std::nullopt;
}
std::optional<std::uint32_t> MscclOutputChunk(const MscclAlgorithm& algorithm,
                                              std::uint32_t root, int gpu,
                                              int k) {
  const auto gpus = static_cast<int>(algorithm.gpus.size());
  const int chunks = algorithm.chunks_per_loop;
  const KindParties& kind = *algorithm.kind;
  const MscclBuffers buffers = BuffersOf(kind.kind, chunks, gpus);
  if (kind.targeted()) {
    const int block = chunks / gpus;
    return k / block * chunks + gpu * block + k % block;
  }
  if (kind.receiver == Party::kAll) return k;
  if (kind.receiver == Party::kOwner) return gpu * buffers.output + k;
  if (static_cast<std::uint32_t>(gpu) == root) return k;
  return std::nullopt;
}

}  // namespace podsim
