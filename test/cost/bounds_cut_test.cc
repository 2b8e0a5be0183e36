// Bounds against brute force: every subset, and every partition, of the chips
// of small slices, with faults. Nothing here is shared with cost/.
#include <bit>
#include <catch2/catch.hpp>
#include <limits>
#include <map>

#include "cost/bounds.h"
#include "engine/engine.h"
#include "test/support/lowered.h"
#include "topology/fault.h"

namespace podsim {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t kPayload = 7 * 9 * 8 * 5 * 1000;

using Subset = std::uint32_t;  // bit per chip

struct Directed {
  int from, to;
  double rate;
};

std::vector<Directed> LinksOf(const Topology& topology) {
  std::vector<Directed> links;
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    const LinkId link(id);
    if (!topology.Live(link)) continue;
    links.push_back({static_cast<int>(topology.Source(link).value()),
                     static_cast<int>(topology.Target(link).value()),
                     topology.Bandwidth(link).value()});
  }
  return links;
}

Subset LiveChips(const Topology& topology) {
  Subset live = 0;
  for (int id = 0; id < topology.chips(); ++id) {
    if (topology.Live(ChipId(id))) live |= Subset{1} << id;
  }
  return live;
}

// The table of 2.1: bytes that must leave a set of `a` of n members.
double MustLeave(CollectiveKind kind, double payload, int n, int a,
                 bool root_inside) {
  if (a == 0 || a == n) return 0;
  const double shard = payload / n;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return payload;
    case CollectiveKind::kAllGather:
      return a * shard;
    case CollectiveKind::kReduceScatter:
      return (n - a) * shard;
    case CollectiveKind::kAllToAll:
      return a * (n - a) * shard;
    case CollectiveKind::kBroadcast:
      return root_inside ? payload : 0;
    case CollectiveKind::kReduce:
      return root_inside ? 0 : payload;
    case CollectiveKind::kGather:
      return root_inside ? 0 : a * shard;
    case CollectiveKind::kScatter:
      return root_inside ? (n - a) * shard : 0;
    case CollectiveKind::kRaggedAllToAll:
    case CollectiveKind::kCollectivePermute:
      break;  // pairs with bytes of their own
  }
  return 0;
}

// Capacity out of every subset.
std::vector<double> CapacityOutOf(const Topology& topology) {
  std::vector<double> capacity(std::size_t{1} << topology.chips());
  for (const Directed& link : LinksOf(topology)) {
    for (Subset set = 0; set < capacity.size(); ++set) {
      const bool from = (set >> link.from & 1) != 0;
      const bool to = (set >> link.to & 1) != 0;
      if (from && !to) capacity[set] += link.rate;
    }
  }
  return capacity;
}

// The largest cut over all subsets, in seconds; one group of all live chips.
double AllCuts(CollectiveKind kind, const Topology& topology, int root,
               const std::vector<double>& capacity) {
  const Subset live = LiveChips(topology);
  const int n = std::popcount(live);
  double worst = 0;
  for (Subset set = 1; set < capacity.size(); ++set) {
    if ((set & ~live) != 0 || set == live) continue;
    const double bytes = MustLeave(kind, static_cast<double>(kPayload), n,
                                   std::popcount(set), (set >> root & 1) != 0);
    if (bytes == 0) continue;
    worst =
        std::max(worst, capacity[set] > 0 ? bytes / capacity[set] : kInfinite);
  }
  return worst;
}

// All-reduce over all partitions into k parts: 2(k-1)S over the links between
// different parts (2.4).
class Partitions {
 public:
  explicit Partitions(const Topology& topology)
      : links_(LinksOf(topology)), part_(topology.chips(), -1) {
    for (int id = 0; id < topology.chips(); ++id) {
      if (topology.Live(ChipId(id))) chips_.push_back(id);
    }
    Assign(0, 0);
  }
  double worst() const { return worst_; }

 private:
  void Assign(std::size_t index, int parts) {
    if (index == chips_.size()) {
      Consider(parts);
      return;
    }
    for (int part = 0; part <= parts; ++part) {
      part_[static_cast<std::size_t>(chips_[index])] = part;
      Assign(index + 1, std::max(parts, part + 1));
    }
  }
  void Consider(int parts) {
    if (parts < 2) return;
    double capacity = 0;
    for (const Directed& link : links_) {
      if (part_[static_cast<std::size_t>(link.from)] !=
          part_[static_cast<std::size_t>(link.to)]) {
        capacity += link.rate;
      }
    }
    const double bytes = 2.0 * (parts - 1) * static_cast<double>(kPayload);
    worst_ = std::max(worst_, capacity > 0 ? bytes / capacity : kInfinite);
  }

  std::vector<Directed> links_;
  std::vector<int> chips_;
  std::vector<int> part_;
  double worst_ = 0;
};

// The largest of our components that are cuts (or gossip over links).
double OurCuts(const Slice& slice, CollectiveKind kind, int root) {
  double worst = 0;
  Collective collective = OnAllChips(kind, kPayload, slice);
  if (IsRooted(kind)) collective.root = ChipId(static_cast<unsigned>(root));
  for (const BoundComponent& component :
       ComputeBounds(collective, slice).components) {
    if (component.name == "latency" || component.name.starts_with("distance")) {
      continue;
    }
    worst = std::max(worst, component.time.value());
  }
  return worst;
}

// Every slice of up to `max_chips` chips.
std::vector<Slice> SmallSlices(int max_chips) {
  std::vector<Slice> slices;
  for (const Shape& shape : AllShapes(max_chips)) {
    for (const auto& wrap : AllWraps(shape)) {
      slices.push_back(MakeGridOf(shape, wrap));
    }
  }
  return slices;
}

std::vector<LinkId> CablesOf(const Topology& topology) {
  std::vector<LinkId> cables;
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    if (topology.Exists(LinkId(id)) &&
        id < topology.Reverse(LinkId(id)).value()) {
      cables.emplace_back(id);
    }
  }
  return cables;
}

void KillCable(LinkId link, Slice& slice) {
  slice.topology.Kill(slice.topology.Reverse(link));
  slice.topology.Kill(link);
}

bool Connected(const Topology& topology) {
  return AllCuts(CollectiveKind::kAllGather, topology, 0,
                 CapacityOutOf(topology)) < kInfinite;
}

// The slice, every way to lose one cable, and some ways to lose two; connected
// ones.
std::vector<Slice> WithDeadCables(const Slice& slice, Random& random,
                                  int pairs) {
  std::vector<Slice> faulty = {slice};
  const std::vector<LinkId> cables = CablesOf(slice.topology);
  for (const LinkId cable : cables) {
    faulty.push_back(slice);
    KillCable(cable, faulty.back());
  }
  for (int k = 0; k < pairs && cables.size() > 1; ++k) {
    faulty.push_back(slice);
    KillCable(random.Pick(cables), faulty.back());
    KillCable(random.Pick(cables), faulty.back());
  }
  std::erase_if(faulty, [](const Slice& s) { return !Connected(s.topology); });
  return faulty;
}

std::string FaultsOf(const Topology& topology) {
  std::string text;
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    const LinkId link(id);
    if (!topology.Exists(link)) continue;
    if (!topology.Live(link)) text += " " + topology.NameOf(link);
    if (topology.Bandwidth(link) != topology.base_bandwidth() &&
        topology.Live(link)) {
      text += " slow " + topology.NameOf(link);
    }
  }
  return text;
}

constexpr int kMaxChips = 9;

TEST_CASE("all-gather and broadcast: our cuts are the worst of all subsets",
          "[cost][oracle]") {
  Random random(1);
  int compared = 0;
  for (const Slice& healthy : SmallSlices(kMaxChips)) {
    for (const Slice& slice : WithDeadCables(healthy, random, 6)) {
      CAPTURE(slice.spec, FaultsOf(slice.topology));
      const auto capacity = CapacityOutOf(slice.topology);
      const auto exact = [&](CollectiveKind kind, int root) {
        return AllCuts(kind, slice.topology, root, capacity);
      };
      CHECK(Near(OurCuts(slice, CollectiveKind::kAllGather, 0),
                 exact(CollectiveKind::kAllGather, 0)));
      // Cables die in both directions: reduce-scatter is the same turned round.
      CHECK(Near(OurCuts(slice, CollectiveKind::kReduceScatter, 0),
                 exact(CollectiveKind::kReduceScatter, 0)));
      for (int root = 0; root < slice.topology.chips(); ++root) {
        CAPTURE(root);
        CHECK(Near(OurCuts(slice, CollectiveKind::kBroadcast, root),
                   exact(CollectiveKind::kBroadcast, root)));
        CHECK(Near(OurCuts(slice, CollectiveKind::kReduce, root),
                   exact(CollectiveKind::kReduce, root)));
      }
      ++compared;
    }
  }
  CHECK(compared > 300);
}

// Two parallel cables, of which one may die: then the worst block may be no
// box.
bool HasDoubleCables(const Topology& topology) {
  return std::any_of(
      topology.axes().begin(), topology.axes().end(),
      [](const GridAxis& axis) { return axis.size == 2 && axis.wrap; });
}

TEST_CASE("all-reduce: our components are the worst of all partitions",
          "[cost][oracle]") {
  Random random(2);
  int compared = 0;
  for (const Slice& healthy : SmallSlices(8)) {
    for (const Slice& slice : WithDeadCables(healthy, random, 4)) {
      CAPTURE(slice.spec, FaultsOf(slice.topology));
      const double ours = OurCuts(slice, CollectiveKind::kAllReduce, 0);
      const double exact = Partitions(slice.topology).worst();
      CHECK(ours <= exact * (1 + 1e-9));
      if (!slice.topology.healthy() && HasDoubleCables(slice.topology))
        continue;
      CHECK(Near(ours, exact));
      ++compared;
    }
  }
  CHECK(compared > 150);
}

TEST_CASE("all-reduce on 3x3 slices with dead cables: all partitions",
          "[cost][oracle]") {
  Random random(3);
  for (const auto& wrap : AllWraps({3, 3})) {
    const Slice healthy = MakeGridOf({3, 3}, wrap);
    std::vector<Slice> slices = WithDeadCables(healthy, random, 12);
    random.Shuffle(slices);
    slices.resize(8, slices.front());
    for (const Slice& slice : slices) {
      CAPTURE(slice.spec, FaultsOf(slice.topology));
      CHECK(Near(OurCuts(slice, CollectiveKind::kAllReduce, 0),
                 Partitions(slice.topology).worst()));
    }
  }
}

TEST_CASE("blocks bind on 3x3 and 2x4 meshes with two dead cables: 0.75, 0.8",
          "[cost][oracle]") {
  // edges alone gives 2 x 8/22 = 0.727 and 2 x 7/18 = 0.778 (2.4).
  for (const auto& [shape, block, edges] :
       {std::tuple{Shape{3, 3}, 0.75, 8.0 / 10},
        std::tuple{Shape{2, 4}, 0.80, 7.0 / 8}}) {
    const Slice mesh = MakeMesh(shape);
    const auto cables = CablesOf(mesh.topology);
    const double unit = kPayload / mesh.parameters.ici_bandwidth.value();
    double worst_gap = 0;
    for (std::size_t a = 0; a < cables.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        Slice slice = mesh;
        KillCable(cables[a], slice);
        KillCable(cables[b], slice);
        if (!Connected(slice.topology)) continue;
        CAPTURE(slice.spec, FaultsOf(slice.topology));
        const double ours =
            OurCuts(slice, CollectiveKind::kAllReduce, 0) / unit;
        CHECK(ours >= edges * (1 - 1e-9));
        worst_gap = std::max(worst_gap, ours);
      }
    }
    CHECK(worst_gap >= block);
  }
}

// A slice with dead and slow links, one way or both, and dead chips.
Slice RandomFaulty(Random& random) {
  for (;;) {
    const Shape shape = RandomShape(random, 2, kMaxChips);
    Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
    const Topology& topology = slice.topology;
    for (int faults = random.Int(0, 4); faults > 0; --faults) {
      const LinkId link(static_cast<unsigned>(
          random.Int(0, static_cast<int>(topology.link_ids()) - 1)));
      if (!topology.Exists(link)) continue;
      switch (random.Int(0, 4)) {
        case 0:
          KillCable(link, slice);
          break;
        case 1:
          slice.topology.Kill(link);
          break;
        case 2:
          slice.topology.Kill(topology.Source(link));
          break;
        default:
          slice.topology.Degrade(link, random.Int(1, 9) / 10.0);
      }
    }
    if (topology.live_chips() > 1 && Connected(topology)) return slice;
  }
}

TEST_CASE("no component exceeds the worst of all subsets and partitions",
          "[cost][oracle][property]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const Slice slice = RandomFaulty(random);
    CAPTURE(seed, slice.spec, FaultsOf(slice.topology));
    const auto capacity = CapacityOutOf(slice.topology);
    int root = 0;
    do {
      root = random.Int(0, slice.topology.chips() - 1);
    } while (!slice.topology.Live(ChipId(static_cast<unsigned>(root))));
    for (const CollectiveKind kind : GroupKinds()) {
      CAPTURE(ToText(kind), root);
      double exact = AllCuts(kind, slice.topology, root, capacity);
      if (kind == CollectiveKind::kAllReduce) {
        if (slice.topology.live_chips() > 8) continue;
        exact = std::max(exact, Partitions(slice.topology).worst());
      }
      const double ours = OurCuts(slice, kind, root);
      CHECK(ours <= exact * (1 + 1e-9));
      CHECK(ours > 0);
    }
  }
}

// ---- distances ----------------------------------------------------------

// Fewest `cost` on a way from `from` to every chip, where a hop costs what its
// link says: Bellman-Ford.
std::vector<double> WaysFrom(int from, const Topology& topology,
                             const std::vector<double>& cost) {
  const std::vector<Directed> links = LinksOf(topology);
  std::vector<double> way(static_cast<std::size_t>(topology.chips()),
                          kInfinite);
  way[static_cast<std::size_t>(from)] = 0;
  for (int round = 0; round < topology.chips(); ++round) {
    for (std::size_t k = 0; k < links.size(); ++k) {
      double& to = way[static_cast<std::size_t>(links[k].to)];
      to = std::min(to, way[static_cast<std::size_t>(links[k].from)] + cost[k]);
    }
  }
  return way;
}

// Sum over all pairs of a group of S/n bytes times the way between them, over
// the sum of the links' rates times their costs (2.1).
double DistanceBound(const std::vector<std::vector<int>>& groups,
                     const Topology& topology,
                     const std::vector<double>& cost) {
  double byte_ways = 0, capacity = 0;
  for (const auto& group : groups) {
    for (const int from : group) {
      const std::vector<double> way = WaysFrom(from, topology, cost);
      for (const int to : group) {
        byte_ways += static_cast<double>(kPayload) /
                     static_cast<double>(group.size()) *
                     way[static_cast<std::size_t>(to)];
      }
    }
  }
  const std::vector<Directed> links = LinksOf(topology);
  for (std::size_t k = 0; k < links.size(); ++k) {
    capacity += links[k].rate * cost[k];
  }
  return byte_ways == 0 ? 0 : byte_ways / capacity;
}

// 1 for links of the axis (of all axes if < 0), else 0.
std::vector<double> CostOf(const Topology& topology, int axis) {
  std::vector<double> cost;
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    if (!topology.Live(LinkId(id))) continue;
    cost.push_back(axis < 0 || topology.AxisOf(LinkId(id)) == axis ? 1 : 0);
  }
  return cost;
}

TEST_CASE("all-to-all: distances are byte-hops over capacity, faults or not",
          "[cost][oracle][property]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Slice slice = RandomFaulty(random);
    const Topology& topology = slice.topology;
    const Collective collective{
        .kind = CollectiveKind::kAllToAll,
        .payload = Bytes(kPayload),
        .axes = random.Pick(AllAxisSubsets(topology.axes().size()))};
    std::map<std::uint32_t, std::vector<int>> by_first;
    for (int id = 0; id < topology.chips(); ++id) {
      if (!topology.Live(ChipId(id))) continue;
      Coordinates at = topology.CoordinatesOf(ChipId(id));
      for (const int axis : collective.axes) {
        at[static_cast<std::size_t>(axis)] = 0;
      }
      by_first[topology.ChipAt(at).value()].push_back(id);
    }
    std::vector<std::vector<int>> groups;
    for (const auto& [first, group] : by_first) groups.push_back(group);
    CAPTURE(seed, slice.spec, FaultsOf(topology), collective.axes, groups);
    for (const BoundComponent& bound :
         ComputeBounds(collective, slice).components) {
      CAPTURE(bound.name);
      if (bound.name == "distance") {
        CHECK(Near(bound.time.value(),
                   DistanceBound(groups, topology, CostOf(topology, -1))));
      } else if (bound.name.starts_with("distance:")) {
        const int axis = bound.name.back() - 'x';
        const double exact =
            DistanceBound(groups, topology, CostOf(topology, axis));
        CHECK(bound.time.value() <= exact * (1 + 1e-9));
        if (topology.healthy()) CHECK(Near(bound.time.value(), exact));
      }
    }
  }
}

TEST_CASE("all-to-all: distances of listed groups of different sizes",
          "[cost][oracle]") {
  const Slice slice = MakeGridOf({4, 3}, {true, false});
  const std::vector<std::vector<int>> groups = {
      {0, 5}, {1, 2, 3, 4, 6}, {7, 8, 9}, {11}};
  std::vector<std::vector<ChipId>> chips;
  for (const auto& group : groups) {
    chips.emplace_back();
    for (const int id : group) {
      chips.back().emplace_back(static_cast<unsigned>(id));
    }
  }
  const Bounds bounds =
      ComputeBounds(OnLists(CollectiveKind::kAllToAll, kPayload, chips), slice);
  int found = 0;
  for (const BoundComponent& bound : bounds.components) {
    if (bound.name != "distance") continue;
    ++found;
    CHECK(Near(bound.time.value(), DistanceBound(groups, slice.topology,
                                                 CostOf(slice.topology, -1))));
  }
  CHECK(found == 1);
}

TEST_CASE("rooted kinds: every group has its root at the same rank",
          "[cost][oracle]") {
  // Groups along x of a 3x2 mesh: chips {0, 1, 2} and {3, 4, 5}; the others
  // may help, so cuts count all links.
  for (const auto& wrap : AllWraps({3, 2})) {
    for (const bool faulty : {false, true}) {
      Slice slice = MakeGridOf({3, 2}, wrap);
      if (faulty) KillCable(LinkId(0), slice);
      const auto capacity = CapacityOutOf(slice.topology);
      for (const CollectiveKind kind :
           {CollectiveKind::kBroadcast, CollectiveKind::kReduce,
            CollectiveKind::kGather, CollectiveKind::kScatter}) {
        for (const int root : {0, 1, 2, 4}) {
          CAPTURE(slice.spec, FaultsOf(slice.topology), ToText(kind), root);
          const Subset groups[] = {0b000111, 0b111000};
          const int rank = root % 3;
          double exact = 0;
          for (Subset set = 1; set < 63; ++set) {
            double bytes = 0;
            for (const int g : {0, 1}) {
              bytes +=
                  MustLeave(kind, kPayload, 3, std::popcount(set & groups[g]),
                            (set >> (3 * g + rank) & 1) != 0);
            }
            if (bytes > 0) exact = std::max(exact, bytes / capacity[set]);
          }
          double ours = 0;
          for (const BoundComponent& bound :
               ComputeBounds({.kind = kind,
               .payload = Bytes(kPayload),
               .axes = {0},
               .root = ChipId(static_cast<unsigned>(root))},
                             slice)
                   .components) {
            if (bound.name != "latency") {
              ours = std::max(ours, bound.time.value());
            }
          }
          CHECK(ours <= exact * (1 + 1e-9));
          CHECK(ours > 0);
        }
      }
    }
  }
}

// ---- simulations --------------------------------------------------------

TEST_CASE("no simulated lowering beats its bound", "[cost][property]") {
  int simulated = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 32);
    Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape),
                   {.bandwidth = 1e9,
                    .alpha = random.OneIn(2) ? 0 : random.Decades(-8, -5),
                    .overhead = random.OneIn(2) ? 0 : random.Decades(-8, -5)});
    if (random.OneIn(4)) {
      const LinkId link(static_cast<unsigned>(
          random.Int(0, static_cast<int>(slice.topology.link_ids()) - 1)));
      if (slice.topology.Exists(link)) slice.topology.Degrade(link, 0.5);
    }
    const auto subsets = AllAxisSubsets(shape.size());
    Collective collective{.kind = random.Pick(kLoweredKinds),
                          .payload = Bytes(0),
                          .axes = random.Pick(subsets)};
    const int n = GroupSize(collective, slice.topology);
    collective.payload =
        Bytes(n * static_cast<std::int64_t>(random.Decades(0, 7)));
    for (const LoweringSpec& spec : SpecsForAuto()) {
      if (WhyNot(spec, collective, slice.topology)) continue;
      CAPTURE(seed, slice.spec, FaultsOf(slice.topology),
              ToText(spec, collective, slice.topology), ToText(collective.kind),
              collective.axes, collective.payload.value());
      const double time = RunPod(MakeWhole(slice, spec, collective).schedule,
                                 MakeNetwork(slice))
                              .makespan;
      for (const BoundComponent& bound :
           ComputeBounds(collective, slice).components) {
        CAPTURE(bound.name, bound.time.value(), time);
        CHECK(time >= bound.time.value() * (1 - 1e-9));
      }
      ++simulated;
    }
  }
  CHECK(simulated > 500);
}

}  // namespace
}  // namespace podsim
