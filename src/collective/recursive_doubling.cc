#include "collective/exchange.h"
#include "collective/groups.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

// One round: active ranks i and i xor `bit` swap all they have. Both send and
// add the same chunk, so that it goes to scratch, and is added when the own
// message has left.
void Swap(ScheduleBuilder& builder, const Topology& topology,
          const std::vector<ChipId>& active, unsigned bit,
          std::uint32_t chunk) {
  std::vector<std::optional<OpId>> sent;
  for (unsigned i = 0; i < active.size(); ++i) {
    sent.push_back(SendRouted(builder, topology,
                              {.from = active[i],
                               .to = active[i ^ bit],
                               .chunks = {&chunk, 1},
                               .mode = Mode::kScratch,
                               .route = {}}));
  }
  for (unsigned i = 0; i < active.size(); ++i) {
    if (!sent[i]) continue;  // no bytes
    builder.AddScratch(*sent[i ^ bit], {&*sent[i], 1});
  }
}

WholeSchedule BuildRecursive(const Collective& collective,
                             const Topology& topology, const LoweringSpec&) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    const std::vector<ChipId>& group = builder.groups()[g];
    const std::uint32_t chunk =
        builder.AddChunk(g, /*owner=*/0, collective.payload);
    std::vector<ChipId> active;
    for (const int rank : ActiveRanks(static_cast<int>(group.size()))) {
      active.push_back(group[rank]);
    }
    FoldIn(builder, topology, g, {&chunk, 1});
    for (unsigned bit = 1; bit < active.size(); bit *= 2) {
      Swap(builder, topology, active, bit, chunk);
    }
    FoldOut(builder, topology, g, {&chunk, 1});
  }
  return std::move(builder).Finish();
}

std::uint64_t CountRecursive(const Collective& collective,
                             const Topology& topology, const LoweringSpec&) {
  std::uint64_t messages = 0;
  for (const auto& group : GroupsOf(collective, topology)) {
    const std::uint64_t rounds = Log2(static_cast<int>(group.size()));
    const std::uint64_t active = std::uint64_t{1} << rounds;
    messages += active * rounds + 2 * (group.size() - active);
  }
  return messages;
}

// Every round, and both folds, wait for the one before.
Seconds RecursiveTime(const Collective& collective, const Slice& slice,
                      const LoweringSpec&) {
  const int n = GroupSize(collective, slice.topology);
  if (collective.payload.value() == 0) return Seconds(0);
  const int rounds = Log2(n) + (n == 1 << Log2(n) ? 0 : 2);
  return SequenceTime(slice, rounds,
                      rounds * static_cast<double>(collective.payload.value()));
}

}  // namespace

// The fewest rounds that can sum over all ranks, all of them busy in each. With
// p' the largest power of two <= n, n - p' ranks first fold into others.
Lowering RecursiveDoublingLowering() {
  return {.name = "recursive-doubling",
          .help =
              "ranks 1, 2, 4, .. apart swap the whole payload and add, in "
              "log2 n rounds",
          .parameters = {},
          .kinds = {CollectiveKind::kAllReduce},
          .preconditions = "any groups",
          .time =
              "at least log2 n (a + S/B), 2 rounds more if n is no power "
              "of two",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .why_not = WhyUnreachable,
          .build = BuildRecursive,
          .count = CountRecursive,
          .at_least = RecursiveTime,
          .over_dcn = true};
}

}  // namespace podsim
