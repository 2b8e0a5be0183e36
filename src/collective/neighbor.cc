#include <array>

#include "collective/exchange.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "schedule/chunk_split.h"

namespace podsim {
namespace {

std::optional<std::string> WhyNotNeighbor(const Collective& collective,
                                          const Topology& topology,
                                          const LoweringSpec&) {
  const std::string instead = "; use direct";
  if (!topology.is_grid() || !collective.groups.empty()) {
    return "its groups must be the rings or lines of an axis" + instead;
  }
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return std::nullopt;
  if (active.size() > 1) {
    return "the group spans " + std::to_string(active.size()) + " axes" +
           instead + " or staged-rotated";
  }
  if (topology.twisted())
    return "on a twisted slice an axis is no ring" + instead;
  if (topology.healthy()) return std::nullopt;
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    const LinkId link(id);
    if (topology.AxisOf(link) != active[0]) continue;
    if (!topology.Exists(link) || topology.Live(link)) continue;
    return "it needs link " + topology.NameOf(link) + ", which is dead" +
           instead;
  }
  return std::nullopt;
}

// One ring or line; rank = position.
class NeighborGroup {
 public:
  NeighborGroup(std::size_t g, int axis, const Topology& topology,
                ScheduleBuilder& builder)
      : g_(g),
        axis_(axis),
        wrap_(topology.axes()[axis].wrap),
        topology_(topology),
        builder_(builder),
        blocks_{std::vector<std::vector<std::uint32_t>>(size()),
                std::vector<std::vector<std::uint32_t>>(size())} {}

  // In step s a chip passes on the blocks that have come s hops and go farther.
  void Run(Bytes payload) {
    AddBlocks(SplitEvenly(payload, size()));
    for (int step = 0; step < size(); ++step) {
      for (int rank = 0; rank < size(); ++rank) {
        for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
          Pass(rank, sign, step);
        }
      }
    }
  }

 private:
  int size() const { return static_cast<int>(builder_.groups()[g_].size()); }

  // The rank some places on; nullopt beyond the end of a line.
  std::optional<int> After(int rank, Sign sign, int places) const {
    const int at = rank + (sign == Sign::kPlus ? places : -places);
    if (wrap_) return (at + size()) % size();
    if (at < 0 || at >= size()) return std::nullopt;
    return at;
  }

  // The shorter way round; what is half a ring away in halves, one each way.
  void AddBlocks(const std::vector<Bytes>& blocks) {
    for (int source = 0; source < size(); ++source) {
      for (int apart = 1; apart < size(); ++apart) {
        for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
          const std::optional<int> target = After(source, sign, apart);
          if (!target || (wrap_ && 2 * apart > size())) continue;
          Bytes bytes = blocks[*target];
          if (wrap_ && 2 * apart == size()) {
            bytes = SplitEvenly(bytes, 2)[Index(sign)];
          }
          blocks_[Index(sign)][source].push_back(
              builder_.AddChunk(g_, source, bytes, *target));
        }
      }
    }
  }

  void Pass(int rank, Sign sign, int step) {
    const std::optional<int> source = After(rank, Opposite(sign), step);
    if (!source) return;
    const std::vector<std::uint32_t>& all = blocks_[Index(sign)][*source];
    if (all.size() <= static_cast<std::size_t>(step)) return;
    const LinkId link =
        topology_.LinkAt(builder_.groups()[g_][rank], axis_, sign);
    builder_.Send({.from = topology_.Source(link),
                   .to = topology_.Target(link),
                   .chunks = std::span(all).subspan(step),
                   .mode = Mode::kCopy,
                   .route = {&link, 1},
                   .lane = static_cast<std::uint16_t>(Index(sign))});
  }

  static std::size_t Index(Sign sign) { return sign == Sign::kPlus ? 0 : 1; }

  std::size_t g_;
  int axis_;
  bool wrap_;
  const Topology& topology_;
  ScheduleBuilder& builder_;
  // By direction and source: the block for the chip 1, 2, .. hops away.
  std::array<std::vector<std::vector<std::uint32_t>>, 2> blocks_;
};

WholeSchedule BuildNeighbor(const Collective& collective,
                            const Topology& topology, const LoweringSpec&) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return std::move(builder).Finish();
  for (std::size_t g = 0; g < builder.groups().size(); ++g) {
    NeighborGroup(g, active[0], topology, builder).Run(collective.payload);
  }
  return std::move(builder).Finish();
}

// Hops of the farthest blocks.
int StepsOf(const GridAxis& along) {
  return along.wrap ? along.size / 2 : along.size - 1;
}

// Moves of blocks, which is what building costs: more than the transfers.
std::uint64_t CountNeighbor(const Collective& collective,
                            const Topology& topology, const LoweringSpec&) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  if (active.empty()) return 0;
  const std::uint64_t steps = StepsOf(topology.axes()[active[0]]);
  return topology.chips() * steps * (steps + 1);
}

// The sum over the steps of a + bytes/B, a block fewer in each; of the block
// half an even ring away only a half.
Seconds NeighborTime(const Collective& collective, const Slice& slice,
                     const LoweringSpec&) {
  const std::int64_t payload = collective.payload.value();
  const std::vector<int> active = ActiveAxes(collective, slice.topology);
  if (payload == 0 || active.empty()) return Seconds(0);
  const GridAxis& along = slice.topology.axes()[active[0]];
  const int steps = StepsOf(along);
  const std::int64_t block = payload / along.size;
  const bool tied = along.wrap && along.size % 2 == 0;
  const std::int64_t farthest = tied ? block / 2 : block;
  const double bytes = steps * (static_cast<double>(farthest) +
                                static_cast<double>(block) * (steps - 1) / 2);
  return SequenceTime(slice, steps, bytes);
}

}  // namespace

// Store and forward with one hop per message: each block crosses the links that
// a direct message would, merged with those that go the same way. It attains
// its time, but does not say so in the table: auto would then prefer it to a
// direct exchange that is too large to try, which is faster on lines.
Lowering NeighborLowering() {
  return {.name = "neighbor",
          .help =
              "blocks passed from neighbour to neighbour, both ways, "
              "merged",
          .parameters = {},
          .kinds = {CollectiveKind::kAllToAll},
          .preconditions = "one axis, wrapped or not",
          .time =
              "ring: floor(n/2) a + floor(n^2/4)/(2n) S/B; line: (n-1) a + "
              "(n-1)/2 S/B",
          .source = "store-and-forward exchange",
          .why_not = WhyNotNeighbor,
          .build = BuildNeighbor,
          .count = CountNeighbor,
          .at_least = NeighborTime,
          .one_hop = true};
}

}  // namespace podsim
