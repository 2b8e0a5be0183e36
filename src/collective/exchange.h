#ifndef PODSIM_COLLECTIVE_EXCHANGE_H_
#define PODSIM_COLLECTIVE_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/schedule_builder.h"
#include "topology/slice.h"

namespace podsim {

// What lowerings share whose ranks exchange merged messages with partners 1, 2,
// 4, .. ranks away.

// floor(log2 n), n >= 1.
int Log2(int n);

// Sends on the minimal route, ties by parity; the message names none.
std::optional<OpId> SendRouted(ScheduleBuilder& builder,
                               const Topology& topology, Message message,
                               std::span<const OpId> after = {});

// The p' ranks, the largest power of two <= n, that exchange: of each of the
// first n - p' pairs of ranks the odd one, which stands for both, then the
// ranks without a partner.
std::vector<int> ActiveRanks(int n);

// Before: the even rank of each such pair adds all chunks into its partner's.
// After: it gets them back as sums.
void FoldIn(ScheduleBuilder& builder, const Topology& topology, std::size_t g,
            std::span<const std::uint32_t> chunks);
void FoldOut(ScheduleBuilder& builder, const Topology& topology, std::size_t g,
             std::span<const std::uint32_t> chunks);

// What `messages` of several chunks each cost to build and replay, in messages
// of one chunk: `moves` counts every chunk of every message.
std::uint64_t CountMerged(std::uint64_t messages, std::uint64_t moves);

// Messages of one hop, each after the one before, with `bytes` in total.
Seconds SequenceTime(const Slice& slice, int messages, double bytes);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_EXCHANGE_H_
