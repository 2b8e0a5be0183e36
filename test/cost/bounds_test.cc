// Bounds by formula: the table of algorithms 2.2, and what 2.1 and 2.5 say
// about which components exist.
#include "cost/bounds.h"
#include "cost/bisection.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "test/support/lowered.h"
#include "topology/fault.h"

namespace podsim {
namespace {

constexpr std::int64_t kPayload = 5040 * 1000;  // many divisors
const std::vector<CollectiveKind> kRooted = {
    CollectiveKind::kBroadcast, CollectiveKind::kReduce,
    CollectiveKind::kGather, CollectiveKind::kScatter};

Collective WithRoot(Collective collective, ChipId root) {
  if (IsRooted(collective.kind)) collective.root = root;
  return collective;
}

// Bandwidth terms in units of S/B (the slices here have no latencies).
class Units {
 public:
  Units(const Slice& slice, const Collective& collective,
        ChipId root = ChipId(0)) {
    const Bounds bounds = ComputeBounds(WithRoot(collective, root), slice);
    const double unit = static_cast<double>(collective.payload.value()) /
                        slice.parameters.ici_bandwidth.value();
    for (const BoundComponent& component : bounds.components) {
      CHECK(by_name_.count(component.name) == 0);
      by_name_[component.name] = component.time.value() / unit;
    }
    binding_ = bounds.binding().time.value() / unit;
    name_ = bounds.binding().name;
  }
  Units(const Slice& slice, CollectiveKind kind, ChipId root = ChipId(0))
      : Units(slice, OnAllChips(kind, kPayload, slice), root) {}

  double binding() const { return binding_; }
  const std::string& name() const { return name_; }
  double Of(const std::string& name) const {
    CAPTURE(name);
    REQUIRE(by_name_.count(name) == 1);
    return by_name_.at(name);
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& [name, time] : by_name_) names.insert(name);
    return names;
  }

 private:
  std::map<std::string, double> by_name_;
  double binding_ = 0;
  std::string name_;
};

// sum over all pairs of an axis of n of the distance, per chip: all-to-all load
// of the axis in units of S/B.
double AllToAllOf(int n, bool wrap) {
  return wrap ? n * n / 4 / (2.0 * n) : n / 2 * ((n + 1) / 2) / double(n);
}

// ---- the table of 2.2 ---------------------------------------------------

TEST_CASE("bounds of a ring of n", "[cost]") {
  const int n = GENERATE(range(2, 20));
  CAPTURE(n);
  const Slice slice = MakeTorus({n});
  const double gather = (n - 1) / (2.0 * n);
  CHECK(Near(Units(slice, CollectiveKind::kAllGather).binding(), gather));
  CHECK(Near(Units(slice, CollectiveKind::kReduceScatter).binding(), gather));
  CHECK(
      Near(Units(slice, CollectiveKind::kAllReduce).binding(), (n - 1.0) / n));
  CHECK(Near(Units(slice, CollectiveKind::kAllToAll).binding(),
             n * n / 4 / (2.0 * n)));
  for (int root = 0; root < n; ++root) {
    const ChipId chip(static_cast<unsigned>(root));
    CHECK(Near(Units(slice, CollectiveKind::kBroadcast, chip).binding(), 0.5));
    CHECK(Near(Units(slice, CollectiveKind::kReduce, chip).binding(), 0.5));
    CHECK(Near(Units(slice, CollectiveKind::kGather, chip).binding(), gather));
    CHECK(Near(Units(slice, CollectiveKind::kScatter, chip).binding(), gather));
  }
}

TEST_CASE("bounds of a line of n", "[cost]") {
  const int n = GENERATE(range(2, 20));
  CAPTURE(n);
  const Slice slice = MakeMesh({n});
  const double gather = (n - 1.0) / n;
  CHECK(Near(Units(slice, CollectiveKind::kAllGather).binding(), gather));
  CHECK(Near(Units(slice, CollectiveKind::kReduceScatter).binding(), gather));
  CHECK(Near(Units(slice, CollectiveKind::kAllReduce).binding(), 1));
  CHECK(Near(Units(slice, CollectiveKind::kAllToAll).binding(),
             n / 2 * ((n + 1) / 2) / double(n)));
  for (int root = 0; root < n; ++root) {
    const ChipId chip(static_cast<unsigned>(root));
    CHECK(Near(Units(slice, CollectiveKind::kBroadcast, chip).binding(), 1));
    CHECK(Near(Units(slice, CollectiveKind::kReduce, chip).binding(), 1));
    // All shards of the longer side cross the root's link to it.
    const double side = std::max(root, n - 1 - root) / double(n);
    CHECK(Near(Units(slice, CollectiveKind::kGather, chip).binding(), side));
    CHECK(Near(Units(slice, CollectiveKind::kScatter, chip).binding(), side));
  }
}

TEST_CASE("bounds of a torus: its chips, its links, its longest axis",
          "[cost]") {
  for (const Shape& shape : AllShapes(64)) {
    const Slice slice = MakeTorus(shape);
    CAPTURE(slice.spec);
    const double chips = ChipsOf(shape);
    const auto d = static_cast<double>(shape.size());
    double all_to_all = 0;
    for (const int n : shape) {
      all_to_all = std::max(all_to_all, AllToAllOf(n, true));
    }
    const double gather = (chips - 1) / (2 * d * chips);
    CHECK(Near(Units(slice, CollectiveKind::kAllGather).binding(), gather));
    CHECK(Near(Units(slice, CollectiveKind::kReduceScatter).binding(), gather));
    CHECK(Near(Units(slice, CollectiveKind::kAllReduce).binding(), 2 * gather));
    CHECK(Near(Units(slice, CollectiveKind::kAllToAll).binding(), all_to_all));
    CHECK(
        Near(Units(slice, CollectiveKind::kBroadcast).binding(), 1 / (2 * d)));
    CHECK(Near(Units(slice, CollectiveKind::kReduce).binding(), 1 / (2 * d)));
  }
}

TEST_CASE("bounds of large tori need no enumeration", "[cost]") {
  const Shape shape = {16, 20, 28};
  const Slice slice = MakeTorus(shape);
  const double chips = ChipsOf(shape);
  CHECK(Near(Units(slice, CollectiveKind::kAllGather).binding(),
             (chips - 1) / (6 * chips)));
  CHECK(Near(Units(slice, CollectiveKind::kAllReduce).binding(),
             (chips - 1) / (3 * chips)));
  CHECK(Near(Units(slice, CollectiveKind::kAllToAll).binding(), 28 / 8.0));
  CHECK(Units(slice, CollectiveKind::kAllToAll).name() != "distance");
}

TEST_CASE("bounds of meshes and mixed slices: the poorest chip, or the cables",
          "[cost]") {
  for (const Shape& shape : AllShapes(20)) {
    if (shape.size() == 1) continue;
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      CAPTURE(slice.spec);
      const double chips = ChipsOf(shape);
      double poorest = 0, cables = 0, all_to_all = 0;
      double thinnest = chips * chips;  // links one way around a slab
      for (std::size_t a = 0; a < shape.size(); ++a) {
        poorest += wrap[a] ? 2 : 1;
        cables += chips / shape[a] * (wrap[a] ? shape[a] : shape[a] - 1);
        all_to_all = std::max(all_to_all, AllToAllOf(shape[a], wrap[a]));
        thinnest = std::min(thinnest, chips / shape[a] * (wrap[a] ? 2 : 1));
      }
      const Units gather(slice, CollectiveKind::kAllGather);
      CHECK(Near(gather.Of("chip"), (chips - 1) / (chips * poorest)));
      CHECK(gather.binding() >= gather.Of("chip") * (1 - 1e-9));
      // Reduce-scatter is all-gather with all arrows turned round.
      const Units scatter(slice, CollectiveKind::kReduceScatter);
      CHECK(Near(scatter.binding(), gather.binding()));
      const Units reduce(slice, CollectiveKind::kAllReduce);
      CHECK(Near(reduce.Of("edges"), (chips - 1) / cables));
      CHECK(Near(reduce.Of("chip"), 1 / poorest));
      CHECK(
          Near(Units(slice, CollectiveKind::kAllToAll).binding(), all_to_all));
      // (A slab is thinner than a corner on 2x2 with one wrapped axis, say.)
      CHECK(Near(Units(slice, CollectiveKind::kBroadcast).binding(),
                 1 / std::min(poorest, thinnest)));
    }
  }
  // 4x4 mesh: reduce-scatter and all-gather need 0.9375, all-reduce 0.625.
  const Slice mesh = MakeMesh({4, 4});
  CHECK(Near(2 * Units(mesh, CollectiveKind::kAllGather).binding(), 0.9375));
  CHECK(Near(Units(mesh, CollectiveKind::kAllReduce).binding(), 0.625));
  CHECK(Units(mesh, CollectiveKind::kAllReduce).name() == "edges");
}

TEST_CASE("a long thin mesh is bound by a slab", "[cost]") {
  // 2x8, all-gather: the corner needs 15/16/2; 2x7 of the chips send 14/16 over
  // two cables, less. 2x2x8 with x and y wrapped: the corner has 5 links,
  // 31/32/5 = 0.194; 28 chips send 28/32 over 4 cables = 0.219.
  CHECK(Near(Units(MakeMesh({2, 8}), CollectiveKind::kAllGather).binding(),
             15.0 / 32));
  const Units units(MakeGridOf({2, 2, 8}, {true, true, false}),
                    CollectiveKind::kAllGather);
  CHECK(Near(units.Of("slab:z"), 28.0 / 32 / 4));
  CHECK(Near(units.binding(), 28.0 / 32 / 4));
}

TEST_CASE("bounds of a twisted torus: loads 21, 170, 73 1/3, 184, 1189 1/3",
          "[cost][oracle]") {
  struct Row {
    Shape shape;
    double load;  // messages of S/P per link
  };
  for (const Row& row : std::vector<Row>{{{4, 8}, 21},
                                         {{8, 16}, 170},
                                         {{4, 4, 8}, 220.0 / 3},
                                         {{4, 8, 8}, 184},
                                         {{8, 8, 16}, 3568.0 / 3}}) {
    const Slice slice = MakeTwisted(row.shape);
    CAPTURE(slice.spec);
    const double chips = ChipsOf(row.shape);
    const auto d = static_cast<double>(row.shape.size());
    const Units all_to_all(slice, CollectiveKind::kAllToAll);
    CHECK(Near(all_to_all.Of("distance"), row.load / chips));
    CHECK(Near(all_to_all.binding(), row.load / chips));
    for (const std::string& name : all_to_all.Names()) {
      CHECK(name.find("distance:") == std::string::npos);
    }
    CHECK(Near(Units(slice, CollectiveKind::kAllGather).binding(),
               (chips - 1) / (2 * d * chips)));
    CHECK(Near(Units(slice, CollectiveKind::kAllReduce).binding(),
               (chips - 1) / (d * chips)));
    CHECK(
        Near(Units(slice, CollectiveKind::kBroadcast).binding(), 1 / (2 * d)));
  }
  // Any axis order.
  CHECK(Near(Units(MakeTwisted({8, 4, 4}), CollectiveKind::kAllToAll).binding(),
             220.0 / 3 / 128));
}

// ---- latency ------------------------------------------------------------

double LatencyOf(const Slice& slice, const Collective& collective,
                 ChipId root = ChipId(0)) {
  for (const BoundComponent& component :
       ComputeBounds(WithRoot(collective, root), slice).components) {
    if (component.name == "latency") return component.time.value();
  }
  return -1;
}

TEST_CASE("latency is o + alpha x the farthest pair of a group", "[cost]") {
  constexpr Rates kRates{.bandwidth = 1e12, .alpha = 1e-6, .overhead = 5e-6};
  for (const Shape& shape : AllShapes(12)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap, kRates);
      for (const auto& axes : AllAxisSubsets(shape.size())) {
        CAPTURE(slice.spec, axes);
        int hops = 0, from_root = 0;
        const ChipId root(static_cast<unsigned>(ChipsOf(shape) / 3));
        const Coordinates at = slice.topology.CoordinatesOf(root);
        for (const int a : axes) {
          const int n = shape[static_cast<std::size_t>(a)];
          const bool ring = wrap[static_cast<std::size_t>(a)];
          const int x = at[static_cast<std::size_t>(a)];
          hops += ring ? n / 2 : n - 1;
          from_root += ring ? n / 2 : std::max(x, n - 1 - x);
        }
        for (const CollectiveKind kind : GroupKinds()) {
          CAPTURE(ToText(kind));
          const bool rooted =
              std::find(kRooted.begin(), kRooted.end(), kind) != kRooted.end();
          const Collective collective{
              .kind = kind, .payload = Bytes(1), .axes = axes};
          CHECK(Near(LatencyOf(slice, collective, root),
                     5e-6 + (rooted ? from_root : hops) * 1e-6));
        }
      }
    }
  }
}

TEST_CASE("latency around a dead cable counts the way round", "[cost]") {
  constexpr Rates kRates{.bandwidth = 1e12, .alpha = 1e-6, .overhead = 0};
  Slice slice = MakeTorus({8}, kRates);
  ApplyFault("link:0:x+", "", slice.topology);  // now a line of 8
  const Collective gather = OnAllChips(CollectiveKind::kAllGather, 8, slice);
  CHECK(Near(LatencyOf(slice, gather), 7e-6));
  const Collective broadcast = OnAllChips(CollectiveKind::kBroadcast, 8, slice);
  CHECK(Near(LatencyOf(slice, broadcast, ChipId(1)), 7e-6));
  CHECK(Near(LatencyOf(slice, broadcast, ChipId(4)), 4e-6));
}

TEST_CASE("latency of a rooted kind looks at the members of its group only",
          "[cost]") {
  constexpr Rates kRates{.bandwidth = 1e12, .alpha = 1e-6, .overhead = 0};
  const Slice ring = MakeTorus({8}, kRates);
  for (const CollectiveKind kind : kRooted) {
    CAPTURE(ToText(kind));
    const Bounds listed = ComputeBounds(
        OnLists(kind, 8, {{ChipId(0), ChipId(1), ChipId(2)}}), ring);
    CHECK(listed.components[0].name == "latency");
    CHECK(Near(listed.components[0].time.value(), 2e-6));
    // On a twisted slice too: an axis of 8 is a ring.
    const Collective collective{.kind = kind, .payload = Bytes(8), .axes = {1}};
    CHECK(Near(LatencyOf(MakeTwisted({4, 8}, kRates), collective), 4e-6));
  }
}

TEST_CASE("a one-way fault lengthens one direction of a rooted kind",
          "[cost]") {
  constexpr Rates kRates{.bandwidth = 1e12, .alpha = 1e-6, .overhead = 0};
  Slice ring = MakeTorus({8}, kRates);
  ApplyFault("link:0:x+:oneway", "", ring.topology);
  // From 0 all must go -x: 7 hops to chip 1. Towards 0 nothing has changed.
  const auto latency = [&](CollectiveKind kind) {
    return LatencyOf(ring, OnAllChips(kind, 8, ring));
  };
  CHECK(Near(latency(CollectiveKind::kBroadcast), 7e-6));
  CHECK(Near(latency(CollectiveKind::kScatter), 7e-6));
  CHECK(Near(latency(CollectiveKind::kReduce), 4e-6));
  CHECK(Near(latency(CollectiveKind::kGather), 4e-6));
}

TEST_CASE("bandwidth bounds start with o + alpha", "[cost]") {
  constexpr Rates kRates{.bandwidth = 1e9, .alpha = 1e-6, .overhead = 5e-6};
  for (const CollectiveKind kind : GroupKinds()) {
    for (const auto& wrap : AllWraps({3, 4})) {
      const Slice bare = MakeGridOf({3, 4}, wrap, {.bandwidth = 1e9});
      const Slice slice = MakeGridOf({3, 4}, wrap, kRates);
      CAPTURE(slice.spec, ToText(kind));
      const Bounds without =
          ComputeBounds(OnAllChips(kind, kPayload, bare), bare);
      const Bounds with =
          ComputeBounds(OnAllChips(kind, kPayload, slice), slice);
      REQUIRE(with.components.size() == without.components.size());
      for (std::size_t k = 0; k < with.components.size(); ++k) {
        const BoundComponent& component = with.components[k];
        CHECK(component.name == without.components[k].name);
        // Those count hops: latency_bounds_test.cc.
        if (component.name == "latency" || component.name == "front" ||
            component.name == "issue") {
          continue;
        }
        CHECK(Near(component.time.value(),
                   without.components[k].time.value() + 6e-6));
      }
    }
  }
}

// ---- which components exist ---------------------------------------------

using Names = std::set<std::string>;

TEST_CASE("components of a ring, a torus, a mesh, a twisted slice", "[cost]") {
  const auto names = [](const Slice& slice, CollectiveKind kind) {
    return Units(slice, kind).Names();
  };
  const Slice ring = MakeTorus({8});
  CHECK(names(ring, CollectiveKind::kAllGather) ==
        Names{"latency", "front", "issue", "chip", "slab:x"});
  CHECK(
      names(ring, CollectiveKind::kAllReduce) ==
      Names{"latency", "front", "issue", "horizon", "chip", "slab:x", "edges"});
  CHECK(names(ring, CollectiveKind::kAllToAll) ==
        Names{"latency", "front", "issue", "chip", "slab:x", "distance",
              "distance:x"});
  const Slice torus = MakeTorus({4, 1, 3});
  CHECK(names(torus, CollectiveKind::kAllToAll) ==
        Names{"latency", "front", "issue", "chip", "slab:x", "slab:z",
              "distance", "distance:x", "distance:z"});
  const Slice mesh = MakeGridOf({4, 3}, {true, false});
  CHECK(names(mesh, CollectiveKind::kAllReduce) ==
        Names{"latency", "front", "issue", "chip", "slab:x", "slab:y", "box",
              "edges", "block"});
  CHECK(names(mesh, CollectiveKind::kAllGather) ==
        Names{"latency", "front", "issue", "chip", "slab:x", "slab:y", "box"});
  const Slice twisted = MakeTwisted({4, 8});
  CHECK(
      names(twisted, CollectiveKind::kAllReduce) ==
      Names{"latency", "front", "issue", "chip", "slab:x", "slab:y", "edges"});
  CHECK(names(twisted, CollectiveKind::kAllToAll) ==
        Names{"latency", "front", "issue", "chip", "slab:x", "slab:y",
              "distance"});
}

TEST_CASE("boxes are enumerated on unwrapped or faulty slices of up to 64",
          "[cost]") {
  const auto has_box = [](const Slice& slice) {
    return Units(slice, CollectiveKind::kAllGather).Names().count("box") == 1;
  };
  CHECK_FALSE(has_box(MakeTorus({8, 8})));
  CHECK(has_box(MakeMesh({8, 8})));
  CHECK_FALSE(has_box(MakeMesh({5, 13})));
  Slice faulty = MakeTorus({8, 8});
  ApplyFault("link:0,0:x+", "", faulty.topology);
  CHECK(has_box(faulty));
  // A wrapped axis of one chip is no axis.
  CHECK_FALSE(has_box(MakeGridOf({8, 1}, {true, false})));
}

TEST_CASE("a line of two has no block: all its sets are single chips",
          "[cost]") {
  CHECK(
      Units(MakeMesh({2}), CollectiveKind::kAllReduce).Names().count("block") ==
      0);
  CHECK(
      Units(MakeMesh({3}), CollectiveKind::kAllReduce).Names().count("block") ==
      1);
}

TEST_CASE("groups along x need nothing of y", "[cost]") {
  const Slice slice = MakeTorus({4, 6});
  const Collective along_x{.kind = CollectiveKind::kAllToAll,
                           .payload = Bytes(kPayload),
                           .axes = {0}};
  const Units units(slice, along_x);
  CHECK(units.Names() == Names{"latency", "front", "issue", "chip", "slab:x",
                               "distance", "distance:x", "distance:y"});
  CHECK(units.Of("distance:y") == 0);
}

TEST_CASE("no payload, or groups of one chip: none, 0 s", "[cost]") {
  const Slice slice = MakeTorus({4, 1}, {.alpha = 1e-6});
  for (const CollectiveKind kind : GroupKinds()) {
    for (const Collective& collective :
         {OnAllChips(kind, 0, slice),
          Collective{.kind = kind, .payload = Bytes(100), .axes = {1}}}) {
      const Bounds bounds = ComputeBounds(collective, slice);
      REQUIRE(bounds.components.size() == 1);
      CHECK(bounds.components[0].name == "none");
      CHECK(bounds.components[0].time == Seconds(0));
      CHECK(bounds.binding().name == "none");
    }
  }
}

TEST_CASE("the binding component is the largest, the first on ties", "[cost]") {
  const Bounds bounds{{{"a", Seconds(1)},
                       {"b", Seconds(2)},
                       {"c", Seconds(2)},
                       {"d", Seconds(0)}}};
  CHECK(bounds.binding().name == "b");
}

// ---- sub-groups ---------------------------------------------------------

TEST_CASE("all lines of one axis at once have the bound of one ring",
          "[cost]") {
  // The idle links of other axes cannot help: all lines need the cut at once.
  for (const CollectiveKind kind :
       {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllReduce, CollectiveKind::kAllToAll}) {
    for (const int n : {3, 4, 7, 8}) {
      CAPTURE(ToText(kind), n);
      const Units alone(MakeTorus({n}), kind);
      const Units lines(
          MakeTorus({5, n}),
          {.kind = kind, .payload = Bytes(kPayload), .axes = {1}});
      CHECK(Near(lines.Of("slab:y"), alone.Of("slab:x")));
      if (kind == CollectiveKind::kAllToAll) {
        CHECK(Near(lines.binding(), alone.binding()));
      }
    }
  }
}

TEST_CASE("interleaved groups of a ring add up in its slabs", "[cost]") {
  // Every second chip of n: chip (m-1)/(2m), slab (m-1)/m.
  for (const int n : {8, 12}) {
    const Slice slice = MakeTorus({n});
    std::vector<std::vector<ChipId>> groups(2);
    for (int id = 0; id < n; ++id) {
      groups[static_cast<std::size_t>(id % 2)].emplace_back(id);
    }
    const double m = n / 2;
    const Bounds bounds = ComputeBounds(
        OnLists(CollectiveKind::kAllGather, kPayload, groups), slice);
    const double unit = kPayload / slice.parameters.ici_bandwidth.value();
    std::map<std::string, double> by_name;
    for (const BoundComponent& component : bounds.components) {
      by_name[component.name] = component.time.value() / unit;
    }
    CHECK(Near(by_name["chip"], (m - 1) / (2 * m)));
    CHECK(Near(by_name["slab:x"], (m - 1) / m));  // 0.75, 0.833
    CHECK(Near(bounds.binding().time.value() / unit, (m - 1) / m));
  }
}

TEST_CASE("listed groups have the bounds of the axes that they list",
          "[cost]") {
  for (const auto& wrap : AllWraps({4, 3})) {
    const Slice slice = MakeGridOf({4, 3}, wrap, {.alpha = 1e-6});
    for (const auto& axes : AllAxisSubsets(2)) {
      std::map<std::uint32_t, std::vector<ChipId>> groups;
      for (std::uint32_t id = 0; id < 12; ++id) {
        Coordinates at = slice.topology.CoordinatesOf(ChipId(id));
        for (const int axis : axes) at[static_cast<std::size_t>(axis)] = 0;
        groups[slice.topology.ChipAt(at).value()].emplace_back(id);
      }
      std::vector<std::vector<ChipId>> lists;
      for (const auto& [first, chips] : groups) lists.push_back(chips);
      for (const CollectiveKind kind :
           {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
            CollectiveKind::kAllReduce, CollectiveKind::kAllToAll}) {
        CAPTURE(slice.spec, axes, ToText(kind));
        const Bounds by_axes = ComputeBounds(
            {.kind = kind, .payload = Bytes(kPayload), .axes = axes}, slice);
        const Bounds listed =
            ComputeBounds(OnLists(kind, kPayload, lists), slice);
        std::map<std::string, double> expected, found;
        for (const auto& c : by_axes.components) {
          // Listed groups have no axes to speak of.
          if (c.name.starts_with("distance:")) continue;
          expected[c.name] = c.time.value();
        }
        for (const auto& c : listed.components) {
          found[c.name] = c.time.value();
        }
        REQUIRE(found.size() == expected.size());
        for (const auto& [name, seconds] : expected) {
          CAPTURE(name, seconds, found[name]);
          CHECK(Near(found[name], seconds));
        }
      }
    }
  }
}

// ---- faults -------------------------------------------------------------

TEST_CASE("a torus chip that lost a cable has 2d - 1 links", "[cost]") {
  Slice slice = MakeTorus({4, 4});
  ApplyFault("link:1,2:y+", "", slice.topology);
  CHECK(
      Near(Units(slice, CollectiveKind::kAllGather).Of("chip"), 15.0 / 16 / 3));
  CHECK(Near(Units(slice, CollectiveKind::kAllReduce).Of("edges"),
             2 * 15.0 / (64 - 2)));
}

TEST_CASE("dead chips are no members", "[cost]") {
  Slice slice = MakeTorus({4, 4});
  ApplyFault("chip:0,0", "", slice.topology);
  // 15 members; the dead chip's four neighbours have three links each.
  CHECK(
      Near(Units(slice, CollectiveKind::kAllGather).Of("chip"), 14.0 / 15 / 3));
  CHECK(Near(Units(slice, CollectiveKind::kAllReduce).Of("edges"),
             2 * 14.0 / (64 - 8)));
}

TEST_CASE("a slow cable counts for what it still carries", "[cost]") {
  Slice slice = MakeTorus({8});
  ApplyFault("link:2:x+=50%", "", slice.topology);
  // Chips 2 and 3 have 1.5 links.
  CHECK(
      Near(Units(slice, CollectiveKind::kAllGather).binding(), 7.0 / 8 / 1.5));
  CHECK(
      Near(Units(slice, CollectiveKind::kAllReduce).Of("edges"), 2 * 7.0 / 15));
}

TEST_CASE("an explicit list of cables has chip, edges and distance", "[cost]") {
  // A ring of 4 as cables.
  std::vector<Cable> cables;
  for (std::uint32_t k = 0; k < 4; ++k) {
    cables.push_back({.a = ChipId(k),
                      .b = ChipId((k + 1) % 4),
                      .bandwidth = BytesPerSecond(1e9),
                      .latency = Seconds(0)});
  }
  Slice slice{.spec = "cables",
              .generation = "ideal",
              .shape = {},
              .topology = Topology::MakeExplicit(4, cables),
              .parameters = {},
              .warnings = {}};
  slice.parameters.ici_bandwidth = BytesPerSecond(1e9);
  const auto on_all = [](CollectiveKind kind) {
    return Collective{.kind = kind, .payload = Bytes(kPayload), .axes = {}};
  };
  const Units gather(slice, on_all(CollectiveKind::kAllGather));
  CHECK(gather.Names() == Names{"latency", "front", "issue", "chip"});
  CHECK(Near(gather.binding(), 3.0 / 8));
  const Units reduce(slice, on_all(CollectiveKind::kAllReduce));
  CHECK(reduce.Names() == Names{"latency", "front", "issue", "chip", "edges"});
  CHECK(Near(reduce.binding(), 3.0 / 4));
  const Units all_to_all(slice, on_all(CollectiveKind::kAllToAll));
  CHECK(all_to_all.Names() ==
        Names{"latency", "front", "issue", "chip", "distance"});
  CHECK(Near(all_to_all.binding(), 0.5));  // floor(16/4)/8
}

// ---- bisection ----------------------------------------------------------

TEST_CASE("the bisection cuts the axis that the fewest links cross", "[cost]") {
  // Half of an axis of n: P/n lines, two cut planes if it wraps.
  const auto of = [](const Slice& slice) {
    const auto bisection = ComputeBisection(slice.topology);
    REQUIRE(bisection.has_value());
    CHECK(Near(bisection->bandwidth.value(),
               bisection->links * slice.parameters.ici_bandwidth.value()));
    return std::pair(bisection->axis, bisection->links);
  };
  CHECK(of(MakeTorus({4, 8})) == std::pair(1, 2 * 4));
  CHECK(of(MakeMesh({4, 8})) == std::pair(1, 4));
  CHECK(of(MakeGridOf({4, 8}, {false, true})) == std::pair(0, 8));
  CHECK(of(MakeTorus({4, 4, 8})) == std::pair(2, 2 * 16));
  CHECK(of(MakeMesh({5})) == std::pair(0, 1));
  CHECK_FALSE(ComputeBisection(MakeTorus({1}).topology).has_value());
}

}  // namespace
}  // namespace podsim
