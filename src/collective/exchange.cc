#include "collective/exchange.h"

#include <bit>

namespace podsim {
namespace {

// Bytes of memory of a transfer of several hops over those of one chunk more.
constexpr std::uint64_t kChunksPerMessage = 32;

int FoldedPairs(int n) { return n - (1 << Log2(n)); }

}  // namespace

int Log2(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }

std::optional<OpId> SendRouted(ScheduleBuilder& builder,
                               const Topology& topology, Message message,
                               std::span<const OpId> after) {
  const std::vector<LinkId> route = RouteOf(topology, message.from, message.to);
  message.route = route;
  return builder.Send(message, after);
}

std::vector<int> ActiveRanks(int n) {
  const int pairs = FoldedPairs(n);
  std::vector<int> active;
  for (int pair = 0; pair < pairs; ++pair) active.push_back(2 * pair + 1);
  for (int rank = 2 * pairs; rank < n; ++rank) active.push_back(rank);
  return active;
}

void FoldIn(ScheduleBuilder& builder, const Topology& topology, std::size_t g,
            std::span<const std::uint32_t> chunks) {
  const std::vector<ChipId>& group = builder.groups()[g];
  const int pairs = FoldedPairs(static_cast<int>(group.size()));
  for (int pair = 0; pair < pairs; ++pair) {
    SendRouted(builder, topology,
               {.from = group[2 * pair],
                .to = group[2 * pair + 1],
                .chunks = chunks,
                .mode = Mode::kReduce,
                .route = {}});
  }
}

void FoldOut(ScheduleBuilder& builder, const Topology& topology, std::size_t g,
             std::span<const std::uint32_t> chunks) {
  const std::vector<ChipId>& group = builder.groups()[g];
  const int pairs = FoldedPairs(static_cast<int>(group.size()));
  for (int pair = 0; pair < pairs; ++pair) {
    SendRouted(builder, topology,
               {.from = group[2 * pair + 1],
                .to = group[2 * pair],
                .chunks = chunks,
                .mode = Mode::kCopy,
                .route = {}});
  }
}

std::uint64_t CountMerged(std::uint64_t messages, std::uint64_t moves) {
  return messages + moves / kChunksPerMessage;
}

Seconds SequenceTime(const Slice& slice, int messages, double bytes) {
  return messages * (slice.parameters.ici_message_overhead +
                     slice.topology.base_latency()) +
         Seconds(bytes / slice.topology.base_bandwidth().value());
}

}  // namespace podsim
