// Pipelined trees: line-middle, chain, bfs-tree, double-binary-tree.
#include "collective/tree.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "collective/groups.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"
#include "topology/distance.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
constexpr double kStartUp = kRates.alpha + kRates.overhead;  // a = o + alpha

constexpr std::array kKinds = {CollectiveKind::kAllReduce,
                               CollectiveKind::kBroadcast,
                               CollectiveKind::kReduce};
const char* const kTreeNames[] = {"line-middle", "chain", "bfs-tree",
                                  "double-binary-tree"};

int Phases(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce ? 2 : 1;
}
int TreesOf(const std::string& name) {
  return name == "double-binary-tree" ? 2 : 1;
}
LoweringSpec Chunked(const std::string& name, int chunks) {
  return Spec(name + ":chunks=" + std::to_string(chunks));
}

// (phases x e + k - 1)(a + S/(tkB)), one hop per edge.
double Pipelined(CollectiveKind kind, int depth, int chunks, double payload) {
  return (Phases(kind) * depth + chunks - 1) *
         (kStartUp + payload / chunks / kRates.bandwidth);
}

double TimeOf(const Slice& slice, const Schedule& schedule) {
  return RunPod(schedule, MakeNetwork(slice)).makespan;
}

std::string Reason(const std::string& spec, const Collective& collective,
                   const Topology& topology) {
  return WhyNot(Spec(spec), collective, topology).value_or("applies");
}

std::string FirstOf(const Violations& violations) {
  return violations.empty() ? "none" : violations.texts().front();
}

// Proved if it applies; every edge carries every chunk with bytes once per
// phase, and every chip but the root gets (gives) the payload once.
bool Prove(const Slice& slice, const LoweringSpec& spec,
           const Collective& collective) {
  if (WhyNot(spec, collective, slice.topology)) return false;
  CAPTURE(slice.spec, spec.name, spec.chunks, ToText(collective.kind),
          collective.axes, collective.payload.value(),
          collective.root ? int(collective.root->value()) : -1);
  const WholeSchedule whole = MakeWhole(slice, spec, collective);
  const Violations found =
      VerifyFull(whole.schedule, whole.meaning, slice.topology);
  CAPTURE(FirstOf(found));
  REQUIRE(found.empty());
  const std::int64_t payload = collective.payload.value();
  std::int64_t edges = 0;
  for (const auto& group : GroupsOf(collective, slice.topology)) {
    edges += static_cast<std::int64_t>(group.size()) - 1;
  }
  std::int64_t bytes = 0;
  for (std::uint32_t op = 0; op < whole.schedule.size(); ++op) {
    bytes += whole.schedule.bytes(OpId(op)).value();
  }
  const int phases = Phases(collective.kind);
  REQUIRE(bytes == phases * edges * payload);
  if (spec.chunks > 0) {
    // Chunks of the first (larger) and of the other trees that have bytes.
    const int trees = TreesOf(spec.name);
    std::int64_t chunks = 0;
    for (int t = 0; t < trees; ++t) {
      const std::int64_t part = payload / trees + (t < payload % trees ? 1 : 0);
      chunks += std::min<std::int64_t>(part, spec.chunks);
    }
    REQUIRE(whole.schedule.transfers() == phases * edges * chunks);
  }
  return true;
}

// ---- proofs -------------------------------------------------------------

TEST_CASE("trees: every grid of up to 12 chips, every group and payload",
          "[collective][property]") {
  std::map<std::string, int> proved;
  ForEachGridCollective(
      12, kKinds, [&](const Slice& slice, Collective collective) {
        const int n = GroupSize(collective, slice.topology);
        for (const std::int64_t payload : {0, 1, n - 1, n, 1 << 20}) {
          collective.payload = Bytes(payload);
          for (const std::string name : kTreeNames) {
            for (const int chunks : {1, 3}) {
              proved[name] += Prove(slice, Chunked(name, chunks), collective);
            }
          }
        }
      });
  for (const std::string name : kTreeNames) {
    CAPTURE(name);
    CHECK(proved[name] > 100);
  }
}

TEST_CASE("trees: from and to every root", "[collective][property]") {
  int proved = 0;
  for (const Shape& shape : AllShapes(12)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      for (const auto& axes : AllAxisSubsets(shape.size())) {
        for (int root = 0; root < slice.topology.chips(); ++root) {
          for (const CollectiveKind kind :
               {CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
            const Collective collective{.kind = kind,
                                        .payload = Bytes(1001),
                                        .axes = axes,
                                        .root = ChipId(unsigned(root))};
            proved += Prove(slice, Chunked("chain", 2), collective);
            proved += Prove(slice, Chunked("bfs-tree", 2), collective);
          }
        }
      }
    }
  }
  CHECK(proved > 5000);
}

TEST_CASE("trees: groups given as lists, strided, shuffled and unequal",
          "[collective][property]") {
  int bfs = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 24);
    const Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
    const int chips = slice.topology.chips();
    std::vector<std::vector<ChipId>> groups(
        std::size_t(random.Int(1, std::min(4, chips))));
    const bool strided = random.OneIn(2);
    std::vector<ChipId> order;
    for (int id = 0; id < chips; ++id) order.emplace_back(unsigned(id));
    if (!strided) random.Shuffle(order);
    for (std::size_t k = 0; k < order.size(); ++k) {
      const bool first = k < groups.size() || strided;
      groups[first ? k % groups.size()
                   : std::size_t(random.Int(0, int(groups.size()) - 1))]
          .push_back(order[k]);
    }
    for (const CollectiveKind kind : kKinds) {
      std::optional<ChipId> root;
      if (IsRooted(kind)) root = groups.back()[0];
      const Collective collective =
          OnLists(kind, random.Pick({1, 5, 4096}), groups, root);
      const int chunks = random.Int(1, 5);
      bfs += Prove(slice, Chunked("bfs-tree", chunks), collective);
      const bool twice =
          Prove(slice, Chunked("double-binary-tree", chunks), collective);
      CHECK(twice == (kind == CollectiveKind::kAllReduce));
      CHECK_FALSE(Prove(slice, Chunked("chain", chunks), collective));
      CHECK_FALSE(Prove(slice, Chunked("line-middle", chunks), collective));
    }
  }
  CHECK(bfs > 100);
}

TEST_CASE("trees: the best number of chunks is proved too", "[collective]") {
  const Slice slice = MakeMesh({9}, kRates);
  for (const std::string name : kTreeNames) {
    for (const std::int64_t payload : {0, 1, 8, 9, 1 << 20}) {
      CHECK(Prove(slice, Spec(name),
                  OnAllChips(CollectiveKind::kAllReduce, payload, slice)));
    }
  }
}

// ---- times --------------------------------------------------------------

TEST_CASE("line-middle: (2 floor(n/2) + k - 1)(a + S/(kB))", "[collective]") {
  const int n = GENERATE(range(2, 14));
  const int chunks = GENERATE(1, 2, 5, 16);
  const std::int64_t payload = std::int64_t{chunks} * 10'007;
  CAPTURE(n, chunks);
  // All lines of the axis at once.
  const Slice slice = MakeGridOf({n, 3}, {false, true}, kRates);
  const Collective collective{.kind = CollectiveKind::kAllReduce,
                              .payload = Bytes(payload),
                              .axes = {0}};
  const Schedule schedule =
      MakeWhole(slice, Chunked("line-middle", chunks), collective).schedule;
  CHECK(Near(
      TimeOf(slice, schedule),
      Pipelined(CollectiveKind::kAllReduce, n / 2, chunks, double(payload))));
  // S over every link of the line, both ways: the bound.
  const auto bytes = LinkBytes(schedule, slice.topology);
  for (std::uint32_t id = 0; id < bytes.size(); ++id) {
    const LinkId link(id);
    const bool used =
        slice.topology.AxisOf(link) == 0 && slice.topology.Exists(link);
    REQUIRE(bytes[id] == (used ? payload : 0));
  }
}

TEST_CASE("chain: (e + k - 1)(a + S/(kB)), e = max(root, n-1-root)",
          "[collective]") {
  const int n = GENERATE(2, 3, 6, 9);
  const int chunks = GENERATE(1, 2, 7);
  const CollectiveKind kind = GENERATE(from_range(kKinds));
  const std::int64_t payload = std::int64_t{chunks} * 10'007;
  const Slice slice = MakeMesh({n}, kRates);
  for (int root = 0; root < (IsRooted(kind) ? n : 1); ++root) {
    CAPTURE(n, chunks, ToText(kind), root);
    Collective collective = OnAllChips(kind, payload, slice);
    if (IsRooted(kind)) collective.root = ChipId(unsigned(root));
    const Schedule schedule =
        MakeWhole(slice, Chunked("chain", chunks), collective).schedule;
    const int depth = std::max(root, n - 1 - root);
    CHECK(Near(TimeOf(slice, schedule),
               Pipelined(kind, depth, chunks, double(payload))));
    // Away from the root (broadcast), towards it (reduce), or both.
    const auto bytes = LinkBytes(schedule, slice.topology);
    for (int from = 0; from < n; ++from) {
      for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
        const LinkId link =
            slice.topology.LinkAt(ChipId(unsigned(from)), 0, sign);
        if (!slice.topology.Exists(link)) continue;
        const bool away = sign == Sign::kPlus ? from >= root : from <= root;
        const bool used = kind == CollectiveKind::kAllReduce ||
                          away == (kind == CollectiveKind::kBroadcast);
        REQUIRE(bytes[link.value()] == (used ? payload : 0));
      }
    }
  }
}

TEST_CASE("bfs-tree: (e + k - 1)(a + S/(kB)), e = hops to the farthest chip",
          "[collective][property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 30);
    const Slice slice = MakeGridOf(shape, RandomWrap(random, shape), kRates);
    const CollectiveKind kind = random.Pick(kKinds);
    const int chunks = random.Int(1, 9);
    const std::int64_t payload = std::int64_t{chunks} * 10'007;
    Collective collective = OnAllChips(kind, payload, slice);
    ChipId root(0);
    if (IsRooted(kind)) {
      root = ChipId(unsigned(random.Int(0, slice.topology.chips() - 1)));
      collective.root = root;
    }
    CAPTURE(seed, slice.spec, ToText(kind), chunks, root.value());
    int depth = 0;
    for (const int hops : HopsFrom(slice.topology, root)) {
      depth = std::max(depth, hops);
    }
    const Schedule schedule =
        MakeWhole(slice, Chunked("bfs-tree", chunks), collective).schedule;
    REQUIRE(schedule.one_hop());
    // Edges use links of their own.
    const double time = Pipelined(kind, depth, chunks, double(payload));
    CHECK(Near(TimeOf(slice, schedule), time));
    CHECK(Near(FindLowering("bfs-tree")
                   ->at_least(collective, slice, Chunked("bfs-tree", chunks))
                   .value(),
               time));
    for (const std::int64_t bytes : LinkBytes(schedule, slice.topology)) {
      CHECK((bytes == 0 || bytes == payload));
    }
  }
}

TEST_CASE("trees: no time beats the one that the table claims",
          "[collective][property]") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 1, 20);
    Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape),
                   {.bandwidth = random.Decades(6, 11),
                    .alpha = random.OneIn(3) ? 0 : random.Decades(-9, -5),
                    .overhead = random.OneIn(3) ? 0 : random.Decades(-9, -5)});
    if (random.OneIn(3)) {
      for (int dead = random.Int(1, 4); dead > 0; --dead) {
        if (slice.topology.live_chips() == 1) break;
        slice.topology.Kill(
            ChipId(unsigned(random.Int(0, slice.topology.chips() - 1))));
      }
    }
    const std::string name = random.Pick(
        std::vector<std::string>(std::begin(kTreeNames), std::end(kTreeNames)));
    LoweringSpec spec =
        random.OneIn(2) ? Chunked(name, random.Int(1, 40)) : Spec(name);
    const Lowering& row = *FindLowering(name);
    const Collective collective{
        .kind = random.Pick(row.kinds),
        .payload = Bytes(static_cast<std::int64_t>(random.Decades(0, 8))),
        .axes = random.Pick(AllAxisSubsets(shape.size()))};
    if (WhyNot(spec, collective, slice.topology)) continue;
    spec = Resolve(spec, collective, slice);
    CAPTURE(seed, slice.spec, name, spec.chunks, ToText(collective.kind),
            collective.axes, collective.payload.value());
    const Schedule schedule = MakeWhole(slice, spec, collective).schedule;
    CHECK(TimeOf(slice, schedule) >=
          row.at_least(collective, slice, spec).value() * (1 - 1e-9));
    CHECK(schedule.transfers() <= row.count(collective, slice.topology, spec));
  }
}

TEST_CASE("the best number of chunks is the best of all that are tried",
          "[collective]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const int n = random.Int(2, 40);
    const Slice slice = MakeMesh({n}, kRates);
    const Collective collective =
        OnAllChips(CollectiveKind::kAllReduce,
                   static_cast<std::int64_t>(random.Decades(2, 9)), slice);
    CAPTURE(seed, n, collective.payload.value());
    const int best = Resolve(Spec("line-middle"), collective, slice).chunks;
    REQUIRE(best >= 1);
    REQUIRE(best <= kMostChunks);
    const auto time = [&](int chunks) {
      return Pipelined(CollectiveKind::kAllReduce, n / 2, chunks,
                       double(collective.payload.value()));
    };
    for (int chunks = 1; chunks <= kMostChunks; ++chunks) {
      CHECK(time(best) <= time(chunks) * (1 + 1e-12));
    }
  }
}

TEST_CASE(
    "line-middle beats reduce-scatter and all-gather as in algorithms 5.2",
    "[collective][oracle]") {
  // n = 8, a = 2 us, 45 GB/s: 4 KiB 16.7 us, 16 MiB 531 us.
  const Slice slice =
      MakeMesh({8}, {.bandwidth = 45e9, .alpha = 1e-6, .overhead = 1e-6});
  const auto time = [&](std::int64_t payload) {
    return 1e6 * TimeOf(slice, MakeWhole(slice, Spec("line-middle"),
                                         OnAllChips(CollectiveKind::kAllReduce,
                                                    payload, slice))
                                   .schedule);
  };
  CHECK(time(4 << 10) == Approx(16.7).margin(0.05));
  CHECK(time(256 << 10) == Approx(38.0).margin(0.05));
  CHECK(time(1 << 20) == Approx(73.4).margin(0.05));
  CHECK(time(16 << 20) == Approx(531).margin(0.5));
}

// ---- faults -------------------------------------------------------------

TEST_CASE("bfs-tree goes around dead cables and chips",
          "[collective][property]") {
  int proved = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 4, 24);
    Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
    Topology& topology = slice.topology;
    for (int faults = random.Int(1, 4); faults > 0; --faults) {
      if (random.OneIn(3) && topology.live_chips() > 2) {
        topology.Kill(ChipId(unsigned(random.Int(0, topology.chips() - 1))));
        continue;
      }
      const LinkId link(unsigned(random.Int(0, int(topology.link_ids()) - 1)));
      if (!topology.Exists(link)) continue;
      topology.Kill(link);
      if (random.OneIn(2)) topology.Kill(topology.Reverse(link));
    }
    for (const CollectiveKind kind : kKinds) {
      Collective collective = OnAllChips(kind, 1000, slice);
      const ChipId root = FirstLiveChip(topology);
      if (IsRooted(kind)) collective.root = root;
      // Who can be reached over links that are alive the way(s) needed.
      std::set<std::uint32_t> reached = {root.value()};
      for (bool grown = true; grown;) {
        grown = false;
        topology.ForEachLiveLink([&](LinkId link) {
          LinkId out = link;
          if (kind == CollectiveKind::kReduce) out = topology.Reverse(link);
          if (kind == CollectiveKind::kAllReduce &&
              !topology.Live(topology.Reverse(link))) {
            return;
          }
          if (reached.count(topology.Source(out).value()) != 0) {
            grown |= reached.insert(topology.Target(out).value()).second;
          }
        });
      }
      const bool connected = int(reached.size()) == topology.live_chips();
      REQUIRE(Prove(slice, Chunked("bfs-tree", 3), collective) == connected);
      ++(connected ? proved : refused);
      if (connected) continue;
      std::uint32_t lost = 0;
      while (reached.count(lost) != 0 || !topology.Live(ChipId(lost))) ++lost;
      CHECK(Reason("bfs-tree", collective, topology) ==
            "chip " + std::to_string(lost) +
                " is not connected to the root of its group through chips of "
                "the group; use binomial, whose messages pass through others");
    }
  }
  CHECK(proved > 200);
  CHECK(refused > 50);
}

TEST_CASE("every tree is right on slices with dead chips, where it applies",
          "[collective][property]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 3, 16);
    Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
    for (int faults = random.Int(1, 3); faults > 0; --faults) {
      if (slice.topology.live_chips() == 1) break;
      slice.topology.Kill(
          ChipId(unsigned(random.Int(0, slice.topology.chips() - 1))));
    }
    const Collective collective{
        .kind = CollectiveKind::kAllReduce,
        .payload = Bytes(1000),
        .axes = random.Pick(AllAxisSubsets(shape.size()))};
    for (const std::string name : kTreeNames) {
      Prove(slice, Chunked(name, random.Int(1, 3)), collective);
    }
  }
}

TEST_CASE("a line that lost its end is reduced to its own middle",
          "[collective]") {
  // Lines of 1 and of 3 chips: each has a rank floor(n/2).
  Slice slice = MakeMesh({3, 2}, kRates);
  slice.topology.Kill(ChipId(0));
  slice.topology.Kill(ChipId(1));
  const Collective collective{
      .kind = CollectiveKind::kAllReduce, .payload = Bytes(3000), .axes = {0}};
  REQUIRE(Prove(slice, Chunked("line-middle", 3), collective));
  const Schedule schedule =
      MakeWhole(slice, Chunked("line-middle", 3), collective).schedule;
  CHECK(Near(TimeOf(slice, schedule),
             Pipelined(CollectiveKind::kAllReduce, 1, 3, 3000)));
}

// ---- the double binary tree ---------------------------------------------

// Children by rank of the two trees, read from the ops that go down.
std::vector<std::map<int, std::set<int>>> DoubleTree(int n) {
  const Slice slice = MakeTorus({n});
  const Schedule schedule =
      MakeWhole(slice, Chunked("double-binary-tree", 1),
                OnAllChips(CollectiveKind::kAllReduce, 1000, slice))
          .schedule;
  std::vector<std::map<int, std::set<int>>> trees(2);
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    if (schedule.mode(op) != Mode::kCopy) continue;
    // Two chunks: the half of the first tree, and of the second.
    const auto chunk = ChunkIdsOf(schedule, op, slice.topology, 1).at(0);
    trees.at(chunk)[int(schedule.src(op).value())].insert(
        int(schedule.dst(op).value()));
  }
  return trees;
}

int DepthBelow(const std::map<int, std::set<int>>& children, int rank) {
  int depth = 0;
  const auto found = children.find(rank);
  if (found == children.end()) return 0;
  for (const int child : found->second) {
    depth = std::max(depth, 1 + DepthBelow(children, child));
  }
  return depth;
}

TEST_CASE("double-binary-tree: who is inner in one tree is a leaf of the other",
          "[collective]") {
  for (int n = 2; n <= 40; ++n) {
    CAPTURE(n);
    const auto trees = DoubleTree(n);
    int both = 0;
    for (const auto& [rank, children] : trees[0]) {
      CHECK(children.size() <= 2);
      both += trees[1].count(rank) != 0 ? 1 : 0;
    }
    // With one chip of an odd number it cannot be helped.
    CHECK(both <= n % 2);
    for (const auto& tree : trees) {
      std::set<int> below;
      for (const auto& [rank, children] : tree) {
        for (const int child : children) CHECK(below.insert(child).second);
      }
      REQUIRE(int(below.size()) == n - 1);
      int root = 0;
      while (below.count(root) != 0) ++root;
      // A tree of n ranks has at least log2 n levels; one more hangs the
      // binary tree below its root.
      int log2 = 0;
      while ((1 << log2) < n) ++log2;
      CHECK(DepthBelow(tree, root) >= log2 - 1);
      CHECK(DepthBelow(tree, root) <= log2 + 1);
    }
  }
}

TEST_CASE("double-binary-tree: parents by the lowest bit of the rank",
          "[collective]") {
  for (int n = 2; n <= 20; ++n) {
    CAPTURE(n);
    std::vector<std::map<int, std::set<int>>> expected(2);
    for (int rank = 1; rank < n; ++rank) {
      int low = 1;
      while (rank % (2 * low) == 0) low *= 2;
      int parent = rank - low;
      if ((parent | (2 * low)) < n) parent |= 2 * low;
      expected[0][parent].insert(rank);
      const auto other = [n](int r) {
        return n % 2 == 1 ? (r + 1) % n : n - 1 - r;
      };
      expected[1][other(parent)].insert(other(rank));
    }
    CHECK(DoubleTree(n) == expected);
  }
}

TEST_CASE("double-binary-tree: two chips exchange halves in (2 + k - 1) steps",
          "[collective]") {
  const int chunks = GENERATE(1, 2, 8);
  const Slice slice = MakeMesh({2}, kRates);
  const double half = 10'007.0 * chunks;
  const Schedule schedule =
      MakeWhole(
          slice, Chunked("double-binary-tree", chunks),
          OnAllChips(CollectiveKind::kAllReduce, 2 * std::int64_t(half), slice))
          .schedule;
  // Roots 0 and 1: up of one tree and down of the other share a direction.
  const double alone = Pipelined(CollectiveKind::kAllReduce, 1, chunks, half);
  const double time = TimeOf(slice, schedule);
  CHECK(time >= alone * (1 - 1e-9));
  CHECK(time <= 2 * alone);
  for (const std::int64_t bytes : LinkBytes(schedule, slice.topology)) {
    CHECK((bytes == 0 || bytes == 2 * std::int64_t(half)));
  }
}

// ---- the parts ----------------------------------------------------------

TEST_CASE("the depth of a tree counts edges to its farthest rank",
          "[collective]") {
  CHECK(Depth({-1}) == 0);
  CHECK(Depth({-1, 0, 1, 2}) == 3);
  CHECK(Depth({1, -1, 1, 2}) == 2);
  CHECK(Depth({3, 3, 3, -1}) == 1);
  CHECK(Depth({1, 2, 3, -1, 3}) == 3);
}

TEST_CASE("a tree is walked breadth first, children by chip id",
          "[collective]") {
  const Slice slice = MakeMesh({5});
  const std::vector<ChipId> group = {ChipId(4), ChipId(3), ChipId(1), ChipId(0),
                                     ChipId(2)};
  const Tree tree = MakeTree({1, -1, 1, 0, 0}, group, slice.topology);
  // Rank 1 is the root; ranks 2 (chip 1) and 0 (chip 4) hang below it, ranks 3
  // (chip 0) and 4 (chip 2) below rank 0.
  CHECK(BreadthFirst(tree, group) == std::vector<int>{1, 2, 0, 3, 4});
  CHECK(tree.down[1].empty());
  CHECK(tree.up[1].empty());
  CHECK(tree.down[0].size() == 1);
  CHECK(tree.down[3].size() == 4);
  CHECK(slice.topology.Source(tree.up[3].front()) == ChipId(0));
  CHECK(slice.topology.Target(tree.up[3].back()) == ChipId(4));
}

// ---- where they do not apply --------------------------------------------

TEST_CASE("line-middle and chain need the lines of an unwrapped axis",
          "[collective]") {
  const Slice mesh = MakeGridOf({4, 3}, {false, true});
  const auto on = [](std::vector<int> axes) {
    return Collective{.kind = CollectiveKind::kAllReduce,
                      .payload = Bytes(64),
                      .axes = std::move(axes)};
  };
  Slice broken = MakeMesh({4, 3});
  broken.topology.Kill(broken.topology.LinkAt(ChipId(5), 0, Sign::kPlus));
  Slice holed = MakeMesh({4, 3});
  holed.topology.Kill(ChipId(5));
  const Topology links =
      Topology::MakeExplicit(2, {{.a = ChipId(0),
                                  .b = ChipId(1),
                                  .bandwidth = BytesPerSecond(1e9),
                                  .latency = Seconds(0)}});
  for (const std::string name : {"line-middle", "chain"}) {
    CAPTURE(name);
    CHECK(Reason(name, on({0}), mesh.topology) == "applies");
    CHECK(Reason(name, on({0, 1}), mesh.topology) ==
          "the group spans 2 axes; use bfs-tree");
    CHECK(Reason(name, on({1}), mesh.topology) == "axis y wraps; use bfs-tree");
    CHECK(Reason(
              name,
              OnLists(CollectiveKind::kAllReduce, 64, {{ChipId(0), ChipId(1)}}),
              mesh.topology) ==
          "its groups must be the lines of an axis; use bfs-tree or "
          "binomial");
    CHECK(Reason(name, on({}), links) ==
          "its groups must be the lines of an axis; use bfs-tree or "
          "binomial");
    CHECK(Reason(name, on({0}), broken.topology) ==
          "it needs link 1,1:x+ both ways; use bfs-tree");
    CHECK(Reason(name, on({1}), broken.topology) == "applies");
    CHECK(Reason(name, on({0}), holed.topology) ==
          "it needs link 0,1:x+ both ways; use bfs-tree");
  }
  CHECK(Reason("line-middle",
               OnAllChips(CollectiveKind::kBroadcast, 64, MakeMesh({4})),
               MakeMesh({4}).topology) == "only for all-reduce");
  CHECK(Reason("chain",
               OnAllChips(CollectiveKind::kAllGather, 64, MakeMesh({4})),
               MakeMesh({4}).topology) ==
        "only for broadcast, reduce, all-reduce");
}

TEST_CASE("bfs-tree and double-binary-tree take any groups that are connected",
          "[collective]") {
  const Slice mesh = MakeMesh({4});
  const Collective apart =
      OnLists(CollectiveKind::kAllReduce, 64,
              {{ChipId(0), ChipId(2)}, {ChipId(1), ChipId(3)}});
  CHECK(Reason("bfs-tree", apart, mesh.topology) ==
        "chip 2 is not connected to the root of its group through chips of the "
        "group; use binomial, whose messages pass through others");
  CHECK(Reason("double-binary-tree", apart, mesh.topology) == "applies");
  CHECK(Reason("double-binary-tree",
               OnAllChips(CollectiveKind::kReduce, 64, mesh),
               mesh.topology) == "only for all-reduce");
  Slice cut = MakeMesh({4});
  cut.topology.Kill(cut.topology.LinkAt(ChipId(1), 0, Sign::kPlus));
  CHECK(Reason("double-binary-tree",
               OnAllChips(CollectiveKind::kAllReduce, 64, cut), cut.topology) ==
        "chips 0 and 2 cannot reach each other over ICI");
}

TEST_CASE("bfs-tree takes a slice that is a list of links", "[collective]") {
  // A star of four chips with its centre at chip 2.
  std::vector<Cable> cables;
  for (const unsigned leaf : {0u, 1u, 3u}) {
    cables.push_back({.a = ChipId(2),
                      .b = ChipId(leaf),
                      .bandwidth = BytesPerSecond(1e9),
                      .latency = Seconds(0)});
  }
  Slice slice = MakeMesh({4});
  slice.topology = Topology::MakeExplicit(4, cables);
  for (const CollectiveKind kind : kKinds) {
    for (unsigned root = 0; root < (IsRooted(kind) ? 4u : 1u); ++root) {
      Collective collective{.kind = kind, .payload = Bytes(1000), .axes = {}};
      if (IsRooted(kind)) collective.root = ChipId(root);
      CHECK(Prove(slice, Chunked("bfs-tree", 2), collective));
    }
  }
}

}  // namespace
}  // namespace podsim
