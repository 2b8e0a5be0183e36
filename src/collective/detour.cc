#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <span>
#include <tuple>

#include "base/check.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/memo.h"
#include "collective/schedule_builder.h"
#include "schedule/chunk_split.h"
#include "topology/distance.h"

namespace podsim {
namespace {

constexpr int kMostMembers = 256;
// Up to here a search takes less than about a second.
constexpr int kMostUnasked = 128;
// Below, blocks are cut into four (two with a dead chip, where the bound is
// whole blocks), and up to the second number into two.
constexpr int kFewMembers = 32;
constexpr int kSomeMembers = 64;
constexpr int kPower = 6;
// Costs of a path of so many links as full as the fullest fit 63 bits.
constexpr double kFullLinks = 64;

// One sub-block: its ends, as ranks, and which of its block's parts it is.
struct Item {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t part = 0;
};

// The links of every sub-block's path.
struct Paths {
  int ranks = 0;
  int parts = 1;
  std::vector<std::vector<LinkId>>
      links;  // by ((from ranks) + to) parts + part

  std::size_t At(const Item& item) const {
    return (std::size_t{item.from} * static_cast<std::size_t>(ranks) +
            item.to) *
               static_cast<std::size_t>(parts) +
           item.part;
  }
};

// Puts every sub-block on the path that is cheapest among what the others take,
// a link costing (load + 1)^power: full links are gone around.
class PathFinder {
 public:
  PathFinder(const Topology& topology, const std::vector<ChipId>& members,
             int parts)
      : topology_(topology), members_(members) {
    paths_ = {
        .ranks = static_cast<int>(members.size()), .parts = parts, .links = {}};
    first_out_.push_back(0);
    for (int chip = 0; chip < topology.chips(); ++chip) {
      topology.ForEachLiveLinkFrom(ChipId(static_cast<std::uint32_t>(chip)),
                                   [&](LinkId link) {
                                     out_.push_back(link);
                                     to_.push_back(topology.Target(link));
                                   });
      first_out_.push_back(out_.size());
    }
    ListItems();
  }

  // nullopt: costs that do not fit 63 bits.
  std::optional<Paths> Find(int passes, int power) {
    power_ = power;
    most_load_ =
        std::floor(std::pow(
            static_cast<double>(std::numeric_limits<std::int64_t>::max()) /
                kFullLinks,
            1.0 / power)) -
        1;
    load_.assign(topology_.link_ids(), 0);
    cost_.assign(topology_.link_ids(), 1);
    paths_.links.assign(members_.size() * members_.size() *
                            static_cast<std::size_t>(paths_.parts),
                        {});
    std::optional<Paths> best;
    std::int64_t least = 0;
    for (int pass = 0; pass < passes; ++pass) {
      for (const Item& item : items_) {
        if (!Reroute(item)) return std::nullopt;
      }
      const std::int64_t most = *std::max_element(load_.begin(), load_.end());
      if (best && most >= least) continue;
      best = paths_;
      least = most;
    }
    return best;
  }

 private:
  // The farthest first, then pseudo-random.
  void ListItems() {
    std::vector<std::tuple<int, std::uint64_t, std::uint32_t, std::uint32_t,
                           std::uint32_t>>
        order;
    const auto ranks = static_cast<std::uint32_t>(members_.size());
    for (std::uint32_t from = 0; from < ranks; ++from) {
      const std::vector<int> hops = HopsFrom(topology_, members_[from]);
      for (std::uint32_t to = 0; to < ranks; ++to) {
        if (from == to) continue;
        const std::uint64_t u = members_[from].value();
        const std::uint64_t v = members_[to].value();
        for (int k = 0; k < paths_.parts; ++k) {
          const auto part = static_cast<std::uint32_t>(k);
          const std::uint64_t mixed =
              (7919 * u + 104729 * v + 1299709 * std::uint64_t{part}) % 1000003;
          order.emplace_back(-hops[v], mixed, from, to, part);
        }
      }
    }
    std::sort(order.begin(), order.end());
    for (const auto& [hops, mixed, from, to, part] : order) {
      items_.push_back({from, to, part});
    }
  }

  bool Reroute(const Item& item) {
    std::vector<LinkId>& path = paths_.links[paths_.At(item)];
    for (const LinkId link : path) {
      if (!Load(link, -1)) return false;
    }
    FindPath(members_[item.from], members_[item.to], path);
    for (const LinkId link : path) {
      if (!Load(link, 1)) return false;
    }
    return true;
  }

  bool Load(LinkId link, int by) {
    std::int64_t& load = load_[link.value()];
    load += by;
    if (static_cast<double>(load) > most_load_) return false;
    std::int64_t cost = 1;
    for (int k = 0; k < power_; ++k) cost *= load + 1;
    cost_[link.value()] = cost;
    return true;
  }

  // Dijkstra's algorithm.
  void FindPath(ChipId from, ChipId to, std::vector<LinkId>& path) {
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
    distance_.assign(static_cast<std::size_t>(topology_.chips()), kFar);
    into_.resize(distance_.size());
    heap_.clear();
    distance_[from.value()] = 0;
    heap_.emplace_back(0, from.value());
    while (true) {
      CHECK(!heap_.empty()) << "chips that cannot reach each other";
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const auto [distance, chip] = heap_.back();
      heap_.pop_back();
      if (chip == to.value()) break;
      if (distance > distance_[chip]) continue;
      for (std::size_t k = first_out_[chip]; k < first_out_[chip + 1]; ++k) {
        const std::int64_t there = distance + cost_[out_[k].value()];
        if (there >= distance_[to_[k].value()]) continue;
        distance_[to_[k].value()] = there;
        into_[to_[k].value()] = out_[k];
        heap_.emplace_back(there, to_[k].value());
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
    }
    path.clear();
    for (ChipId at = to; at != from; at = topology_.Source(path.back())) {
      path.push_back(into_[at.value()]);
    }
    std::reverse(path.begin(), path.end());
  }

  const Topology& topology_;
  const std::vector<ChipId>& members_;
  std::vector<std::size_t> first_out_;  // by chip, into out_ and to_
  std::vector<LinkId> out_;
  std::vector<ChipId> to_;
  std::vector<Item> items_;
  int power_ = kPower;
  double most_load_ = 0;
  std::vector<std::int64_t> load_;  // sub-blocks, by link
  std::vector<std::int64_t> cost_;  // (load + 1)^power
  std::vector<std::int64_t> distance_;
  std::vector<LinkId> into_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> heap_;
  Paths paths_;
};

Paths FindPaths(const Topology& topology, const std::vector<ChipId>& members,
                const LoweringSpec& spec) {
  PathFinder finder(topology, members, spec.parts);
  for (int power = spec.power;; --power) {
    CHECK(power > 0) << "loads beyond 63 bits";
    if (auto paths = finder.Find(spec.passes, power)) return *std::move(paths);
  }
}

std::shared_ptr<const Paths> PathsOf(const Topology& topology,
                                     const std::vector<ChipId>& members,
                                     const LoweringSpec& spec) {
  thread_local Memo<Paths> memo(/*most=*/4);
  std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(spec.parts),
                                    static_cast<std::uint32_t>(spec.passes),
                                    static_cast<std::uint32_t>(spec.power)};
  for (const ChipId chip : members) key.push_back(chip.value());
  topology.ForEachLiveLink([&](LinkId link) {
    key.push_back(link.value());
    key.push_back(topology.Source(link).value());
    key.push_back(topology.Target(link).value());
  });
  return memo.At(key, [&] { return FindPaths(topology, members, spec); });
}

std::optional<std::string> WhyNotDetour(const Collective& collective,
                                        const Topology& topology,
                                        const LoweringSpec& spec) {
  if (!IsAllChips(collective, topology)) {
    return "its group must be all chips of one slice; use direct";
  }
  const int chips = topology.live_chips();
  if (chips > kMostMembers) {
    return "its routes are searched for up to " + std::to_string(kMostMembers) +
           " chips only; use direct";
  }
  if (chips > kMostUnasked && spec.passes < 0) {
    return "above " + std::to_string(kMostUnasked) +
           " chips a pass of its search takes seconds; use direct, or say how "
           "many: passes=1";
  }
  if (const auto reason = WhyUnreachable(collective, topology)) {
    return *reason + "; use chips that can";
  }
  return std::nullopt;
}

WholeSchedule BuildDetour(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec) {
  ScheduleBuilder builder(collective, GroupsOf(collective, topology));
  const std::vector<ChipId> members = builder.groups()[0];
  const auto ranks = static_cast<std::uint32_t>(members.size());
  if (ranks == 1) return std::move(builder).Finish();
  const auto paths = PathsOf(topology, members, spec);
  const std::vector<Bytes> blocks =
      SplitEvenly(collective.payload, static_cast<int>(ranks));
  for (std::uint32_t apart = 1; apart < ranks; ++apart) {
    for (std::uint32_t from = 0; from < ranks; ++from) {
      const std::uint32_t to = (from + apart) % ranks;
      const std::vector<Bytes> parts = SplitEvenly(blocks[to], spec.parts);
      for (std::uint32_t part = 0; part < parts.size(); ++part) {
        const std::uint32_t chunk = builder.AddChunk(
            0, static_cast<int>(from), parts[part], static_cast<int>(to));
        builder.Send({.from = members[from],
                      .to = members[to],
                      .chunks = {&chunk, 1},
                      .mode = Mode::kCopy,
                      .route = paths->links[paths->At({from, to, part})]});
      }
    }
  }
  return std::move(builder).Finish();
}

std::uint64_t CountDetour(const Collective& collective,
                          const Topology& topology, const LoweringSpec& spec) {
  const auto n = static_cast<std::uint64_t>(GroupSize(collective, topology));
  return n * (n - 1) * static_cast<std::uint64_t>(spec.parts);
}

// Byte-hops of shortest paths, spread evenly over all links.
Seconds DetourTime(const Collective& collective, const Slice& slice,
                   const LoweringSpec&) {
  const Topology& topology = slice.topology;
  const std::vector<ChipId> members = GroupsOf(collective, topology)[0];
  const std::int64_t payload = collective.payload.value();
  const auto ranks = static_cast<std::int64_t>(members.size());
  if (ranks == 1 || payload == 0) return Seconds(0);
  double hops = 0;
  for (const ChipId from : members) {
    const std::vector<int> far = HopsFrom(topology, from);
    for (const ChipId to : members) hops += far[to.value()];
  }
  double capacity = 0;
  double alpha = std::numeric_limits<double>::infinity();
  topology.ForEachLiveLink([&](LinkId link) {
    capacity += topology.Bandwidth(link).value();
    alpha = std::min(alpha, topology.Latency(link).value());
  });
  const auto block = static_cast<double>(payload / ranks);
  return slice.parameters.ici_message_overhead +
         Seconds(alpha + hops * block / capacity);
}

LoweringSpec ResolveDetour(const LoweringSpec& spec,
                           const Collective& collective, const Slice& slice) {
  const Topology& topology = slice.topology;
  const int chips = GroupSize(collective, topology);
  LoweringSpec resolved = spec;
  if (spec.parts == 0) {
    const bool all_live = topology.live_chips() == topology.chips();
    resolved.parts = chips > kSomeMembers                ? 1
                     : chips >= kFewMembers || !all_live ? 2
                                                         : 4;
  }
  if (spec.power == 0) resolved.power = kPower;
  if (spec.passes < 0) resolved.passes = chips <= 64 ? 3 : 2;
  resolved.passes = std::max(1, resolved.passes);
  return resolved;
}

}  // namespace

// One message per pair, as `direct`, but on routes that go around full links:
// next to a fault shortest paths crowd on the cables beside it.
Lowering DetourLowering() {
  return {
      .name = "detour",
      .help =
          "one message per pair, on routes that keep the fullest link as "
          "empty as they can; for slices with dead cables and chips",
      .parameters = {"parts", "passes", "power"},
      .kinds = {CollectiveKind::kAllToAll},
      .preconditions =
          "all chips of one slice, at most 256 (128 unless passes is given)",
      .time = "about o + alpha + load, load of the fullest link",
      .source = "min-max routing by exponential costs",
      .why_not = WhyNotDetour,
      .build = BuildDetour,
      .count = CountDetour,
      .at_least = DetourTime,
      .resolve = ResolveDetour};
}

}  // namespace podsim
